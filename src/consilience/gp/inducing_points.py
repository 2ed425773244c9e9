"""Gaussian processes through inducing points: low rank plus diagonal covariances of observations, in O(n u^2).

Inputs, inducing points, observations and noise in; a variable of the model and conditional distributions out. Three
approximations by their names in Quinonero-Candela and Rasmussen (2005) and Titsias (2009): DTC, FITC and VFE.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import consilience.tensor as pt
from consilience.distributions import CustomDist
from consilience.errors import ParameterError, ShapeError
from consilience.gp.covariance import BaseCovariance, points, positive
from consilience.gp.marginal import ObservedWithNoise
from consilience.gp.mean import MeanFunction
from consilience.gp.numerics import JITTER_DEFAULT, stabilize
from consilience.gp.process import vector
from consilience.ir import Node
from consilience.record import Record
from consilience.tensor import TensorLike

APPROXIMATIONS = ("DTC", "FITC", "VFE")


class ByInducingPoints(Record, eq=False):
    """A covariance A' A + diag(variances), and what the log density loses beside.

    `induced`: lower Cholesky factor of the covariance of the inducing points, shape (u, u). `weights`: a = induced^-1
    Kuf, shape (u, n). `variances`: shape (n,). `lost`: a scalar.
    """

    induced: Node
    weights: Node
    variances: Node
    lost: Node


class MarginalApprox(ObservedWithNoise):
    """A process f observed as y = f(X) + noise, approximated through inducing points.

    approx: "VFE" (a lower bound of the log density, which inducing points may be optimised with), "FITC" or "DTC".
    mean_func: As for `Marginal`.
    cov_func: As for `Marginal`.
    See Marginal: Without approximation.

    References
    ----------
    Quiñonero-Candela, Rasmussen (2005), Journal of Machine Learning Research 6, 1939, on "FITC" and "DTC";
    Titsias: Variational Learning of Inducing Variables in Sparse Gaussian Processes (2009), on "VFE".

    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.MarginalApprox("VFE", cov_func=pm.gp.cov.ExpQuad(1, 0.3))
    ...     y = gp.marginal_likelihood("y", X=X, Xu=X[::4], y=np.zeros(20), sigma=0.1)
    >>> bool(np.isfinite(model.compile_logp()({})))
    True
    """

    def __init__(
        self,
        approx: str = "VFE",
        *,
        mean_func: MeanFunction | None = None,
        cov_func: Any = None,
    ) -> None:
        if approx not in APPROXIMATIONS:
            raise ParameterError(f"approx must be one of {', '.join(APPROXIMATIONS)}, got {approx!r}.")
        super().__init__(mean_func=mean_func, cov_func=cov_func)
        self.approx = approx

    def __add__(self, other: Any) -> Any:
        found = super().__add__(other)
        found.approx = self.approx
        return found

    def marginal_likelihood(
        self,
        name: str,
        X: TensorLike,
        Xu: TensorLike,
        y: TensorLike,
        sigma: TensorLike | None = None,
        jitter: float = JITTER_DEFAULT,
        is_observed: bool = True,
        *,
        noise: TensorLike | None = None,
        **kwargs: Any,
    ) -> Node:
        """The variable y of the model.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : TensorLike
            Inputs, shape (n, columns).
        Xu : TensorLike
            Inducing points, shape (u, columns) with u <= n; `pm.gp.util.kmeans_inducing_points` chooses some.
        y : TensorLike
            Observations, n numbers.
        sigma : TensorLike, optional
            Standard deviation of the noise, a number.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance of the inducing points.
        is_observed : bool, default True
            False makes y a free variable of the model.
        noise : TensorLike, optional
            PyMC's older name of `sigma`.
        **kwargs : object
            Keywords of the distribution, such as `dims`.
        """
        if (sigma is None) == (noise is None):
            raise ParameterError("`marginal_likelihood` needs `sigma`, the standard deviation of the noise.")
        inputs, inducing = points(X), points(Xu, "Xu")
        _check_count(inputs, inducing)
        own = _number(noise if sigma is None else sigma)
        self._given = {"X": inputs, "Xu": inducing, "y": y, "sigma": own}
        found = self._low_rank(inputs, inducing, own, jitter)
        return CustomDist(
            name,
            self.mean_func(inputs),
            found.weights,
            found.variances,
            found.lost,
            logp=lambda value, mean, weights, variances, lost: log_density(value - mean, weights, variances) - lost,
            random=_draw,
            signature="(n),(u,n),(n),()->(n)",
            class_name=f"{self.approx}Normal",
            **({**kwargs, "observed": y} if is_observed else kwargs),
        )

    def _low_rank(self, X: Node, Xu: Node, sigma: Node, jitter: float) -> ByInducingPoints:
        induced = pt.linalg.cholesky(stabilize(self.cov_func.full(Xu), jitter))
        weights = pt.linalg.solve_triangular(induced, self.cov_func.full(Xu, X), lower=True)
        unexplained = self.cov_func.diag(X) - pt.sum(pt.square(weights), axis=0)
        noise = pt.square(sigma)
        if self.approx == "FITC":
            return ByInducingPoints(induced, weights, pt.maximum(unexplained, 0.0) + noise, pt.zeros(()))
        lost = 0.5 * pt.sum(unexplained) / noise if self.approx == "VFE" else pt.zeros(())
        return ByInducingPoints(induced, weights, noise + pt.zeros_like(unexplained), lost)

    def _at(self, Xnew: Node, pred_noise: bool, given: Mapping[str, Any] | None, diag: bool, jitter: float) -> Any:
        known = self.given_of(given, ("X", "Xu", "y", "sigma"))
        inputs, inducing, total = points(known["X"]), points(known["Xu"], "Xu"), known["gp"]
        sigma = _number(known["sigma"])
        found = total._low_rank(inputs, inducing, sigma, jitter)
        inner, projected = _whitened(vector(known["y"], inputs, "y") - total.mean_func(inputs), found)
        across = pt.linalg.solve_triangular(found.induced, self.cov_func.full(inducing, Xnew), lower=True)
        told = pt.linalg.solve_triangular(inner, across, lower=True)
        mean = self.mean_func(Xnew) + pt.dot(pt.matrix_transpose(told), projected)
        noise = pt.square(sigma) if pred_noise else pt.zeros(())
        if diag:
            prior = self.cov_func.diag(Xnew)
            return mean, prior - pt.sum(pt.square(across), axis=0) + pt.sum(pt.square(told), axis=0) + noise
        covariance = self.cov_func.full(Xnew) - _gram(across) + _gram(told)
        return mean, covariance + noise * pt.eye(covariance.static_shape[0])


MarginalSparse = MarginalApprox


def log_density(residual: Node, weights: Node, variances: Node) -> Node:
    """Log density of one vector of covariance A' A + diag(variances), by a factor of u x u."""
    inner, projected = _factored(residual, weights, variances)
    squares = pt.sum(pt.square(residual) / variances) - pt.sum(pt.square(projected))
    determinant = pt.sum(pt.log(variances)) + 2.0 * pt.sum(pt.log(pt.diagonal(inner)))
    return -0.5 * (squares + determinant + pt.sum(pt.full_like(residual, math.log(2.0 * math.pi))))


def _whitened(residual: Node, of: ByInducingPoints) -> tuple[Node, Node]:
    return _factored(residual, of.weights, of.variances)


def _factored(residual: Node, weights: Node, variances: Node) -> tuple[Node, Node]:
    """The Cholesky factor of I + A D^-1 A', and what it makes of A D^-1 residual."""
    scaled = weights / variances
    inner = pt.linalg.cholesky(pt.eye(weights.static_shape[0]) + pt.dot(scaled, pt.matrix_transpose(weights)))
    return inner, pt.linalg.solve_triangular(inner, pt.dot(scaled, residual), lower=True)


def _draw(mean: Node, weights: Node, variances: Node, lost: Node, rng: Any, size: Any) -> Node:
    own: Node = rng.normal(0.0, 1.0, size=size)
    shared: Node = rng.normal(0.0, 1.0, size=(*tuple(size)[:-1], weights.static_shape[0]))
    return mean + pt.dot(shared, weights) + pt.sqrt(variances) * own


def _gram(matrix: Node) -> Node:
    return pt.dot(pt.matrix_transpose(matrix), matrix)


def _number(sigma: Any) -> Node:
    if isinstance(sigma, BaseCovariance):
        raise ParameterError("inducing points need sigma as a number; `Marginal` takes covariance functions.")
    node = positive(sigma, "sigma", "the noise")
    if node.ndim:
        raise ShapeError(f"inducing points need sigma as one number, got shape {node.static_shape}.")
    return node


def _check_count(X: Node, Xu: Node) -> None:
    rows, inducing = X.static_shape[0], Xu.static_shape[0]
    if isinstance(rows, int) and isinstance(inducing, int) and inducing > rows:
        raise ShapeError(
            f"there are {inducing} inducing points for {rows} observations; give at most {rows}, or use `Marginal`, "
            "which is exact and then costs less."
        )
