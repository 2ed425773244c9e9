"""Sampling reproduces published reference posteriors.

The criterion, for every parameter: |mean - reference| < 4 standard errors (reference's and own), standard
deviation within 10 % of the reference's, split R-hat < 1.03.
`CONSILIENCE_SEEDS=1,2,3,4 make test-slow` repeats each posterior for several seeds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arviz_stats.base import array_stats

import consilience as pm
import consilience.tensor as pt
from consilience.diagnostics import mcse_sd
from tests.posteriordb.models import MODELS

DATA = Path(__file__).parent / "data"
SEEDS = [int(seed) for seed in os.environ.get("CONSILIENCE_SEEDS", "1").split(",")]
SETTINGS = {"draws": 1500, "tune": 1500, "chains": 4, "progressbar": False}


def load(name: str) -> dict[str, Any]:
    """Data and reference summary of one posterior."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def draws_of(posterior: Any, parameter: str) -> np.ndarray:
    """Draws (chain, draw) of a reference parameter such as `mu` or `beta[2]`, counted from 1."""
    name, _, index = parameter.rstrip("]").partition("[")
    values = np.asarray(posterior[name])
    flat = values.reshape(*values.shape[:2], -1)
    return flat[:, :, int(index) - 1 if index else 0]


def compare(posterior: Any, reference: dict[str, dict[str, float]]) -> dict[str, np.ndarray]:
    """Distance of means in standard errors, ratio of standard deviations and split R-hat per parameter."""
    rows = []
    for parameter, published in reference.items():
        draws = draws_of(posterior, parameter)
        own_error = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")
        error = np.hypot(published["mcse_mean"], own_error)
        rows.append(
            (
                (draws.mean() - published["mean"]) / error,
                draws.std(ddof=1) / published["sd"],
                array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="split"),
            )
        )
    return dict(zip(("z", "ratio", "rhat"), np.array(rows).T, strict=True))


def test_every_data_file_has_a_model() -> None:
    """The table of models and the data files name the same posteriors."""
    assert {path.stem for path in DATA.glob("*.json")} == set(MODELS)


def reproduced(found: dict[str, np.ndarray]) -> bool:
    """Whether a comparison meets the criterion."""
    means = np.abs(found["z"]) < 4
    spreads = (found["ratio"] > 0.9) & (found["ratio"] < 1.1)
    return bool(np.all(means & spreads & (found["rhat"] < 1.03)))


@pytest.mark.parametrize(
    ("shift", "scale", "drift", "expected"),
    [(0, 1, 0, True), (0.2, 1, 0, False), (0, 1.2, 0, False), (0, 0.85, 0, False), (0, 1, 0.8, False)],
)
def test_criterion_tells_right_draws_from_wrong(shift: float, scale: float, drift: float, expected: bool) -> None:
    """Draws with the published moments pass; shifted, rescaled or drifting ones do not."""
    reference = load("arK-arK")["reference_summary"]
    rng = np.random.default_rng(1)
    trend = np.linspace(-drift, drift, 1500)
    posterior: dict[str, np.ndarray] = {}
    for name, size in (("alpha", None), ("beta", 5), ("sigma", None)):
        keys = [f"{name}[{i + 1}]" for i in range(size)] if size else [name]
        draws = [
            reference[key]["mean"] + reference[key]["sd"] * (shift + trend + scale * rng.standard_normal((4, 1500)))
            for key in keys
        ]
        posterior[name] = np.stack(draws, axis=-1) if size else draws[0]
    assert reproduced(compare(posterior, reference)) is expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_posterior_is_reproduced(name: str, seed: int, record: Callable[..., None]) -> None:
    """Means, standard deviations and convergence agree with the published reference draws."""
    build, settings = MODELS[name]
    posterior_file = load(name)
    start = time.perf_counter()
    with build(pm, pt, posterior_file["data_values"]):
        result = pm.sample(random_seed=seed, discard_tuned_samples=False, **{**SETTINGS, **settings})
    seconds = time.perf_counter() - start

    found = compare(result["posterior"], posterior_file["reference_summary"])
    distance, spread = np.abs(found["z"]).max(), found["ratio"]
    record(
        name,
        str(seed),
        str(len(spread)),
        f"{distance:.2f}",
        f"{spread.min():.3f}-{spread.max():.3f}",
        f"{found['rhat'].max():.4f}",
        str(int(np.asarray(result["sample_stats"]["diverging"]).sum())),
        str(sum(int(np.asarray(result[g]["n_steps"]).sum()) for g in ("warmup_sample_stats", "sample_stats"))),
        f"{seconds:.2f}",
        "reproduced" if reproduced(found) else "missed",
    )
    assert reproduced(found), "\n".join(
        f"{parameter}: {z:+.2f} standard errors away, sd ratio {ratio:.3f}, split R-hat {rhat:.4f}"
        for parameter, z, ratio, rhat in zip(posterior_file["reference_summary"], *found.values(), strict=True)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_plain_run_is_right_or_says_that_it_is_not(name: str, seed: int) -> None:
    """Without any numbers: what is called converged lies within 4 standard errors, means and deviations alike.

    Deviations have none where tails are heavy, see `mcse_sd`.
    """
    build, _ = MODELS[name]
    posterior_file = load(name)
    with build(pm, pt, posterior_file["data_values"]):
        result = pm.sample(random_seed=seed, progressbar=False)
    if result.status != "converged":
        assert result.worst or "diverge" in result.reason
        return
    found = compare(result["posterior"], posterior_file["reference_summary"])
    assert np.abs(found["z"]).max() < 4
    for parameter, ratio in zip(posterior_file["reference_summary"], found["ratio"], strict=True):
        draws = draws_of(result["posterior"], parameter)
        error = float(mcse_sd(draws)) / draws.std(ddof=1)
        assert np.isnan(error) or abs(ratio - 1) < 4 * error, parameter
