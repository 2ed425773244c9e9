"""Chains in lock step draw from the density, stop by the rule, and end with the words of all runs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import InitialPointError, SamplingError
from consilience.run import Run, RunPlan, RunResult
from consilience.run.lock_step import ChEES

jax = pytest.importorskip("jax")

from consilience.run.lock_step.engine import new_leg  # noqa: E402  # needs JAX
from consilience.run.lock_step.program import halton  # noqa: E402  # needs JAX
from tests.vectorised.targets import correlated_normal, two_modes  # noqa: E402  # after the check for JAX

DIMENSION = 5
NORMAL, COVARIANCE = correlated_normal(DIMENSION)


def ended(
    logp: Any, options: RunPlan, chains: int = 256, seed: int = 1, points: Any = None, **settings: Any
) -> RunResult:
    """A run from points around zero."""
    if points is None:
        points = np.random.default_rng(seed).uniform(-2.0, 2.0, (16, DIMENSION))
    run = Run(new_leg(logp, ChEES(), points, options, chains=chains, seed=seed, **settings), seed)
    run.start(background=False)
    return run.wait()


def test_moments_of_a_correlated_normal_are_found() -> None:
    """Means and covariances within five standard errors, of 256 chains of 200 draws that are one half independent."""
    run = ended(NORMAL, RunPlan(draws=200))
    draws = run.draws.reshape(-1, DIMENSION)
    deviations = np.sqrt(np.diag(COVARIANCE))
    size = len(draws) / 4
    assert run.verdict.status == "converged"
    assert (np.abs(draws.mean(axis=0) - 1.0) < 5.0 * deviations / np.sqrt(size)).all()
    scale = np.outer(deviations, deviations)
    assert (np.abs(np.cov(draws.T) - COVARIANCE) / scale < 5.0 * np.sqrt(2.0 / size)).all()


def test_the_same_seed_gives_the_same_bits_and_another_one_others() -> None:
    options = RunPlan(draws=20, tune=30)
    first, second, other = (ended(NORMAL, options, seed=seed).draws for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


def test_a_run_in_two_parts_is_the_run_in_one() -> None:
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (16, DIMENSION))
    run = Run(new_leg(NORMAL, ChEES(), points, RunPlan(draws=20, tune=30), chains=256, seed=1), 1)
    run.start(background=False)
    assert run.wait().draws.shape[1] == 20
    run = run.again(RunPlan(draws=47, tune=30), ())
    run.start(background=True)
    whole = ended(NORMAL, RunPlan(draws=47, tune=30), points=points)
    np.testing.assert_array_equal(run.wait(60.0).draws, whole.draws)


def test_the_run_stops_when_what_was_asked_for_is_there() -> None:
    """A target that four times as many chains reach takes fewer draws of each.

    Rounding differs between processors, and the length of one run with it (32 to 78 draws for seeds 1 to 6).
    """
    lengths: dict[int, list[int]] = {64: [], 256: []}
    for chains in lengths:
        for seed in (1, 2, 3):
            run = ended(NORMAL, RunPlan(), chains=chains, seed=seed)
            assert run.verdict.status == "converged"
            assert run.check is not None
            assert run.check.ess >= 400.0
            lengths[chains].append(run.draws.shape[1])
    assert max(lengths[256]) <= min(lengths[64])
    assert np.mean(lengths[64]) <= 90


def test_chains_in_two_modes_disagree() -> None:
    run = ended(two_modes, RunPlan(max_draws=100), points=np.repeat([[-30.0], [30.0]], 8, axis=0) + np.zeros(DIMENSION))
    assert run.verdict.status == "chains_disagree"
    assert "different regions" in run.verdict.reason


def test_too_few_draws_are_told_of_as_elsewhere() -> None:
    run = ended(NORMAL, RunPlan(draws=16), chains=4, points=np.zeros((4, DIMENSION)))
    assert run.verdict.status == "not_converged"
    assert run.verdict.reason.endswith("(draws=16)")


def wall(x: Any) -> Any:
    """A normal density that ends where it has a tenth of its probability beyond: there is no way to see the wall."""
    import jax.numpy as jnp

    return jnp.where(x[0] < 1.28, -0.5 * (x**2).sum(), -jnp.inf)


def test_divergences_are_counted_and_told_of() -> None:
    options = RunPlan(draws=50, rule=StoppingRule(target_ess=100.0))
    run = ended(wall, options, points=-np.ones((16, 2)))
    count = int(run.statistics["diverging"].sum())
    assert count > 0
    assert run.restarts == ()
    assert run.verdict.status == "not_converged"
    assert f"{count} of {50 * 256} draws" in run.verdict.reason
    assert sum(len(d.begins) for d in run.divergences) == count
    assert all((d.begins[:, 0] < 1.28).all() for d in run.divergences)


def test_divergences_lead_to_another_tuning_with_smaller_steps_once() -> None:
    """The draws before it are part of the tuning, and the verdict tells of them."""
    rule = StoppingRule(target_ess=100.0)
    plain, again = (
        ended(wall, RunPlan(rule=rule, max_draws=400, remedies=remedies), points=-np.ones((16, 2)))
        for remedies in ((), ("steps",))
    )
    assert (plain.restarts, again.restarts) == ((), ("divergences",))
    assert again.tuning[0].step_size < 0.9 * plain.tuning[0].step_size
    assert again.tuning_evaluations > plain.tuning_evaluations
    assert "even with smaller steps" in again.verdict.reason or "tuned again" in again.verdict.reason


@pytest.mark.parametrize(("value", "said"), [(np.nan, "nan"), (-np.inf, "-inf")])
def test_a_start_where_the_density_is_not_finite_is_refused(value: float, said: str) -> None:
    with pytest.raises(InitialPointError, match=f"chain 0 .*the log density is {said}"):
        ended(lambda x: x.sum() * 0.0 + value, RunPlan(draws=1))


def test_float32_runs_in_float32_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = []

        def logp(x: Any) -> Any:
            seen.append(x.dtype)
            return NORMAL(x)

        run = ended(logp, RunPlan(), precision="float32")
    assert {str(dtype) for dtype in seen} == {"float32"}
    assert run.verdict.status == "converged"
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize(("setting", "said"), [({"device": "quantum"}, "cpu:0"), ({"device": "cpu:99"}, "cpu:0"),
                                               ({"precision": "float16"}, "'float32'")])  # fmt: skip
def test_an_unknown_device_or_precision_is_refused_with_what_there_is(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        ended(NORMAL, RunPlan(draws=1), **setting)


def test_a_limit_of_time_keeps_the_draws_there_are() -> None:
    run = ended(NORMAL, RunPlan(max_time=0.0))
    assert run.verdict.status == "not_converged"
    assert run.verdict.reason == "max_time=0.0 seconds were over; no draws had been made"


def test_jitter_is_the_van_der_corput_sequence() -> None:
    np.testing.assert_array_equal(halton(0, 7), [0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875])
    np.testing.assert_array_equal(halton(3, 4), halton(0, 7)[3:])


@pytest.mark.parametrize("target", [0.5, 0.8, 0.95])
def test_the_harmonic_target_belongs_to_the_mean_acceptance(target: float) -> None:
    """Of normal energy errors with variance twice their mean, by draws."""
    kernel = ChEES(target)
    generator = np.random.default_rng(0)
    for mean in np.geomspace(0.001, 2.0, 200):
        acceptance = np.exp(-np.maximum(0.0, mean + np.sqrt(2.0 * mean) * generator.standard_normal(20_000)))
        if acceptance.mean() < target:
            assert abs(1.0 / (1.0 / acceptance).mean() - kernel.harmonic_target) < 0.05
            break


def test_the_package_loads_without_jax() -> None:
    code = "import consilience, consilience.run.lock_step, sys; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_chains_in_lock_step_jump_between_regions_of_different_width() -> None:
    """Chains that all begin in the wide mode come to the right weights, by normals that are both too wide."""
    from consilience.run.lock_step.chees import at
    from consilience.run.lock_step.jumps import jumped, on_device
    from tests.inference.region_normals import normals_of

    def logp(x: Any) -> Any:
        near = jax.numpy.log(0.3) - 0.5 * (x**2).sum()
        far = jax.numpy.log(0.7) - 2.0 * jax.numpy.log(0.2) - 0.5 * (((x - 5.0) / 0.2) ** 2).sum()
        return jax.numpy.logaddexp(near, far)

    normals = normals_of([np.zeros(2), np.full(2, 5.0)], [1.2 * np.eye(2), 0.24 * np.eye(2)], [0.5, 0.5])
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        regions = on_device(normals, "float64")
        chains = at(logp, jax.numpy.asarray(rng.standard_normal((4000, 2))))
        step = jax.jit(lambda chains, key: jumped(logp, chains, regions, key))
        for number in range(25):
            chains = step(chains, jax.random.key(number))
        points = np.asarray(chains.position)
        np.testing.assert_allclose(chains.level, jax.vmap(logp)(points))
    far = (np.abs(points - 5.0) < 1.2).all(axis=1)
    assert abs(far.mean() - 0.7) < 4.0 * np.sqrt(0.21 / len(far))
    assert points[far].std(axis=0) == pytest.approx(0.2, rel=0.06)
    assert points[~far].std(axis=0) == pytest.approx(1.0, rel=0.08)
