"""Covariance functions of the distance between points, with lengthscales.

r is the Euclidean distance after each column is divided by its lengthscale. Spectral densities are those of
Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 4.2, at angular frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import consilience.tensor as pt
from consilience.errors import ParameterError
from consilience.gp.covariance import Covariance, positive, product, total
from consilience.ir import Node
from consilience.tensor import TensorLike


class Stationary(Covariance):
    """Base of covariance functions of the distance.

    input_dim : ...
    ls: Lengthscales > 0, one or one for each active column.
    ls_inv: Their inverses, in place of `ls`.
    active_dims : ...
    See ExpQuad: The smoothest one.
    See Matern52: Twice differentiable.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> issubclass(pm.gp.cov.Matern32, pm.gp.cov.Stationary)
    True
    """

    def __init__(
        self,
        input_dim: int,
        ls: TensorLike | None = None,
        ls_inv: TensorLike | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, active_dims)
        if (ls is None) == (ls_inv is None):
            raise ParameterError(f"{type(self).__name__} needs one of `ls` and `ls_inv`.")
        self.lengthscales = (
            self.per_dim(ls, "ls") if ls is not None else [1.0 / one for one in self.per_dim(ls_inv, "ls_inv")]  # type: ignore[arg-type]  # one of both
        )

    @property
    def ls(self) -> Node:
        """Lengthscales of the active columns, shape (active dims,)."""
        return pt.stack(self.lengthscales)

    def square_dist(self, X: Node, Xs: Node | None = None) -> Node:
        """`r^2` of all pairs of rows, shape (n, m)."""
        pairs = zip(self.differences(X, Xs), self.lengthscales, strict=True)
        terms = [pt.square(difference / ls) for difference, ls in pairs]
        return total(terms)

    def euclidean_dist(self, X: Node, Xs: Node | None = None) -> Node:
        """`r` of all pairs of rows, shape (n, m), whose derivative at r = 0 is taken as 0."""
        return _root(self.square_dist(X, Xs))

    def diag(self, X: Node) -> Node:
        return pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return self.full_from_distance(self.square_dist(X, Xs), squared=True)

    def full_from_distance(self, dist: TensorLike, squared: bool = False) -> Node:
        """The covariance at distances r, or r^2 where `squared`."""
        node = pt.as_tensor(dist)
        return self.of_squares(node if squared else pt.square(node))

    def of_squares(self, r2: Node) -> Node:
        """The covariance at r^2."""
        raise NotImplementedError

    def _frequencies(self, omega: TensorLike) -> tuple[Node, Node]:
        """sum (ls omega)^2 and the product of all lengthscales, for frequencies of shape (m, active dims)."""
        grid = pt.as_tensor(omega)
        squares = [pt.square(grid[:, place] * ls) for place, ls in enumerate(self.lengthscales)]
        return total(squares), product(self.lengthscales)


class ExpQuad(Stationary):
    """`exp(-r^2 / 2)`.

    input_dim, ls, ls_inv, active_dims : ...
    See Matern52: Twice differentiable.
    See Matern32: Once differentiable.
    See RatQuad: A mixture of lengthscales.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.ExpQuad(1, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    def of_squares(self, r2: Node) -> Node:
        return pt.exp(-0.5 * r2)

    def power_spectral_density(self, omega: TensorLike) -> Node:
        squares, volume = self._frequencies(omega)
        return volume * (float((2.0 * math.pi) ** (self.n_dims / 2.0)) * pt.exp(-0.5 * squares))


class RatQuad(Stationary):
    """(1 + r^2 / (2 alpha))^-alpha, with alpha > 0.

    input_dim : ...
    alpha: Shape > 0: the larger, the nearer to `ExpQuad`.
    ls, ls_inv, active_dims : ...
    See ExpQuad: `exp(-r^2 / 2)`.
    See Matern52: Twice differentiable.
    See Matern32: Once differentiable.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.RatQuad(1, alpha=1.0, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.6667], [0.6667, 1.0]]
    """

    def __init__(
        self,
        input_dim: int,
        alpha: TensorLike,
        ls: TensorLike | None = None,
        ls_inv: TensorLike | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, ls, ls_inv, active_dims)
        self.alpha = positive(alpha, "alpha", "RatQuad")

    def of_squares(self, r2: Node) -> Node:
        return pt.exp(-self.alpha * pt.log1p(0.5 * r2 / self.alpha))

    def power_spectral_density(self, omega: TensorLike) -> Node:
        """Infinite at frequency 0 for alpha <= D / 2, D the number of active columns.

        The function is the mean of squared exponentials over a gamma distribution of the precision, and so is its
        density: 2 (2 pi alpha)^(D / 2) prod ls / Gamma(alpha) (z / 2)^nu K_nu(z) at z = sqrt(2 alpha) |ls omega| and
        nu = alpha - D / 2, K the modified Bessel function (`pt.special.kv`, without a slope in nu).
        """
        squares, volume = self._frequencies(omega)
        nu = self.alpha - 0.5 * self.n_dims
        still = pt.eq(squares, 0.0)
        z = pt.sqrt(2.0 * self.alpha * pt.where(still, 1.0, squares))
        at_zero = pt.where(pt.gt(nu, 0.0), 0.5 * pt.gamma(pt.where(pt.gt(nu, 0.0), nu, 1.0)), np.inf)
        shape = pt.where(still, at_zero, pt.exp(nu * pt.log(0.5 * z)) * pt.special.kv(nu, z))
        scale = pt.exp(0.5 * self.n_dims * pt.log(2.0 * math.pi * self.alpha) - pt.gammaln(self.alpha))
        return 2.0 * scale * volume * shape


class Matern(Stationary):
    """Base of the covariance functions of Matern's family for half-integer `order`."""

    order: float

    def power_spectral_density(self, omega: TensorLike) -> Node:
        squares, volume = self._frequencies(omega)
        nu, d = self.order, self.n_dims
        scale = 2.0**d * math.pi ** (d / 2.0) * math.gamma(nu + d / 2.0) * (2.0 * nu) ** nu / math.gamma(nu)
        return volume * float(scale) * (2.0 * nu + squares) ** (-(nu + d / 2.0))


class Matern12(Matern):
    """`exp(-r)`.

    input_dim, ls, ls_inv, active_dims : ...
    See Matern32: Once differentiable.
    See Exponential: `exp(-r / 2)`.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.Matern12(1, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """

    order = 0.5

    def of_squares(self, r2: Node) -> Node:
        return pt.exp(-_root(r2))


class Matern32(Matern):
    """(1 + sqrt(3) r) exp(-sqrt(3) r).

    input_dim, ls, ls_inv, active_dims : ...
    See RatQuad: A mixture of lengthscales.
    See ExpQuad: `exp(-r^2 / 2)`.
    See Matern52: Twice differentiable.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.Matern32(1, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.4834], [0.4834, 1.0]]
    """

    order = 1.5

    def of_squares(self, r2: Node) -> Node:
        r = math.sqrt(3.0) * _root(r2)
        return (1.0 + r) * pt.exp(-r)


class Matern52(Matern):
    """(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r).

    input_dim, ls, ls_inv, active_dims : ...
    See Matern32: Once differentiable.
    See RatQuad: A mixture of lengthscales.
    See ExpQuad: `exp(-r^2 / 2)`.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.Matern52(1, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.524], [0.524, 1.0]]
    """

    order = 2.5

    def of_squares(self, r2: Node) -> Node:
        r = math.sqrt(5.0) * _root(r2)
        return (1.0 + r + 5.0 / 3.0 * r2) * pt.exp(-r)


class ExponentialCovariance(Matern):
    """`exp(-r / 2)`: Matern12 of twice the lengthscale.

    input_dim, ls, ls_inv, active_dims : ...
    See Matern12: `exp(-r)`.
    See Matern32: Once differentiable.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.Exponential(1, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    order = 0.5

    def of_squares(self, r2: Node) -> Node:
        return pt.exp(-0.5 * _root(r2))

    def _frequencies(self, omega: TensorLike) -> tuple[Node, Node]:
        squares, volume = super()._frequencies(omega)
        return 4.0 * squares, 2.0**self.n_dims * volume


class Cosine(Stationary):
    """`cos(2 pi r)`.

    input_dim, ls, ls_inv, active_dims : ...
    See Periodic: `exp(-sum (sin(pi (x - x') / period) / ls)^2 / 2)`.
    >>> pm.gp.cov.Cosine(1, ls=2.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """

    def of_squares(self, r2: Node) -> Node:
        return pt.cos(2.0 * math.pi * _root(r2))


class Periodic(Stationary):
    """`exp(-sum (sin(pi (x - x') / period) / ls)^2 / 2)`.

    input_dim : ...
    period: > 0, one or one for each active column.
    ls, ls_inv, active_dims : ...
    See Cosine: `cos(2 pi r)`.

    References
    ----------
    MacKay: Introduction to Gaussian Processes (1998).

    >>> pm.gp.cov.Periodic(1, period=2.0, ls=1.0)([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    def __init__(
        self,
        input_dim: int,
        period: TensorLike,
        ls: TensorLike | None = None,
        ls_inv: TensorLike | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, ls, ls_inv, active_dims)
        self.periods = self.per_dim(period, "period")

    @property
    def period(self) -> Node:
        """The period of the first active column."""
        return self.periods[0]

    def square_dist(self, X: Node, Xs: Node | None = None) -> Node:
        return _chords(self.differences(X, Xs), self.periods, self.lengthscales)

    def of_squares(self, r2: Node) -> Node:
        return pt.exp(-0.5 * r2)

    def power_spectral_density_approx(self, J: TensorLike) -> Node:
        """Variances of the harmonics 0, 1, … m - 1: those of sine and cosine of j times the base frequency.

        Parameters
        ----------
        J : TensorLike
            The harmonics, shape (m,).

        Notes
        -----
        With a = 1 / (4 ls^2), they are exp(-a) I_0(a) and 2 exp(-a) I_j(a), I the modified Bessel functions.
        """
        orders = pt.as_tensor(J)
        bessel = pt.special.ive(orders, 0.25 / pt.square(self.lengthscales[0]))
        return pt.where(pt.gt(orders, 0), 2.0, 1.0) * bessel


class WrappedPeriodic(Covariance):
    """A stationary covariance function at the distances sin(pi (x - x') / period): periodic. Of ExpQuad it is Periodic.

    cov_func: A stationary covariance function, whose columns and lengthscales are used.
    period: > 0, one or one for each active column.
    See Periodic: That of `ExpQuad`.
    >>> k = pm.gp.cov.WrappedPeriodic(pm.gp.cov.Matern32(1, ls=1.0), period=1.0)
    >>> k([[0.0], [0.5], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.4834, 1.0], [0.4834, 1.0, 0.4834], [1.0, 0.4834, 1.0]]
    """

    def __init__(self, cov_func: Stationary, period: TensorLike) -> None:
        if not isinstance(cov_func, Stationary):
            raise ParameterError(f"WrappedPeriodic needs a stationary covariance function, got {cov_func!r}.")
        super().__init__(cov_func.input_dim, cov_func.active_dims)
        self.cov_func = cov_func
        self.periods = self.per_dim(period, "period")

    def diag(self, X: Node) -> Node:
        return pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        chords = _chords(self.differences(X, Xs), self.periods, self.cov_func.lengthscales)
        return self.cov_func.full_from_distance(chords, squared=True)


class CircularCovariance(Covariance):
    """Wendland's function of the shorter way round a circle: (1 + tau t / c) max(1 - t / c, 0)^tau, c half of a period.

    input_dim : ...
    period: Length of the circle > 0.
    tau: >= 4, which makes it positive definite.
    active_dims : ...
    See Periodic: By sines.

    References
    ----------
    Padonou, Roustant (2016), SIAM/ASA Journal on Uncertainty Quantification 4, 1014.

    >>> pm.gp.cov.Circular(1, period=1.0)([[0.0], [0.25], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.1875, 1.0], [0.1875, 1.0, 0.1875], [1.0, 0.1875, 1.0]]
    """

    def __init__(
        self, input_dim: int, period: TensorLike, tau: TensorLike = 4.0, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, active_dims)
        if self.n_dims != 1:
            raise ParameterError(f"Circular reads one column, got active_dims {list(self.active_dims)}.")
        self.c = 0.5 * positive(period, "period", "Circular")
        self.tau = positive(tau, "tau", "Circular")

    def diag(self, X: Node) -> Node:
        return pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        (difference,) = self.differences(X, Xs)
        period = 2.0 * self.c
        turned = difference - period * pt.floor(difference / period)
        way = pt.minimum(turned, period - turned) / self.c
        return (1.0 + self.tau * way) * pt.clip(1.0 - way, 0.0, 1.0) ** self.tau


def _root(r2: Node) -> Node:
    """sqrt(r^2) with derivative 0 at 0."""
    apart = pt.gt(r2, 0.0)
    return pt.where(apart, pt.sqrt(pt.where(apart, r2, 1.0)), 0.0)


def _chords(differences: Sequence[Node], periods: Sequence[Node], lengthscales: Sequence[Node]) -> Node:
    """sum (sin(pi d / period) / ls)^2."""
    parts = zip(differences, periods, lengthscales, strict=True)
    terms = [pt.square(pt.sin(math.pi * d / period) / ls) for d, period, ls in parts]
    return total(terms)
