"""Continuous variables that act through comparisons alone are summed over the intervals between what they pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.special import logsumexp

import consilience as pm
import consilience.tensor as pt
from consilience.model.intervals import jumping, stepwise
from consilience.model.summation import summability, summable, without

QUIET: dict[str, Any] = {"progressbar": False, "random_seed": 3}
times = np.array([0.5, 1.25, 1.25, 2.0, 3.5, 4.75, 6.0, 8.5])
Y = np.array([0.3, -0.8, 0.1, 0.6, 1.9, 2.4, 1.2, 2.2])
UNIFORM = stats.uniform(0, 10)

Mean = Callable[[Any, Any], Any]
FORMS: dict[str, Mean] = {
    "switch": lambda tau, a: pt.switch(times < tau, a[0], a[1]),
    "turned round": lambda tau, a: pt.switch(tau >= times, a[0], a[1]),
    "affine": lambda tau, a: pt.switch((times - tau) / 3.0 < 0.0, a[0], a[1]),
    "scaled": lambda tau, a: pt.switch(2.0 * tau + 1.0 > 2.0 * times + 1.0, a[0], a[1]),
    "sign": lambda tau, a: a[1] + (a[0] - a[1]) * (pt.sign(tau - times) + 1) / 2,
    "picked": lambda tau, a: a[(times >= tau).astype(int)],
    "product": lambda tau, a: a[0] * (times < tau) + a[1] * (times >= tau),
}
PRIORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "uniform": (lambda: pm.Uniform("tau", 0, 10), UNIFORM),
    "normal": (lambda: pm.Normal("tau", 5, 2), stats.norm(5, 2)),
    "exponential": (lambda: pm.Exponential("tau", 0.3), stats.expon(scale=1 / 0.3)),
    "narrower than the data": (lambda: pm.Uniform("tau", 1, 5), stats.uniform(1, 4)),
}


def change_point(form: Mean, prior: Callable[[], Any]) -> pm.Model:
    with pm.Model() as model:
        tau = prior()
        a = pm.Normal("a", 0, 2, shape=2)
        pm.Normal("y", form(tau, a), 1.0, observed=Y)
    return model


def exact(a: npt.NDArray[np.float64], prior: Any) -> tuple[float, npt.NDArray[np.float64]]:
    """The log density with tau integrated out, and the probabilities of its intervals."""
    edges = np.unique(times)
    points = np.concatenate([[-1.0], 0.5 * (edges[1:] + edges[:-1]), [20.0]])
    masses = np.diff(prior.cdf(np.concatenate([[-np.inf], edges, [np.inf]])))
    with np.errstate(divide="ignore"):
        terms = [
            stats.norm.logpdf(Y, np.where(p > times, *a), 1).sum() + np.log(m)
            for p, m in zip(points, masses, strict=True)
        ]
    total = logsumexp(terms)
    return total + stats.norm.logpdf(a, 0, 2).sum(), np.exp(np.array(terms) - total)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("form", FORMS)
def test_sum_over_intervals_is_the_integral(form: str, prior: str) -> None:
    """Whatever the comparison is written as, and wherever the prior ends: the density is that of the integral."""
    made, law = PRIORS[prior]
    model = change_point(FORMS[form], made)
    assert summable(model) == ("tau",)
    summed = without(model, ["tau"])
    density, slope = summed.compile_logp(), summed.compile_dlogp()
    for a in np.array([[0.0, 0.0], [0.2, 2.0], [5.0, -3.0]]):
        np.testing.assert_allclose(density({"a": a}), exact(a, law)[0], rtol=1e-12)
        step = 1e-5 * np.eye(2)
        differences = [(exact(a + h, law)[0] - exact(a - h, law)[0]) / 2e-5 for h in step]
        np.testing.assert_allclose(slope({"a": a}), differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
def test_draws_of_the_variable_have_its_conditional(prior: str) -> None:
    """Given the others tau is in each interval as often as it should be, and there it follows its prior."""
    made, law = PRIORS[prior]
    model = change_point(FORMS["switch"], made)
    with model:
        result = pm.sample(draws=500, tune=200, compute_convergence_checks=False, **QUIET)
    posterior = result["posterior"]
    a, tau = posterior["a"].values.reshape(-1, 2), posterior["tau"].values.ravel()
    inside = np.searchsorted(np.unique(times), tau)
    expected = np.array([exact(own, law)[1] for own in a])
    counts, means = np.bincount(inside, minlength=8), expected.sum(0)
    assert (np.abs(counts - means) <= 5 * np.sqrt((expected * (1 - expected)).sum(0)) + 1e-9).all()
    bounds = law.cdf(np.concatenate([[-np.inf], np.unique(times), [np.inf]]))
    share = (law.cdf(tau) - bounds[inside]) / (bounds[inside + 1] - bounds[inside])
    assert stats.kstest(share, "uniform").pvalue > 1e-4


def test_two_change_points_and_groups_are_summed_over_together() -> None:
    """Scalars by all pairs of intervals; elements that act on groups of their own side by side."""
    group = np.repeat([0, 1], 4)
    with pm.Model() as pairs:
        first, second = pm.Uniform("first", 0, 10), pm.Normal("second", 5, 3)
        a = pm.Normal("a", 0, 2, shape=3)
        pm.Normal("y", pt.switch(first > times, a[0], pt.switch(second > times, a[1], a[2])), 1.0, observed=Y)
    with pm.Model() as groups:
        tau = pm.Uniform("tau", 0, 10, shape=2)
        a = pm.Normal("a", 0, 2, shape=2)
        pm.Normal("y", pt.switch(times < tau[group], a[0], a[1]), 1.0, observed=Y)
    a = np.array([0.1, 2.0, -1.0])
    edges = np.unique(times)
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    points = np.concatenate([[-1.0], 0.5 * (edges[1:] + edges[:-1]), [20.0]])
    masses = [np.diff(law.cdf(ends)) for law in (UNIFORM, stats.norm(5, 3))]
    terms = [
        stats.norm.logpdf(Y, np.where(p > times, a[0], np.where(q > times, a[1], a[2])), 1).sum() + np.log(m * n)
        for p, m in zip(points, masses[0], strict=True)
        for q, n in zip(points, masses[1], strict=True)
    ]
    value = without(pairs, ["first", "second"]).compile_logp()({"a": a})
    np.testing.assert_allclose(value, logsumexp(terms) + stats.norm.logpdf(a, 0, 2).sum(), rtol=1e-12)
    total = stats.norm.logpdf(a[:2], 0, 2).sum()
    for own in (group == 0, group == 1):
        each = [
            stats.norm.logpdf(Y[own], np.where(times[own] < p, *a[:2]), 1).sum() + np.log(m)
            for p, m in zip(points, masses[0], strict=True)
        ]
        total += logsumexp(each)
    np.testing.assert_allclose(without(groups, ["tau"]).compile_logp()({"a": a[:2]}), total, rtol=1e-12)


def test_prior_parameters_move_the_masses() -> None:
    """A location that is inferred itself: its density holds what the intervals say of it."""
    with pm.Model() as model:
        center = pm.Normal("center", 5, 2)
        tau = pm.Normal("tau", center, 0.5)
        pm.Normal("y", pt.switch(times < tau, 0.0, 2.0), 1.0, observed=Y)
    density = without(model, ["tau"]).compile_logp()
    edges = np.unique(times)
    points = np.concatenate([[-1.0], 0.5 * (edges[1:] + edges[:-1]), [20.0]])
    for center in (-40.0, 3.0, 60.0):
        laws = stats.norm(center, 0.5)
        below = laws.logcdf(np.append(edges, np.inf)) if center > 5 else None
        if below is None:  # from the nearer tail
            above = laws.logsf(np.append(-np.inf, edges))
            log_mass = above + np.log1p(-np.exp(np.append(above[1:], -np.inf) - above))
        else:
            log_mass = below + np.log1p(-np.exp(np.append(-np.inf, below[:-1]) - below))
        terms = [stats.norm.logpdf(Y, np.where(times < p, 0.0, 2.0), 1).sum() for p in points] + log_mass
        np.testing.assert_allclose(
            density({"center": center}), logsumexp(terms) + stats.norm.logpdf(center, 5, 2), rtol=1e-9
        )


def test_whole_numbers_of_a_bounded_variable_are_intervals() -> None:
    with pm.Model() as model:
        x = pm.Uniform("x", 0, 4)
        scale = pm.HalfNormal("scale", 1)
        pm.Normal("y", pt.floor(x), scale, observed=[2.1, 1.9, 2.2])
    assert stepwise(model)["x"].tolist() == [0, 1, 2, 3, 4]
    terms = [stats.norm.logpdf([2.1, 1.9, 2.2], k, 0.7).sum() + np.log(0.25) for k in range(4)]
    expected = logsumexp(terms) + stats.halfnorm.logpdf(0.7)
    density = without(model, ["x"]).compile_logp(jacobian=False)
    np.testing.assert_allclose(density({"scale_log__": np.log(0.7)}), expected, rtol=1e-12)


def test_impossible_intervals_have_no_share() -> None:
    """A jump to minus infinity, behind which no draw lies."""
    with pm.Model() as model:
        rate = pm.HalfNormal("rate")
        wait = pm.Exponential("wait", rate)
        pm.Potential("seen", pt.switch(wait > np.array([1.0, 1.0, 2.0]), 0.0, -np.inf).sum())
    density = without(model, ["wait"]).compile_logp(jacobian=False)
    expected = -2.0 * 0.6 + stats.halfnorm.logpdf(0.6)  # the tail beyond 2
    np.testing.assert_allclose(density({"rate_log__": np.log(0.6)}), expected, rtol=1e-12)
    with model:
        result = pm.sample(**QUIET)
    assert result.status == "converged"
    assert result["posterior"]["wait"].values.min() > 2.0


SMOOTH: dict[str, Callable[[Any, Any], Any]] = {
    "it enters smoothly, too": lambda tau, b: pt.switch(times < tau, 0.0, b * (times - tau)),
    "it is compared with another variable": lambda tau, b: pt.switch(b < tau, 0.0, times),
    "its square is compared": lambda tau, b: pt.switch(times < tau**2, 0.0, b),
    "two comparisons and a product": lambda tau, b: pt.switch(times < tau, b, 0.0) * tau,
}


@pytest.mark.parametrize("why", SMOOTH)
def test_what_does_not_act_by_jumps_alone_stays(why: str) -> None:
    with pm.Model() as model:
        tau, b = pm.Uniform("tau", 0, 10), pm.Normal("b")
        pm.Normal("y", SMOOTH[why](tau, b), 1.0, observed=Y)
    assert "tau" not in stepwise(model)


def test_what_cannot_be_summed_stays() -> None:
    """A prior without quantiles, a transform of the user's, a model without anything else to move, a step method."""
    with pm.Model() as ordered:
        tau = pm.Uniform("tau", 0, 10, shape=2, transform=pm.distributions.transforms.ordered, initval=[2, 5])
        a = pm.Normal("a")
        pm.Normal("y", pt.switch(times < tau[0], a, pt.switch(times < tau[1], 1.0, 2.0)), 1.0, observed=Y)
    assert not stepwise(ordered)
    with pm.Model() as alone:
        pm.Normal("y", pt.switch(pm.Uniform("tau", 0, 10) > times, 0.0, 1.0), 1.0, observed=Y)
    assert summable(alone) == ()
    model = change_point(FORMS["switch"], PRIORS["uniform"][0])
    with model:
        result = pm.sample(draws=50, tune=50, step=pm.Slice(["tau"]), compute_convergence_checks=False, **QUIET)
    assert result["posterior"].attrs["sampler"] == "CompoundStep"


def test_thousands_of_intervals_are_refused_by_their_price() -> None:
    times = np.linspace(0, 10, 40_000)
    with pm.Model() as model:
        tau, a = pm.Uniform("tau", 0, 10), pm.Normal("a", shape=2)
        pm.Normal("y", pt.switch(times < tau, a[0], a[1]), 1.0, observed=np.zeros(40_000))
    found = summability(model)
    assert not found.summed
    assert "operations" in found.refused["tau"]


def test_new_data_move_the_intervals() -> None:
    """Numbers to compare with that are data: a run after `set_data` sums over theirs."""
    with pm.Model() as model:
        t = pm.Data("t", times)
        tau = pm.Uniform("tau", 0, 10)
        a = pm.Normal("a", 0, 2, shape=2)
        pm.Normal("y", pt.switch(t < tau, a[0], a[1]), 1.0, observed=Y)
    before = without(model, summable(model)).compile_logp()({"a": np.array([0.2, 2.0])})
    np.testing.assert_allclose(before, exact(np.array([0.2, 2.0]), UNIFORM)[0], rtol=1e-12)
    with model:
        pm.set_data({"t": times + 1.0})
    after = without(model, summable(model)).compile_logp()({"a": np.array([0.2, 2.0])})
    np.testing.assert_allclose(after, exact(np.array([0.2, 2.0]), stats.uniform(-1, 10))[0], rtol=1e-12)


def test_initial_values_of_what_is_summed_have_to_fit() -> None:
    model = change_point(FORMS["switch"], PRIORS["uniform"][0])
    with model:
        result = pm.sample(initvals={"tau": 5.0}, draws=100, tune=100, compute_convergence_checks=False, **QUIET)
        assert result["posterior"].attrs["marginalized"] == '["tau"]'
        with pytest.raises(pm.errors.SupportError, match="`tau` is outside its support"):
            pm.sample(initvals={"tau": 50.0}, **QUIET)


@pytest.mark.parametrize("turned", [False, True])
def test_running_sums_are_the_sums_written_out(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and slopes of two change points over unordered, repeated times, with impossible data."""
    rng = np.random.default_rng(5)
    times = rng.integers(0, 40, 60).astype(float)
    data = rng.normal(size=60)
    with pm.Model() as model:
        k, tau = pm.DiscreteUniform("k", 0, 40), pm.Exponential("tau", 0.1)
        a = pm.Normal("a", 0, 2, shape=3)
        behind = times >= k if turned else k <= times
        pm.Normal("y", pt.switch(behind, pt.switch(tau < times, a[0], a[1]), a[2]), 1.0, observed=data)
        bounded = pm.Uniform.dist(a[0] - 3.0, a[0] + 2.5)
        pm.Potential("near", pt.switch(behind, pm.logp(bounded, data), 0.0))
    found = []
    for written_out in (False, True):
        if written_out:
            monkeypatch.setattr("consilience.elimination.running_sums.running_sums", lambda *_: None)
            model.cache.clear()
        summed = without(model, ["k", "tau"])
        density, slope = summed.compile_logp(), summed.compile_dlogp()
        found.append([(density({"a": a}), slope({"a": a})) for a in rng.normal(size=(1, 3)) * 0 + np.eye(3)])
    for (value, slopes), (expected, expected_slopes) in zip(*found, strict=True):
        assert np.isfinite(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-11)
        np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-9, atol=1e-10)


def test_each_of_many_fits_has_the_intervals_of_its_own_data() -> None:
    with pm.Model() as model:
        t, y = pm.Data("t", times), pm.Data("y", Y)
        tau = pm.Uniform("tau", 0, 40)
        a = pm.Normal("a", 0, 2, shape=2)
        pm.Normal("seen", pt.switch(t < tau, a[0], a[1]), 1.0, observed=y)
    rows = [{"t": times + moved, "y": 3.0 * (times > 3.0)} for moved in (0.0, 20.0)]
    fits = pm.sample_many(model, rows, random_seed=1)
    first, second = (float(fits[name]["posterior"]["tau"].median()) for name in fits)
    assert 2.0 < first < 3.5 < 22.0 < second < 23.5


SLOPE = 0.4


def bent(prior: Callable[[], Any]) -> pm.Model:
    """A level up to tau, and behind it another that rises with the time since."""
    with pm.Model() as model:
        tau, a = prior(), pm.Normal("a", 0, 2, shape=2)
        pm.Normal("y", pt.switch(times < tau, a[0], a[1] + SLOPE * (times - tau)), 1.0, observed=Y)
    return model


@pytest.mark.parametrize("prior", PRIORS)
def test_sum_over_intervals_at_a_share_of_each(prior: str) -> None:
    """Where a variable acts smoothly, too, it is at the same share of the mass of every interval."""
    made, law = PRIORS[prior]
    model = bent(made)
    assert not stepwise(model)
    assert summable(model) == ("tau",)
    summed = without(model, ["tau"])
    assert [v.name for v in summed.free] == ["a", "tau_within__"]
    density, slope = summed.compile_logp(), summed.compile_dlogp()
    key = next(name for name in summed.initial_point() if name.startswith("tau_within__"))
    ends = law.cdf(np.concatenate([[-np.inf], np.unique(times), [np.inf]]))
    behind = np.arange(len(ends) - 1)[:, None] <= np.searchsorted(np.unique(times), times)

    def expected(a: np.ndarray, z: float) -> float:
        share = 1.0 / (1.0 + np.exp(-z))
        some = np.diff(ends) > 0
        tau = law.ppf(ends[:-1] + share * np.diff(ends))[some]
        means = np.where(behind[some], a[1] + SLOPE * (times - tau[:, None]), a[0])
        terms = stats.norm.logpdf(Y, means, 1).sum(1) + np.log(np.diff(ends)[some])
        return float(logsumexp(terms) + stats.norm.logpdf(a, 0, 2).sum() + np.log(share * (1.0 - share)))

    for a, z in (([0.0, 0.0], 0.3), ([0.2, 2.0], -2.0), ([3.0, -1.0], 4.0)):
        point = {"a": np.array(a), key: np.array(z)}
        np.testing.assert_allclose(density(point), expected(np.array(a), z), rtol=1e-9)
        differences = (expected(np.array(a), z + 1e-5) - expected(np.array(a), z - 1e-5)) / 2e-5
        np.testing.assert_allclose(slope(point)[-1], differences, rtol=1e-5, atol=1e-7)


def test_a_second_change_point_behind_the_first() -> None:
    """t2 ~ Uniform(t1, 10): means and deviations are those of the sum over all pairs of intervals."""
    rng = np.random.default_rng(4)
    t = np.linspace(0, 10, 16)
    y = np.where(t < 3, 0.0, np.where(t < 7, 1.5, -1.0)) + 0.5 * rng.normal(size=16)
    with pm.Model() as model:
        first = pm.Uniform("first", 0, 10)
        second = pm.Uniform("second", first, 10)
        pm.Normal("y", pt.switch(t < first, 0.0, pt.switch(t < second, 1.5, pm.Normal("last"))), 0.5, observed=y)
    assert summable(model) == ("first", "second")
    with model:
        result = pm.sample(random_seed=3, progressbar=False, cores=1)
    assert result.status == "converged"
    x = (np.arange(10_000) + 0.5) / 1000
    last = np.linspace(-4, 4, 161)
    weights, moments = [], []
    for i in range(1, 16):
        inside = x[(x >= t[i - 1]) & (x < t[i])]
        for j in range(i, 16):
            low = np.maximum(inside, t[j - 1])
            mass = (t[j] - low) / (10.0 - inside)
            fit = stats.norm.logpdf(y[:j], np.where(np.arange(j) < i, 0.0, 1.5), 0.5).sum()
            rest = stats.norm.logpdf(y[j:, None], last, 0.5).sum(0) + stats.norm.logpdf(last)
            weights.append(fit + logsumexp(rest) + np.log(mass.sum()))
            mid = 0.5 * (t[j] + low)
            square = (t[j] ** 2 + t[j] * low + low**2) / 3.0
            moments.append([(mass * each).sum() / mass.sum() for each in (inside, inside**2, mid, square)])
    found = np.exp(np.array(weights) - logsumexp(weights)) @ np.array(moments)
    for name, (mean, square) in (("first", found[:2]), ("second", found[2:])):
        draws = result["posterior"][name].values
        deviation = np.sqrt(square - mean**2)
        assert abs(draws.mean() - mean) < 5.0 * float(pm.diagnostics.mcse_mean(draws))
        assert abs(draws.std() / deviation - 1.0) < 0.25
    assert (result["posterior"]["first"].values < result["posterior"]["second"].values).all()


BENT: dict[str, Callable[[Any, Any], Any]] = {
    "two lines that meet": lambda tau, b: b[0] + pt.switch(times < tau, 0.0, b[1] * (times - tau)),
    "compared with another parameter": lambda tau, b: pt.switch(b[0] < tau, 0.0, times) * tau,
    "compared with a random draw": lambda tau, b: pt.switch(pm.Normal("x", 5, 1) < tau, b[0], b[1]) + tau,
    "a switch whose branches are one constant": lambda tau, b: pt.switch(times < tau, 1.0, 1.0) + b[0] * tau,
    "numbers that are infinite": lambda tau, b: pt.switch(np.where(times < 5, -np.inf, np.inf) < tau, *b) + tau,
}


@pytest.mark.parametrize("why", BENT)
def test_along_what_nothing_jumps_nothing_is_summed(why: str) -> None:
    with pm.Model() as model:
        tau, b = pm.Uniform("tau", 0, 10), pm.Normal("b", shape=2)
        pm.Normal("y", BENT[why](tau, b), 1.0, observed=Y)
    assert not jumping(model)
    assert summable(model) == ()


def test_a_jump_of_infinite_height_is_an_edge() -> None:
    with pm.Model() as model:
        tau = pm.Normal("tau", 2, 1)
        pm.Normal("y", tau, 1.0, observed=Y)
        pm.Potential("early", pt.switch(tau < 3.0, 0.0, -np.inf))
    assert not jumping(model)


def test_equal_numbers_and_groups_of_their_own() -> None:
    """Empty intervals have no place; each element of a vector is in an interval of its own."""
    with pm.Model() as model:
        tau, a = pm.Normal("tau", 1, 1, shape=2), pm.Normal("a", 0, 2)
        pm.Normal("y", pt.switch(np.array([1.0, 1.0, 2.0]) < tau[:, None], 0.0, a - tau[:, None]), 1.0,
                  observed=np.array([[0.1, 0.3, 2.0], [0.4, -0.2, 1.0]]))  # fmt: skip
    assert jumping(model)["tau"].tolist() == [1.0, 2.0]
    with model:
        result = pm.sample(draws=40, tune=100, compute_convergence_checks=False, **QUIET)
    assert result["posterior"]["tau"].shape == (4, 40, 2)
    assert np.isfinite(result["posterior"]["tau"].values).all()
    assert set(result["posterior"].data_vars) == {"tau", "a"}
