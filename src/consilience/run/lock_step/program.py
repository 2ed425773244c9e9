"""What JAX compiles for a run: starting points uphill, and stretches of transitions of all chains.

A log density enters; functions of arrays leave, each compiled once (`kept_programs`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from consilience.run.lock_step.chees import Array, ChainStates, Density, Learnt, Stride, at, learnt, transition
from consilience.run.lock_step.jumps import DeviceNormals, jumped
from consilience.run.lock_step.kept_programs import KeptProgram
from consilience.run.lock_step.settings import COLUMNS

NUMBERS: Final = 1 << 24  # of a stretch: 128 MiB of draws
MOST_TRANSITIONS: Final = 50  # of a stretch, after which a run can be stopped
CLIMBING_STEPS: Final = 200
CLIMBING_RATE: Final = 0.05  # of Adam, on the unconstrained scale
MOMENTUM, SQUARES, SMALL = 0.9, 0.999, 1e-8  # of Adam


class LockStepProgram:
    """The compiled parts of a run of chains, with trajectories of `most_steps` leapfrog steps at most.

    `most`: transitions of a stretch at most.
    """

    def __init__(self, logp: Density, most_steps: int, chains: int, dimension: int) -> None:
        self.most = int(np.clip(NUMBERS // (chains * dimension), 1, MOST_TRANSITIONS))
        self._logp, self._most_steps = logp, most_steps
        self.at = KeptProgram(partial(at, logp))
        self.climbed = KeptProgram(partial(climbed, logp))
        self.advanced = KeptProgram(self._advanced)

    def _advanced(
        self,
        tuning: Array,
        chains: ChainStates,
        known: Learnt,
        seed: tuple[Array, Array],
        first: Array,
        jitter: Array,
        count: Array,
        target: Array,
        regions: DeviceNormals | None,
    ) -> tuple[ChainStates, Learnt, dict[str, Array]]:
        """`count` transitions from number `first` on; rows of draws (transition, chain, coordinate) and statistics.

        `seed`: its two halves, lower and upper. `tuning`: whether chains learn from them. `jitter`: shares of the
        trajectory length (`most`,). `target`: harmonic mean of acceptance probabilities that is tuned for. `regions`:
        between whose normals chains jump before each transition; None: they do not.
        """
        shape, key = (self.most, len(chains.level)), key_of(*seed)
        kinds = {
            name: {"bool": bool, "int64": int}.get(kind, chains.level.dtype) for name, kind in COLUMNS.types.items()
        }
        rows = {name: jnp.zeros(shape, kind) for name, kind in kinds.items()}
        rows["draws"] = jnp.zeros((*shape, chains.position.shape[1]), chains.position.dtype)

        def one(place: Array, state: Any) -> Any:
            before, known, rows = state
            stride: Stride = known.stride
            own = jax.random.fold_in(key, first + place)
            if regions is not None:
                before = jumped(self._logp, before, regions, own)
            after, did = transition(self._logp, before, stride, jitter[place], own, self._most_steps)
            row = {
                "acceptance_rate": did.acceptance,
                "energy": did.energy,
                "energy_error": did.energy_error,
                "lp": after.level,
                "step_size": jnp.broadcast_to(stride.size, shape[1:]),
                "n_steps": jnp.broadcast_to(did.steps, shape[1:]),
                "diverging": did.diverging,
                "accepted": did.accepted,
                "draws": after.position,
            }
            rows = {name: rows[name].at[place].set(value) for name, value in row.items()}

            def learning(known: Learnt) -> Learnt:
                """What is known after this transition."""
                return learnt(known, before, after, did, jitter[place], target, self._most_steps)

            return after, jax.lax.cond(tuning, learning, lambda same: same, known), rows

        found: tuple[ChainStates, Learnt, dict[str, Array]] = jax.lax.fori_loop(0, count, one, (chains, known, rows))
        return found


def key_of(low: Array, high: Array) -> Array:
    """A key of JAX's counter-based generator from both halves of a seed of 64 bits."""
    return jax.random.fold_in(jax.random.key(low, impl="threefry2x32"), high)


def climbed(logp: Density, points: Array) -> tuple[ChainStates, Array]:
    """States at points (point, coordinate), and these moved uphill by Adam, each to the first of typical density.

    That is half the dimension below the highest log density on the way, as on average in a normal distribution: modes
    and the necks of funnels lie beyond.

    Source: Kingma, Ba (2015), Adam: a method for stochastic optimization.
    """
    dimension, begin = points.shape[1], at(logp, points)

    def climb(goal: Array) -> tuple[Array, Array]:
        """The points where the goal was reached, or the last, and the highest log densities (point,)."""

        def step(number: Array, state: Any) -> Any:
            chains, mean, squares, highest = state
            gradient = jnp.where(jnp.isfinite(chains.gradient), chains.gradient, 0.0)
            mean = MOMENTUM * mean + (1.0 - MOMENTUM) * gradient
            squares = SQUARES * squares + (1.0 - SQUARES) * gradient**2
            time = (number + 1).astype(points.dtype)
            size = CLIMBING_RATE / (1.0 - MOMENTUM**time)
            move = size * mean / (jnp.sqrt(squares / (1.0 - SQUARES**time)) + SMALL)
            there = at(logp, chains.position + move)
            stays = (chains.level >= goal) | ~jnp.isfinite(there.level)
            chains = jax.tree.map(
                lambda old, new: jnp.where(stays.reshape(-1, *[1] * (new.ndim - 1)), old, new), chains, there
            )
            return chains, mean, squares, jnp.maximum(highest, chains.level)

        state = (begin, jnp.zeros_like(points), jnp.zeros_like(points), begin.level)
        chains, _, _, highest = jax.lax.fori_loop(0, CLIMBING_STEPS, step, state)
        return chains.position, highest

    def towards(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        position, highest = climb(state[0])
        return highest - 0.5 * dimension, position

    # To the top, and then again to the first typical point: one loop, whose body is compiled once.
    return begin, jax.lax.fori_loop(0, 2, towards, (jnp.full(len(points), jnp.inf, points.dtype), points))[1]


def halton(first: int, count: int) -> npt.NDArray[np.float64]:
    """Numbers `first` + 1 to `first` + `count` of the Halton sequence in base 2, between 0 and 1.

    Source: Halton (1960), On the efficiency of certain quasi-random sequences of points, Numerische Mathematik 2.
    """
    numbers = np.arange(first + 1, first + count + 1)
    found, share = np.zeros(count), 0.5
    while numbers.any():
        found += share * (numbers % 2)
        numbers, share = numbers // 2, share / 2.0
    return found
