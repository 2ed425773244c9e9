"""StableHLO's operations on whole axes and matrices: reductions, windows, sorts, indexing, products, factorisations.

Operands and attributes in, tensors out. A reduction's body is computed for whole arrays at once.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.errors import MissingRuleError
from consilience.foreign.jax_indexing import CLIP, FILL
from consilience.foreign.mlir_text import MlirBlock, MlirOperation
from consilience.foreign.stablehlo_elements import HLO, HloCall, Tensors, hlo, of_jax
from consilience.ir import constant_value

Body = Callable[[Tensors, Tensors], Tensors]

# ---- reductions

# MlirOperation -> primitive of a whole axis, primitive of all beginnings of an axis.
_KNOWN: Final = {
    "add": ("reduce_sum", "cumsum"), "multiply": ("reduce_prod", "cumprod"), "maximum": ("reduce_max", "cummax"),
    "minimum": ("reduce_min", "cummin"),
}  # fmt: skip
_OF_BOOLS: Final = {
    "add": "reduce_or", "or": "reduce_or", "maximum": "reduce_or", "and": "reduce_and", "multiply": "reduce_and",
    "minimum": "reduce_and",
}  # fmt: skip


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
    return first.name.rpartition(".")[2]


def _body(c: HloCall) -> Body:
    """The body for whole arrays in place of scalars."""
    if "applies" in c.operation.words:
        rule = HLO[str(_only_operation(c))]
        return lambda left, right: [rule(c, *left, *right)]
    return lambda left, right: c.region(0, *left, *right, scalar=True)


def _neutral(name: str, dtype: str) -> Any:
    """What changes nothing under an operation."""
    kind = np.dtype(dtype).kind
    if name in ("maximum", "minimum"):
        if kind == "b":
            return name == "minimum"
        low, high = (-np.inf, np.inf) if kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return low if name == "maximum" else high
    return {"add": 0, "multiply": 1, "or": 0, "and": 1}[name]


def _is_neutral(value: Any, name: str) -> bool:
    known = constant_value(value)
    return known is not None and bool(np.all(known == _neutral(name, value.dtype)))


@hlo("reduce")
def _reduce(c: HloCall, *operands: Any) -> Tensors:
    """Values along axes taken together: operands, then as many initial values."""
    half = len(operands) // 2
    values, starts = list(operands[:half]), list(operands[half:])
    axes = c.ints("dimensions")
    name, body = _only_operation(c), _body(c)
    lengths = [values[0].static_shape[a] for a in axes]
    shape = [n for a, n in enumerate(values[0].static_shape) if a not in axes]
    if 0 in lengths:
        return [pt.broadcast_to(start, shape) for start in starts]
    primitive = None
    if half == 1 and name is not None:
        primitive = _OF_BOOLS.get(name) if values[0].dtype == "bool" else _KNOWN.get(name, (None, None))[0]
    if name is not None and primitive is not None and axes:
        found = of_jax(primitive, values[0], axes=axes).astype(values[0].dtype)
        return [found] if _is_neutral(starts[0], name) else body(starts, [found])
    rest = [a for a in range(values[0].ndim) if a not in axes]  # without axes to reduce there is one element each
    front = [pt.reshape(pt.transpose(v, (*axes, *rest)), (int(np.prod(lengths)), *shape)) for v in values]
    return body([pt.broadcast_to(s, shape) for s in starts], _by_pairs(body, front))


def _by_pairs(body: Body, values: Tensors) -> Tensors:
    """Elements along the first axis taken together, neighbours first: bodies are associative."""
    while (n := values[0].static_shape[0]) > 1:
        even = n // 2 * 2
        left, right = [v[0:even:2] for v in values], [v[1:even:2] for v in values]
        found = body(left, right)
        values = [pt.concatenate([f, v[even:]], axis=0) for f, v in zip(found, values, strict=True)] if n % 2 else found
    return [v[0] for v in values]


@hlo("reduce_window")
def _reduce_window(c: HloCall, *operands: Any) -> Tensors:
    """Windows taken together, one axis after the other; those that hold all that comes before are cumulative sums."""
    half = len(operands) // 2
    values, starts = list(operands[:half]), list(operands[half:])
    rank = values[0].ndim
    ones = [1] * rank
    sizes = c.ints("window_dimensions")
    strides = c.ints("window_strides", otherwise=ones) or ones
    spread = c.ints("window_dilations", otherwise=ones) or ones
    inner = c.ints("base_dilations", otherwise=ones) or ones
    padding = np.broadcast_to(np.asarray(c.get("padding", otherwise=0), "int64"), (rank, 2))
    name, body = _only_operation(c), _body(c)
    wide = [a for a in range(rank) if sizes[a] > 1]
    if len(wide) == 1 and strides == spread == inner == ones:
        found = _beginnings(name, body, values, starts, wide[0], sizes[wide[0]], padding)
        if found is not None:
            return found
    config = [(int(low), int(high), inner[a] - 1) for a, (low, high) in enumerate(padding)]
    values = [of_jax("pad", v, s, padding_config=config) for v, s in zip(values, starts, strict=True)]
    for axis in range(rank):
        before = (slice(None),) * axis
        reach = (sizes[axis] - 1) * spread[axis]
        count = max(0, (values[0].static_shape[axis] - reach - 1) // strides[axis] + 1)

        def window(k: int, a: int = axis, at: Any = before, n: int = count, whole: Tensors = values) -> Tensors:
            first = k * spread[a]
            part = (*at, slice(first, first + (n - 1) * strides[a] + 1 if n else first, strides[a]))
            return [v[part] for v in whole]

        parts = [window(k) for k in range(sizes[axis])]
        while len(parts) > 1:
            pairs = [body(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, parts[-1]] if len(parts) % 2 else pairs
        values = parts[0]
    if name is not None and name in _OF_BOOLS and all(_is_neutral(s, name) for s in starts):
        return values
    return body([pt.broadcast_to(s, v.static_shape) for s, v in zip(starts, values, strict=True)], values)


def _beginnings(
    name: str | None, body: Body, values: Tensors, starts: Tensors, axis: int, size: int, padding: Any
) -> Tensors | None:
    """All beginnings of an axis, or all ends of it, taken together; None for other windows."""
    length = values[0].static_shape[axis]
    others = np.delete(padding, axis, 0)
    if size != length or others.any() or sorted(padding[axis]) != [0, length - 1]:
        return None
    reverse = bool(padding[axis][1])
    if name in _KNOWN and values[0].dtype != "bool" and _is_neutral(starts[0], name):
        found = of_jax(_KNOWN[name][1], values[0], axis=axis, reverse=reverse)
        return [found.astype(values[0].dtype)]
    front = [pt.moveaxis(v, axis, 0) for v in values]
    front = [v[::-1] for v in front] if reverse else front
    step = 1
    while step < length:
        early, late = [v[:-step] for v in front], [v[step:] for v in front]
        moved = body(late, early) if reverse else body(early, late)
        front = [pt.concatenate([v[:step], m], axis=0) for v, m in zip(front, moved, strict=True)]
        step *= 2
    front = body([pt.broadcast_to(s, v.static_shape) for s, v in zip(starts, front, strict=True)], front)
    return [pt.moveaxis(v[::-1] if reverse else v, 0, axis) for v in front]


@hlo("map")
def _map(c: HloCall, *operands: Any) -> Tensors:
    return c.region(0, *operands, scalar=True)


# ---- orders


@hlo("sort")
def _sort(c: HloCall, *operands: Any) -> Tensors:
    """Operands in the order of one or several of them; equal ones keep their order."""
    axis = int(c.get("dimension", otherwise=-1)) % operands[0].ndim
    keys = _keys(c.operation.regions[0])
    if keys == [(0, True)]:
        return list(of_jax("sort", *operands, dimension=axis, num_keys=1))
    order: Any = None
    for place, ascending in reversed(keys):
        key = operands[place] if order is None else pt.take_along_axis(operands[place], order, axis=axis)
        found = pt.argsort(key, axis=axis, stable=True) if ascending else _descending(key, axis)
        order = found if order is None else pt.take_along_axis(order, found, axis=axis)
    return [pt.take_along_axis(x, order, axis=axis) for x in operands]


def _descending(key: Any, axis: int) -> Any:
    back = tuple(slice(None, None, -1) if a == axis else slice(None) for a in range(key.ndim))
    return (key.static_shape[axis] - 1 - pt.argsort(key[back], axis=axis, stable=True))[back]


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
            if operation is None or operation.name.rpartition(".")[2] != "select" or not _cleans(operation, made):
                raise unknown()
            name = operation.operands[2]
        return given.index(name)

    def compared(operation: MlirOperation | None) -> tuple[str, int, int]:
        if operation is None or operation.name.rpartition(".")[2] != "compare":
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
        if operation.name.rpartition(".")[2] == "or":
            first, more = operation.operands
            joined = made.get(more)
            if joined is None or joined.name.rpartition(".")[2] != "and":
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
    if which is None or instead is None or which.name.rpartition(".")[2] != "compare":
        return False
    text = getattr(instead.attributes.get("value"), "text", "")
    if which.operands[0] == which.operands[1]:
        return "NE" in which.words and re.fullmatch(r"0x[7F]F?[FC8E].*", text) is not None
    zero = made.get(which.operands[1])
    is_zero = zero is not None and re.fullmatch(r"-?0\.0*(e\+00)?", getattr(zero.attributes.get("value"), "text", ""))
    return "EQ" in which.words and bool(is_zero) and re.fullmatch(r"-?0\.0*(e\+00)?", text) is not None


@hlo("top_k", "topk")
def _top_k(c: HloCall, x: Any) -> Tensors:
    given = c.get("mhlo.attributes", otherwise=c.operation.attributes)  # in a call of `mhlo.topk`
    if not given.get("largest", True):
        raise MissingRuleError("the least elements have no translation; take the greatest of the negative ones.")
    return list(of_jax("top_k", x, k=int(given["k"])))


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


@hlo("gather")
def _gather(c: HloCall, x: Any, starts: Any) -> Any:
    numbers = _numbers(
        c, "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
        "start_index_map",
    )  # fmt: skip
    starts, batching = _index_last(starts, numbers.start_indices_batching_dims, numbers.index_vector_dim)
    numbers.start_indices_batching_dims = batching
    return of_jax("gather", x, starts, dimension_numbers=numbers, slice_sizes=c.ints("slice_sizes"), mode=CLIP)


@hlo("scatter")
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
        return of_jax(primitive, x, starts, updates, dimension_numbers=numbers, mode=FILL)
    if c.get("unique_indices", otherwise=False) or _windows(starts) <= 1:
        return _joined(c, x, starts, updates, numbers)
    if numbers.operand_batching_dims:
        raise MissingRuleError("batches of values that are joined, but not added, have no translation.")
    inside = numbers.update_window_dims
    outside = [d for d in range(updates.ndim) if d not in inside]
    windows = [updates.static_shape[d] for d in inside]
    starts = pt.reshape(starts, (_windows(starts), starts.static_shape[-1]))
    updates = pt.reshape(pt.transpose(updates, (*outside, *inside)), (starts.static_shape[0], *windows))
    one = SimpleNamespace(**{**vars(numbers), "update_window_dims": list(range(len(windows)))})
    steps = pt.scan(
        lambda start, update, last: _joined(c, last, start, update, one), [starts, updates], [x], return_updates=False
    )
    return steps[-1]


def _joined(c: HloCall, x: Any, starts: Any, updates: Any, numbers: SimpleNamespace) -> Any:
    """Windows at places that differ from each other: what stands there is read, joined and put back."""
    sizes = [1] * x.ndim
    inserted = [*numbers.inserted_window_dims, *numbers.operand_batching_dims]
    windowed = [d for d in range(x.ndim) if d not in inserted]
    for axis, place in zip(windowed, numbers.update_window_dims, strict=True):
        sizes[axis] = updates.static_shape[place]
    reading = SimpleNamespace(
        offset_dims=numbers.update_window_dims, collapsed_slice_dims=numbers.inserted_window_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.scatter_indices_batching_dims,
        start_index_map=numbers.scatter_dims_to_operand_dims,
    )  # fmt: skip
    there = of_jax("gather", x, starts, dimension_numbers=reading, slice_sizes=sizes, mode=CLIP)
    new = _body(c)([there], [updates])[0]
    return of_jax("scatter", x, starts, new, dimension_numbers=numbers, mode=FILL)


def _windows(starts: Any) -> int:
    return int(np.prod(starts.static_shape[:-1], dtype="int64"))


@hlo("torch_index_select")
def _torch_index_select(c: HloCall, x: Any, places: Any) -> Any:
    if int(c.get("batch_dims", otherwise=0)):
        raise MissingRuleError("selections along batches have no translation.")
    return pt.take(x, places, axis=int(c.get("dim")))


# ---- products


@hlo("dot_general")
def _dot_general(c: HloCall, x: Any, y: Any) -> Any:
    written = c.get("dot_dimension_numbers")
    if written is None:
        batch, contracted = c.get("batching_dims", otherwise=([], [])), c.get("contracting_dims", otherwise=([], []))
    else:
        batch = [written.get(f"{side}_batching_dimensions", []) for side in ("lhs", "rhs")]
        contracted = [written.get(f"{side}_contracting_dimensions", []) for side in ("lhs", "rhs")]
    x, y = x.astype(c.form.dtype), y.astype(c.form.dtype)
    return of_jax("dot_general", x, y, dimension_numbers=(contracted, batch))


@hlo("dot")
def _dot(c: HloCall, x: Any, y: Any) -> Any:
    return of_jax("dot_general", x, y, dimension_numbers=(([x.ndim - 1], [0]), ([], [])))


@hlo("einsum")
def _einsum(c: HloCall, *operands: Any) -> Any:
    return pt.einsum(c.get("einsum_config"), *operands)


@hlo("convolution")
def _convolution(c: HloCall, x: Any, kernel: Any) -> Any:
    """Sums of products of a kernel with windows: these are read by index arrays, and one product does the rest."""
    (batch, feature, places), (out, within, own), (out_batch, out_feature, out_places) = _layout(c)
    rank = len(places)
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
    x, kernel = pt.transpose(x, (batch, feature, *places)), pt.transpose(kernel, (out, within, *own))
    if turned.any():
        kernel = kernel[(slice(None), slice(None), *(slice(None, None, -1) if t else slice(None) for t in turned))]
    config = [(0, 0, 0), (0, 0, 0), *((int(a), int(b), n - 1) for (a, b), n in zip(padding, inner, strict=True))]
    x = of_jax("pad", x, pt.zeros((), dtype=x.dtype), padding_config=config)
    found: list[Any] = []
    for axis in range(rank):
        size, length = kernel.static_shape[2 + axis], x.static_shape[2 + axis]
        count = max(0, (length - (size - 1) * spread[axis] - 1) // strides[axis] + 1)
        own_places = np.arange(count)[:, None] * strides[axis] + np.arange(size) * spread[axis]
        found.append(own_places.reshape([*([1] * 2 * axis), count, size, *([1] * 2 * (rank - 1 - axis))]))
    patches = x[(slice(None), slice(None), *found)]  # batch, feature, then place and kernel place per axis
    n, features = patches.static_shape[:2]
    if batches > 1:  # the batch holds the groups
        n, groups = n // batches, batches
        patches = pt.moveaxis(pt.reshape(patches, (groups, n, *patches.static_shape[1:])), 0, 1)
    else:
        patches = pt.reshape(patches, (n, groups, features // groups, *patches.static_shape[2:]))
    outs = kernel.static_shape[0]
    kernel = pt.reshape(kernel, (groups, outs // groups, *kernel.static_shape[1:]))
    letters = iter(string.ascii_lowercase)
    b, g, f, o = (next(letters) for _ in range(4))
    pairs = [(next(letters), next(letters)) for _ in range(rank)]
    left = b + g + f + "".join(a + k for a, k in pairs)
    made = pt.einsum(
        f"{left},{g}{o}{f}{''.join(k for _, k in pairs)}->{b}{g}{o}{''.join(a for a, _ in pairs)}", patches, kernel
    )
    made = pt.reshape(made, (n, outs, *made.static_shape[3:]))
    order = [out_batch, out_feature, *out_places]
    return pt.transpose(made, tuple(order.index(i) for i in range(rank + 2)))


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


@hlo("batch_norm_inference")
def _batch_norm_inference(c: HloCall, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    axis = int(c.get("feature_index"))
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    scale, offset, mean, variance = (pt.reshape(v, shape) for v in (scale, offset, mean, variance))
    epsilon = np.asarray(c.get("epsilon"), x.dtype)
    return (x - mean) / pt.sqrt(variance + epsilon) * scale + offset


@hlo("batch_norm_training")
def _batch_norm_training(c: HloCall, x: Any, scale: Any, offset: Any) -> Tensors:
    """The normalised array, and the means and variances of the others axes; layers of PyTorch are written with it."""
    others = tuple(i for i in range(x.ndim) if i != int(c.get("feature_index")))
    mean, variance = pt.mean(x, axis=others), pt.var(x, axis=others)
    return [_batch_norm_inference(c, x, scale, offset, mean, variance), mean, variance]


@hlo("fft")
def _fft(c: HloCall, x: Any) -> Any:
    """Transforms along the last axes; inverse ones are divided by their length."""
    kind, lengths = str(c.get("type", "fft_type")), c.ints("length", "fft_length")
    axes = tuple(range(-len(lengths), 0))
    transform = {"FFT": pt.fft.fftn, "IFFT": pt.fft.ifftn, "RFFT": pt.fft.rfftn, "IRFFT": pt.fft.irfftn}[kind]
    return transform(x, tuple(lengths), axes)


# ---- factorisations


@hlo("cholesky")
def _cholesky(c: HloCall, x: Any) -> Any:
    return _factor(x, bool(c.get("lower", otherwise=False)))


def _factor(x: Any, lower: bool) -> Any:
    """The lower factor, or the upper one of the upper triangle."""
    return of_jax("cholesky", x) if lower else pt.swapaxes(of_jax("cholesky", pt.swapaxes(x, -1, -2)), -1, -2)


@hlo("triangular_solve")
def _triangular_solve(c: HloCall, a: Any, b: Any) -> Any:
    way = str(c.get("transpose_a", otherwise="NO_TRANSPOSE"))
    if way == "ADJOINT" and "complex" in a.dtype:
        raise MissingRuleError("solutions with a complex adjoint have no translation.")
    return of_jax(
        "triangular_solve", a, b, left_side=bool(c.get("left_side")), lower=bool(c.get("lower")),
        transpose_a=way != "NO_TRANSPOSE", unit_diagonal=bool(c.get("unit_diagonal")),
    )  # fmt: skip


@hlo("custom_call")
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
    return [_factor(x, _letter(settings, "uplo") == "L"), _succeeded(c, 1)]


def _trsm(c: HloCall, settings: dict[str, Any], a: Any, b: Any) -> Any:
    return of_jax(
        "triangular_solve", a, b, left_side=_letter(settings, "side") == "L", lower=_letter(settings, "uplo") == "L",
        transpose_a=_letter(settings, "trans_x") != "N", unit_diagonal=_letter(settings, "diag") == "U",
    )  # fmt: skip


def _getrf(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    packed, pivots, _ = of_jax("lu", a)
    return [packed, pivots + 1, _succeeded(c, 2)]


def _syevd(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    return [*of_jax("eigh", a, lower=_letter(settings, "uplo") == "L"), _succeeded(c, 2)]


def _gesdd(c: HloCall, settings: dict[str, Any], a: Any) -> Tensors:
    """The operand, which LAPACK writes over, then values and vectors."""
    mode = _letter(settings, "mode")
    if mode == "N":
        raise MissingRuleError("singular values without vectors have no translation; ask for the vectors too.")
    return [a, *of_jax("svd", a, full_matrices=mode == "A", compute_uv=True), _succeeded(c, 4)]


_LAPACK: Final[dict[str, Callable[..., Any]]] = {
    "potrf": _potrf,
    "trsm": _trsm,
    "getrf": _getrf,
    "syevd": _syevd,
    "gesdd": _gesdd,
}
