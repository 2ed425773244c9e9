"""Elliptical slice sampling of variables with a normal prior around zero (Murray, Adams and MacKay 2010).

The density may be any; the normal distribution given is taken out of it, and draws of it span the ellipses.
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
from consilience.inference.streams import ANGLE, ELLIPSE, normal_vector, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import cos, inf, log, sin
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

TURN = 6.283185307179586


@record
class EllipticalSliceInfo:
    """What happened in one transition: the angle taken in radians, points refused before it, the log density."""

    theta: f64
    nstep_in: i64
    lp: f64


@record
class EllipticalSliceState:
    """Nothing is learnt."""


@record
class EllipticalSliceScratch:
    """Memory of a transition, and the prior.

    position (Array): The point looked at, f64[dimension].
    normals (Array): Standard normals, f64[dimension].
    white (Array): Coordinates in which the prior is a standard normal, f64[dimension].
    ellipse (Array): The draw of the prior that spans the ellipse, f64[dimension].
    factor (Array): Lower Cholesky factor of the prior's covariance, f64[dimension, dimension].
    """

    position: Array[f64]
    normals: Array[f64]
    white: Array[f64]
    ellipse: Array[f64]
    factor: Array[f64]


@native(rare=True)
def start_elliptical(
    point: Point,
    state: EllipticalSliceState,
    scratch: EllipticalSliceScratch,
    density: Density,
    info: EllipticalSliceInfo,
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_elliptical(
    point: Point,
    state: EllipticalSliceState,
    scratch: EllipticalSliceScratch,
    density: Density,
    info: EllipticalSliceInfo,
) -> boolean:
    """Move along the ellipse through the point and a draw of the prior, to a place in the slice of the likelihood."""
    n = point.dimension
    normal_vector(point, ELLIPSE, 0, scratch.normals)
    squares = 0.0
    product = 0.0
    drawn = 0.0
    for i in range(n):
        row = scratch.factor[i * n :]
        value = point.position[i]
        place = 0.0
        for j in range(i):
            value -= row[j] * scratch.white[j]
            place += row[j] * scratch.normals[j]
        scratch.white[i] = value / row[i]
        scratch.ellipse[i] = place + row[i] * scratch.normals[i]
        squares += scratch.white[i] * scratch.white[i]
        product += scratch.white[i] * scratch.normals[i]
        drawn += scratch.normals[i] * scratch.normals[i]
    key = purpose_key(point.key, ANGLE)
    height, share = two_uniforms(key, point.transition, 0)
    level = point.logp + 0.5 * squares + log(height)
    theta = TURN * share
    least = theta - TURN
    most = theta
    block = 1
    logp = -inf
    found = False
    info.nstep_in = 0
    while not found and not stopped(density):
        c = cos(theta)
        s = sin(theta)
        for i in range(n):
            scratch.position[i] = c * point.position[i] + s * scratch.ellipse[i]
        logp = log_density(density, scratch.position)
        found = logp + 0.5 * (c * c * squares + 2.0 * c * s * product + s * s * drawn) > level
        info.theta = theta
        if not found:
            info.nstep_in += 1
            if theta < 0.0:
                least = theta
            else:
                most = theta
            theta = least + (most - least) * uniform(key, point.transition, block)
            block += 1
    if stopped(density):
        return False
    copy(scratch.position, point.position, n)
    point.logp = logp
    info.lp = logp
    point.transition += 1
    return True


class EllipticalSlice(Kernel):
    """Elliptical slice sampling: no settings to tune, and no rejections.

    vars, compiled : ...
    prior_cov: Covariance of the normal prior around zero, float64 (coordinate, coordinate), positive definite.
    prior_chol: Its lower Cholesky factor, instead.
    See Slice: Without a normal prior.

    References
    ----------
    Murray, Adams, MacKay: Elliptical Slice Sampling (2010).

    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1, shape=3)
    ...     y = pm.Normal("y", x, 1, observed=[1.0, 2.0, 3.0])
    ...     step = pm.EllipticalSlice([x], prior_cov=np.eye(3))
    ...     result = pm.sample(step=step, random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    prior_cov: Any = None
    prior_chol: Any = None

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = EllipticalSliceInfo
    start: ClassVar[Any] = start_elliptical
    step: ClassVar[Any] = step_elliptical
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp"}

    def check(self) -> None:
        """Raise SamplingError unless one of both matrices is given and can be a covariance or its factor."""
        if (self.prior_cov is None) == (self.prior_chol is None):
            given = "neither" if self.prior_cov is None else "both"
            raise SamplingError(f"EllipticalSlice needs one of prior_cov and prior_chol, got {given}.")
        name = "prior_chol" if self.prior_cov is None else "prior_cov"
        matrix = np.asarray(getattr(self, name), dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise SamplingError(f"{name} needs a square matrix of finite numbers, got the shape {matrix.shape}.")
        if name == "prior_chol" and not (np.array_equal(matrix, np.tril(matrix)) and (np.diag(matrix) > 0.0).all()):
            raise SamplingError("prior_chol needs a lower triangular matrix with a positive diagonal, got another one.")
        if name == "prior_cov":
            least = np.linalg.eigvalsh(matrix).min(initial=1.0)
            if not np.allclose(matrix, matrix.T) or least <= 0.0:
                raise SamplingError(
                    f"prior_cov needs a symmetric positive definite matrix, got the least eigenvalue {least:.3g}."
                )

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> EllipticalSliceState:
        """See `Kernel.state`."""
        size = len(np.asarray(self.prior_cov if self.prior_chol is None else self.prior_chol))
        if size != block.dimension:
            raise SamplingError(
                f"the prior of EllipticalSlice needs one row for each of {block.dimension} coordinates, got {size}."
            )
        return EllipticalSliceState()

    def scratch(
        self, block: Block, point: Point, state: EllipticalSliceState, density: Density, vectors: Vectors
    ) -> EllipticalSliceScratch:
        """See `Kernel.scratch`."""
        factor = np.linalg.cholesky(self.prior_cov) if self.prior_chol is None else np.asarray(self.prior_chol)
        position, normals, white, ellipse = (vectors.vector() for _ in range(4))
        return EllipticalSliceScratch(position, normals, white, ellipse, np.array(factor, np.float64).reshape(-1))
