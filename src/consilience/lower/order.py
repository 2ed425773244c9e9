"""Steps that order elements: sorting, selection of single places, places in what is ordered.

Every line of elements becomes a line of unsigned integers in the same order, which `native/routines` sorts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.errors import MissingRuleError, Status
from consilience.ir import FLOATS, UNSIGNED, Node
from consilience.lower.fortran import Argument
from consilience.lower.primitives import SelectedElements, SelectedRun
from consilience.lower.routines import routine
from consilience.lower.scalar_code import MEMORY, from_memory, register_type, to_memory
from consilience.lower.views import static
from consilience.native.loops import Builder, Value, f64, i64
from consilience.native.routines import SIDES
from consilience.ops import ArgSort, SearchSorted, Sort

SIGN = -(1 << 63)
FEW_LINES = 4  # fewer are sorted one by one
LONGEST_LINE = 512  # longer ones too, by their digits


def _key(b: Builder, dtype: str, value: Value) -> Value:
    """An unsigned integer in the order of the numbers: zeros of both signs are one, NaN comes last."""
    if dtype not in FLOATS:
        key = b.cast(value, i64, signed=dtype not in (*UNSIGNED, "bool"))
        return key if dtype in UNSIGNED else b.xor(key, b.const(i64, SIGN))
    number = b.add(b.cast(value, f64), b.const(f64, 0.0))
    bits = b.bitcast(number, i64)
    key = b.xor(bits, b.or_(b.ashr(bits, b.const(i64, 63)), b.const(i64, SIGN)))
    return b.select(b.isnan(number), b.const(i64, -1), key)


def _number(b: Builder, dtype: str, key: Value) -> Value:
    """The number of a key."""
    kind = register_type(dtype)
    if dtype not in FLOATS:
        return b.cast(key if dtype in UNSIGNED else b.xor(key, b.const(i64, SIGN)), kind)
    flipped = b.or_(b.sub(b.lshr(key, b.const(i64, 63)), b.const(i64, 1)), b.const(i64, SIGN))
    return b.cast(b.bitcast(b.xor(key, flipped), f64), kind)


def _element(b: Builder, dtype: str, source: Argument, place: Value) -> Value:
    memory = MEMORY[dtype]
    return from_memory(b, dtype, b.load(memory, b.offset(source.pointer, place, memory)))


def _put(b: Builder, dtype: str, value: Value, target: Argument, place: Value) -> None:
    b.store(to_memory(b, dtype, value), b.offset(target.pointer, place, MEMORY[dtype]))


def _write_keys(b: Builder, dtype: str, x: Argument, start: Value, keys: Value) -> None:
    """The keys of one line."""
    if dtype == "float64":
        count = b.const(i64, x.view.shape[-1])
        b.call("consilience_routine_keys_of_floats", None, b.offset(x.pointer, start, f64), keys, count)
        return
    with b.for_(0, x.view.shape[-1]) as i:
        b.store(_key(b, dtype, _element(b, dtype, x, b.add(start, i))), b.offset(keys, i, i64))


def _two_lines(node: Node) -> list[tuple[str, int]]:
    """Memory for the keys of a line, and for what sorting them needs."""
    length = node.inputs[0].static_shape[-1]
    assert isinstance(length, int)
    return [("int64", length)] * 2


@routine(ArgSort, _two_lines)
def _argsort(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x,), (order, keys, other) = sources, targets
    *lines, length = x.view.shape
    if length >= 1 << 32:
        raise MissingRuleError(f"the order of {length} elements: an axis of fewer than 2**32 was needed; sort parts.")
    count = b.const(i64, length)
    with b.for_(0, math.prod(lines)) as line:
        start = b.mul(line, count)
        _write_keys(b, node.inputs[0].dtype, x, start, keys.pointer)
        own = b.offset(order.pointer, start, i64)
        b.call("consilience_routine_argsort", None, keys.pointer, own, other.pointer, count)


def _side_by_side(node: Node) -> bool:
    """Whether lines are sorted several at a time."""
    *lines, length = static(node.static_shape)
    return node.dtype == "float64" and math.prod(lines) >= FEW_LINES and 1 < length <= LONGEST_LINE


def _memory_of_sort(node: Node) -> list[tuple[str, int]]:
    """For lines that are sorted side by side, or as `_two_lines`."""
    length = static(node.static_shape)[-1]
    return [("float64", SIDES * (length + -length % SIDES))] if _side_by_side(node) else _two_lines(node)


@routine(Sort, _memory_of_sort)
def _sort(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x,), (result, *memory) = sources, targets
    *lines, length = x.view.shape
    if _side_by_side(node):
        rows, size = b.const(i64, math.prod(lines)), b.const(i64, length)
        special = b.call("consilience_routine_sort_rows", i64, x.pointer, result.pointer, memory[0].pointer, rows, size)
        with b.if_(b.cmp("ne", special, b.const(i64, 0))):
            b.call("consilience_routine_put_rows_right", None, x.pointer, result.pointer, rows, size)
        return
    keys, other = memory
    dtype, count = node.inputs[0].dtype, b.const(i64, length)
    with b.for_(0, math.prod(lines)) as line:
        start = b.mul(line, count)
        _write_keys(b, dtype, x, start, keys.pointer)
        b.call("consilience_routine_sort_keys", None, keys.pointer, other.pointer, count)
        if dtype in FLOATS:
            # Zeros keep the order of their signs.
            zeros = b.variable(b.call("consilience_routine_below", i64, keys.pointer, count, b.const(i64, SIGN)))
        if dtype == "float64":
            ordered = b.offset(result.pointer, start, f64)
            b.call("consilience_routine_floats_of_keys", None, keys.pointer, ordered, count)
        else:
            with b.for_(0, length) as i:
                number = _number(b, dtype, b.load(i64, b.offset(keys.pointer, i, i64)))
                _put(b, dtype, number, result, b.add(start, i))
        if dtype in FLOATS:
            first = b.load(i64, b.offset(keys.pointer, b.minimum(b.get(zeros), b.const(i64, length - 1)), i64))
            with b.if_(b.cmp("eq", first, b.const(i64, SIGN))), b.for_(0, length) as i:
                value = _element(b, dtype, x, b.add(start, i))
                with b.if_(b.cmp("eq", value, b.const(value.type, 0.0))):
                    _put(b, dtype, value, result, b.add(start, b.get(zeros)))
                    b.set(zeros, b.add(b.get(zeros), b.const(i64, 1)))


@routine(SelectedElements, _two_lines)
def _selected_elements(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, positions), (result, keys, other) = sources, targets
    *lines, length = x.view.shape
    (number,) = positions.view.shape
    dtype, count = node.inputs[0].dtype, b.const(i64, length)
    before, key = b.variable(b.const(i64, 0)), b.variable(b.const(i64, 0))
    with b.for_(0, math.prod(lines)) as line:
        _write_keys(b, dtype, x, b.mul(line, count), keys.pointer)
        b.set(before, b.const(i64, -2))
        with b.for_(0, number) as k:
            given = b.load(i64, b.offset(positions.pointer, k, i64))
            place = b.select(b.cmp("lt", given, b.const(i64, 0)), b.add(given, count), given)
            with b.if_(b.cmp("uge", place, count)):
                b.ret(b.const(i64, int(Status.OUT_OF_BOUNDS)))
            with b.if_(b.cmp("eq", place, b.add(b.get(before), b.const(i64, 1)))):
                b.set(key, b.call("consilience_routine_next_key", i64, keys.pointer, count, b.get(key), place))
            with b.else_(), b.if_(b.cmp("ne", place, b.get(before))):
                b.set(key, b.call("consilience_routine_select", i64, keys.pointer, other.pointer, count, place))
            b.set(before, place)
            target = b.add(b.mul(line, b.const(i64, number)), k)
            _put(b, dtype, _number(b, dtype, b.get(key)), result, target)


@routine(SelectedRun, _two_lines)
def _selected_run(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, SelectedRun)
    (x,), (result, keys, other) = sources, targets
    *lines, length = x.view.shape
    dtype, count, number = node.inputs[0].dtype, b.const(i64, length), b.const(i64, op.number)
    with b.for_(0, math.prod(lines)) as line:
        _write_keys(b, dtype, x, b.mul(line, count), keys.pointer)
        b.call(
            "consilience_routine_select_run", None, keys.pointer, other.pointer, count, b.const(i64, op.start), number
        )
        with b.for_(0, op.number) as k:
            key = b.load(i64, b.offset(other.pointer, k, i64))
            _put(b, dtype, _number(b, dtype, key), result, b.add(b.mul(line, number), k))


@routine(SearchSorted)
def _search_sorted(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """Vectors and values are float64 or int64."""
    op = node.op
    assert isinstance(op, SearchSorted)
    (vectors, values), (result,) = sources, targets
    memory = MEMORY[node.inputs[0].dtype]
    name = f"consilience_routine_places_of_{'floats' if memory is f64 else 'integers'}"
    right = b.const(i64, int(op.side == "right"))
    length, number = vectors.view.shape[-1], math.prod(values.view.shape[op.batch :])
    count, each = b.const(i64, length), b.const(i64, number)
    with b.for_(0, math.prod(values.view.shape[: op.batch])) as line:
        own, start = b.mul(line, count), b.mul(line, each)
        ordered = b.offset(vectors.pointer, own, memory)
        wanted, found = b.offset(values.pointer, start, memory), b.offset(result.pointer, start, i64)
        b.call(name, None, ordered, count, wanted, each, right, found)
