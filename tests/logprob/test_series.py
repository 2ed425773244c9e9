"""Densities of programs that draw in loops: against NumPy, observed and latent, with gaps, in predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError
from tests.logprob.random_steps import Program
from tests.logprob.series import PATTERNS, SEEN, Pattern, scan

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
WITH_GAPS = [name for name in PATTERNS if not name.startswith("censored")]


def series_of(pattern: Pattern, draws: int | None = None) -> Any:
    """Draws of a program."""
    rv = pm.CustomDist.dist(pattern.theta, dist=pattern.program)
    return pm.draw(rv, 1 if draws is None else draws, random_seed=3)


@pytest.mark.parametrize("name", PATTERNS)
def test_density_is_that_of_the_program(name: str) -> None:
    pattern = PATTERNS[name]
    x = series_of(pattern)
    expected = pattern.reference(pattern.theta, x)
    rv = pm.CustomDist.dist(pattern.theta, dist=pattern.program)
    np.testing.assert_allclose(pm.logp(rv, x).eval(), expected, **CLOSE)
    expression = pattern.program(pt.as_tensor(pattern.theta), None)
    np.testing.assert_allclose(np.sum(pm.logp(expression, x).eval()), expected, **CLOSE)


@pytest.mark.parametrize("name", PATTERNS)
def test_observed_and_latent_series_have_the_density(name: str) -> None:
    pattern = PATTERNS[name]
    x = series_of(pattern)
    with pm.Model() as model:
        theta = pm.Flat("theta", default_transform=None)
        pm.CustomDist("y", theta, dist=pattern.program, observed=x)
        latent = pm.CustomDist("z", theta, dist=pattern.program)
    point = {"theta": pattern.theta, model.rvs_to_values[latent].name: x}
    transform = model.rvs_to_transforms[latent]
    if transform is not None:
        point[model.rvs_to_values[latent].name] = transform.forward(pt.as_tensor(x)).eval()
    found = model.compile_logp(jacobian=False)(point)
    np.testing.assert_allclose(found, 2.0 * pattern.reference(pattern.theta, x), **CLOSE)


@pytest.mark.parametrize("name", WITH_GAPS)
def test_values_without_data_are_variables_of_the_series(name: str) -> None:
    pattern = PATTERNS[name]
    x = series_of(pattern)
    gaps = np.zeros(x.shape, bool)
    gaps.flat[[0, 3, -1]] = True
    with pm.Model() as model:
        theta = pm.Flat("theta")
        with pytest.warns(pm.ImputationWarning):
            pm.CustomDist("y", theta, dist=pattern.program, observed=np.where(gaps, np.nan, x))
    lacking = model["y_unobserved"]
    transform = model.rvs_to_transforms[lacking]
    inner = x[gaps] if transform is None else transform.forward(pt.as_tensor(x[gaps])).eval()
    point = {"theta": pattern.theta, model.rvs_to_values[lacking].name: inner}
    np.testing.assert_allclose(model.compile_logp(jacobian=False)(point), pattern.reference(pattern.theta, x), **CLOSE)


def test_counts_of_hidden_markov_models_may_have_gaps() -> None:
    counts = np.array([0.0, 3.0, np.nan, 1.0, 4.0])
    series = {"init_probs": [0.5, 0.5], "P": [[0.8, 0.2], [0.3, 0.7]], "steps": 4}
    with pm.Model() as model, pytest.warns(pm.ImputationWarning):
        pm.HiddenMarkov("y", emission_dist=pm.Poisson.dist([1.0, 4.0]), observed=counts, **series)
    rv = pm.HiddenMarkov.dist(emission_dist=pm.Poisson.dist([1.0, 4.0]), **series)
    expected = pm.logp(rv, np.where(np.isnan(counts), 2, counts).astype(int)).eval()
    np.testing.assert_allclose(model.compile_logp()({"y_unobserved": np.array([2])}), expected, **CLOSE)


@pytest.mark.parametrize("name", PATTERNS)
def test_slopes_of_the_density_are_zero_on_average_over_draws(name: str) -> None:
    """The mean of the slope of a log density is 0 where draws and density belong to one distribution."""
    pattern, step = PATTERNS[name], 1e-4
    theta = pt.scalar("theta")
    x = series_of(pattern, 400)
    densities = pt.function([theta], pm.logp(pm.CustomDist.dist(theta, dist=pattern.program), x))
    above, below = densities(pattern.theta + step), densities(pattern.theta - step)
    slopes = (above - below) / (2.0 * step)
    assert np.isfinite(slopes).all()
    assert slopes.std() > 0.0
    assert abs(slopes.mean()) < 4.0 * slopes.std() / np.sqrt(len(slopes))


def test_first_values_that_are_drawn_are_those_that_the_loop_begins_with() -> None:
    def program(theta: pt.TensorVariable, size: Any) -> pt.TensorVariable:
        first = pm.Normal.dist(0.0, 10.0)
        return pt.concatenate([first[None], scan(lambda x: pm.Normal.dist(x, theta), outputs_info=first)])

    x = pm.draw(pm.CustomDist.dist(1e-6, dist=program), 5, random_seed=1)
    assert np.abs(np.diff(x)).max() < 1e-4
    assert x.std() > 1.0


@pytest.mark.parametrize("name", ["AR(2) by taps", "GARCH", "VAR", "counts of past counts", "MA(1)", "two outputs"])
def test_predictions_run_the_loop_forwards(name: str) -> None:
    pattern = PATTERNS[name]
    x = series_of(pattern)
    with pm.Model():
        theta = pm.Uniform("theta", pattern.theta - 1e-9, pattern.theta + 1e-9)
        pm.CustomDist("y", theta, dist=pattern.program, observed=x)
        prior = pm.sample_prior_predictive(300, random_seed=4).prior_predictive["y"].values[0]
        given = xr.Dataset({"theta": (("chain", "draw"), np.full((1, 300), pattern.theta))})
        later = pm.sample_posterior_predictive(given, random_seed=5, progressbar=False)
    drawn = series_of(pattern, 300)
    for draws in (prior, later.posterior_predictive["y"].values[0]):
        assert draws.shape == drawn.shape
        spread = drawn.std(0) / np.sqrt(300) * np.sqrt(2.0)
        assert np.all(np.abs(draws.mean(0) - drawn.mean(0)) < 5.0 * spread + 1e-12)


def test_updates_may_be_returned_as_in_pymc() -> None:
    def program(start: Any, rho: Any, sigma: Any, size: Any) -> Any:
        def step(two: Any, one: Any, rho: Any, sigma: Any) -> Any:
            x = one * rho[0] + two * rho[1] + pm.Normal.dist(sigma=sigma)
            return x, pm.pytensorf.collect_default_updates([x])

        series, _ = pm.scan(
            fn=step, outputs_info=[{"initial": start, "taps": range(-2, 0)}], non_sequences=[rho, sigma], n_steps=7,
            strict=True,
        )  # fmt: skip
        return series

    rv = pm.CustomDist.dist([0.4, -0.2], [0.5, -0.3], 1.0, dist=program)
    x = pm.draw(rv, random_seed=1)
    np.testing.assert_allclose(pm.logp(rv, x).eval(), PATTERNS["AR(2) by taps"].reference(0.5, x), **CLOSE)


@pytest.mark.parametrize("given", [{"shape": 7}, {"size": 7}, {"shape": (7,)}])
def test_a_program_may_read_its_length_from_size(given: Any) -> None:
    def program(theta: Any, size: Any) -> Any:
        return scan(lambda x: pm.Normal.dist(theta * x, 1.3), outputs_info=pt.as_tensor(1.0), n_steps=size[0])

    rv = pm.CustomDist.dist(0.5, dist=program, **given)
    np.testing.assert_allclose(pm.logp(rv, SEEN).eval(), PATTERNS["AR(1)"].reference(0.5, SEEN), **CLOSE)


def test_lengths_may_be_data() -> None:
    with pm.Model() as model:
        seen = pm.Data("seen", SEEN)
        theta = pm.Normal("theta")
        pm.CustomDist(
            "y", theta, seen, observed=seen,
            dist=lambda theta, seen, size: scan(
                lambda x: pm.Normal.dist(theta * x, 1.0), outputs_info=pt.as_tensor(0.5), n_steps=seen.shape[0]
            ),
        )  # fmt: skip
    density = model.compile_logp()
    for values in (SEEN, np.r_[SEEN, 0.3, -0.1], SEEN[:1]):
        pm.set_data({"seen": values}, model=model)
        expected = stats.norm.logpdf(0.4) + stats.norm.logpdf(values, 0.4 * np.r_[0.5, values[:-1]]).sum()
        np.testing.assert_allclose(density({"theta": 0.4}), expected, **CLOSE)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_short_series_have_densities(steps: int) -> None:
    x = scan(
        lambda two, one: pm.Normal.dist(0.5 * one - 0.2 * two, 1.0),
        outputs_info={"initial": np.array([0.4, -0.2]), "taps": [-2, -1]},
        n_steps=steps,
    )
    full = np.r_[0.4, -0.2, SEEN[:steps]]
    expected = stats.norm.logpdf(full[2:], 0.5 * full[1:-1] - 0.2 * full[:-2]).sum()
    np.testing.assert_allclose(pm.logp(x, SEEN[:steps]).eval(), expected, **CLOSE)


def hidden(size: Any) -> Any:
    """A step whose first draw is carried and not returned."""

    def step(state: pt.TensorVariable) -> list[pt.TensorVariable]:
        level = pm.Normal.dist(state, 1.0, name="level")
        return [level, pm.Normal.dist(level, 1.0)]

    return scan(step, outputs_info=[pt.as_tensor(0.0), None])[1]


def in_one_step(size: Any) -> Any:
    """A step with a draw that nothing returns."""
    return scan(lambda: pm.Normal.dist(pm.Normal.dist(0.0, 1.0, name="level"), 1.0), outputs_info=None)


def until(size: Any) -> Any:
    def step(x: pt.TensorVariable) -> Any:
        new = pm.Normal.dist(x, 1.0)
        return new, pt.until(new > 3.0)

    return scan(step, outputs_info=pt.as_tensor(0.0))


def last(size: Any) -> Any:
    return scan(lambda x: pm.Normal.dist(x, 1.0), outputs_info=pt.as_tensor(0.0))[-1]


REFUSED = {
    "latent": (hidden, MissingRuleError, "level.*would have to be integrated out.*Return it from the step"),
    "latent in one step": (in_one_step, MissingRuleError, "level.*would have to be integrated out"),
    "until": (until, MissingRuleError, "ends by a condition.*n_steps"),
    "last": (last, MissingRuleError, "no density follows"),
    "nothing drawn": (
        lambda size: scan(lambda x: 2.0 * x, outputs_info=pt.as_tensor(1.0)), TypeError, "expression of random",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_density_is_refused_with_the_reason(name: str) -> None:
    program, error, message = REFUSED[name]
    with pytest.raises(error, match=f"(?s){message}"):
        pm.CustomDist.dist(dist=program)


def test_data_of_another_length_are_refused_by_name() -> None:
    with pm.Model(), pytest.raises(pm.ShapeError, match="`y`"):
        pm.CustomDist("y", 1.0, dist=PATTERNS["walk"].program, observed=np.zeros(9))


def check_random_program(seed: int, draws: int = 30) -> None:
    """The density of a random program is that of NumPy, and its draws are those of the step."""
    program = Program(seed)
    rv = pm.CustomDist.dist(dist=program.tensor)
    x = pm.draw(rv, draws, random_seed=seed)
    expected, residuals = program.walk(x)
    np.testing.assert_allclose(pm.logp(rv, x).eval(), expected, rtol=1e-10, atol=1e-10, err_msg=f"seed {seed}")
    bound = 6.0 / np.sqrt(residuals.size) + 10.0 / residuals.size  # counts that are seldom above 0 have long tails
    assert abs(residuals.mean()) < bound, f"seed {seed}: draws are not those of the step"


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    check_random_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_programs(part: int) -> None:
    for seed in range(1000 + 250 * part, 1250 + 250 * part):
        check_random_program(seed)
