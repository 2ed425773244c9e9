"""Transitions of a chain in one native call: each kernel in turn moves its block, and what it tells is written down.

Records of blocks enter, addressed by number, since every kernel has records of its own; rows of a trace leave. What a
transition does is the kernels' business.
"""

from __future__ import annotations

from consilience.inference.density import Density, evaluate, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.jumps import Jumps, JumpScratch, jump_around
from consilience.inference.point import Point
from consilience.inference.trace import Trace, put_divergence, put_position
from consilience.native.mathematics import float_bits
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record


@record
class Walk:
    """A chain: where it is, the kernels that move it, and the rows it writes to.

    `dimension`: number of coordinates.
    `position`: all coordinates, f64[dimension]; where one kernel moves them all it is that kernel's position.
    `trace`: the rows of the present window.
    `count`: number of kernels.
    `parts`: addresses of their `KernelRecord`s, i64[count].
    `move`: `move`, which takes such an address.
    `with_joint`: whether the density of the whole position is evaluated after each transition, for the last statistic.
    `joint`: that density.
    `whole`: where the chain is; where one kernel moves all coordinates it is that kernel's point.
    `jumps`: made before the kernels move.
    `settle`: `settle`, which takes an address as `move` does.
    """

    dimension: i64
    position: Array[f64]
    trace: Trace
    count: i64
    parts: Array[i64]
    move: FunctionPointer[[i64], boolean]
    with_joint: boolean
    joint: Density
    whole: Point
    jumps: Jumps
    jumping: JumpScratch
    settle: FunctionPointer[[i64], None]


@record
class KernelRecord:
    """A kernel at work on its block.

    start, step   of the kernel; they take the addresses of its own records
    point         where it is
    state, scratch, info   addresses of the kernel's records
    row, words    the fields of its info as they lie in memory, i64[words]
    more, further what it tells besides, i64[further]
    column        where they begin in a row of the trace
    divergence    which of them tells a divergence; -1: none
    begin, end    where a diverging leapfrog step began and ended, f64[block]
    places        where the block lies in the position, i64[block]
    alone         whether the block is the whole position
    evaluated     whether its log density is needed before each transition, as other kernels have changed it
    with_gradient whether its density comes with a gradient
    """

    walk: Walk
    start: FunctionPointer[[Point, i64, i64, Density, i64], boolean]
    step: FunctionPointer[[Point, i64, i64, Density, i64], boolean]
    point: Point
    density: Density
    state: i64
    scratch: i64
    info: i64
    row: Array[i64]
    words: i64
    more: Array[i64]
    further: i64
    column: i64
    divergence: i64
    begin: Array[f64]
    end: Array[f64]
    places: Array[i64]
    alone: boolean
    evaluated: boolean
    with_gradient: boolean


@native
def scatter(values: Array[f64], places: Array[i64], count: i64, target: Array[f64]) -> None:
    """target[places[i]] = values[i]."""
    for i in range(count):
        target[places[i]] = values[i]


@native(rare=True)
def begin_part(part: KernelRecord) -> boolean:
    """Evaluate the starting point of a kernel; False if it cannot begin there."""
    return part.start(part.point, part.state, part.scratch, part.density, part.info)


@native(rare=True)
def note_divergence(part: KernelRecord) -> None:
    """Write down where a leapfrog step diverged, as positions of the whole chain."""
    walk = part.walk
    trace = walk.trace
    n = walk.dimension
    if part.alone:
        put_divergence(trace, trace.filled, part.begin, part.end, n)
        return
    at = trace.divergences
    put_divergence(trace, trace.filled, walk.position, walk.position, n)
    scatter(part.begin, part.places, part.point.dimension, trace.divergence_from[at * n :])
    scatter(part.end, part.places, part.point.dimension, trace.divergence_to[at * n :])


@native
def move(part: KernelRecord) -> boolean:
    """One transition of one kernel; False, with nothing written, if the run was stopped meanwhile."""
    walk = part.walk
    trace = walk.trace
    point = part.point
    if part.evaluated:
        point.logp = evaluate(part.density, point.position, point.gradient)
    if not part.step(point, part.state, part.scratch, part.density, part.info):
        return False
    at = trace.filled * trace.words + part.column
    for k in range(part.words):
        trace.statistics[at + k] = part.row[k]
    for k in range(part.further):
        trace.statistics[at + part.words + k] = part.more[k]
    if part.divergence >= 0 and part.row[part.divergence] != 0:
        note_divergence(part)
    if not part.alone:
        scatter(point.position, part.places, point.dimension, walk.position)
    if trace.with_gradients and part.with_gradient:
        row = trace.gradients[trace.filled * walk.dimension :]
        if part.alone:
            copy(point.gradient, row, walk.dimension)
        else:
            scatter(point.gradient, part.places, point.dimension, row)
    return True


@native(rare=True)
def settle(part: KernelRecord) -> None:
    """Put a kernel where the chain is."""
    for i in range(part.point.dimension):
        part.point.position[i] = part.walk.position[part.places[i]]


@native(rare=True)
def jump_first(walk: Walk) -> boolean:
    """The jumps before a transition; False if the run was stopped meanwhile."""
    point = walk.whole
    if walk.with_joint:
        point.logp = log_density(walk.joint, walk.position)
    jump_around(walk.jumps, walk.jumping, walk.joint, point)
    if stopped(walk.joint):
        return False  # not all jumps were made
    if walk.with_joint:
        point.transition += 1
        for k in range(walk.count):
            walk.settle(walk.parts[k])
    return True


@native
def advance(walk: Walk, count: i64) -> i64:
    """Make up to `count` transitions; gives the number made, smaller only if the run was stopped.

    There must be room for them in the trace.
    """
    trace = walk.trace
    done = 0
    going = True
    while going and done < count:
        if walk.jumps.count + walk.jumps.maps.count > 0:
            going = jump_first(walk)
        k = 0
        while going and k < walk.count:
            going = walk.move(walk.parts[k])
            k += 1
        if going:
            if walk.with_joint:
                level = log_density(walk.joint, walk.position)
                trace.statistics[(trace.filled + 1) * trace.words - 1] = float_bits(level)
            put_position(trace, trace.filled, walk.position, walk.dimension)
            trace.filled += 1
            done += 1
    return done
