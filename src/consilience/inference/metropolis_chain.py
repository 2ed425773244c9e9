"""Chains of random-walk Metropolis: many transitions in one native call, moved, tuned and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block, new_block, put, put_point
from consilience.inference.chain_state import State
from consilience.inference.density import Density, LogDensity, evaluate
from consilience.inference.kernel import Tuning
from consilience.inference.metric import diagonal
from consilience.inference.metropolis import Metropolis, metropolis_transition, new_metropolis, tune_scale
from consilience.inference.native_chain import (
    NO_ROWS,
    NativeChain,
    compile_pair,
    compiling,
    compiling_normals,
    new_state,
    open_density,
)
from consilience.inference.settings import check_positive
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import isfinite
from consilience.native.typed_python import f64, i64, native, record
from consilience.record import Record


@record
class MetropolisChain:
    """A chain: where it is, how it moves, and the rows it writes to.

    tune   number of tuning transitions
    """

    density: Density
    state: State
    block: Block
    metropolis: Metropolis
    tune: i64


@native
def write_metropolis(metropolis: Metropolis, block: Block, row: i64, used_scale: f64) -> None:
    """Store what the last transition did in row `row`."""
    state = metropolis.state
    put_point(block, row, state.position, state.gradient, state.dimension)
    put(block, 0, row, metropolis.info.acceptance)
    put(block, 1, row, 1.0 if metropolis.info.accepted else 0.0)
    put(block, 2, row, used_scale)
    put(block, 3, row, state.logp)


@native
def start_metropolis(chain: MetropolisChain) -> i64:
    """Evaluate the starting point; 0 if its log density is not finite. The gradient may be anything."""
    state = chain.state
    state.logp = evaluate(chain.density, state.position, state.gradient)
    return 1 if isfinite(state.logp) else 0


@native
def advance_metropolis(chain: MetropolisChain, count: i64) -> i64:
    """Make up to `count` transitions; gives the number made, smaller only if the run was stopped.

    There must be room for them in the block.
    """
    metropolis = chain.metropolis
    proposal = metropolis.proposal
    done = 0
    while done < count:
        tuning = chain.state.transition < chain.tune
        used_scale = proposal.scale
        if not metropolis_transition(metropolis):
            break
        if tuning:
            tune_scale(proposal)
        write_metropolis(metropolis, chain.block, chain.block.filled, used_scale)
        chain.block.filled += 1
        done += 1
    return done


class MetropolisKernel(Record):
    """Random-walk Metropolis with normal proposals whose scale is tuned.

    scale        factor on all deviations at the beginning, positive
    deviations   standard deviation of a step per coordinate for scale 1, positive; all 1 by default
    compiled     False runs the same source under CPython: slow, for debugging; the density's entry is then a
                 Python callable
    """

    scale: float = 1.0
    deviations: tuple[float, ...] | None = None
    compiled: bool = True

    poolable: ClassVar[bool] = False
    statistics: ClassVar[Mapping[str, str]] = {
        "accept": "float64",
        "accepted": "bool",
        "scaling": "float64",
        "lp": "float64",
    }

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        for deviation in self.deviations or ():
            check_positive("each of deviations", deviation)

    def prepare(self) -> None:
        """Begin to compile on threads of their own what chains need; see `kernel.Kernel.prepare`."""
        if self.compiled:
            compiling(start_metropolis, advance_metropolis)  # first, since it takes longest
            compiling_normals()

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> NativeChain[MetropolisChain]:
        """A new chain; see `kernel.Kernel.chain`."""
        deviations = np.ones(density.dimension) if self.deviations is None else np.array(self.deviations)
        if len(deviations) != density.dimension:
            raise SamplingError(
                f"deviations needs one number per coordinate, {density.dimension}, got {len(deviations)}."
            )
        vectors = Vectors(density.dimension)
        state = new_state(key, position, vectors, self.compiled)
        opened = open_density(density, stop)
        memory = MetropolisChain(
            density=opened,
            state=state,
            block=new_block(NO_ROWS),
            metropolis=new_metropolis(opened, state, vectors, self.scale, deviations),
            tune=tune,
        )
        first, further = (
            compile_pair(start_metropolis, advance_metropolis)
            if self.compiled
            else (start_metropolis, advance_metropolis)
        )
        return NativeChain(memory, first, further, learnt, density)


def learnt(chain: MetropolisChain) -> Tuning:
    """Scale and variances of the proposal as they are now."""
    proposal = chain.metropolis.proposal
    return Tuning(proposal.scale, diagonal((proposal.scale * np.array(proposal.deviations)) ** 2))
