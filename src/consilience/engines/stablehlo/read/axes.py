"""StableHLO's operations on whole axes and matrices: reductions, windows, sorts, indexing, products, factorisations.

Operands and attributes in, tensors out. A reduction's body is computed for whole arrays at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.lax import lax
from consilience.engines.reader.lax.indexing import CLIP, FILL, joined
from consilience.engines.reader.lax.orders import in_order
from consilience.engines.reader.lax.windows import Body, convolved
from consilience.engines.reader.rules import Tensors
from consilience.engines.stablehlo.read.elements import HLO, HloCall, as_lax, ints
from consilience.engines.stablehlo.read.mlir import MlirBlock, MlirOperation
from consilience.errors import MissingRuleError

# ---- reductions


def _only_operation(c: HloCall) -> str | None:
    """The operation that a body of two values consists of."""
    words = c.operation.words
    if "applies" in words:
        return words[words.index("applies") + 1].rpartition(".")[2]
    block = c.operation.regions[0]
    if len(block.operations) != 2 or len(block.arguments) != 2:
        return None
    first, last = block.operations
    names = {name for name, _ in block.arguments}
    if set(first.operands) != names or last.operands != first.results:
        return None
    return first.short


def _body(c: HloCall) -> Body:
    """The body for whole arrays in place of scalars."""
    if "applies" in c.operation.words:
        rule = HLO[str(_only_operation(c))]
        return lambda left, right: [rule(c, *left, *right)]
    return lambda left, right: c.region(0, *left, *right, scalar=True)


def _steps(name: str) -> Callable[[HloCall], list[int]]:
    """Steps along the axes of windows, which are 1 where they are not told."""
    return lambda c: c.ints(name) or [1] * len(c.ints("window_dimensions"))


def _padding(c: HloCall) -> Any:
    return np.broadcast_to(np.asarray(c.get("padding", otherwise=0), "int64"), (len(c.ints("window_dimensions")), 2))


HLO("reduce")(as_lax("reduce", dimensions=ints("dimensions"), body=_body, name=_only_operation))
HLO("reduce_window")(
    as_lax(
        "reduce_window", window_dimensions=ints("window_dimensions"), window_strides=_steps("window_strides"),
        window_dilation=_steps("window_dilations"), base_dilation=_steps("base_dilations"), padding=_padding,
        body=_body, name=_only_operation,
    )
)  # fmt: skip


@HLO("map")
def _map(c: HloCall, *operands: Any) -> Tensors:
    return c.region(0, *operands, scalar=True)


# ---- orders


@HLO("sort")
def _sort(c: HloCall, *operands: Any) -> Tensors:
    """Operands in the order of one or several of them; equal ones keep their order."""
    axis = int(c.get("dimension", otherwise=-1)) % operands[0].ndim
    return in_order(operands, axis, _keys(c.operation.regions[0]))


def _keys(block: MlirBlock) -> list[tuple[int, bool]]:
    """What a comparison orders by: numbers of operands, first to last, and whether they ascend.

    Known are `a < b`, `a > b` and, for further keys, `a < b or (a == b and ...)`, where zeros and NaN of an operand may
    be replaced by one of their kind.
    """
    made = {name: operation for operation in block.operations for name in operation.results}
    given = [name for name, _ in block.arguments]

    def unknown() -> MissingRuleError:
        return MissingRuleError("an order other than that of its operands, up or down, has no translation.")

    def operand(name: str) -> int:
        while name not in given:
            operation = made.get(name)
            if operation is None or operation.short != "select" or not _cleans(operation, made):
                raise unknown()
            name = operation.operands[2]
        return given.index(name)

    def compared(operation: MlirOperation | None) -> tuple[str, int, int]:
        if operation is None or operation.short != "compare":
            raise unknown()
        way = str(operation.attributes.get("comparison_direction") or operation.words[0])
        left, right = (operand(name) for name in operation.operands)
        if left // 2 != right // 2 or left == right:
            raise unknown()
        return way, left, right

    def read(name: str) -> list[tuple[int, bool]]:
        operation = made.get(name)
        if operation is None:
            raise unknown()
        if operation.short == "or":
            first, more = operation.operands
            joined = made.get(more)
            if joined is None or joined.short != "and":
                raise unknown()
            (own,) = read(first)
            way, left, _ = compared(made.get(joined.operands[0]))
            if way != "EQ" or left // 2 != own[0]:
                raise unknown()
            return [own, *read(joined.operands[1])]
        way, left, _ = compared(operation)
        if way not in ("LT", "GT"):
            raise unknown()
        return [(left // 2, (way == "LT") == (left % 2 == 0))]

    return read(block.operations[-1].operands[0])


def _cleans(operation: MlirOperation, made: dict[str, MlirOperation]) -> bool:
    """Whether a choice puts one zero for all zeros, or one NaN for all of them."""
    which, instead = (made.get(name) for name in operation.operands[:2])
    if which is None or instead is None or which.short != "compare":
        return False
    text = getattr(instead.attributes.get("value"), "text", "")
    if which.operands[0] == which.operands[1]:
        return "NE" in which.words and re.fullmatch(r"0x[7F]F?[FC8E].*", text) is not None
    zero = made.get(which.operands[1])
    is_zero = zero is not None and re.fullmatch(r"-?0\.0*(e\+00)?", getattr(zero.attributes.get("value"), "text", ""))
    return "EQ" in which.words and bool(is_zero) and re.fullmatch(r"-?0\.0*(e\+00)?", text) is not None


@HLO("top_k", "topk")
def _top_k(c: HloCall, x: Any) -> Tensors:
    given = c.get("mhlo.attributes", otherwise=c.operation.attributes)  # in a call of `mhlo.topk`
    if not given.get("largest", True):
        raise MissingRuleError("the least elements have no translation; take the greatest of the negative ones.")
    return list(lax("top_k", x, k=int(given["k"])))


# ---- indexing


def _numbers(c: HloCall, *names: str) -> SimpleNamespace:
    """Dimension numbers of a gather or a scatter, as JAX's have them."""
    written: dict[str, Any] = c.get("dimension_numbers", "scatter_dimension_numbers", otherwise={})
    found = {name: [int(i) for i in written.get(name, [])] for name in names}
    return SimpleNamespace(**found, index_vector_dim=int(written.get("index_vector_dim", 0)))


def _index_last(starts: Any, batching: list[int], dim: int) -> tuple[Any, list[int]]:
    """Indices whose last axis counts the mapped axes, and the numbers of their other axes."""
    if dim == starts.ndim:
        return pt.expand_dims(starts, dim), batching
    return pt.moveaxis(starts, dim, -1), [b - (b > dim) for b in batching]


@HLO("gather")
def _gather(c: HloCall, x: Any, starts: Any) -> Any:
    numbers = _numbers(
        c, "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
        "start_index_map",
    )  # fmt: skip
    starts, batching = _index_last(starts, numbers.start_indices_batching_dims, numbers.index_vector_dim)
    numbers.start_indices_batching_dims = batching
    return lax("gather", x, starts, dimension_numbers=numbers, slice_sizes=c.ints("slice_sizes"), mode=CLIP)


@HLO("scatter")
def _scatter(c: HloCall, x: Any, starts: Any, updates: Any, *more: Any) -> Any:
    """Windows replaced by others, or joined with them; those that reach beyond the ends are left out."""
    if more:
        raise MissingRuleError("several arrays at once have no translation.")
    numbers = _numbers(
        c, "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
    )  # fmt: skip
    written = c.get("scatter_dimension_numbers")
    numbers.operand_batching_dims = [int(i) for i in written.get("input_batching_dims", [])]
    batching = [int(i) for i in written.get("scatter_indices_batching_dims", [])]
    starts, numbers.scatter_indices_batching_dims = _index_last(starts, batching, numbers.index_vector_dim)
    block = c.operation.regions[0]
    (returned,) = block.operations[-1].operands
    primitive = "scatter-add" if _only_operation(c) == "add" and x.dtype != "bool" else None
    primitive = "scatter" if returned == block.arguments[1][0] else primitive
    if primitive is not None:
        return lax(primitive, x, starts, updates, dimension_numbers=numbers, mode=FILL)
    body = _body(c)
    unique = bool(c.get("unique_indices", otherwise=False))
    return joined(x, starts, updates, numbers, lambda a, b: body([a], [b])[0], unique, FILL)


@HLO("torch_index_select")
def _torch_index_select(c: HloCall, x: Any, places: Any) -> Any:
    if int(c.get("batch_dims", otherwise=0)):
        raise MissingRuleError("selections along batches have no translation.")
    return pt.take(x, places, axis=int(c.get("dim")))


# ---- products


@HLO("dot_general")
def _dot_general(c: HloCall, x: Any, y: Any) -> Any:
    written = c.get("dot_dimension_numbers")
    if written is None:
        batch, contracted = c.get("batching_dims", otherwise=([], [])), c.get("contracting_dims", otherwise=([], []))
    else:
        batch = [written.get(f"{side}_batching_dimensions", []) for side in ("lhs", "rhs")]
        contracted = [written.get(f"{side}_contracting_dimensions", []) for side in ("lhs", "rhs")]
    x, y = x.astype(c.form.dtype), y.astype(c.form.dtype)
    return lax("dot_general", x, y, dimension_numbers=(contracted, batch))


@HLO("dot")
def _dot(c: HloCall, x: Any, y: Any) -> Any:
    return lax("dot_general", x, y, dimension_numbers=(([x.ndim - 1], [0]), ([], [])))


@HLO("einsum")
def _einsum(c: HloCall, *operands: Any) -> Any:
    return pt.einsum(c.get("einsum_config"), *operands)


@HLO("convolution")
def _convolution(c: HloCall, x: Any, kernel: Any) -> Any:
    layout = _layout(c)
    rank = len(layout[0][2])
    ones = [1] * rank
    window = c.get("window", otherwise={})

    def setting(short: str, long: str, otherwise: Any) -> Any:
        found = window.get(short) if short in window else c.get(long)
        return otherwise if found is None else found

    strides = setting("stride", "window_strides", ones)
    padding = np.broadcast_to(np.asarray(setting("pad", "padding", 0), "int64"), (rank, 2))
    inner, spread = setting("lhs_dilate", "lhs_dilation", ones), setting("rhs_dilate", "rhs_dilation", ones)
    turned = np.broadcast_to(np.asarray(setting("reverse", "window_reversal", False), bool), (rank,))
    groups, batches = int(c.get("feature_group_count", otherwise=1)), int(c.get("batch_group_count", otherwise=1))
    return convolved(x, kernel, layout, strides, padding, inner, spread, turned, groups, batches)


def _layout(c: HloCall) -> list[tuple[int, int, list[int]]]:
    """Of operand, kernel and result: which axis is the batch (or output feature), the feature, and the places."""
    written = c.get("dim_numbers", "dimension_numbers")
    if isinstance(written, str):
        written = [re.findall(r"\w+", part) for part in re.findall(r"\[([^\]]*)\]", written)]
    elif isinstance(written[0], list) and isinstance(written[0][0], list):
        written = [written[0][0], written[0][1], written[1]]
    found = []
    for part, (first, second) in zip(written, (("b", "f"), ("o", "i"), ("b", "f")), strict=True):
        names = [str(name) for name in part]
        spatial = sorted((i for i, name in enumerate(names) if name.isdigit()), key=lambda i: int(names[i]))
        found.append((names.index(first), names.index(second), spatial))
    return found


@HLO("batch_norm_inference")
def _batch_norm_inference(c: HloCall, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    axis = int(c.get("feature_index"))
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    scale, offset, mean, variance = (pt.reshape(v, shape) for v in (scale, offset, mean, variance))
    epsilon = np.asarray(c.get("epsilon"), x.dtype)
    return (x - mean) / pt.sqrt(variance + epsilon) * scale + offset


@HLO("batch_norm_training")
def _batch_norm_training(c: HloCall, x: Any, scale: Any, offset: Any) -> Tensors:
    """The normalised array, and the means and variances of the others axes; layers of PyTorch are written with it."""
    others = tuple(i for i in range(x.ndim) if i != int(c.get("feature_index")))
    mean, variance = pt.mean(x, axis=others), pt.var(x, axis=others)
    return [_batch_norm_inference(c, x, scale, offset, mean, variance), mean, variance]


HLO("fft")(as_lax("fft", fft_type=lambda c: str(c.get("type", "fft_type")), fft_lengths=ints("length", "fft_length")))


# ---- factorisations

HLO("cholesky")(as_lax("cholesky", lower=lambda c: bool(c.get("lower", otherwise=False))))


@HLO("triangular_solve")
def _triangular_solve(c: HloCall, a: Any, b: Any) -> Any:
    way = str(c.get("transpose_a", otherwise="NO_TRANSPOSE"))
    if way == "ADJOINT" and "complex" in a.dtype:
        raise MissingRuleError("solutions with a complex adjoint have no translation.")
    return lax(
        "triangular_solve", a, b, left_side=bool(c.get("left_side")), lower=bool(c.get("lower")),
        transpose_a=way != "NO_TRANSPOSE", unit_diagonal=bool(c.get("unit_diagonal")),
    )  # fmt: skip


@HLO("custom_call")
def _custom_call(c: HloCall, *operands: Any) -> Any:
    """LAPACK's routines by JAX's names, and what other translators call in place of an operation of CHLO."""
    target = str(c.get("callee", "call_target_name"))
    if target in ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"):
        return operands[0]
    if target.startswith(("mhlo.", "chlo.")) and target[5:] in HLO:
        return HLO[target[5:]](c, *operands)
    routine = re.fullmatch(r"lapack_[sd](\w+)_ffi", target)
    rule = _LAPACK.get(routine.group(1)) if routine is not None else None
    if rule is None:
        raise MissingRuleError(f"the call of `{target}` has no translation.")
    return rule(c, c.get("mhlo.backend_config", otherwise={}), *operands)


def _succeeded(c: HloCall, place: int) -> Any:
    """LAPACK's report, which is 0: a matrix without a factorisation stops the function here."""
    form = c.forms[place]
    assert form is not None
    return pt.zeros(form.shape, dtype=form.dtype)


def _letter(settings: dict[str, Any], name: str) -> str:
    return chr(int(settings[name]))


def _potrf(c: HloCall, settings: dict[str, Any], x: Any) -> Tensors:
    return [lax("cholesky", x, lower=_letter(settings, "uplo") == "L"), _succeeded(c, 1)]


def _trsm(c: HloCall, settings: dict[str, Any], a: Any, b: Any) -> Any:
    return lax(
        "triangular_solve", a, b, left_side=_letter(settings, "side") == "L", lower=_letter(settings, "uplo") == "L",
        transpose_a=_letter(settings, "trans_x") != "N", unit_diagonal=_letter(settings, "diag") == "U",
    )  # fmt: skip


def _getrf(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    packed, pivots, _ = lax("lu", a)
    return [packed, pivots + 1, _succeeded(c, 2)]


def _syevd(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    return [*lax("eigh", a, lower=_letter(settings, "uplo") == "L"), _succeeded(c, 2)]


def _gesdd(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    """The operand, which LAPACK writes over, then values and vectors."""
    mode = _letter(settings, "mode")
    if mode == "N":
        raise MissingRuleError("singular values without vectors have no translation; ask for the vectors too.")
    return [a, *lax("svd", a, full_matrices=mode == "A", compute_uv=True), _succeeded(c, 4)]


_LAPACK: Final[dict[str, Callable[..., Any]]] = {
    "potrf": _potrf,
    "trsm": _trsm,
    "getrf": _getrf,
    "syevd": _syevd,
    "gesdd": _gesdd,
}
