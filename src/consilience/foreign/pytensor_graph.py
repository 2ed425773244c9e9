"""PyTensor's graphs: variables of PyTensor in, tensors of ours that compute the same out.

Ops are known by the names of their classes, so PyTensor itself is never loaded. Whole numbers and floats that
PyTensor keeps in fewer bits where a constant allows it are int64 and float64 here. Random variables are rows of
`pymc_distributions`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.backends import reference
from consilience.errors import GraphError, MissingRuleError
from consilience.foreign.pytensor_scalars import SCALARS
from consilience.ir import Constant, Input, Node, constant, topological
from consilience.ops.shape import LengthOf
from consilience.ops.sparse.coordinates import dense_from_sparse
from consilience.ops.sparse.multiplication import dot as sparse_dot
from consilience.ops.sparse.variable import SparseVariable, as_sparse_variable

Rule = Callable[["Translation", Any], Any]
RULES: Final[dict[str, Rule]] = {}


def from_pytensor(graph: Any, inputs: Mapping[Any, Any] | None = None) -> Any:
    """Tensors that compute what PyTensor's variables do.

    graph    a variable of PyTensor, or a list of them
    inputs   tensors (or arrays) in place of some of its variables; every other one without a value, such as
             `pytensor.tensor.vector("x")`, becomes a variable of ours with its name
    returns  a tensor, or a list of them; shared variables become constants with the values they have now
    raises   MissingRuleError, with the op's name, for what has no translation
    """
    single = not isinstance(graph, list | tuple)
    known = {variable: pt.as_tensor(value) for variable, value in (inputs or {}).items()}
    translation = Translation(known, free_inputs=True)
    found = [translation.tensor(variable) for variable in ([graph] if single else graph)]
    return found[0] if single else found


class Translation:
    """What has been translated so far: values by variables of PyTensor.

    known         tensors of the variables to begin with
    free_inputs   whether variables without a value become inputs; an error otherwise
    """

    def __init__(self, known: Mapping[Any, Any], *, free_inputs: bool = False) -> None:
        self.values: dict[Any, Any] = dict(known)
        self.named: set[Any] = set()  # variables of the model, whose random variables are drawn once
        self.free_inputs = free_inputs

    def __call__(self, variable: Any) -> Any:
        """The value of a variable: a tensor, or what is no tensor (None, a slice, a generator's state)."""
        waiting = [variable]
        while waiting:
            one = waiting[-1]
            if one in self.values:
                waiting.pop()
                continue
            apply = one.owner
            if apply is None:
                self.values[one] = self.leaf(one)
                continue
            missing = [i for i in apply.inputs if i not in self.values]
            if missing:
                waiting += missing
                continue
            for output, value in zip(apply.outputs, self.applied(apply), strict=True):
                self.values.setdefault(output, value)
        return self.values[variable]

    def tensor(self, variable: Any) -> Node:
        """The tensor of a variable."""
        value = self(variable)
        if not isinstance(value, Node):
            raise GraphError(f"{variable} of PyTensor is no tensor but a {type(variable.type).__name__}.")
        return value

    def leaf(self, variable: Any) -> Any:
        """What has no owner: constants, shared variables, inputs."""
        kind = type(variable.type).__name__
        if "Random" in kind:
            return None
        if hasattr(variable, "data"):
            return variable.data if kind in ("NoneTypeT", "SliceType") else _number(variable.data, variable)
        if hasattr(variable, "get_value"):
            return _number(variable.get_value(), variable)
        if not self.free_inputs:
            raise GraphError(f"the graph depends on `{variable}`, an input that belongs to no variable of the model.")
        shape = tuple(getattr(variable.type, "shape", ()))
        return pt.tensor(variable.name, dtype=variable.type.dtype, shape=shape)

    def applied(self, apply: Any) -> Sequence[Any]:
        """Values of the outputs of an op whose inputs are known."""
        rule = rule_of(apply.op) or _of_constants
        found = rule(self, apply)
        if isinstance(found, list):
            return found
        return [None if is_generator(output) else found for output in apply.outputs]

    def arguments(self, apply: Any) -> list[Any]:
        """Values of the inputs of an op."""
        return [self.values[i] for i in apply.inputs]

    def inlined(self, inner_inputs: Sequence[Any], inner_outputs: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """Values of a graph inside an op, for these values of its inputs."""
        inside = Translation(dict(zip(inner_inputs, arguments, strict=True)))
        inside.named = {i for i, value in inside.values.items() if isinstance(value, Node)}
        return [inside(output) for output in inner_outputs]

    def length(self, variable: Any) -> Any:
        """A length: an int where it is known, otherwise a tensor."""
        apply = variable.owner
        kind = None if apply is None else type(apply.op).__name__
        if kind in ("TensorFromScalar", "ScalarFromTensor"):
            return self.length(apply.inputs[0])
        if kind == "Elemwise" and type(apply.op.scalar_op).__name__ == "Cast":
            return self.length(apply.inputs[0])
        if kind == "Subtensor" and variable.type.ndim == 0:
            place = known_integer(self.tensor(apply.inputs[1]))
            if isinstance(place, int):
                return self.lengths(apply.inputs[0])[place]
        return known_integer(self.tensor(variable))

    def lengths(self, variable: Any) -> list[Any]:
        """The elements of a vector of lengths."""
        apply = variable.owner
        kind = None if apply is None else type(apply.op).__name__
        if kind == "MakeVector":
            return [self.length(element) for element in apply.inputs]
        if kind == "Shape":
            return [n if isinstance(n, int) else known_integer(n) for n in self.tensor(apply.inputs[0]).shape]
        if kind == "Join" and hasattr(apply.op, "axis"):
            return [length for part in apply.inputs for length in self.lengths(part)]
        if kind == "DimShuffle" and apply.inputs[0].type.ndim == 0:
            return [self.length(apply.inputs[0])]
        if kind == "Subtensor":
            places = next(_indices(self, apply.op, apply.inputs[1:]))
            found: list[Any] = self.lengths(apply.inputs[0])[places]
            return found
        vector = self.tensor(variable)
        count = vector.static_shape[0]
        if not isinstance(count, int):
            raise GraphError(f"the shape `{variable}` of PyTensor has an unknown number of axes.")
        return [known_integer(vector[k]) for k in range(count)]


def known_integer(node: Node) -> Any:
    """The integer that a tensor without inputs is; the tensor itself where it has inputs."""
    value = known(node)
    return node if value is None else int(value)


def known(node: Node) -> npt.NDArray[Any] | None:
    """The value of a tensor without inputs; None for others."""
    graph = topological([node])
    if any(isinstance(n.op, Input) and not isinstance(n.op, Constant) for n in graph):
        return None
    if any(isinstance(n.op, LengthOf) or not all(isinstance(m, int) for m in n.static_shape) for n in graph):
        return None
    return np.asarray(reference.evaluate([node], {})[0])


def _of_constants(t: Translation, apply: Any) -> Any:
    """Values that PyTensor computes itself: those of an op without rule whose inputs are constants."""
    arguments = [known(value) if isinstance(value, Node) else value for value in t.arguments(apply)]
    if not all(isinstance(value, np.ndarray) for value in arguments):
        raise MissingRuleError(
            f"PyTensor's op `{name_of(apply.op)}` has no translation (in the computation of "
            f"`{_named(apply)}`); write that part of the model here, or give its values as data."
        )
    given = [i.type.filter(value, allow_downcast=True) for i, value in zip(apply.inputs, arguments, strict=True)]
    made: list[list[Any]] = [[None] for _ in apply.outputs]
    apply.op.perform(apply, given, made)
    return [_number(value, output) for (value,), output in zip(made, apply.outputs, strict=True)]


def rule_of(op: Any) -> Rule | None:
    """The rule for an op, by its class or a class that it inherits from."""
    names = [c.__name__ for c in type(op).__mro__]
    if "XOp" in names:  # on named axes; `Dot` is a class of both kinds
        return RULES["XOp"]
    return next((RULES[name] for name in names if name in RULES), None)


def name_of(op: Any) -> str:
    """The name of an op for messages, that of what it applies elementwise or to matrices included."""
    inner = getattr(op, "scalar_op", None) or getattr(op, "core_op", None)
    own = type(op).__name__
    return own if inner is None else f"{own}({type(inner).__name__})"


def translates(*classes: str) -> Callable[[Rule], Rule]:
    """Register the rule for ops of these classes: it gives a value, or a list with one for every output."""

    def register(rule: Rule) -> Rule:
        for name in classes:
            RULES[name] = rule
        return rule

    return register


def _named(apply: Any) -> str:
    output = next((o for o in apply.outputs if o.name), apply.outputs[0])
    return str(output)


def is_generator(variable: Any) -> bool:
    """Whether a variable is the state of a random generator."""
    return "Random" in type(variable.type).__name__


def _number(value: Any, variable: Any) -> Any:
    """A constant, in double precision."""
    if hasattr(value, "tocsr"):
        return as_sparse_variable(value.astype("float64"))
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        return constant(array.astype("int64"))
    if array.dtype.kind == "f":
        return constant(array.astype("float64"))
    if array.dtype.kind == "b":
        return constant(array)
    raise MissingRuleError(f"the constant `{variable}` of PyTensor has dtype {array.dtype}, which has no translation.")


# ---- elementwise functions and shapes


@translates("Elemwise")
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


@translates("ScalarOp")
def _scalar_op(t: Translation, apply: Any) -> Any:
    return scalar(t, apply.op, t.arguments(apply))


@translates("DimShuffle")
def _dimshuffle(t: Translation, apply: Any) -> Any:
    return pt.dimshuffle(t(apply.inputs[0]), *apply.op.new_order)


@translates(
    "TensorFromScalar", "ScalarFromTensor", "ViewOp", "DeepCopyOp", "TypeCastingOp", "CheckAndRaise", "SpecifyShape"
)
def _same(t: Translation, apply: Any) -> Any:
    return t(apply.inputs[0])


@translates("Shape")
def _shape(t: Translation, apply: Any) -> Any:
    x = t(apply.inputs[0])
    return pt.stack([pt.as_tensor(n) for n in x.shape]) if x.ndim else constant(np.zeros(0, "int64"))


@translates("Shape_i")
def _shape_i(t: Translation, apply: Any) -> Any:
    return pt.as_tensor(t(apply.inputs[0]).shape[apply.op.i])


@translates("Reshape")
def _reshape(t: Translation, apply: Any) -> Any:
    return t(apply.inputs[0]).reshape(t.lengths(apply.inputs[1]))


@translates("JoinDims")
def _join_dims(t: Translation, apply: Any) -> Any:
    x, op = t(apply.inputs[0]), apply.op
    first, count = op.start_axis, op.n_axes
    return pt.reshape(x, (*x.shape[:first], -1, *x.shape[first + count :]))


@translates("SplitDims")
def _split_dims(t: Translation, apply: Any) -> Any:
    x, axis = t(apply.inputs[0]), apply.op.axis
    return pt.reshape(x, (*x.shape[:axis], *t.lengths(apply.inputs[1]), *x.shape[axis + 1 :]))


@translates("Alloc")
def _alloc(t: Translation, apply: Any) -> Any:
    return pt.alloc(t(apply.inputs[0]), *map(t.length, apply.inputs[1:]))


@translates("AllocEmpty")
def _alloc_empty(t: Translation, apply: Any) -> Any:
    return pt.zeros([t.length(i) for i in apply.inputs], _wide(apply.op.dtype))


def _wide(dtype: str) -> str:
    return {"f": "float64", "i": "int64", "u": "int64"}.get(np.dtype(dtype).kind, dtype)


@translates("MakeVector")
def _make_vector(t: Translation, apply: Any) -> Any:
    dtype = _wide(apply.op.dtype)
    if not apply.inputs:
        return pt.zeros((0,), dtype)
    return pt.stack([_cast(pt.as_tensor(x), dtype) for x in t.arguments(apply)])


@translates("Join")
def _join(t: Translation, apply: Any) -> Any:
    op, values = apply.op, t.arguments(apply)
    if hasattr(op, "axis"):
        return pt.concatenate(values, op.axis)
    return pt.concatenate(values[1:], known_integer(values[0]))  # PyTensor 2 has the axis as first input


@translates("Split")
def _split(t: Translation, apply: Any) -> Any:
    x, op = t(apply.inputs[0]), apply.op
    axis = op.axis if hasattr(op, "axis") else t.length(apply.inputs[1])
    sizes = t.lengths(apply.inputs[-1])
    edges = np.cumsum([0, *sizes])
    rest = (slice(None),) * axis
    return [x[(*rest, slice(int(a), int(b)))] for a, b in itertools.pairwise(edges)]


@translates("ARange")
def _arange(t: Translation, apply: Any) -> Any:
    start, stop, step = map(t.length, apply.inputs)
    return _cast(pt.arange(start, stop, step), apply.op.dtype)


@translates("Eye")
def _eye(t: Translation, apply: Any) -> Any:
    rows, columns, offset = map(t.length, apply.inputs)
    return pt.eye(rows, columns, offset, _wide(apply.op.dtype))


@translates("ExtractDiag")
def _extract_diag(t: Translation, apply: Any) -> Any:
    op = apply.op
    return pt.diagonal(t(apply.inputs[0]), op.offset, op.axis1, op.axis2)


@translates("Repeat")
def _repeat(t: Translation, apply: Any) -> Any:
    x, counts = apply.inputs
    if counts.type.ndim == 0:
        return pt.repeat(t(x), t.length(counts), apply.op.axis)
    return pt.repeat(t(x), np.array(t.lengths(counts)), apply.op.axis)


@translates("SortOp")
def _sort(t: Translation, apply: Any) -> Any:
    axis = t.length(apply.inputs[1]) if len(apply.inputs) > 1 else apply.op.axis
    return pt.sort(t(apply.inputs[0]), axis)


@translates("ArgSortOp")
def _argsort(t: Translation, apply: Any) -> Any:
    axis = t.length(apply.inputs[1]) if len(apply.inputs) > 1 else apply.op.axis
    return pt.argsort(t(apply.inputs[0]), axis)


@translates("SearchsortedOp")
def _searchsorted(t: Translation, apply: Any) -> Any:
    edges, values = t.arguments(apply)[:2]
    return pt.searchsorted(edges, values, side=apply.op.side)


@translates("Nonzero")
def _nonzero(t: Translation, apply: Any) -> Any:
    x = t(apply.inputs[0])
    value = known(x)
    return list(pt.nonzero(x)) if value is None else [constant(places) for places in np.nonzero(value)]


# ---- reductions


def _reduction(function: Callable[..., Node]) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        axis = apply.op.axis
        return function(t(apply.inputs[0]), axis=None if axis is None else tuple(np.atleast_1d(axis).tolist()))

    return rule


REDUCTIONS: Final[dict[str, Callable[..., Node]]] = {
    "sum": pt.sum,
    "prod": pt.prod,
    "max": pt.max,
    "min": pt.min,
    "all": pt.all,
    "any": pt.any,
    "add": pt.sum,
    "mul": pt.prod,
    "maximum": pt.max,
    "minimum": pt.min,
    "and": pt.all,
    "or": pt.any,
}


@translates("CAReduce")
def _careduce(t: Translation, apply: Any) -> Any:
    name = type(apply.op.scalar_op).__name__.lower().strip("_")
    if name not in REDUCTIONS:
        raise MissingRuleError(f"PyTensor's reduction `{name}` has no translation.")
    return _reduction(REDUCTIONS[name])(t, apply)


@translates("Argmax")
def _argmax(t: Translation, apply: Any) -> Any:
    axis = apply.op.axis
    x = t(apply.inputs[0])
    if axis is None or len(np.atleast_1d(axis)) == x.ndim:
        return pt.argmax(pt.reshape(x, (-1,)))
    if len(np.atleast_1d(axis)) > 1:
        raise MissingRuleError("PyTensor's `Argmax` along several axes has no translation.")
    return pt.argmax(x, axis=int(np.atleast_1d(axis)[0]))


@translates("CumOp")
def _cumulative(t: Translation, apply: Any) -> Any:
    return (pt.cumsum if apply.op.mode == "add" else pt.cumprod)(t(apply.inputs[0]), axis=apply.op.axis)


def _along(function: Callable[..., Node]) -> Rule:
    return lambda t, apply: function(t(apply.inputs[0]), axis=apply.op.axis)


RULES["Softmax"] = _along(pt.softmax)
RULES["LogSoftmax"] = _along(pt.log_softmax)


# ---- indexing


def _indices(t: Translation, op: Any, variables: Sequence[Any]) -> Iterator[Any]:
    """The elements of an index; `op.idx_list`, where there is one, says which variables are ends of slices."""
    left = iter(variables)
    for entry in getattr(op, "idx_list", variables):
        if isinstance(entry, slice):
            ends = (None if end is None else t.length(next(left)) for end in (entry.start, entry.stop, entry.step))
            yield slice(*ends)
            continue
        value = t(next(left))
        if not isinstance(value, Node):  # None, for a new axis, or a slice
            yield value
        elif value.ndim == 0:
            yield known_integer(value)
        elif value.dtype == "bool" and isinstance(value.op, Constant):
            yield from np.nonzero(value.op.array)
        else:
            yield value


def index_of(t: Translation, op: Any, variables: Sequence[Any]) -> tuple[Any, ...]:
    """The index that an op of indexing applies."""
    return tuple(_indices(t, op, variables))


@translates("MakeSlice")
def _make_slice(t: Translation, apply: Any) -> Any:
    return slice(*(None if t(end) is None else t.length(end) for end in apply.inputs))


@translates("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "BaseSubtensor")
def _subtensor(t: Translation, apply: Any) -> Any:
    x, *rest = apply.inputs
    return t(x)[index_of(t, apply.op, rest)]


@translates("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def _inc_subtensor(t: Translation, apply: Any) -> Any:
    x, y, *rest = apply.inputs
    chosen = _chosen(t, x, y, apply.op, rest)
    if chosen is not None:
        value = t(y) if y.type.ndim == 0 else pt.squeeze(t(y), 0)
        return pt.switch(chosen, value, t(x)) if apply.op.set_instead_of_inc else t(x) + pt.switch(chosen, value, 0)
    part = t(x)[index_of(t, apply.op, rest)]
    return part.set(t(y)) if apply.op.set_instead_of_inc else part.inc(t(y))


def _chosen(t: Translation, x: Any, y: Any, op: Any, index: Sequence[Any]) -> Node | None:
    """What a mask of the first axes chooses, where all chosen elements get the same value; None for other indices."""
    if not index or any(isinstance(entry, slice) for entry in getattr(op, "idx_list", ())):
        return None
    if all(i.owner is not None and type(i.owner.op).__name__ == "Nonzero" for i in index):
        masks = {i.owner.inputs[0] for i in index}
        places = [i.owner.outputs.index(i) for i in index]
    else:
        masks, places = set(index), [*range(index[0].type.ndim)] * len(index)
    mask = masks.pop()
    if masks or mask.type.dtype != "bool":
        return None
    rank, axes = mask.type.ndim, len(places)
    if y.type.ndim and (y.type.ndim != x.type.ndim - axes + 1 or y.type.shape[0] != 1):
        return None
    true = t(mask)
    if rank == 1 and places == [0, 0]:  # of both axes at once, so places on the diagonal
        true = pt.and_(pt.eye(true.shape[0], dtype="bool"), pt.dimshuffle(true, 0, "x"))
    elif not rank or places != list(range(rank)):
        return None
    return pt.dimshuffle(true, *range(axes), *("x" for _ in range(x.type.ndim - axes)))


@translates("IfElse")
def _ifelse(t: Translation, apply: Any) -> Any:
    condition, *branches = t.arguments(apply)
    count = len(branches) // 2
    pairs = zip(branches[:count], branches[count:], strict=True)
    return [pt.ifelse(condition, then, otherwise) for then, otherwise in pairs]


# ---- linear algebra


@translates("Dot", "StructuredDot", "TrueDot")
def _dot(t: Translation, apply: Any) -> Any:
    a, b = t.arguments(apply)
    return (sparse_dot if isinstance(a, SparseVariable) or isinstance(b, SparseVariable) else pt.dot)(a, b)


@translates("DenseFromSparse")
def _dense(t: Translation, apply: Any) -> Any:
    return dense_from_sparse(t(apply.inputs[0]))


def _blockwise_dot(t: Translation, apply: Any) -> Any:
    ranks = tuple(part.count(",") + 1 if part else 0 for part in _inputs_of(apply.op.signature))
    functions: dict[tuple[int, ...], Any] = {(2, 2): pt.matmul, (2, 1): pt.matvec, (1, 2): pt.vecmat, (1, 1): pt.vecdot}
    return functions[ranks](*t.arguments(apply))


def _inputs_of(signature: str) -> list[str]:
    """The operands of a signature such as `(m,k),(k)->(m)`, without parentheses."""
    return signature.split("->")[0].strip("()").split("),(")


def _solve_triangular(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    a, b = t.arguments(apply)
    return pt.linalg.solve_triangular(
        a, b, lower=op.lower, unit_diagonal=getattr(op, "unit_diagonal", False), b_ndim=op.b_ndim
    )


def _cholesky(t: Translation, apply: Any) -> Any:
    factor = pt.linalg.cholesky(t(apply.inputs[0]))
    return factor if apply.op.core_op.lower else pt.matrix_transpose(factor)


def _solve(t: Translation, apply: Any) -> Any:
    a, b = t.arguments(apply)
    return pt.linalg.solve(a, b, b_ndim=apply.op.core_op.b_ndim)


def _cholesky_solve(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    factor, b = t.arguments(apply)
    return pt.linalg.cho_solve((factor, op.lower), b, b_ndim=op.b_ndim)


def _convolution(function: Callable[..., Node]) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        x, kernel, full = t.arguments(apply)
        whole = known(full)
        if whole is None:
            raise MissingRuleError("PyTensor's convolution in a mode that data decide has no translation.")
        return function(x, kernel, "full" if whole.all() else "valid")

    return rule


def _eigh(t: Translation, apply: Any) -> Any:
    a, b = (*t.arguments(apply), None)[:2]
    op = getattr(apply.op, "core_op", apply.op)  # PyTensor 2 has it for one matrix, with `UPLO`
    return list(pt.linalg.eigh(a, b, lower=op.lower if hasattr(op, "lower") else op.UPLO == "L"))


def _svd(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    found = pt.linalg.svd(t(apply.inputs[0]), full_matrices=op.full_matrices, compute_uv=op.compute_uv)
    return list(found) if op.compute_uv else found


def _of_matrix(function: Callable[..., Any]) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        found = function(*t.arguments(apply))
        return list(found) if isinstance(found, tuple | list) else found

    return rule


MATRICES: Final[dict[str, Rule]] = {
    "Dot": _blockwise_dot,
    "Cholesky": _cholesky,
    "SolveTriangular": _solve_triangular,
    "Solve": _solve,
    "CholeskySolve": _cholesky_solve,
    "MatrixInverse": _of_matrix(pt.linalg.inv),
    "Det": _of_matrix(pt.linalg.det),
    "SLogDet": _of_matrix(pt.linalg.slogdet),
    "Expm": _of_matrix(pt.linalg.expm),
    "Convolve1d": _convolution(pt.signal.convolve1d),
    "Convolve2d": _convolution(pt.signal.convolve2d),
    "BlockDiagonal": _of_matrix(pt.linalg.block_diag),
    "Eigh": _eigh,
    "MatrixPinv": _of_matrix(pt.linalg.pinv),
    "SolveSylvester": _of_matrix(pt.linalg.solve_sylvester),
    "SVD": _svd,
}
RULES.update((name, MATRICES[name]) for name in ("SolveSylvester", "Convolve1d", "Convolve2d", "Eigh"))


@translates("Blockwise")
def _blockwise(t: Translation, apply: Any) -> Any:
    core = apply.op.core_op
    return MATRICES.get(type(core).__name__, _of_constants)(t, apply)


@translates("OpFromGraph")
def _from_graph(t: Translation, apply: Any) -> Any:
    graph = apply.op.fgraph
    return t.inlined(graph.inputs, graph.outputs, t.arguments(apply))
