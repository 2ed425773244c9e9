"""Sums over rows of data that repeat themselves are the same numbers, over the distinct rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.elimination.addends import total
from consilience.ir import Node, constant, tensor_input, topological
from consilience.model.value_graphs import factors
from consilience.ops.reduce import reduce
from consilience.transforms import equal_rows
from consilience.transforms.equal_rows import equal_rows_counted

ROWS = 2000
_random = np.random.default_rng(2)
GROUP = _random.integers(0, 7, ROWS)
LEVEL = _random.integers(0, 3, ROWS)
X = np.stack([LEVEL == 1, GROUP % 2, np.ones(ROWS)], 1).astype(float)
TRUTH = _random.integers(0, 2, ROWS)
COUNT = _random.poisson(2.0, ROWS)
ROUNDED = np.round(_random.normal(size=ROWS), 0)
CONTINUOUS = _random.normal(size=ROWS)

Write = Callable[[Any, Any, Any], object]
REPEATED: dict[str, Write] = {
    "Bernoulli": lambda a, u, s: pm.Bernoulli("y", logit_p=a + u[GROUP], observed=TRUTH),
    "Poisson": lambda a, u, s: pm.Poisson("y", pm.math.exp(a + u[GROUP] * LEVEL), observed=COUNT),
    "normal of rounded numbers": lambda a, u, s: pm.Normal("y", u[GROUP], s, observed=ROUNDED),
    "matrix": lambda a, u, s: pm.Normal("y", a + X @ u[:3], s, observed=ROUNDED),
    "two columns": lambda a, u, s: pm.Normal(
        "y", (a + u[GROUP])[:, None] * np.ones(2), s, observed=np.stack([TRUTH, LEVEL], 1)
    ),
    "potential": lambda a, u, s: pm.Potential("y", pm.math.log1pexp(a * constant(ROUNDED)) * u[GROUP]),
    "censored": lambda a, u, s: pm.Censored(
        "y", pm.Normal.dist(u[GROUP], s), lower=None, upper=1.0, observed=np.minimum(ROUNDED, 1.0)
    ),
    "categorical": lambda a, u, s: pm.Categorical(
        "y", logit_p=pm.math.stack([u[GROUP], a * u[GROUP], np.zeros(ROWS)], axis=1), observed=LEVEL
    ),
    "categorical of a matrix": lambda a, u, s: pm.Categorical(
        "y", p=pm.math.softmax((u[:3] * a)[None, :] * X, axis=1), observed=LEVEL
    ),
    "ordered": lambda a, u, s: pm.OrderedLogistic("y", eta=u[GROUP], cutpoints=[-1.0, a**2], observed=LEVEL),
}
AS_WRITTEN: dict[str, Write] = {
    "categorical of continuous predictors": lambda a, u, s: pm.Categorical(
        "y", logit_p=u[:3] * CONTINUOUS[:, None], observed=LEVEL
    ),
    "row numbers": lambda a, u, s: pm.Potential("y", (a * pm.math.arange(ROWS) * TRUTH - u[GROUP]) ** 4),
    "continuous data": lambda a, u, s: pm.StudentT("y", 4.0, u[GROUP], s, observed=CONTINUOUS),
    "a parameter per row": lambda a, u, s: pm.Normal("y", pm.Normal("own", shape=ROWS), s, observed=TRUTH),
    "rows that are joined": lambda a, u, s: pm.Potential(
        "y", (constant(ROUNDED)[1:] * a - constant(ROUNDED)[:-1]) ** 2
    ),
    "data to be exchanged": lambda a, u, s: pm.Poisson("y", pm.math.exp(a), observed=pm.Data("counts", COUNT)),
    "running sums": lambda a, u, s: pm.Potential("y", pm.math.cumsum(constant(ROUNDED) * a)),
}


def written(write: Write) -> pm.Model:
    with pm.Model() as model:
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        write(a, pm.Normal("u", shape=7), s)
    return model


def longest(model: pm.Model) -> int:
    """Length of the longest axis on the way to the density."""
    nodes = topological([total(factors(model))])
    return max(n for node in nodes for n in getattr(node.type, "shape", ()) if isinstance(n, int))


@pytest.mark.parametrize("name", [*REPEATED, *AS_WRITTEN])
def test_densities_and_gradients_are_those_of_all_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = (REPEATED | AS_WRITTEN)[name]
    model = written(write)
    counted = longest(model)
    point = {k: np.asarray(v) + _random.normal(0, 0.3, np.shape(v)) for k, v in model.initial_point().items()}
    found = model.compile_logp()(point), model.compile_dlogp()(point)
    monkeypatch.setattr(equal_rows, "FEWEST", ROWS + 1)
    whole = written(write)
    wanted = whole.compile_logp()(point), whole.compile_dlogp()(point)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-9, atol=1e-9)
    assert longest(whole) == ROWS or name == "data to be exchanged"
    assert counted <= ROWS // 4 if name in REPEATED else counted == longest(whole)


def test_log_likelihoods_keep_all_their_rows() -> None:
    model = written(REPEATED["Poisson"])
    with model:
        result = pm.sample(
            draws=20, tune=20, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
        pm.compute_log_likelihood(result)
    each = result.log_likelihood["y"]
    assert each.shape[-1] == ROWS


def test_values_that_are_no_numbers_count_as_equal() -> None:
    x = tensor_input("float64", (), "x")
    data = np.where(LEVEL == 0, np.nan, np.where(LEVEL == 1, np.inf, 2.0))
    (found,) = equal_rows_counted([reduce("sum", constant(data) * x)])
    assert max(n for node in topological([found]) for n in node.static_shape or (0,)) == 3


@pytest.mark.parametrize("repeats", [1, 3, 5, 4000])
def test_rows_are_counted_where_distinct_ones_are_few(repeats: int) -> None:
    data = np.repeat(_random.normal(size=max(1, 4000 // repeats)), repeats)
    x = tensor_input("float64", (), "x")
    before: Node = reduce("sum", (constant(data) - x) ** 2)
    (after,) = equal_rows_counted([before])
    assert (after is before) == (repeats < 4)
