"""Random rows of data: together in all arrays, other ones at every evaluation, right on average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.model import Minibatch

X = np.arange(50.0)


def test_rows_belong_together_and_change() -> None:
    x, both = Minibatch(X, np.stack([2 * X, 3 * X], axis=1), batch_size=5)
    evaluate = pm.function([], [x, both])
    first, second = evaluate(), evaluate()
    for rows, pair in (first, second):
        np.testing.assert_array_equal(pair, np.stack([2 * rows, 3 * rows], axis=1))
    assert not np.array_equal(first[0], second[0])
    seen = np.bincount(np.concatenate(pm.draw(x, 4000, random_seed=1)).astype(int), minlength=50)
    assert stats.chisquare(seen).pvalue > 1e-4


def test_densities_of_batches_are_right_on_average() -> None:
    y = 2 * X + np.cos(X)
    x_rows, y_rows = Minibatch(X, y, batch_size=10)
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.0, 10.0)
        pm.Normal("y", slope * x_rows, 5.0, observed=y_rows, total_size=len(X))
    logp = model.compile_logp("y")
    values = np.array([logp({"slope": 2.1}) for _ in range(400)])
    expected = stats.norm(2.1 * X, 5.0).logpdf(y).sum()
    assert values.std() > 0
    assert values.mean() == pytest.approx(expected, abs=4 * values.std() / 20)
    prior = pm.sample_prior_predictive(20, model=model, random_seed=1)
    assert prior.prior_predictive["y"].shape == (1, 20, 10)
    with pytest.raises(pm.ModelError, match="the model has a `Minibatch`"):
        pm.sample(model=model, random_seed=1, progressbar=False)


def test_rows_of_data_that_change() -> None:
    with pm.Model() as model:
        data = pm.Data("data", X)
        pm.Normal("y", 0.0, 1.0, observed=Minibatch(data, batch_size=3), total_size=data.shape[0])
    model.set_data("data", [4.0, 4.0])
    assert model.compile_logp()({}) == pytest.approx(2 * stats.norm.logpdf(4.0))


def test_batches_without_meaning_are_refused() -> None:
    with pytest.raises(pm.ModelError, match="`batch_size` must be a whole number > 0, got 0"):
        Minibatch(X, batch_size=0)
    with pytest.raises(pm.ShapeError, match="as many rows of each; got 50 and 49"):
        Minibatch(X, X[1:], batch_size=2)
    with pytest.raises(pm.ShapeError, match="got a scalar"):
        Minibatch(3.0, batch_size=2)
    with pytest.raises(pm.ModelError, match="takes rows of data; got an expression of random variables"):
        Minibatch(pm.Normal.dist(shape=3), batch_size=2)
