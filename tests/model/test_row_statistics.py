"""Densities of long data by their sufficient statistics: the numbers that the rows have, and no row looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.elimination import row_statistics
from consilience.elimination.addends import total
from consilience.ir import topological
from consilience.model.value_graphs import factors
from consilience.transforms import equal_rows
from tests.random_models.runs import checked, checked_numbers, explained

ROWS, COLUMNS, GROUPS, LEVELS = 3000, 4, 9, 5
_random = np.random.default_rng(5)
X = _random.normal(size=(ROWS, COLUMNS))
Y = _random.normal(size=ROWS)
POSITIVE = _random.gamma(2.0, 1.0, ROWS)
COUNT = _random.poisson(POSITIVE)
GROUP = _random.integers(0, GROUPS, ROWS)
LEVEL = _random.integers(0, LEVELS, ROWS)
MISSING = np.where(Y > 1.5, np.nan, Y)

Write = Callable[[Any, Any, Any, Any, Any], object]
BY_STATISTICS: dict[str, Write] = {
    "regression": lambda a, b, u, v, s: pm.Normal("y", a + X @ b, s, observed=Y),
    "dot, and an offset": lambda a, b, u, v, s: pm.Normal("y", a + pm.math.dot(X, b) + 0.3 * POSITIVE, s, observed=Y),
    "columns one by one": lambda a, b, u, v, s: pm.Normal(
        "y", a + sum(b[k] * X[:, k] for k in range(4)), s, observed=Y
    ),
    "sum of products": lambda a, b, u, v, s: pm.Normal("y", a + (X * b).sum(-1), s, observed=Y),
    "two products": lambda a, b, u, v, s: pm.Normal("y", X @ b + X[:, :2] @ u[:2], s, observed=Y),
    "groups": lambda a, b, u, v, s: pm.Normal("y", a + u[GROUP], s, observed=Y),
    "groups and predictors": lambda a, b, u, v, s: pm.Normal("y", a + u[GROUP] + X @ b, s, observed=Y),
    "slopes by group": lambda a, b, u, v, s: pm.Normal("y", u[GROUP] + u[::-1][GROUP] * X[:, 0] + X @ b, s, observed=Y),
    "matrix by group": lambda a, b, u, v, s: pm.Normal("y", (X @ b) * u[GROUP], s, observed=Y),
    "crossed groups": lambda a, b, u, v, s: pm.Normal("y", a + u[GROUP] + v[LEVEL] + X @ b, s, observed=Y),
    "scale by group": lambda a, b, u, v, s: pm.Normal("y", u[GROUP] + X @ b, pm.math.exp(v)[LEVEL], observed=Y),
    "scale by group alone": lambda a, b, u, v, s: pm.Normal("y", u[GROUP], pm.math.exp(v)[LEVEL], observed=Y),
    "known scales": lambda a, b, u, v, s: pm.Normal("y", a * (X @ b), s * POSITIVE, observed=Y),
    "precision": lambda a, b, u, v, s: pm.Normal("y", a + X @ b, tau=s, observed=Y),
    "logarithm": lambda a, b, u, v, s: pm.LogNormal("y", a + X @ b, s, observed=POSITIVE),
    "single numbers": lambda a, b, u, v, s: pm.Potential(
        "y", -((Y.astype("float32") - X.astype("float32") @ b.astype("float32")) ** 2)
    ),
    "whole numbers and truth values": lambda a, b, u, v, s: pm.Normal(
        "y", (X > 0) @ b + a * COUNT, s, observed=COUNT.astype(float)
    ),
    "potential": lambda a, b, u, v, s: pm.Potential("y", -0.5 * ((Y - a - X @ b) / s) ** 2 - pm.math.log(s)),
    "weighted": lambda a, b, u, v, s: pm.Potential("y", POSITIVE * pm.logp(pm.Normal.dist(a + X @ b, s), Y)),
    "autoregression": lambda a, b, u, v, s: pm.Normal("y", a * Y[:-1], s, observed=Y[1:]),
    "Poisson with exposure": lambda a, b, u, v, s: pm.Poisson("y", POSITIVE * pm.math.exp(u[GROUP]), observed=COUNT),
    "Poisson with offset": lambda a, b, u, v, s: pm.Poisson(
        "y", pm.math.exp(a + u[GROUP] + v[LEVEL] + np.log(POSITIVE)), observed=COUNT
    ),
    "exponential": lambda a, b, u, v, s: pm.Exponential("y", pm.math.exp(u[GROUP]), observed=POSITIVE),
    "gamma": lambda a, b, u, v, s: pm.Gamma("y", alpha=s, beta=pm.math.exp(u[GROUP]), observed=POSITIVE),
    "inverse of groups": lambda a, b, u, v, s: pm.Normal("y", 0.0, 1.0 / (1.0 + u[GROUP] ** 2), observed=Y),
}
AS_WRITTEN: dict[str, Write] = {
    "Student's t": lambda a, b, u, v, s: pm.StudentT("y", 4.0, a + X @ b, s, observed=Y),
    "logistic": lambda a, b, u, v, s: pm.Bernoulli("y", logit_p=X @ b, observed=COUNT > 0),
    "Poisson with a slope": lambda a, b, u, v, s: pm.Poisson("y", pm.math.exp(X @ b), observed=COUNT),
    "a parameter per row": lambda a, b, u, v, s: pm.Normal("y", pm.Normal("own", shape=ROWS), s, observed=Y),
    "data to be exchanged": lambda a, b, u, v, s: pm.Normal("y", a, s, observed=pm.Data("data", Y)),
    "predictors to be exchanged": lambda a, b, u, v, s: pm.Normal("y", pm.Data("x", X) @ b, s, observed=Y),
    "groups as many as rows": lambda a, b, u, v, s: pm.Normal("y", u[GROUP] * X[:, 0] ** a, s, observed=Y),
    "product of sums": lambda a, b, u, v, s: pm.Potential("y", (X @ b + a) * (X[:, :2] @ u[:2] + s)),
    "as many columns as rows": lambda a, b, u, v, s: pm.Normal(
        "y", np.eye(600)[:, :599] @ pm.Normal("many", shape=599), s, observed=Y[:600]
    ),
}


def written(write: Write) -> pm.Model:
    with pm.Model() as model:
        a, b, s = pm.Normal("a"), pm.Normal("b", shape=COLUMNS), pm.HalfNormal("s")
        write(a, b, pm.Normal("u", shape=GROUPS), pm.Normal("v", shape=LEVELS), s)
    return model


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_statistics, "by_statistics", list)
    monkeypatch.setattr(equal_rows, "_counted", lambda total: None)


def longest(model: pm.Model) -> int:
    """Length of the longest axis that a density adds up."""
    nodes = topological([total(factors(model))])
    return max(n for node in nodes for i in node.inputs for n in getattr(i.type, "shape", ()) if isinstance(n, int))


@pytest.mark.parametrize("name", [*BY_STATISTICS, *AS_WRITTEN])
def test_densities_and_gradients_are_those_of_the_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start, near it, and far from any mode."""
    write = (BY_STATISTICS | AS_WRITTEN)[name]
    model = written(write)
    length, logp, dlogp = longest(model), model.compile_logp(), model.compile_dlogp()
    row_by_row(monkeypatch)
    whole = written(write)
    wanted, slopes = whole.compile_logp(), whole.compile_dlogp()
    eps = 1e-5 if name == "single numbers" else 1e-12
    for spread in (0.0, 0.3, 1.0, 4.0):
        point = {k: np.asarray(v) + _random.normal(0, spread, np.shape(v)) for k, v in model.initial_point().items()}
        size = np.abs(slopes(point)).max()
        np.testing.assert_allclose(logp(point), wanted(point), rtol=eps)
        np.testing.assert_allclose(dlogp(point), slopes(point), rtol=eps, atol=100 * eps * max(1.0, size))
    assert length <= ROWS // 4 if name in BY_STATISTICS else length == longest(whole)


def regression(x: Any, y: Any) -> Callable[[Any, float], tuple[float, Any]]:
    """Log density of data and its gradient in (coefficients, log scale), as compiled."""
    with pm.Model() as model:
        b, s = pm.Flat("b", shape=x.shape[1]), pm.Flat("s")
        pm.Normal("y", x @ b, pm.math.exp(s), observed=y)
    assert longest(model) <= max(x.shape[1] ** 2, x.shape[1] + 2)
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    return lambda b, s: (float(logp({"b": b, "s": s})), dlogp({"b": b, "s": s}))


EXTREME: dict[str, tuple[Any, Any]] = {
    "ordinary": (X, Y),
    "far from zero": (np.column_stack([np.ones(ROWS), X[:, 0] + 1e8]), Y + 1e8),
    "nearly collinear": (np.column_stack([X[:, 0], X[:, 0] + 1e-9 * X[:, 1]]), Y),
    "collinear": (np.column_stack([X[:, 0], 2 * X[:, 0], np.ones(ROWS), np.ones(ROWS), np.zeros(ROWS)]), Y),
    "of very different scales": (X * [1e-120, 1e120, 1e-6, 1.0], Y),
    "one row unlike all others": (np.column_stack([X[:, 0], np.arange(ROWS) == 7]), Y),
    "exactly explained": (X, X @ [1.0, 2.0, -1.0, 0.5]),
}


@pytest.mark.parametrize("name", EXTREME)
def test_errors_are_those_of_rounding_the_data(name: str) -> None:
    """Against 64 digits of a long double: a small multiple of what rounding each row's terms would do."""
    x, y = EXTREME[name]
    found = regression(x, y)
    scale = 1.0 / np.abs(x).max(axis=0).clip(1e-300)
    best = np.linalg.lstsq(x * scale, y, rcond=1e-12)[0] * scale
    for step in (0.0, 1e-3, 1.0, 100.0):
        b = best + step * scale * _random.normal(size=len(best))
        for s in (-3.0, 0.0, 5.0):
            value, slope = found(b, s)
            terms = np.concatenate([x.astype("longdouble") * b, -y[:, None]], axis=1)
            r = terms.sum(1) / np.exp(np.longdouble(s))
            size = np.abs(terms).sum(1) / np.exp(np.longdouble(s))
            exact = -(r**2).sum() / 2 - ROWS * (s + math.log(2 * math.pi) / 2)
            bound = 64 * np.finfo(float).eps * (1 + x.shape[1])
            norm, whole = np.sqrt((r**2).sum()), np.sqrt((size**2).sum())
            assert abs(value - exact) <= bound * (norm * whole + bound * whole**2 + abs(exact) + ROWS)
            wanted = [*(-(x.T.astype("longdouble") @ r) / np.exp(np.longdouble(s))), (r**2).sum() - ROWS]
            lengths = np.sqrt((x.astype("longdouble") ** 2).sum(0)) / np.exp(np.longdouble(s))
            allowed = [*(bound * lengths * (norm + whole)), bound * (2 * norm * whole + bound * whole**2 + ROWS)]
            assert (np.abs(np.asarray(slope, "longdouble") - wanted) <= allowed).all()


@pytest.mark.parametrize("number", range(40))
def test_random_linear_forms_have_the_squares_of_their_rows(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of predictors, groups, slopes and constants in any order, with scales of any kind."""
    random = np.random.default_rng(number)
    rows = int(random.integers(500, 2500))
    x = random.normal(size=(rows, 3)) * 10.0 ** random.uniform(-3, 3, 3)
    groups = [random.integers(0, int(random.integers(1, 12)), rows) for _ in range(2)]

    def made() -> pm.Model:
        own = np.random.default_rng(number)
        with pm.Model() as model:
            one, several, levels = pm.Normal("one"), pm.Normal("several", shape=3), pm.Normal("levels", shape=12)
            kinds: list[Callable[[], Any]] = [
                lambda: one,
                lambda: x @ several,
                lambda: x[:, 0] * several[1],
                lambda: levels[groups[0]],
                lambda: levels[groups[1]] * x[:, 1],
                lambda: one * levels[::-1][groups[1]],
                lambda: x[:, 2] ** 2,
                lambda: (x * several).sum(axis=1),
                lambda: -(x[:, :2] @ several[:2]) * one,
                lambda: 2.5,
            ]
            mean = kinds[own.integers(len(kinds))]()
            for kind in own.integers(0, len(kinds), own.integers(1, 6)):
                mean = mean - kinds[kind]() if own.random() < 0.3 else mean + kinds[kind]()
            scales = [1.5, pm.math.exp(one), pm.math.exp(levels)[groups[0]], 0.5 + np.abs(x[:, 0])]
            weight = [1.0, 1.0 / rows, np.abs(x[:, 1])][own.integers(3)]
            density = pm.logp(pm.Normal.dist(mean, scales[own.integers(4)]), own.normal(size=rows))
            pm.Potential("y", weight * density)
        return model

    monkeypatch.setattr(row_statistics, "SHARE", math.inf)
    model = made()
    assert longest(model) < rows or rows < 4 * longest(model)
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    row_by_row(monkeypatch)
    whole = made()
    wanted, slopes = whole.compile_logp(), whole.compile_dlogp()
    for spread in (0.1, 1.0, 3.0):
        point = {k: np.asarray(v) + random.normal(0, spread, np.shape(v)) for k, v in model.initial_point().items()}
        size = np.abs(slopes(point)).max()
        np.testing.assert_allclose(logp(point), wanted(point), rtol=1e-11)
        np.testing.assert_allclose(dlogp(point), slopes(point), rtol=1e-9, atol=1e-11 * size)


@pytest.mark.parametrize("part_of_four", range(4))
def test_random_models_are_the_same_by_statistics_of_any_size(
    monkeypatch: pytest.MonkeyPatch, part_of_four: int
) -> None:
    """Where any sum counts as long, and any number of statistics as small."""
    monkeypatch.setattr(equal_rows, "FEWEST", 2)
    monkeypatch.setattr(row_statistics, "SHARE", math.inf)
    monkeypatch.setattr(row_statistics, "ROWS_PER_COLUMN", 0)
    part = checked(checked_numbers((19,), 60)[part_of_four::4])
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_no_numbers_are_left_to_the_rows(bad: float) -> None:
    x = X.copy()
    x[7, 1] = bad
    with pm.Model() as model:
        pm.Normal("y", x @ pm.Normal("b", shape=COLUMNS), 1.0, observed=Y)
    assert longest(model) == ROWS
    assert not np.isfinite(model.compile_logp()({"b": np.ones(COLUMNS)}))


def test_missing_data_have_their_own_rows() -> None:
    with pm.Model() as model:
        a, u = pm.Normal("a"), pm.Normal("u", shape=GROUPS)
        with pytest.warns(UserWarning, match="missing"):
            pm.Normal("y", a * X[:, 0] + u[GROUP], 1.0, observed=MISSING)
    there = ~np.isnan(MISSING)
    point = {"a": 0.3, "u": np.linspace(-1, 1, GROUPS), "y_unobserved": np.zeros((~there).sum())}
    mean = 0.3 * X[:, 0] + point["u"][GROUP]
    each = -0.5 * (np.where(there, MISSING, 0.0) - mean) ** 2 - 0.5 * math.log(2 * math.pi)
    prior = sum((-0.5 * np.asarray(point[k]) ** 2 - 0.5 * math.log(2 * math.pi)).sum() for k in ("a", "u"))
    np.testing.assert_allclose(model.compile_logp()(point), each.sum() + prior, rtol=1e-12)


def test_results_keep_all_rows() -> None:
    """Log likelihoods, predictions and cross-validation are those of each observation; frozen data are constants."""
    with pm.Model(coords={"row": range(ROWS), "k": range(COLUMNS)}) as model:
        x = pm.Data("x", X, dims=("row", "k"))
        b, s = pm.Normal("b", dims="k"), pm.HalfNormal("s")
        mean = pm.Deterministic("mean", x @ b, dims="row")
        pm.Normal("y", mean, s, observed=Y, dims="row")
    assert longest(model) == ROWS
    assert longest(pm.freeze_dims_and_data(model)) <= COLUMNS + 1
    with pm.freeze_dims_and_data(model):
        result = pm.sample(
            draws=20, tune=50, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
        pm.compute_log_likelihood(result)
        pm.sample_posterior_predictive(result, extend_inferencedata=True, random_seed=1, progressbar=False)
    draws = result.posterior
    z = (Y - draws["b"].values @ X.T) / draws["s"].values[..., None]
    each = -0.5 * z**2 - np.log(draws["s"].values)[..., None] - 0.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(result.log_likelihood["y"].values, each, rtol=1e-9)
    np.testing.assert_allclose(draws["mean"].values, draws["b"].values @ X.T, rtol=1e-9, atol=1e-12)
    assert result.posterior_predictive["y"].shape == (1, 20, ROWS)


def test_no_data_have_no_rows() -> None:
    with pm.Model() as model:
        pm.Normal("y", np.zeros((0, COLUMNS)) @ pm.Normal("b", shape=COLUMNS), 1.0, observed=np.zeros(0))
    np.testing.assert_allclose(model.compile_logp()({"b": np.zeros(COLUMNS)}), -2 * math.log(2 * math.pi))
