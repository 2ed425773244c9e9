"""Seeds of random numbers: what a person gives for one, or a row of numbers, enters, an integer leaves."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt


def seed_from(random_seed: Any) -> int:
    """A 63-bit seed from an integer, one of NumPy's sources of randomness, integers, or nothing (then a fresh one)."""
    if random_seed is None:
        return secrets.randbits(63)
    if isinstance(random_seed, np.random.RandomState):
        return int(random_seed.randint(0, 2**63 - 1, dtype=np.int64))
    if isinstance(random_seed, np.random.BitGenerator | np.random.SeedSequence):
        random_seed = np.random.default_rng(random_seed)
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if is_integer(random_seed):
        return int(random_seed) & (2**63 - 1)
    listed = list(random_seed) if isinstance(random_seed, list | tuple | np.ndarray) else []
    if listed and all(is_integer(s) and s >= 0 for s in listed):
        words = np.random.SeedSequence([int(s) for s in listed]).generate_state(1, np.uint64)
        return int(words[0]) >> 1
    raise TypeError(
        "`random_seed` must be an integer, a sequence of integers >= 0, a Generator, a RandomState or None, "
        f"got {random_seed!r}."
    )


def is_integer(value: Any) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def hashed(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """For each row (row, number) a seed of 63 bits, that of equal rows alone being equal; SplitMix64 mixes the bits."""
    bits: npt.NDArray[np.uint64] = np.ascontiguousarray(rows, np.float64).view(np.uint64)
    odd = np.arange(1, 2 * bits.shape[1], 2, dtype=np.uint64)
    return (_mixed((_mixed(bits + odd * _GOLDEN) * odd).sum(axis=1, dtype=np.uint64)) >> np.uint64(1)).astype(np.int64)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The last step of SplitMix64 (Steele, Lea and Flood 2014), which is one to one."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
