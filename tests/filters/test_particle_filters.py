"""Particle filters agree with exact filters and smoothers, as often as their errors say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray
from scipy import linalg, stats

import consilience as pm
import consilience.tensor as pt

RUNS = 200
LENGTH = 12
RHO, NOISE = 0.8, 0.7  # of the states; observations have a deviation of 1
TIMES = np.arange(LENGTH)
Y = np.random.default_rng(3).normal(size=LENGTH) * 1.5


def linear(**more: Any) -> pm.StateSpaceModel:
    return pm.StateSpaceModel(
        lambda: pm.Normal.dist(0, 1),
        lambda x: pm.Normal.dist(RHO * x, NOISE),
        lambda x: pm.Normal.dist(x, 1),
        **more,
    )


def guided() -> pm.StateSpaceModel:
    """Moves by the exact distribution of a state given the one before and the data."""
    return linear(
        proposal=lambda x, y: pm.Normal.dist((RHO * x / NOISE**2 + y) / (1 / NOISE**2 + 1), (1 / NOISE**2 + 1) ** -0.5),
        initial_proposal=lambda y: pm.Normal.dist(y / 2, 0.5**0.5),
    )


def auxiliary() -> pm.StateSpaceModel:
    return linear(lookahead=lambda x, y: pm.logp(pm.Normal.dist(RHO * x, (1 + NOISE**2) ** 0.5), y))


def prior_covariance() -> np.ndarray:
    variances = [1.0]
    for _ in TIMES[1:]:
        variances.append(RHO**2 * variances[-1] + NOISE**2)
    return np.array([[RHO ** abs(s - t) * variances[min(s, t)] for t in TIMES] for s in TIMES])


def exact_log_likelihood(y: np.ndarray = Y) -> float:
    here = ~np.isnan(y)
    covariance = prior_covariance() + np.eye(LENGTH)
    return float(stats.multivariate_normal(np.zeros(here.sum()), covariance[here][:, here]).logpdf(y[here]))


def exact_posterior(y: np.ndarray = Y) -> tuple[np.ndarray, np.ndarray]:
    prior = prior_covariance()
    gain = prior @ np.linalg.inv(prior + np.eye(LENGTH))
    return gain @ y, prior - gain @ prior


def unbiased(logs: np.ndarray, exact: float) -> None:
    """The mean of likelihoods is the exact one, within three and a half standard errors."""
    ratios = np.exp(logs - exact)
    assert abs(ratios.mean() - 1) < 3.5 * ratios.std(ddof=1) / np.sqrt(len(ratios))
    assert ratios.std() < 1.5


def logs_of(model: pm.StateSpaceModel, y: Any = Y, **more: Any) -> np.ndarray:
    found = model.filter(y, **{"particles": 60, "chains": RUNS, "random_seed": 1, "keep_particles": False, **more})
    return np.asarray(found["sample_stats"]["log_marginal_likelihood"])


def test_the_likelihood_that_is_meant_is_that_of_the_kalman_filter() -> None:
    """The dense covariances of these tests, and `LinearGaussianStateSpace`, agree."""
    exact = pm.LinearGaussianStateSpace.dist([0.0], [[1.0]], [[RHO]], [[1.0]], [[1.0]], [[NOISE**2]], shape=(LENGTH, 1))
    assert pm.logp(exact, Y[:, None]).eval() == pytest.approx(exact_log_likelihood())


@pytest.mark.parametrize("resampling", ["systematic", "stratified", "residual", "multinomial"])
def test_likelihoods_are_unbiased_by_every_way_of_resampling(resampling: str) -> None:
    unbiased(logs_of(linear(), resampling=resampling), exact_log_likelihood())


@pytest.mark.parametrize(("threshold", "particles"), [(0.0, 1500), (1.0, 60)])
def test_likelihoods_are_unbiased_whenever_particles_are_chosen_anew(threshold: float, particles: int) -> None:
    """Never, or always."""
    unbiased(logs_of(linear(), threshold=threshold, particles=particles), exact_log_likelihood())


def test_guided_and_auxiliary_filters_are_unbiased_and_the_former_less_noisy() -> None:
    plain, led, looking = (logs_of(model()) for model in (linear, guided, auxiliary))
    for logs in (led, looking):
        unbiased(logs, exact_log_likelihood())
    assert led.std() < 0.6 * plain.std()


def test_missing_data_are_integrated_out() -> None:
    y = Y.copy()
    y[[0, 4, 5, LENGTH - 1]] = np.nan
    unbiased(logs_of(linear(), y), exact_log_likelihood(y))


def test_filtered_moments_quantiles_and_smoothed_paths_are_the_exact_ones() -> None:
    mean, covariance = exact_posterior()
    deviation = np.sqrt(np.diag(covariance))
    model = linear()
    found = model.filter(Y, particles=2000, chains=8, random_seed=5)
    last = {name: np.asarray(found[f"filtered_{name}"]["x"])[..., -1] for name in ("mean", "sd", "quantile")}
    assert abs(last["mean"].mean() - mean[-1]) < 4 * last["mean"].std(ddof=1) / 8**0.5
    assert last["sd"].mean() == pytest.approx(deviation[-1], rel=0.03)
    wanted = stats.norm(mean[-1], deviation[-1]).ppf(found["filtered_quantile"]["quantile"])
    np.testing.assert_allclose(last["quantile"].mean(0), wanted, atol=0.08)
    for method in ("backward", "genealogy"):
        paths = np.asarray(model.smooth(found, draws=500, method=method, random_seed=6)["posterior"]["x"])
        means = paths.mean(1)
        error = means.std(0, ddof=1) / 8**0.5
        assert (abs(means.mean(0) - mean) < 5 * error + 1e-9).all(), method
        assert paths.reshape(-1, LENGTH).std(0) == pytest.approx(deviation, rel=0.12)
    together = np.corrcoef(paths[..., 5].ravel(), paths[..., 6].ravel())[0, 1]
    assert together == pytest.approx(covariance[5, 6] / (deviation[5] * deviation[6]), abs=0.1)


def test_backward_paths_keep_more_distinct_beginnings_than_genealogies() -> None:
    model = linear()
    found = model.filter(np.tile(Y, 5), particles=100, chains=1, random_seed=1)
    firsts = [
        len(np.unique(model.smooth(found, draws=100, method=method, random_seed=1)["posterior"]["x"][..., 0]))
        for method in ("backward", "genealogy")
    ]
    assert firsts[0] > 5 * firsts[1]


def test_predictions_follow_the_transition() -> None:
    mean, covariance = exact_posterior()
    model = linear()
    found = model.filter(Y, particles=3000, chains=4, random_seed=5, coords={"time": np.arange(10, 10 + 2 * LENGTH, 2)})
    ahead = model.predict(found, 3, draws=4000, random_seed=2)["predictions"]
    assert list(ahead["time"].values) == [10 + 2 * LENGTH + 2 * i for i in range(3)]
    level, variance = mean[-1], covariance[-1, -1]
    for i in range(3):
        level, variance = RHO * level, RHO**2 * variance + NOISE**2
        assert float(ahead["x"][..., i].mean()) == pytest.approx(level, abs=0.06)
        assert float(ahead["y"][..., i].var()) == pytest.approx(variance + 1, rel=0.06)


def test_simulations_have_the_moments_of_the_model() -> None:
    prior = linear().simulate(LENGTH, draws=20000, random_seed=1)["prior"]
    x, y = (np.asarray(prior[name])[0] for name in ("x", "y"))
    np.testing.assert_allclose(np.cov(x.T), prior_covariance(), atol=0.06)
    np.testing.assert_allclose((y - x).std(0), 1, atol=0.03)


START, CHANGE = np.array([0.6, 0.4]), np.array([[0.9, 0.1], [0.3, 0.7]])
RATES = np.array([1.0, 5.0])
COUNTS = np.array([0, 2, 7, 4, 1, 0, 3, 6])


def hidden_markov() -> pm.StateSpaceModel:
    return pm.StateSpaceModel(
        lambda: pm.Categorical.dist(START),
        lambda x: pm.Categorical.dist(pt.as_tensor(CHANGE)[x]),
        lambda x: pm.Poisson.dist(pt.as_tensor(RATES)[x]),
    )


def test_discrete_states_agree_with_the_forward_and_backward_algorithm() -> None:
    seen = stats.poisson(RATES).pmf(COUNTS[:, None])
    forward = [START * seen[0]]
    for row in seen[1:]:
        forward.append((forward[-1] @ CHANGE) * row)
    backward = [np.ones(2)]
    for row in seen[:0:-1]:
        backward.append(CHANGE @ (row * backward[-1]))
    likelihood = forward[-1].sum()
    both = np.array(forward) * np.array(backward[::-1]) / likelihood
    unbiased(logs_of(hidden_markov(), COUNTS, particles=30), float(np.log(likelihood)))
    model = hidden_markov()
    paths = model.smooth(model.filter(COUNTS, particles=1500, chains=4, random_seed=1), draws=1500, random_seed=2)
    np.testing.assert_allclose(paths["posterior"]["x"].mean(("chain", "draw")), both[:, 1], atol=0.035)


def test_states_of_several_variables_and_vectors_with_series_read_at_their_time() -> None:
    """A level that follows a slope, seen in two places together, and a series that is known at all times."""
    known = np.linspace(0, 1, LENGTH)
    across = np.array([[1.0, 0.3], [0.3, 0.5]])

    def move(x: Any, t: Any) -> Any:
        slope = pm.Normal.dist(x["slope"], 0.3)
        return {"slope": slope, "level": pm.Normal.dist(x["level"] + slope + pt.as_tensor(known)[t], 0.5)}

    model = pm.StateSpaceModel(
        lambda: {"slope": pm.Normal.dist(0, 0.5), "level": pm.Normal.dist(0, 1)},
        move,
        lambda x: {
            "pair": pm.MvNormal.dist(x["level"] + np.array([0.0, 1.0]), across),
            "way": pm.Normal.dist(x["slope"]),
        },
    )
    drawn = model.simulate(LENGTH, random_seed=4)["prior"]
    data = {"pair": np.array(drawn["pair"])[0, 0], "way": np.array(drawn["way"])[0, 0]}
    transition = linalg.block_diag(1.0, 1.0)
    transition[1, 0] = 1
    noise = np.array([[0.09, 0.09], [0.09, 0.34]])
    mean, covariance, total = np.zeros(2), np.diag([0.25, 1.0]), 0.0
    seen = np.array([[0, 1], [0, 1], [1, 0]])
    for t in range(LENGTH):
        if t:
            mean = transition @ mean + [0, known[t]]
            covariance = transition @ covariance @ transition.T + noise
        value = np.array([*(data["pair"][t] - [0, 1]), data["way"][t]])
        around = seen @ covariance @ seen.T + linalg.block_diag(across, 1.0)
        total += stats.multivariate_normal(seen @ mean, around).logpdf(value)
        gain = covariance @ seen.T @ np.linalg.inv(around)
        mean, covariance = mean + gain @ (value - seen @ mean), covariance - gain @ seen @ covariance
    unbiased(logs_of(model, data, particles=200), total)
    found = model.filter(data, particles=2000, chains=4, random_seed=1, dims={"pair": ["place"]})
    assert found["observed_data"]["pair"].dims == ("time", "place")
    for i, name in enumerate(("slope", "level")):
        means = np.asarray(found["filtered_mean"][name])[:, -1]
        assert means.mean() == pytest.approx(mean[i], abs=0.05)
    smoothed = model.smooth(found, draws=100, random_seed=1)["posterior"]
    assert float(smoothed["level"][..., -1].mean()) == pytest.approx(mean[1], abs=0.15)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    model = linear()
    one, more = (model.filter(Y, particles=200, chains=5, random_seed=9, cores=cores) for cores in (1, 4))
    for group in ("particles", "filtered_mean"):
        np.testing.assert_array_equal(one[group]["x"], more[group]["x"])
    first, second = (model.smooth(one, draws=50, random_seed=1, cores=cores)["posterior"]["x"] for cores in (1, 4))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(one["particles"]["x"][0], one["particles"]["x"][1])


def test_one_time_alone() -> None:
    logs = logs_of(linear(), Y[:1])
    assert np.log(np.exp(logs).mean()) == pytest.approx(stats.norm(0, 2**0.5).logpdf(Y[0]), abs=0.05)
    assert linear().smooth(linear().filter(Y[:1], random_seed=1), draws=5)["posterior"]["x"].shape[2] == 1


def test_data_of_later_times_lead_to_the_result_of_all_data() -> None:
    """To the same bits, with the same seed; labels go on, parameters and gaps are kept."""
    y = Y.copy()
    y[5] = np.nan
    with pm.Model():
        noise = pm.HalfNormal("noise", 1)
        model = pm.StateSpaceModel(
            lambda: pm.Normal.dist(0, 1, shape=2),
            lambda x, t: pm.Normal.dist(RHO * x + 0.1 * t, noise),
            lambda x: pm.Normal.dist(x[0], 1),
        )
    settings: dict[str, Any] = {"particles": 100, "chains": 3, "random_seed": 4, "point": {"noise": NOISE}}
    dims = {"x": ["place"]}
    whole = model.filter(y, **settings, dims=dims, coords={"time": np.arange(LENGTH) * 2, "place": ["a", "b"]})
    parts = model.filter(y[:5], **settings, dims=dims, coords={"time": np.arange(5) * 2, "place": ["a", "b"]})
    for begin, end in ((5, 6), (6, LENGTH)):
        parts = model.assimilate(parts, y[begin:end], random_seed=4)
    for name, group in whole.children.items():
        xarray.testing.assert_equal(group.to_dataset(), parts[name].to_dataset())
    assert (
        parts["sample_stats"].attrs["log_marginal_likelihood"] == whole["sample_stats"].attrs["log_marginal_likelihood"]
    )
    assert model.smooth(parts, draws=5)["posterior"]["x"].dims == ("chain", "draw", "time", "place")
