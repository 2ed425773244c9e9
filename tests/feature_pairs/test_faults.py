"""Faults that pairs of features have shown, each as small as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ShapeError, SupportError
from consilience.model.log_density import model_density
from consilience.sample.sharded import ShardedDensity

ROWS = np.arange(6.0)


def shifted(mu: object, size: object) -> object:
    """Random numbers whose size is asked for, moved by a parameter that may have a shape."""
    return mu + pm.Gumbel.dist(0.0, 1.0, size=size)  # type: ignore[operator]


def test_parameters_with_a_shape_meet_random_numbers_of_a_size_in_a_custom_distribution() -> None:
    """Whether the shape is given, that of the data, or that of the parameters alone inside another distribution."""
    with pm.Model() as model:
        m = pm.Normal("m")
        pm.CustomDist("y", m + ROWS, dist=shifted, observed=ROWS)
        pm.Censored("z", pm.CustomDist.dist(m + ROWS, dist=shifted), lower=None, upper=9.0, observed=ROWS)
    wanted = stats.norm.logpdf(0.5) + 2 * stats.gumbel_r(0.5).logpdf(np.zeros(6)).sum()
    assert model.compile_logp()({"m": 0.5}) == pytest.approx(wanted, rel=1e-12)
    drawn = pm.draw(pm.CustomDist.dist(ROWS, dist=shifted), 2000, random_seed=1) - ROWS
    assert np.abs(np.corrcoef(drawn.T) - np.eye(6)).max() < 0.15


def test_missing_values_of_a_custom_distribution_become_variables() -> None:
    observed = np.where(ROWS == 2.0, np.nan, ROWS)
    with pm.Model() as model:
        m = pm.Normal("m")
        with pytest.warns(pm.ImputationWarning):
            pm.CustomDist("y", m + ROWS, dist=shifted, observed=observed, support_point=lambda mu: mu)
    assert model.eval_rv_shapes()["y_unobserved"] == (1,)
    assert model.initial_point()["y_unobserved"] == [2.0]
    values = np.where(ROWS == 2.0, 7.0, ROWS)
    wanted = stats.norm.logpdf(0.5) + stats.gumbel_r(0.5 + ROWS).logpdf(values).sum()
    assert model.compile_logp()({"m": 0.5, "y_unobserved": np.array([7.0])}) == pytest.approx(wanted, rel=1e-12)


def test_one_number_that_is_missing_is_refused_by_name() -> None:
    """It was an error of NumPy's."""
    with pm.Model(), pytest.raises(pm.ModelError, match="`y` is one number, which is missing: leave `observed` out"):
        pm.Normal("y", observed=np.ma.masked_array(1.0, True))


def test_shards_on_threads_take_densities_given_by_functions_of_a_session() -> None:
    with pm.Model() as model:
        y = pm.Data("y", ROWS[:2])
        pm.CustomDist("obs", pm.Normal("m"), logp=lambda value, m: -0.5 * (value - m) ** 2, observed=y)
    with ThreadPoolExecutor(2) as threads:
        density = ShardedDensity(model_density(model), pm.cluster.shards(threads, {"y": ROWS}, rows=4))
        value, _ = density(np.array([0.5]))
    assert value == pytest.approx(stats.norm.logpdf(0.5) - 0.5 * ((ROWS - 0.5) ** 2).sum(), rel=1e-12)


def test_batches_with_missing_values_are_refused_where_they_are_observed() -> None:
    """Batches drew densities of -inf at random."""
    with pm.Model():
        rows = pm.Minibatch(np.where(ROWS == 2.0, np.nan, ROWS), batch_size=2)
        with pytest.raises(SupportError, match=r"`y`: 1 values of the `Minibatch` are NaN, the first at \(2,\)"):
            pm.Normal("y", pm.Normal("m"), 1.0, observed=rows, total_size=6)


def test_missing_values_in_data_that_can_be_exchanged_are_told_where_they_would_be_variables() -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("m"), 1.0, observed=pm.Data("d", np.where(ROWS == 2.0, np.nan, ROWS)))
    with pytest.raises(SupportError, match="Missing values are made variables only where the distribution gets them"):
        model.compile_logp()({"m": 0.5})


def test_a_start_without_density_is_explained_in_models_of_batches() -> None:
    """The explanation had an error of its own."""
    with pm.Model() as model:
        m = pm.Normal("m")
        pm.Normal("y", 0.0, m - 9.0, observed=pm.Minibatch(ROWS, batch_size=2), total_size=6)
    with pytest.raises(pm.InitialPointError, match=r"(?s)`y` has log density.*sigma = -9"):
        pm.fit(10, model=model, progressbar=False)


def test_data_of_another_length_than_the_labels_along_a_dim_are_refused_with_the_dim() -> None:
    with pm.Model(coords={"row": range(6)}):
        x, y = pm.Minibatch(ROWS, ROWS, batch_size=2)
        with pytest.raises(ShapeError, match=r"`y`: the dim 'row' has length 6, but its data of shape \(2,\)"):
            pm.Normal("y", x, 1.0, observed=y, total_size=6, dims="row")
