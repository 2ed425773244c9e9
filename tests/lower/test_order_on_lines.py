"""Sorting, selection and places of extremes give what NumPy gives, whatever lies in the lines, along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.ir import topological
from consilience.lower.expand import expand
from consilience.lower.primitives import SelectedElements, SelectedRun
from consilience.native.routines import row_sorting, sorting

DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint64", "uint8", "bool")


def lines(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Numbers with many ties; floats with zeros of both signs, infinities and NaN in some lines."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.1
    x = rng.integers(-9 if dtype[0] != "u" else 0, 9, shape).astype(dtype)
    if dtype == "uint64":
        x[x == 3] = np.uint64(2**64 - 1)
    if dtype[0] == "f":
        x = (x * rng.choice([1.0, 0.37], shape)).astype(dtype)
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.05] = -np.inf
        rare = rng.random(shape) < 0.5 / shape[-1]
        x[rare] = np.nan
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 1), (2, 5, 3), (4, 129), (300, 2), (2, 1100)])
def test_places_of_extremes(dtype: str, shape: tuple[int, ...]) -> None:
    """The first NaN, or the first of the most extreme elements."""
    x = lines(dtype, shape, len(shape))
    node = pt.tensor("x", shape=shape, dtype=dtype)
    for axis in (*range(len(shape)), None):
        f = pm.function([node], [pt.argmax(node, axis=axis), pt.argmin(node, axis=axis)])
        for found, expected in zip(f(x), (np.argmax(x, axis=axis), np.argmin(x, axis=axis)), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [9, 70, 4100, 9000])
def test_what_is_selected_is_what_is_sorted(dtype: str, length: int) -> None:
    x = lines(dtype, (2, length), length)
    node = pt.tensor("x", shape=x.shape, dtype=dtype)
    ordered = pt.sort(node, axis=-1)
    places: tuple[Any, ...] = (0, length - 1, length // 3, -2, slice(0, 3), slice(-4, None), slice(2, 2 + length // 9))
    places = (*places, slice(None, None, -1), slice(length // 2, length // 2 + 1), slice(5, 2, -1))
    expected = np.sort(x, axis=-1)
    for place in places:
        np.testing.assert_array_equal(pm.function([node], ordered[:, place])(x), expected[:, place], str(place))


READINGS: dict[str, tuple[list[Any], bool]] = {
    "two places": ([3, slice(-2, None)], False),
    "beside all": ([3, slice(-2, None), slice(None)], True),
    "beside every third": ([slice(None, 5), slice(None, None, 3)], True),
    "many": ([3, 4, 70, slice(-2, None), slice(20, 22)], True),
    "turned": ([slice(None, None, -1), slice(5, 2, -1)], True),
}


@pytest.mark.parametrize("name", READINGS)
def test_places_of_what_is_sorted_anyway_are_not_searched_for(name: str) -> None:
    places, whole = READINGS[name]
    x, node = lines("float64", (2, 300), 3), pt.dmatrix("x", shape=(2, 300))
    outputs = [pt.sort(node, axis=-1)[:, place] for place in places]
    for found, place in zip(pm.function([node], outputs)(x), places, strict=True):
        np.testing.assert_array_equal(found, np.sort(x, axis=-1)[:, place])
    searched = [n for n in topological(expand(outputs)) if isinstance(n.op, SelectedElements | SelectedRun)]
    assert bool(searched) is not whole


@pytest.mark.parametrize("kind", ["drawn", "ascending", "two values", "period of the sample", "ends"])
def test_a_sample_that_misleads_costs_time_alone(kind: str) -> None:
    """Selection looks between words of a sample, which may all be far from the wanted one."""
    count, rng = 25_600, np.random.default_rng(1)
    words = {
        "drawn": rng.integers(0, 2**63, count),
        "ascending": np.arange(count),
        "two values": rng.integers(0, 2, count),
        "period of the sample": np.where(np.arange(count) % (count // sorting.SAMPLE), np.arange(count) + 10**6, 5),
        "ends": np.where(rng.random(count) < 0.5, 0, 2**64 - 1),
    }[kind].astype("uint64")
    ordered, memory = np.sort(words), np.zeros(count, "uint64")
    for place in (0, 1, 7, 300, count // 2, count - 200, count - 2, count - 1):
        assert sorting.select.compiled(words, memory, count, place) == ordered[place], place
        number = min(40, count - place)
        sorting.select_run.compiled(words, memory, count, place, number)
        np.testing.assert_array_equal(memory[:number], ordered[place : place + number])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_read_of_what_is_sorted_and_turned(data: st.DataObject) -> None:
    """Slices of slices, in either direction, with the length known before the call and not."""
    length, ends = data.draw(st.integers(1, 400)), st.one_of(st.none(), st.integers(-420, 420))
    slices = st.builds(slice, ends, ends, st.sampled_from([None, 1, -1, 2, -3]))
    x = lines("float64", (3, length), data.draw(st.integers(0, 99)))
    node = pt.matrix("x", shape=(3, length)) if data.draw(st.booleans()) else pt.matrix("x")
    first, second = data.draw(slices), data.draw(slices)
    place = data.draw(st.sampled_from([0, -1, 1]))
    found, expected = pt.sort(node, axis=-1)[:, first], np.sort(x, axis=-1)[:, first]
    outputs, wanted = [found[:, second]], [expected[:, second]]
    if expected.shape[1] > 1:
        outputs.append(found[:, place])
        wanted.append(expected[:, place])
    for ours, theirs in zip(pm.function([node], outputs)(x), wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs, f"{first}, {second}, {place}")


@pytest.mark.parametrize("rows", [1, 3, 4, 8, 9, 17])
def test_rows_that_are_sorted_side_by_side(rows: int) -> None:
    """Every length of few blocks, with zeros in the order of their signs, and NaN behind infinity."""
    node = pt.matrix("x")
    ordered = pm.function([node], pt.sort(node, axis=-1))
    for length in (*range(1, 42), 63, 64, 65, 100, 127, 250, 511, 512, 513):
        for x in (np.random.default_rng(length).normal(size=(rows, length)), lines("float64", (rows, length), length)):
            expected = np.sort(x, axis=-1, kind="stable")
            found = ordered(x)
            np.testing.assert_array_equal(found, expected)
            real = ~np.isnan(found)
            np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))


def test_a_network_sorts_every_row_of_zeros_and_ones() -> None:
    """Then it sorts all rows (Knuth, 5.3.4, theorem Z)."""
    rows = (np.arange(1 << 11)[:, None] >> np.arange(11) & 1) + 1.0
    node = pt.matrix("x")
    np.testing.assert_array_equal(pm.function([node], pt.sort(node, axis=-1))(rows), np.sort(rows, axis=-1))


def test_rows_side_by_side_mean_what_typed_python_says() -> None:
    x = lines("float64", (9, 21), 3)
    x[2:4] = np.abs(x[2:4]) + 1.0  # nothing to be put right, but in other rows
    for form in (row_sorting.sort_rows, row_sorting.sort_rows.compiled):
        found, words = np.zeros_like(x), np.zeros(8 * 24)
        assert form(x.reshape(-1), found.reshape(-1), words, *x.shape) == 1
        row_sorting.put_rows_right(x.reshape(-1), found.reshape(-1), *x.shape)
        np.testing.assert_array_equal(found, np.sort(x, axis=-1))
