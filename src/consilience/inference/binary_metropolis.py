"""Metropolis sampling of variables with two values, one transition: some coordinates change, all together or not.

Each coordinate changes with the same probability, which makes the proposal symmetric (PyMC's BinaryMetropolis).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_positive
from consilience.inference.streams import ACCEPTANCE, PROPOSAL, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp
from consilience.native.typed_python import Array, boolean, f64, native, record


@record
class BinaryInfo:
    """What happened in one transition, under PyMC's names.

    `accept`: min(1, density at the proposal / density at the start). `accepted`: whether the proposal is the new state.
    `p_jump`: probability of each coordinate to change. `lp`: log density of the new state.
    """

    accept: f64
    accepted: boolean
    p_jump: f64
    lp: f64


@record
class BinaryState:
    """What a chain goes by: the least value of each coordinate, f64[dimension], and the probability of a change."""

    least: Array[f64]
    p_jump: f64


@record
class BinaryScratch:
    """The point proposed, f64[dimension]."""

    position: Array[f64]


@native(rare=True)
def start_binary(
    point: Point, state: BinaryState, scratch: BinaryScratch, density: Density, info: BinaryInfo
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_binary(
    point: Point, state: BinaryState, scratch: BinaryScratch, density: Density, info: BinaryInfo
) -> boolean:
    """Change each coordinate with a probability, and accept the whole or not."""
    if stopped(density):
        return False
    n = point.dimension
    key = purpose_key(point.key, PROPOSAL)
    for i in range(n):
        value = point.position[i]
        if uniform(key, point.transition, i) < state.p_jump:
            value = 2.0 * state.least[i] + 1.0 - value
        scratch.position[i] = value
    logp = log_density(density, scratch.position)
    info.accept = exp(min(0.0, logp - point.logp))
    info.accepted = uniform(purpose_key(point.key, ACCEPTANCE), point.transition, 0) < info.accept
    info.p_jump = state.p_jump
    if info.accepted:
        copy(scratch.position, point.position, n)
        point.logp = logp
    info.lp = point.logp
    point.transition += 1
    return True


class BinaryMetropolis(Kernel):
    """Metropolis sampling of variables with two values; `BinaryGibbsMetropolis` moves further where that is possible.

    vars, compiled : ...
    scaling (float): Each coordinate changes with probability 1 - 0.5 ** scaling, positive.
    tune (bool): As in PyMC, where they change no draw either: the scaling stays as it is.
    tune_interval (int): As in PyMC, where they change no draw either: the scaling stays as it is.
    See BinaryGibbsMetropolis: Draws each variable from its conditional distribution.
    >>> with pm.Model():
    ...     x = pm.Bernoulli("x", 0.3, shape=2)
    ...     result = pm.sample(step=pm.BinaryMetropolis([x]), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    scaling: float = 1.0
    tune: bool = True
    tune_interval: int = 100

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = BinaryInfo
    start: ClassVar[Any] = start_binary
    step: ClassVar[Any] = step_binary
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept"}
    discrete: ClassVar[bool] = True
    continuous: ClassVar[bool] = False

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_positive("scaling", self.scaling)

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> BinaryState:
        """See `Kernel.state`."""
        if not block.discrete.all() or not (block.upper - block.lower == 1).all():
            raise SamplingError(
                "BinaryMetropolis moves variables with two values; "
                f"{', '.join(f'`{name}`' for name in block.names) or 'the variables'} are none. Use "
                "pm.CategoricalGibbsMetropolis for finitely many values, pm.Metropolis for others."
            )
        return BinaryState(np.array(block.lower), 1.0 - 0.5**self.scaling)

    def scratch(
        self, block: Block, point: Point, state: BinaryState, density: Density, vectors: Vectors
    ) -> BinaryScratch:
        """See `Kernel.scratch`."""
        return BinaryScratch(vectors.vector())
