"""The No-U-Turn Sampler as a step method: its settings, and how its chains are made, told and tuned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from consilience.errors import SamplingError
from consilience.inference.block import Block
from consilience.inference.columns import Role
from consilience.inference.density import Density
from consilience.inference.fisher_metric import Form
from consilience.inference.kernel import Kernel
from consilience.inference.lbfgs import new_lbfgs
from consilience.inference.messages import ChainTuning, Command
from consilience.inference.metric import install, installed
from consilience.inference.nuts import NutsInfo, new_nuts
from consilience.inference.nuts_chain import Learning, NutsCommand, NutsScratch, NutsState, start_nuts, step_nuts
from consilience.inference.nuts_tuner import NutsTuner
from consilience.inference.point import Point
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.step_size_search import new_probe
from consilience.inference.streams import TREE, purpose_key
from consilience.inference.tuner import Tuner, TuningSetting
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import (
    new_warmup,
    return_to_fallback,
)
from consilience.native.typed_python.records import release

FORMS = ("auto", "diag", "lowrank", "dense")
DEEPEST = 20  # 2**20 leapfrog steps per transition


class NUTS(Kernel):
    """The No-U-Turn Sampler, the default step method for continuous variables.

    Trajectories are multinomial (Betancourt 2017). Use it when the log density has a gradient.

    vars, compiled : ...
    target_accept (float): Mean acceptance probability to tune the step size for, between 0 and 1.
    max_treedepth (int): Greatest number of doublings of a trajectory, from 1 to 20.
    initial_step (float): Where the search for a first step size begins, positive.
    metric (Form): "diag", "lowrank" (a diagonal and some directions), "dense", or "auto": as many directions as pay.
    initialize (bool): Whether chains climb to the typical set before anything else.
    jumps (int or {'auto'}): Jumps between past points of all chains before each transition; "auto": when chains
        disagree.
    See HamiltonianMC: Hamiltonian Monte Carlo with a diagonal metric learnt while tuning.
    See MALA: The Metropolis-adjusted Langevin algorithm.

    References
    ----------
    Hoffman, Gelman (2014), Journal of Machine Learning Research 15, 1593.

    >>> pm.NUTS(target_accept=0.9).target_accept
    0.9
    """

    target_accept: float = 0.8
    max_treedepth: int = 10
    initial_step: float = 0.1
    metric: Form = "auto"
    initialize: bool = True
    jumps: int | Literal["auto"] = "auto"

    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = NutsInfo
    start: ClassVar[Any] = start_nuts
    step: ClassVar[Any] = step_nuts
    roles: ClassVar[Mapping[Role, str]] = {
        "log density": "lp",
        "divergence": "diverging",
        "energy": "energy",
        "energy error": "max_energy_error",
        "acceptance": "mean_tree_accept_sym",
        "step size": "step_size",
        "depth": "depth",
    }

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if not 1 <= self.max_treedepth <= DEEPEST:
            raise SamplingError(f"max_treedepth needs an integer from 1 to {DEEPEST}, got {self.max_treedepth}.")
        if self.metric not in FORMS:
            raise SamplingError(f"`metric` must be one of {', '.join(map(repr, FORMS))}, got {self.metric!r}.")
        if self.jumps != "auto" and self.jumps < 0:
            raise SamplingError(f'`jumps` must be a number of at least 0 or "auto", got {self.jumps!r}.')

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> NutsState:
        """See `Kernel.state`."""
        return NutsState(
            warmup=new_warmup(vectors, tune, self.target_accept, self.initial_step),
            learning=Learning.SCHEDULE if tune else Learning.NOTHING,
            max_treedepth=self.max_treedepth,
            initializing=False,
            searching=False,
        )

    def scratch(self, block: Block, point: Point, state: NutsState, density: Density, vectors: Vectors) -> NutsScratch:
        """See `Kernel.scratch`."""
        return NutsScratch(
            nuts=new_nuts(density, point, state.warmup.metric, vectors, self.max_treedepth),
            lbfgs=new_lbfgs(vectors),
            probe=new_probe(vectors),
        )

    def apply(self, point: Point, state: NutsState, command: Command) -> bool:
        """Take in a `NutsCommand`, or "sample"."""
        if command == "sample":
            command = NutsCommand(learning=Learning.NOTHING)
        if not isinstance(command, NutsCommand):
            raise SamplingError(f"chains of NUTS take a NutsCommand, got {command!r}.")
        warmup, step = state.warmup, state.warmup.step
        if command.initialize is not None:
            state.initializing = command.initialize
        if command.learning is not None:
            if command.learning == Learning.NOTHING and state.learning == Learning.STEP and warmup.found:
                return_to_fallback(warmup, point)
            warmup.found = False
            state.learning = command.learning
        if command.max_treedepth is not None:
            state.max_treedepth = command.max_treedepth
        if command.scales is not None:
            install(warmup.metric, command.scales)
            release(warmup.metric)
        if command.step is not None:
            step.step = step.average = command.step.step
            step.anchor = command.step.anchor
            step.count = command.step.count
            step.error = 0.0
        if command.search is not None:
            step.step = command.search
            state.searching = True
        if command.target_accept is not None:
            step.target = command.target_accept
        return state.searching

    def learnt(self, state: NutsState) -> ChainTuning:
        """Step size and metric as they are now."""
        return ChainTuning(state.warmup.step.step, installed(state.warmup.metric))

    def rekey(self, scratch: NutsScratch, key: int) -> None:
        """See `Kernel.rekey`."""
        scratch.nuts.trajectory.key = int(purpose_key(key, TREE))

    def ends(self, scratch: NutsScratch) -> tuple[Any, Any]:
        """See `Kernel.ends`."""
        return scratch.nuts.trajectory.diverging_from, scratch.nuts.trajectory.diverging_to

    def tuner(self, setting: TuningSetting) -> Tuner:
        """Chains tune together: one metric and one step size from the draws of all."""
        return NutsTuner(self, setting)
