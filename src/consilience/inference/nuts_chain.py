"""Chains of NUTS: many transitions in one native call, each one moved, learnt from and recorded.

Which thread calls, and how many transitions at a time, changes nothing in the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block, new_block, put, put_divergence, put_point
from consilience.inference.chain_state import State, start
from consilience.inference.density import Density, LogDensity, stopped
from consilience.inference.descent import Descent, descend, new_descent
from consilience.inference.dual_averaging import learn
from consilience.inference.jumps import Jumps, jump_around, new_jumps
from consilience.inference.kernel import Learning, Orders, Snapshot, Tuning
from consilience.inference.metric import install, installed
from consilience.inference.native_chain import (
    NO_ROWS,
    NativeChain,
    compile_pair,
    compiling,
    compiling_normals,
    new_state,
    open_density,
)
from consilience.inference.nuts import Nuts, new_nuts, transition
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.streams import TREE, purpose_key
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import (
    Warmup,
    adapt,
    adapt_alone,
    begin,
    keep_haven,
    new_warmup,
    return_to_haven,
    search,
)
from consilience.native.typed_python import boolean, f64, i64, native, record
from consilience.native.typed_python.records import release
from consilience.record import Record

DEEPEST = 20  # 2**20 leapfrog steps per transition

# `Learning`, as native code sees it
SCHEDULE = 1
ALONE = 2
STEP = 3


@record
class NutsChain:
    """A chain: where it is, how it moves, what it learns, and the rows it writes to.

    learning     one of `Learning`
    descending   whether it climbs to the typical set when it starts
    searching    whether it searches a step size before the next transition
    """

    density: Density
    state: State
    block: Block
    warmup: Warmup
    nuts: Nuts
    jumps: Jumps
    descent: Descent
    learning: i64
    descending: boolean
    searching: boolean


@native(rare=True)
def write_nuts(nuts: Nuts, warmup: Warmup, block: Block, row: i64, used_step: f64) -> None:
    """Store what the last transition did in row `row`."""
    info = nuts.info
    state = nuts.state
    n = state.dimension
    exhausted = not info.turning and not info.diverging
    put_point(block, row, state.position, state.gradient, n)
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
    put(block, 13, row, info.symmetric)
    if info.diverging:
        begins = nuts.trajectory.positions[info.diverging_from * state.stride :]
        ends = nuts.trajectory.positions[info.diverging_to * state.stride :]
        put_divergence(block, row, begins, ends, n)


@native(rare=True)
def start_nuts(chain: NutsChain) -> i64:
    """Evaluate the starting point and find a first metric and step size; 0 if the point is not finite."""
    if not start(chain.state, chain.density):
        return 0
    if chain.descending:
        descend(chain.descent, chain.density, chain.state)
    begin(chain.warmup, chain.density, chain.state)
    return 1


@native(rare=True)
def learn_from(chain: NutsChain) -> None:
    """Let the last transition teach what it may."""
    warmup = chain.warmup
    state = chain.state
    info = chain.nuts.info
    informative = info.place != 0 and not info.diverging
    if chain.learning == STEP:
        keep_haven(warmup, state, info.symmetric)
        learn(warmup.step, info.symmetric)
    elif chain.learning == ALONE:
        adapt_alone(warmup, chain.density, state, info.acceptance, informative)
    elif chain.learning == SCHEDULE and state.transition <= warmup.length:
        # Past the early phase a chain is where it belongs: there losing energy is no better than gaining it.
        late = state.transition > warmup.early
        adapt(warmup, chain.density, state, info.symmetric if late else info.acceptance, informative)


@native
def advance_nuts(chain: NutsChain, count: i64) -> i64:
    """Make up to `count` transitions; gives the number made, smaller only if the run was stopped.

    There must be room for them in the block.
    """
    nuts = chain.nuts
    warmup = chain.warmup
    block = chain.block
    if chain.searching:
        search(warmup, chain.density, chain.state)
        chain.searching = False
    done = 0
    while done < count:
        used_step = warmup.step.step
        if not transition(nuts, used_step):
            break
        learn_from(chain)
        jump_around(chain.jumps, chain.density, chain.state)
        if chain.jumps.count > 0 and stopped(chain.density):
            break  # not all jumps were made: the transition does not count
        write_nuts(nuts, warmup, block, block.filled, used_step)
        block.filled += 1
        done += 1
    return done


class NutsKernel(Record):
    """The No-U-Turn Sampler.

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

    poolable: ClassVar[bool] = True
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
        "mean_tree_accept_sym": "float64",
    }

    def __post_init__(self) -> None:
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if not 1 <= self.max_treedepth <= DEEPEST:
            raise SamplingError(f"max_treedepth needs an integer from 1 to {DEEPEST}, got {self.max_treedepth}.")

    def prepare(self) -> None:
        """Begin to compile on threads of their own what chains need; see `kernel.Kernel.prepare`."""
        if self.compiled:
            compiling(start_nuts, advance_nuts)  # first, since it takes longest
            compiling_normals()

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> NutsChainAtWork:
        """A new chain; see `kernel.Kernel.chain`."""
        vectors = Vectors(density.dimension)
        state = new_state(key, position, vectors, self.compiled)
        opened = open_density(density, stop)
        warmup = new_warmup(vectors, tune, self.target_accept, self.initial_step)
        memory = NutsChain(
            density=opened,
            state=state,
            block=new_block(NO_ROWS),
            warmup=warmup,
            nuts=new_nuts(opened, state, warmup.metric, vectors, self.max_treedepth),
            jumps=new_jumps(vectors),
            descent=new_descent(vectors),
            learning=Learning.SCHEDULE if tune else Learning.NOTHING,
            descending=False,
            searching=False,
        )
        first, further = compile_pair(start_nuts, advance_nuts) if self.compiled else (start_nuts, advance_nuts)
        return NutsChainAtWork(memory, first, further, learnt, density)


class NutsChainAtWork(NativeChain[NutsChain]):
    """A chain of NUTS that a run can tune together with others."""

    def prepare_descent(self) -> None:
        self.memory.descending = True

    def obey(self, orders: Orders) -> None:
        memory, step = self.memory, self.memory.warmup.step
        if orders.learning is not None:
            if orders.learning == Learning.NOTHING and memory.learning == Learning.STEP and memory.warmup.found:
                return_to_haven(memory.warmup, memory.state)
            memory.warmup.found = False
            memory.learning = orders.learning
        if orders.max_treedepth is not None:
            memory.nuts.max_treedepth = orders.max_treedepth
        if orders.scales is not None:
            install(memory.warmup.metric, orders.scales)
            release(memory.warmup.metric)
        if orders.step is not None:
            step.step = step.average = orders.step.step
            step.anchor = orders.step.anchor
            step.count = orders.step.count
            step.error = 0.0
        if orders.search is not None:
            step.step = orders.search
            memory.searching = True
        if orders.target_accept is not None:
            step.target = orders.target_accept
        if orders.jumps is not None:
            memory.jumps.count = orders.jumps
        if orders.archive is not None:
            memory.jumps.archive = np.ascontiguousarray(orders.archive).reshape(-1)
            memory.jumps.points = len(orders.archive)
            release(memory.jumps)

    def snapshot(self) -> Snapshot:
        memory, metric = self.memory, self.memory.warmup.metric
        # orders replace these arrays and nothing writes into them: no need to copy
        return {
            **super().snapshot(),
            "max_treedepth": memory.nuts.max_treedepth,
            "rank": metric.rank,
            "directions": metric.directions,
            "stretches": metric.stretches,
            "shrinkages": metric.shrinkages,
            "jumps": memory.jumps.count,
            "points": memory.jumps.points,
            "archive": memory.jumps.archive,
        }

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        memory, metric = self.memory, self.memory.warmup.metric
        memory.nuts.max_treedepth = snapshot["max_treedepth"]
        metric.directions = snapshot["directions"]
        metric.stretches = snapshot["stretches"]
        metric.shrinkages = snapshot["shrinkages"]
        metric.rank = snapshot["rank"]
        memory.jumps.archive = snapshot["archive"]
        memory.jumps.points = snapshot["points"]
        memory.jumps.count = snapshot["jumps"]

    def rekey(self, key: int) -> None:
        self.memory.state.key = key
        self.memory.nuts.trajectory.key = int(purpose_key(key, TREE))


def learnt(chain: NutsChain) -> Tuning:
    """Step size and metric as they are now."""
    return Tuning(chain.warmup.step.step, installed(chain.warmup.metric))
