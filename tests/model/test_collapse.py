"""Normal variables integrated out of a density, and drawn again: the posterior is that of the whole model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ModelError

ROWS, GROUPS = 800, 12
_random = np.random.default_rng(4)
X = _random.normal(size=(ROWS, 3))
GROUP = _random.integers(0, GROUPS, ROWS)
Y = 2.0 + X @ [1.0, -1.0, 0.5] + _random.normal(0, 1, GROUPS)[GROUP] + _random.normal(0, 0.7, ROWS)
QUIET: dict[str, Any] = {"progressbar": False, "chains": 4, "random_seed": 3}


def hierarchy(x: Any = X, y: Any = Y, group: Any = GROUP) -> pm.Model:
    with pm.Model(coords={"k": ["a", "b", "c"], "group": range(GROUPS)}) as model:
        a, b = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2, dims="k")
        t, s = pm.HalfNormal("t"), pm.HalfNormal("s")
        u = pm.Normal("u", 0, t, dims="group")
        pm.Deterministic("twice", 2 * b, dims="k")
        pm.Normal("y", a + x @ b + u[group], s, observed=y)
    return model


def differences(model: pm.Model, point: dict[str, Any]) -> Any:
    """The gradient by central differences."""
    logp, found = model.compile_logp(), []
    for name, value in point.items():
        for place in np.ndindex(np.shape(value)):
            moved = [{**point, name: np.array(value, copy=True)} for _ in range(2)]
            moved[0][name][place] += 1e-5
            moved[1][name][place] -= 1e-5
            found.append((logp(moved[0]) - logp(moved[1])) / 2e-5)
    return np.array(found)


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("names", [["b"], ["a", "b"], ["u"], ["u", "b", "a"]])
def test_densities_are_those_of_normal_vectors(names: list[str], exchanged: bool) -> None:
    """The closed form: data of one normal distribution with all covariances; constants and `pm.Data` alike."""
    whole = hierarchy(*map(pm.shared, (X, Y))) if exchanged else hierarchy()
    model = pm.collapse(whole, names)
    for spread in (0.1, 1.0):
        start = model.initial_point()
        point = {k: np.asarray(v) + _random.normal(0, spread, np.shape(v)) for k, v in start.items()}
        s, t = np.exp(point["s_log__"]), np.exp(point["t_log__"])
        covariance, mean = s**2 * np.eye(ROWS), np.zeros(ROWS)
        wanted = sum(stats.halfnorm.logpdf(np.exp(point[k])) + point[k] for k in ("s_log__", "t_log__"))
        for name, columns, scale in (("a", np.ones((ROWS, 1)), 5), ("b", X, 2), ("u", np.eye(GROUPS)[GROUP], t)):
            if name in names:
                covariance += scale**2 * columns @ columns.T
            else:
                mean += columns @ np.atleast_1d(point[name])
                wanted += stats.norm(0, scale).logpdf(point[name]).sum()
        wanted += stats.multivariate_normal(mean, covariance).logpdf(Y)
        np.testing.assert_allclose(model.compile_logp()(point), wanted, rtol=1e-9)
        slopes = model.compile_dlogp()(point)
        np.testing.assert_allclose(slopes, differences(model, point), rtol=1e-5, atol=1e-6 * np.abs(slopes).max())


def test_values_far_from_zero_keep_their_digits() -> None:
    """The sum of squares at the mean is what counts, not its difference from the one at zero."""
    offset = 1e7
    models = [pm.Model(), pm.Model()]
    for model, shift in zip(models, (0.0, offset), strict=True):
        with model:
            a, s = pm.Flat("a"), pm.HalfNormal("s")
            pm.Normal("y", a, s, observed=Y + shift)
    found = [pm.collapse(model, "a").compile_logp()({"s_log__": np.array(-0.2)}) for model in models]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


def test_second_derivatives_are_those_of_the_density() -> None:
    model = pm.collapse(hierarchy(), ["a", "b", "u"])
    point = {k: np.asarray(v) + 0.1 for k, v in model.initial_point().items()}
    found, slope = model.compile_d2logp()(point), model.compile_dlogp()
    for column, name in enumerate(point):
        moved = [slope({**point, name: point[name] + step}) for step in (1e-5, -1e-5)]
        wanted = (moved[0] - moved[1]) / 2e-5
        np.testing.assert_allclose(found[:, column], -wanted, rtol=1e-4, atol=1e-3)


def test_draws_that_are_recovered_have_the_distribution_of_the_whole_model() -> None:
    """Means and spreads of all variables within the error of both runs; dims and deterministics are kept."""
    whole = hierarchy()
    with whole:
        wanted = pm.sample(**QUIET)
    model = pm.collapse(whole, ["a", "b", "u"])
    assert [v.name for v in model.free_RVs] == ["t", "s"]
    with model:
        found = pm.sample(**QUIET)
    assert found.posterior.attrs["status"] == wanted.posterior.attrs["status"]
    pm.recover_marginals(found, model=model, random_seed=1)
    assert found.posterior["b"].dims == ("chain", "draw", "k")
    assert "lp_b" not in found.posterior
    np.testing.assert_allclose(found.posterior["twice"].values, 2 * found.posterior["b"].values)
    for name in ("t", "s", "a", "b", "u"):
        draws = [np.asarray(tree.posterior[name]) for tree in (wanted, found)]
        for power in (1, 2):
            middle = draws[0].mean((0, 1))
            moments = [(d - middle) ** power for d in draws]
            errors = [
                m.std((0, 1)) / np.sqrt(np.clip(np.asarray(pm.ess(tree, var_names=[name])[name]), 100, None))
                for m, tree in zip(moments, (wanted, found), strict=True)
            ]
            gap = np.abs(moments[0].mean((0, 1)) - moments[1].mean((0, 1)))
            assert (gap < 6 * np.hypot(*errors)).all(), name
    with whole:
        pm.compute_log_likelihood(found, var_names=["y"])
    assert found.log_likelihood["y"].shape == (4, found.posterior.sizes["draw"], ROWS)


def test_recovered_draws_are_those_of_the_conditional_distribution() -> None:
    """Mean and covariance given one position, of variables that act together, are those of the algebra."""
    model = pm.collapse(hierarchy(), ["a", "b"])
    draws = 40_000
    u = np.linspace(-1, 1, GROUPS)
    given = {"t": np.ones((1, draws)), "s": np.full((1, draws), 0.5), "u": np.broadcast_to(u, (1, draws, GROUPS))}
    found = pm.recover_marginals(given, model=model, extend_inferencedata=False, random_seed=2)
    columns = np.column_stack([np.ones(ROWS), X])
    precision = columns.T @ columns / 0.25 + np.diag([1 / 25, 1 / 4, 1 / 4, 1 / 4])
    mean = np.linalg.solve(precision, columns.T @ (Y - u[GROUP]) / 0.25)
    array = np.column_stack([found["a"].values[0], found["b"].values[0]])
    white = (array - mean) @ np.linalg.cholesky(precision)
    assert np.abs(white.mean(0)).max() < 5 / np.sqrt(draws)
    assert np.abs(np.cov(white.T) - np.eye(4)).max() < 8 / np.sqrt(draws)


VARIETY: dict[str, Callable[[], None]] = {
    "a vector with its covariance": lambda: pm.Potential(
        "p", -(((pm.MvNormal("b", np.ones(2), [[2.0, 0.5], [0.5, 1.0]]) * pm.HalfNormal("s")) ** 2).sum())
    ),
    "a random walk": lambda: pm.Normal(
        "y", pm.GaussianRandomWalk("b", 0.0, pm.HalfNormal("s"), init_dist=pm.Normal.dist(0, 1), shape=6),
        1.0, observed=Y[:6],
    ),
    "a mean that is a variable": lambda: pm.Normal("y", pm.Normal("b", pm.Normal("m"), 2.0), 1.0, observed=Y[:6]),
    "other variables that depend on it": lambda: pm.Normal("z", pm.Normal("b", 0.0, 2.0) * pm.HalfNormal("s"), 1.0),
    "a matrix": lambda: pm.Normal("y", X @ pm.Normal("b", shape=(3, 2)), pm.HalfNormal("s"), observed=np.c_[Y, -Y]),
    "nothing": lambda: pm.Normal("y", pm.Normal("b", shape=2)[0] * 0.0 + pm.Normal("m"), 1.0, observed=Y[:3]),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIETY)
def test_integrals_are_those_by_the_conditional_density(name: str) -> None:
    """log p(rest) = log p(all) - log p(collapsed | rest), at any value of the collapsed: its curvature gives both."""
    with pm.Model() as whole:
        VARIETY[name]()
    model = pm.collapse(whole, "b")
    point = {k: np.asarray(v) + 0.3 for k, v in whole.initial_point().items()}
    rest = {k: v for k, v in point.items() if k != "b"}
    position = [v.name for v in whole.value_vars].index("b")
    sizes = [np.size(point[v.name]) for v in whole.value_vars]
    own = slice(sum(sizes[:position]), sum(sizes[: position + 1]))
    slope, precision = whole.compile_dlogp()(point)[own], whole.compile_d2logp()(point)[own, own]
    mode = np.linalg.solve(precision, slope)
    conditional = stats.multivariate_normal(np.zeros(len(mode)), np.linalg.inv(precision)).logpdf(-mode)
    wanted = whole.compile_logp()(point) - conditional
    np.testing.assert_allclose(model.compile_logp()(rest), wanted, rtol=1e-9, atol=1e-9)


def test_refusals_name_the_term_and_the_way_out() -> None:
    with pm.Model() as model:
        a, b, s = pm.Normal("a"), pm.Normal("b"), pm.HalfNormal("s")
        z = pm.Bernoulli("z", 0.3)
        pm.StudentT("heavy", 4.0, a, s, observed=Y[:5])
        pm.Normal("product", b * pm.Normal("c"), s, observed=Y[:5])
        pm.Normal("mixed", pm.Normal("d") * z, s, observed=Y[:5])
        pm.Uniform("bounded", 0, 2)
        pm.Normal("inside", 0.0, pm.math.exp(pm.Normal("log_scale")), observed=Y[:5])
        pm.ZeroSumNormal("zero", shape=3)
    for names, told in (
        ("a", "`heavy` is not quadratic in `a`"),
        (["b", "c"], "`product` is not quadratic in `b` and `c`"),
        ("log_scale", "`inside` is not quadratic in `log_scale`"),
        ("s", "is not linear in statistics of `s`"),
        ("bounded", "a support over which no integral is known"),
        ("zero", "a support over which no integral is known"),
        ("z", r"pm\.marginalize"),
        ("product", "is observed, so there is nothing to integrate over"),
    ):
        with pytest.raises(ModelError, match=told):
            pm.collapse(model, names)
    assert [v.name for v in pm.collapse(model, "b").free_RVs] == [
        "a", "s", "z", "c", "d", "bounded", "log_scale", "zero",
    ]  # fmt: skip
    with pytest.raises(ModelError, match="marginalized already"):
        pm.collapse(pm.collapse(model, "b"), "b")
    with pytest.raises(ModelError, match=r"`mixed` is not quadratic|act on each other"):
        pm.collapse(pm.marginalize(model, "z"), "d")
    with pytest.raises(ModelError, match=r"pm\.collapse"):
        pm.marginalize(model, "a")
    with pytest.raises(KeyError):
        pm.collapse(model, "nothing")


def test_discrete_variables_are_summed_out_beside() -> None:
    """A model with both has the density that each step by itself would give."""
    with pm.Model() as model:
        b, z = pm.Normal("b"), pm.Bernoulli("z", 0.3)
        m = pm.Normal("m")
        pm.Normal("y", b * X[:20, 0], 1.0, observed=Y[:20])
        pm.Normal("w", m + 3.0 * z, 1.0, observed=2.0)
    both = pm.marginalize(pm.collapse(model, "b"), "z")
    other = pm.collapse(pm.marginalize(model, "z"), "b")
    point = {"m": np.array(0.4)}
    found = [each.compile_logp()(point) for each in (both, other)]
    normal = stats.multivariate_normal(np.zeros(20), np.eye(20) + np.outer(X[:20, 0], X[:20, 0])).logpdf(Y[:20])
    mixture = np.log(0.7 * stats.norm.pdf(2.0, 0.4) + 0.3 * stats.norm.pdf(2.0, 3.4))
    np.testing.assert_allclose(found, normal + mixture + stats.norm.logpdf(0.4), rtol=1e-12)
    draws = {"m": np.full((1, 50), 0.4)}
    again = pm.recover_marginals(draws, model=both, extend_inferencedata=False, random_seed=1)
    assert set(np.unique(again["z"])) <= {0, 1}
    assert again["b"].shape == (1, 50)
    assert "lp_z" in again
    assert "lp_b" not in again


def test_log_likelihoods_of_observations_ask_for_the_whole_model() -> None:
    model = pm.collapse(hierarchy(), "b")
    with model:
        result = pm.sample(
            draws=10, tune=10, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
        with pytest.raises(ModelError, match=r"pm\.recover_marginals"):
            pm.compute_log_likelihood(result)


def test_models_are_pickled_and_take_new_data() -> None:
    with pm.Model() as model:
        x, y = pm.Data("x", X[:50]), pm.Data("outcome", Y[:50])
        b, s = pm.Normal("b", shape=3), pm.HalfNormal("s")
        pm.Normal("y", x @ b, s, observed=y)
    made = pickle.loads(pickle.dumps(pm.collapse(model, "b")))
    point = {"s_log__": np.array(0.2)}

    def wanted(rows: int) -> float:
        covariance = np.exp(0.4) * np.eye(rows) + X[:rows] @ X[:rows].T
        prior = stats.halfnorm.logpdf(np.exp(0.2)) + 0.2
        return float(stats.multivariate_normal(np.zeros(rows), covariance).logpdf(Y[:rows]) + prior)

    np.testing.assert_allclose(made.compile_logp()(point), wanted(50), rtol=1e-10)
    pm.set_data({"x": X[:70], "outcome": Y[:70]}, model=made)
    np.testing.assert_allclose(made.compile_logp()(point), wanted(70), rtol=1e-10)


@pytest.mark.filterwarnings("ignore")
def test_runs_go_on_from_their_checkpoints(tmp_path: Any) -> None:
    """A run that was stopped and resumed has the draws of one that was not."""
    arguments: dict[str, Any] = {"tune": 60, "chains": 2, "random_seed": 5, "progressbar": False}
    made = pm.collapse(hierarchy(), ["a", "b", "u"])
    seen: list[int] = []

    def stop(event: Any) -> None:
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with made:
        whole = pm.sample(100, **arguments)
        pm.sample(100, save=pm.Save(checkpoint=tmp_path / "run"), callback=stop, **arguments)
    again = pm.collapse(hierarchy(), ["a", "b", "u"])
    resumed = pm.resume(tmp_path / "run", model=again, progressbar=False)
    for name in ("s", "t"):
        np.testing.assert_array_equal(whole.posterior[name].values, resumed.posterior[name].values)
