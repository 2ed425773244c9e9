"""Laws that every kernel obeys: its target stays unchanged, its draws depend on key and settings alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import NUTS, HamiltonianMC, Kernel, Metropolis
from consilience.inference.messages import Rows
from consilience.inference.streams import chain_key
from tests.inference.chains import Finished, run_chain
from tests.inference.targets import (
    PlainTarget,
    Target,
    correlated_normal,
    funnel,
    half_space,
    normal,
    standard,
    student,
)

KERNELS: dict[str, Kernel] = {
    "nuts": NUTS(),
    "nuts, shallow": NUTS(max_treedepth=2),
    "nuts, target 0.6": NUTS(target_accept=0.6),
    "hmc": HamiltonianMC(),
    "metropolis": Metropolis(),
}
DIFFERENTIABLE = {name: kernel for name, kernel in KERNELS.items() if name != "metropolis"}
CHAINS = 16
TARGETS: dict[str, Target] = {
    "one dimension": normal(np.array([3.0]), np.array([0.1])),
    "five scales": normal(np.arange(5.0), np.geomspace(0.01, 100.0, 5)),
    "correlated": correlated_normal(4, 2),
    "heavy tails": Target(student, 3, np.zeros(3), np.full(3, np.sqrt(5.0 / 3.0)), number=5.0),
    "half line": Target(half_space, 1, np.ones(1), np.ones(1), number=1.0),
}


def chains_of(kernel: Kernel, target: Target, draws: int, tune: int, seed: int) -> list[Finished]:
    start = np.maximum(target.mean, 0.1) if target.function is half_space else target.mean
    return [run_chain(kernel, target, draws=draws, tune=tune, seed=seed, chain=c, start=start) for c in range(CHAINS)]


def z_scores(samples: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distance of the mean over chains from the truth, in standard errors estimated between the chains."""
    means = samples.mean(axis=1)
    return np.asarray((means.mean(axis=0) - truth) / (means.std(axis=0, ddof=1) / np.sqrt(len(means))))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("kernel", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE.keys())
def test_kernel_leaves_its_target_unchanged(kernel: Kernel, target: Target) -> None:
    """Means and variances within 5 standard errors; the error estimated from 16 chains (t, 15 degrees)."""
    draws = np.array([c.draws for c in chains_of(kernel, target, 3000, 500, 1)])
    assert np.abs(z_scores(draws, target.mean)).max() < 5.0
    centred = (draws - target.mean) ** 2
    if target.function is not student:  # the estimated variance of a square has itself no finite variance
        assert np.abs(z_scores(centred, target.deviation**2)).max() < 5.0


@pytest.mark.parametrize("name", ["one dimension", "five equal", "correlated", "half line"])
def test_metropolis_leaves_its_target_unchanged(name: str) -> None:
    """As above; one scale for all coordinates, so the scales are alike."""
    target = standard(5) if name == "five equal" else TARGETS[name]
    draws = np.array([c.draws for c in chains_of(Metropolis(), target, 40_000, 2000, 2)])
    assert np.abs(z_scores(draws, target.mean)).max() < 5.0
    assert np.abs(z_scores((draws - target.mean) ** 2, target.deviation**2)).max() < 5.0


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_quantiles_are_those_of_the_target(kernel: Kernel) -> None:
    """Shares below the 1, 10, 50, 90 and 99 % points of a normal and of a Student-t distribution."""
    levels = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    points = {
        "normal": (standard(2), np.array([-2.3263479, -1.2815516, 0.0, 1.2815516, 2.3263479])),
        "t": (
            Target(student, 2, np.zeros(2), np.ones(2), number=5.0),
            np.array([-3.3649300, -1.4758840, 0.0, 1.4758840, 3.3649300]),
        ),
    }
    for target, quantiles in points.values():
        length = 20_000 if kernel is KERNELS["metropolis"] else 3000
        draws = np.array([c.draws[:, 0] for c in chains_of(kernel, target, length, 500, 3)])
        below = (draws[:, :, None] < quantiles).astype(float)
        assert np.abs(z_scores(below, levels)).max() < 5.0


def test_fifty_scales_are_sampled_well() -> None:
    """Scales from 0.001 to 1000: means and variances within their errors, 5.5 for the largest of 50."""
    deviation = np.geomspace(1e-3, 1e3, 50)
    target = normal(np.zeros(50), deviation)
    draws = np.array([c.draws for c in chains_of(NUTS(), target, 1000, 300, 4)])
    assert np.abs(z_scores(draws, np.zeros(50))).max() < 5.5
    assert np.abs(z_scores(draws**2, deviation**2)).max() < 5.5
    np.testing.assert_allclose((draws**2).mean(axis=(0, 1)), deviation**2, rtol=0.1)


def test_a_thousand_coordinates() -> None:
    """Nothing in the kernel depends on the dimension being small."""
    chain = run_chain(NUTS(), standard(1000), draws=300, tune=200)
    assert chain.draws.mean() == pytest.approx(0.0, abs=0.02)
    assert chain.draws.var() == pytest.approx(1.0, abs=0.02)
    assert chain.statistic("diverging").sum() == 0


def test_funnel_is_survived_and_its_divergences_are_recorded() -> None:
    """Every recorded divergence is a step of finite begin in a transition flagged as diverging."""
    target = Target(funnel, 10, np.zeros(10), np.ones(10))
    total = 0
    for c in range(4):
        chain = run_chain(NUTS(), target, draws=2000, tune=500, chain=c)
        assert np.isfinite(chain.rows.draws).all()
        flagged = np.flatnonzero(chain.rows.statistics[:, chain.names.index("diverging")])
        divergences = chain.chain.divergences()
        np.testing.assert_array_equal(divergences.transitions, flagged)
        assert np.isfinite(divergences.begins).all()
        assert (divergences.begins != divergences.ends).any(axis=1).all()
        total += len(flagged)
    assert total > 0


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_draws_do_not_depend_on_how_many_are_made_per_call(kernel: Kernel) -> None:
    """One call, one transition per call, or seven."""
    reference = run_chain(kernel, standard(3), draws=200, tune=150)
    for chunk in (1, 7):
        other = run_chain(kernel, standard(3), draws=200, tune=150, chunk=chunk)
        np.testing.assert_array_equal(reference.rows.draws, other.rows.draws)
        np.testing.assert_array_equal(reference.rows.statistics, other.rows.statistics)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_a_shorter_run_is_the_beginning_of_a_longer_one(kernel: Kernel) -> None:
    """Draws after tuning are a fixed sequence."""
    short = run_chain(kernel, standard(3), draws=100, tune=150)
    long = run_chain(kernel, standard(3), draws=300, tune=150)
    np.testing.assert_array_equal(short.draws, long.draws[:100])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_seeds_and_chains_have_numbers_of_their_own(kernel: Kernel) -> None:
    """Neither a seed nor a chain repeats another one's draws."""
    runs = [
        run_chain(kernel, standard(2), draws=200, tune=0, seed=seed, chain=chain).draws
        for seed in (1, 2)
        for chain in (0, 1)
    ]
    for k, one in enumerate(runs):
        for other in runs[:k]:
            assert np.intersect1d(one, other).tolist() in ([], [0.0])  # the common start


@pytest.mark.parametrize("kind", [NUTS, HamiltonianMC, Metropolis], ids=["nuts", "hmc", "metropolis"])
def test_machine_code_and_cpython_agree(kind: Any) -> None:
    """The same source: equal trees and acceptances, equal draws up to the rounding of sums."""
    target = normal(np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, 10.0]))
    native = run_chain(kind(), target, draws=30, tune=30)
    plain = run_chain(kind(compiled=False), PlainTarget(target), draws=30, tune=30)
    np.testing.assert_allclose(plain.rows.draws, native.rows.draws, rtol=1e-8, atol=1e-8)
    for name in native.names:
        one, other = (c.chain.kernel.columns.table(c.rows.statistics)[c.names.index(name)] for c in (native, plain))
        if name in ("depth", "tree_size", "n_steps", "diverging", "accepted", "index_in_trajectory"):
            np.testing.assert_array_equal(one, other, err_msg=name)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6, err_msg=name)


def test_statistics_of_nuts_fit_together() -> None:
    """Energies, weights and depths follow their definitions."""
    chain = run_chain(NUTS(max_treedepth=4), correlated_normal(8, 1), draws=2000, tune=500)
    depth, steps = chain.statistic("depth"), chain.statistic("n_steps")
    assert np.all(steps <= 2.0**depth - 1)
    assert np.all(steps >= 2.0 ** (depth - 1))
    assert np.array_equal(steps, chain.statistic("tree_size"))
    reached = chain.statistic("reached_max_treedepth").astype(bool)
    assert np.all(depth[reached] == 4)
    assert np.all(np.abs(chain.statistic("energy_error")) <= np.abs(chain.statistic("max_energy_error")))
    assert np.all(chain.statistic("energy") + chain.statistic("lp") > 0.0)  # the kinetic energy
    assert np.all(np.abs(chain.statistic("index_in_trajectory")) <= steps)
    accept = chain.statistic("mean_tree_accept")
    assert np.all((accept >= 0.0) & (accept <= 1.0))
    assert np.all(np.isfinite(chain.rows.statistics))
    assert chain.chain.evaluations >= steps.sum()


def test_log_density_recorded_is_the_one_of_the_draw() -> None:
    """Draw, log density and gradient of a state belong together, for all kernels."""
    target = correlated_normal(4, 6)
    for kernel in KERNELS.values():
        chain = run_chain(kernel, target, draws=300, tune=100)
        centred = chain.draws - target.mean
        expected = -0.5 * np.einsum("ti,ij,tj->t", centred, target.matrix, centred)
        np.testing.assert_allclose(chain.statistic("lp"), expected, rtol=1e-10, atol=1e-10)


def test_kinetic_energies_have_the_distribution_of_the_momentum() -> None:
    """Energy changes between transitions reach as far as the energies themselves: E-BFMI near 1."""
    chain = run_chain(NUTS(), standard(10), draws=4000, tune=500)
    energy = chain.statistic("energy")
    assert np.mean(np.diff(energy) ** 2) / energy.var() == pytest.approx(1.0, abs=0.25)


def test_metropolis_scale_brings_acceptance_into_its_range() -> None:
    """From a scale much too large and one much too small, in three dimensions."""
    for scale in (1e-4, 1e4):
        chain = run_chain(Metropolis(scaling=scale), standard(3), draws=5000, tune=5000)
        assert 0.15 < chain.statistic("accepted").mean() < 0.55
        steps = chain.statistic("scaling")
        assert np.all(steps == steps[0])


def test_metropolis_uses_its_deviations() -> None:
    """Steps per coordinate follow the deviations given."""
    deviations = (0.01, 1.0, 100.0)
    target = normal(np.zeros(3), np.array(deviations))
    chain = run_chain(Metropolis(S=deviations), target, draws=20_000, tune=2000)
    np.testing.assert_allclose(chain.draws.std(axis=0), deviations, rtol=0.1)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("failure", [1.0, 2.0, 3.0])
def test_a_starting_point_without_density_is_refused(kernel: Kernel, failure: float) -> None:
    """Whatever way the density fails there."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=failure)
    with pytest.raises(InitialPointError, match="finite log density"):
        run_chain(kernel, target, draws=1, tune=0, start=[-1.0])


def test_a_starting_point_without_gradient_is_refused_where_it_is_needed() -> None:
    """The coordinate is named; Metropolis does not mind."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=4.0)
    for kernel in DIFFERENTIABLE.values():
        with pytest.raises(InitialPointError, match=r"coordinates \[0\]"):
            run_chain(kernel, target, draws=1, tune=0, start=[-1.0])
    run_chain(Metropolis(), target, draws=1, tune=0, start=[-1.0])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_a_stopped_chain_makes_no_more_transitions(kernel: Kernel) -> None:
    """`advance` gives 0 and writes nothing once the flag is set, and goes on when it is cleared."""
    rows = Rows(np.full((50, 2), np.nan), np.zeros((50, len(kernel.columns.types)), np.int64))
    stop = np.zeros(1, np.int64)
    chain = kernel.chain(standard(2), np.zeros(2), chain_key(1, 0), 10, stop)
    chain.begin()
    chain.write_to(rows)
    assert chain.advance(20) == 20
    stop[0] = 1
    assert chain.advance(30) == 0
    assert np.isnan(rows.draws[20:]).all()
    stop[0] = 0
    assert chain.advance(30) == 30
    unbroken = run_chain(kernel, standard(2), draws=40, tune=10)
    np.testing.assert_array_equal(rows.draws, unbroken.rows.draws)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NUTS(target_accept=1.0),
        lambda: NUTS(target_accept=float("nan")),
        lambda: NUTS(max_treedepth=0),
        lambda: NUTS(max_treedepth=21),
        lambda: NUTS(initial_step=0.0),
        lambda: NUTS(metric="full"),
        lambda: NUTS(jumps=-1),
        lambda: HamiltonianMC(path_length=-1.0),
        lambda: HamiltonianMC(max_steps=0),
        lambda: Metropolis(scaling=float("inf")),
        lambda: Metropolis(S=(1.0, 0.0)),
    ],
)
def test_settings_outside_their_range_are_refused(make: Any) -> None:
    """When they are made, not when they are used."""
    with pytest.raises(SamplingError, match="got"):
        make()
