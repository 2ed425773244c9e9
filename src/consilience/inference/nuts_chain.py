"""Chains of NUTS: many transitions in one native call, each one moved, learnt from and recorded.

Which thread calls, and how many transitions at a time, changes nothing in the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block, put, put_divergence
from consilience.inference.chain_state import State, start
from consilience.inference.density import Density, LogDensity
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Rows, Tuning
from consilience.inference.native_chain import NativeChain, compile_pair, new_block, new_state, open_density
from consilience.inference.nuts import Nuts, new_nuts, transition
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import Warmup, adapt, begin, new_warmup
from consilience.native.typed_python import f64, i64, native, record

DEEPEST = 20  # 2**20 leapfrog steps per transition


@record
class NutsChain:
    """A chain: where it is, how it moves, what it learns, and the rows it writes to."""

    density: Density
    state: State
    block: Block
    warmup: Warmup
    nuts: Nuts


@native
def write_nuts(nuts: Nuts, warmup: Warmup, block: Block, row: i64, used_step: f64) -> None:
    """Store what the last transition did in row `row`."""
    info = nuts.info
    state = nuts.state
    n = state.dimension
    exhausted = not info.turning and not info.diverging
    copy(state.position, block.draws[row * n :], n)
    put(block, 0, row, float(info.depth))
    put(block, 1, row, used_step)
    put(block, 2, row, warmup.step.average)
    put(block, 3, row, float(info.leapfrogs))
    put(block, 4, row, info.acceptance)
    put(block, 5, row, 1.0 if info.diverging else 0.0)
    put(block, 6, row, info.energy)
    put(block, 7, row, info.energy_error)
    put(block, 8, row, info.max_energy_error)
    put(block, 9, row, state.logp)
    put(block, 10, row, float(info.place))
    put(block, 11, row, 1.0 if exhausted else 0.0)
    put(block, 12, row, float(info.leapfrogs))
    if info.diverging:
        begins = nuts.trajectory.positions[info.diverging_from * state.stride :]
        ends = nuts.trajectory.positions[info.diverging_to * state.stride :]
        put_divergence(block, row, begins, ends, n)


@native
def start_nuts(chain: NutsChain) -> i64:
    """Evaluate the starting point and find a first metric and step size; 0 if the point is not finite."""
    if not start(chain.state, chain.density):
        return 0
    begin(chain.warmup, chain.density, chain.state)
    return 1


@native
def advance_nuts(chain: NutsChain, count: i64) -> i64:
    """Make up to `count` transitions; gives the number made, smaller only if the run was stopped.

    There must be room for them: transitions made so far + count <= rows of the block.
    """
    nuts = chain.nuts
    warmup = chain.warmup
    info = nuts.info
    done = 0
    while done < count:
        row = chain.state.transition
        used_step = warmup.step.step
        if not transition(nuts, used_step):
            break
        if row < warmup.length:
            informative = info.place != 0 and not info.diverging
            # Past the early phase a chain is where it belongs: there losing energy is no better than gaining it.
            late = chain.state.transition > warmup.early
            adapt(warmup, chain.density, chain.state, info.symmetric if late else info.acceptance, informative)
        write_nuts(nuts, warmup, chain.block, row, used_step)
        done += 1
    return done


@dataclass(frozen=True, slots=True)
class NutsKernel:
    """The No-U-Turn Sampler with a diagonal metric learnt while tuning.

    target_accept   mean acceptance probability to tune the step size for, between 0 and 1
    max_treedepth   greatest number of doublings of a trajectory, from 1 to 20
    initial_step    where the search for a first step size begins, positive
    compiled        False runs the same source under CPython: slow, for debugging; the density's entry is then
                    a Python callable
    """

    target_accept: float = 0.8
    max_treedepth: int = 10
    initial_step: float = 0.1
    compiled: bool = True

    statistics: ClassVar[Mapping[str, str]] = {
        "depth": "int64",
        "step_size": "float64",
        "step_size_bar": "float64",
        "tree_size": "float64",
        "mean_tree_accept": "float64",
        "diverging": "bool",
        "energy": "float64",
        "energy_error": "float64",
        "max_energy_error": "float64",
        "lp": "float64",
        "index_in_trajectory": "int64",
        "reached_max_treedepth": "bool",
        "n_steps": "int64",
    }

    def __post_init__(self) -> None:
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if not 1 <= self.max_treedepth <= DEEPEST:
            raise SamplingError(f"max_treedepth needs an integer from 1 to {DEEPEST}, got {self.max_treedepth}.")

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        rows: Rows,
        stop: NDArray[np.int64],
    ) -> NativeChain[NutsChain]:
        """A new chain; see `kernel.Kernel.chain`."""
        vectors = Vectors(density.dimension)
        state = new_state(key, position, vectors, self.compiled)
        opened = open_density(density, stop)
        warmup = new_warmup(vectors, tune, self.target_accept, self.initial_step)
        nuts = new_nuts(opened, state, warmup.metric, vectors, self.max_treedepth)
        memory = NutsChain(density=opened, state=state, block=new_block(rows), warmup=warmup, nuts=nuts)
        first, further = compile_pair(start_nuts, advance_nuts) if self.compiled else (start_nuts, advance_nuts)
        return NativeChain(memory, first, further, learnt)


def learnt(chain: NutsChain) -> Tuning:
    """Step size and metric as they are now."""
    return Tuning(chain.warmup.step.step, np.array(chain.warmup.metric.variance))
