"""Covariance functions that depend on where points are: constants, noise, polynomials, warped and scaled ones.

Inputs of shape (n, columns) in, covariance matrices as graphs out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError
from consilience.gp.covariance import BaseCovariance, Covariance, Function, positive
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.tensor import TensorLike


class ConstantCovariance(BaseCovariance):
    """The constant c >= 0.

    c: Constant value.
    See WhiteNoise: Variance sigma^2 for a point with itself.
    >>> pm.gp.cov.Constant(2.0)([[1.0], [2.0]]).eval().round(4).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    def __init__(self, c: TensorLike) -> None:
        self.c = positive(c, "c", "Constant", zero=True)

    def diag(self, X: Node) -> Node:
        return self.c * pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return self.c * pt.ones_like(X[:, 0][:, None] * (X if Xs is None else Xs)[:, 0][None, :])


class WhiteNoise(BaseCovariance):
    """Variance sigma^2 for a point with itself, 0 for others, those of `Xs` included.

    sigma: Standard deviation >= 0.
    See Constant: The constant c >= 0.
    >>> pm.gp.cov.WhiteNoise(2.0)([[1.0], [2.0]]).eval().round(4).tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """

    def __init__(self, sigma: TensorLike) -> None:
        self.sigma = positive(sigma, "sigma", "WhiteNoise", zero=True)

    def diag(self, X: Node) -> Node:
        return pt.square(self.sigma) * pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        if Xs is None:
            return pt.diag(self.diag(X))
        return pt.zeros_like(X[:, 0][:, None] * Xs[:, 0][None, :])


class LinearCovariance(Covariance):
    """Sum (x - c) (x' - c) over the active columns.

    input_dim : ...
    c: Centre, one number or one for each active column.
    active_dims : ...
    See Polynomial: Powers of a linear function.
    >>> pm.gp.cov.Linear(1, c=0.0)([[1.0], [2.0]]).eval().round(4).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    def __init__(self, input_dim: int, c: TensorLike, active_dims: Sequence[int] | None = None) -> None:
        super().__init__(input_dim, active_dims)
        self.c = pt.as_tensor(c)

    def _centred(self, X: Node) -> Node:
        return self.sliced(X) - self.c

    def diag(self, X: Node) -> Node:
        return pt.sum(pt.square(self._centred(X)), axis=1)

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        left = self._centred(X)
        return pt.matmul(left, pt.matrix_transpose(left if Xs is None else self._centred(Xs)))


class Polynomial(LinearCovariance):
    """(sum (x - c) (x' - c) + offset)^d.

    input_dim : ...
    c: Centre, one number or one for each active column.
    d: Degree, the exponent.
    offset: Number that is added before the power is taken.
    active_dims : ...
    See Linear: Sum (x - c) (x' - c) over the active columns.

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapter 4.

    >>> pm.gp.cov.Polynomial(1, c=0.0, d=2, offset=1.0)([[1.0], [2.0]]).eval().round(4).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """

    def __init__(
        self,
        input_dim: int,
        c: TensorLike,
        d: TensorLike,
        offset: TensorLike,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, c, active_dims)
        self.d = pt.as_tensor(d)
        self.offset = positive(offset, "offset", "Polynomial", zero=True)

    def diag(self, X: Node) -> Node:
        return (super().diag(X) + self.offset) ** self.d

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return (super().full(X, Xs) + self.offset) ** self.d


def _checked(function: Function, name: str, owner: str) -> Function:
    if not callable(function):
        raise ParameterError(f"{owner}: {name} must be a function of the inputs, got {function!r}.")
    return function


def _covariance(given: BaseCovariance, owner: str) -> BaseCovariance:
    if not isinstance(given, BaseCovariance):
        raise ParameterError(f"{owner}: cov_func must be a covariance function of `pm.gp.cov`, got {given!r}.")
    return given


class WarpedInput(Covariance):
    """`cov_func` at `warp_func(X, *args)`.

    input_dim : ...
    cov_func: Covariance function.
    warp_func: (n, active dims) and `args` -> the inputs of `cov_func`, a matrix of n rows.
    args: Arguments that the function takes behind the inputs.
    active_dims : ...
    See ScaledCov: Varies the amplitude.
    >>> k = pm.gp.cov.WarpedInput(1, pm.gp.cov.ExpQuad(1, 1.0), lambda x: x**2)
    >>> k([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    def __init__(
        self,
        input_dim: int,
        cov_func: BaseCovariance,
        warp_func: Function,
        args: Any = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, active_dims)
        self.cov_func, self.args = _covariance(cov_func, type(self).__name__), _arguments(args)
        self.w = _checked(warp_func, "warp_func", "WarpedInput")

    def _warped(self, X: Node) -> Node:
        found = pt.as_tensor(self.w(self.sliced(X), *self.args))
        if found.ndim != 2:
            raise ShapeError(f"WarpedInput: warp_func must give a matrix of one row per point, got {describe(found)}.")
        return found

    def diag(self, X: Node) -> Node:
        return self.cov_func.diag(self._warped(X))

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        return self.cov_func.full(self._warped(X), None if Xs is None else self._warped(Xs))


class ScaledCov(Covariance):
    """`scaling_func(x) cov_func(x, x') scaling_func(x')`.

    input_dim : ...
    cov_func: Covariance function.
    scaling_func: (n, active dims) and `args` -> n numbers, as a vector or one column.
    args: Arguments that the function takes behind the inputs.
    active_dims : ...
    See WarpedInput: Varies the inputs.
    >>> k = pm.gp.cov.ScaledCov(1, pm.gp.cov.Constant(1.0), lambda x: 1.0 + x)
    >>> k([[0.0], [1.0]]).eval().tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    def __init__(
        self,
        input_dim: int,
        cov_func: BaseCovariance,
        scaling_func: Function,
        args: Any = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, active_dims)
        self.cov_func, self.args = _covariance(cov_func, type(self).__name__), _arguments(args)
        self.scaling_func = _checked(scaling_func, "scaling_func", "ScaledCov")

    def _scale(self, X: Node) -> Node:
        return _vector(self.scaling_func(self.sliced(X), *self.args), X, "ScaledCov: scaling_func")

    def diag(self, X: Node) -> Node:
        return pt.square(self._scale(X)) * self.cov_func.diag(X)

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        left = self._scale(X)
        right = left if Xs is None else self._scale(Xs)
        return left[:, None] * self.cov_func.full(X, Xs) * right[None, :]


class Gibbs(Covariance):
    """`sqrt(2 l l' / (l^2 + l'^2)) exp(-(x - x')^2 / (l^2 + l'^2))`, with l = lengthscale_func(x) > 0; one column.

    input_dim : ...
    lengthscale_func: (n, 1) and `args` -> n lengthscales, as a vector or one column.
    args: Arguments that the function takes behind the inputs.
    active_dims : ...
    See WarpedInput: Another way to vary a lengthscale.

    References
    ----------
    Gibbs: Bayesian Gaussian Processes for Regression and Classification, thesis, Cambridge (1997).

    >>> k = pm.gp.cov.Gibbs(1, lambda x: 1.0 + x**2)
    >>> k([[0.0], [1.0]]).eval().round(4).tolist()
    [[1.0, 0.7323], [0.7323, 1.0]]
    """

    def __init__(
        self,
        input_dim: int,
        lengthscale_func: Function,
        args: Any = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, active_dims)
        if self.n_dims != 1:
            raise ParameterError(f"Gibbs reads one column, got active_dims {list(self.active_dims)}.")
        self.args = _arguments(args)
        self.lfunc = _checked(lengthscale_func, "lengthscale_func", "Gibbs")

    def diag(self, X: Node) -> Node:
        return pt.ones_like(X[:, 0])

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        (difference,) = self.differences(X, Xs)
        left = self._lengthscale(X)[:, None]
        right = left[:, 0][None, :] if Xs is None else self._lengthscale(Xs)[None, :]
        squares = pt.square(left) + pt.square(right)
        return pt.sqrt(2.0 * left * right / squares) * pt.exp(-pt.square(difference) / squares)

    def _lengthscale(self, X: Node) -> Node:
        return _vector(self.lfunc(self.sliced(X), *self.args), X, "Gibbs: lengthscale_func")


class Coregion(Covariance):
    """Covariances of outputs, B = W W' + diag(kappa), read at the whole numbers in one column.

    input_dim : ...
    W: Loadings of the common parts, shape (outputs, rank).
    kappa: Variances >= 0 of the outputs' own parts, shape (outputs,).
    B: Shape (outputs, outputs), in place of both.
    active_dims : ...
    See Kron: With a covariance of the inputs, on a grid.

    References
    ----------
    Bonilla, Chai, Williams: Multi-task Gaussian Process Prediction (2007).

    >>> k = pm.gp.cov.Coregion(1, W=[[1.0], [2.0]], kappa=[0.5, 0.5])
    >>> k([[0], [1]]).eval().tolist()
    [[1.5, 2.0], [2.0, 4.5]]
    """

    def __init__(
        self,
        input_dim: int,
        W: TensorLike | None = None,
        kappa: TensorLike | None = None,
        B: TensorLike | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(input_dim, active_dims)
        if self.n_dims != 1:
            raise ParameterError(f"Coregion reads one column, got active_dims {list(self.active_dims)}.")
        if (B is None) == (W is None) or (kappa is None) != (W is None):
            raise ParameterError("Coregion needs `W` and `kappa`, or `B`.")
        if B is not None:
            self.B = pt.as_tensor(B)
        else:
            assert W is not None
            assert kappa is not None
            weights = pt.as_tensor(W)
            own = positive(kappa, "kappa", "Coregion", zero=True)
            self.B = pt.matmul(weights, pt.matrix_transpose(weights)) + pt.diag(own)
        if self.B.ndim != 2:
            raise ShapeError(f"Coregion: B must be a matrix, got {describe(self.B)}.")

    def _outputs(self, X: Node) -> Node:
        return self.columns(X)[0].astype("int64")

    def diag(self, X: Node) -> Node:
        return pt.diagonal(self.B)[self._outputs(X)]

    def full(self, X: Node, Xs: Node | None = None) -> Node:
        rows = self._outputs(X)
        columns = rows if Xs is None else self._outputs(Xs)
        return self.B[rows[:, None], columns[None, :]]


def _arguments(args: Any) -> tuple[Any, ...]:
    return () if args is None else tuple(args) if isinstance(args, list | tuple) else (args,)


def _vector(found: TensorLike, X: Node, what: str) -> Node:
    """One number per point; a number stands for equal ones."""
    node = pt.as_tensor(found)
    node = node[:, 0] if node.ndim == 2 else node
    if node.ndim > 1:
        raise ShapeError(f"{what} must give one number per point, got {describe(node)}.")
    return node + pt.zeros_like(X[:, 0])
