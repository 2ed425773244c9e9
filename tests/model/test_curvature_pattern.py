"""Where the second derivatives of a log density can have entries: those that are found by differences lie there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import consilience as pm
import consilience.sparse as cs
import consilience.tensor as pt
from consilience.distributions import transforms
from consilience.elimination.curvature_pattern import CurvaturePattern, curvature_pattern
from consilience.model.log_density import ModelDensity
from consilience.model.starting_point import starting_positions
from consilience.scan import scan
from tests.public_models.table import MODELS

pytestmark = pytest.mark.filterwarnings("ignore")  # what the public models are warned of is not at issue here
N, STEP, ROUNDED = 90, 1e-4, 1e-6
QUICK = ("epil", "oxford", "surgical", "disease_map", "election_polls", "hidden_markov", "multivariate_random_walk")
RANDOM = np.random.default_rng(3)
GROUP = np.sort(RANDOM.integers(0, N, 3 * N))
DESIGN = RANDOM.normal(size=(3 * N, 2))


def grid(side: int) -> sparse.csr_matrix:
    """Neighbours in a square."""
    line = sparse.diags([np.ones(side - 1)] * 2, [-1, 1])
    eye = sparse.eye(side)
    return sparse.csr_matrix(sparse.kron(eye, line) + sparse.kron(line, eye))


def second_derivatives(density: ModelDensity, position: np.ndarray) -> np.ndarray:
    """By differences of the gradient, float64 (dimension, dimension)."""
    steps = STEP * np.eye(density.dimension)
    rows = [(density(position + step)[1] - density(position - step)[1]) / (2 * STEP) for step in steps]
    return np.array(rows)


def unexplained(density: ModelDensity, found: CurvaturePattern) -> float:
    """The greatest second derivative outside of the pattern, relative to the greatest in its row and column."""
    allowed = found.pairs.toarray()
    allowed[found.shared] = allowed[:, found.shared] = True
    for row in found.sums.toarray():
        allowed |= np.outer(row != 0.0, row != 0.0)
    generator = np.random.default_rng(0)
    worst, seen = 0.0, 0
    start = starting_positions(density, 1, 0, jitter=False)[0]
    for centre, width in ((0.0, 0.5), (0.0, 0.1), (start, 0.02)):
        matrix = second_derivatives(density, centre + width * generator.normal(size=density.dimension))
        if not np.isfinite(matrix).all():
            continue
        seen += 1
        sizes = np.abs(matrix).max(0, initial=0.0) + 1e-6
        worst = max(worst, float((np.abs(matrix) / np.sqrt(np.outer(sizes, sizes)))[~allowed].max(initial=0.0)))
    assert seen
    return worst


def check_form(found: CurvaturePattern, dimension: int) -> None:
    """Symmetric, with a full diagonal; of shared coordinates there is nothing else."""
    pairs = found.pairs
    assert pairs.shape == (dimension, dimension)
    assert pairs.dtype == bool
    assert (pairs != pairs.T).nnz == 0
    assert pairs.diagonal().all()
    alone = np.diff(pairs.indptr)
    assert (alone[found.shared] == 1).all()
    assert (np.diff(found.shared) > 0).all()


CASES: dict[str, tuple[Callable[[], None], int, int]] = {}


def case(shared: int, partners: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """A model, how many of its coordinates are shared, and the most others that one of the rest acts together with."""

    def register(declare: Callable[[], None]) -> Callable[[], None]:
        CASES[declare.__name__] = declare, shared, partners
        return declare

    return register


@case(4, 0)
def hierarchy() -> None:
    effects = pm.Normal("effects", pm.Normal("mu"), pm.HalfNormal("tau"), shape=N)
    pm.Normal("y", effects[GROUP] + DESIGN @ np.ones(2) * pm.Normal("b"), pm.HalfNormal("s"), observed=np.zeros(3 * N))


@case(4, 0)
def non_centred_hierarchy() -> None:
    effects = pm.Normal("mu") + pm.HalfNormal("tau") * pm.Normal("z", shape=N)
    pm.Bernoulli("y", logit_p=effects[GROUP] + DESIGN @ pm.Normal("b", shape=2), observed=np.zeros(3 * N))


@case(1, 2)
def random_walk() -> None:
    walk = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), steps=N - 1)
    pm.Normal("y", walk, 0.5, observed=np.zeros(N))


@case(2, 3)
def two_walks_with_a_regressor() -> None:
    a, b = (
        pm.GaussianRandomWalk(n, sigma=pm.HalfNormal(f"s_{n}"), init_dist=pm.Normal.dist(), steps=N - 1) for n in "ab"
    )
    pm.Normal("y", a + b * DESIGN[:N, 0], 1.0, observed=np.zeros(N))


@case(4, 4)
def autoregression() -> None:
    x = pm.AR("x", pm.Normal("rho", shape=3), pm.HalfNormal("s"), init_dist=pm.Normal.dist(), steps=N, constant=True)
    pm.StudentT("y", nu=4, mu=0, sigma=pt.exp(x), observed=np.zeros(N + 2))


@case(3, 5)
def correlated_walks() -> None:
    factor, _, _ = pm.LKJCholeskyCov("c", n=2, eta=2, sd_dist=pm.HalfNormal.dist())
    start = pm.MvNormal.dist(np.zeros(2), np.eye(2))
    x = pm.MvGaussianRandomWalk("x", chol=factor, init_dist=start, steps=N - 1)
    pm.Normal("y", x, 1.0, observed=np.zeros((N, 2)))


@case(2, 4)
def conditional_autoregression() -> None:
    x = pm.CAR("x", mu=0, alpha=pm.Beta("a", 1, 1), tau=pm.HalfNormal("t"), W=grid(10))
    pm.Poisson("y", pt.exp(x), observed=np.ones(100))


@case(2, 5)
def besag_york_mollie() -> None:
    share, x, e = pm.Beta("r", 1, 1), pm.ICAR("x", W=grid(10).toarray()), pm.Normal("e", shape=100)
    rate = pm.HalfNormal("s") * (pt.sqrt(share) * x + pt.sqrt(1 - share) * e)
    pm.Poisson("y", pt.exp(rate), observed=np.ones(100))


@case(0, 22)
def factorisation() -> None:
    u, v = pm.Normal("u", shape=(N, 2)), pm.Normal("v", shape=(N, 2))
    i, j = RANDOM.integers(0, N, 2 * N), RANDOM.integers(0, N, 2 * N)
    pm.Normal("y", (u[i] * v[j]).sum(-1), 1.0, observed=np.zeros(2 * N))


@case(16, 1)
def factor_model() -> None:
    loadings, persons = pm.Normal("l", shape=(8, 2)), pm.Normal("p", shape=(N, 2))
    pm.Normal("y", persons @ loadings.T, 1.0, observed=np.zeros((N, 8)))


@case(6, 1)
def structural_equations() -> None:
    slope, loadings = pm.Normal("slope"), pm.HalfNormal("l", shape=(2, 2))
    cause = pm.Normal("cause", shape=N)
    effect = pm.Normal("effect", slope * cause, pm.HalfNormal("s"), shape=N)
    pm.Normal("x", cause[:, None] * loadings[0], 1.0, observed=np.zeros((N, 2)))
    pm.Normal("y", effect[:, None] * loadings[1], 1.0, observed=np.zeros((N, 2)))


@case(1, 2)
def marginalised_mixture() -> None:
    x = pm.GaussianRandomWalk("x", sigma=0.1, init_dist=pm.Normal.dist(), steps=N - 1)
    means = pt.stack([x, x + pm.Normal("shift")], -1)
    pm.NormalMixture("y", np.array([0.3, 0.7]), mu=means, sigma=1.0, observed=np.zeros(N))


@case(0, 3)
def constrained_rows() -> None:
    start = np.tile(np.arange(4.0), (N, 1))
    pm.Normal("o", shape=(N, 4), transform=transforms.ordered, initval=start)
    pm.Dirichlet("d", np.ones((N, 4)))
    pm.Uniform("u", 0.0, 1.0, shape=N)


@case(72, 2)
def dense_process_and_a_walk() -> None:
    kernel = pm.HalfNormal("e") * pm.gp.cov.ExpQuad(1, pm.HalfNormal("l"))
    process = pm.gp.Latent(cov_func=kernel).prior("f", np.linspace(0, 1, 70)[:, None])
    walk = pm.GaussianRandomWalk("x", sigma=0.1, init_dist=pm.Normal.dist(), steps=N - 1)
    pm.Normal("y", process, 1.0, observed=np.zeros(70))
    pm.Normal("z", walk, 1.0, observed=np.zeros(N))


@case(0, 4)
def sparse_design() -> None:
    rows = np.repeat(np.arange(N), 3)
    columns = (rows + np.tile([0, 1, 2], N)) % N
    design = sparse.csr_matrix((np.ones(3 * N), (rows, columns)), (N, N))
    beta = pm.Normal("b", shape=N)
    pm.Poisson("y", pt.exp(cs.structured_dot(design, beta[:, None])[:, 0]), observed=np.ones(N))
    pm.Normal("z", pt.dot(design.toarray(), beta), 1.0, observed=np.zeros(N))


@case(1, 0)
def categories_in_columns() -> None:
    dummies = (GROUP[:, None] == np.arange(N)).astype(float)
    pm.Bernoulli("y", logit_p=dummies @ pm.Normal("b", shape=N) + pm.Normal("a"), observed=np.zeros(3 * N))


@case(1, 3)
def data_that_are_missing() -> None:
    seen = np.zeros(N)
    seen[::3] = np.nan
    walk = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), steps=N - 1)
    pm.Normal("y", walk, 1.0, observed=np.ma.masked_invalid(seen))


@case(1, 2)
def dims_and_a_potential() -> None:
    x = pm.Flat("x", dims="time")
    pm.Potential("smooth", -pm.HalfNormal("t") * ((x[1:] - x[:-1]) ** 2).sum())
    pm.Potential("edge", -pt.sum(x[pt.constant([0, N - 1])] ** 4))


@case(1, 1)
def own_density() -> None:
    def logp(value: Any, scale: Any) -> Any:
        return -pt.cosh(value[0::2] * value[1::2] / scale).sum()

    pm.CustomDist("x", pm.HalfNormal("s"), logp=logp, shape=N, initval=np.zeros(N))


@case(0, 43)
def chosen_by_a_mask() -> None:
    mask = pm.Data("mask", DESIGN[:N, 0] > 0)
    x = pm.Normal("x", shape=N)
    chosen = x[mask]
    pm.Potential("p", -pm.HalfNormal("s") * pt.sqr(chosen[1:] * chosen[:-1]).sum())


@case(6, 2)
def dense_blocks() -> None:
    factor, _, _ = pm.LKJCholeskyCov("c", n=3, eta=2, sd_dist=pm.HalfNormal.dist())
    x = pm.MvNormal("x", mu=np.zeros(3), chol=factor, shape=(N, 3))
    pm.Normal("y", x, 1.0, observed=np.zeros((N, 3)))


@case(1, 2)
def steps_that_stand_alone() -> None:
    """A loop that carries nothing, over neighbours of a series."""
    x, scale = pm.Normal("x", shape=N), pm.HalfNormal("s")
    values, _ = scan(
        lambda a, b, s: -((a * b * s) ** 2), sequences=[{"input": x, "taps": [0, -1]}], non_sequences=scale
    )
    pm.Potential("y", values.sum())


@case(1, 0)
def recursions_of_many_groups() -> None:
    """A loop over time, of which each group has its own; their effects act together with the common one only."""
    effects, common, data = pm.Normal("e", shape=N), pm.Beta("r", 1, 1), RANDOM.normal(size=(5, N))

    def step(y: Any, before: Any, share: Any, own: Any) -> Any:
        return pt.tanh(before * share + y) * pt.exp(own)

    start = [pt.zeros(N)]
    values, _ = scan(step, sequences=[pt.constant(data)], outputs_info=start, non_sequences=[common, effects])
    pm.Normal("y", values, 1.0, observed=data)


def built(declare: Callable[[], None]) -> pm.Model:
    with pm.Model(coords={"time": range(N)}) as model:
        declare()
    return model


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_lie_inside_the_pattern(name: str) -> None:
    declare, shared, partners = CASES[name]
    density = built(declare).log_density()
    found = curvature_pattern(density)
    assert found is not None
    check_form(found, density.dimension)
    assert unexplained(density, found) < ROUNDED
    assert len(found.shared) == shared
    assert np.diff(found.pairs.indptr).max() - 1 <= partners


@pytest.mark.parametrize("most", [64, 6])
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in MODELS])
def test_second_derivatives_of_public_models_lie_inside_the_pattern(name: str, most: int) -> None:
    density = MODELS[name].build(pm, pt, np).log_density()
    found = curvature_pattern(density, most)
    if name in QUICK:
        assert (found is None) == ((name, most) == ("election_polls", 6))
    if found is not None and density.dimension < 2000:
        check_form(found, density.dimension)
        assert unexplained(density, found) < ROUNDED


def test_the_sum_of_an_intrinsic_field_stands_beside_its_pairs() -> None:
    """The prior of the sum couples all areas; the rest is the pattern of neighbours."""
    side = 9
    with pm.Model() as model:
        pm.Poisson("y", pt.exp(pm.ICAR("x", W=grid(side).toarray())), observed=np.ones(side**2))
    found = curvature_pattern(model.log_density())
    assert found is not None
    assert not len(found.shared)
    assert (found.pairs != (grid(side) + sparse.eye(side**2)).astype(bool)).nnz == 0
    (row,) = found.sums.toarray()
    assert np.allclose(row, row[0])


def test_there_is_no_pattern_where_most_coordinates_act_together() -> None:
    with pm.Model() as walk:
        pm.Normal("y", pt.cumsum(pm.Normal("z", shape=N)) * pm.HalfNormal("s"), observed=np.zeros(N))
    with pm.Model() as process:
        pm.MvNormal("x", np.zeros(N), np.eye(N) + 0.5)
    with pm.Model() as apart:  # the same walk by its steps
        pm.Normal("y", pm.GaussianRandomWalk("z", steps=N - 1) * pm.HalfNormal("s"), observed=np.zeros(N))
    assert curvature_pattern(walk.log_density()) is None
    assert curvature_pattern(process.log_density()) is None
    assert curvature_pattern(apart.log_density()) is not None


def test_who_has_too_many_partners_depends_on_how_many_are_too_many() -> None:
    declare, _, _ = CASES["random_walk"]
    density = built(declare).log_density()
    found = [curvature_pattern(density, most) for most in (N + 1, N - 1, 2)]
    assert [len(f.shared) for f in found if f is not None] == [0, 1, 1]


def test_the_pattern_follows_the_data() -> None:
    """Which elements are read is decided by the present data."""
    with pm.Model() as model:
        index = pm.Data("index", np.arange(10))
        x = pm.Normal("x", shape=20)
        pm.Poisson("y", pt.exp(x[index] * x[index + 10]), observed=np.ones(10))
    first = curvature_pattern(model.log_density())
    with model:
        pm.set_data({"index": np.zeros(10, int)})
    second = curvature_pattern(model.log_density())
    assert first is not None
    assert second is not None
    assert (first.pairs.nnz, second.pairs.nnz) == (40, 22)


@pytest.mark.parametrize("steps", [2, 100_000])
def test_entries_grow_with_the_length_of_a_walk(steps: int) -> None:
    with pm.Model() as model:
        walk = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), steps=steps)
        design = np.ones((steps + 1, 3))
        pm.StudentT("y", 4, walk + design @ pm.Normal("b", shape=3), 1.0, observed=np.zeros(steps + 1))
    found = curvature_pattern(model.log_density())
    assert found is not None
    assert len(found.shared) == (4 if steps > 64 else 0)
    assert found.pairs.nnz == (3 * steps + 5 if steps > 64 else 41)
