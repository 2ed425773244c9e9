"""Groups of `pm.sample`'s keywords: the same runs as by older names, one place for each, mistakes in users' words."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.model import keywords
from consilience.record import field_names
from consilience.sample import groups
from consilience.sample.groups import GROUPS, KNOWN, OLDER, REMEDIES, whole

QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False, "compute_convergence_checks": False}
OTHERS: dict[str, Any] = {
    "target_ess": 111.0, "target_rhat": 1.05, "rhat": "strict", "min_draws": 40, "max_draws": 90, "max_time": 77.0,
    "monitor": ("up",), "min_tune": 10, "max_tune": 70, "pool": False, "metric": "dense", "window_budget": 10**6,
    "checkpoint": "there", "store": "there.zarr", "overwrite": True, "deterministics": "eager", "escalate": False,
    "reparametrize": False, "jumps": 0, "modes": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keywords, "_told", set())


def model() -> pm.Model:
    with pm.Model() as made:
        x = pm.Normal("x")
        pm.Deterministic("up", x + 1)
        pm.Normal("y", x, 1, observed=[0.5, 1.0])
    return made


def read(**given: Any) -> groups.Groups:
    asked = {"stop": None, "tuning": None, "remedies": REMEDIES, "save": None}
    return whole("sample", given, **{name: given.pop(name, value) for name, value in asked.items()})


def test_every_part_of_a_group_has_one_older_name_and_none_is_in_the_signature() -> None:
    """29 parameters are left, and every part and every remedy but those that are new can be said both ways."""
    parts = [(name, part) for name, kind in GROUPS.items() for part in field_names(kind)]
    assert sorted(set(OLDER.values()) - {("remedies", name) for name in KNOWN}) == sorted(parts)
    shown = inspect.signature(pm.sample).parameters
    assert not OLDER.keys() & shown.keys()
    assert len(shown) <= 30


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_older_names_mean_their_parts() -> None:
    """One by one, each with another value than the default, and all at once."""
    assert OTHERS.keys() == OLDER.keys()
    usual = read()
    for old, value in OTHERS.items():
        group, part = OLDER[old]
        found = read(**{old: value})
        if group == "remedies":
            assert found.remedies == tuple(name for name in REMEDIES if name != part)
        else:
            assert getattr(getattr(found, group), part) == (True if old == "rhat" else value)
        assert found != usual
        for other in {"stop", "tuning", "remedies", "save"} - {group}:
            assert getattr(found, other) == getattr(usual, other)
    assert read(**OTHERS).remedies == tuple(name for name in REMEDIES if name == "metric" or name not in KNOWN)
    assert read(jumps=3).jumps == 3


def test_runs_are_the_same_by_older_names_and_by_groups(tmp_path: Path) -> None:
    """Draws bit for bit; the checkpoint of one is resumed as the other's."""
    with pytest.warns(DeprecationWarning, match="still works; today"):
        old = pm.sample(
            model=model(), target_ess=50, min_draws=60, max_draws=120, metric="dense", pool=False, tune=60, jumps=2,
            modes=False, checkpoint=tmp_path / "old", **QUIET,
        )  # fmt: skip
    new = pm.sample(
        model=model(), stop=pm.Stop(ess=50, min_draws=60, max_draws=120), tuning=pm.Tuning(metric="dense", pool=False),
        tune=60, remedies=("steps", "coordinates", "metric"), nuts={"jumps": 2},
        save=pm.Save(checkpoint=tmp_path / "new"), **QUIET,
    )  # fmt: skip
    np.testing.assert_array_equal(old.posterior["x"], new.posterior["x"])
    again = pm.resume(tmp_path / "new", model(), progressbar=False)
    np.testing.assert_array_equal(again.posterior["x"], old.posterior["x"])


def test_older_names_are_said_once_in_a_process() -> None:
    with pytest.warns(DeprecationWarning, match=re.escape("`stop=pm.Stop(ess=…, max_time=…)`, `remedies=(…)` with")):
        whole("sample", {"target_ess": 1, "max_time": 2, "modes": True}, stop=None, remedies=REMEDIES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(target_ess=3)
        read(stop=pm.Stop(ess=3))


@pytest.mark.parametrize("old", OLDER)
def test_a_group_beside_an_older_name_of_a_part_of_it_is_an_error_that_names_both(old: str) -> None:
    group = OLDER[old][0]
    given = {"stop": pm.Stop(), "tuning": pm.Tuning(), "remedies": ("steps",), "save": pm.Save()}[group]
    with pytest.raises(pm.SamplingError, match=f"given both `{group}` and `{old}`"):
        pm.sample(model=model(), **{old: OTHERS[old], group: given})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"stop": {"ess": 3}}, pm.SamplingError, r"`stop` must be made by `pm.Stop\(…\)`, .*got {'ess': 3}"),
        ({"tuning": 300}, pm.SamplingError, r"`tuning` must be made by `pm.Tuning\(…\)`.*got 300"),
        ({"save": "run.zarr"}, pm.SamplingError, r"`save` must be made by `pm.Save\(…\)`"),
        ({"target_ess": -1}, pm.SamplingError, "`target_ess` must be positive, got -1"),
        ({"metric": "full"}, pm.SamplingError, "`metric` must be one of 'auto', 'diag'"),
        ({"rhat": "loose"}, pm.SamplingError, "`rhat` must be one of 'noise-adjusted', 'strict', got 'loose'"),
        ({"ess": 100}, TypeError, r"no argument `ess`; did you mean `stop=pm.Stop\(ess=…\)`\?"),
        ({"target_es": 100}, TypeError, r"no argument `target_es`; did you mean `stop=pm.Stop\(ess=…\)`\?"),
        ({"remedies": "stps"}, pm.SamplingError, r"`remedies` may name .*, got 'stps'; did you mean 'steps'\?"),
        ({"remedies": ("reparametrise",)}, pm.SamplingError, r"did you mean 'coordinates'\?"),
        ({"remedies": ("luck",)}, pm.SamplingError, "'modes', got 'luck'."),
        ({"remedies": None}, pm.SamplingError, r"`remedies` must be names among .*\(\) for none; got None"),
        ({"remedies": True}, pm.SamplingError, "got True"),
        ({"nuts": {"jumps": -1}}, pm.SamplingError, "`jumps` must be an integer of at least 0, got -1"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mistakes_are_told_before_anything_runs(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pm.sample(model=model(), **given, **QUIET)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pm.Stop(ess="many"), pm.SamplingError, r"`pm.Stop\(ess=…\)` must be positive, got 'many'"),
        (lambda: pm.Stop(rhat=0.9), pm.SamplingError, r"`pm.Stop\(rhat=…\)` must lie between 1 and 2"),
        (lambda: pm.Stop(rhat=float("nan")), pm.SamplingError, "between 1 and 2, got nan"),
        (lambda: pm.Stop(min_draws=2.5), pm.SamplingError, r"`pm.Stop\(min_draws=…\)` must be an integer"),
        (lambda: pm.Stop(max_time="5 min"), pm.SamplingError, r"`pm.Stop\(max_time=…\)` must be a number of seconds"),
        (lambda: pm.Stop(strict="yes"), pm.SamplingError, r"`pm.Stop\(strict=…\)` must be True or False"),
        (lambda: pm.Stop(esss=5), TypeError, r"`Stop` has no argument `esss`; did you mean `ess`\?"),
        (lambda: pm.Stop(target_ess=5), TypeError, "`Stop` has no argument `target_ess`: it is `ess=`"),
        (lambda: pm.Tuning(max_tune=5), TypeError, "it is `max=`"),
        (lambda: pm.Tuning(max=0), pm.SamplingError, r"`pm.Tuning\(max=…\)` must be an integer of at least 1"),
        (lambda: pm.Save(store=5), pm.SamplingError, r"`pm.Save\(store=…\)` must be a path, got 5"),
        (lambda: pm.Save(deterministics="soon"), pm.SamplingError, "'lazy', 'eager', got 'soon'"),
        (lambda: setattr(pm.Save("run"), "store", "s"), AttributeError, "Save is frozen"),
    ],
)
def test_a_group_says_what_is_wrong_when_it_is_made(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_groups_are_values() -> None:
    for group in (pm.Stop(ess=5, monitor=("a",)), pm.Tuning(max=9), pm.Save("run", overwrite=True)):
        assert pickle.loads(pickle.dumps(group)) == copy.copy(group) == group
        assert hash(group) == hash(copy.copy(group))
        assert eval(repr(group), vars(pm) | {"Stop": pm.Stop, "Tuning": pm.Tuning, "Save": pm.Save}) == group


def test_other_functions_take_the_group_they_have_and_no_other(tmp_path: Path) -> None:
    with pytest.raises(pm.SamplingError, match=r"`sample_smc` has no `pm.Save\(store=…, deterministics=…\)`"):
        pm.sample_smc(model=model(), save=pm.Save(store="run.zarr"))
    with pytest.raises(pm.SamplingError, match="given both `save` and `checkpoint`"):
        pm.sample_smc(model=model(), save=pm.Save(), checkpoint=tmp_path / "run")
    with pytest.raises(TypeError, match="`sample_smc` has no argument `target_ess`"):
        pm.sample_smc(model=model(), target_ess=100)


def test_the_page_of_runs_runs(tmp_path: Path) -> None:
    """As one script."""
    text = (Path(__file__).resolve().parents[1] / "docs" / "do" / "runs.md").read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), "utf-8")
    found = runpy.run_path(str(script), run_name="page")
    assert found["result"].status == "converged"
    assert np.isfinite(found["smc"].posterior.attrs["log_marginal_likelihood"])
