"""Arrays of every dtype with its extremes, and the comparison with NumPy shared by the tests of this folder."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.ir import Node

Array = npt.NDArray[Any]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
INTEGERS = (*SIGNED, *UNSIGNED)
DTYPES = (*INTEGERS, *FLOATS, "bool")
SIZES = (300, 9, 5, 1, 0)
# Units in the last place: one step is rounded right, functions of the mathematics library to a few units.
ULPS = {"float16": 1, "float32": 4, "float64": 16}


def values(dtype: str, size: int, salt: str = "") -> Array:
    """Numbers of a dtype: its extremes first, then small and large ones by chance."""
    generator = np.random.default_rng(zlib.crc32(f"{dtype}{size}{salt}".encode()))
    if dtype == "bool":
        return generator.integers(0, 2, size).astype(bool)
    if dtype in FLOATS:
        limits = np.finfo(dtype)
        first = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, limits.max / 2, limits.tiny, 2.5, -0.5, 0.1]
        rest = generator.normal(size=size) * 10.0 ** generator.integers(-3, 4, size)
    else:
        whole = np.iinfo(dtype)
        first = [whole.max, whole.min, 0, 1, 2, 3, whole.max - 1, whole.min + 1, *([-1, -7] if whole.min else [])]
        small = generator.integers(max(whole.min, -9), 10, size)
        rest = np.where(generator.random(size) < 0.5, small.astype(dtype), _any_integer(generator, dtype, size))
    chosen = np.array(first, dtype)
    generator.shuffle(chosen)
    return np.concatenate([chosen, rest.astype(dtype)])[:size]


def _any_integer(generator: np.random.Generator, dtype: str, size: int) -> Array:
    whole = np.iinfo(dtype)
    return generator.integers(whole.min, whole.max, size, dtype=dtype, endpoint=True)


def computed(inputs: Sequence[Node], outputs: Mapping[str, Node], arrays: Sequence[Array]) -> dict[str, list[Array]]:
    """Per output its values by machine code and by NumPy's meaning of the graph."""
    by_backend = [
        pt.function(list(inputs), dict(outputs), backend=backend, on_unused_input="ignore")(*arrays)
        for backend in ("llvm", "reference")
    ]
    return {name: [results[name] for results in by_backend] for name in outputs}


def check(what: str, found: Array, wanted: Array, ulps: int | None = None) -> None:
    """Equal dtype and shape; equal bits of integers, floats within units in the last place."""
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, NumPy gives {wanted.dtype}"
    assert found.shape == wanted.shape, what
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted, what)
        return
    allowed = ULPS[wanted.dtype.name] if ulps is None else ulps
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), what)
    with np.errstate(all="ignore"):
        gap = np.abs(found.astype("float64") - wanted.astype("float64"))
        fine = (found == wanted) | np.isnan(wanted) | (gap <= allowed * np.spacing(np.abs(wanted)).astype("float64"))
    assert fine.all(), f"{what}: {found[~fine][:5]}, NumPy gives {wanted[~fine][:5]}"
