"""Laws of step methods that need log densities only; a kernel joins by a row of `KERNELS`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from consilience.errors import SamplingError
from consilience.inference import AdaptiveMetropolis, Block, EllipticalSlice, Kernel, Metropolis, Slice
from consilience.inference.density import Inputs, Outputs
from consilience.inference.messages import Rows
from consilience.inference.metropolis import PROPOSALS
from consilience.inference.slice import MOST_STEPS
from consilience.inference.streams import chain_key
from consilience.native.mathematics import lgamma, log
from consilience.native.typed_python import Array, f64, i64, native
from consilience.record import replace
from tests.inference.chains import run_chain
from tests.inference.targets import Constants, PlainTarget, Target, correlated_normal, normal, standard


@native
def normal_and_poisson(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """k ~ Poisson(number), x given k ~ Normal(k, 2)."""
    x = inputs.position[0]
    k = inputs.position[1]
    outputs.logp[0] = k * log(constants.number) - lgamma(k + 1.0) - (x - k) * (x - k) / 8.0
    return 0


@native
def poisson(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """k ~ Poisson(number)."""
    k = inputs.position[0]
    outputs.logp[0] = k * log(constants.number) - lgamma(k + 1.0)
    return 0


@dataclass
class Mixed(Target):
    """A target whose last coordinate is a whole number that is not negative; fails for other values."""

    def block(self, names: tuple[str, ...], needs: str) -> Block:
        discrete = np.arange(self.dimension) == self.dimension - 1
        unbounded = np.full(self.dimension, np.inf)
        lower = np.where(discrete, 0.0, -unbounded)
        return Block(self, np.arange(self.dimension), ("x", "k")[-self.dimension :], discrete, lower, unbounded)


MIXED = Mixed(normal_and_poisson, 2, np.array([3.0, 3.0]), np.sqrt([7.0, 3.0]), number=3.0)
COUNT = Mixed(poisson, 1, np.array([3.0]), np.sqrt([3.0]), number=3.0)
KERNELS: dict[str, Kernel] = {
    "slice": Slice(),
    "slice, few steps outwards": Slice(w=0.5, iter_limit=3),
    "slice, box": Slice(w=5.0, blocked=True),
    **{f"metropolis, {kind}": Metropolis(proposal_dist=kind) for kind in PROPOSALS if kind != "poisson"},
    "metropolis, covariance": Metropolis(S=np.eye(3) + 0.5),
    "metropolis, poisson": Metropolis(proposal_dist="poisson"),
    "adaptive metropolis": AdaptiveMetropolis(),
    "elliptical slice": EllipticalSlice(prior_cov=4.0 * np.eye(3) + 1.0),
}
CONTINUOUS: dict[str, Target] = {
    "five scales": normal(np.arange(5.0), np.geomspace(0.1, 10.0, 5)),
    "correlated": correlated_normal(3, 2),
}


def exact(target: Target, rng: np.random.Generator) -> NDArray[np.float64]:
    """One draw of a target."""
    if isinstance(target, Mixed):
        k = rng.poisson(target.number)
        return np.array([rng.normal(k, 2.0), k])[-target.dimension :]
    if target is CONTINUOUS["correlated"]:
        precision = target.matrix.reshape(target.dimension, -1)
        return rng.multivariate_normal(target.mean, np.linalg.inv(precision))
    return rng.normal(target.mean, target.deviation)


def targets_of(kernel: Kernel) -> dict[str, Target]:
    if isinstance(kernel, EllipticalSlice):
        return {"correlated": CONTINUOUS["correlated"]}
    if isinstance(kernel, Metropolis) and kernel.S is not None:
        return {"correlated": CONTINUOUS["correlated"]}
    if isinstance(kernel, Metropolis) and kernel.proposal_dist == "poisson":
        return {"count": COUNT}  # its steps are whole numbers
    return {**(CONTINUOUS if kernel.continuous else {}), **({"mixed": MIXED} if kernel.discrete else {})}


CASES = [(k, t) for k, kernel in KERNELS.items() for t in targets_of(kernel)]


@pytest.mark.parametrize(("kernel", "target"), CASES)
def test_exact_draws_stay_exact(kernel: str, target: str) -> None:
    """Three transitions from each of 400 exact draws: every coordinate has its distribution."""
    aim = targets_of(KERNELS[kernel])[target]
    rng = np.random.default_rng(1)
    ends = np.array(
        [run_chain(KERNELS[kernel], aim, draws=3, tune=0, chain=c, start=exact(aim, rng)).draws[-1] for c in range(400)]
    )
    for i in range(aim.dimension):
        if isinstance(aim, Mixed):
            z = (ends[:, i].mean() - aim.mean[i]) / aim.deviation[i] * np.sqrt(len(ends))
            assert abs(z) < 4.0
        else:
            assert stats.kstest(ends[:, i], "norm", (aim.mean[i], aim.deviation[i])).pvalue > 1e-4


@pytest.mark.parametrize(("kernel", "target"), CASES)
def test_long_runs_have_the_moments_of_the_target(kernel: str, target: str) -> None:
    """Means and variances within 5 standard errors, estimated from 8 chains (t, 7 degrees: 6.5)."""
    aim = targets_of(KERNELS[kernel])[target]
    start = np.round(aim.mean)
    draws = np.array(
        [run_chain(KERNELS[kernel], aim, draws=8000, tune=1000, chain=c, start=start).draws for c in range(8)]
    )
    for values, truth in ((draws, aim.mean), ((draws - aim.mean) ** 2, aim.deviation**2)):
        means = values.mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert np.abs((means.mean(axis=0) - truth) / error).max() < 6.5
        np.testing.assert_array_less(error, 0.2 * np.abs(aim.deviation) + 0.2 * aim.deviation**2)
    if isinstance(aim, Mixed):
        assert np.array_equal(draws[..., -1], np.floor(draws[..., -1]))
        assert draws[..., -1].min() >= 0.0


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_source_and_machine_code_agree(kernel: Kernel) -> None:
    """CPython and compiled code give equal draws and statistics, but for roundings of contracted sums."""
    target = CONTINUOUS["correlated"] if kernel.continuous else MIXED
    compiled = run_chain(kernel, target, draws=20, tune=120, start=np.round(target.mean))
    plain = run_chain(
        replace(kernel, compiled=False), PlainTarget(target), draws=20, tune=120, start=np.round(target.mean)
    )
    np.testing.assert_allclose(plain.rows.draws, compiled.rows.draws, rtol=1e-9, atol=1e-9)
    for name in compiled.names:
        np.testing.assert_allclose(plain.statistic(name, True), compiled.statistic(name, True), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_transitions_per_call_and_snapshots_change_nothing(kernel: Kernel) -> None:
    """Whole, in calls of 7, and put back into a new chain at a transition amid tuning: the same bits."""
    target = CONTINUOUS["correlated"] if kernel.continuous else MIXED
    start = np.round(target.mean)
    whole = run_chain(kernel, target, draws=100, tune=250, start=start)
    parts = run_chain(kernel, target, draws=100, tune=250, start=start, chunk=7)
    np.testing.assert_array_equal(whole.rows.draws, parts.rows.draws)
    np.testing.assert_array_equal(whole.rows.statistics, parts.rows.statistics)
    for length in (1, 130, 260):
        one, other = (kernel.chain(target, start, chain_key(1, 0), 250, np.zeros(1, np.int64)) for _ in range(2))
        one.begin()
        one.write_to(Rows(np.zeros((350, target.dimension)), np.zeros_like(whole.rows.statistics)))
        one.advance(length)
        other.restore(one.snapshot())
        rows = Rows(np.zeros((350, target.dimension)), np.zeros_like(whole.rows.statistics))
        other.write_to(rows)
        other.advance(350 - length)
        np.testing.assert_array_equal(rows.draws[: 350 - length], whole.rows.draws[length:])
        np.testing.assert_array_equal(rows.statistics[: 350 - length], whole.rows.statistics[length:])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_a_stop_leaves_everything_as_it_was(kernel: Kernel) -> None:
    """No transition is made while the run is to stop; afterwards the chain goes on as if nothing had been."""
    target = standard(3) if kernel.continuous else MIXED
    stop = np.zeros(1, np.int64)
    rows = Rows(np.zeros((50, target.dimension)), np.zeros((50, len(kernel.columns.types)), np.int64))
    chain = kernel.chain(target, np.zeros(target.dimension), chain_key(1, 0), 10, stop)
    chain.begin()
    chain.write_to(rows)
    assert chain.advance(20) == 20
    stop[0] = 1
    assert chain.advance(30) == 0
    stop[0] = 0
    assert chain.advance(30) == 30
    np.testing.assert_array_equal(rows.draws, run_chain(kernel, target, draws=40, tune=10).rows.draws)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_a_stop_amid_a_transition_leaves_point_and_state_as_they_were(kernel: Kernel) -> None:
    """After the first, second, … evaluation: afterwards the chain goes on as if nothing had been."""
    target = standard(3) if kernel.continuous and kernel is not KERNELS["metropolis, poisson"] else COUNT
    stop = np.zeros(1, np.int64)

    class Stopping(PlainTarget):
        """Asks for a stop in one of its evaluations."""

        left = 0

        @property
        def entry(self) -> Callable[..., int]:
            evaluated = super().entry

            def call(*given: Any) -> int:
                self.left -= 1
                stop[0] |= self.left == 0
                return evaluated(*given)

            return call

    density = Stopping(target)
    chain = replace(kernel, compiled=False).chain(density, np.zeros(target.dimension), chain_key(1, 0), 100, stop)
    chain.begin()
    rows = Rows(np.zeros((60, target.dimension)), np.zeros((60, len(kernel.columns.types)), np.int64))
    chain.write_to(rows)
    stops = 0
    for evaluations in range(1, 20):
        before = pickle.dumps([chain.snapshot()[part] for part in ("position", "points", "states")])
        density.left = evaluations
        if chain.advance(1) == 0:
            stops += 1
            assert pickle.dumps([chain.snapshot()[part] for part in ("position", "points", "states")]) == before
        density.left = stop[0] = 0
    assert stops > 0
    done = 19 - stops
    unbroken = run_chain(replace(kernel, compiled=False), PlainTarget(target), draws=0, tune=100)
    np.testing.assert_array_equal(rows.draws[:done], unbroken.rows.draws[:done])


@pytest.mark.parametrize("kind", [Slice, Metropolis, EllipticalSlice])
def test_kernels_with_equal_settings_are_equal(kind: Any) -> None:
    """Arrays too, and as keys of dictionaries."""
    name = {Slice: "w", Metropolis: "S", EllipticalSlice: "prior_cov"}[kind]
    one, other, third = (kind(**{name: (k * np.ones(2)) if kind is Slice else k * np.eye(2)}) for k in (1.0, 1.0, 2.0))
    assert one == other
    assert {one: 1}[other] == 1
    assert one != third


@native
def flat(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    outputs.logp[0] = 0.0
    return 0


@pytest.mark.parametrize("limit", [float("inf"), 1e9])
def test_stepping_out_ends_on_a_flat_density(limit: float) -> None:
    """After ten thousand steps, and learnt widths stay finite; plain Python would take long."""
    target = Target(flat, 2, np.zeros(2), np.ones(2))
    chain = run_chain(Slice(iter_limit=limit), target, draws=20, tune=100, start=np.zeros(2))
    assert np.isfinite(chain.draws).all()
    assert (chain.statistic("nstep_out") == 2 * (MOST_STEPS - 1)).all()


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (Slice, {"w": 0.0}, "w"),
    (Slice, {"w": (1.0, -1.0)}, "w"),
    (Slice, {"iter_limit": 0}, "iter_limit"),
    (Metropolis, {"scaling": float("inf")}, "scaling"),
    (Metropolis, {"S": (1.0, 0.0)}, "S"),
    (Metropolis, {"S": -np.eye(2)}, "S"),
    (Metropolis, {"proposal_dist": "beta"}, "proposal_dist"),
    (Metropolis, {"tune_interval": 0}, "tune_interval"),
    (AdaptiveMetropolis, {"scaling": 0.0}, "scaling"),
    (AdaptiveMetropolis, {"target_accept": 1.0}, "target_accept"),
    (EllipticalSlice, {}, "prior_cov and prior_chol"),
    (EllipticalSlice, {"prior_cov": -np.eye(2)}, "prior_cov"),
    (EllipticalSlice, {"prior_chol": np.ones((2, 2))}, "prior_chol"),
]


@pytest.mark.parametrize(("kind", "settings", "name"), BAD)
def test_bad_settings_are_named(kind: Any, settings: dict[str, Any], name: str) -> None:
    """When the kernel is made."""
    with pytest.raises(SamplingError, match=f"{name}.*got"):
        kind(**settings)
