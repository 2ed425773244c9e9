"""Discrete variables summed out of a density: equal to sums over all their values, and to exact posteriors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.densities import support_of
from consilience.distributions.whole_intervals import DiscreteUniform
from consilience.elimination import marginal
from consilience.errors import ImputationWarning
from consilience.ir import constant, constant_value, topological
from consilience.model import marginalize
from consilience.sample import recover_marginals

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
Y = np.array([0.3, -1.2, 0.8, 2.0, -0.4, 0.1])
GROUP = np.array([0, 0, 1, 2, 2, 1])

MODELS: dict[str, tuple[Callable[[], None], str]] = {}


def model_of(summed: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(declare: Callable[[], None]) -> Callable[[], None]:
        MODELS[declare.__name__] = (declare, summed)
        return declare

    return register


def built(name: str) -> tuple[pm.Model, list[str]]:
    declare, summed = MODELS[name]
    with pm.Model(coords={"row": range(6)}) as model:
        declare()
    return model, summed.split()


@model_of("z")
def mixture_by_index() -> None:
    w = pm.Dirichlet("w", np.ones(3))
    mu = pm.Normal("mu", [-1.0, 0.0, 2.0], 3.0)
    z = pm.Categorical("z", w, dims="row")
    pm.Normal("y", mu[z], 1.0, observed=Y, dims="row")


@model_of("z")
def mixture_by_arithmetic_over_columns() -> None:
    p = pm.Beta("p", 1, 1, shape=(2, 1))
    z = pm.Bernoulli("z", p, shape=(2, 3))
    mu = pm.Normal("mu", 0, 1, shape=3)
    pm.Normal("y", (mu * z).T[None], pm.math.exp(-z.T), observed=np.arange(24.0).reshape(4, 3, 2) / 10)


@model_of("z")
def elements_of_groups() -> None:
    z = pm.Bernoulli("z", [0.2, 0.5, 0.7])
    mu = pm.Normal("mu", [-1.0, 1.0], 1.0)
    pm.Normal("y", mu[z[GROUP]], 1.0, observed=Y)
    pm.Normal("x", mu[z], 0.5)
    pm.Potential("pull", -0.1 * z**2 * mu[0])


@model_of("z")
def change_point() -> None:
    early, late = pm.Normal("early"), pm.Normal("late")
    z = pm.Categorical("z", np.full(6, 1 / 6))
    pm.Normal("y", pm.math.where(np.arange(6) < z, early, late), 1.0, observed=Y)
    pm.Normal("y2", early + z, 1.0, observed=3.0)


@model_of("z0 z1 z2 z3")
def hidden_markov_chain() -> None:
    rows = pm.Dirichlet("rows", np.ones((2, 2)))
    mu = pm.Normal("mu", [-1.0, 1.0], 1.0)
    z = [pm.Categorical("z0", [0.3, 0.7])]
    for i in range(4):
        if i:
            z.append(pm.Categorical(f"z{i}", rows[z[-1]]))
        pm.Normal(f"y{i}", mu[z[i]], 1.0, observed=Y[i])


@model_of("all each")
def elements_below_a_scalar() -> None:
    p = pm.Beta("p", 2, 2)
    z = pm.Bernoulli("all", p)
    each = pm.Binomial("each", 2, 0.2 + 0.5 * z, shape=4)
    pm.Normal("y", p * each, 1.0, observed=Y[:4])


@model_of("z")
def elements_that_act_together() -> None:
    mu = pm.Normal("mu")
    z = pm.Binomial("z", [1, 2, 3], 0.3)
    pm.Normal("y", mu + z.sum() + pm.math.cumsum(z), 1.0, observed=Y[:3])


@model_of("z")
def whole_interval() -> None:
    mu = pm.Normal("mu")
    z = DiscreteUniform("z", -2, 3)
    pm.Normal("y", mu * z, 1.0, observed=Y)


@model_of("z unused")
def trials_of_different_numbers() -> None:
    p = pm.Beta("p", 1, 1)
    z = pm.Binomial("z", [1, 3, 0], p)
    pm.Binomial("unused", 2, p, shape=2)
    pm.Poisson("y", 1.0 + z, observed=[1, 3, 2])


@model_of("z endless")
def what_nothing_depends_on() -> None:
    mu = pm.Normal("mu")
    z = pm.Bernoulli("z", 0.3)
    pm.Poisson("endless", 1.0 + z)
    pm.Normal("y", mu + z, 1.0, observed=1.0)


@model_of("z0 z1 z2 z3 z4 z5")
def stacked_chain() -> None:
    rows = pm.Dirichlet("rows", np.ones((3, 3)))
    mu = pm.Normal("mu", [-1.0, 0.0, 1.0], 1.0)
    z = [pm.Categorical("z0", [0.2, 0.3, 0.5])]
    for i in range(1, 6):
        z.append(pm.Categorical(f"z{i}", rows[z[-1]]))
    pm.Normal("y", mu[pm.math.stack(z)], 1.0, observed=Y)


@model_of("z0 z1 z2")
def stacked_chains_of_rows() -> None:
    p = pm.Beta("p", 1, 1, shape=2)
    z = [pm.Bernoulli("z0", p)]
    for i in range(1, 3):
        z.append(pm.Bernoulli(f"z{i}", 0.2 + 0.5 * z[-1]))
    states = pm.math.stack(z, axis=1)
    pm.Normal("y", 2.0 * states, 1.0 + 0.5 * states, observed=Y.reshape(2, 3))


@model_of("z")
def chain_by_potential() -> None:
    rows = pm.Dirichlet("rows", np.ones((3, 3)))
    mu = pm.Normal("mu", [-1.0, 0.0, 1.0], 1.0)
    z = pm.Categorical("z", np.ones(3) / 3, shape=6)
    pm.Potential("steps", pt.log(rows)[z[:-1], z[1:]].sum() + pt.log([0.2, 0.3, 0.5])[z[0]])
    pm.Normal("y", mu[z], 1.0, observed=Y)


@model_of("z")
def chain_by_densities_of_neighbours() -> None:
    rows = pm.Dirichlet("rows", np.ones((2, 2)))
    z = pm.Categorical("z", [0.5, 0.5], shape=5)
    pm.Potential("steps", pm.logp(pm.Categorical.dist(p=rows[z[:-1]]), z[1:]))
    pm.Potential("table", pt.log(rows)[z[:-1]][np.arange(4), z[1:]].sum())
    pm.Normal("y", z[1:] - 0.5 * z[:-1], 1.0, observed=Y[:4])
    pm.Normal("ends", z[-1] + 0.3 * z[-2], 1.0, observed=0.3)


@model_of("z")
def chains_of_rows() -> None:
    stay = pm.Beta("stay", 2, 2)
    level = pm.Normal("level", [0.0, 1.0], 1.0)
    z = pm.Bernoulli("z", 0.5, shape=(2, 3))
    pm.Potential("steps", pm.math.where(pm.math.eq(z[:, 1:], z[:, :-1]), pt.log(stay), pt.log(1.0 - stay)))
    pm.Normal("y", level[z], 1.0, observed=Y.reshape(2, 3))


@model_of("z")
def forbidden_steps() -> None:
    """States that never go down: a chain with zeros in its matrix."""
    mu = pm.Normal("mu", [-1.0, 0.0, 1.0], 1.0)
    z = pm.Categorical("z", [0.6, 0.3, 0.1], shape=(4, 1))
    pm.Potential("upwards", pm.math.where(z[1:] >= z[:-1], 0.0, -np.inf))
    pm.Normal("y", mu[z[:, 0]], 1.0, observed=Y[:4])


@model_of("z")
def pair_alone() -> None:
    mu = pm.Normal("mu")
    z = pm.Binomial("z", 2, 0.4, shape=2)
    pm.Potential("tie", -0.5 * (z[1:] - mu * z[:-1]) ** 2)


@model_of("z")
def elements_from_the_second_on() -> None:
    mu = pm.Normal("mu")
    z = pm.Bernoulli("z", 0.3, shape=5)
    pm.Normal("y", mu * z[1:], 1.0, observed=Y[:4])
    pm.Normal("first", mu + z[0], 1.0, observed=0.4)


@model_of("above z")
def chain_below_another_variable() -> None:
    above = pm.Bernoulli("above", 0.4)
    mu = pm.Normal("mu")
    z = pm.Bernoulli("z", 0.5, shape=4)
    pm.Potential("steps", pt.log([[0.9, 0.1], [0.3, 0.7]])[z[:-1], z[1:]] * (1.0 + above))
    pm.Normal("y", mu + z, 1.0, observed=Y[:4])


def full_sum(model: pm.Model, names: list[str], point: dict[str, Any]) -> float:
    """log of the sum of the density over all values of the named variables; those without end left out."""
    summed = [v for v in model.free if v.name in names and v.name != "endless"]
    logp = model.compile_logp([v.node for v in model.variables if v.name != "endless"] + model.potentials)
    values = [itertools.product(_range(v.node), repeat=int(np.prod(v.node.static_shape))) for v in summed]
    terms = []
    for combination in itertools.product(*values):
        chosen = {v.name: np.reshape(c, v.node.static_shape) for v, c in zip(summed, combination, strict=True)}
        terms.append(logp({**point, **{name: np.array(0) for name in names}, **chosen}))
    return float(logsumexp(terms))


def _range(variable: Any) -> range:
    support: Any = support_of(variable)
    bounds = [end if isinstance(end, float) else constant_value(end) for end in (support.lower, support.upper)]
    return range(int(np.min(bounds[0])), int(np.max(bounds[1])) + 1)


@pytest.mark.parametrize("name", MODELS)
def test_density_is_the_sum_over_all_values(name: str) -> None:
    model, names = built(name)
    summed = marginalize(model, names)
    assert [v.name for v in summed.marginalized] == names
    assert not {v.name for v in summed.free} & set(names)
    point = summed.initial_point()
    point = {key: value + 0.1 * np.cos(np.arange(value.size)).reshape(value.shape) for key, value in point.items()}
    assert summed.compile_logp()(point) == pytest.approx(full_sum(model, names, point), rel=1e-12)
    assert sum(summed.point_logps(point).values()) == pytest.approx(summed.compile_logp()(point), rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_gradient_is_the_slope_of_the_density(name: str) -> None:
    density = marginalize(*built(name)).log_density()
    position = 0.3 * np.cos(np.arange(density.dimension) + 1.0)
    _, slope = density(position)
    step = 1e-6 * np.eye(density.dimension)
    differences = [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-7)


DISASTERS = """
    4 5 4 0 1 4 3 4 0 6 3 3 4 0 2 6 3 3 5 4 5 3 1 4 4 1 5 5 3 4 2 5 2 2 3 4 2 1 3 nan 2 1 1 1 1 3 0 0 1 0 1 1 0 0 3 1
    0 3 2 2 0 1 1 1 0 1 0 1 0 0 0 2 1 0 0 0 1 1 0 2 3 3 1 nan 2 1 1 1 1 2 4 2 0 0 1 4 0 0 0 1 0 0 0 0 0 1 0 0 1 0 1
"""  # in British coal mines per year, 1851 to 1961 (Jarrett 1979), two of them missing


def test_posterior_of_a_change_point_is_the_exact_one() -> None:
    """Rates with exponential priors have gamma posteriors given the year, whose own posterior is closed, too."""
    counts = np.array(DISASTERS.split(), float)
    years = np.arange(len(counts))
    with pm.Model(coords={"year": years + 1851}) as model:
        switch = pm.Categorical("switch", np.full(len(counts), 1 / len(counts)))
        early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
        with pytest.warns(ImputationWarning):
            pm.Poisson("disasters", pm.math.where(years < switch, early, late), observed=counts, dims="year")
    summed = marginalize(model, ["switch", "disasters_unobserved"])
    tree = pm.sample(2500, model=summed, random_seed=1, **QUIET)
    assert recover_marginals(tree, model=summed, random_seed=2) is tree

    there = ~np.isnan(counts)
    before = years[None, :] < years[:, None]
    events = [np.where(side & there, counts, 0).sum(axis=1) for side in (before, ~before)]
    length = [(side & there).sum(axis=1) for side in (before, ~before)]
    weights = sum(gammaln(1 + s) - (1 + s) * np.log(1 + n) for s, n in zip(events, length, strict=True))
    p = np.exp(weights - logsumexp(weights))
    means = [(p * (1 + s) / (1 + n)).sum() for s, n in zip(events, length, strict=True)]
    squares = [(p * (1 + s) * (2 + s) / (1 + n) ** 2).sum() for s, n in zip(events, length, strict=True)]

    posterior = tree.posterior
    for name, mean, square in zip(("early", "late"), means, squares, strict=True):
        assert float(posterior[name].mean()) == pytest.approx(mean, abs=4 * np.sqrt(square - mean**2) / 60)
        assert float(posterior[name].var()) == pytest.approx(square - mean**2, rel=0.08)
    # Averaged log probabilities know the year better than as many draws of it.
    np.testing.assert_allclose(np.exp(posterior["lp_switch"]).mean(("chain", "draw")), p, atol=0.006)
    drawn = np.bincount(posterior["switch"].values.ravel(), minlength=len(counts)) / posterior["switch"].size
    np.testing.assert_allclose(drawn, p, atol=0.02)
    np.testing.assert_array_equal(posterior["disasters"].values[..., ~there], posterior["disasters_unobserved"].values)
    np.testing.assert_array_equal(posterior["disasters"].values[..., there], np.tile(counts[there], (4, 2500, 1)))
    rates = [(1 + s) / (1 + n) for s, n in zip(events, length, strict=True)]
    expected = [(p * np.where(year < years, *rates)).sum() for year in np.flatnonzero(~there)]
    missing = posterior["disasters_unobserved"].mean(("chain", "draw")).values
    np.testing.assert_allclose(missing, expected, atol=0.1)


def test_recovered_variables_have_their_posterior_given_the_rest() -> None:
    """Two components, everything but the elements known: the odds are those of the component densities."""
    with pm.Model() as model:
        mu = pm.Normal("mu", shape=2)
        z = pm.Bernoulli("z", 0.25, shape=3)
        pm.Deterministic("own", mu[z])
        pm.Normal("y", mu[z], 1.0, observed=[-0.5, 0.5, 3.0])
    summed = marginalize(model, [z])
    draws = {"mu": np.tile([-1.0, 1.5], (2, 5000, 1))}
    found = recover_marginals(draws, model=summed, random_seed=1, extend_inferencedata=False)
    y = np.array([-0.5, 0.5, 3.0])
    weights = np.array([0.75, 0.25]) * stats.norm.pdf(y[:, None], [-1.0, 1.5])
    p = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(found["lp_z"].values[0, 0]), p, rtol=1e-12)
    np.testing.assert_allclose(found["z"].mean(("chain", "draw")), p[:, 1], atol=0.02)
    np.testing.assert_array_equal(found["own"], np.array([-1.0, 1.5])[found["z"]])
    only = recover_marginals(
        draws, model=summed, var_names="z", return_samples=False, extend_inferencedata=False, random_seed=1
    )
    assert list(only.data_vars) == ["lp_z"]


def test_predictions_keep_what_was_recovered() -> None:
    model, names = built("mixture_by_index")
    summed = marginalize(model, names)
    means = np.array([-100.0, 0.0, 100.0])
    trace = {
        "w": np.full((1, 400, 3), 1 / 3),
        "mu": np.tile(means, (1, 400, 1)),
        "z": np.tile([0, 1, 2, 0, 1, 2], (1, 400, 1)),
    }
    kept = pm.sample_posterior_predictive(trace, summed, random_seed=1).posterior_predictive["y"]
    np.testing.assert_allclose(kept.mean(("chain", "draw")), np.tile(means, 2), atol=0.3)
    del trace["z"]
    drawn = pm.sample_posterior_predictive(trace, summed, random_seed=1).posterior_predictive["y"]
    np.testing.assert_allclose((abs(drawn) > 50).mean(), 2 / 3, atol=0.05)


def test_recovered_chains_are_joint_draws() -> None:
    model, names = built("hidden_markov_chain")
    summed = marginalize(model, names)
    point = {"rows": np.array([[0.9, 0.1], [0.2, 0.8]]), "mu": np.array([-1.0, 1.0])}
    draws = {name: np.tile(value, (1, 20_000, *(1,) * value.ndim)) for name, value in point.items()}
    found = recover_marginals(draws, model=summed, random_seed=1, extend_inferencedata=False)
    paths = np.stack([found[name].values[0] for name in names], axis=1)
    logp = {}
    for path in itertools.product(range(2), repeat=4):
        value = np.log([0.3, 0.7][path[0]]) + stats.norm.logpdf(Y[:4], point["mu"][list(path)]).sum()
        logp[path] = value + sum(np.log(point["rows"][a, b]) for a, b in itertools.pairwise(path))
    p = np.exp(np.array(list(logp.values())) - logsumexp(list(logp.values())))
    seen = np.array([(paths == path).all(axis=1).mean() for path in logp])
    np.testing.assert_allclose(seen, p, atol=0.015)


CHAINS = [
    "stacked_chain", "stacked_chains_of_rows", "chain_by_potential", "chain_by_densities_of_neighbours",
    "chains_of_rows", "forbidden_steps", "pair_alone", "chain_below_another_variable",
]  # fmt: skip


@pytest.mark.parametrize("name", [*CHAINS, "elements_from_the_second_on"])
def test_chains_are_not_summed_over_combinations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginal, "COMBINATIONS", 1)
    marginalize(*built(name))


@pytest.mark.parametrize("name", CHAINS)
def test_paths_are_drawn_with_their_weights(name: str) -> None:
    """Joint frequencies, and the probabilities of single elements, are those of the enumeration."""
    model, names = built(name)
    summed = marginalize(model, names)
    start = summed.initial_point()
    point = summed.log_density().expand(0.2 * np.cos(np.arange(summed.log_density().dimension))[None])
    draws = {k: np.tile(v[0], (1, 20_000, *(1,) * (v.ndim - 1))) for k, v in point.items()}
    found = recover_marginals(draws, model=summed, random_seed=3, extend_inferencedata=False)
    flat = np.cos(np.arange(summed.log_density().dimension)) * 0.2
    sizes = np.cumsum([v.size for v in start.values()])[:-1]
    at = {k: part.reshape(v.shape) for (k, v), part in zip(start.items(), np.split(flat, sizes), strict=True)}
    variables = [v for v in model.free if v.name in names]
    logp = model.compile_logp()
    each = [itertools.product(_range(v.node), repeat=int(np.prod(v.node.static_shape))) for v in variables]
    weights = {}
    for combination in itertools.product(*each):
        values = {v.name: np.reshape(c, v.node.static_shape) for v, c in zip(variables, combination, strict=True)}
        weights[tuple(itertools.chain(*combination))] = logp({**at, **values})
    p = np.exp(np.array(list(weights.values())) - logsumexp(list(weights.values())))
    paths = np.concatenate([found[n].values[0].reshape(20_000, -1) for n in names], axis=1)
    listed = np.array(list(weights))
    codes = {tuple(path): i for i, path in enumerate(listed)}
    seen = np.bincount([codes[tuple(path)] for path in paths], minlength=len(p)) / 20_000
    np.testing.assert_allclose(seen, p, atol=4.5 * np.sqrt(0.25 / 20_000))
    assert not seen[p == 0].any()
    if len(names) == 1:
        known = np.exp(found[f"lp_{names[0]}"].values[0, 0]).reshape(listed.shape[1], -1)
        least = _range(variables[0].node)[0]
        exact = [[p[listed[:, i] == least + k].sum() for k in range(known.shape[1])] for i in range(listed.shape[1])]
        np.testing.assert_allclose(known, exact, atol=1e-12)


def test_long_chains_take_logarithmically_many_steps() -> None:
    """A thousand states: the sum of the forward algorithm in NumPy, from a graph of moderate size."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=1000)
    with pm.Model() as model:
        rows = pm.Dirichlet("rows", np.ones((3, 3)))
        mu = pm.Normal("mu", [-1.0, 0.0, 1.0], 1.0)
        z = pm.Categorical("z", [0.2, 0.3, 0.5], shape=1000)
        pm.Potential("steps", pt.log(rows)[z[:-1], z[1:]] - pt.log([0.2, 0.3, 0.5])[z[1:]])
        pm.Normal("y", mu[z], 1.0, observed=y)
    summed = marginalize(model, "z")
    assert len(topological([summed.logp()])) < 500
    point = {"rows": np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]), "mu": np.array([-1.0, 0.1, 1.2])}
    emission = stats.norm.logpdf(y[:, None], point["mu"])
    alpha = np.log([0.2, 0.3, 0.5]) + emission[0]
    for row in emission[1:]:
        alpha = logsumexp(alpha[:, None] + np.log(point["rows"]), axis=0) + row
    draws = {name: value[None, None] for name, value in point.items()}
    prior = summed.compile_logp(vars=["mu"])({"mu": point["mu"], "rows_simplex__": np.zeros((3, 2))})
    found = summed.compile_logp(vars=["mu", *(v.node for v in summed.observed), *summed.potentials])
    simplex = summed.free[0].transform
    assert simplex is not None
    unconstrained = np.asarray(simplex.forward(constant(point["rows"])).eval())
    total = found({"mu": point["mu"], "rows_simplex__": unconstrained})
    assert total - prior == pytest.approx(logsumexp(alpha), rel=1e-12)
    path = recover_marginals(draws, model=summed, random_seed=1, extend_inferencedata=False)["z"]
    assert path.shape == (1, 1, 1000)


def test_log_likelihood_of_a_mixture_is_summed_over_components() -> None:
    model, names = built("mixture_by_index")
    summed = marginalize(model, names)
    draws = {"w": np.array([[[0.2, 0.3, 0.5]]]), "mu": np.array([[[-1.0, 0.0, 2.0]]])}
    found = pm.compute_log_likelihood(draws, model=summed, extend_inferencedata=False)["y"]
    expected = np.log((draws["w"][0, 0] * stats.norm.pdf(Y[:, None], draws["mu"][0, 0])).sum(axis=1))
    np.testing.assert_allclose(found.values[0, 0], expected, rtol=1e-12)
    tied = marginalize(*built("change_point"))
    with pytest.raises(pm.ModelError, match="`y`, `y2` depend on `z`, which is marginalized: they have a log density"):
        pm.compute_log_likelihood(
            {"early": np.zeros((1, 1)), "late": np.zeros((1, 1))}, model=tied, extend_inferencedata=False
        )


def test_draws_forward_are_those_of_the_model_with_the_variable() -> None:
    model, names = built("mixture_by_index")
    summed = marginalize(model, names)
    prior = pm.sample_prior_predictive(2000, model=summed, random_seed=1).prior
    assert set(prior.data_vars) == {"w", "mu", "z"}
    np.testing.assert_allclose(np.bincount(prior["z"].values.ravel()) / 12_000, 1 / 3, atol=0.03)
    again = pm.do(summed, {"mu": [0.0, 0.0, 0.0]})
    assert [v.name for v in again.marginalized] == ["z"]
    assert np.isfinite(again.compile_logp()(again.initial_point()))
    assert "z ~ Categorical(w) (marginalized)" in str(summed)
    assert "z" in str(pm.model_to_mermaid(summed))


def test_starts_of_what_depends_on_a_summed_variable_through_another_are_found() -> None:
    with pm.Model() as model:
        several = pm.Poisson("several", 3.0)
        half = pm.Binomial("half", several, 0.5)
        quarter = pm.Binomial("quarter", half, 0.5)
        pm.Poisson("y", quarter + 0.1, observed=2)
    marginal = pm.marginalize(model, ["several"])
    start = {name: int(value) for name, value in marginal.initial_point().items()}
    assert start["half"] >= start["quarter"]
    terms = stats.poisson(1.5).logpmf(2), stats.binom(2, 0.5).logpmf(1), stats.poisson(1.1).logpmf(2)
    assert marginal.compile_logp()({"half": 2, "quarter": 1}) == pytest.approx(sum(terms), abs=1e-6)


def test_what_cannot_be_summed_is_refused() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        wide = pm.Skellam("wide", 2.0, 3.0)
        many = pm.Bernoulli("many", 0.5, shape=20)
        n = pm.Binomial("n", 3, 0.5)
        inner = pm.Binomial("inner", n, 0.5)
        of_data = pm.Categorical("of_data", pm.Data("p", [0.5, 0.5]))
        long = pm.Bernoulli("long", 0.5, shape=pm.Data("row", np.zeros(3)).shape)
        pm.Potential("pairs", mu * (1.0 * long[1:] * long[:-1]).sum() + of_data)
        pm.Deterministic("sum", many.sum())
        pm.Bernoulli("seen", 0.5, observed=1)
        pm.Normal("y", mu + wide + many.sum() + inner, 1.0, observed=0.0)
        bound = pm.Bernoulli("bound", 0.5)
        pm.Uniform("u", 0.0, 1.0 + bound)
    for names, message in {
        "mu": r"`mu` \(Normal\) is continuous",
        "wide": r"`wide` \(Skellam\) has no least value",
        "many": r"`many` \(shape \(20,\)\) act together .* 2\^20; at most 10000",
        "inner": r"`inner` \(Binomial\) is bounded by .*, which is no constant",
        "long": "Chains need a known length; `pm.freeze_dims_and_data` fixes one",
        "seen": "`seen` is observed",
        "sum": "`sum` is not a random variable",
        "bound": "the support of `u` depends on `bound`",
    }.items():
        with pytest.raises(pm.ModelError, match=message):
            marginalize(model, names)
    frozen = pm.model.freeze_dims_and_data(model)
    assert [v.name for v in marginalize(frozen, ["of_data", "long"]).marginalized] == ["of_data", "long"]
    with pytest.raises(KeyError, match="no variable `nowhere`"):
        marginalize(model, ["nowhere"])
    with pytest.raises(pm.ModelError, match="`n` is marginalized already"):
        marginalize(marginalize(model, "n"), "n")
    with pytest.raises(pm.ModelError, match="no marginalized variables"):
        recover_marginals({"mu": np.zeros((1, 1))}, model=model)


@pytest.mark.parametrize(
    "likelihood",
    [
        lambda n, p: pm.Binomial("k", n, p, observed=4),
        lambda n, p: pm.BetaBinomial("k", n=n, alpha=1 + p, beta=2.0, observed=4),
        lambda n, p: pm.NegativeBinomial("k", n=n, p=p, observed=4),
        lambda n, p: pm.HyperGeometric("k", N=40, k=20, n=n, observed=4) + pm.Normal("z", p, 1, observed=0.5),
        lambda n, p: pm.Poisson("k", n * p, observed=4),
    ],
    ids=["Binomial", "BetaBinomial", "NegativeBinomial", "HyperGeometric", "Poisson"],
)
def test_parameters_chosen_from_data_have_the_slopes_of_those_chosen_from_constants(likelihood: Any) -> None:
    """What parameters outside of their range would give is in the graph of data, and counts for nothing."""
    found = []
    for data in (True, False):
        with pm.Model() as model:
            sizes = pm.Data("sizes", np.array([10, 15])) if data else pt.constant(np.array([10, 15]))
            p = pm.Beta("p", 1.0, 1.0)
            likelihood(sizes[pm.Bernoulli("which", 0.5)], p)
        summed = pm.marginalize(model, ["which"])
        found.append(summed.compile_dlogp()({"p_logodds__": 0.3}))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)
