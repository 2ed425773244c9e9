"""Blocks that are nearly normal given the others, in coordinates of their own: the same posterior, exactly."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.diagnostics import mcse_mean
from consilience.errors import ImputationWarning, ModelError
from consilience.events import DrawsMade, Restarted
from consilience.model import model_density
from consilience.model.transport import correlated, operations, referred, suited, transport, transportable
from consilience.sample.coordinates import ChainCoordinates
from tests.cutting import stopping
from tests.elimination.law import compare_coordinates

Build = Callable[[np.random.Generator], None]


def walk_of_counts(rng: np.random.Generator) -> None:
    level = pm.Normal("level", 1.0, 2.0)
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=40)
    pm.Poisson("y", pt.exp(level + x), observed=rng.poisson(3.0, 40))


def volatility(rng: np.random.Generator) -> None:
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=40)
    pm.Normal("y", 0.0, pt.exp(x), observed=rng.normal(size=40))


def process_with_outliers(rng: np.random.Generator) -> None:
    scale, length = pm.HalfNormal("scale"), pm.Gamma("length", 2, 1)
    f = pm.gp.Latent(cov_func=scale**2 * pm.gp.cov.Matern52(1, ls=length)).prior("f", X=np.arange(22.0)[:, None])
    pm.StudentT("y", nu=4, mu=f, sigma=pm.HalfNormal("noise"), observed=rng.standard_t(2, 22))


def classified(rng: np.random.Generator) -> None:
    K = pm.HalfNormal("scale") ** 2 * np.exp(-0.1 * np.subtract.outer(np.arange(24), np.arange(24)) ** 2)
    f = pm.MvNormal("f", np.zeros(24), cov=K + 1e-3 * np.eye(24))
    pm.Bernoulli("y", logit_p=f, observed=rng.integers(0, 2, 24))


def level_and_two_processes(rng: np.random.Generator) -> None:
    level, f = pm.Normal("level", 1.0), 0.0
    for name, n in (("long", 26), ("short", 30)):
        cov = pm.HalfNormal(f"scale_{name}") ** 2 * pm.gp.cov.Matern32(1, ls=pm.Gamma(f"length_{name}", 4, 1))
        f = f + pm.gp.Latent(cov_func=cov).prior(name, X=np.arange(float(n))[:, None])[np.arange(60) % n]
    pm.Poisson("y", pt.exp(level + f), observed=rng.poisson(2.0, 60))


def areas(rng: np.random.Generator) -> None:
    W = np.diag(np.ones(24), 1)
    W = W + W.T
    theta, phi = pm.Normal("theta", shape=25), pm.ICAR("phi", W=W)
    s, rho = pm.HalfNormal("s"), pm.Beta("rho", 0.5, 0.5)
    predictor = pm.Normal("b") + s * (pt.sqrt(1 - rho) * theta + pt.sqrt(rho) * phi)
    pm.Poisson("y", 5.0 * pt.exp(predictor), observed=rng.poisson(5.0, 25))


def parts_of_a_process_elsewhere(rng: np.random.Generator) -> None:
    x, lengths = np.linspace(0.0, 9.0, 25)[:, None], pm.Gamma("lengths", 5, 1, shape=2)
    smooth = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=lengths[0]))
    whole = smooth + pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, ls=lengths[1]))
    f = whole.prior("f", X=x)
    pm.Poisson("y", pt.exp(f), observed=rng.poisson(3, 25))
    whole.conditional("beyond", x[:3] + 10.0)
    smooth.conditional("smooth part", x[:3] + 10.0, given={"X": x, "f": f, "gp": whole})


def groups(rng: np.random.Generator) -> None:
    x = pm.Normal("x", pm.Normal("mean"), pm.HalfNormal("s"), shape=120)
    pm.Binomial("y", 3, logit_p=x[np.arange(200) % 120], observed=rng.integers(0, 4, 200))


def counts_and_measurements(rng: np.random.Generator) -> None:
    x = pm.AR("x", rho=[pm.Uniform("rho", -1, 1)], sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), steps=29)
    pm.Normal("z", x[::2], 0.5, observed=rng.normal(size=15))
    pm.NegativeBinomial("y", mu=pt.exp(x), alpha=pm.Gamma("alpha", 2, 1), observed=rng.poisson(1.0, 30))


def classified_by_weights(rng: np.random.Generator) -> None:
    K = np.exp(-0.1 * np.subtract.outer(np.arange(24), np.arange(24)) ** 2) + 1e-3 * np.eye(24)
    v, s = pm.Normal("v", shape=24), pm.HalfNormal("scale")
    pm.Bernoulli("y", logit_p=s * (np.linalg.cholesky(K) @ v), observed=rng.integers(0, 2, 24))


def hilbert_space(rng: np.random.Generator) -> None:
    X, eta = rng.uniform(-1, 1, (60, 2)), pm.HalfNormal("eta")
    gp = pm.gp.HSGP(m=[6, 6], c=1.5, cov_func=eta**2 * pm.gp.cov.Matern52(2, ls=pm.InverseGamma("ls", 3, 1)))
    pm.Normal("y", gp.prior("f", X=X), pm.HalfNormal("noise"), observed=rng.normal(size=60))


def centred_hilbert_space(rng: np.random.Generator) -> None:
    X, ls = rng.uniform(-1, 1, (60, 1)), pm.InverseGamma("ls", 3, 1)
    gp = pm.gp.HSGP(m=[30], c=1.5, parametrization="centered", cov_func=pm.gp.cov.Matern52(1, ls=ls))
    f = pm.Normal("level") + pm.HalfNormal("eta") * gp.prior("f", X=X)
    pm.Binomial("y", n=7, logit_p=f, observed=rng.integers(0, 8, 60))


def two_smooth_terms(rng: np.random.Generator) -> None:
    basis = [np.maximum(0.0, rng.uniform(-1, 1, (50, 24))) for _ in range(2)]
    f = [b @ (pm.HalfNormal(f"s{i}") * pm.Normal(f"x{i}", shape=24)) for i, b in enumerate(basis)]
    pm.StudentT("y", 4, pm.Normal("level") + f[0] + f[1], pm.HalfNormal("noise"), observed=rng.normal(size=50))


def random_features(rng: np.random.Generator) -> None:
    frequencies, X = rng.normal(size=(2, 40)), pm.Data("X", rng.uniform(size=(30, 2)))
    basis = pt.cos(X @ (frequencies / pm.InverseGamma("ls", 3, 1))) * pm.HalfNormal("eta")
    pm.NegativeBinomial("y", pt.exp(basis @ pm.Normal("w", shape=40)), pm.Gamma("a", 2, 1), observed=[1] * 30)


def regression_of_two_answers(rng: np.random.Generator) -> None:
    beta = pm.Normal("beta", 0, pm.HalfNormal("tau"), shape=(20, 2))
    noisy = np.ma.masked_array(rng.normal(size=(40, 2)), rng.uniform(size=(40, 2)) < 0.2)
    pm.Normal("y", rng.normal(size=(40, 20)) @ beta, pm.HalfNormal("sigma", shape=2), observed=noisy)


def columns_of_nothing(rng: np.random.Generator) -> None:
    X = rng.normal(size=(25, 30))
    X[:, :5], X[:, 5:8], X[:4] = 0.0, 1.0, 0.0
    pm.Normal("y", X @ (pm.HalfNormal("s") * pm.Normal("x", shape=30)), tau=pm.Gamma("t", 2, 1), observed=X[:, -1])


# Of which the diagonal of the precision stands for a factor, and the elements whose correlations are known besides.
DIAGONAL: Any = [
    hilbert_space,
    centred_hilbert_space,
    two_smooth_terms,
    *(
        pytest.param(own, marks=pytest.mark.slow)
        for own in (random_features, regression_of_two_answers, columns_of_nothing, classified_by_weights)
    ),
]
MODELS: Any = [
    volatility,
    classified,
    level_and_two_processes,
    areas,
    parts_of_a_process_elsewhere,
    groups,
    *(
        pytest.param(own, marks=pytest.mark.slow)
        for own in (walk_of_counts, process_with_outliers, counts_and_measurements)
    ),
]


def improper_prior(rng: np.random.Generator) -> None:
    pm.Poisson("y", pt.exp(pm.Flat("x", shape=30) * pm.HalfNormal("s")), observed=rng.poisson(2.0, 30))


def observed_nowhere(rng: np.random.Generator) -> None:
    pm.Normal("x", 0.0, pm.HalfNormal("s"), shape=120)
    pm.Normal("y", pm.Normal("level"), 1.0, observed=rng.normal(size=3))


def duplicated_rows(rng: np.random.Generator) -> None:
    X = np.repeat(rng.normal(size=(1, 30)), 40, 0)
    pm.StudentT("y", 4, X @ pm.Normal("x", 0.0, pm.HalfNormal("s"), shape=30), 0.5, observed=rng.normal(size=40))


def duplicated_columns_with_little_noise(rng: np.random.Generator) -> None:
    X = np.repeat(rng.normal(size=(40, 1)), 30, 1)
    x = pm.Normal("x", 0.0, pm.HalfNormal("s"), shape=30)
    pm.Normal("y", X @ x, 1e-2 * pm.HalfNormal("noise"), observed=rng.normal(size=40))


def neighbours_without_a_level(rng: np.random.Generator) -> None:
    """The precision of the prior is singular; data mend it."""
    W = np.diag(np.ones(29), 1)
    x = pm.ICAR("x", W=W + W.T, sigma=pm.HalfNormal("s"))
    pm.Poisson("y", pt.exp(pm.Normal("level") + x), observed=rng.poisson(2.0, 30))


def a_walk_from_a_flat_beginning(rng: np.random.Generator) -> None:
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Flat.dist(), shape=30)
    pm.Poisson("y", pt.exp(x), observed=rng.poisson(2.0, 30))


def ordinal_data(rng: np.random.Generator) -> None:
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=30)
    pm.OrderedLogistic("y", eta=x, cutpoints=np.array([-0.5, 0.5]), observed=rng.integers(0, 3, 30))


def zero_inflated_data(rng: np.random.Generator) -> None:
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=30)
    pm.ZeroInflatedPoisson("y", pm.Beta("p", 2, 2), pt.exp(x), observed=rng.poisson(0.7, 30))


def a_potential_and_a_deterministic(rng: np.random.Generator) -> None:
    x = pm.Normal("x", 0.0, pm.HalfNormal("s"), shape=120)
    largest = pm.Deterministic("largest", pt.max(x))
    pm.Potential("pull", -pt.sum(pt.abs(x)) - largest)
    pm.Poisson("y", pt.exp(pm.Deterministic("again", x)), observed=rng.poisson(2.0, 120))


def vectors_partly_missing(rng: np.random.Generator) -> None:
    """What is missing has no other prior than that of the vectors, whose precision follows `m`."""
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=30)
    m = pm.Normal("m")
    pm.Poisson("y", pt.exp(x + m), observed=rng.poisson(2.0, 30))
    gone = np.array([[False, False], [False, True]])
    pm.MvNormal("v", np.zeros(2), tau=pt.exp(0.3 * m) * np.eye(2), observed=np.ma.masked_array(np.ones((2, 2)), gone))


# Of which coordinates are right or refused, by a factor and by the diagonal.
EDGES: Any = {
    improper_prior: (False, False), observed_nowhere: (False, True), duplicated_rows: (True, True),
    duplicated_columns_with_little_noise: (False, True), neighbours_without_a_level: (True, False),
    vectors_partly_missing: (True, False), a_walk_from_a_flat_beginning: (True, False),
    ordinal_data: (True, False), zero_inflated_data: (True, False), a_potential_and_a_deterministic: (True, True),
}  # fmt: skip


def built(build: Build) -> pm.Model:
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", ImputationWarning)
        build(np.random.default_rng(5))
    return model


def prior_draws(model: pm.Model) -> dict[str, Any]:
    density = model_density(model)
    positions = np.random.default_rng(2).normal(0.0, 0.3, (12, density.dimension))
    return density.expand(positions, False)


@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_densities_differ_by_the_volume_of_the_map(build: Build) -> None:
    """The law of coordinates, for a factor of the precision."""
    model = built(build)
    chosen = suited(model, prior_draws(model))
    assert chosen is not None
    compare_coordinates(model, ChainCoordinates(transported=chosen))


@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_coordinates_are_priced_by_their_gradients(build: Build) -> None:
    """Whatever factors and products are in it: by the same count as the densities that are compiled."""
    model = built(build)
    chosen = suited(model, prior_draws(model))
    assert chosen is not None
    for own in (model, transport(model, chosen)):
        np.testing.assert_allclose(operations(own), model_density(own).work, rtol=0.1)


@pytest.mark.parametrize("build", DIAGONAL, ids=lambda build: build.__name__)
def test_densities_differ_by_the_volume_of_a_diagonal_map(build: Build) -> None:
    """Also with correlations of some elements besides, and where references are wrong: they are exact all the same."""
    model = built(build)
    draws = prior_draws(model)
    chosen = suited(model, draws, diagonal=True)
    assert chosen is not None
    compare_coordinates(model, ChainCoordinates(transported=chosen))
    more = correlated(model, chosen, draws)
    compare_coordinates(model, ChainCoordinates(transported=more))
    wrong = {**more, "responses": [(3.0 * np.asarray(own) + 1.0).tolist() for own in more["responses"]]}
    compare_coordinates(model, ChainCoordinates(transported=wrong))


@pytest.mark.parametrize("build", EDGES, ids=lambda build: build.__name__)
def test_coordinates_at_the_edge_of_what_can_be_are_right_or_refused(build: Build) -> None:
    """And where scales are next to nothing or without end there is a number, or none, but no wrong one."""
    model = built(build)
    found = [suited(model, prior_draws(model), diagonal) for diagonal in (False, True)]
    assert tuple(one is not None for one in found) == EDGES[build]
    for chosen in found:
        if chosen is not None:
            compare_coordinates(model, ChainCoordinates(transported=chosen))
            new = model_density(transport(model, chosen))
            few = [s.slice for s in new.layout.stretches if s.variable.name != "x_raw"]
            for scale in (-700.0, -40.0, 40.0, 700.0):
                at = np.random.default_rng(1).normal(size=new.dimension)
                for place in few:
                    at[place] = scale
                value = new(at)[0]
                assert not value > 1e3 * new.dimension, scale


@pytest.mark.slow
def test_coordinates_of_many_elements_take_little_more_than_these() -> None:
    """100,000 groups: the density is that of each alone."""
    n = 100_000
    y = np.random.default_rng(1).poisson(2.0, n)
    with pm.Model() as model:
        x = pm.Normal("x", pm.Normal("mean"), pm.HalfNormal("s"), shape=n)
        pm.Poisson("y", pt.exp(x), observed=y)
    chosen = suited(model, prior_draws(model))
    assert chosen is not None
    new, old = model_density(transport(model, chosen)), model_density(model)
    at = np.random.default_rng(2).normal(0.0, 0.3, new.dimension)
    rows = np.stack([at, at])
    place = next(s.slice for s in new.layout.stretches if s.variable.name == "x_raw")
    rows[1, place] += 1.0
    values = {**new.expand(rows, False), **new.expand(rows, ["x"])}
    volume = np.log(values["x"][1] - values["x"][0]).sum()
    there = old.unconstrained({v.name: values[v.name][:1] for v in model.free})[0]
    assert new(at)[0] == pytest.approx(old(there)[0] + volume, rel=1e-9)


@pytest.mark.parametrize("build", [one for one in DIAGONAL if one is not two_smooth_terms], ids=lambda b: b.__name__)
def test_the_diagonal_is_that_of_the_precision(build: Build) -> None:
    """Of one draw: the widths that unit vectors have there are those of second derivatives of the plain density."""
    model = built(build)
    old = model_density(model)
    position = np.random.default_rng(2).normal(0.0, 0.3, old.dimension)
    draw = old.expand(position[None], False)
    chosen = referred(model, transportable(model, diagonal=True), draw, diagonal=True)
    new = model_density(transport(model, chosen))
    (name,) = chosen["names"]
    raw = next(s for s in new.layout.stretches if s.variable.name == f"{name}_raw")
    others = {s.variable.name: draw[s.variable.name] for s in new.layout.stretches if s is not raw}
    at = new.unconstrained({**others, raw.variable.name: np.zeros((1, *raw.shape))})
    rows = np.concatenate([at, at + np.eye(new.dimension)[raw.slice]])
    x = new.expand(rows, [name])[name].reshape(len(rows), -1)
    place = next(s.slice for s in old.layout.stretches if s.variable.name == name)
    steps = 1e-5 * np.eye(old.dimension)[place]
    slopes = [(old(position + step)[1] - old(position - step)[1])[place] for step in steps]
    np.testing.assert_allclose(np.diag(x[1:] - x[0]), (-np.diag(slopes) / 2e-5) ** -0.5, rtol=1e-5)


def test_data_and_scales_of_which_the_diagonal_tells_nothing() -> None:
    """Loops and matrices of unknown numbers have no known entries, and one variable alone has nothing to follow."""
    with pm.Model() as loop:
        x = pm.Normal("x", shape=30)
        path = pm.scan(lambda v, before: 0.5 * before + v, sequences=[x], outputs_info=[pt.constant(0.0)])[0]
        pm.Normal("y", pm.HalfNormal("s") * path, 1.0, observed=np.zeros(30))
    with pytest.raises(ModelError, match="the diagonal of the precision of the block is not known"):
        suited(loop, prior_draws(loop), diagonal=True)
    with pm.Model() as walk:
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=50)
        pm.Normal("y", x, 1.0, observed=np.zeros(50))
    assert transportable(walk, diagonal=True) == ()
    with pm.Model() as small:
        X = np.random.default_rng(1).normal(size=(9, 19))
        pm.Normal("y", X @ (pm.HalfNormal("s") * pm.Normal("x", shape=19)), 1.0, observed=X[:, 0])
    assert transportable(small, diagonal=True) == ()
    with pm.Model() as lone:
        pm.Normal("x", 0.0, pm.HalfNormal("s"), shape=1)
    assert transportable(lone, diagonal=True) == ()


def test_draws_without_finite_slopes_are_no_reference() -> None:
    model = built(hilbert_space)
    draws = prior_draws(model)
    draws["noise"][3] = 0.0
    with pytest.raises(ModelError, match="draws have no finite"):
        suited(model, draws, diagonal=True)


def test_what_is_a_block() -> None:
    """Intercepts are of it where elements act on each other; what scales it is not, nor what is normal throughout."""
    assert transportable(built(walk_of_counts)) == ("level", "x")
    assert set(transportable(built(areas))) == {"b", "theta", "phi"}
    assert transportable(built(groups)) == ("x",)
    with pm.Model() as product:
        x = pm.Normal("x", shape=50)
        pm.Poisson("y", pt.exp(pm.Normal("factor") * x + pm.HalfNormal("s")), observed=[1] * 50)
    assert transportable(product) == ("x",)
    with pm.Model() as normal:
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=50)
        pm.Normal("y", x, 1.0, observed=np.zeros(50))
    assert transportable(normal) == ()
    with pm.Model() as mixed:
        x = pm.Normal("x", 0, pm.HalfNormal("s"), shape=50)
        pm.Poisson("y", pt.exp(x + pm.Bernoulli("z", 0.5)), observed=[1] * 50)
    assert transportable(mixed) == ()


@pytest.mark.parametrize(("count", "letters"), [(1, 190), (2, 190), (4, 60)])
def test_names_of_any_length_and_number_make_up_a_block(count: int, letters: int) -> None:
    with pm.Model() as model:
        parts = [pm.Normal(f"{'x' * (letters - 1)}{n}", shape=100) for n in range(count)]
        scale = pm.HalfNormal("scale", shape=count)
        total = sum(s * part for s, part in zip(scale, parts, strict=True))
        pm.Poisson("y", pt.exp(total), observed=np.full(100, 3))
    chosen = suited(model, prior_draws(model))
    assert chosen is not None
    assert len(chosen["names"]) == count
    compare_coordinates(model, ChainCoordinates(transported=chosen))


def test_a_name_that_is_taken_is_an_error() -> None:
    model = built(walk_of_counts)
    chosen = suited(model, prior_draws(model))
    assert chosen is not None
    with model:
        pm.Deterministic("level_raw", pt.constant(1.0))
    with pytest.raises(ModelError, match="level_raw"):
        transport(model, chosen)


def observed_counts() -> Any:
    rng = np.random.default_rng(5)
    return rng.poisson(2.0 * np.exp(0.15 * rng.normal(size=300)))


def few_counts() -> pm.Model:
    """Counts of 300 groups, which say little of how far these differ."""
    with pm.Model(coords={"group": range(300)}) as model:
        a = pm.Normal("a", pm.Normal("mu", 0, 3), pm.HalfNormal("tau", 1), dims="group")
        pm.Poisson("y", mu=2.0 * pt.exp(a), observed=observed_counts(), dims="group")
    return model


def test_runs_that_fail_go_on_with_the_block_in_its_own_coordinates() -> None:
    """Means agree with those of sums over a grid of mean and scale; names and dims are those of the model."""
    model = few_counts()
    found = pm.sample(model=model, random_seed=1, progressbar=False)
    attributes = found.posterior.attrs
    assert found.status == "converged"
    assert json.loads(attributes["transported"]) == {"a": "normal, each element alone"}
    assert json.loads(attributes["restarts"])[0] == "block"
    assert set(found.posterior.data_vars) == {"a", "mu", "tau"}
    assert found.posterior["a"].dims == ("chain", "draw", "group")
    mu, log_tau = np.meshgrid(np.linspace(-0.35, 0.15, 41), np.linspace(-6.0, 0.0, 61), indexing="ij")
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    y = observed_counts()
    rate = np.log(2.0) + mu[..., None] + np.exp(log_tau)[..., None] * nodes
    values, counts = np.unique(y, return_counts=True)
    log_posterior = log_tau - 0.5 * np.exp(2.0 * log_tau) - 0.5 * (mu / 3.0) ** 2
    for value, count in zip(values, counts, strict=True):
        log_posterior = log_posterior + count * np.log((np.exp(value * rate - np.exp(rate)) * weights).sum(-1))
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    for name, own in (("mu", mu), ("tau", np.exp(log_tau))):
        draws = found.posterior[name].values
        assert abs(draws.mean() - (posterior * own).sum()) < 5 * mcse_mean(draws)


def answers() -> pm.Model:
    """Of 100 persons to 12 questions: abilities and difficulties make up a block, not how far slopes differ."""
    rng = np.random.default_rng(3)
    ability, slope, difficulty = rng.normal(size=100), np.exp(0.3 * rng.normal(size=12)), rng.normal(size=12)
    persons, questions = np.repeat(np.arange(100), 12), np.tile(np.arange(12), 100)
    chance = 1.0 / (1.0 + np.exp(-slope[questions] * (ability[persons] - difficulty[questions])))
    with pm.Model() as model:
        person, question = pm.Data("person", persons), pm.Data("question", questions)
        theta = pm.Normal("theta", 0, 1, shape=100)
        a = pm.LogNormal("a", pm.Normal("mu_a", 0, 1), pm.HalfNormal("sigma_a", 0.5), shape=12)
        b = pm.Normal("b", pm.Normal("mu_b", 0, 1), pm.HalfNormal("sigma_b", 1), shape=12)
        logit = a[question] * (theta[person] - b[question])
        pm.Bernoulli("y", logit_p=logit, observed=(rng.random(1200) < chance).astype(int))
    return model


def test_a_hierarchy_outside_of_the_block_goes_first() -> None:
    """A factor costs four gradients and leaves the neck of the scale where it is: the run failed again in it."""
    model = answers()
    assert transportable(model) == ("theta", "mu_b", "b")
    found = pm.sample(model=model, random_seed=1, progressbar=False)
    assert found.status == "converged"
    assert json.loads(found.posterior.attrs["restarts"])[0] == "coordinates"
    assert json.loads(found.posterior.attrs["transported"]) == {}


def map_of_places() -> pm.Model:
    """A process over a plane of 100 functions, of which 60 places with normal noise tell."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (60, 2))
    with pm.Model(coords={"place": range(60), "wave": range(100)}) as model:
        ls, eta = pm.InverseGamma("ls", 3, 1), pm.HalfNormal("eta", 2)
        gp = pm.gp.HSGP(m=[10, 10], c=1.5, cov_func=eta**2 * pm.gp.cov.Matern52(2, ls=ls))
        f = gp.prior("f", X=X, dims="place", hsgp_coeffs_dims="wave")
        y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * rng.normal(size=60)
        pm.Normal("y", f, pm.HalfNormal("noise"), observed=y, dims="place")
    return model


@pytest.fixture
def taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices at which small models take coordinates as large ones do."""
    model_run = importlib.import_module("consilience.sample.model_run")  # `consilience.sample` is a function, too
    monkeypatch.setattr(model_run, "COMPILATION", -1e9)
    monkeypatch.setattr(model_run, "DEAR", 0.0)
    monkeypatch.setattr(importlib.import_module("consilience.run.remedies.coordinates"), "LONG_OF_BLOCKS", 0)


@pytest.mark.usefixtures("taken_at_once")
def test_maps_go_on_by_the_diagonal_of_the_precision() -> None:
    """Draws have the means of a plain run, in fewer gradients; names and dims are those of the model."""
    model = map_of_places()
    settings: dict[str, Any] = {"model": model, "random_seed": 1, "progressbar": False}
    found = pm.sample(**settings)
    kind = "normal, by the diagonal of the precision and correlations at a reference"
    assert found.status == "converged"
    assert json.loads(found.posterior.attrs["transported"]) == {"f_hsgp_coeffs": kind}
    assert found.posterior["f_hsgp_coeffs"].dims == ("chain", "draw", "wave")
    assert found.posterior["f"].dims == ("chain", "draw", "place")
    plain = pm.sample(**settings, remedies=("steps", "metric"))
    assert found.posterior.attrs["gradients"] < plain.posterior.attrs["gradients"]
    for name in ("ls", "eta", "noise", "f"):
        one, other = (result.posterior[name].values for result in (found, plain))
        error = np.hypot(mcse_mean(one), mcse_mean(other))
        assert (np.abs(one.mean((0, 1)) - other.mean((0, 1))) < 5 * error).all(), name
    assert pm.compute_log_likelihood(found, model=model).log_likelihood["y"].shape == (*found.posterior["ls"].shape, 60)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.usefixtures("taken_at_once")
@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_by_the_diagonal_of_the_precision(tmp_path: Path) -> None:
    goes_on_when_cut_off(map_of_places, 1000, Restarted, 8, tmp_path)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("ess", "cut", "further"), [(1000, Restarted, 8), pytest.param(3000, DrawsMade, 10**6, marks=pytest.mark.slow)]
)
def test_a_run_that_was_cut_off_goes_on_in_the_coordinates_of_the_block(
    ess: float, cut: type, further: int, tmp_path: Path
) -> None:
    """Also where it leaves these coordinates later, and learns steps from the draws before the cut and after it."""
    goes_on_when_cut_off(few_counts, ess, cut, further, tmp_path)


def goes_on_when_cut_off(model: Callable[[], pm.Model], ess: float, cut: type, further: int, tmp_path: Path) -> None:
    """A run has the same draws and the same record when it is cut off, once or ever again."""
    # Long enough not to be over before it is cut off.
    settings: dict[str, Any] = {"random_seed": 1, "progressbar": False, "stop": pm.Stop(ess=ess)}
    unbroken = pm.sample(model=model(), cores=1, **settings)
    tree = pm.sample(model=model(), save=pm.Save(checkpoint=tmp_path / "run"), callback=stopping(0, cut), **settings)
    attempts = 1
    while tree.status == "interrupted":
        attempts += further
        tree = pm.resume(tmp_path / "run", model(), callback=stopping(attempts), progressbar=False)
    assert attempts > 1
    name = model().free_RVs[0].name
    np.testing.assert_array_equal(tree.posterior[name], unbroken.posterior[name])
    for name in ("status", "gradients", "restarts", "transported"):
        assert tree.posterior.attrs[name] == unbroken.posterior.attrs[name], name
