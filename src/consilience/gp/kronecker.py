"""Gaussian processes on full grids, whose covariance is a Kronecker product of small matrices.

Inputs of each axis and a covariance function for each in, variables of the model out. With noise, the eigenvalues and
eigenvectors of the small matrices are those of the whole (Saatçi, Scalable inference for structured Gaussian process
models, 2011); the gradient is written out, so that equal eigenvalues do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.distributions import CustomDist, MvNormal, Normal
from consilience.errors import ParameterError, ShapeError
from consilience.gp.covariance import KroneckerCovariance, points, positive
from consilience.gp.mean import MeanFunction
from consilience.gp.numerics import JITTER_DEFAULT, stabilize
from consilience.gp.process import GaussianProcess, evaluated, vector
from consilience.ir import Node
from consilience.math import cartesian, kron_diag, kron_dot, kron_solve_lower
from consilience.model import Deterministic
from consilience.tensor import TensorLike


class OnGrid(GaussianProcess):
    """Base of processes on the full grid of several lists of inputs.

    `cov_funcs`: one covariance function for each of `Xs`.
    """

    def __init__(self, *, mean_func: MeanFunction | None = None, cov_funcs: Sequence[Any] | None = None) -> None:
        if not cov_funcs or not all(hasattr(one, "input_dim") for one in cov_funcs):
            raise ParameterError(
                f"{type(self).__name__} needs `cov_funcs`, a list of covariance functions of some columns, one for "
                f"each list of inputs, got {cov_funcs!r}."
            )
        super().__init__(mean_func=mean_func, cov_func=KroneckerCovariance(list(cov_funcs)))
        self.cov_funcs = list(cov_funcs)

    def __add__(self, other: Any) -> Any:
        raise ParameterError("sums of processes on grids have no Kronecker form; add their values, or use `Latent`.")

    def axes(self, Xs: Sequence[TensorLike]) -> list[Node]:
        """The inputs of each axis, each shape (n_i, columns_i). ShapeError for another number than of functions."""
        listed = list(Xs)
        if len(listed) != len(self.cov_funcs):
            raise ShapeError(
                f"Xs must hold {len(self.cov_funcs)} lists of inputs, one for each of cov_funcs, got {len(listed)}."
            )
        found = [points(X, f"Xs[{place}]") for place, X in enumerate(listed)]
        if any(not isinstance(X.static_shape[0], int) for X in found):
            raise ShapeError("the number of inputs of each axis must be known when the process is written.")
        return found

    def matrices(self, axes: Sequence[Node], jitter: float) -> list[Node]:
        """The small covariance matrices."""
        return [stabilize(cov.full(X), jitter) for cov, X in zip(self.cov_funcs, axes, strict=True)]


class LatentKron(OnGrid):
    """A process on a grid, whose values are variables of the model.

    mean_func: Of all columns together.
    cov_funcs (sequence): One covariance function for each list of inputs.
    See MarginalKron: Observed with normal noise.

    References
    ----------
    Saatçi: Scalable Inference for Structured Gaussian Process Models, thesis, Cambridge (2011).

    >>> grid = [np.linspace(0, 1, 3)[:, None], np.linspace(0, 1, 4)[:, None]]
    >>> with pm.Model():
    ...     gp = pm.gp.LatentKron(cov_funcs=[pm.gp.cov.ExpQuad(1, 0.5), pm.gp.cov.ExpQuad(1, 0.5)])
    ...     f = gp.prior("f", Xs=grid)
    >>> f.type.shape
    (12,)
    """

    def prior(self, name: str, Xs: Sequence[TensorLike], jitter: float = JITTER_DEFAULT, **kwargs: Any) -> Node:
        """`f` at all combinations of the rows of Xs, the last running fastest, shape (n_1 n_2 …,).

        It is computed from independent standard normals `{name}_rotated_`.
        """
        axes = self.axes(Xs)
        grid = cartesian(*axes)
        factors = [pt.linalg.cholesky(K) for K in self.matrices(axes, jitter)]
        length = math.prod(int(X.static_shape[0]) for X in axes)
        free = Normal(f"{name}_rotated_", 0.0, 1.0, shape=length)
        f = Deterministic(name, self.mean_func(grid) + kron_dot(factors, free)[:, 0], **kwargs)
        self._given = {"Xs": axes, "f": f}
        return f

    def conditional(self, name: str, Xnew: TensorLike, jitter: float = JITTER_DEFAULT, **kwargs: Any) -> Node:
        """The variable f(Xnew), given f on the grid; Xnew of shape (m, all columns)."""
        known = self.given_of(None, ("Xs", "f"))
        new, grid = points(Xnew, "Xnew"), cartesian(*known["Xs"])
        factors = [pt.linalg.cholesky(K) for K in self.matrices(known["Xs"], jitter)]
        across = kron_solve_lower(factors, self.cov_func.full(grid, new))
        residual = kron_solve_lower(factors, known["f"] - self.mean_func(grid))[:, 0]
        mean = self.mean_func(new) + pt.dot(pt.matrix_transpose(across), residual)
        covariance = self.cov_func.full(new) - pt.dot(pt.matrix_transpose(across), across)
        return MvNormal(name, mu=mean, cov=stabilize(covariance, jitter), **kwargs)


class MarginalKron(OnGrid):
    """A process on a grid, observed with independent noise of one standard deviation.

    mean_func: Of all columns together.
    cov_funcs (sequence): One covariance function for each list of inputs.
    See LatentKron: Values are variables.

    References
    ----------
    Saatçi: Scalable Inference for Structured Gaussian Process Models, thesis, Cambridge (2011).

    >>> grid = [np.linspace(0, 1, 3)[:, None], np.linspace(0, 1, 4)[:, None]]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.MarginalKron(cov_funcs=[pm.gp.cov.ExpQuad(1, 0.5), pm.gp.cov.ExpQuad(1, 0.5)])
    ...     y = gp.marginal_likelihood("y", Xs=grid, y=np.zeros(12), sigma=0.1)
    >>> round(model.point_logps({})["y"], 4)
    -3.3956
    """

    def marginal_likelihood(
        self,
        name: str,
        Xs: Sequence[TensorLike],
        y: TensorLike,
        sigma: TensorLike,
        is_observed: bool = True,
        **kwargs: Any,
    ) -> Node:
        """The variable y, at all combinations of the rows of Xs, the last running fastest.

        Parameters
        ----------
        name : str
            Name of the variable.
        Xs : sequence of TensorLike
            Lists of inputs, the i-th of shape (n_i, columns_i).
        y : TensorLike
            `n_1 n_2 …` observations.
        sigma : TensorLike
            Standard deviation of the noise > 0.
        is_observed : bool, default True
            False makes y a free variable of the model.
        **kwargs : object
            Keywords of the distribution, such as `dims`.
        """
        axes, noise = self.axes(Xs), positive(sigma, "sigma", "the noise")
        if noise.ndim:
            raise ShapeError(f"a grid needs sigma as one number, got shape {noise.static_shape}.")
        self._given = {"Xs": axes, "y": y, "sigma": noise}
        matrices = self.matrices(axes, 0.0)
        shapes = ",".join(["(n)", "()", *(f"(a{i},a{i})" for i in range(len(axes)))])
        return CustomDist(
            name,
            self.mean_func(cartesian(*axes)),
            noise,
            *matrices,
            logp=lambda value, mean, sigma, *matrices: log_density(value - mean, pt.square(sigma), *matrices),
            random=_draw,
            signature=f"{shapes}->(n)",
            class_name="KroneckerGridNormal",
            **({**kwargs, "observed": y} if is_observed else kwargs),
        )

    def _at(self, Xnew: Node, pred_noise: bool, diag: bool) -> tuple[Node, Node]:
        known = self.given_of(None, ("Xs", "y", "sigma"))
        axes, noise = known["Xs"], pt.square(known["sigma"])
        grid = cartesian(*axes)
        spectra = [pt.linalg.eigh(K) for K in self.matrices(axes, 0.0)]
        spectrum = kron_diag(*(values for values, _ in spectra)) + noise
        turned = [pt.matrix_transpose(vectors) for _, vectors in spectra]
        across = kron_dot(turned, self.cov_func.full(grid, Xnew))
        residual = kron_dot(turned, vector(known["y"], grid, "y") - self.mean_func(grid))[:, 0]
        mean = self.mean_func(Xnew) + pt.dot(pt.matrix_transpose(across), residual / spectrum)
        added = noise if pred_noise else pt.zeros(())
        if diag:
            told = pt.sum(pt.square(across) / spectrum[:, None], axis=0)
            return mean, self.cov_func.diag(Xnew) - told + added
        told = pt.dot(pt.matrix_transpose(across), across / spectrum[:, None])
        covariance = self.cov_func.full(Xnew) - told
        return mean, covariance + added * pt.eye(covariance.static_shape[0])

    def conditional(
        self,
        name: str,
        Xnew: TensorLike,
        pred_noise: bool = False,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Node:
        """The variable f(Xnew), or y with `pred_noise`, given the observations.

        Xnew has the shape (m, all columns).
        """
        mean, covariance = self._at(points(Xnew, "Xnew"), pred_noise, False)
        return MvNormal(name, mu=mean, cov=stabilize(covariance, jitter), **kwargs)

    def predict(
        self,
        Xnew: TensorLike,
        point: Mapping[str, Any] | None = None,
        diag: bool = False,
        pred_noise: bool = False,
        model: Any = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Mean and covariance at Xnew as arrays, or variances with `diag`, as `Marginal.predict` does."""
        new = points(Xnew, "Xnew")
        mean, spread = evaluated(lambda _: self._at(new, pred_noise, diag), 0.0, pt.ones(()), point, model)
        return mean, spread


def log_density(residual: Node, variance: Node, *matrices: Node) -> Node:
    """Log density of one vector of covariance K_1 x K_2 x … + variance I."""
    found: Node = _density(residual, variance, *matrices)
    return found


def _solved(residual: Node, variance: Node, *matrices: Node) -> tuple[list[Any], Node, Node]:
    """Spectra of the matrices, the spectrum of the whole, and its inverse times the residual."""
    spectra = [pt.linalg.eigh(K) for K in matrices]
    spectrum = kron_diag(*(values for values, _ in spectra)) + variance
    turned = kron_dot([pt.matrix_transpose(vectors) for _, vectors in spectra], residual)[:, 0]
    return spectra, spectrum, kron_dot([vectors for _, vectors in spectra], turned / spectrum)[:, 0]


def _value(residual: Node, spectrum: Node, solved: Node) -> Node:
    return -0.5 * (pt.dot(residual, solved) + pt.sum(pt.log(2.0 * math.pi * spectrum)))


@pt.custom_vjp
def _density(residual: Node, variance: Node, *matrices: Node) -> Node:
    _, spectrum, solved = _solved(residual, variance, *matrices)
    return _value(residual, spectrum, solved)


def _forward(residual: Node, variance: Node, *matrices: Node) -> Any:
    spectra, spectrum, solved = _solved(residual, variance, *matrices)
    kept = (spectrum, solved, *matrices, *(part for spectrum_of in spectra for part in spectrum_of))
    return _value(residual, spectrum, solved), kept


def _backward(kept: Any, slope: Node) -> Any:
    spectrum, solved, *others = kept
    count = len(others) // 3
    matrices, parts = others[:count], others[count:]
    values, vectors = parts[0::2], parts[1::2]
    orders = [int(K.static_shape[0]) for K in matrices]
    found = []
    for place, order in enumerate(orders):
        rest = [pt.eye(order) if i == place else K for i, K in enumerate(matrices)]
        left, right = (_unfolded(x, orders, place) for x in (solved, kron_dot(rest, solved)[:, 0]))
        ones = [pt.ones((order,)) if i == place else own for i, own in enumerate(values)]
        weights = pt.sum(_unfolded(kron_diag(*ones) / spectrum, orders, place), axis=1)
        trace = pt.dot(vectors[place] * weights[None, :], pt.matrix_transpose(vectors[place]))
        found.append(0.5 * slope * (pt.dot(left, pt.matrix_transpose(right)) - trace))
    noise = 0.5 * slope * (pt.sum(pt.square(solved)) - pt.sum(1.0 / spectrum))
    return (-slope * solved, noise, *found)


_density.defvjp(_forward, _backward)


def _unfolded(vector: Node, orders: Sequence[int], place: int) -> Node:
    """A vector over the grid as a matrix, one row for each input of one axis."""
    return pt.reshape(pt.moveaxis(pt.reshape(vector, tuple(orders)), place, 0), (orders[place], -1))


def _draw(mean: Node, sigma: Node, *matrices: Node, rng: Any, size: Any) -> Node:
    normals = rng.normal(0.0, 1.0, size=size)
    if normals.ndim != 1:
        raise ShapeError("a process on a grid is drawn one at a time; leave `size` out.")
    spectra = [pt.linalg.eigh(K) for K in matrices]
    spectrum = pt.maximum(kron_diag(*(values for values, _ in spectra)), 0.0) + pt.square(sigma)
    return mean + kron_dot([vectors for _, vectors in spectra], pt.sqrt(spectrum) * normals)[:, 0]
