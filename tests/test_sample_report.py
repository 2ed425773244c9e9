"""What is told of a run: an account of all that happened, and warnings of nothing but the result."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.diagnostics import error_rates
from consilience.events import Status
from consilience.sample import report as reports
from tests.test_sample import QUIET


def fragile() -> pm.Model:
    """Failure times whose shape is exp(10 a): from some places no step leads away."""
    rng = np.random.default_rng(1)
    y = rng.weibull(1.4, 60) * 500
    with pm.Model() as model:
        mu = pm.Normal("mu", mu=0, sigma=100, initval=5.0)
        alpha = pm.Deterministic("alpha", pm.math.exp(10.0 * pm.Normal("a0", mu=0, sigma=0.1)))
        beta = pm.math.exp(mu / alpha)
        pm.Weibull("y_obs", alpha=alpha, beta=beta, observed=y[y < 700])
        pm.Potential("y_cens", -((y[y >= 700] / beta) ** alpha))
    return model


def told(**attributes: Any) -> xarray.DataTree:
    """A result of these attributes."""
    draws = xarray.Dataset({"x": (("chain", "draw"), np.zeros((4, 10)))}, attrs={"status": "converged", **attributes})
    return xarray.DataTree(children={"posterior": xarray.DataTree(draws)})


def test_a_chain_that_begins_badly_begins_again_without_a_warning(tmp_path: Path) -> None:
    """It is told of, with the reason; a result read from a store tells the same."""
    with fragile(), warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*chain.*")
        warnings.filterwarnings("ignore", message=".*diverge.*")
        result = pm.sample(random_seed=1, **QUIET)
    assert result.posterior.sizes["chain"] == 4
    assert result.status.startswith("converged")
    account = result.report()
    assert "chain 1 began again at another starting point" in account
    assert repr(account) == str(account)
    assert max(map(len, account.splitlines())) <= reports.WIDTH
    result.to_netcdf(tmp_path / "result.nc")
    with xarray.open_datatree(tmp_path / "result.nc") as read:
        assert pm.report(read) == account
    assert pickle.loads(pickle.dumps(result)).report() == account


@pytest.mark.parametrize("status", Status.__args__)
def test_every_status_says_what_it_promises(status: str) -> None:
    account = reports.report(told(status=status, reason="of a reason"))
    assert f"{status}, which means" in account
    assert "because of a reason" in account
    assert set(error_rates.RATES) <= set(reports.PROMISES)


def test_what_happened_before_is_told() -> None:
    """Results of earlier versions have fewer attributes."""
    account = pm.report(
        told(
            restarts=json.dumps(["divergences", "another"]),
            diverged_before=json.dumps({"divergences": 9, "draws": 1600}),
            marginalized=json.dumps(["k"]),
            notes=json.dumps(["chain 2 was left out"]),
        )
    )
    said = " ".join(account.split())
    assert "with smaller steps; earlier draws are not in the result" in said
    assert "another; earlier draws" in said
    assert "9 of 1,600 discarded draws" in said
    assert "`k` was summed out" in said
    assert "chain 2 was left out" in said


def test_a_rate_of_error_comes_with_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Clopper and Pearson; few results tell none."""
    from scipy.stats import beta

    monkeypatch.setattr(reports, "RATES", {"converged": (1, 2000)})
    low, high = beta.ppf(0.025, 1, 2000), beta.ppf(0.975, 2, 1999)
    assert f"0.05% (95 % interval {low:.2%} to {high:.2%})" in " ".join(pm.report(told()).split())
    assert reports.interval(0, 10)[0] == 0.0
    assert reports.interval(10, 10)[1] == 1.0
    monkeypatch.setattr(reports, "RATES", {"converged": (0, 5)})
    assert "interval" not in pm.report(told())


@pytest.mark.parametrize("other", [3, None, xarray.DataTree()])
def test_what_is_no_result_is_refused(other: Any) -> None:
    with pytest.raises(pm.SamplingError, match="`report` explains a result"):
        pm.report(other)


def test_an_isolated_divergence_is_no_warning() -> None:
    """One of 1,600, where chains come soon to all places: told of, in the account."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model(), warnings.catch_warnings():
        warnings.simplefilter("error")
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        pm.Normal("y", mu + tau * pm.Normal("z", 0.0, 1.0, shape=8), errors, observed=effects)
        result = pm.sample(random_seed=1, **QUIET)
    assert int(result.sample_stats["diverging"].sum()) == 1
    assert (result.status, result.reason) == ("converged", "")
    assert "1 of the 1,600 draws of the result" in result.report()


def test_a_length_known_at_the_run_is_written_down(tmp_path: Path) -> None:
    """As in PyMC's idiom of predictions: in the page, the store with its journal, the checkpoint and the picture."""
    with pm.Model() as model:
        x = pm.Data("x", np.arange(5.0))
        mu = pm.Deterministic("mu", pm.Normal("b") * x)
        pm.Normal("y", mu, 1, observed=np.arange(5.0), shape=x.shape[0])
        save = pm.Save(store=tmp_path / "run.zarr", checkpoint=tmp_path / "checkpoint")
        result = pm.sample(draws=50, tune=50, random_seed=1, save=save, **QUIET)
    result.report()
    pm.report(result, tmp_path / "page.html")
    assert '"observed":{"y":[5]}' in (tmp_path / "page.html").read_text(encoding="utf-8")
    journal = next((tmp_path / "run.zarr").rglob("*.jsonl")).read_text(encoding="utf-8")
    assert json.loads(journal.splitlines()[0])["observed"] == {"y": [5]}
    assert "5" in pm.model_to_mermaid(model)


def test_advice_of_the_run_comes_before_what_helps_as_a_rule() -> None:
    said = " ".join(pm.report(told(status="not_converged", advice="Write `a`.")).split())
    assert said.endswith("help Write `a`.")
    assert "pm.noncenter" in pm.report(told(status="not_converged"))


def test_what_was_not_done_comes_first_and_light_regions_together() -> None:
    def region(mass: float | None, at: float) -> dict[str, Any]:
        return {"mass": mass, "uncertain": False, "starting_points": 0.3, "log_density": 0.0, "place": {"x": at}}

    regions = [region(0.7, 1.0), region(0.2999, 2.0), region(0.00005, 3.0), region(0.00005, 4.0)]
    statement = "9 ascents ended in 4 regions. The budget of 10 evaluations did not allow all comparisons."
    account = pm.report(told(regions=json.dumps({"statement": statement, "regions": regions})))
    said = " ".join(account.split())
    assert "regions The budget of 10 evaluations did not allow all comparisons. 9 ascents ended" in said
    assert "x = 2" in said
    assert "x = 3" not in said
    assert "2 more hold 0.01% of the probability together" in said


def test_a_search_that_was_switched_off_is_told() -> None:
    """Chains that are all in one of two places do not show the other, whatever their R-hat."""
    with pm.Model() as model:
        place = pm.Normal("place", 0, 10)
        pm.Normal("y", place**2, 0.5, observed=[36.0, 36.1])
    result = pm.sample(model=model, remedies=(), initvals={"place": 6.0}, random_seed=1, **QUIET)
    assert result.status == "converged"
    assert float(result["posterior"]["place"].min()) > 0.0
    words = "Separate modes were not searched for"
    assert words in " ".join(result.report().split())
    assert words not in " ".join(pm.sample(model=model, random_seed=1, **QUIET).report().split())
    assert words not in " ".join(pm.report(told(status="completed")).split())


def test_an_r_hat_above_what_is_asked_for_is_explained() -> None:
    """Where all is there it is no more than chance; where it is not nothing is explained away."""
    check = {"ess_name": "x", "ess": 450.0, "target_ess": 400.0, "rhat": 1.027, "target_rhat": 1.01}
    said = " ".join(pm.report(told(last_check=json.dumps(check | {"passed": True}))).split())
    assert "R-hat is 1.027 (target 1.01); it is above the target by chance" in said
    missed = told(status="not_converged", last_check=json.dumps(check | {"passed": False}))
    assert "by chance" not in " ".join(pm.report(missed).split())
    fine = told(last_check=json.dumps(check | {"passed": True, "rhat": 1.009}))
    assert "by chance" not in " ".join(pm.report(fine).split())
