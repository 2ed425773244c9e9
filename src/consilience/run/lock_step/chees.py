"""One transition of all chains by Hamiltonian Monte Carlo, and what the chains learn from it together.

Log densities and positions (chain, coordinate) enter; the next positions and statistics leave. Everything is traced by
JAX; lengths of runs and precision stay outside.

Source: Hoffman, Radul, Sountsov (2021), An adaptive-MCMC scheme for setting trajectory lengths in Hamiltonian Monte
Carlo, AISTATS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from consilience.inference.dual_averaging import ANCHOR, DECAY, OFFSET, SHRINKAGE
from consilience.inference.nuts import GREATEST_ENERGY_ERROR

Array: TypeAlias = Any  # of JAX, traced or not
Density: TypeAlias = Callable[[Array], Array]

FIRST_SIZE: Final = 0.1  # of steps, in units of the scales
LEAST_ACCEPTANCE: Final = 0.01  # that counts in a harmonic mean: one chain that never moves must not stop the others
DIVERGENT_ACCEPTANCE: Final = 0.1  # with which a divergence counts: where densities end, no step is short enough
LENGTH_RATE: Final = 0.05  # of Adam, for the log trajectory length
LENGTH_MEMORY: Final = 0.95  # of Adam, for squared gradients
RECENCY: Final = 3.0  # averages over tuning weigh the transition i by about i ** RECENCY
PRIOR_TRANSITIONS: Final = 10.0  # that the first scales are worth


class ChainStates(NamedTuple):
    """Where all chains are: positions (chain, coordinate), log densities (chain,), gradients as positions."""

    position: Array
    level: Array
    gradient: Array


class Stride(NamedTuple):
    """How they move: step size and trajectory length in units of `scale`, which holds for all chains (coordinate,)."""

    size: Array
    length: Array
    scale: Array


class Learnt(NamedTuple):
    """What has been learnt so far.

    `count`: transitions learnt from.
    `stride`: of the next transition.
    `error`, `average`: of dual averaging: running mean of target - acceptance, weighted mean of log step sizes.
    `anchor`: log step size that early transitions are drawn to.
    `squares`, `log_length`: of Adam: mean squared gradient; the weighted mean of log trajectory lengths.
    `centre`, `variance`: weighted moments of all chains (coordinate,).
    `first_variance`: with which tuning began (coordinate,).
    """

    count: Array
    stride: Stride
    error: Array
    average: Array
    anchor: Array
    squares: Array
    log_length: Array
    centre: Array
    variance: Array
    first_variance: Array


class Trajectories(NamedTuple):
    """What a transition did: `end` and `momentum` of the proposals, and statistics, all by chain but `steps`."""

    end: Array
    momentum: Array
    acceptance: Array
    accepted: Array
    diverging: Array
    energy: Array
    energy_error: Array
    steps: Array


def at(logp: Density, position: Array) -> ChainStates:
    """ChainStates at positions (chain, coordinate)."""
    level, gradient = jax.vmap(jax.value_and_grad(logp))(position)
    return ChainStates(position, level, gradient)


def transition(
    logp: Density, chains: ChainStates, stride: Stride, jitter: Array, key: Array, most: int
) -> tuple[ChainStates, Trajectories]:
    """Move all chains along trajectories of `jitter` times the trajectory length, of `most` leapfrog steps or fewer."""
    start, choice = numbers(key, chains.position.shape, chains.position.dtype)
    count = jnp.clip(jnp.ceil(jitter * stride.length / stride.size), 1, most).astype(int)
    drift, kick = stride.size * stride.scale, 0.5 * stride.size * stride.scale

    def leapfrog(_: Array, state: tuple[ChainStates, Array]) -> tuple[ChainStates, Array]:
        here, momentum = state
        momentum = momentum + kick * here.gradient
        there = at(logp, here.position + drift * momentum)
        return there, momentum + kick * there.gradient

    end, momentum = jax.lax.fori_loop(0, count, leapfrog, (chains, start))
    before = 0.5 * (start**2).sum(axis=1) - chains.level
    after = 0.5 * (momentum**2).sum(axis=1) - end.level
    error = after - before
    error = jnp.where(jnp.isnan(error), jnp.inf, error)
    acceptance = jnp.exp(jnp.minimum(0.0, -error))
    diverging = ~(error <= GREATEST_ENERGY_ERROR)
    accepted = (choice < acceptance) & ~diverging
    chosen = jax.tree.map(
        lambda new, old: jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old), end, chains
    )
    energy = jnp.where(accepted, after, before)
    return chosen, Trajectories(end.position, momentum, acceptance, accepted, diverging, energy, error, count)


def numbers(key: Array, shape: tuple[int, int], dtype: Any) -> tuple[Array, Array]:
    """Normal numbers (chain, coordinate) and uniform ones (chain,): of one draw, since each takes long to compile."""
    chains, dimension = shape
    uniform = jax.random.uniform(key, (chains, dimension + 1), dtype)
    centred = 2.0 * uniform[:, :dimension] - 1.0
    inside = jnp.maximum(centred, jnp.nextafter(dtype.type(-1.0), dtype.type(0.0)))
    return jnp.sqrt(dtype.type(2.0)) * jax.lax.erf_inv(inside), uniform[:, dimension]


def initial_tuning(chains: ChainStates, variance: Array, size: float = FIRST_SIZE, length: float = 1.0) -> Learnt:
    """Tuning that has seen nothing but the variances (coordinate,), step size and trajectory length it begins with."""
    number = chains.position.dtype.type
    zero = jnp.zeros((), chains.position.dtype)
    stride = Stride(jnp.asarray(number(size)), jnp.asarray(number(length)), jnp.sqrt(variance))
    centre, anchor = chains.position.mean(axis=0), jnp.asarray(number(np.log(ANCHOR * size)))
    return Learnt(
        zero, stride, zero, jnp.log(stride.size), anchor, zero, jnp.log(stride.length), centre, variance, variance
    )


def learnt(
    tuning: Learnt,
    before: ChainStates,
    after: ChainStates,
    moved: Trajectories,
    jitter: Array,
    target: Array,
    most: int,
) -> Learnt:
    """Tuning after a transition of all chains from `before` to where they are `after` it."""
    stride, number = tuning.stride, tuning.count + 1.0
    weight = 1.0 / (number + OFFSET)
    counted = jnp.where(moved.diverging, DIVERGENT_ACCEPTANCE, jnp.maximum(moved.acceptance, LEAST_ACCEPTANCE))
    harmonic = 1.0 / jnp.mean(1.0 / counted)
    error = (1.0 - weight) * tuning.error + weight * (target - harmonic)
    log_size = tuning.anchor - jnp.sqrt(number) / SHRINKAGE * error
    forget = number**-DECAY
    average = forget * log_size + (1.0 - forget) * tuning.average

    recent = (1.0 + RECENCY) / (number + RECENCY)
    slope = log_length_slope(before.position, moved, stride, jitter)
    squares = LENGTH_MEMORY * tuning.squares + (1.0 - LENGTH_MEMORY) * slope**2
    unbiased = squares / (1.0 - LENGTH_MEMORY**number)
    move = jnp.where(unbiased > 0.0, LENGTH_RATE * slope / jnp.sqrt(unbiased), 0.0)
    shortest = log_size
    log_length = jnp.clip(jnp.log(stride.length) + move, shortest, shortest + jnp.log(float(most)))
    mean_log_length = recent * log_length + (1.0 - recent) * tuning.log_length

    mean = after.position.mean(axis=0)
    shift = mean - tuning.centre
    spread = ((after.position - mean) ** 2).mean(axis=0)
    centre = tuning.centre + recent * shift
    variance = (1.0 - recent) * (tuning.variance + recent * shift**2) + recent * spread
    known = number / (number + PRIOR_TRANSITIONS)
    tiny = jnp.finfo(variance.dtype).tiny
    log_variance = known * jnp.log(jnp.maximum(variance, tiny)) + (1.0 - known) * jnp.log(tuning.first_variance)
    return Learnt(
        number,
        Stride(jnp.exp(log_size), jnp.exp(log_length), jnp.exp(0.5 * log_variance)),
        error,
        average,
        tuning.anchor,
        squares,
        mean_log_length,
        centre,
        variance,
        tuning.first_variance,
    )


def settled(tuning: Learnt) -> Stride:
    """The steps to go on with: averages of what was tried."""
    return Stride(jnp.exp(tuning.average), jnp.exp(tuning.log_length), tuning.stride.scale)


def log_length_slope(start: Array, moved: Trajectories, stride: Stride, jitter: Array) -> Array:
    """Derivative of the ChEES criterion, E(|q' - E q'|^2 - |q - E q|^2)^2 / 4, by the log trajectory length.

    Positions are in units of the scales; proposals count as much as they are likely to be accepted.
    """
    weights = jnp.where(moved.diverging, 0.0, moved.acceptance)
    share = weights / jnp.maximum(weights.sum(), jnp.finfo(weights.dtype).tiny)
    end = jnp.where(moved.diverging[:, None], start, moved.end) / stride.scale
    begin = start / stride.scale
    to = end - share @ end
    off = begin - begin.mean(axis=0)
    change = (to**2).sum(axis=1) - (off**2).sum(axis=1)
    along = (to * jnp.where(moved.diverging[:, None], 0.0, moved.momentum)).sum(axis=1)
    slope = jitter * stride.length * (share * change * along).sum()
    return jnp.where(jnp.isfinite(slope), slope, 0.0)
