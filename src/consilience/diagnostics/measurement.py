"""Diagnostics of many parameters, evaluated in blocks.

Parameters are taken in blocks that fit into the cache, and many blocks are shared among threads. The
result of a parameter does not depend on either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.sample import FloatArray, Sample
from consilience.errors import ShapeError
from consilience.native.threads import NativeThreads

Result = TypeVar("Result")
Measure = Callable[[Sample], FloatArray]
"""Gives, for a sample of p parameters, an array (p,) or (p, k)."""

NUMBERS_PER_BLOCK = 1 << 16
"""Draws handled at a time by one thread: half a MiB, so that the passes over a block find it in the cache."""

BLOCKS_FOR_THREADS = 4
"""From so many blocks on, threads are worth their start."""


def measure(variables: Sequence[npt.NDArray[np.generic]], measures: Mapping[str, Measure]) -> dict[str, FloatArray]:
    """Evaluate measures for every parameter of every variable.

    `variables` are arrays (chain, draw, ...) of numbers or booleans with the same chains and draws. The
    parameters of the result, its first axis, are the elements of the first variable in C order, then those of
    the second, and so on. A parameter with a NaN draw has NaN measures.

    Raises ShapeError for an array without chain and draw axes, or with others than the first one has, and
    TypeError for elements that are no real numbers.
    """
    return in_blocks(variables, lambda draws: evaluate(Sample(draws), measures))


def in_blocks(
    variables: Sequence[npt.NDArray[np.generic]], of_block: Callable[[FloatArray], dict[str, FloatArray]]
) -> dict[str, FloatArray]:
    """Numbers of every parameter, as `measure`, of a function of some parameters' draws (parameter, chain, draw)."""
    flat = [flatten(variable) for variable in variables]
    if len({array.shape[:2] for array in flat}) > 1:
        raise ShapeError(
            "all variables need the same number of chains and draws; they have "
            + ", ".join(f"{chains} x {draws}" for chains, draws, _ in (array.shape for array in flat))
        )
    chains, draws = flat[0].shape[:2] if flat else (1, 1)
    total = sum(array.shape[2] for array in flat)
    parts = of_ranges(total, chains * draws, lambda here: of_block(block(flat, here, chains, draws)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def of_ranges(total: int, numbers: int, function: Callable[[range], Result]) -> list[Result]:
    """What a function gives for ranges of `total` parameters of so many numbers each, shared among threads.

    Without any parameter there is one empty range: its result has the shape that results have.
    """
    size = max(1, NUMBERS_PER_BLOCK // max(1, numbers))
    ranges = [range(begin, min(begin + size, total)) for begin in range(0, max(1, total), size)]
    if len(ranges) < BLOCKS_FOR_THREADS:
        return list(map(function, ranges))
    with NativeThreads(min(len(ranges), usable_processors())) as threads:
        return list(threads.map(function, ranges))


def measure_one(draws: npt.ArrayLike, function: Measure) -> FloatArray:
    """Evaluate one measure for an array (chain, draw, *shape); gives `shape`, then the measure's axes."""
    array = np.asarray(draws)
    found = measure([array], {"": function})[""]
    return found.reshape(array.shape[2:] + found.shape[1:])


def evaluate(sample: Sample, measures: Mapping[str, Measure]) -> dict[str, FloatArray]:
    """Measures of one sample; NaN for a parameter with a NaN draw."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = {name: function(sample) for name, function in measures.items()}
    unknown = np.isnan(sample.pooled).any(axis=1)
    if unknown.any():
        for values in found.values():
            values[unknown] = np.nan
    return found


def flatten(draws: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """View (chain, draw, ...) as (chain, draw, parameter), after checking that it can be examined."""
    if draws.ndim < 2 or 0 in draws.shape[:2]:
        raise ShapeError(
            f"draws need the axes (chain, draw, ...) with at least one of each; the shape is {draws.shape}. "
            "For a single chain, add an axis: draws[None]."
        )
    if draws.dtype.kind not in "biuf":
        raise TypeError(f"draws need to be real numbers or booleans; their element type is {draws.dtype}")
    return draws.reshape(*draws.shape[:2], -1) if draws.size else draws.reshape(*draws.shape[:2], 0)


def block(flat: Sequence[npt.NDArray[np.generic]], wanted: range, chains: int, draws: int) -> FloatArray:
    """Parameters `wanted`, of those of all arrays (chain, draw, parameter), as (parameter, chain, draw)."""
    result = np.empty((len(wanted), chains, draws))
    begin = 0  # number of the array's first parameter
    for array in flat:
        end = begin + array.shape[2]
        first, last = max(wanted.start, begin), min(wanted.stop, end)
        if first < last:
            part = array[:, :, first - begin : last - begin]
            result[first - wanted.start : last - wanted.start] = np.moveaxis(part, 2, 0)
        begin = end
    return result


def usable_processors() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
