"""Seeds of random numbers: what a person gives for one enters, an integer leaves."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np


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
