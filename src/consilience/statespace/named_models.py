"""Models by name as state spaces: seasonal ARIMA, vector ARMA, dynamic factors; exponential smoothing is beside.

In: orders. Out: a `StateSpace` with parameters under pymc-extras' names and statsmodels' meaning.
Source: A. C. Harvey (1989).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions import HalfNormal, LKJCholeskyCov, Normal
from consilience.errors import ParameterError
from consilience.ir import Node, constant
from consilience.model.model import Deterministic
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import index_set
from consilience.ops.linalg import matmul
from consilience.ops.shape import concatenate, expand_dims, full, reshape
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix
from consilience.statespace import priors
from consilience.statespace.components import autoregression
from consilience.statespace.model import SpaceParameter, StateSpace

Array = npt.NDArray[Any]
Values = Mapping[str, Node]


def _whole(title: str, name: str, order: Sequence[int], count: int) -> tuple[int, ...]:
    found = tuple(order)
    if len(found) != count or any(not isinstance(k, int | np.integer) or k < 0 for k in found):
        raise ParameterError(f"{title}: {name} must be {count} whole numbers >= 0, got {order!r}.")
    return tuple(int(k) for k in found)


def _names(title: str, what: str, given: Sequence[str]) -> tuple[str, ...]:
    found = tuple(given)
    if isinstance(given, str) or any(not isinstance(name, str) for name in found):
        raise ParameterError(f"{title}: {what} must be names of series, got {given!r}.")
    return found


def _polynomial(coefficients: Node | None, count: int, step: int, sign: float) -> list[Node | float]:
    """1 + sign * (c_1 L^step + c_2 L^(2 step) + …), by powers of L."""
    found: list[Node | float] = [1.0, *[0.0] * (count * step)]
    for k in range(count):
        assert coefficients is not None
        found[(k + 1) * step] = sign * coefficients[k]
    return found


def _multiplied(a: list[Node | float], b: list[Node | float]) -> list[Node | float]:
    """The product of two polynomials; what is 0 stays a number."""
    found: list[Any] = [0.0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if not (isinstance(x, float) and x == 0.0) and not (isinstance(y, float) and y == 0.0):
                product = y if isinstance(x, float) and x == 1.0 else x if isinstance(y, float) and y == 1.0 else x * y
                own = found[i + j]
                found[i + j] = product if isinstance(own, float) and own == 0.0 else own + product
    return found


def vector(entries: Sequence[Node | float]) -> Node:
    """Numbers and expressions as a vector."""
    found = as_tensor(np.array([x if isinstance(x, float) else 0.0 for x in entries]))
    for k, x in enumerate(entries):
        if not isinstance(x, float):
            found = index_set(found[k], x)
    return found


class SARIMAX(StateSpace):
    """Seasonal ARIMA with regressors: an ARMA process of the differences, whose first values are diffuse.

    order (tuple of (int, int, int)): Autoregressive order, differences, and order of the moving average.
    seasonal_order (tuple of (int, int, int, int)): The same for lags of a season, and the length of a season; None: no
        season.
    trend ({"n", "c"}): "c" has an intercept of the differenced series, `intercept`.
    exog_state_names: Names of the columns of `exog`, whose coefficients are `beta_exog`.
    measurement_error: Whether observations have noise of their own, `sigma_obs`.
    See VARMAX: Vector ARMA of several series.
    Notes: Parameters are `ar_params`, `ma_params`, `seasonal_ar_params`, `seasonal_ma_params` and `sigma_state`. By
        default coefficients are stationary and invertible: partial autocorrelations are uniform from -1 to 1.
    >>> pm.statespace.SARIMAX((1, 1, 0)).param_names
    ['ar_params', 'sigma_state']
    """

    title = "SARIMAX"

    def __init__(
        self,
        order: Sequence[int],
        seasonal_order: Sequence[int] | None = (0, 0, 0, 0),
        trend: str = "n",
        exog_state_names: Sequence[str] = (),
        measurement_error: bool = False,
    ) -> None:
        super().__init__()
        self.p, self.d, self.q = _whole(self.title, "order", order, 3)
        self.P, self.D, self.Q, self.S = _whole(self.title, "seasonal_order", seasonal_order or (0, 0, 0, 0), 4)
        if (self.P or self.D or self.Q) and self.S < 2:
            raise ParameterError(f"SARIMAX: seasonal_order needs the length of a season, at least 2, got {self.S}.")
        if trend not in ("n", "c"):
            raise ParameterError(f"SARIMAX: trend is 'n' or 'c', got {trend!r}.")
        self.trend, self.exog_names, self.measurement_error = trend, tuple(exog_state_names), measurement_error
        difference = _multiplied(_difference(1, self.d), _difference(self.S, self.D))
        self._lags = [-float(x) for x in difference[1:]]  # y_t = w_t + sum of these times y of the times before
        self._size = max(self.p + self.P * self.S, self.q + self.Q * self.S + 1)

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        found = []
        for name, count, sign in (
            ("ar_params", self.p, 1.0),
            ("seasonal_ar_params", self.P, 1.0),
            ("ma_params", self.q, -1.0),
            ("seasonal_ma_params", self.Q, -1.0),
        ):
            if count:
                labels = tuple(f"lag_{(k + 1) * (self.S if 'seasonal' in name else 1)}" for k in range(count))
                found.append(SpaceParameter(name, priors.stationary(sign), labels))
        if self.trend == "c":
            found.append(SpaceParameter("intercept", _of_scale))
        if self.exog_names:
            found.append(SpaceParameter("beta_exog", _of_scale, self.exog_names))
        found.append(SpaceParameter("sigma_state", priors.deviation()))
        if self.measurement_error:
            found.append(SpaceParameter("sigma_obs", priors.deviation(0.5)))
        return tuple(found)

    @property
    def state_names(self) -> tuple[str, ...]:
        lags = tuple(f"data_lag{k + 1}" for k in range(len(self._lags)))
        return lags + tuple(f"arma_{k}" for k in range(self._size))

    @property
    def shock_names(self) -> tuple[str, ...]:
        return ("innovation",)

    def arguments(self, values: Values, exog: Array | None) -> dict[str, Any]:
        K, size = len(self._lags), self._size
        ar = _multiplied(
            _polynomial(values.get("ar_params"), self.p, 1, -1.0),
            _polynomial(values.get("seasonal_ar_params"), self.P, self.S, -1.0),
        )
        ma = _multiplied(
            _polynomial(values.get("ma_params"), self.q, 1, 1.0),
            _polynomial(values.get("seasonal_ma_params"), self.Q, self.S, 1.0),
        )
        T = np.zeros((K + size, K + size))
        T[1:K, : max(0, K - 1)] = np.eye(max(0, K - 1))
        if K:
            T[0, :K], T[0, K] = self._lags, 1.0
        T[K:, K:] = np.eye(size, k=1)
        column = vector([-x for x in ar[1:]] + [0.0] * (size - len(ar) + 1))
        selection = concatenate([full((K,), 0.0), vector([*ma, *[0.0] * (size - len(ma))])], 0)
        found: dict[str, Any] = {
            "T": index_set(as_tensor(T)[K:, K], column),
            "Z": np.array([[*self._lags, 1.0, *[0.0] * (size - 1)]]),
            "R": expand_dims(selection, 1),
            "Q": reshape(values["sigma_state"] ** 2, (1, 1)),
            "H": reshape(values["sigma_obs"] ** 2, (1, 1)) if self.measurement_error else np.zeros((1, 1)),
            "initial": ["diffuse"] * K + ["stationary"] * size,
        }
        if self.trend == "c":
            unit = constant(np.eye(K + size)[K])
            found["c"] = values["intercept"] * unit
        if exog is not None:
            found |= {"d": matmul(constant(exog), expand_dims(values["beta_exog"], 1)), "varying": ("d",)}
        return found


def _difference(step: int, count: int) -> list[Node | float]:
    """(1 - L^step)^count."""
    found: list[Node | float] = [1.0]
    for _ in range(count):
        found = _multiplied(found, [1.0, *[0.0] * (step - 1), -1.0])
    return found


def _of_scale(name: str, scale: float, **given: Any) -> Node:
    return Normal(name, 0.0, 2.0 * scale, **given)


class VARMAX(StateSpace):
    """Vector ARMA of several series, stationary at first.

    order (tuple of (int, int)): Orders of the autoregression and of the moving average.
    endog_names: Names of the series.
    trend ({"n", "c"}): "c" has an intercept of the states, `intercept`, as statsmodels.
    measurement_error: Whether observations have noise of their own, `sigma_obs`.
    exog_state_names: Names of the columns of `exog`, whose coefficients are `beta_exog`, shape (series, columns). The
        process is one of the deviations from the regression, as in pymc-extras and in `SARIMAX`.
    See DynamicFactor: Several series with common factors.
    Notes: Parameters are `ar_params` of shape (k, p, k), `ma_params` of shape (k, q, k) and the covariance of the
        innovations, `state_cov`, by default from standard deviations and a LKJ prior with eta = 2.
    >>> pm.statespace.VARMAX((1, 0), ["a", "b"]).param_names
    ['ar_params', 'intercept', 'state_cov']
    """

    title = "VARMAX"

    def __init__(
        self,
        order: Sequence[int],
        endog_names: Sequence[str],
        trend: str = "c",
        measurement_error: bool = False,
        exog_state_names: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.p, self.q = _whole(self.title, "order", order, 2)
        self.names = _names(self.title, "endog_names", endog_names)
        self.exog_names = _names(self.title, "exog_state_names", exog_state_names)
        if not self.p + self.q or not self.names:
            raise ParameterError("VARMAX: an order above 0 and the names of the series are needed.")
        if trend not in ("n", "c"):
            raise ParameterError(f"VARMAX: trend is 'n' or 'c', got {trend!r}.")
        self.trend, self.measurement_error = trend, measurement_error
        self._blocks = max(self.p, self.q + 1)

    @property
    def columns(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        k = self.columns
        found = []
        if self.p:
            found.append(SpaceParameter("ar_params", priors.coefficient(0.3), (), (k, self.p, k)))
        if self.q:
            found.append(SpaceParameter("ma_params", priors.coefficient(0.3), (), (k, self.q, k)))
        if self.trend == "c":
            found.append(SpaceParameter("intercept", _of_scale, self.names))
        if self.exog_names:
            found.append(SpaceParameter("beta_exog", _of_scale, (), (k, len(self.exog_names))))
        found.append(SpaceParameter("state_cov", self._covariance))
        if self.measurement_error:
            found.append(SpaceParameter("sigma_obs", priors.deviation(0.5), self.names))
        return tuple(found)

    def _covariance(self, name: str, scale: float, **given: Any) -> Node:
        k = self.columns
        factor, _, _ = LKJCholeskyCov(f"{name}_factor", n=k, eta=2.0, sd_dist=HalfNormal.dist(scale, shape=k))
        return Deterministic(name, matmul(factor, factor.T))

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(name if not b else f"{name}_{b}" for b in range(self._blocks) for name in self.names)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return self.names

    def arguments(self, values: Values, exog: Array | None) -> dict[str, Any]:
        k, blocks = self.columns, self._blocks
        T = as_tensor(np.eye(k * blocks, k=k))
        R = as_tensor(np.eye(k * blocks)[:, :k])
        for lag in range(self.p):
            T = index_set(T[lag * k : (lag + 1) * k, :k], values["ar_params"][:, lag, :])
        for lag in range(self.q):
            R = index_set(R[(lag + 1) * k : (lag + 2) * k, :], values["ma_params"][:, lag, :])
        noise = Node(DiagonalMatrix(), values["sigma_obs"] ** 2) if self.measurement_error else np.zeros((k, k))
        found = {
            "T": T,
            "Z": np.eye(k * blocks)[:k],
            "R": R,
            "Q": values["state_cov"],
            "H": noise,
            "initial": "stationary",
        }
        if self.trend == "c":
            found["c"] = concatenate([values["intercept"], full((k * (blocks - 1),), 0.0)], 0)
        if exog is not None:
            found |= {"d": matmul(constant(exog), values["beta_exog"].T), "varying": ("d",)}
        return found


class DynamicFactor(StateSpace):
    """Several series with common autoregressive factors, and noise of their own.

    k_factors: Number of factors.
    factor_order: Order of each factor's autoregression.
    endog_names: Names of the series.
    error_order: Order of the autoregression of each series' own noise; 0 for independent noise.
    See VARMAX: Vector ARMA of several series.
    Notes: Parameters are `factor_loadings` of shape (series, factors), `factor_ar` of shape (factors, order),
        `error_sigma`, and `error_ar` of shape (series, error_order) where the noise is autoregressive. Innovations of
        the factors have variance 1. The loading of series k on factor k is positive by default, those of series before
        k are 0, so that factors have a sign and an order.
    >>> pm.statespace.DynamicFactor(1, 1, ["a", "b"]).param_names
    ['factor_loadings', 'factor_ar', 'error_sigma']
    """

    title = "DynamicFactor"

    def __init__(self, k_factors: int, factor_order: int, endog_names: Sequence[str], error_order: int = 0) -> None:
        super().__init__()
        (self.k,) = _whole(self.title, "k_factors", [k_factors], 1)
        (self.order,) = _whole(self.title, "factor_order", [factor_order], 1)
        (self.error_order,) = _whole(self.title, "error_order", [error_order], 1)
        self.names = _names(self.title, "endog_names", endog_names)
        if k_factors < 1 or factor_order < 1 or len(self.names) < k_factors:
            raise ParameterError(
                f"DynamicFactor: at least one factor, order 1 and a series for each factor are needed, got {k_factors} "
                f"factors of order {factor_order} and {len(self.names)} series."
            )

    @property
    def columns(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        own = SpaceParameter("error_ar", priors.coefficient(0.4), (), (self.columns, self.error_order))
        return (
            SpaceParameter("factor_loadings", self._loadings),
            SpaceParameter("factor_ar", priors.coefficient(0.4), (), (self.k, self.order)),
            *((own,) if self.error_order else ()),
            SpaceParameter("error_sigma", priors.deviation(), self.names),
        )

    def _loadings(self, name: str, scale: float, **given: Any) -> Node:
        rows, columns = np.tril_indices(self.columns, -1, self.k)
        matrix = as_tensor(np.zeros((self.columns, self.k)))
        top = HalfNormal(f"{name}_diagonal", scale, shape=self.k)
        for k in range(self.k):
            matrix = index_set(matrix[k, k], top[k])
        if len(rows):
            below = Normal(f"{name}_below", 0.0, scale, shape=len(rows))
            matrix = index_set(matrix[rows, columns], below)
        return Deterministic(name, matrix)

    @property
    def state_names(self) -> tuple[str, ...]:
        factors = (f"factor_{f}_{k}" if k else f"factor_{f}" for f in range(self.k) for k in range(self.order))
        errors = (f"error_{y}_{k}" if k else f"error_{y}" for y in self.names for k in range(self.error_order))
        return (*factors, *errors)

    @property
    def shock_names(self) -> tuple[str, ...]:
        errors = (f"error_{y}" for y in self.names) if self.error_order else ()
        return (*(f"factor_{f}" for f in range(self.k)), *errors)

    def arguments(self, values: Values, exog: Array | None) -> dict[str, Any]:
        columns, own = self.columns, self.error_order
        size = self.k * self.order
        blocks = [autoregression(values["factor_ar"][f], range(1, self.order + 1), self.order) for f in range(self.k)]
        heads = [f * self.order for f in range(self.k)]
        whole = size + columns * own
        Z, variances = np.zeros((columns, whole)), values["error_sigma"] ** 2
        if own:
            blocks += [autoregression(values["error_ar"][y], range(1, own + 1), own) for y in range(columns)]
            errors = [size + y * own for y in range(columns)]
            Z[range(columns), errors] = 1.0
            Q = Node(DiagonalMatrix(), concatenate([full((self.k,), 1.0), variances], 0))
        else:
            errors, Q = [], constant(np.eye(self.k))
        return {
            "T": blocks[0] if len(blocks) == 1 else Node(BlockDiagonal(), *blocks),
            "Z": index_set(as_tensor(Z)[:, heads], values["factor_loadings"]),
            "R": np.eye(whole)[:, [*heads, *errors]],
            "Q": Q,
            "H": np.zeros((columns, columns)) if own else Node(DiagonalMatrix(), variances),
            "initial": "stationary",
        }
