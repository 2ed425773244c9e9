"""Laws of step methods that move by past points, walkers or replicas, and of Langevin's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import consilience as pm
from consilience.errors import InitialPointError, SamplingError
from consilience.inference import (
    MALA,
    NUTS,
    CompoundStep,
    DEMetropolis,
    DEMetropolisZ,
    HamiltonianMC,
    Kernel,
    ParallelTempering,
    StretchEnsemble,
)
from consilience.inference.archive import ARCHIVE
from consilience.inference.de_metropolis import DEMetropolisCommand
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.inference.streams import chain_key
from consilience.record import replace
from tests.inference.chains import run_chain
from tests.inference.targets import PlainTarget, Target, bimodal, correlated_normal, half_space, normal, standard
from tests.inference.test_kernels import z_scores

Floats = NDArray[np.float64]
KERNELS: dict[str, Kernel] = {
    "de": DEMetropolis(),
    "de z": DEMetropolisZ(),
    "de z, snooker": DEMetropolisZ(snooker=0.5, tune="scaling"),
    "mala": MALA(),
    "stretch": StretchEnsemble(),
    "tempering": ParallelTempering(levels=4, hottest=0.1, moves=2),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def begun(kernel: Kernel, target: Any, tune: int, seed: int = 1, start: Any = None) -> MarkovChain:
    """A chain that has begun; one that needs the points of other chains has some."""
    position = np.zeros(target.dimension) if start is None else np.asarray(start, np.float64)
    chain = kernel.chain(target, position, chain_key(seed, 0), tune, np.zeros(1, np.int64))
    chain.begin()
    if isinstance(kernel, DEMetropolis):
        chain.apply(DEMetropolisCommand(np.random.default_rng(1).standard_normal((50, target.dimension))))
    return chain


def more(chain: MarkovChain, count: int, chunk: int | None = None) -> Rows:
    """The next transitions."""
    rows = Rows(
        np.full((count, chain.walk.dimension), np.nan),
        np.zeros((count, len(chain.kernel.columns.types)), np.int64),
    )
    chain.write_to(rows)
    done = 0
    while done < count:
        done += chain.advance(min(chunk or count, count - done))
    return rows


Placing = Callable[[MarkovChain, np.random.Generator], None]
THREE = correlated_normal(3, 5)
FACTOR = np.linalg.cholesky(np.linalg.inv(THREE.matrix))


def exact(rng: np.random.Generator, count: int) -> Floats:
    """Independent draws of `THREE`."""
    return np.asarray(THREE.mean + rng.standard_normal((count, 3)) @ FACTOR.T)


def log_densities(target: Target, points: Floats) -> Floats:
    centred = points - target.mean
    return np.asarray(-0.5 * np.sum(centred * (centred @ target.matrix), axis=1))


def place_point(chain: MarkovChain, rng: np.random.Generator) -> None:
    """Where the kernel is: an exact draw, with density and gradient."""
    point = chain.parts[0].point
    draw = exact(rng, 1)
    np.asarray(point.position)[:] = draw[0]
    np.asarray(point.gradient)[:] = -THREE.matrix @ (draw[0] - THREE.mean)
    point.logp = log_densities(THREE, draw)[0]


def place_history(chain: MarkovChain, rng: np.random.Generator) -> None:
    """And a history of few independent points, which are not at all like the target."""
    place_point(chain, rng)
    state = chain.states[0]
    state.points, state.every = 4, 1 << 40
    np.asarray(state.history)[:12] = rng.uniform(-3.0, 1.0, 12)


def place_walkers(chain: MarkovChain, rng: np.random.Generator) -> None:
    """All walkers at independent exact draws."""
    place_point(chain, rng)
    state = chain.states[0]
    draws = exact(rng, state.count)
    np.asarray(state.positions)[:] = draws.ravel()
    np.asarray(state.logps)[:] = log_densities(THREE, draws)


def place_replicas(chain: MarkovChain, rng: np.random.Generator) -> None:
    """Each replica at an exact draw of its own power of the density."""
    state = chain.states[0]
    inverses = np.asarray(state.inverses)
    draws = THREE.mean + (exact(rng, len(inverses)) - THREE.mean) / np.sqrt(inverses)[:, None]
    np.asarray(state.positions)[:] = draws.ravel()
    np.asarray(state.logps)[:] = log_densities(THREE, draws)


PLACING: dict[str, tuple[Placing, int]] = {
    "de": (place_point, 3),
    "de z": (place_history, 3),
    "de z, snooker": (place_history, 3),
    "mala": (place_point, 3),
    "stretch": (place_walkers, 6),
    "tempering": (place_replicas, 2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_exact_draws_stay_exact_draws(name: str) -> None:
    """From 6000 independent starts, a few transitions each: means, squares, products and quantiles of a projection."""
    place, steps = PLACING[name]
    rng = np.random.default_rng(8)
    chain = begun(KERNELS[name], THREE, 0)
    if name == "mala":
        chain.states[0].warmup.step.step = 1.2
    ends = np.empty((6000, 3))
    moved = 0
    rows = Rows(np.empty((steps, 3)), np.zeros((steps, len(chain.kernel.columns.types)), np.int64))
    for end in ends:
        place(chain, rng)
        chain.write_to(rows)
        assert chain.advance(steps) == steps
        moved += np.any(rows.draws[0] != rows.draws[-1])
        end[:] = rows.draws[-1]
    assert moved > 1000
    whitened = np.linalg.solve(FACTOR, (ends - THREE.mean).T).T
    errors = [whitened.mean(axis=0) * math.sqrt(6000)]
    squares = np.einsum("ti,tj->tij", whitened, whitened) - np.eye(3)
    errors.append((squares.mean(axis=0) / squares.std(axis=0) * math.sqrt(6000)).ravel())
    assert np.abs(np.concatenate(errors)).max() < 4.5
    from scipy.stats import kstest  # takes a while to load

    for i in range(3):
        assert kstest(whitened[:, i], "norm").pvalue > 1e-5


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "de"])
def test_long_runs_have_the_moments_of_the_target(name: str) -> None:
    """Means and variances within 5 standard errors, estimated from 16 chains."""
    target = correlated_normal(4, 2)
    length = {"mala": 40_000, "stretch": 20_000, "tempering": 5000}.get(name, 30_000)
    draws = np.array(
        [run_chain(KERNELS[name], target, draws=length, tune=2000, chain=c, start=target.mean).draws for c in range(16)]
    )
    assert np.abs(z_scores(draws, target.mean)).max() < 5.0
    assert np.abs(z_scores((draws - target.mean) ** 2, target.deviation**2)).max() < 5.0
    np.testing.assert_allclose(draws.var(axis=(0, 1)), target.deviation**2, rtol=0.08)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("de", "de z, snooker")])
def test_half_a_line_is_sampled_to_its_edge(name: str) -> None:
    """Exponential(1): means, and shares below two points."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=1.0)
    draws = np.array(
        [run_chain(KERNELS[name], target, draws=8000, tune=1000, chain=c, start=[1.0]).draws for c in range(16)]
    )
    assert np.abs(z_scores(draws, np.ones(1))).max() < 5.0
    below = (draws < np.array([0.1, 2.0])).astype(float)
    assert np.abs(z_scores(below, 1.0 - np.exp([-0.1, -2.0]))).max() < 5.0


@each_kernel
def test_draws_do_not_depend_on_how_many_are_made_per_call(kernel: Kernel) -> None:
    """One call, one transition per call, or seven; while tuning and after."""
    reference = more(begun(kernel, standard(3), 150), 300)
    for chunk in (1, 7):
        other = more(begun(kernel, standard(3), 150), 300, chunk)
        np.testing.assert_array_equal(reference.draws, other.draws)
        np.testing.assert_array_equal(reference.statistics, other.statistics)


@each_kernel
@pytest.mark.parametrize("made", [0, 1, 60, 149, 150, 2100])
def test_a_chain_goes_on_from_a_snapshot_with_the_same_bits(kernel: Kernel, made: int) -> None:
    """In a chain made anew, elsewhere; histories have been thinned by the end."""
    chain = begun(kernel, standard(3), 150)
    more(chain, made) if made else None
    snapshot = chain.snapshot()
    unbroken = more(chain, 120)
    other = begun(kernel, standard(3), 150, seed=9, start=[0.3, 0.2, 0.1])
    other.restore(snapshot)
    got = more(other, 120)
    np.testing.assert_array_equal(got.draws, unbroken.draws)
    np.testing.assert_array_equal(got.statistics, unbroken.statistics)


@pytest.mark.parametrize("name", KERNELS)
def test_machine_code_and_cpython_agree(name: str) -> None:
    """The same source: equal decisions, and equal draws up to the rounding of sums."""
    target = normal(np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, 10.0]))
    kernel = KERNELS[name]
    if isinstance(kernel, DEMetropolis | DEMetropolisZ):
        kernel = replace(kernel, tune_interval=10)
    native = begun(kernel, target, 40)
    plain = begun(replace(kernel, compiled=False), PlainTarget(target), 40)
    one, other = more(native, 80), more(plain, 80)
    np.testing.assert_allclose(other.draws, one.draws, rtol=1e-8, atol=1e-8)
    columns = native.kernel.columns
    np.testing.assert_allclose(
        columns.table(other.statistics), columns.table(one.statistics), rtol=1e-6, atol=1e-6, equal_nan=True
    )


@each_kernel
def test_a_transition_that_is_stopped_leaves_everything_as_it_was(kernel: Kernel) -> None:
    """Whichever evaluation the stop comes with; afterwards the chain goes on as if it had never been."""
    kernel = replace(kernel, compiled=False)
    target = standard(2)
    unbroken = more(begun(kernel, PlainTarget(target), 10), 12).draws
    left = [0]
    stop = np.zeros(1, np.int64)

    class Stopping(PlainTarget):
        @property
        def entry(self) -> Any:
            inner = super().entry

            def call(*arguments: Any) -> int:
                left[0] -= 1
                if left[0] == 0:
                    stop[0] = 1
                return inner(*arguments)

            return call

    chain = kernel.chain(Stopping(target), np.zeros(2), chain_key(1, 0), 10, stop)
    chain.begin()
    if isinstance(kernel, DEMetropolis):
        chain.apply(DEMetropolisCommand(np.random.default_rng(1).standard_normal((50, 2))))
    rows = Rows(np.empty((12, 2)), np.zeros((12, len(kernel.columns.types)), np.int64))
    chain.write_to(rows)
    done = 0
    for evaluation in range(1, 400):
        if done == 12:
            break
        left[0], stop[0] = 1 + evaluation % 7, 0
        before = chain.snapshot()
        made = chain.advance(1)
        done += made
        if not made:
            after = chain.snapshot()
            for part in ("points", "states"):
                for name, value in before[part][0].items():
                    np.testing.assert_array_equal(after[part][0][name], value, err_msg=name)
            left[0], stop[0] = 0, 0
            done += chain.advance(1)
    assert done == 12
    np.testing.assert_array_equal(rows.draws, unbroken)


@each_kernel
def test_log_densities_recorded_are_those_of_the_draws(kernel: Kernel) -> None:
    chain = begun(kernel, THREE, 100)
    rows = more(chain, 400)
    level = chain.kernel.columns.table(rows.statistics)[chain.kernel.columns.names.index("lp")]
    np.testing.assert_allclose(level, log_densities(THREE, rows.draws), rtol=1e-9, atol=1e-9)


@each_kernel
@pytest.mark.parametrize("failure", [1.0, 2.0, 3.0])
def test_a_starting_point_without_density_is_refused(kernel: Kernel, failure: float) -> None:
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=failure)
    with pytest.raises(InitialPointError, match="finite log density"):
        begun(kernel, target, 0, start=[-1.0])


def test_walkers_begin_where_there_is_a_density() -> None:
    """However near the edge the starting point is."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=2.0)
    state = begun(StretchEnsemble(walkers=40), target, 0, start=[1e-6]).states[0]
    assert np.all(np.asarray(state.positions) > 0.0)
    assert len(np.unique(np.asarray(state.positions))) == 40


def test_each_walker_has_its_turn_of_draws() -> None:
    """In their order, each for 16 draws: there are only 8."""
    chain = begun(StretchEnsemble(), standard(3), 0)
    rows = more(chain, 300)
    walkers = chain.kernel.columns.table(rows.statistics)[chain.kernel.columns.names.index("walker")]
    np.testing.assert_array_equal(walkers, np.arange(300) // 16 % 8)
    positions = np.asarray(chain.states[0].positions).reshape(8, 3)
    np.testing.assert_array_equal(rows.draws[-1], positions[int(walkers[-1])])


def test_effective_sample_sizes_of_the_ensemble_are_not_overestimated() -> None:
    """Estimated as ever, they are those of the means' spread between 200 chains, to a third."""
    target = standard(4)
    kernel = StretchEnsemble(radius=1.0)
    draws = np.array([run_chain(kernel, target, draws=3000, tune=300, chain=c).draws for c in range(200)])
    true = 4.0 / draws.mean(axis=1).var(axis=0).mean()
    estimated = np.mean([pm.ess(draws[c : c + 4, :, 0]) for c in range(0, 200, 4)])
    assert estimated < 1.33 * true


def test_stretching_knows_no_scales() -> None:
    """The same numbers on a target and on a linear image of it give draws that are images of each other."""
    factor = np.array([1e-4, 1.0, 1e3])
    plain = run_chain(StretchEnsemble(radius=1.0), standard(3), draws=50, tune=0)
    target = normal(np.zeros(3), factor)
    chain = begun(StretchEnsemble(radius=1.0), target, 0)
    state = chain.states[0]
    places = np.asarray(begun(StretchEnsemble(radius=1.0), standard(3), 0).states[0].positions).reshape(-1, 3)
    np.asarray(state.positions)[:] = (places * factor).ravel()
    np.asarray(state.logps)[:] = -0.5 * (places**2).sum(axis=1)
    np.testing.assert_allclose(more(chain, 50).draws, plain.draws * factor, rtol=1e-7, atol=1e-12)


def test_a_history_covers_the_whole_past_in_bounded_memory() -> None:
    """Every point that is kept is a draw of a transition that is a multiple of the present spacing."""
    chain = begun(DEMetropolisZ(), standard(2), 0)
    draws = more(chain, 7321).draws
    state = chain.states[0]
    assert ARCHIVE / 2 <= state.points <= ARCHIVE
    kept = np.asarray(state.history).reshape(ARCHIVE, 2)[: state.points]
    np.testing.assert_array_equal(kept, draws[state.every - 1 :: state.every])


@pytest.mark.parametrize("told", [False, True], ids=["by schedule", "told"])
def test_the_older_history_is_forgotten_when_tuning_ends(told: bool) -> None:
    """The share `tune_drop_fraction`, whether tuning ends in its time or before it."""
    chain = begun(DEMetropolisZ(tune_drop_fraction=0.75), standard(2), 1000 if told else 200)
    draws = more(chain, 200).draws
    if told:
        chain.apply("sample")
    state = chain.states[0]
    assert state.points == 50
    np.testing.assert_array_equal(np.asarray(state.history)[:100].reshape(50, 2), draws[150:])
    scale = state.proposal.lamb
    more(chain, 500)
    assert state.proposal.lamb == scale


def test_langevin_steps_are_tuned_to_their_acceptance() -> None:
    """0.574, for scales that differ by ten thousand."""
    chain = run_chain(MALA(), normal(np.zeros(20), np.geomspace(0.01, 100.0, 20)), draws=5000, tune=1500)
    assert 0.5 < chain.statistic("acceptance_rate").mean() < 0.68
    assert np.all(chain.statistic("n_steps") == 1)


def test_tempering_finds_the_weights_of_two_modes() -> None:
    """Ten deviations apart, 20 runs that all begin in one mode: within 0.05 in at least 18."""
    target = bimodal(1, 5.0, 0.3)
    weights = np.array(
        [
            (run_chain(ParallelTempering(), target, draws=5000, tune=1500, seed=s, start=[-5.0]).draws > 0.0).mean()
            for s in range(20)
        ]
    )
    assert (np.abs(weights - 0.3) < 0.05).sum() >= 18
    assert abs(weights.mean() - 0.3) < 5.0 * weights.std(ddof=1) / math.sqrt(20)


def test_the_ladder_comes_to_equal_rejection_rates() -> None:
    """While tuning, from another spacing; it is still afterwards, and journeys along it end."""
    chain = run_chain(ParallelTempering(levels=6, hottest=0.005), bimodal(2, 3.0, 0.5), draws=4000, tune=3000)
    state = chain.chain.states[0]
    rates = np.asarray(state.rejections)[:5] / np.asarray(state.proposed)[:5]
    assert rates.max() - rates.min() < 0.15
    inverses = np.asarray(state.inverses)
    assert inverses[0] == 1.0
    assert inverses[-1] == pytest.approx(0.005)
    assert np.all(np.diff(inverses) < 0.0)
    assert chain.statistic("round_trips").sum() > 50
    assert chain.statistic("barrier")[-1] == pytest.approx(rates.sum())


@pytest.mark.parametrize(
    "make",
    [
        lambda: DEMetropolisZ(lamb=0.0),
        lambda: DEMetropolisZ(scaling=-1.0),
        lambda: DEMetropolisZ(tune="both"),  # type: ignore[arg-type]
        lambda: DEMetropolisZ(tune_interval=0),
        lambda: DEMetropolisZ(tune_drop_fraction=1.5),
        lambda: DEMetropolisZ(snooker=-0.1),
        lambda: DEMetropolis(lamb=float("nan")),
        lambda: DEMetropolis(scaling=0.0),
        lambda: DEMetropolis(tune="S"),  # type: ignore[arg-type]
        lambda: DEMetropolis(interval=0),
        lambda: MALA(target_accept=0.0),
        lambda: MALA(initial_step=-1.0),
        lambda: ParallelTempering(levels=1),
        lambda: ParallelTempering(hottest=1.0),
        lambda: ParallelTempering(moves=0),
        lambda: StretchEnsemble(walkers=5),
        lambda: StretchEnsemble(stretch=1.0),
        lambda: StretchEnsemble(radius=float("inf")),
        lambda: begun(StretchEnsemble(walkers=6), standard(3), 0),
    ],
)
def test_settings_outside_their_range_are_refused(make: Any) -> None:
    with pytest.raises(SamplingError, match=r"(lamb|scaling|tune|interval|snooker|accept|step|\w+) .*got"):
        make()


@pytest.mark.parametrize("kernel", [ParallelTempering(), StretchEnsemble()], ids=["tempering", "stretch"])
def test_what_moves_all_variables_is_refused_beside_others(kernel: Kernel) -> None:
    with pytest.raises(SamplingError, match=rf"{type(kernel).__name__} has to move all variables"):
        CompoundStep(methods=(NUTS(("x",)), kernel))
    assert CompoundStep(methods=(HamiltonianMC(("x",)), DEMetropolis(("y",)))).fewest_chains == 3
