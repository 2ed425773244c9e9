"""`pm.challenge`: right draws stay unrefuted, wrong ones are refuted by the attack that is made for them."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ModelError, SamplingError
from consilience.estimators.refutation import chains, particles, regions


def line() -> pm.Model:
    """A straight line through ten points."""
    x = np.linspace(-1.0, 1.0, 10)
    with pm.Model() as model:
        a, b = pm.Normal("a", 0.0, 2.0), pm.Normal("b", 0.0, 2.0)
        pm.Normal("y", a + b * x, pm.HalfNormal("sigma", 1.0), observed=0.5 - x + 0.3 * np.sin(9.0 * x))
    return model


def two_modes() -> pm.Model:
    """Normal modes of 60 and 40 % at ten deviations, without a proper prior."""
    with pm.Model() as model:
        x = pm.Flat("x")
        near, far = np.log(0.6) - 0.5 * x**2, np.log(0.4) - 0.5 * (x - 10.0) ** 2
        pm.Potential("density", pt.logaddexp(near, far))
    return model


def curved() -> pm.Model:
    """A normal variable around the square of another, with an observation that says nothing."""
    with pm.Model() as model:
        b = pm.Normal("b", pm.Normal("a") ** 2, 0.1)
        pm.Normal("y", b, 100.0, observed=[0.0])
    return model


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """All attacks, with as little effort as shows that they work."""
    monkeypatch.setattr(chains, "EFFORTS", ((20, 60, 30),))
    monkeypatch.setattr(chains, "TEMPERED_EFFORTS", ((16, 100, 50),))
    monkeypatch.setattr(chains, "LEVELS", 4)
    monkeypatch.setattr(particles, "POPULATIONS", 4)
    monkeypatch.setattr(particles, "FEWEST", 200)
    monkeypatch.setattr(regions, "STARTS", 20)
    monkeypatch.setattr(regions, "BUDGETS", (5_000,))


def independent(**values: Any) -> xarray.Dataset:
    """Draws as another library may give them, in four chains."""
    made = {k: (("chain", "draw", *(f"{k}_{i}" for i in range(np.ndim(v) - 2))), v) for k, v in values.items()}
    return xarray.Dataset(made)


def challenged(result: Any, model: pm.Model, **settings: Any) -> Any:
    """A challenge with what all of them share."""
    return pm.challenge(result, model=model, **({"random_seed": 1, "progressbar": False} | settings))


def test_a_right_result_is_not_refuted_and_every_attack_tells_what_it_could_have_seen(little: None) -> None:
    """All attacks are made, counted and timed; the record prints, also in a notebook, and goes through pickle."""
    with line():
        result = pm.sample(random_seed=1, progressbar=False)
    found = result.challenge(random_seed=1, progressbar=False)
    assert not found.refuted
    assert found.statement.startswith("Not refuted")
    assert [one.attack for one in found.attempts] == [
        "the chains among themselves",
        "more starting points",
        "chains in other coordinates",
        "sequential Monte Carlo",
        "tempered chains",
    ]
    for one in found.attempts:
        assert one.made
        assert one.smallest
        assert one.found
        assert one.seconds >= 0.0
    by_draws = found.attempts[2:]
    assert all(0.1 <= one.shift < 0.6 and one.gradients > 1000 for one in by_draws)
    assert "95 %" in found.statement
    assert "'converged'" in found.statement
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    assert max(map(len, repr(found).splitlines())) < 200
    assert found._repr_html_().count("<tr>") == 6
    assert found["more starting points"] is found.attempts[1]
    with pytest.raises(KeyError, match="tempered chains"):
        found["more"]


def test_the_same_seed_gives_the_same_findings(little: None) -> None:
    """As long as there is time."""
    with line():
        result = pm.sample(200, tune=200, random_seed=1, progressbar=False, compute_convergence_checks=False)
    first, second = (result.challenge(random_seed=3, progressbar=False) for _ in range(2))
    assert [a.found for a in first.attempts] == [a.found for a in second.attempts]
    assert first.statement == second.statement


def test_chains_that_stay_in_one_of_two_modes_are_refuted_by_more_starting_points() -> None:
    """The other mode is named with its share of the mass."""
    with two_modes() as model:
        result = pm.sample(random_seed=1, initvals={"x": 0.0}, init="adapt_diag", remedies=(), progressbar=False)
    assert result.status == "converged"
    found = challenged(result, model)
    assert found.refuted
    assert found.attempts[-1].attack == "more starting points"
    assert "`x` = " in found.statement
    assert "40 % of the mass" in found.statement


@pytest.mark.parametrize(("share", "refuted"), [(0.6, False), (0.9, True)])
def test_draws_in_both_modes_have_to_have_their_weights(share: float, refuted: bool) -> None:
    """Independent draws of 60 and 40 % pass, of 90 and 10 % do not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 1000)) + 10.0 * (rng.random((4, 1000)) > share)
    found = challenged(independent(x=x), two_modes())
    assert found.refuted is refuted
    assert not refuted or "of the draws" in found.statement


def test_a_tail_that_is_cut_is_refuted_by_chains_in_other_coordinates(little: None) -> None:
    """Draws without the outer 10 % of a curved posterior."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=40_000)
    a = a[np.abs(a) < 1.65][:4000].reshape(4, 1000)
    found = challenged(independent(a=a, b=a**2 + 0.1 * rng.normal(size=a.shape)), curved())
    assert found.refuted
    assert found.attempts[-1].attack == "chains in other coordinates"
    assert "`b` less centred" in found.attempts[-1].found or "standard errors off" in found.statement


def test_draws_that_are_too_narrow_are_refuted(little: None) -> None:
    """As those of approximations without correlations are."""
    with line() as model:
        right = pm.sample(400, tune=300, random_seed=2, progressbar=False, compute_convergence_checks=False)
    values = {name: np.asarray(right.posterior[name]) for name in ("a", "b", "sigma")}
    values["b"] = values["b"].mean() + 0.7 * (values["b"] - values["b"].mean())
    assert challenged(independent(**values), model).refuted


def test_a_model_without_data_is_compared_with_its_own_draws(little: None) -> None:
    """A funnel whose neck was not seen; and one that was drawn from."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pt.exp(v / 2.0), shape=3)
    rng = np.random.default_rng(3)
    v = 3.0 * rng.normal(size=(4, 2000))
    x = np.exp(v / 2.0)[..., None] * rng.normal(size=(4, 2000, 3))
    right = challenged(independent(v=v, x=x), model)
    assert not right.refuted
    assert "sequential Monte Carlo" not in right.statement
    seen = np.sort(v, axis=1)[:, 300:]
    cut = np.exp(seen / 2.0)[..., None] * rng.normal(size=(4, 1700, 3))
    order = rng.permutation(1700)
    wrong = challenged(independent(v=seen[:, order], x=cut[:, order]), model)
    assert wrong.refuted
    assert wrong.attempts[-1].attack == "independent draws of the model"


def test_chains_that_disagree_are_refuted_by_themselves() -> None:
    """Without an evaluation of the model."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 500)) + np.array([0.0, 0.0, 10.0, 10.0])[:, None]
    found = challenged(independent(x=x), two_modes())
    assert found.refuted
    assert found["the chains among themselves"].gradients == 0
    assert "R-hat" in found.statement


def test_discrete_variables_are_summed_out_and_what_cannot_be_is_said(little: None) -> None:
    """Levels of a step are attacked, its place is not; a count that nothing sums out leaves the chains alone."""
    values = np.repeat([0.0, 1.0], 10) + 0.1 * np.sin(np.arange(20.0))
    with pm.Model() as model:
        k = pm.DiscreteUniform("k", 1, 19)
        level = pm.Normal("level", 0.0, 2.0, shape=2)
        pm.Normal("y", pt.switch(np.arange(20) < k, level[0], level[1]), 0.3, observed=values)
    with pm.marginalize(model, "k"):
        result = pm.sample(300, tune=300, random_seed=1, progressbar=False, compute_convergence_checks=False)
    found = challenged(result, model)
    assert not found.refuted
    assert "`k` was summed out" in found.statement
    with pm.Model() as coupled:
        n = pm.Poisson("n", 4.0, shape=30)
        pm.Normal("y", pm.Normal("mu") + pt.sum(pt.sin(n * pt.cumsum(n))), 1.0, observed=[0.3])
    rng = np.random.default_rng(1)
    draws = independent(n=rng.poisson(4.0, (4, 200, 30)), mu=rng.normal(size=(4, 200)))
    alone = challenged(draws, coupled)
    assert not alone.refuted
    assert "`n` is discrete and cannot be summed out" in alone["tempered chains"].found


def test_results_of_files_need_their_model(tmp_path: Path, little: None) -> None:
    """Which is that around, or the one given."""
    with line() as model:
        result = pm.sample(200, tune=200, random_seed=1, progressbar=False, compute_convergence_checks=False)
    result.to_netcdf(tmp_path / "result.nc")
    read = xarray.open_datatree(tmp_path / "result.nc")
    with pytest.raises(ModelError, match="model=model"):
        pm.challenge(read, progressbar=False)
    with model:
        assert not pm.challenge(read, max_time=0.5, random_seed=1, progressbar=False).refuted


def test_draws_of_other_data_are_refuted_or_refused() -> None:
    """Those that have no density, no draws of a variable, hardly any draws, or none at all."""
    with line() as model:
        result = pm.sample(100, tune=100, random_seed=1, progressbar=False, compute_convergence_checks=False)
    with pytest.raises(ModelError, match="no draws of `b`"):
        pm.challenge(result.posterior.to_dataset().drop_vars("b"), model=model)
    with pytest.raises(SamplingError, match="got 10"):
        pm.challenge(result.isel(draw=slice(10)), model=model)
    with pytest.raises(SamplingError, match="group `posterior`"):
        pm.challenge({"a": 1}, model=model)
    for time in (0, -1.0, np.nan, "long", True):
        with pytest.raises(SamplingError, match="max_time"):
            result.challenge(max_time=time)
    with pm.Model() as bounded:
        pm.Normal("y", pm.Uniform("a", 0.0, 1.0), 1.0, observed=[0.1])
    with pytest.raises(ModelError):
        pm.challenge(independent(a=np.random.default_rng(1).normal(size=(4, 100))), model=bounded)


def test_a_stop_ends_with_what_was_done(little: None) -> None:
    """Asked for by a callback, as by Ctrl-C; and by a time that is over at once."""
    with line():
        result = pm.sample(200, tune=200, random_seed=1, progressbar=False, compute_convergence_checks=False)
    calls = itertools.count()

    def interrupt(event: Any) -> None:
        if next(calls) > 1:
            raise KeyboardInterrupt

    found = result.challenge(random_seed=1, progressbar=False, callback=interrupt)
    assert "stopped before the end" in found.statement
    assert len(found.attempts) < 5
    soon = result.challenge(max_time=1e-3, random_seed=1, progressbar=False)
    assert "The time was over before" in soon.statement
    assert not soon.refuted
    run = result.challenge(random_seed=1, progressbar=False, blocking=False)
    assert not run.stop().refuted


def test_one_chain_and_single_elements_can_be_challenged(little: None) -> None:
    """And variables that do not vary, as the diagonal of a correlation matrix."""
    with pm.Model() as model:
        c = pm.LKJCorr("c", n=2, eta=2.0)
        pm.MvNormal("y", np.zeros(2), cov=c, observed=[[0.3, 0.4], [-0.5, -0.6], [1.0, 0.2]])
        result = pm.sample(400, tune=300, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False)
    assert not challenged(result, model, max_time=5).refuted


def test_labels_that_can_be_exchanged_are_the_same_answer(little: None) -> None:
    """Draws of a mixture in one labelling are not refuted, and the challenge says why."""
    y = np.concatenate([np.linspace(-2.5, -1.5, 8), np.linspace(1.5, 2.5, 8)])
    with pm.Model() as model:
        mu, w = pm.Normal("mu", 0.0, 3.0, shape=2), pm.Dirichlet("w", np.ones(2))
        pm.NormalMixture("y", w=w, mu=mu, sigma=0.5, observed=y)
        result = pm.sample(
            400,
            tune=300,
            initvals={"mu": [-2.0, 2.0]},
            init="adapt_diag",
            remedies=(),
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    assert float(result.posterior["mu"][..., 0].max()) < 0.0
    found = challenged(result, model)
    assert not found.refuted
    assert "The labels of `mu`, `w` can be exchanged" in found.statement
