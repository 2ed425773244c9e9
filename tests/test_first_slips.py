"""Slips of a first hour are answered with the word that was meant: a model or a call with one, and what is said."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.names import older_names
from consilience.sample import arguments

EFFECT = np.array([28, 8, -3, 7, -1, 1, 18, 12])
ERROR = np.array([15, 10, 16, 11, 9, 11, 10, 18])


def schools(of_theta: Callable[[Any], Any] = lambda theta: theta, **prior: Any) -> pm.Model:
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0, **(prior or {"sigma": 5}))
        theta = pm.Deterministic("theta", mu + pm.Normal("z", dims="school"), dims="school")
        of_theta(theta)
    return model


SLIPS: list[tuple[str, Callable[[], Any], str]] = [
    ("a misspelt parameter", lambda: schools(sgima=5), r"`sgima` \(did you mean `sigma`\?\).*`mu`"),
    ("SciPy's parameter", lambda: schools(scale=5), r"`scale` \(did you mean `sigma`\?\)"),
    ("misspelt data", lambda: schools(lambda t: pm.Normal("y", t, 1, obsrved=EFFECT)), r"did you mean `observed`\?"),
    ("data by position", lambda: schools(lambda t: pm.Normal("y", t, ERROR, EFFECT)), r"given by name, `observed=…`"),
    ("data that are too short", lambda: schools(lambda t: pm.Normal("y", t, ERROR, observed=EFFECT[:7])),
     r"\(8,\).*\(7,\).*`y`.*`mu\[group\]`"),
    ("math.exp", lambda: schools(lambda t: math.exp(t)), r"`pm.math.exp\(x\)` for `math.exp\(x\)`"),
    ("a label as an index", lambda: schools(lambda t: t["A"]), r"`x\[labels.index\('A'\)\]`"),
    ("data that are not declared", lambda: schools().set_data("x", [1.0]), r"`pm.Data\('x', values\)` inside"),
    ("a misspelt keyword", lambda: pm.sample(model=schools(), taget_accept=0.9), r"did you mean `target_accept`\?"),
    ("a misspelt keyword of the summary", lambda: pm.summary(draws(), var_name=["mu"]), r"did you mean `var_names`\?"),
    ("a misspelt variable", lambda: pm.summary(draws(), var_names=["thta"]), r"'thta'; there are: mu, z, theta"),
    ("a variable as an attribute of the result", lambda: draws().theta, r"`result.posterior\['theta'\]`"),
    ("a misspelt label", lambda: pm.summary(draws(), coords={"school": ["I"]}), r"'school', whose labels are A, B, C"),
    ("a misspelt dimension", lambda: pm.summary(draws(), coords={"scholl": "A"}), r"with labels: .*'school'"),
    ("cross-validation too early", lambda: pm.loo(draws()), r"`pm.compute_log_likelihood\(result, model=model\)`"),
    ("comparison too early", lambda: pm.compare({"a": draws()}), r"'a' has no log.*`pm.compute_log_likelihood\("),
    ("comparison of a list", lambda: pm.compare([draws()]), r"dictionary of results by name.*got a list\.$"),
    ("tuning draws by position", lambda: pm.sample(100, 50, model=schools()), r"only `draws` by position.*`tune=…`"),
    ("a probability without a link", lambda: pm.sample(model=rows_without_a_link()), r"p = .*: must be >= 0 and <= 1"),
    ("another keyword for the target", lambda: draws().extend(ess=100), r"no argument `ess`: it is `target_ess=`"),
]  # fmt: skip


def rows_without_a_link() -> pm.Model:
    with pm.Model() as model:
        pm.Bernoulli("y", pm.Normal("a") + np.array([-9.0, 9.0]), observed=[0, 1])
    return model


def draws() -> Any:
    return pm.sample(
        10, tune=10, chains=1, model=schools(), random_seed=1, progressbar=False, compute_convergence_checks=False
    )


@pytest.mark.parametrize(("slip", "meant"), [row[1:] for row in SLIPS], ids=[row[0] for row in SLIPS])
def test_a_slip_is_answered_with_what_was_meant(slip: Callable[[], Any], meant: str) -> None:
    with pytest.raises((AttributeError, TypeError, ValueError, LookupError)) as caught:
        slip()
    said = " ".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert re.search(meant, said), said


@pytest.mark.parametrize(("word", "own"), arguments.ELSEWHERE.items())
def test_keywords_of_other_programs_are_answered(word: str, own: str) -> None:
    with pytest.raises(TypeError, match=f"no argument `{word}`; did you mean `{own}`"):
        pm.sample(model=schools(), **{word: 1})


@pytest.mark.parametrize(("word", "meant"), older_names._ELSEWHERE.items())
def test_parameters_of_other_programs_are_those_of_some_distribution(word: str, meant: str) -> None:
    for own in meant.split():
        assert f"`{own}`" in older_names.parameter(word, [own])
    assert older_names.parameter(word, ["something", "else"]) in ("", " (did you mean `observed`?)")


def test_a_model_without_data_is_said_to_give_its_prior() -> None:
    assert "draws from the prior" in str(draws().report())
    with schools() as model:
        pm.Normal("y", model["theta"], 1, observed=EFFECT, dims="school")
        informed = pm.sample(10, tune=10, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False)
    assert "draws from the prior" not in str(informed.report())
