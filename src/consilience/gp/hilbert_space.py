"""Gaussian processes in a basis of sines: approximations of m coefficients for n points, in O(n m).

Inputs and a covariance function with a spectral density in, coefficients as variables of the model and values at the
inputs out. After Solin and Sarkka, Hilbert space methods for reduced-rank Gaussian process regression (2020), and
Riutort-Mayol et al. (2022), who treat periodic functions too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.distributions import Normal
from consilience.distributions.random_variable import RandomVariable
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.gp.covariance import points, positive
from consilience.gp.mean import MeanFunction
from consilience.gp.process import GaussianProcess
from consilience.gp.stationary import Periodic
from consilience.ir import Input, Node, topological
from consilience.model import Deterministic
from consilience.tensor import TensorLike


class HSGP(GaussianProcess):
    """A process as a sum of products of sines on a box.

    m                numbers of basis functions, one for each active column
    L                half widths of the box around the middle of the inputs, one for each active column; or
    c                how much wider the box is than the inputs, > 1 (1.2 to 5 are usual)
    drop_first       leave out the first basis function, which an intercept may resemble
    parametrization  "noncentered": coefficients are standard normals; "centered": they have the variances that the
                     spectral density gives
    mean_func, cov_func   as for `Latent`; the covariance function needs a spectral density
    """

    def __init__(
        self,
        m: Sequence[int],
        L: Sequence[float] | None = None,
        c: float | None = None,
        drop_first: bool = False,
        parametrization: str | None = "noncentered",
        *,
        mean_func: MeanFunction | None = None,
        cov_func: Any = None,
    ) -> None:
        super().__init__(mean_func=mean_func, cov_func=cov_func)
        dims = getattr(self.cov_func, "n_dims", 0)
        try:
            self.m = tuple(int(count) for count in m)
        except TypeError:
            raise ParameterError(f"HSGP: m is a list of one number per active column, got {m!r}.") from None
        if len(self.m) != dims or min(self.m) < 1:
            raise ParameterError(
                f"HSGP: m must be {dims} whole numbers >= 1, one for each active column of cov_func, got {m!r}."
            )
        if (L is None) == (c is None):
            raise ParameterError("HSGP needs one of `L`, half widths, and `c`, a factor.")
        if c is not None and not c > 1.0:
            raise ParameterError(f"HSGP: c must be above 1, as the process is 0 at the ends of the box; got {c}.")
        if L is not None and len(L) != dims:
            raise ParameterError(f"HSGP: L must have {dims} half widths, one for each active column, got {L!r}.")
        if parametrization not in ("noncentered", "centered"):
            raise ParameterError(f"HSGP: parametrization must be 'noncentered' or 'centered', got {parametrization!r}.")
        self._L: list[Node] | None = None if L is None else [positive(one, "L", "HSGP") for one in L]
        self._c, self._drop_first, self._centered = c, drop_first, parametrization == "centered"
        self._middle: list[float] | None = None
        self._beta: Node | None = None
        self._sqrt_psd: Node | None = None

    def __add__(self, other: Any) -> Any:
        raise ParameterError("HSGPs are added as values: `gp1.prior('f1', X) + gp2.prior('f2', X)`.")

    @property
    def n_basis_vectors(self) -> int:
        """Number of basis functions."""
        return math.prod(self.m) - self._drop_first

    @property
    def _m(self) -> tuple[int, ...]:  # as PyMC's documentation has it
        return self.m

    @property
    def L(self) -> Node:
        """Half widths of the box, shape (active dims,)."""
        if self._L is None:
            raise ModelError("the half widths follow from the inputs; call `prior` or `prior_linearized` first.")
        return pt.stack(self._L)

    def prior_linearized(self, X: TensorLike) -> tuple[Node, Node]:
        """Basis functions at X, shape (n, m*), and the standard deviations of their coefficients, shape (m*,).

        f(X) = mean(X) + phi @ (beta * sqrt_psd), beta standard normal. The box is that of the first X, by the values
        that its data have now: data exchanged later keep it.
        """
        inputs = points(X)
        columns = _columns(self.cov_func, inputs)
        if self._middle is None:
            self._middle = [_middle(x) for x in columns]
        centred = [x - middle for x, middle in zip(columns, self._middle, strict=True)]
        if self._L is None:
            assert self._c is not None
            self._L = [positive(self._c * _now(pt.max(pt.abs(x))), "half of the range of X", "HSGP") for x in centred]
        grids = np.meshgrid(*(np.arange(1.0, count + 1.0) for count in self.m), indexing="ij")
        harmonics = [grid.ravel()[int(self._drop_first) :] for grid in grids]
        omega = [0.5 * math.pi * j / half for j, half in zip(harmonics, self._L, strict=True)]
        phi: Any = 1.0
        for x, frequency, half in zip(centred, omega, self._L, strict=True):
            phi = phi * pt.sin(frequency[None, :] * (x + half)[:, None]) / pt.sqrt(half)
        density = self.cov_func.power_spectral_density(pt.stack(omega, axis=1))
        return phi, pt.sqrt(density)

    def prior(self, name: str, X: TensorLike, hsgp_coeffs_dims: Any = None, gp_dims: Any = None) -> Node:
        """f(X), shape (n,), computed from the coefficients `{name}_hsgp_coeffs`.

        hsgp_coeffs_dims, gp_dims   dims of the coefficients and of f
        """
        phi, sqrt_psd = self.prior_linearized(X)
        size = {"dims": hsgp_coeffs_dims} if hsgp_coeffs_dims is not None else {"shape": self.n_basis_vectors}
        title = f"{name}_hsgp_coeffs"
        if self._centered:
            beta = Normal(title, 0.0, sqrt_psd, **size)
        else:
            beta = Normal(title, 0.0, 1.0, **size)
        self._beta, self._sqrt_psd = beta, sqrt_psd
        return Deterministic(name, self._values(phi, sqrt_psd, points(X)), dims=gp_dims)

    def _values(self, phi: Node, sqrt_psd: Node, X: Node) -> Node:
        assert self._beta is not None
        weights = self._beta if self._centered else self._beta * sqrt_psd
        return self.mean_func(X) + pt.dot(phi, weights)

    def conditional(self, name: str, Xnew: TensorLike, dims: Any = None) -> Node:
        """f(Xnew), a function of the coefficients, on the box of `prior`."""
        if self._beta is None:
            raise ModelError("HSGP: call `prior` in the model before `conditional`.")
        new = points(Xnew, "Xnew")
        phi, sqrt_psd = self.prior_linearized(new)
        return Deterministic(name, self._values(phi, sqrt_psd, new), dims=dims)


class HSGPPeriodic(GaussianProcess):
    """A periodic process of one dimension as a sum of m harmonics, exact as m grows.

    m          number of harmonics, the constant included, >= 1
    scale      standard deviation of the process
    cov_func   `pm.gp.cov.Periodic` of one column
    """

    def __init__(
        self,
        m: int,
        scale: TensorLike = 1.0,
        *,
        mean_func: MeanFunction | None = None,
        cov_func: Periodic | None = None,
    ) -> None:
        if not isinstance(cov_func, Periodic) or cov_func.n_dims != 1:
            raise ParameterError("HSGPPeriodic needs cov_func=pm.gp.cov.Periodic(…) of one column.")
        if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
            raise ParameterError(f"HSGPPeriodic: m must be a whole number >= 1, got {m!r}.")
        super().__init__(mean_func=mean_func, cov_func=cov_func)
        self.m, self.periodic = int(m), cov_func
        self.scale = positive(scale, "scale", "HSGPPeriodic")
        self._middle: float | None = None
        self._beta: Node | None = None

    def __add__(self, other: Any) -> Any:
        raise ParameterError("HSGPs are added as values: `gp1.prior('f1', X) + gp2.prior('f2', X)`.")

    @property
    def _m(self) -> int:  # as PyMC's documentation has it
        return self.m

    def prior_linearized(self, X: TensorLike) -> tuple[tuple[Node, Node], Node]:
        """Cosines and sines of the harmonics at X, both shape (n, m), and standard deviations, shape (m,).

        f(X) = mean(X) + scale * (cos @ (sd * a) + sin @ (sd * b)) with a and b standard normal. (The sine of the
        constant is 0 and has no coefficient in `prior`.)
        """
        (x,) = _columns(self.cov_func, points(X))
        if self._middle is None:
            self._middle = _middle(x)
        harmonics = np.arange(float(self.m))
        angles = 2.0 * math.pi / self.periodic.period * (x - self._middle)[:, None] * harmonics[None, :]
        return (pt.cos(angles), pt.sin(angles)), pt.sqrt(self.periodic.power_spectral_density_approx(harmonics))

    def prior(self, name: str, X: TensorLike, dims: Any = None) -> Node:
        """f(X), shape (n,), computed from 2 m - 1 coefficients `{name}_hsgp_coeffs_`."""
        self.prior_linearized(X)
        self._beta = Normal(f"{name}_hsgp_coeffs_", 0.0, 1.0, shape=2 * self.m - 1)
        return self.conditional(name, X, dims)

    def conditional(self, name: str, Xnew: TensorLike, dims: Any = None) -> Node:
        """f(Xnew), a function of the coefficients."""
        if self._beta is None:
            raise ModelError("HSGPPeriodic: call `prior` in the model before `conditional`.")
        (cosines, sines), spread = self.prior_linearized(Xnew)
        even = pt.dot(cosines, spread * self._beta[: self.m])
        odd = pt.dot(sines[:, 1:], spread[1:] * self._beta[self.m :])
        return Deterministic(name, self.mean_func(Xnew) + self.scale * (even + odd), dims=dims)


def _now(value: Node) -> float:
    """The present value of a function of data. ParameterError where it depends on variables of a model."""
    if any(isinstance(node.op, RandomVariable | Input) for node in topological([value])):
        raise ParameterError("the box of a basis follows from data; X depends on variables: use `Latent`.")
    return float(value.eval())


def _middle(x: Node) -> float:
    return _now(0.5 * (pt.max(x) + pt.min(x)))


def _columns(cov_func: Any, X: Node) -> list[Node]:
    """The columns that a covariance function reads."""
    wanted, found = max(cov_func.active_dims), X.static_shape[1]
    if isinstance(found, int) and wanted >= found:
        raise ShapeError(f"cov_func reads column {wanted}, and X has {found} columns.")
    return [X[:, column] for column in cov_func.active_dims]


def approx_hsgp_hyperparams(
    x_range: Sequence[float], lengthscale_range: Sequence[float], cov_func: str
) -> tuple[int, float]:
    """Least m and c for HSGP of one column, for lengthscales in a range, by the rules of Riutort-Mayol et al. (2022).

    x_range            least and largest input
    lengthscale_range  least and largest lengthscale > 0
    cov_func           "expquad", "matern52" or "matern32"
    """
    factors = {"expquad": (3.2, 1.75), "matern52": (4.1, 2.65), "matern32": (4.5, 3.42)}
    kind = cov_func.lower()
    if kind not in factors:
        raise ParameterError(f"cov_func must be one of {', '.join(factors)}, got {cov_func!r}.")
    low, high = lengthscale_range
    left, right = x_range
    if not 0.0 < low <= high or not left < right:
        raise ParameterError(
            f"ranges must be increasing, lengthscales above 0, got {x_range!r} and {lengthscale_range!r}."
        )
    half = 0.5 * (right - left)
    wide, many = factors[kind]
    c = max(wide * high / half, 1.2)
    return int(many * c / (low / half)), c
