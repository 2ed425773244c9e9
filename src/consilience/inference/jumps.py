"""Jumps, with which chains change between distant regions: by differences of archived points, or from normal to normal.

*Differential evolution* (ter Braak & Vrugt 2008): x + gamma (a - b) with two points drawn from the archive is a
symmetric proposal while the archive stays as it is. Whole numbers move by whole numbers.

*Affine maps.* Where normals (m, L) stand for regions, one of them is drawn as it is likely to hold x, with probability
r_i(x) = s_i N_i(x) / S(x), where S is the sum of all s N, and another one with probability g_j / (1 - g_i). The map to
x' = m_j + L_j L_i^-1 (x - m_i) is a bijection with the determinant |L_j| / |L_i|, whose inverse is that from j to i.
So x' is accepted with probability

    pi(x') r_j(x') |L_j| g_i / (1 - g_j)     pi(x') s_j S(x) g_i (1 - g_i)
    ------------------------------------  =  -----------------------------,
    pi(x)  r_i(x)  |L_i| g_j / (1 - g_i)     pi(x)  s_i S(x') g_j (1 - g_j)

as s_i N_i(x) |L_i| and s_j N_j(x') |L_j| are in the ratio of s_i to s_j. No archive is needed, and shapes may differ.

Where points and normals come from, and when they change, stays outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference.archive import pair
from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.messages import Command
from consilience.inference.metric import along
from consilience.inference.modes.normals import RegionNormals
from consilience.inference.point import Point, finite
from consilience.inference.streams import JUMP, REGION, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, floor, inf, log, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record
from consilience.native.typed_python.records import release
from consilience.record import Record

WHOLE_SHARE = 0.7  # of the jumps, that go the whole difference: from mode to mode
SHORTENING = 2.38  # / sqrt(2 dimension): the best factor for a normal target


@record
class RegionMaps:
    """The normals that jumps go between; see `modes.normals.RegionNormals`.

    `count`: jumps after each transition.
    `regions`: number of them; of fewer than 2 there are no jumps.
    `moved`, `fixed`: how many coordinates have a normal, and how many one value in all of a region.
    `places`: the former, i64[moved].
    `whole`: the latter, i64[fixed].
    `modes`: f64[regions, moved].
    `values`: f64[regions, fixed].
    `factors`: lower triangles, f64[regions, moved, moved].
    `whitenings`: their inverses, f64[regions, moved, moved].
    `shares`: logarithms, f64[regions].
    `choice`: probabilities with which a region is chosen to jump to, of others than the present one, f64[regions].
    `heights`: of the log densities of the normals, times their shares, f64[regions].
    `here`: log densities at a point, times shares: scratch, f64[regions].
    `accepted`: jumps accepted so far.
    """

    count: i64
    regions: i64
    moved: i64
    fixed: i64
    places: Array[i64]
    whole: Array[i64]
    modes: Array[f64]
    values: Array[f64]
    factors: Array[f64]
    whitenings: Array[f64]
    shares: Array[f64]
    choice: Array[f64]
    heights: Array[f64]
    here: Array[f64]
    accepted: i64


@record
class Jumps:
    """What jumps are made of.

    `count`: jumps by differences after each transition.
    `points`: number of points in the archive.
    `archive`: f64[points, dimension].
    `discrete`: whether some coordinates are whole numbers.
    `kinds`: 1 for these, else 0, i64[dimension].
    `accepted`: jumps by differences accepted so far.
    """

    count: i64
    points: i64
    archive: Array[f64]
    discrete: boolean
    kinds: Array[i64]
    accepted: i64
    maps: RegionMaps


@record
class JumpScratch:
    """The point proposed and its gradient, and coordinates in which a region is round: f64[dimension]."""

    position: Array[f64]
    gradient: Array[f64]
    white: Array[f64]


class JumpCommand(Record, eq=False):
    """What a tuner tells a chain of its jumps. What is None stays as it is.

    `jumps`: by differences after every transition. `archive`: the points they are made of, float64 (point, coordinate).
    `regions`: the normals that one more jump after every transition goes between. `kernels`: what the chain's kernels
    are told.
    """

    jumps: int | None = None
    archive: NDArray[np.float64] | None = None
    regions: RegionNormals | None = None
    kernels: Command = None


def new_jumps(discrete: NDArray[np.bool_] | None = None) -> Jumps:
    """No jumps; `discrete` says which coordinates are whole numbers, bool (coordinate,)."""
    some = discrete is not None and bool(discrete.any())
    kinds = np.zeros(1, np.int64) if discrete is None else discrete.astype(np.int64)
    none, nowhere = np.zeros(1), np.zeros(1, np.int64)
    maps = RegionMaps(0, 0, 0, 0, nowhere, nowhere, none, none, none, none, none, none, none, none, 0)
    return Jumps(0, 0, np.zeros(1), some, kinds, 0, maps)


def new_jump_scratch(vectors: Vectors) -> JumpScratch:
    """Fresh scratch memory."""
    return JumpScratch(vectors.vector(), vectors.vector(), vectors.vector())


def take_in(jumps: Jumps, command: JumpCommand) -> None:
    """Let jumps be made as a tuner says."""
    if command.jumps is not None:
        jumps.count = command.jumps
    if command.archive is not None:
        jumps.archive = np.append(command.archive.reshape(-1), 0.0)  # one more number, for an archive without points
        jumps.points = len(command.archive)
    if command.regions is not None:
        _put_regions(jumps.maps, command.regions)
        release(jumps.maps)
    release(jumps)


def _put_regions(maps: RegionMaps, regions: RegionNormals) -> None:
    def flat(values: Any) -> NDArray[Any]:
        return np.append(np.ascontiguousarray(values).reshape(-1), values.dtype.type(0))

    diagonals = np.abs(np.diagonal(regions.factors, axis1=1, axis2=2))
    shares = np.log(regions.shares)
    maps.count, maps.regions = 1, regions.count
    maps.moved, maps.fixed = len(regions.places), len(regions.whole)
    maps.places, maps.whole = flat(regions.places.astype(np.int64)), flat(regions.whole.astype(np.int64))
    maps.modes, maps.values, maps.factors = flat(regions.modes), flat(regions.values), flat(regions.factors)
    maps.whitenings = flat(np.linalg.inv(regions.factors))
    maps.shares, maps.heights = flat(shares), flat(shares - np.log(diagonals).sum(axis=1))
    maps.here = np.zeros(regions.count)
    maps.choice = 0.5 * regions.shares / regions.shares.sum() + 0.5 / regions.count


@native(rare=True)
def whiten(maps: RegionMaps, scratch: JumpScratch, position: Array[f64], region: i64) -> f64:
    """`white` = the point in coordinates in which a region is round; its squared length."""
    m = maps.moved
    mode = maps.modes[region * m :]
    for a in range(m):
        scratch.gradient[a] = position[maps.places[a]] - mode[a]
    total = 0.0
    for a in range(m):
        scratch.white[a] = along(maps.whitenings[(region * m + a) * m :], scratch.gradient, a + 1)
        total += scratch.white[a] * scratch.white[a]
    return total


@native(rare=True)
def weigh(maps: RegionMaps, scratch: JumpScratch, position: Array[f64]) -> f64:
    """Logarithm of the sum of all normals times their shares at a point, whose parts are left in `here`."""
    highest = -inf
    for k in range(maps.regions):
        inside = True
        for b in range(maps.fixed):
            inside = inside and position[maps.whole[b]] == maps.values[k * maps.fixed + b]
        maps.here[k] = maps.heights[k] - 0.5 * whiten(maps, scratch, position, k) if inside else -inf
        highest = max(highest, maps.here[k])
    if highest == -inf:
        return -inf
    total = 0.0
    for k in range(maps.regions):
        total += exp(maps.here[k] - highest)
    return highest + log(total)


@native(rare=True)
def jump_to_region(maps: RegionMaps, scratch: JumpScratch, density: Density, point: Point, stage: i64) -> None:
    """One Metropolis step by the map from the region that a point is likely to be in to another one."""
    key = purpose_key(point.key, REGION)
    first, second = two_uniforms(key, point.transition, 2 * stage)
    accept = uniform(key, point.transition, 2 * stage + 1)
    m = maps.moved
    before = weigh(maps, scratch, point.position)
    if before == -inf:  # discrete coordinates are those of no region
        return
    begin = -1
    left = first
    for k in range(maps.regions):
        if maps.here[k] > -inf and left >= 0.0:
            begin = k
            left -= exp(maps.here[k] - before)
    end = begin
    left = second * (1.0 - maps.choice[begin])
    for k in range(maps.regions):
        if k != begin and left >= 0.0:
            end = k
            left -= maps.choice[k]
    copy(point.position, scratch.position, point.dimension)
    whiten(maps, scratch, point.position, begin)
    mode = maps.modes[end * m :]
    for a in range(m):
        scratch.position[maps.places[a]] = mode[a] + along(maps.factors[(end * m + a) * m :], scratch.white, a + 1)
    for b in range(maps.fixed):
        scratch.position[maps.whole[b]] = maps.values[end * maps.fixed + b]
    after = weigh(maps, scratch, scratch.position)
    logp = evaluate(density, scratch.position, scratch.gradient)
    ratio = logp - point.logp + maps.shares[end] - maps.shares[begin] + before - after
    ratio += log(maps.choice[begin] * (1.0 - maps.choice[begin]))  # how likely the way back is chosen
    ratio -= log(maps.choice[end] * (1.0 - maps.choice[end]))
    if accept < exp(min(0.0, ratio)) and finite(scratch.gradient, point.dimension):
        move_to(scratch, point, logp)
        maps.accepted += 1


@native(rare=True)
def move_to(scratch: JumpScratch, point: Point, logp: f64) -> None:
    """The proposal is the new point."""
    copy(scratch.position, point.position, point.dimension)
    copy(scratch.gradient, point.gradient, point.dimension)
    point.logp = logp


@native(rare=True)
def jump(jumps: Jumps, scratch: JumpScratch, density: Density, point: Point, stage: i64) -> None:
    """One Metropolis step with a proposal from the archive; `stage` counts those of one transition."""
    n = point.dimension
    key = purpose_key(point.key, JUMP)
    first, second = two_uniforms(key, point.transition, 2 * stage)
    kind, accept = two_uniforms(key, point.transition, 2 * stage + 1)
    a, b = pair(jumps.points, first, second)
    factor = 1.0 if kind < WHOLE_SHARE else SHORTENING / sqrt(2.0 * float(n))
    begin = jumps.archive[a * n :]
    end = jumps.archive[b * n :]
    for i in range(n):
        change = factor * (begin[i] - end[i])
        if jumps.discrete and jumps.kinds[i] == 1:  # the same distance both ways, so that proposals stay symmetric
            change = floor(abs(change) + 0.5) * (1.0 if change > 0.0 else -1.0)
        scratch.position[i] = point.position[i] + change
    logp = evaluate(density, scratch.position, scratch.gradient)
    # a trajectory could not leave a point without gradient, so none ends there, and no jump may
    if accept < exp(min(0.0, logp - point.logp)) and finite(scratch.gradient, n):
        move_to(scratch, point, logp)
        jumps.accepted += 1


@native(rare=True)
def jump_around(jumps: Jumps, scratch: JumpScratch, density: Density, point: Point) -> None:
    """All jumps that belong to one transition."""
    maps = jumps.maps
    if maps.regions >= 2:
        stage = 0
        while stage < maps.count and not stopped(density):
            jump_to_region(maps, scratch, density, point, stage)
            stage += 1
    if jumps.points >= 2:
        stage = 0
        while stage < jumps.count and not stopped(density):
            jump(jumps, scratch, density, point, stage)
            stage += 1
