"""Draws of engines of arrays: the same bits of Philox4x32-10 from key and counter, and the same numbers up to rounding.

Keys, counters (int64) and parameters in; draws out. Draws by rejection are those of NumPy's table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from consilience.native.random.philox import DRAWS, HALF_STEP, KEYS, MASK, philox


def draws(xp: Any) -> dict[str, Callable[..., Any]]:
    """Functions by their names in the table of scalar functions; `xp` has those of the array API."""

    def uniforms(key: Any, counter: Any) -> tuple[Any, Any]:
        """The two uniform numbers of block 0."""
        a, b, c, d = philox(*_halves(counter), 0, DRAWS, *_halves(key))
        return unit_interval(a, b), unit_interval(c, d)

    def unit_interval(low: Any, high: Any) -> Any:
        return xp.double(2 * ((high << 20) | (low >> 12)) + 1) * HALF_STEP

    def normal(key: Any, counter: Any) -> Any:
        u, v = uniforms(key, counter >> 1)
        turn = xp.where((counter & 1) == 0, v, v - 0.25)
        quarter = xp.floor(4.0 * turn + 0.5)
        angle = 2.0 * math.pi * (turn - 0.25 * quarter)
        size = xp.where(quarter % 2.0 == 0.0, xp.cos(angle), xp.sin(angle))
        return xp.sqrt(-2.0 * xp.log(u)) * xp.where((quarter == 1.0) | (quarter == 2.0), -size, size)

    return {
        "fold_in": fold_in,
        "random_normal": normal,
        "random_uniform": lambda key, counter: uniforms(key, counter)[0],
        "random_exponential": lambda key, counter: -xp.log(uniforms(key, counter)[0]),
    }


def fold_in(key: Any, data: Any) -> Any:
    """A new key."""
    low, high, _, _ = philox(*_halves(data), 0, KEYS, *_halves(key))
    return (high << 32) | low


def _halves(word: Any) -> tuple[Any, Any]:
    return word & MASK, (word >> 32) & MASK
