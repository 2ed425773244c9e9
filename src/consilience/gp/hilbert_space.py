"""Gaussian processes in a basis of sines or cosines: approximations of m coefficients for n points, in O(n m).

Inputs and a covariance function with a spectral density in, coefficients as variables of the model and values at the
inputs out. After Solin and Sarkka, Hilbert space methods for reduced-rank Gaussian process regression (2020), and
Riutort-Mayol et al. (2023), who treat periodic functions too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

import consilience.tensor as pt
from consilience.distributions import Normal
from consilience.distributions.random_variable import RandomVariable
from consilience.errors import ModelError, ParameterError, ShapeError, warn
from consilience.first_use import load_on_use
from consilience.gp.covariance import points, positive
from consilience.gp.mean import MeanFunction
from consilience.gp.process import GaussianProcess
from consilience.gp.stationary import Periodic
from consilience.ir import Input, Node, Shared, constant_value, topological
from consilience.model import Deterministic
from consilience.tensor import TensorLike

Condition: TypeAlias = Literal["dirichlet", "neumann", "dirichlet-neumann", "neumann-dirichlet"]
Conditions: TypeAlias = Condition | Sequence[Condition]
# Of the function at both ends of the box, zero (Dirichlet) or flat (Neumann): its first frequency, in half waves on the
# box, and whether it is a sine.
_FUNCTIONS: Final[dict[str, tuple[float, bool]]] = {
    "dirichlet": (1.0, True),
    "neumann": (0.0, False),
    "dirichlet-neumann": (0.5, True),
    "neumann-dirichlet": (0.5, False),
}


def _per_dim(boundary: Conditions, dims: int) -> tuple[Condition, ...]:
    listed = (boundary,) * dims if isinstance(boundary, str) else tuple(boundary)
    for one in listed:
        if one not in _FUNCTIONS:
            raise ParameterError(f"HSGP: boundary must be one of {', '.join(get_args(Condition))}, got {one!r}.")
    if len(listed) != dims:
        raise ParameterError(f"HSGP: boundary must be one condition, or {dims}, one per active column; got {listed}.")
    return listed


def set_boundary(X: TensorLike, c: TensorLike) -> Any:
    """Half widths of the box of inputs: c times half of the range of each column, as an array of shape (columns,).

    >>> import consilience as pm
    >>> pm.gp.hsgp_approx.set_boundary([[0.0, 1.0], [4.0, 3.0]], 1.5)
    array([3. , 1.5])
    """
    inputs = points(X)
    half = 0.5 * (pt.max(inputs, axis=0) - pt.min(inputs, axis=0))
    return np.asarray(positive(_values_now(c * half), "half of the range of X times c", "set_boundary").eval())


def calc_eigenvalues(L: Any, m: Sequence[int], boundary: Conditions = "dirichlet") -> Any:
    """Squares of the frequencies of the basis functions, shape (prod(m), len(m)).

    `L`: half widths of the box, one for each column, as an array or a tensor. `m`: numbers of basis functions, one for
    each column. `boundary`: as for `HSGP`.

    The first column's frequency runs fastest, behind that of the third and of others: the order of NumPy's `meshgrid`.

    >>> import consilience as pm
    >>> pm.gp.hsgp_approx.calc_eigenvalues([1.0, 2.0], [2, 1]).round(2)
    array([[2.47, 0.62],
           [9.87, 0.62]])
    """
    first = [_FUNCTIONS[one][0] for one in _per_dim(boundary, len(m))]
    grids = np.meshgrid(*(np.arange(start, start + count) for start, count in zip(first, m, strict=True)))
    half_waves = np.stack([grid.ravel() for grid in grids], axis=1)
    return (0.5 * math.pi * half_waves / (L if isinstance(L, Node) else np.asarray(L, float))) ** 2


def calc_eigenvectors(
    Xs: TensorLike, L: Any, eigvals: Any, m: Sequence[int], boundary: Conditions = "dirichlet"
) -> Node:
    """The basis functions at inputs, shape (n, prod(m)): products of sines or cosines, of norm 1 on the box.

    `Xs`: inputs less the middle of the box, shape (n, len(m)).
    `L`: as for `calc_eigenvalues`.
    `eigvals`: what `calc_eigenvalues` gives.
    `m`: as for `calc_eigenvalues`.
    `boundary`: as for `calc_eigenvalues`.

    >>> import consilience as pm
    >>> eigenvalues = pm.gp.hsgp_approx.calc_eigenvalues([1.0], [2])
    >>> pm.gp.hsgp_approx.calc_eigenvectors([[0.0]], [1.0], eigenvalues, [2]).eval().round(3)
    array([[1., 0.]])
    """
    inputs = points(Xs, "Xs")
    product: Any = 1.0
    for axis, one in enumerate(_per_dim(boundary, len(m))):
        start, sine = _FUNCTIONS[one]
        omega, half = pt.sqrt(eigvals[:, axis]), L[axis]
        waves = omega[None, :] * (inputs[:, axis] + half)[:, None]
        constant_one = pt.eq(omega, 0.0) if start == 0.0 else None
        norm = pt.sqrt(half) if constant_one is None else pt.sqrt(half * pt.where(constant_one, 2.0, 1.0))
        product = product * (pt.sin(waves) if sine else pt.cos(waves)) / norm
    result: Node = product
    return result


def calc_basis_periodic(Xs: Any, period: Any, m: int, tl: Any = np) -> tuple[Any, Any]:
    """Cosines and sines of the harmonics 0, 1, … m - 1 at inputs, each of shape (n, m).

    >>> import consilience as pm
    >>> cosines, sines = pm.gp.hsgp_approx.calc_basis_periodic(np.array([[0.0], [0.5]]), period=2.0, m=2)
    >>> cosines.round(3)
    array([[1., 1.],
           [1., 0.]])
    """
    angles = 2.0 * math.pi / period * Xs * np.arange(float(m))
    return tl.cos(angles), tl.sin(angles)


class HSGP(GaussianProcess):
    """A process as a sum of products of sines or cosines on a box.

    m: Numbers of basis functions, one for each active column.
    L: Half widths of the box around the middle of the inputs, one for each active column.
    c: How much wider the box is than the inputs, >= 1 (1.2 to 5 are usual).
    drop_first: Leave out the first basis function, which an intercept may resemble.
    parametrization (str or None): "noncentered": coefficients are standard normals; "centered": they have the variances
        that the spectral density gives.
    boundary (str or sequence of str): What the functions are at the ends of the box, for all active columns or for
        each: "dirichlet", zero (sines); "neumann", flat (cosines and a constant); "dirichlet-neumann", zero at the
        lower end and flat at the upper one; "neumann-dirichlet".
    mean_func: As for `Latent`; the covariance function needs a spectral density.
    cov_func: As for `Latent`; the covariance function needs a spectral density.
    See Latent: A process f of mean and covariance functions.
    See approx_hsgp_hyperparams: Least m and c for HSGP of one column.
    References: Solin, Särkkä (2020), Statistics and Computing 30, 419, doi:10.1007/s11222-019-09886-w.
    >>> with pm.Model() as model:
    ...     gp = pm.gp.HSGP(m=[20], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, ls=0.7))
    ...     f = gp.prior("f", X=[[0.0], [0.5], [1.0]])
    """

    def __init__(
        self,
        m: Sequence[int],
        L: Sequence[float] | None = None,
        c: Any = None,
        drop_first: bool = False,
        parametrization: str | None = "noncentered",
        *,
        boundary: Conditions = "dirichlet",
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
        self.boundary = _per_dim(boundary, dims)
        if (L is None) == (c is None):
            raise ParameterError("HSGP needs one of `L`, half widths, and `c`, a factor.")
        self._c = None if c is None else np.broadcast_to(np.asarray(_values_now(c), float), (dims,))
        if self._c is not None and not (self._c >= 1.0).all():
            raise ParameterError(f"HSGP: c must be at least 1, as the box holds the inputs; got {c}.")
        if self._c is not None and (self._c < 1.2).any() and "dirichlet" in self.boundary:
            warn(f"HSGP: with c = {c} the process is nearly 0 where the inputs end; c >= 1.2 keeps it free there.")
        if L is not None and len(L) != dims:
            raise ParameterError(f"HSGP: L must have {dims} half widths, one for each active column, got {L!r}.")
        kind = str(parametrization).lower().replace("-", "").replace("_", "")
        if kind not in ("noncentered", "centered"):
            raise ParameterError(f"HSGP: parametrization must be 'noncentered' or 'centered', got {parametrization!r}.")
        self._L: Any = None
        if L is not None:
            self.L = L
        self._drop_first, self._centered = bool(drop_first), kind == "centered"
        self._middle: list[float] | None = None
        self._beta: Node | None = None
        self._sqrt_psd: Node | None = None

    def __add__(self, other: Any) -> Any:
        raise ParameterError("HSGPs are added as values: `gp1.prior('f1', X) + gp2.prior('f2', X)`.")

    @property
    def n_basis_vectors(self) -> int:
        """Number of basis functions, with the one that `drop_first` leaves out."""
        return math.prod(self.m)

    @property
    def _m(self) -> tuple[int, ...]:  # as PyMC's documentation has it
        return self.m

    @property
    def L(self) -> Node:
        """Half widths of the box, shape (active dims,)."""
        if self._L is None:
            raise ModelError("the half widths follow from the inputs; call `prior` or `prior_linearized` first.")
        return pt.as_tensor(self._L)

    @L.setter
    def L(self, value: Any) -> None:
        known = value if isinstance(value, Node) else pt.stack([positive(one, "L", "HSGP") for one in value])
        number = constant_value(known) if not isinstance(value, np.ndarray) else value
        self._L = known if number is None else np.asarray(number, float)

    def prior_linearized(self, X: TensorLike) -> tuple[Node, Node]:
        """Basis functions at X, shape (n, m*), and the standard deviations of their coefficients, shape (m*,).

        f(X) = mean(X) + phi @ (beta * sqrt_psd), beta standard normal. The box is that of the first X, by the values
        that its data have now: data exchanged later keep it. Beyond it the functions only repeat themselves: known
        inputs there raise ParameterError, and for data with such values f is NaN.
        """
        inputs = points(X)
        columns = _columns(self.cov_func, inputs)
        if self._middle is None:
            self._middle = [_middle(x) for x in columns]
        centred = pt.stack([x - middle for x, middle in zip(columns, self._middle, strict=True)], axis=1)
        if self._L is None:
            assert self._c is not None
            ends = [_now(pt.max(pt.abs(centred[:, axis]))) for axis in range(len(columns))]
            self.L = [
                float(np.asarray(positive(c * end, "half of the range of X", "HSGP").eval()))
                for c, end in zip(self._c, ends, strict=True)
            ]
        centred = self._within_box(centred)
        eigenvalues = calc_eigenvalues(self._L, self.m, self.boundary)
        phi = calc_eigenvectors(centred, self._L, eigenvalues, self.m, self.boundary)
        density = self.cov_func.power_spectral_density(pt.sqrt(eigenvalues))
        first = int(self._drop_first)
        return phi[:, first:], pt.sqrt(density[first:])

    def _within_box(self, centred: Node) -> Node:
        """Inputs less their middle, shape (n, active dims): data beyond the box are NaN, known values an error."""
        leaves = topological([centred, pt.as_tensor(self._L)])
        if any(isinstance(node.op, RandomVariable | Input) for node in leaves):
            return centred
        half, middle = np.asarray(_values_now(self._L), float), np.array(self._middle)
        outside = pt.abs(centred) > half * (1.0 + 1e-9)
        box = ", ".join(f"{low:.6g} to {high:.6g}" for low, high in zip(middle - half, middle + half, strict=True))
        message = f"HSGP: inputs lie outside the box, which is {box}; a greater `c` or `L` makes room for them."
        if any(isinstance(node.op, Shared) for node in leaves):
            return pt.where(outside, np.nan, centred)
        beyond = np.flatnonzero(_values_now(pt.any(outside, axis=1)))
        if len(beyond):
            first = (np.asarray(_values_now(centred))[beyond[0]] + middle).tolist()
            raise ParameterError(f"{message} The first of {len(beyond)} is {first}.")
        return centred

    def prior(self, name: str, X: TensorLike, dims: Any = None, hsgp_coeffs_dims: Any = None, **unknown: Any) -> Node:
        """`f(X)`, shape (n,), computed from the coefficients `{name}_hsgp_coeffs`.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : TensorLike
            Inputs, shape (n, columns).
        dims, hsgp_coeffs_dims : object, optional
            Dims of f and of the coefficients.
        **unknown : object
            `gp_dims`, another name of `dims`.
        """
        dims = _dims(dims, unknown)
        phi, sqrt_psd = self.prior_linearized(X)
        count = self.n_basis_vectors - self._drop_first
        size = {"dims": hsgp_coeffs_dims} if hsgp_coeffs_dims is not None else {"shape": count}
        title = f"{name}_hsgp_coeffs"
        if self._centered:
            beta = Normal(title, 0.0, sqrt_psd, **size)
        else:
            beta = Normal(title, 0.0, 1.0, **size)
        self._beta, self._sqrt_psd = beta, sqrt_psd
        return Deterministic(name, self._values(phi, sqrt_psd, points(X)), dims=dims)

    def _values(self, phi: Node, sqrt_psd: Node, X: Node) -> Node:
        assert self._beta is not None
        weights = self._beta if self._centered else self._beta * sqrt_psd
        return self.mean_func(X) + pt.dot(phi, weights)

    def conditional(self, name: str, Xnew: TensorLike, dims: Any = None) -> Node:
        """`f(Xnew)`, a function of the coefficients, on the box of `prior`."""
        if self._beta is None:
            raise ModelError("HSGP: call `prior` in the model before `conditional`.")
        new = points(Xnew, "Xnew")
        phi, sqrt_psd = self.prior_linearized(new)
        return Deterministic(name, self._values(phi, sqrt_psd, new), dims=dims)


class HSGPPeriodic(GaussianProcess):
    """A periodic process of one dimension as a sum of m harmonics, exact as m grows.

    m: Number of harmonics, the constant included, >= 1.
    scale: Standard deviation of the process.
    mean_func: Mean function.
    cov_func: `pm.gp.cov.Periodic` of one column.
    See HSGP: For functions that are not periodic.
    References: Riutort-Mayol, Bürkner, Andersen, Solin, Vehtari (2023), Statistics and Computing 33, 17.
    >>> with pm.Model():
    ...     gp = pm.gp.HSGPPeriodic(m=5, scale=1.0, cov_func=pm.gp.cov.Periodic(1, period=1.0, ls=1.0))
    ...     f = gp.prior("f", X=np.linspace(0, 1, 10)[:, None])
    >>> f.type.shape
    (10,)
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

        f(X) = mean(X) + cos @ (sd * a) + sin @ (sd * b) with a and b standard normal; `scale` is in sd. (The sine of
        the constant is 0 and has no coefficient in `prior`.)
        """
        (x,) = _columns(self.cov_func, points(X))
        if self._middle is None:
            self._middle = _middle(x)
        basis = calc_basis_periodic((x - self._middle)[:, None], self.periodic.period, self.m, pt)
        variances = self.periodic.power_spectral_density_approx(np.arange(float(self.m)))
        return basis, self.scale * pt.sqrt(variances)

    def prior(self, name: str, X: TensorLike, dims: Any = None, hsgp_coeffs_dims: Any = None, **unknown: Any) -> Node:
        """`f(X)`, shape (n,), computed from 2 m - 1 coefficients `{name}_hsgp_coeffs_`; dims of both may be given."""
        dims = _dims(dims, unknown)
        self.prior_linearized(X)
        size = {"dims": hsgp_coeffs_dims} if hsgp_coeffs_dims is not None else {"shape": 2 * self.m - 1}
        self._beta = Normal(f"{name}_hsgp_coeffs_", 0.0, 1.0, **size)
        return self.conditional(name, X, dims)

    def conditional(self, name: str, Xnew: TensorLike, dims: Any = None) -> Node:
        """`f(Xnew)`, a function of the coefficients."""
        if self._beta is None:
            raise ModelError("HSGPPeriodic: call `prior` in the model before `conditional`.")
        (cosines, sines), spread = self.prior_linearized(Xnew)
        even = pt.dot(cosines, spread * self._beta[: self.m])
        odd = pt.dot(sines[:, 1:], spread[1:] * self._beta[self.m :])
        return Deterministic(name, self.mean_func(Xnew) + even + odd, dims=dims)


def _dims(dims: Any, others: dict[str, Any]) -> Any:
    """Dims of the process, which some releases of PyMC call `gp_dims`; TypeError for other keywords, and for both."""
    for name in others:
        if name != "gp_dims":
            raise TypeError(f"`prior` takes name, X, dims (or gp_dims) and hsgp_coeffs_dims, got `{name}`.")
    given = others.get("gp_dims")
    if dims is not None and given is not None:
        raise TypeError(
            f"`prior`: `dims` and `gp_dims` are names of one argument; got {dims!r} and {given!r}. Give one."
        )
    return dims if given is None else given


def _values_now(value: Any) -> Any:
    """The present value of a function of data. ParameterError where it depends on variables of a model."""
    if not isinstance(value, Node):
        return value
    if any(isinstance(node.op, RandomVariable | Input) for node in topological([value])):
        raise ParameterError("the box of a basis follows from data; X depends on variables: use `Latent`.")
    return value.eval()


def _now(value: Node) -> float:
    return float(_values_now(value))


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
    """Least m and c for HSGP of one column, for lengthscales in a range, by the rules of Riutort-Mayol et al. (2023).

    x_range: Least and largest input.
    lengthscale_range: Least and largest lengthscale > 0.
    cov_func: "expquad", "matern52" or "matern32".
    Returns: Both numbers, `m` and `c`, for `HSGP`.
    See HSGP: A process as a sum of products of sines or cosines on a box.
    See Latent: A process f of mean and covariance functions.
    >>> pm.gp.approx_hsgp_hyperparams([0.0, 10.0], [1.0, 3.0], "matern52")[0]
    32
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


load_on_use(__name__, {}, public=True)
