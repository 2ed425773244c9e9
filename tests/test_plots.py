"""ArviZ's functions under PyMC's names: all are there, they take our results, what is missing is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience import plots
from consilience.errors import MissingPackageError
from consilience.names import absent

FROM_ARVIZ = {name: package for package, names in plots.NAMES.items() for name in names.split()}


def fitted(mean: str) -> Any:
    """A regression on a line or on a constant with everything that a plot may want."""
    x = np.linspace(-1, 1, 30)
    y = 1 + 2 * x + np.random.default_rng(1).normal(0, 0.5, x.size)
    with pm.Model(coords={"term": ["one", "x"], "place": range(x.size)}):
        b = pm.Normal("b", 0, 2, dims="term")
        sigma = pm.HalfNormal("sigma", 1)
        x = pm.Data("x", x, dims="place")
        line = b[0] + b[1] * x if mean == "line" else b[0] + 0 * x
        pm.Normal("y", pm.Deterministic("mu", line, dims="place"), sigma, observed=y, dims="place")
        result = pm.sample(random_seed=2, progressbar=False)
        result.update(pm.sample_prior_predictive(200, random_seed=1))
        pm.compute_log_likelihood(result)
        pm.sample_posterior_predictive(result, extend_inferencedata=True, random_seed=1)
    return result


@pytest.fixture(scope="module")
def line() -> Any:
    """The model that made the data."""
    return fitted("line")


@pytest.fixture
def agg(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pictures without a screen, closed in the end."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    import_module("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("name", sorted(FROM_ARVIZ))
def test_every_name_exists_in_arviz(name: str) -> None:
    """What is passed on has somewhere to go."""
    assert callable(getattr(import_module(FROM_ARVIZ[name]), name))


@pytest.mark.parametrize("former", plots.RENAMED)
def test_a_renamed_function_leads_to_one_that_exists(former: str) -> None:
    """The new name is listed, the old one is gone from ArviZ."""
    assert plots.RENAMED[former] in FROM_ARVIZ
    assert not hasattr(import_module(FROM_ARVIZ[plots.RENAMED[former]]), former)


@pytest.mark.parametrize("former", absent.FORMER)
def test_a_former_name_tells_what_to_use(former: str) -> None:
    """It is no attribute, and the functions in its place are."""
    with pytest.raises(AttributeError, match=f"no attribute '{former}': ArviZ 1.0 gave it up; ") as error:
        getattr(pm, former)
    named = [word.split("(")[0] for word in str(error.value).split("`")[1::2]]
    assert named
    assert set(named) <= {*FROM_ARVIZ, "loo"}


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("plot_autocorr", {"var_names": ["sigma"]}),
        ("plot_dist", {"var_names": ["b"]}),
        ("plot_energy", {}),
        ("plot_ess", {"var_names": ["sigma"]}),
        ("plot_forest", {"var_names": ["b"]}),
        ("plot_lm", {"x": "x", "y": "y"}),
        ("plot_loo_pit", {}),
        ("plot_pair", {"var_names": ["b"]}),
        ("plot_posterior", {"var_names": ["sigma"]}),
        ("plot_ppc", {}),
        ("plot_ppc_dist", {}),
        ("plot_prior_posterior", {"var_names": ["b"]}),
        ("plot_rank", {"var_names": ["sigma"]}),
        ("plot_trace", {"var_names": ["b"]}),
        ("plot_trace_dist", {"var_names": ["sigma"]}),
    ],
)
@pytest.mark.usefixtures("agg")
def test_a_result_can_be_plotted(line: Any, name: str, keywords: dict[str, Any]) -> None:
    """Each takes a result as it is and gives a picture."""
    assert getattr(pm, name)(line, **keywords).viz is not None


@pytest.mark.usefixtures("agg")
@pytest.mark.filterwarnings(
    "ignore:The inplace keyword:DeprecationWarning"
)  # of ArviZ 0.8, about its own use of pandas
def test_models_are_compared(line: Any) -> None:
    """The line fits data from a line better than a constant does, in the table and in its picture."""
    table = pm.compare({"line": line, "constant": fitted("constant")})
    assert list(table.index) == ["line", "constant"]
    assert pm.loo(line).elpd > pm.loo(fitted("constant")).elpd
    assert pm.plot_compare(table) is not None


def test_statistics_agree_with_the_summary(line: Any) -> None:
    """ArviZ's functions read the draws as ours do."""
    ours = pm.summary(line, var_names=["sigma"])
    assert float(pm.rhat(line)["sigma"]) == pytest.approx(float(ours["r_hat"][0]), abs=1e-9)
    assert float(pm.ess(line)["sigma"]) == pytest.approx(float(ours["ess_bulk"][0]), rel=1e-9)


@pytest.mark.parametrize("name", ["plot_trace", "hdi"])
def test_a_missing_package_is_named_with_its_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is there all the same; calling it raises an ImportError that says what to install."""
    monkeypatch.setitem(sys.modules, FROM_ARVIZ[name], None)
    with pytest.raises(MissingPackageError, match=r"pip install 'consilience\[plots\]'") as error:
        getattr(pm, name)(None)
    assert isinstance(error.value, ImportError)
    assert name in str(error.value)
