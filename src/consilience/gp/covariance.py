"""Covariance functions: what they are, which columns of the inputs they read, and their sums, products and powers.

Inputs of shape (n, columns) in, covariance matrices as graphs out. Particular functions have files of their own.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

import consilience.tensor as pt
from consilience.errors import GraphError, ParameterError, ShapeError, warn
from consilience.ir import Node, constant_value
from consilience.ir.side_tables import describe
from consilience.model.keywords import naming
from consilience.tensor import TensorLike

Function: TypeAlias = Callable[..., TensorLike]


def points(X: TensorLike, name: str = "X") -> Node:
    """Inputs as float64[n, columns]. ShapeError for anything but a matrix."""
    node = X if isinstance(X, Node) else pt.as_tensor(np.asarray(X, dtype=np.float64))
    node = node if node.dtype == "float64" else node.astype("float64")
    if node.ndim != 2:
        remedy = f"; write `{name}[:, None]` for one column" if node.ndim == 1 else ""
        raise ShapeError(f"{name} must be a matrix with one row per point, got {describe(node)}{remedy}.")
    return node


def positive(value: TensorLike, name: str, owner: str, zero: bool = False) -> Node:
    """A parameter as float64. ParameterError for constants that are not positive (or zero where `zero`)."""
    node = pt.as_tensor(value)
    node = node if node.dtype == "float64" else node.astype("float64")
    known = constant_value(node)
    if known is not None:
        numbers = np.asarray(known)
        wrong = ~(numbers >= 0.0 if zero else numbers > 0.0) | ~np.isfinite(numbers)
        if wrong.any():
            needed = "finite and at least 0" if zero else "finite and above 0"
            raise ParameterError(f"{owner}: {name} must be {needed}, got {numbers[wrong].flat[0]}.")
    return node


def _of_points(method: Callable[..., Node]) -> Callable[..., Node]:
    """A method of nodes as one of arrays, too."""

    @functools.wraps(method)
    def taking(self: Any, X: TensorLike, *more: Any, **named: Any) -> Node:
        Xs = [None if one is None else points(one, "Xs") for one in more]
        named = {name: None if one is None else points(one, name) for name, one in named.items()}
        return method(self, points(X), *Xs, **named)

    return taking


_taking = naming(
    dict.fromkeys(("lengthscale", "lengthscales", "length_scale", "lenghtscale"), "lengthscales are `ls`.")
)


class BaseCovariance:
    """A covariance function of points, which is called with them.

    See Covariance: Of some columns of the inputs.
    See Stationary: Of the distance.

    Notes
    -----
    `cov(X)` is the covariance matrix of the rows of X, shape (n, n); `cov(X, Xs)` are covariances of the rows of X and
    those of Xs, shape (n, m); `cov(X, diag=True)` are the variances of the rows of X, shape (n,).

    `a + b`, `a * b`, `a**number` combine; numbers, arrays and covariance matrices may stand on either side.

    >>> k = 2.0 * pm.gp.cov.ExpQuad(1, 1.0) + pm.gp.cov.WhiteNoise(0.1)
    >>> isinstance(k, pm.gp.cov.BaseCovariance), k([[0.0]]).eval().round(4).tolist()
    (True, [[2.01]])
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _taking(vars(cls)["__init__"]))  # noqa: B010  # as type checkers refuse the other
        for name in ("diag", "full", "square_dist", "euclidean_dist"):
            if name in vars(cls):
                setattr(cls, name, _of_points(vars(cls)[name]))

    def __call__(self, X: TensorLike, Xs: TensorLike | None = None, diag: bool = False) -> Node:
        if diag:
            return self.diag(points(X))
        return self.full(points(X), None if Xs is None else points(Xs, "Xs"))

    def diag(self, X: Node) -> Node:
        """Variances of the rows of X, shape (n,)."""
        raise NotImplementedError

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        """Covariances of the rows of X with those of Xs, or with each other."""
        raise NotImplementedError

    def power_spectral_density(self, omega: TensorLike) -> Node:
        """Spectral density at angular frequencies, shape (m, active dims) to (m,). Raises GraphError without one."""
        raise GraphError(
            f"{type(self).__name__} has no power spectral density here, which HSGP needs; ExpQuad, RatQuad, Matern12, "
            "Matern32, Matern52, Exponential, their sums and multiples have one, and Periodic goes with HSGPPeriodic."
        )

    def __add__(self, other: Any) -> BaseCovariance:
        return Add([self, other])

    def __radd__(self, other: Any) -> BaseCovariance:
        return self if isinstance(other, int) and other == 0 else Add([other, self])

    def __mul__(self, other: Any) -> BaseCovariance:
        return Prod([self, other])

    def __rmul__(self, other: Any) -> BaseCovariance:
        return Prod([other, self])

    def __pow__(self, power: float) -> BaseCovariance:
        return Exponentiated(self, power)

    __array_ufunc__ = None  # NumPy arrays leave `array * cov` to `__rmul__`
    __array_priority__ = 1000.0


class Covariance(BaseCovariance):
    """A covariance function of some columns of the inputs.

    input_dim : ...
    active_dims: The columns that are read; the first `input_dim` for None.
    See BaseCovariance: Of any inputs.
    >>> k = pm.gp.cov.ExpQuad(2, 1.0, active_dims=[1])
    >>> isinstance(k, pm.gp.cov.Covariance), k([[0.0, 1.0], [5.0, 1.0]]).eval().tolist()
    (True, [[1.0, 1.0], [1.0, 1.0]])
    """

    def __init__(self, input_dim: int, active_dims: Sequence[int] | None = None) -> None:
        if isinstance(input_dim, bool) or not isinstance(input_dim, int | np.integer) or not 1 <= input_dim < 2**31:
            said = f"{type(self).__name__}: input_dim must be an integer >= 1"
            raise ParameterError(f"{said}, the number of columns of X, got {input_dim!r}.")
        self.input_dim = int(input_dim)
        chosen = range(self.input_dim) if active_dims is None else active_dims
        try:
            self.active_dims = tuple(int(column) for column in chosen)
        except Exception:
            said = f"{type(self).__name__}: active_dims must be numbers of columns"
            raise ParameterError(f"{said}, got {active_dims!r}.") from None
        if any(not 0 <= column < self.input_dim for column in self.active_dims) or not self.active_dims:
            raise ShapeError(
                f"{type(self).__name__}: active_dims {list(self.active_dims)} must be columns from 0 to "
                f"{self.input_dim - 1}, as input_dim is {self.input_dim}."
            )

    @property
    def n_dims(self) -> int:
        """Number of columns that are read."""
        return len(self.active_dims)

    def columns(self, X: Node) -> list[Node]:
        """The columns that are read, each float64[n]. ShapeError where X has too few, a warning where it has more."""
        found = X.static_shape[1]
        if isinstance(found, int) and found != self.input_dim:
            said = f"{type(self).__name__} was made with input_dim={self.input_dim}, and X has {found} columns"
            if max(self.active_dims) >= found:
                raise ShapeError(f"{said}; column {max(self.active_dims)} is not there.")
            warn(f"{said}; columns {list(self.active_dims)} are used.")
        return [X[:, column] for column in self.active_dims]

    def sliced(self, X: Node) -> Node:
        """The columns that are read, shape (n, active dims)."""
        return pt.stack(self.columns(X), axis=1)

    def differences(self, X: Node, Xs: Node | None) -> list[Node]:
        """`x - x'` for each column that is read, each of shape (n, m)."""
        left = self.columns(X)
        right = left if Xs is None else self.columns(Xs)
        return [a[:, None] - b[None, :] for a, b in zip(left, right, strict=True)]

    def per_dim(self, value: TensorLike, name: str, zero: bool = False) -> list[Node]:
        """A parameter of each column from one for all, or a vector of one each."""
        node = positive(value, name, type(self).__name__, zero)
        if node.ndim == 0 or (node.ndim == 1 and node.static_shape[0] == 1):
            return [node if node.ndim == 0 else node[0]] * self.n_dims
        length = node.static_shape[0]
        if node.ndim != 1 or (isinstance(length, int) and length != self.n_dims):
            raise ShapeError(
                f"{type(self).__name__}: {name} must be a number or {self.n_dims} numbers, one for each of the columns "
                f"{list(self.active_dims)}, got {describe(node)}."
            )
        return [node[place] for place in range(self.n_dims)]


class Combination(BaseCovariance):
    """Several covariance functions, numbers and matrices together.

    factor_list : ...
    See Add: Sums.
    See Prod: Products.
    >>> k = pm.gp.cov.ExpQuad(1, 1.0) + pm.gp.cov.Constant(2.0)
    >>> isinstance(k, pm.gp.cov.Combination), k([[0.0]]).eval().tolist()
    (True, [[3.0]])
    """

    def __init__(self, factor_list: Sequence[Any]) -> None:
        self.factors: list[BaseCovariance | Node] = []
        for factor in factor_list:
            one = factor if isinstance(factor, BaseCovariance) else pt.as_tensor(factor)
            if isinstance(one, Node) and one.ndim not in (0, 2):
                raise ShapeError(
                    f"a covariance function is combined with numbers and matrices, got {describe(one)}; "
                    "`pm.gp.cov.ScaledCov` scales by a function of the inputs."
                )
            self.factors += one.factors if isinstance(one, Combination) and type(one) is type(self) else [one]
        dims = {cov.input_dim for cov in self.covariances if hasattr(cov, "input_dim")}
        if dims:
            self.input_dim = max(dims)

    @property
    def covariances(self) -> list[BaseCovariance]:
        """The members that are functions."""
        return [factor for factor in self.factors if isinstance(factor, BaseCovariance)]

    @property
    def active_dims(self) -> tuple[int, ...]:
        """Columns that any member reads."""
        return tuple(sorted({column for cov in self.covariances for column in getattr(cov, "active_dims", ())}))

    @property
    def n_dims(self) -> int:
        """Number of columns that are read."""
        return len(self.active_dims)

    def sliced(self, X: Node) -> Node:
        """The columns that are read, shape (n, active dims)."""
        own = {own for cov in self.covariances if (own := tuple(getattr(cov, "active_dims", ())))}
        if len(own) != 1:
            raise ShapeError(f"all members must read the same columns for this, got {sorted(own)}.")
        return pt.stack([X[:, column] for column in self.active_dims], axis=1)

    def _diagonals(self, X: Node) -> list[Node]:
        return [
            factor.diag(X) if isinstance(factor, BaseCovariance) else pt.diagonal(factor) if factor.ndim else factor
            for factor in self.factors
        ]

    def _matrices(self, X: Node, Xs: Node | None) -> list[Node]:
        return [factor.full(X, Xs) if isinstance(factor, BaseCovariance) else factor for factor in self.factors]

    def _spectra(self, omega: TensorLike) -> list[Node]:
        return [
            factor.power_spectral_density(omega) if isinstance(factor, BaseCovariance) else factor
            for factor in self.factors
        ]


class Add(Combination):
    """Sum of covariance functions.

    factor_list : ...
    See Prod: Product of covariance functions.
    >>> sum_ = pm.gp.cov.ExpQuad(1, ls=1.0) + pm.gp.cov.WhiteNoise(1.0)
    >>> sum_([[0.0], [1.0]]).eval().round(4).tolist()
    [[2.0, 0.6065], [0.6065, 2.0]]
    """

    def diag(self, X: Node) -> Node:
        return total(self._diagonals(X)) + pt.zeros_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return total(self._matrices(X, Xs))

    def power_spectral_density(self, omega: TensorLike) -> Node:
        if len(self.covariances) < len(self.factors):
            raise GraphError("a constant added to a covariance function has no spectral density; add it to the mean.")
        return total(self._spectra(omega))


class Prod(Combination):
    """Product of covariance functions, elementwise.

    factor_list : ...
    See Add: Sum of covariance functions.
    >>> product = pm.gp.cov.ExpQuad(1, ls=1.0) * 2.0
    >>> product([[0.0], [1.0]]).eval().round(4).tolist()
    [[2.0, 1.2131], [1.2131, 2.0]]
    """

    def diag(self, X: Node) -> Node:
        return product(self._diagonals(X)) * pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return product(self._matrices(X, Xs))

    def power_spectral_density(self, omega: TensorLike) -> Node:
        if len(self.covariances) > 1 or any(isinstance(f, Node) and f.ndim for f in self.factors):
            raise GraphError("a product has a spectral density here only if it is one covariance function by numbers.")
        return product(self._spectra(omega))


class Exponentiated(BaseCovariance):
    """A covariance function to a positive whole power, elementwise.

    kernel: Covariance function.
    power (float): Exponent, a positive number.
    See Prod: The product of different ones.
    >>> k = pm.gp.cov.Constant(3.0) ** 2
    >>> k([[0.0]]).eval().tolist()
    [[9.0]]
    """

    def __init__(self, kernel: BaseCovariance, power: TensorLike) -> None:
        known = constant_value(power) if isinstance(power, Node) else power
        value = np.asarray(0 if known is None else known)
        value = value.reshape(()) if value.size == 1 else value
        if value.ndim or value.dtype.kind not in "iuf" or value < 1 or value != np.round(value):
            raise ParameterError(
                f"a covariance function can be raised to a whole number >= 1, got {power!r}; other powers are no "
                "covariance functions in general."
            )
        self.kernel, self.power = kernel, int(value)
        for name in ("input_dim", "active_dims"):
            if hasattr(kernel, name):
                setattr(self, name, getattr(kernel, name))

    def diag(self, X: Node) -> Node:
        return self.kernel.diag(X) ** self.power

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return self.kernel.full(X, Xs) ** self.power


class KroneckerCovariance(BaseCovariance):
    """Kronecker product of covariance functions, each of the next `input_dim` columns of a full grid of points.

    factor_list: Covariance functions; the points are all combinations, those of the last running fastest.
    See LatentKron: Processes on a grid.
    >>> k = pm.gp.cov.Kron([pm.gp.cov.ExpQuad(1, 1.0), pm.gp.cov.ExpQuad(1, 1.0)])
    >>> k([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).eval().round(3)[0].tolist()
    [1.0, 0.607, 0.607, 0.368]
    """

    def __init__(self, factor_list: Sequence[Covariance]) -> None:
        self.factors = list(factor_list)
        self.input_dims = [factor.input_dim for factor in self.factors]
        self.input_dim = sum(self.input_dims)

    def _parts(self, X: Node) -> list[Node]:
        ends = np.cumsum(self.input_dims)
        return [X[:, int(end) - own : int(end)] for own, end in zip(self.input_dims, ends, strict=True)]

    def diag(self, X: Node) -> Node:
        return product([factor.diag(part) for factor, part in zip(self.factors, self._parts(X), strict=True)])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        left = self._parts(X)
        right = [None] * len(left) if Xs is None else self._parts(Xs)
        # Rows are points of the whole grid, so that the product of the factors at them is the Kronecker product.
        return product([factor.full(a, b) for factor, a, b in zip(self.factors, left, right, strict=True)])


def total(nodes: Sequence[Any]) -> Node:
    """Sum of several tensors and numbers."""
    found: Node = functools.reduce(operator.add, nodes)
    return found


def product(nodes: Sequence[Any]) -> Node:
    """Product of several tensors and numbers."""
    found: Node = functools.reduce(operator.mul, nodes)
    return found
