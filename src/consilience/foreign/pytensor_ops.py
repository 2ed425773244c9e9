"""PyTensor's ops on elements, shapes and whole axes: an op with its operands in, tensors of ours out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import parts
from consilience.engines.reader.rules import Rule, Rules
from consilience.errors import MissingRuleError
from consilience.foreign.pytensor_graph import RULES, Translation, known, known_integer
from consilience.foreign.pytensor_scalars import SCALARS
from consilience.ir import Node, constant

# ---- elementwise functions and shapes


@RULES("Elemwise")
def _elemwise(t: Translation, apply: Any) -> Any:
    return scalar(t, apply.op.scalar_op, t.arguments(apply))


def scalar(t: Translation, op: Any, operands: list[Any]) -> Any:
    """A scalar op of tensors, element by element."""
    name = type(op).__name__
    if name == "Cast":
        return _cast(operands[0], op.o_type.dtype)
    rule = SCALARS.get(name.lower().strip("_"))
    if rule is not None:
        return rule(*operands)
    if hasattr(op, "fgraph"):
        inside = dict(zip(op.fgraph.inputs, operands, strict=True))
        for apply in op.fgraph.toposort():
            values = [inside[i] if i in inside else t.leaf(i) for i in apply.inputs]
            inside[apply.outputs[0]] = scalar(t, apply.op, values)
        return [inside[o] if o in inside else t.leaf(o) for o in op.fgraph.outputs]
    raise MissingRuleError(f"PyTensor's scalar op `{name}` has no translation; write that part of the model here.")


def _cast(x: Node, dtype: str) -> Node:
    kind = np.dtype(dtype).kind
    wide = {"f": "float64", "i": "int64", "u": "int64", "b": "bool"}.get(kind, dtype)
    return x if x.dtype == wide else pt.cast(x, wide)


@RULES("ScalarOp")
def _scalar_op(t: Translation, apply: Any) -> Any:
    return scalar(t, apply.op, t.arguments(apply))


@RULES("DimShuffle")
def _dimshuffle(t: Translation, apply: Any) -> Any:
    return pt.dimshuffle(t(apply.inputs[0]), *apply.op.new_order)


@RULES("TensorFromScalar", "ScalarFromTensor", "ViewOp", "DeepCopyOp", "TypeCastingOp", "CheckAndRaise", "SpecifyShape")
def _same(t: Translation, apply: Any) -> Any:
    return t(apply.inputs[0])


@RULES("Shape")
def _shape(t: Translation, apply: Any) -> Any:
    x = t(apply.inputs[0])
    return pt.stack([pt.as_tensor(n) for n in x.shape]) if x.ndim else constant(np.zeros(0, "int64"))


@RULES("Shape_i")
def _shape_i(t: Translation, apply: Any) -> Any:
    return pt.as_tensor(t(apply.inputs[0]).shape[apply.op.i])


@RULES("Reshape")
def _reshape(t: Translation, apply: Any) -> Any:
    return t(apply.inputs[0]).reshape(t.lengths(apply.inputs[1]))


@RULES("JoinDims")
def _join_dims(t: Translation, apply: Any) -> Any:
    x, op = t(apply.inputs[0]), apply.op
    first, count = op.start_axis, op.n_axes
    return pt.reshape(x, (*x.shape[:first], -1, *x.shape[first + count :]))


@RULES("SplitDims")
def _split_dims(t: Translation, apply: Any) -> Any:
    x, axis = t(apply.inputs[0]), apply.op.axis
    return pt.reshape(x, (*x.shape[:axis], *t.lengths(apply.inputs[1]), *x.shape[axis + 1 :]))


@RULES("Alloc")
def _alloc(t: Translation, apply: Any) -> Any:
    return pt.alloc(t(apply.inputs[0]), *map(t.length, apply.inputs[1:]))


@RULES("AllocEmpty")
def _alloc_empty(t: Translation, apply: Any) -> Any:
    return pt.zeros([t.length(i) for i in apply.inputs], _wide(apply.op.dtype))


def _wide(dtype: str) -> str:
    return {"f": "float64", "i": "int64", "u": "int64"}.get(np.dtype(dtype).kind, dtype)


@RULES("MakeVector")
def _make_vector(t: Translation, apply: Any) -> Any:
    dtype = _wide(apply.op.dtype)
    if not apply.inputs:
        return pt.zeros((0,), dtype)
    return pt.stack([_cast(pt.as_tensor(x), dtype) for x in t.arguments(apply)])


@RULES("Join")
def _join(t: Translation, apply: Any) -> Any:
    op, values = apply.op, t.arguments(apply)
    if hasattr(op, "axis"):
        return pt.concatenate(values, op.axis)
    return pt.concatenate(values[1:], known_integer(values[0]))  # PyTensor 2 has the axis as first input


@RULES("Split")
def _split(t: Translation, apply: Any) -> Any:
    x, op = t(apply.inputs[0]), apply.op
    axis = op.axis if hasattr(op, "axis") else t.length(apply.inputs[1])
    sizes = t.lengths(apply.inputs[-1])
    return parts(x, sizes, axis)


@RULES("ARange")
def _arange(t: Translation, apply: Any) -> Any:
    start, stop, step = map(t.length, apply.inputs)
    return _cast(pt.arange(start, stop, step), apply.op.dtype)


@RULES("Eye")
def _eye(t: Translation, apply: Any) -> Any:
    rows, columns, offset = map(t.length, apply.inputs)
    return pt.eye(rows, columns, offset, _wide(apply.op.dtype))


@RULES("Repeat")
def _repeat(t: Translation, apply: Any) -> Any:
    x, counts = apply.inputs
    if counts.type.ndim == 0:
        return pt.repeat(t(x), t.length(counts), apply.op.axis)
    return pt.repeat(t(x), np.array(t.lengths(counts)), apply.op.axis)


def _in_order(function: Rule) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        axis = t.length(apply.inputs[1]) if len(apply.inputs) > 1 else apply.op.axis
        return function(t(apply.inputs[0]), axis)

    return rule


RULES.rows({"SortOp": "sort", "ArgSortOp": "argsort"}, _in_order)


@RULES("SearchsortedOp")
def _searchsorted(t: Translation, apply: Any) -> Any:
    edges, values = t.arguments(apply)[:2]
    return pt.searchsorted(edges, values, side=apply.op.side)


@RULES("Nonzero")
def _nonzero(t: Translation, apply: Any) -> Any:
    x = t(apply.inputs[0])
    value = known(x)
    return list(pt.nonzero(x)) if value is None else [constant(places) for places in np.nonzero(value)]


# ---- reductions


REDUCTIONS: Final = Rules()
REDUCTIONS.rows("sum prod max min all any")
REDUCTIONS.rows({"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min", "and": "all", "or": "any"})


@RULES("CAReduce")
def _careduce(t: Translation, apply: Any) -> Any:
    name, axis = type(apply.op.scalar_op).__name__.lower().strip("_"), apply.op.axis
    if name not in REDUCTIONS:
        raise MissingRuleError(f"PyTensor's reduction `{name}` has no translation.")
    axes = None if axis is None else tuple(np.atleast_1d(axis).tolist())
    return REDUCTIONS[name](t(apply.inputs[0]), axis=axes)


@RULES("Argmax")
def _argmax(t: Translation, apply: Any) -> Any:
    axis = apply.op.axis
    x = t(apply.inputs[0])
    if axis is None or len(np.atleast_1d(axis)) == x.ndim:
        return pt.argmax(pt.reshape(x, (-1,)))
    if len(np.atleast_1d(axis)) > 1:
        raise MissingRuleError("PyTensor's `Argmax` along several axes has no translation.")
    return pt.argmax(x, axis=int(np.atleast_1d(axis)[0]))


@RULES("CumOp")
def _cumulative(t: Translation, apply: Any) -> Any:
    return (pt.cumsum if apply.op.mode == "add" else pt.cumprod)(t(apply.inputs[0]), axis=apply.op.axis)


def _with(*names: str) -> Callable[[Rule], Rule]:
    """A function of the first operand, with settings of the op by their names."""

    def form(function: Rule) -> Rule:
        return lambda t, apply: function(t(apply.inputs[0]), **{name: getattr(apply.op, name) for name in names})

    return form


RULES.rows({"Softmax": "softmax", "LogSoftmax": "log_softmax"}, _with("axis"))
RULES.rows({"ExtractDiag": "diagonal"}, _with("offset", "axis1", "axis2"))
