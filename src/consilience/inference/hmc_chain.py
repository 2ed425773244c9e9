"""Chains of HMC: many transitions in one native call, each one moved, learnt from and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block, new_block, put, put_divergence, put_point
from consilience.inference.chain_state import State, start
from consilience.inference.density import Density, LogDensity
from consilience.inference.hmc import Hmc, hmc_transition, new_hmc
from consilience.inference.kernel import Tuning
from consilience.inference.metric import installed
from consilience.inference.native_chain import (
    NO_ROWS,
    NativeChain,
    compile_pair,
    compiling,
    compiling_normals,
    new_state,
    open_density,
)
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import Warmup, adapt, begin, new_warmup
from consilience.native.typed_python import f64, i64, native, record
from consilience.record import Record


@record
class HmcChain:
    """A chain: where it is, how it moves, what it learns, and the rows it writes to."""

    density: Density
    state: State
    block: Block
    warmup: Warmup
    hmc: Hmc


@native
def write_hmc(hmc: Hmc, warmup: Warmup, block: Block, row: i64, used_step: f64) -> None:
    """Store what the last transition did in row `row`."""
    info = hmc.info
    state = hmc.state
    n = state.dimension
    put_point(block, row, state.position, state.gradient, n)
    put(block, 0, row, used_step)
    put(block, 1, row, warmup.step.average)
    put(block, 2, row, float(info.leapfrogs))
    put(block, 3, row, info.acceptance)
    put(block, 4, row, 1.0 if info.accepted else 0.0)
    put(block, 5, row, 1.0 if info.diverging else 0.0)
    put(block, 6, row, info.energy)
    put(block, 7, row, info.energy_error)
    put(block, 8, row, state.logp)
    if info.diverging:
        begins = hmc.path.positions[info.diverging_from * state.stride :]
        ends = hmc.path.positions[info.diverging_to * state.stride :]
        put_divergence(block, row, begins, ends, n)


@native
def start_hmc(chain: HmcChain) -> i64:
    """Evaluate the starting point and find a first metric and step size; 0 if the point is not finite."""
    if not start(chain.state, chain.density):
        return 0
    begin(chain.warmup, chain.density, chain.state)
    return 1


@native
def advance_hmc(chain: HmcChain, count: i64) -> i64:
    """Make up to `count` transitions; gives the number made, smaller only if the run was stopped.

    There must be room for them in the block.
    """
    hmc = chain.hmc
    warmup = chain.warmup
    info = hmc.info
    done = 0
    while done < count:
        tuning = chain.state.transition < warmup.length
        used_step = warmup.step.step
        if not hmc_transition(hmc, used_step):
            break
        if tuning:
            informative = info.accepted and not info.diverging
            adapt(warmup, chain.density, chain.state, info.acceptance, informative)
        write_hmc(hmc, warmup, chain.block, chain.block.filled, used_step)
        chain.block.filled += 1
        done += 1
    return done


class HmcKernel(Record):
    """Hamiltonian Monte Carlo with a diagonal metric learnt while tuning.

    path_length     mean integration time, positive; the learnt metric's scale is its unit
    target_accept   mean acceptance probability to tune the step size for, between 0 and 1
    max_steps       greatest number of leapfrog steps of a transition, at least 1
    initial_step    where the search for a first step size begins, positive
    compiled        False runs the same source under CPython: slow, for debugging; the density's entry is then
                    a Python callable
    """

    path_length: float = 2.0
    target_accept: float = 0.65
    max_steps: int = 1024
    initial_step: float = 0.1
    compiled: bool = True

    poolable: ClassVar[bool] = False
    statistics: ClassVar[Mapping[str, str]] = {
        "step_size": "float64",
        "step_size_bar": "float64",
        "n_steps": "int64",
        "acceptance_rate": "float64",
        "accepted": "bool",
        "diverging": "bool",
        "energy": "float64",
        "energy_error": "float64",
        "lp": "float64",
    }

    def __post_init__(self) -> None:
        check_positive("path_length", self.path_length)
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if self.max_steps < 1:
            raise SamplingError(f"max_steps needs an integer of at least 1, got {self.max_steps}.")

    def prepare(self) -> None:
        """Begin to compile on threads of their own what chains need; see `kernel.Kernel.prepare`."""
        if self.compiled:
            compiling(start_hmc, advance_hmc)  # first, since it takes longest
            compiling_normals()

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> NativeChain[HmcChain]:
        """A new chain; see `kernel.Kernel.chain`."""
        vectors = Vectors(density.dimension)
        state = new_state(key, position, vectors, self.compiled)
        opened = open_density(density, stop)
        warmup = new_warmup(vectors, tune, self.target_accept, self.initial_step)
        hmc = new_hmc(opened, state, warmup.metric, vectors, self.path_length, self.max_steps)
        memory = HmcChain(density=opened, state=state, block=new_block(NO_ROWS), warmup=warmup, hmc=hmc)
        first, further = compile_pair(start_hmc, advance_hmc) if self.compiled else (start_hmc, advance_hmc)
        return NativeChain(memory, first, further, learnt, density)


def learnt(chain: HmcChain) -> Tuning:
    """Step size and metric as they are now."""
    return Tuning(chain.warmup.step.step, installed(chain.warmup.metric))
