"""Indexing means what it means in NumPy: basic, by integer arrays, by masks, mixed; reading, setting, adding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience.tensor as pt
from consilience.errors import OutOfBoundsError
from consilience.ir import Node, constant, tensor_input, topological
from consilience.lower.specialise import specialise
from consilience.ops import Concatenate, Iota, apply, as_tensor
from consilience.ops.index import index_inc, index_set
from consilience.ops.shape import concatenate
from consilience.rewrite.rules import indices_at_known_lengths
from tests.backends.agreement import Array, inputs_like, lengths_of, run_llvm, run_reference

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
Shape = tuple[int, ...]
SHAPES = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple)


def filled(shape: Shape) -> Array:
    """Distinct numbers."""
    return np.arange(int(np.prod(shape)), dtype="float64").reshape(shape) + 1.0


@st.composite
def slices(draw: Any, length: int) -> slice:
    """Any slice, bounds beyond the axis included."""
    bound = st.none() | st.integers(-length - 2, length + 2)
    step = draw(st.none() | st.integers(1, 3) | st.integers(-3, -1))
    return slice(draw(bound), draw(bound), step)


@st.composite
def basic(draw: Any, shape: Shape) -> tuple[Any, ...]:
    """Slices, integers, new axes and one ellipsis."""
    items: list[Any] = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.booleans()) and length:
            items.append(draw(st.integers(-length, length - 1)))
        else:
            items.append(draw(slices(length)))
        if draw(st.integers(0, 4)) == 0:
            items.append(None)
    if draw(st.integers(0, 3)) == 0:
        items.append(...)
    return tuple(items)


@st.composite
def advanced(draw: Any, shape: Shape) -> tuple[Any, ...]:
    """At least one integer array or mask, among slices, integers and new axes."""
    items: list[Any] = []
    broadcast = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1), (0,)]))
    where = draw(st.integers(0, len(shape) - 1))
    axis = 0
    while axis < len(shape):
        length = shape[axis]
        kind = "array" if axis == where else draw(st.sampled_from(["array", "slice", "slice", "integer", "full"]))
        if kind == "array" and length == 0 and 0 not in broadcast:
            kind = "slice" if axis != where else "mask"
        if kind == "array":
            own = draw(st.sampled_from([broadcast, broadcast[-1:]]))
            count = int(np.prod(own))
            entries = st.integers(-length, length - 1) if length else st.nothing()
            values = draw(st.lists(entries, min_size=count, max_size=count))
            items.append(np.array(values, "int64").reshape(own))
        elif kind == "mask":
            items.append(np.zeros(0, bool))
        elif kind == "integer" and length:
            items.append(draw(st.integers(-length, length - 1)))
        else:
            items.append(draw(slices(length)))
        axis += 1
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
    return tuple(items)


@st.composite
def masked(draw: Any, shape: Shape) -> tuple[Any, ...]:
    """One mask over one or two axes, slices and integers elsewhere."""
    first = draw(st.integers(0, len(shape) - 1))
    covered = draw(st.integers(1, min(2, len(shape) - first)))
    items: list[Any] = [draw(slices(n)) for n in shape[:first]]
    size = int(np.prod(shape[first : first + covered]))
    bits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    items.append(np.array(bits, bool).reshape(shape[first : first + covered]))
    items += [
        draw(slices(n)) if draw(st.booleans()) or not n else draw(st.integers(-n, n - 1))
        for n in shape[first + covered :]
    ]
    return tuple(items)


def on_all_backends(arrays: list[Array], outputs: list[Node], nodes: list[Node], wanted: list[Array]) -> None:
    """Every backend gives the wanted arrays."""
    for run in (run_reference, run_llvm):
        for found, meant in zip(run(nodes, outputs, arrays), wanted, strict=True):
            assert found.shape == meant.shape
            np.testing.assert_array_equal(found, meant)


def check(array: Array, index: tuple[Any, ...], dynamic: bool) -> None:
    """Read, set and add through one index, constant or given at the call."""
    wanted = array[index]
    values = np.arange(wanted.size, dtype="float64").reshape(wanted.shape) * 0.5 - 2.0
    given = [i for i in index if isinstance(i, np.ndarray)] if dynamic else []
    arrays = [array, values, *given]
    x, v, *rest = inputs_like(arrays)
    remaining = iter(rest)
    written = tuple(next(remaining) if dynamic and isinstance(i, np.ndarray) else i for i in index)
    part = x[written]
    after_set, after_inc, scalar, computed = array.copy(), array.copy(), array.copy(), array.copy()
    after_set[index] = values
    np.add.at(after_inc, index, values)
    scalar[index] = 7.0
    np.add.at(computed, index, values * wanted)
    outputs, meant = [part], [wanted]
    if part is not x:
        outputs += [index_set(part, v), index_inc(part, v), index_set(part, 7.0), index_inc(part, v * part)]
        meant += [after_set, after_inc, scalar, computed]
    on_all_backends(arrays, outputs, [x, v, *rest], meant)


@EXAMPLES
@given(st.data(), SHAPES)
def test_basic_index(data: Any, shape: Shape) -> None:
    """Slices, integers, new axes, ellipsis."""
    check(filled(shape), data.draw(basic(shape)), dynamic=False)


@EXAMPLES
@given(st.data(), SHAPES, st.booleans())
def test_integer_array_index(data: Any, shape: Shape, dynamic: bool) -> None:
    """Integer arrays that broadcast together, between other entries; the place of their axes is NumPy's."""
    index = data.draw(advanced(shape))
    check(filled(shape), index, dynamic and not any(isinstance(i, np.ndarray) and i.dtype == bool for i in index))


@EXAMPLES
@given(st.data(), SHAPES, st.booleans())
def test_mask_index(data: Any, shape: Shape, dynamic: bool) -> None:
    """Masks over one or two axes, constant or given at the call."""
    check(filled(shape), data.draw(masked(shape)), dynamic)


@EXAMPLES
@given(st.data(), SHAPES)
def test_basic_index_of_symbolic_lengths(data: Any, shape: Shape) -> None:
    """The same slices when lengths are known at the call only."""
    array, index = filled(shape), data.draw(basic(shape))
    (x,) = inputs_like([array], symbolic=True)
    part = x[index]
    on_all_backends([array], [part * 2.0], [x], [array[index] * 2.0])


def test_repeated_positions_add_up_and_the_last_one_wins() -> None:
    """`.inc` sums what falls on one place, `.set` keeps the last value."""
    places = np.array([1, 1, 3, -1, 1])
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    x, i, v = inputs_like([np.zeros(4), places, values])
    added, last = np.zeros(4), np.zeros(4)
    np.add.at(added, places, values)
    last[places] = values
    on_all_backends([np.zeros(4), places, values], [index_inc(x[i], v), index_set(x[i], v)], [x, i, v], [added, last])


@EXAMPLES
@given(st.data(), st.integers(1, 11), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_rows_by_index_and_the_sums_of_their_gradient(data: Any, width: int, dynamic: bool, dtype: str) -> None:
    """A product of rows of two tables, summed over columns, and its gradients: repeated, negative and no positions."""
    rows = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 3)))
    count = data.draw(st.integers(0, 30))
    picks = [np.array(data.draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count)), int) for n in rows]
    random = np.random.default_rng(count)
    one, other, weights = (random.normal(size=s).astype(dtype) for s in ((rows[0], width), (rows[1], width), count))
    u, v, w, *places = inputs_like([one, other, weights, *picks])
    i, j = places if dynamic else map(constant, picks)
    cells = (u[i] * v[j]).sum(-1)
    graph = [cells, *pt.grad((cells * w).sum(), [u, v])]
    first, second = one[picks[0]], other[picks[1]]
    by_row = [np.zeros_like(one), np.zeros_like(other)]
    np.add.at(by_row[0], picks[0], weights[:, None] * second)
    np.add.at(by_row[1], picks[1], weights[:, None] * first)
    for run in (run_reference, run_llvm):
        found = run([u, v, w, *places], graph, [one, other, weights, *picks])
        for array, meant in zip(found, [(first * second).sum(-1), *by_row], strict=True):
            np.testing.assert_allclose(array, meant, rtol=1e-4, atol=1e-5 if dtype == "float32" else 1e-12)


def test_updates_leave_their_operand_alone() -> None:
    """An update is a new value: the old one can still be read, and updates of one tensor are independent."""
    array = filled((3, 4))
    (x,) = inputs_like([array])
    y = x + 0.0
    one, two = index_set(y[1], 0.0), index_inc(y[:, 2], 5.0)
    first, second = array.copy(), array.copy()
    first[1] = 0.0
    second[:, 2] += 5.0
    on_all_backends([array], [one, two, y, one + two + y], [x], [first, second, array, first + second + array])


@pytest.mark.parametrize("position", [5, -6, 2**40, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("form", ["scalar", "vector", "matrix", "set", "inc", "gradient"])
def test_dynamic_index_out_of_bounds_is_an_error(form: str, position: int) -> None:
    """No backend reads or writes outside; the machine code says so through its status."""
    array = filled((5, 3))
    index = np.full({"scalar": (), "matrix": (2, 9)}.get(form, (4,)), 2)
    index[...] = np.where(np.arange(index.size).reshape(index.shape) == index.size - 1, position, 2)
    x, i = inputs_like([array, index])
    part = x[i]
    graph = index_set(part, 1.0) if form == "set" else index_inc(part, 1.0) if form == "inc" else part * 2.0
    graph = pt.grad(pt.sqr(part.sum(-1)).sum(), x) if form == "gradient" else graph
    for run in (run_reference, run_llvm):
        with pytest.raises(OutOfBoundsError):
            run([x, i], [graph], [array, index])


def test_constant_index_out_of_bounds_is_an_error_when_written() -> None:
    """Static positions are checked where they are written."""
    x = tensor_input("float64", (5,))
    for index in (5, -6, [0, 5], np.array([-6])):
        with pytest.raises(OutOfBoundsError, match="axis 0 of length 5"):
            x[index]


def test_int32_and_list_indices() -> None:
    """Lists and int32 arrays index as int64 arrays do."""
    array = filled((5,))
    index = np.array([1, -1], "int32")
    x, i = inputs_like([array, index])
    on_all_backends(
        [array, index], [x[i], x[[0, 2]], x[as_tensor([1, 1])]], [x, i], [array[index], array[[0, 2]], array[[1, 1]]]
    )


def test_gather_of_a_constant_and_of_an_index_range() -> None:
    """What is indexed may be a loop value, a constant or a range that is never stored."""
    index = np.array([3, 0, 2, 2])
    x, i = inputs_like([filled((4,)), index])
    numbers = np.array([5.0, 6.0, 7.0, 8.0])
    outputs = [
        (x * 2.0)[i],
        constant(numbers)[i] + 1.0,
        Node(Iota(4))[i] + 1,
        Node(Iota(9))[2::2][i],
        Node(Iota(4))[::-1][i],
    ]
    wanted = [filled((4,))[index] * 2.0, numbers[index] + 1.0, index + 1, 2 + 2 * index, 3 - index]
    on_all_backends([filled((4,)), index], outputs, [x, i], wanted)


@given(
    lengths=st.lists(st.integers(0, 6), min_size=2, max_size=4),
    taken=slices(12) | st.integers(-3, 3),
    seed=st.integers(0, 2**32 - 1),
)
@EXAMPLES
def test_of_joins_whose_lengths_come_with_the_call_only_what_is_read_is_made(
    lengths: list[int], taken: Any, seed: int
) -> None:
    """The values are NumPy's; where one part is read there is no join in the program."""
    arrays = [np.random.default_rng(seed).standard_normal(n) for n in lengths]
    parts = [tensor_input("float64", [None], f"x{k}") for k in range(len(lengths))]
    outputs = [concatenate([apply("exp", part) for part in parts], 0)[taken]]
    whole = np.concatenate([np.exp(own) for own in arrays])
    if isinstance(taken, int) and not -len(whole) <= taken < len(whole):
        with pytest.raises(OutOfBoundsError):
            run_llvm(parts, outputs, arrays)
        return
    np.testing.assert_allclose(run_llvm(parts, outputs, arrays)[0], whole[taken], rtol=1e-14)
    static = indices_at_known_lengths(specialise(outputs, lengths_of(parts, arrays))[0])
    read = np.unique(np.repeat(np.arange(len(lengths)), lengths)[taken])
    if len(read) == 1 and (isinstance(taken, int) or taken.step in (None, 1)) and np.size(whole[taken]) < len(whole):
        assert not any(isinstance(node.op, Concatenate) for node in topological(static))
