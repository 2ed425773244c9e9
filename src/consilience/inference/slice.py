"""Slice sampling of one coordinate after the other with stepping out and shrinkage, or of all in a box (Neal 2003).

Log densities enter, no gradients. A whole number k stands for the interval from k - 1/2 to k + 1/2, on which the
density is constant, so that the same transition serves real and whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_positive
from consilience.inference.streams import SLICE, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import floor, inf, log
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

MOST_STEPS = 10_000.0  # outwards for one coordinate; only densities that do not fall off need so many
WIDEST = 1e100  # of the widths that are learnt


@record
class SliceInfo:
    """What happened in one transition: steps outwards and points refused, over all coordinates; the log density."""

    nstep_out: i64
    nstep_in: i64
    lp: f64


@record
class SliceState:
    """What a chain remembers besides where it is.

    widths (Array): Of the first interval around each coordinate, positive, f64[dimension]; learnt.
    limit: Greatest number of steps outwards for one coordinate.
    tune: Number of tuning transitions.
    """

    widths: Array[f64]
    limit: f64
    tune: i64


@record
class SliceScratch:
    """The point looked at, widths found, kinds and bounds of the coordinates, each [dimension]; what a box needs.

    together: Whether all coordinates are drawn from one box.
    places, left, right (Array): The real numbers that stand for the present point, and the ends of the box,
        f64[dimension].
    """

    position: Array[f64]
    found: Array[f64]
    discrete: Array[i64]
    lower: Array[f64]
    upper: Array[f64]
    together: boolean
    places: Array[f64]
    left: Array[f64]
    right: Array[f64]


@native
def level_at(scratch: SliceScratch, density: Density, i: i64, place: f64) -> f64:
    """Log density with coordinate `i` at `place`, rounded for a whole number; -inf outside the bounds."""
    value = floor(place + 0.5) if scratch.discrete[i] == 1 else place
    if value < scratch.lower[i] or value > scratch.upper[i]:
        return -inf
    scratch.position[i] = value
    return log_density(density, scratch.position)


@native(rare=True)
def start_slice(point: Point, state: SliceState, scratch: SliceScratch, density: Density, info: SliceInfo) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_in_box(point: Point, state: SliceState, scratch: SliceScratch, density: Density, info: SliceInfo) -> boolean:
    """Draw all coordinates from a box laid at random around the point, which shrinks until the draw is in the slice."""
    n = point.dimension
    key = purpose_key(point.key, SLICE)
    level = point.logp + log(uniform(key, point.transition, 0))
    for i in range(n):
        share, offset = two_uniforms(key, point.transition, i + 1)
        scratch.places[i] = point.position[i] + (offset - 0.5 if scratch.discrete[i] == 1 else 0.0)
        scratch.left[i] = scratch.places[i] - share * state.widths[i]
        scratch.right[i] = scratch.left[i] + state.widths[i]
    block = n + 1
    info.nstep_out = 0
    info.nstep_in = -1
    logp = -inf
    while not logp > level:
        allowed = True
        for i in range(n):
            new = scratch.left[i] + (scratch.right[i] - scratch.left[i]) * uniform(key, point.transition, block)
            block += 1
            if new < scratch.places[i]:
                scratch.left[i] = new
            else:
                scratch.right[i] = new
            scratch.position[i] = floor(new + 0.5) if scratch.discrete[i] == 1 else new
            allowed = allowed and scratch.lower[i] <= scratch.position[i] <= scratch.upper[i]
        logp = log_density(density, scratch.position) if allowed else -inf
        info.nstep_in += 1
        if stopped(density):
            return False
    copy(scratch.position, point.position, n)
    point.logp = logp
    info.lp = logp
    point.transition += 1
    return True


@native
def step_slice(point: Point, state: SliceState, scratch: SliceScratch, density: Density, info: SliceInfo) -> boolean:
    """Draw each coordinate in turn from an interval of the slice around it, or all of them from a box."""
    if scratch.together:
        return step_in_box(point, state, scratch, density, info)
    n = point.dimension
    key = purpose_key(point.key, SLICE)
    copy(point.position, scratch.position, n)
    logp = point.logp
    block = 0
    info.nstep_out = 0
    info.nstep_in = 0
    for i in range(n):
        height, share = two_uniforms(key, point.transition, block)
        offset, split = two_uniforms(key, point.transition, block + 1)
        block += 2
        level = logp + log(height)
        place = scratch.position[i]
        if scratch.discrete[i] == 1:
            place += offset - 0.5
        width = state.widths[i]
        left = place - share * width
        right = left + width
        to_left = floor(state.limit * split)
        to_right = state.limit - 1.0 - to_left
        while to_left > 0.0 and level_at(scratch, density, i, left) > level and not stopped(density):
            left -= width
            to_left -= 1.0
            info.nstep_out += 1
        while to_right > 0.0 and level_at(scratch, density, i, right) > level and not stopped(density):
            right += width
            to_right -= 1.0
            info.nstep_out += 1
        logp = -inf
        while not logp > level and not stopped(density):
            new = left + (right - left) * uniform(key, point.transition, block)
            block += 1
            logp = level_at(scratch, density, i, new)
            if not logp > level:
                info.nstep_in += 1
                if new < place:
                    left = new
                else:
                    right = new
        if stopped(density):
            return False
        scratch.found[i] = right - left
    copy(scratch.position, point.position, n)
    point.logp = logp
    info.lp = logp
    point.transition += 1
    if point.transition <= state.tune:
        for i in range(n):
            width = state.widths[i] + (2.0 * scratch.found[i] - state.widths[i]) / float(point.transition + 1)
            state.widths[i] = min(width, WIDEST)
    return True


class Slice(Kernel):
    """Slice sampling, one coordinate after the other or all at once. It needs no gradient and rejects no proposal.

    vars, compiled : ...
    w (float or tuple of float): Width of the first interval, positive; for each coordinate, or one for all.
    tune (bool): Whether widths are learnt in the tuning transitions, as twice the mean length of the last intervals.
    iter_limit (float, default float('inf')): Greatest number of steps by which the interval of a coordinate grows, at
        least 1; 10,000 if it is more, so that stepping out ends on a density that does not fall off, too.
    blocked (bool): Whether all coordinates are drawn together, from a box of the widths w that only shrinks: fewer
        evaluations, shorter moves; its widths are not tuned.
    See Metropolis: Random-walk Metropolis of real and whole numbers.
    See AdaptiveMetropolis: Metropolis with normal proposals of the covariance of the chain so far.

    References
    ----------
    Neal (2003), Annals of Statistics 31, 705.

    >>> with pm.Model():
    ...     x = pm.Normal("x")
    ...     step = pm.Slice([x])
    >>> type(step).__name__
    'Slice'
    """

    w: float | tuple[float, ...] = 1.0
    tune: bool = True
    iter_limit: float = float("inf")
    blocked: bool = False

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = SliceInfo
    start: ClassVar[Any] = start_slice
    step: ClassVar[Any] = step_slice
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp"}
    discrete: ClassVar[bool] = True

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        for width in np.ravel(np.asarray(self.w, dtype=object)):
            check_positive("w", width)
        if not self.iter_limit >= 1:
            raise SamplingError(f"iter_limit needs a number of at least 1, got {self.iter_limit}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> SliceState:
        """See `Kernel.state`."""
        widths = np.asarray(self.w, dtype=np.float64)
        if widths.shape not in ((), (block.dimension,)):
            raise SamplingError(f"w needs one width, or {block.dimension} for each coordinate, got {widths.size}.")
        return SliceState(vectors.vector(widths), min(float(self.iter_limit), MOST_STEPS), tune if self.tune else 0)

    def scratch(
        self, block: Block, point: Point, state: SliceState, density: Density, vectors: Vectors
    ) -> SliceScratch:
        """See `Kernel.scratch`."""
        kinds = np.array(block.discrete, np.int64)
        position, found, places, left, right = (vectors.vector() for _ in range(5))
        return SliceScratch(
            position, found, kinds, np.array(block.lower), np.array(block.upper), self.blocked, places, left, right
        )
