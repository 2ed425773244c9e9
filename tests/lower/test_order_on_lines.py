"""Sorting, selection and places of extremes give what NumPy gives, whatever lies in the lines, along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.native.routines import sorting

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
