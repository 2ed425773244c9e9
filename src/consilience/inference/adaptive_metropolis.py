"""Adaptive Metropolis: a normal random walk whose covariance is learnt from the chain (Haario, Saksman, Tamminen 2001).

Covariance and scale are learnt natively while tuning, with weights that vanish, and are fixed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.streams import WALK, WALK_ACCEPTANCE, normal_vector, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

INTERVAL = 10  # transitions between two factorisations of the covariance
PRIOR = 20.0  # transitions that the first covariance counts for
RIDGE = 1e-9  # of a variance, added to it


@record
class AdaptiveMetropolisInfo:
    """What happened in one transition: probability of acceptance, whether it was accepted, scale, log density."""

    accept: f64
    accepted: boolean
    scaling: f64
    lp: f64


@record
class AdaptiveMetropolisState:
    """What a chain remembers besides where it is.

    scale: Factor on the steps, positive; learnt.
    mean (Array): Of the chain so far, f64[dimension].
    covariance (Array): Of the chain so far, f64[dimension, dimension].
    factor (Array): Lower Cholesky factor of the covariance in use, f64[dimension, dimension].
    target: Mean probability of acceptance to reach.
    tune: Number of tuning transitions.
    """

    scale: f64
    mean: Array[f64]
    covariance: Array[f64]
    factor: Array[f64]
    target: f64
    tune: i64


@record
class AdaptiveMetropolisScratch:
    """The point proposed and standard normals, f64[dimension]."""

    position: Array[f64]
    normals: Array[f64]


@native
def factorise(covariance: Array[f64], factor: Array[f64], n: i64) -> None:
    """The lower Cholesky factor, with pivots of at least `RIDGE` of their variances."""
    for i in range(n):
        for j in range(i + 1):
            total = covariance[i * n + j]
            for k in range(j):
                total -= factor[i * n + k] * factor[j * n + k]
            if i == j:
                factor[i * n + i] = sqrt(max(total, RIDGE * covariance[i * n + i] + 1e-300))
            else:
                factor[i * n + j] = total / factor[j * n + j]


@native
def learn(point: Point, state: AdaptiveMetropolisState, accept: f64) -> None:
    """Take the point into mean and covariance, and the acceptance into the scale."""
    n = point.dimension
    weight = 2.0 / (float(point.transition) + PRIOR)
    for i in range(n):
        difference = point.position[i] - state.mean[i]
        for j in range(i + 1):
            other = point.position[j] - state.mean[j]
            state.covariance[i * n + j] += weight * ((1.0 - weight) * difference * other - state.covariance[i * n + j])
    for i in range(n):
        state.mean[i] += weight * (point.position[i] - state.mean[i])
    state.scale = exp(log(state.scale) + (accept - state.target) / sqrt(float(point.transition)))
    if point.transition % INTERVAL == 0 or point.transition == state.tune:
        factorise(state.covariance, state.factor, n)


@native(rare=True)
def start_adaptive(
    point: Point,
    state: AdaptiveMetropolisState,
    scratch: AdaptiveMetropolisScratch,
    density: Density,
    info: AdaptiveMetropolisInfo,
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_adaptive(
    point: Point,
    state: AdaptiveMetropolisState,
    scratch: AdaptiveMetropolisScratch,
    density: Density,
    info: AdaptiveMetropolisInfo,
) -> boolean:
    """Propose a normal step of the covariance learnt, and accept it or not."""
    n = point.dimension
    normal_vector(point, WALK, 0, scratch.normals)
    for i in range(n):
        move = 0.0
        for j in range(i + 1):
            move += state.factor[i * n + j] * scratch.normals[j]
        scratch.position[i] = point.position[i] + state.scale * move
    logp = log_density(density, scratch.position)
    if stopped(density):
        return False
    info.scaling = state.scale
    info.accept = exp(min(0.0, logp - point.logp))
    info.accepted = uniform(purpose_key(point.key, WALK_ACCEPTANCE), point.transition, 0) < info.accept
    if info.accepted:
        copy(scratch.position, point.position, n)
        point.logp = logp
    info.lp = point.logp
    point.transition += 1
    if point.transition <= state.tune:
        learn(point, state, info.accept)
    return True


class AdaptiveMetropolis(Kernel):
    """Metropolis with normal proposals of the covariance of the chain so far, for correlated variables.

    vars, compiled : ...
    scaling (float): Factor on the steps at the beginning, positive; by default 2.38 / sqrt(coordinates).
    target_accept (float): Mean probability of acceptance that the scale is tuned for, between 0 and 1.
    See Metropolis: Without learning the covariance.
    See MALA: With gradients.

    References
    ----------
    Haario, Saksman, Tamminen (2001), Bernoulli 7, 223.

    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     step = pm.AdaptiveMetropolis(target_accept=0.3)
    ...     result = pm.sample(step=step, random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    scaling: float | None = None
    target_accept: float = 0.234

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = AdaptiveMetropolisInfo
    start: ClassVar[Any] = start_adaptive
    step: ClassVar[Any] = step_adaptive
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept", "step size": "scaling"}

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        if self.scaling is not None:
            check_positive("scaling", self.scaling)
        check_fraction("target_accept", self.target_accept)

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> AdaptiveMetropolisState:
        """See `Kernel.state`."""
        scale = 2.38 / np.sqrt(block.dimension) if self.scaling is None else self.scaling
        mean = vectors.vector(np.asarray(point.position))
        covariance, factor = (np.eye(block.dimension).reshape(-1) for _ in range(2))
        return AdaptiveMetropolisState(float(scale), mean, covariance, factor, self.target_accept, tune)

    def scratch(
        self, block: Block, point: Point, state: AdaptiveMetropolisState, density: Density, vectors: Vectors
    ) -> AdaptiveMetropolisScratch:
        """See `Kernel.scratch`."""
        return AdaptiveMetropolisScratch(vectors.vector(), vectors.vector())
