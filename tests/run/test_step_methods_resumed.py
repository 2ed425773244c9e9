"""Step methods by themselves and in turn: threads have no part in their draws, nor has where a run was cut off."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.inference import NUTS
from consilience.model.log_density import model_density
from consilience.model.starting_point import starting_positions
from consilience.run import RunPlan
from consilience.sample.step_methods import DivisibleDensity, assigned
from tests.run.kills import Story, check_kills
from tests.run.launching import launch, run_chains
from tests.run.support import Tape, fingerprint, finish, resumed

CHAINS = 8
DATA = np.random.default_rng(0).normal(size=24) + np.repeat([0.0, 3.0], [16, 8])
FIXED = RunPlan(tune=150, draws=200)
DECIDED = RunPlan(max_draws=250, rule=StoppingRule(target_ess=50.0))


def two_groups() -> pm.Model:
    """Binary assignments with a probability and a distance that are not known."""
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 2.0)
        mu = pm.Normal("mu", 2.0, 1.0)
        z = pm.Bernoulli("z", p, shape=24)
        pm.Normal("y", mu * z, 1.0, observed=DATA)
    return model


def three_groups() -> pm.Model:
    """Categories whose elements depend on each other, beside a spread."""
    with pm.Model() as model:
        sigma = pm.LogNormal("sigma", 0.0, 0.3)
        z = pm.Categorical("z", [0.3, 0.3, 0.4], shape=4)
        pm.Normal("y", z.sum(), sigma, observed=DATA)
    return model


def change_point() -> pm.Model:
    """Two levels and the time between them."""
    with pm.Model() as model:
        levels = pm.Normal("levels", 0.0, 3.0, shape=2)
        when = pm.DiscreteUniform("when", 0, 24)
        pm.Normal("y", pm.math.where(np.arange(24) < when, levels[0], levels[1]), 1.0, observed=DATA)
    return model


def regression() -> pm.Model:
    """Two coefficients and a scale."""
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=2)
        sigma = pm.HalfNormal("sigma", 2.0)
        pm.Normal("y", b[0] + b[1] * np.linspace(-1.0, 1.0, 24), sigma, observed=DATA)
    return model


STORIES: dict[str, tuple[Callable[[], pm.Model], Any, RunPlan]] = {
    "NUTS": (regression, None, DECIDED),
    "NUTS and binary Gibbs": (two_groups, None, DECIDED),
    "NUTS and categorical Gibbs": (three_groups, None, FIXED),
    "Metropolis and NUTS": (change_point, [pm.Metropolis(["when"]), pm.NUTS(["levels"])], FIXED),
    "three that tune themselves": (
        two_groups,
        [pm.Slice(["mu"]), pm.DEMetropolisZ(["p"]), pm.BinaryMetropolis(["z"])],
        DECIDED,
    ),
    "DEMetropolisZ": (regression, pm.DEMetropolisZ(), FIXED),
    "DEMetropolisZ, snooker": (regression, pm.DEMetropolisZ(snooker=0.1), DECIDED),
    "tempering": (regression, pm.ParallelTempering(), FIXED),
    "stretch": (regression, pm.StretchEnsemble(), FIXED),
    "population": (regression, pm.DEMetropolis(), FIXED),
}


@cache
def story(name: str) -> Story:
    """Density, kernel and starting points as `pm.sample` makes them, with the options of the run."""
    model, step, options = STORIES[name]
    own = model()
    density = model_density(own)
    return DivisibleDensity(density), assigned(own, density, step, NUTS()), starting_positions(density, 8, 1), options


@pytest.mark.parametrize("name", STORIES)
def test_draws_are_the_same_bits_for_one_to_eight_threads(name: str) -> None:
    target, kernel, points, options = story(name)
    runs = [run_chains(target, kernel, points, options, seed=3, cores=cores) for cores in (1, 2, 4, 8)]
    assert runs[0].draws.shape[0] == CHAINS
    assert len({fingerprint(run) for run in runs}) == 1


@pytest.mark.parametrize("name", STORIES)
def test_a_run_cut_off_after_any_segment_goes_on_as_it_would_have(name: str, tmp_path: Path) -> None:
    """From the checkpoint of every segment, with another number of threads."""
    target, kernel, points, options = story(name)
    tape = Tape(tmp_path)
    unbroken = finish(launch(target, kernel, points, options, seed=3, cores=2, keep=tape))
    assert len(tape.moments) >= 3
    for number, (path, stage) in enumerate(tape.moments):
        got = resumed(path, target, kernel, points, options, seed=3, cores=1 + number % 4)
        assert fingerprint(got) == fingerprint(unbroken), (number, stage)


@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_two_step_methods_killed_at_random_moments_and_resumed(tmp_path: Path) -> None:
    check_kills(tmp_path / "c", story, "NUTS and binary Gibbs", 3, 0.3)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["NUTS", "NUTS and binary Gibbs", "DEMetropolisZ", "tempering"])
def test_step_methods_killed_at_a_hundred_random_moments_and_resumed(name: str, tmp_path: Path) -> None:
    """A run goes on from the state that the kill before left, until it ends and another begins."""
    check_kills(tmp_path / "c", story, name, 100, 0.3)
