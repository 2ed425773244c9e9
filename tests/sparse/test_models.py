"""Models with sparse matrices are those with the dense ones: densities, slopes and posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import consilience as pm
import consilience.sparse as sparse
import consilience.tensor as pt
from consilience.errors import ShapeError

RNG = np.random.default_rng(11)
X = scipy.sparse.random(60, 5, 0.3, format="csr", random_state=12)
SEEN = X @ RNG.normal(size=5) + 0.5 * RNG.normal(size=60)
GRID = scipy.sparse.diags_array([1.0] * 5, offsets=1, shape=(6, 6)).tocsr()  # type: ignore[call-overload]  # numbers
W = scipy.sparse.kron(GRID + GRID.T, scipy.sparse.eye_array(6)) + scipy.sparse.kron(
    scipy.sparse.eye_array(6), GRID + GRID.T
)
COUNTS = RNG.poisson(3.0, 36)


def regression(design: Any) -> pm.Model:
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=5)
        pm.Normal("y", pt.dot(design, slopes), pm.HalfNormal("sigma", 1), observed=SEEN)
    return model


def neighbours(weights: Any) -> pm.Model:
    with pm.Model() as model:
        field = pm.CAR("field", mu=0.0, W=weights, alpha=pm.Beta("alpha", 4, 2), tau=2.0)
        pm.Poisson("counts", pm.math.exp(1.0 + field), observed=COUNTS)
    return model


@pytest.mark.parametrize(
    ("make", "given", "names"),
    [(regression, X, ("slopes", "sigma")), (neighbours, W.tocsr(), ("alpha", "field"))],
    ids=["regression", "CAR"],
)
def test_posteriors_are_those_of_the_dense_model(make: Any, given: Any, names: tuple[str, ...]) -> None:
    """Equal densities and slopes; means and deviations within the error of the draws."""
    models = [make(given), make(given.toarray())]
    point = models[0].initial_point()
    for one, other in zip(*([m.compile_logp()(point), *m.compile_dlogp()(point)] for m in models), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    draws = [
        pm.sample(draws=800, tune=500, chains=2, random_seed=seed, model=m, progressbar=False).posterior
        for seed, m in enumerate(models)
    ]
    for name in names:
        mean, deviation = (np.asarray(getattr(draws[1][name], k)(("chain", "draw"))) for k in ("mean", "std"))
        np.testing.assert_array_less(abs(np.asarray(draws[0][name].mean(("chain", "draw"))) - mean), 0.35 * deviation)


def test_sparse_data_are_exchanged() -> None:
    """By `set_data`, with another number of entries and rows; the number of columns stays."""
    with pm.Model() as model:
        design = pm.Data("X", X)
        slopes = pm.Normal("slopes", 0, 1, shape=5)
        pm.Normal("y", design @ slopes, 1.0, observed=pm.Data("seen", SEEN))
    point = {"slopes": np.linspace(-1, 1, 5)}

    def expected(matrix: Any, seen: Any) -> float:
        with pm.Model() as fixed:
            slopes = pm.Normal("slopes", 0, 1, shape=5)
            pm.Normal("y", matrix.toarray() @ slopes, 1.0, observed=seen)
        return float(fixed.compile_logp()(point))

    assert np.isclose(model.compile_logp()(point), expected(X, SEEN))
    other = scipy.sparse.random(20, 5, 0.5, format="csc", random_state=3)
    pm.set_data({"X": other, "seen": SEEN[:20]}, model=model)
    assert np.isclose(model.compile_logp()(point), expected(other, SEEN[:20]))
    assert np.isclose(model.copy().compile_logp()(point), expected(other, SEEN[:20]))
    slope = model.compile_dlogp()(point)
    np.testing.assert_allclose(slope, other.T @ (SEEN[:20] - other @ point["slopes"]) - point["slopes"])
    with pytest.raises(ShapeError, match="`X` have 5 columns, which stay; got a matrix with 4"):
        pm.set_data({"X": other[:, :4]}, model=model)
    with pytest.raises(ShapeError, match="a sparse matrix, whose axes have no dims"), model:
        pm.Data("Z", X, dims=("row", "column"))
    trace = pm.sample(draws=800, tune=300, chains=2, random_seed=1, model=model, progressbar=False)
    assert trace.constant_data["X.shape"].values.tolist() == [20, 5]


def test_sparse_variables_stand_in_models() -> None:
    """A matrix whose entries depend on a parameter: an autoregression by its precision."""
    with pm.Model() as model:
        rho = pm.Uniform("rho", 0, 1)
        steps = sparse.as_sparse_variable(scipy.sparse.eye_array(4, k=-1).tocsr())
        x = pm.Flat("x", shape=4)
        pm.Potential("walk", -0.5 * ((x - (steps * rho) @ x) ** 2).sum())
    value = {"rho": 0.3, "x": np.arange(4.0)}
    found = model.compile_logp(jacobian=False)(model.initial_point() | {"x": value["x"]})
    x0 = value["x"]
    assert np.isclose(found, -0.5 * (x0[0] ** 2 + ((x0[1:] - 0.5 * x0[:-1]) ** 2).sum()))
