"""Groups of `pm.sample`'s keywords: one place for each, mistakes in users' words."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.sample.groups import SPELLED

QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False, "compute_convergence_checks": False}


def model() -> pm.Model:
    with pm.Model() as made:
        x = pm.Normal("x")
        pm.Deterministic("up", x + 1)
        pm.Normal("y", x, 1, observed=[0.5, 1.0])
    return made


def test_no_part_of_a_group_is_a_keyword_of_its_own() -> None:
    """31 parameters at most; a part asked for as a keyword is answered with the way to write it."""
    shown = inspect.signature(pm.sample).parameters
    assert not SPELLED.keys() & shown.keys()
    assert len(shown) <= 31
    for part, written in SPELLED.items():
        with pytest.raises(TypeError, match=re.escape(f"no argument `{part}`; did you mean `{written}`?")):
            pm.sample(model=model(), **{part: 1})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"stop": {"ess": 3}}, pm.SamplingError, r"`stop` must be made by `pm.Stop\(…\)`, .*got {'ess': 3}"),
        ({"tuning": 300}, pm.SamplingError, r"`tuning` must be made by `pm.Tuning\(…\)`.*got 300"),
        ({"save": "run.zarr"}, pm.SamplingError, r"`save` must be made by `pm.Save\(…\)`"),
        ({"ess": 100}, TypeError, r"no argument `ess`; did you mean `stop=pm.Stop\(ess=…\)`\?"),
        ({"remedies": "stps"}, pm.SamplingError, r"`remedies` may name .*, got 'stps'; did you mean 'steps'\?"),
        ({"remedies": ("luck",)}, pm.SamplingError, "'modes', got 'luck'."),
        ({"remedies": None}, pm.SamplingError, r"`remedies` must be names among .*\(\) for none; got None"),
        ({"remedies": True}, pm.SamplingError, "got True"),
        ({"nuts": {"jumps": -1}}, pm.SamplingError, "`jumps` must be an integer of at least 0, got -1"),
    ],
)
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


def test_other_functions_take_the_group_they_have_and_no_other() -> None:
    with pytest.raises(pm.SamplingError, match=r"`sample_smc` has no `pm.Save\(store=…, deterministics=…\)`"):
        pm.sample_smc(model=model(), save=pm.Save(store="run.zarr"))
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
