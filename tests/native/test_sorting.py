"""Routines of order: machine code gives what plain Python gives, and what sorting means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from consilience.native.routines import sorting

Array = Any
WORDS = {
    "drawn": lambda rng, n: rng.integers(0, 2**63, n).astype("uint64") * np.uint64(2),
    "near": lambda rng, n: rng.integers(0, 300, n).astype("uint64"),
    "equal": lambda rng, n: np.full(n, 2**63 + 5, "uint64"),
    "leading digits equal": lambda rng, n: (
        rng.integers(0, 40, n).astype("uint64") + np.uint64(2**63) * (np.arange(n) % 2)
    ),
    "descending": lambda rng, n: np.arange(n, 0, -1).astype("uint64") << np.uint64(40),
    "ends": lambda rng, n: rng.choice(np.array([0, 2**64 - 1, 1], "uint64"), n),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("length", [1, 12, 13, 64, 65, 400, 3100])
def test_words_are_sorted_and_selected(name: str, length: int) -> None:
    """The same under CPython where that is short."""
    words = WORDS[name](np.random.default_rng(length), length).astype("uint64")
    functions = [lambda f: f.compiled] + [lambda f: f] * (length < 100)
    for form in functions:
        ordered, order = words.copy(), np.zeros(length, "uint64")
        with np.errstate(all="ignore"):
            form(sorting.sort_keys)(ordered, np.zeros(length, "uint64"), length)
            form(sorting.argsort)(words.copy(), order, np.zeros(length, "uint64"), length)
            places = sorted({0, length // 3, length // 2, length - 1})
            memory = np.zeros(length, "uint64")
            found = [int(form(sorting.select)(words, memory, length, place)) for place in places]
            following = [
                int(form(sorting.next_key)(words, length, np.sort(words)[place - 1], place)) for place in places[1:]
            ]
        np.testing.assert_array_equal(ordered, np.sort(words))
        np.testing.assert_array_equal(order, np.argsort(words, kind="stable"))
        assert found == [int(np.sort(words)[place]) for place in places]
        assert following == found[1:]


@pytest.mark.parametrize("kind", ["f8", "i8"])
def test_places_in_what_is_ordered(kind: str) -> None:
    """Of more and fewer values than are searched for side by side; NaN comes last."""
    rng = np.random.default_rng(0)
    function = {"f8": sorting.places_of_floats, "i8": sorting.places_of_integers}[kind]
    for count, number in ((0, 3), (1, 20), (7, 16), (40, 17)):
        ordered, values = np.sort(rng.integers(-5, 5, count).astype(kind)), rng.integers(-7, 7, number).astype(kind)
        if kind == "f8":
            values[::4] = np.nan
            ordered[count - count // 5 :] = np.nan
        for side in ("left", "right"):
            for form in (function, function.compiled):
                result = np.zeros(number, "int64")
                form(ordered, count, values, number, int(side == "right"), result)
                np.testing.assert_array_equal(result, np.searchsorted(ordered, values, side))
