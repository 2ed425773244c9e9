"""The No-U-Turn Sampler, one transition: state in, state out.

Multinomial NUTS (Hoffman & Gelman 2014; Betancourt 2017, arXiv:1701.02434): a trajectory is doubled forwards
or backwards in time until it turns around, diverges or reaches the greatest depth; the next state is a point
of it, chosen by weight. Doubling is iterative: a binary counter of finished spans takes the place of
recursion, so memory grows with the logarithm of the trajectory. Tuning, storage and threads stay outside.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.density import Density, stopped
from consilience.inference.hamiltonian import copy, draw_momentum, kinetic_energy, leapfrog
from consilience.inference.metric import Metric, velocity_of
from consilience.inference.point import Point
from consilience.inference.streams import MOMENTUM, TREE, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, inf, isnan, log1p, trailing_zeros
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd
from consilience.native.typed_python.records import zeros

GREATEST_ENERGY_ERROR = 1000.0  # beyond it the integrator has left the level set: a divergence
DOUBLING_BLOCKS = 1 << 31  # leaves use the blocks below, one each
SLOTS = 6  # left end, right end, chosen point, tip, candidate and the leaf being made


@record
class Trajectory:
    """The trajectory of one transition; scratch memory between transitions.

    Points live in slots, rows of `positions` and `gradients`, and are named by their row, so that a point
    that is an end and the choice at once is stored once. A motion is a momentum together with its velocity,
    in one row of 2 * stride numbers, the momentum first.

    key: Key of the random numbers for directions and choices.
    positions, gradients (Array): f64[SLOTS, stride]; with every gradient its drift, the inverse mass times it.
    end_slots, end_places (Array): Slots of the two ends, and their places in steps from the start, i64[2]: the earlier
        end first.
    end_motions (Array): Their motions, f64[2, 2 * stride].
    momentum_sum (Array): Sum of the momenta of all points, f64[dimension].
    log_weight: Log of the sum over all points of exp(start energy - energy).
    chosen: Slot of the point chosen so far; its log density, energy and place follow.
    turning: Whether the trajectory has turned around.
    diverging_from, diverging_to (Array): Ends of the leapfrog step that diverged, f64[dimension].
    """

    key: i64
    positions: Array[f64]
    gradients: Array[f64]
    drifts: Array[f64]
    end_slots: Array[i64]
    end_places: Array[i64]
    end_motions: Array[f64]
    momentum_sum: Array[f64]
    log_weight: f64
    chosen: i64
    chosen_logp: f64
    chosen_energy: f64
    chosen_place: i64
    turning: boolean
    diverging_from: Array[f64]
    diverging_to: Array[f64]


@record
class Growth:
    """The new half that a doubling adds; scratch memory between transitions.

    tip, place: Slot and place of the leaf made last.
    motion (Array): Its motion, f64[2 * stride].
    begins, ends (Array): Of every finished span that waits for its neighbour: the motions of its first and last leaf,
        f64[greatest depth + 1, 2 * stride].
    sums (Array): And the sum of the momenta of all its leaves, f64[greatest depth + 1, stride].
    waiting: Number of these spans.
    candidate: Slot of the leaf chosen so far; its log density, energy and place follow.
    log_weight: Log of the sum of the leaves' weights.
    """

    tip: i64
    place: i64
    motion: Array[f64]
    begins: Array[f64]
    ends: Array[f64]
    sums: Array[f64]
    waiting: i64
    candidate: i64
    candidate_logp: f64
    candidate_energy: f64
    candidate_place: i64
    log_weight: f64


@record
class NutsInfo:
    """What happened in one transition, under PyMC's names.

    Attributes
    ----------
    depth : i64
        Doublings tried.
    step_size, step_size_bar : f64
        Step size used, and the average of dual averaging.
    tree_size, n_steps : f64
        Leapfrog steps taken.
    mean_tree_accept : f64
        Mean over the leaves of min(1, exp(start energy - energy)).
    diverging : boolean
        Whether the energy error passed its bound.
    energy : f64
        Energy of the new state.
    energy_error : f64
        Energy of the new state minus energy at the start.
    max_energy_error : f64
        The energy error of greatest size along the trajectory, with its sign.
    lp : f64
        Log density of the new state.
    index_in_trajectory : i64
        Where on the trajectory the new state lies, in leapfrog steps from the start.
    reached_max_treedepth : boolean
        Whether the trajectory neither turned around nor diverged.
    mean_tree_accept_sym : f64
        Mean over the leaves of 2 / (1 + exp|energy - start energy|), which energy gained and energy lost lower alike.
    """

    depth: i64
    step_size: f64
    step_size_bar: f64
    tree_size: f64
    mean_tree_accept: f64
    diverging: boolean
    energy: f64
    energy_error: f64
    max_energy_error: f64
    lp: f64
    index_in_trajectory: i64
    reached_max_treedepth: boolean
    n_steps: i64
    mean_tree_accept_sym: f64


@record
class Nuts:
    """All that a transition reads and writes.

    max_treedepth: Greatest number of doublings, at least 1.
    """

    density: Density
    point: Point
    metric: Metric
    trajectory: Trajectory
    growth: Growth
    info: NutsInfo
    max_treedepth: i64


def new_nuts(density: Density, point: Point, metric: Metric, vectors: Vectors, max_treedepth: int) -> Nuts:
    """All that transitions of `point` need, with fresh scratch memory."""
    trajectory = Trajectory(
        key=purpose_key(point.key, TREE),
        positions=vectors.rows(SLOTS),
        gradients=vectors.rows(SLOTS),
        drifts=vectors.rows(SLOTS),
        end_slots=np.zeros(2, np.int64),
        end_places=np.zeros(2, np.int64),
        end_motions=vectors.rows(4),
        momentum_sum=vectors.vector(),
        log_weight=0.0,
        chosen=0,
        chosen_logp=0.0,
        chosen_energy=0.0,
        chosen_place=0,
        turning=False,
        diverging_from=vectors.vector(),
        diverging_to=vectors.vector(),
    )
    growth = Growth(
        tip=0,
        place=0,
        motion=vectors.rows(2),
        begins=vectors.rows(2 * (max_treedepth + 1)),
        ends=vectors.rows(2 * (max_treedepth + 1)),
        sums=vectors.rows(max_treedepth + 1),
        waiting=0,
        candidate=0,
        candidate_logp=0.0,
        candidate_energy=0.0,
        candidate_place=0,
        log_weight=0.0,
    )
    return Nuts(density, point, metric, trajectory, growth, zeros(NutsInfo), max_treedepth)


@native
def log_add_exp(x: f64, y: f64) -> f64:
    """log(exp(x) + exp(y)); -inf stands for a weight of zero."""
    low = min(x, y)
    high = max(x, y)
    if low == -inf:
        return high
    return high + log1p(exp(low - high))


@native(contract=True)
def leaves_turn(first: Array[f64], second: Array[f64], total: Array[f64], dimension: i64, stride: i64) -> boolean:
    """Join two neighbouring leaves, given as motions: total = sum of momenta; True if they turn to each other."""
    first_velocity = first[stride:]
    second_velocity = second[stride:]
    first_advance = 0.0
    second_advance = 0.0
    for i in simd(dimension):
        joined = first[i] + second[i]
        first_advance += first_velocity[i] * joined
        second_advance += second_velocity[i] * joined
        total[i] = joined
    return not (first_advance > 0.0 and second_advance > 0.0)


@native(contract=True, shared=True)
def spans_turn(
    begin: Array[f64],
    end: Array[f64],
    total: Array[f64],
    next_begin: Array[f64],
    next_end: Array[f64],
    next_total: Array[f64],
    dimension: i64,
    stride: i64,
) -> boolean:
    """Join two neighbouring spans, given by the motions of their ends: total += next_total; True if the whole turns.

    The generalised criterion for the whole, and again for either span with the nearest leaf of the other:
    without these a turn that falls on the border between two spans stays unseen (Stan 2.21).
    """
    begin_velocity = begin[stride:]
    end_velocity = end[stride:]
    next_begin_velocity = next_begin[stride:]
    next_end_velocity = next_end[stride:]
    whole_begin = 0.0
    whole_end = 0.0
    left_begin = 0.0
    left_end = 0.0
    right_begin = 0.0
    right_end = 0.0
    for i in simd(dimension):
        joined = total[i] + next_total[i]
        left = total[i] + next_begin[i]
        right = end[i] + next_total[i]
        whole_begin += joined * begin_velocity[i]
        whole_end += joined * next_end_velocity[i]
        left_begin += left * begin_velocity[i]
        left_end += left * next_begin_velocity[i]
        right_begin += right * end_velocity[i]
        right_end += right * next_end_velocity[i]
        total[i] = joined
    return not (
        whole_begin > 0.0
        and whole_end > 0.0
        and left_begin > 0.0
        and left_end > 0.0
        and right_begin > 0.0
        and right_end > 0.0
    )


@native
def copy_motion(source: Array[f64], target: Array[f64], dimension: i64, stride: i64) -> None:
    """Copy a momentum and its velocity, and what lies between them."""
    copy(source, target, stride + dimension)


@native
def close_spans(growth: Growth, leaf: i64, dimension: i64, stride: i64) -> boolean:
    """Put leaf number `leaf` of a doubling on the counter of spans; True if a span it completes turns around.

    Like adding 1 to a binary number: the spans that wait are the ones of `leaf`, and every trailing 1 is a
    span as long as the one just completed, which is joined to it.
    """
    motion = growth.motion
    if leaf & 1 == 0:
        copy_motion(motion, growth.begins[growth.waiting * 2 * stride :], dimension, stride)
        growth.waiting += 1
        return False
    first = growth.waiting - 1
    at = first * stride
    turning = leaves_turn(growth.begins[2 * at :], motion, growth.sums[at:], dimension, stride)
    rest = leaf >> 1
    while rest & 1 == 1 and not turning:
        first -= 1
        after = at
        at = first * stride
        turning = spans_turn(
            growth.begins[2 * at :],
            growth.ends[2 * at :],
            growth.sums[at:],
            growth.begins[2 * after :],
            motion,
            growth.sums[after:],
            dimension,
            stride,
        )
        rest >>= 1
    copy_motion(motion, growth.ends[2 * at :], dimension, stride)
    growth.waiting = first + 1
    return turning


@native
def free_slot(trajectory: Trajectory, growth: Growth) -> i64:
    """A slot whose point is not needed any more."""
    taken = (
        1 << trajectory.end_slots[0]
        | 1 << trajectory.end_slots[1]
        | 1 << trajectory.chosen
        | 1 << growth.tip
        | 1 << growth.candidate
    )
    return trailing_zeros(i64(~taken))


@native
def grow(nuts: Nuts, step: f64, start_energy: f64, leaves: i64) -> None:
    """Make `leaves` leaves from the tip on, unless a span turns around or a step diverges before.

    `step`: signed step size: negative goes back in time.
    """
    density = nuts.density
    point = nuts.point
    trajectory = nuts.trajectory
    growth = nuts.growth
    info = nuts.info
    metric = nuts.metric
    n = point.dimension
    stride = point.stride
    growth.candidate = growth.tip
    growth.waiting = 0
    growth.log_weight = -inf
    direction = 1 if step > 0.0 else -1
    leaf = 0
    while leaf < leaves and not trajectory.turning and not info.diverging and not stopped(density):
        last = growth.tip
        slot = free_slot(trajectory, growth)
        logp, kinetic = leapfrog(
            density,
            metric,
            step,
            trajectory.positions[last * stride :],
            trajectory.gradients[last * stride :],
            trajectory.drifts[last * stride :],
            growth.motion,
            growth.motion[stride:],
            trajectory.positions[slot * stride :],
            trajectory.gradients[slot * stride :],
            trajectory.drifts[slot * stride :],
        )
        energy = kinetic - logp
        error = energy - start_energy
        growth.tip = slot
        growth.place += direction
        info.n_steps += 1
        if isnan(error):
            error = inf
        if abs(error) > abs(info.max_energy_error):
            info.max_energy_error = error
        if error > GREATEST_ENERGY_ERROR:
            info.diverging = True
            copy(trajectory.positions[last * stride :], trajectory.diverging_from, n)
            copy(trajectory.positions[slot * stride :], trajectory.diverging_to, n)
        else:
            info.mean_tree_accept += exp(min(0.0, -error))
            info.mean_tree_accept_sym += 2.0 / (1.0 + exp(abs(error)))
            growth.log_weight = log_add_exp(growth.log_weight, -error)
            # the new leaf is chosen with its share of the weight so far: a multinomial choice in one pass
            share = exp(-error - growth.log_weight)
            if uniform(trajectory.key, point.transition, info.n_steps) < share:
                growth.candidate = slot
                growth.candidate_logp = logp
                growth.candidate_energy = energy
                growth.candidate_place = growth.place
            trajectory.turning = close_spans(growth, leaf, n, stride)
        leaf += 1


@native
def double(nuts: Nuts, step_size: f64, start_energy: f64) -> None:
    """Double the trajectory in a random direction, move the choice, and see whether the whole turns."""
    point = nuts.point
    trajectory = nuts.trajectory
    growth = nuts.growth
    info = nuts.info
    n = point.dimension
    stride = point.stride
    toss, move = two_uniforms(trajectory.key, point.transition, DOUBLING_BLOCKS + info.depth)
    side = 1 if toss < 0.5 else 0
    near = trajectory.end_motions[side * 2 * stride :]
    far = trajectory.end_motions[(1 - side) * 2 * stride :]
    leaves = 1 << info.depth
    info.depth += 1
    growth.tip = trajectory.end_slots[side]
    growth.place = trajectory.end_places[side]
    copy_motion(near, growth.motion, n, stride)
    grow(nuts, step_size if side == 1 else -step_size, start_energy, leaves)
    if trajectory.turning or info.diverging or stopped(nuts.density):
        return  # an unfinished half may not be chosen from, or the chain would not be reversible

    # biased progressive sampling: the new half is preferred, which keeps detailed balance and moves further
    if move < exp(min(0.0, growth.log_weight - trajectory.log_weight)):
        trajectory.chosen = growth.candidate
        trajectory.chosen_logp = growth.candidate_logp
        trajectory.chosen_energy = growth.candidate_energy
        trajectory.chosen_place = growth.candidate_place
    trajectory.log_weight = log_add_exp(trajectory.log_weight, growth.log_weight)

    # seen from its far end, a trajectory that grew backwards looks like one that grew forwards
    added = growth.begins if leaves == 1 else growth.sums
    total = trajectory.momentum_sum
    trajectory.turning = spans_turn(far, near, total, growth.begins, growth.motion, added, n, stride)
    trajectory.end_slots[side] = growth.tip
    trajectory.end_places[side] = growth.place
    copy_motion(growth.motion, near, n, stride)


@native
def transition(nuts: Nuts, step_size: f64) -> boolean:
    """Move the state by one transition of NUTS with this step size, and describe it in `nuts.info`.

    Returns: False, with the state as it was, if the run was stopped meanwhile.
    """
    point = nuts.point
    trajectory = nuts.trajectory
    info = nuts.info
    metric = nuts.metric
    n = point.dimension
    stride = point.stride
    motion = trajectory.end_motions
    draw_momentum(point, metric, MOMENTUM, 0, motion)
    velocity_of(metric, motion, motion[stride:])
    copy_motion(motion, motion[2 * stride :], n, stride)
    copy(motion, trajectory.momentum_sum, n)
    copy(point.position, trajectory.positions, n)
    copy(point.gradient, trajectory.gradients, n)
    if metric.coupled:
        velocity_of(metric, trajectory.gradients, trajectory.drifts)
    start_energy = kinetic_energy(motion, motion[stride:], n) - point.logp

    for side in range(2):
        trajectory.end_slots[side] = 0
        trajectory.end_places[side] = 0
    trajectory.log_weight = 0.0
    trajectory.chosen = 0
    trajectory.chosen_logp = point.logp
    trajectory.chosen_energy = start_energy
    trajectory.chosen_place = 0
    info.depth = 0
    info.n_steps = 0
    info.mean_tree_accept = 0.0
    info.mean_tree_accept_sym = 0.0
    info.diverging = False
    trajectory.turning = False
    info.max_energy_error = 0.0
    going = True
    while going and info.depth < nuts.max_treedepth:
        double(nuts, step_size, start_energy)
        going = not trajectory.turning and not info.diverging and not stopped(nuts.density)
    if stopped(nuts.density):
        return False

    chosen = trajectory.chosen * stride
    copy(trajectory.positions[chosen:], point.position, n)
    copy(trajectory.gradients[chosen:], point.gradient, n)
    point.logp = trajectory.chosen_logp
    point.transition += 1
    info.mean_tree_accept /= float(info.n_steps)
    info.mean_tree_accept_sym /= float(info.n_steps)
    info.energy = trajectory.chosen_energy
    info.energy_error = trajectory.chosen_energy - start_energy
    info.index_in_trajectory = trajectory.chosen_place
    info.tree_size = float(info.n_steps)
    info.reached_max_treedepth = not trajectory.turning and not info.diverging
    return True
