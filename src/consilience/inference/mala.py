"""The Metropolis-adjusted Langevin algorithm as a step method: one leapfrog step, accepted or not.

Roberts & Tweedie (1996), Roberts & Rosenthal (1998). With the inverse mass M^-1 and the step size h the proposal is
x + h^2 / 2 M^-1 gradient + h M^-1/2 normals: a Hamiltonian path of a single leapfrog step.
"""

from __future__ import annotations

from consilience.inference.block import Block
from consilience.inference.hmc import HmcState, LeapfrogPath
from consilience.inference.point import Point
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import new_warmup


class MALA(LeapfrogPath):
    """The Metropolis-adjusted Langevin algorithm with a diagonal metric learnt while tuning.

    vars, compiled : ...
    target_accept: Mean acceptance probability to tune the step size for, between 0 and 1.
    initial_step: Where the search for a first step size begins, positive.
    See NUTS: Moves further per gradient.

    References
    ----------
    Roberts, Tweedie (1996), Bernoulli 2, 341.

    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     result = pm.sample(step=pm.MALA(), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    target_accept: float = 0.574
    initial_step: float = 0.1

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> HmcState:
        """See `Kernel.state`."""
        return HmcState(new_warmup(vectors, tune, self.target_accept, self.initial_step), 0.0, 1, tune)
