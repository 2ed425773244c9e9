"""Fields over weights that are sparse: the numbers of dense ones, in memory that their entries need."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as pm
from consilience.distributions import neighbours
from consilience.distributions.neighbours import Neighbours, neighbours_of
from consilience.errors import ParameterError

ALPHAS = (-0.9, 0.0, 0.3, 0.95, 0.9999, 1.0 - 1e-7)


def line(length: int) -> Any:
    """Each element beside the one before."""
    ones = np.ones(length - 1)
    return sp.diags_array([ones, ones], offsets=[1, -1]).tocsr()


def grid(side: int) -> Any:
    """Cells of a square, with those on four sides."""
    unit = sp.eye_array(side)
    return (sp.kron(line(side), unit) + sp.kron(unit, line(side))).tocsr()


def with_diagonals(side: int) -> Any:
    """Cells of a square, with those on eight sides in weights of their own: no bipartite graph."""
    both = grid(side) + 0.5 * sp.kron(line(side), line(side))
    return both.tocsr()


@pytest.mark.parametrize(
    "matrix",
    [line(300), grid(15), with_diagonals(15), sp.block_diag([grid(14), line(3), with_diagonals(15)], "csr")],
    ids=["line", "grid", "diagonals", "apart"],
)
def test_series_of_large_groups_are_their_eigenvalues(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log determinants and slopes of the density along alpha; groups of three elements keep their eigenvalues."""
    x = np.random.default_rng(1).normal(size=matrix.shape[0])

    def found(most: int) -> list[Any]:
        monkeypatch.setattr(neighbours, "MOST_DENSE", most)
        neighbours_of.cache_clear()
        with pm.Model() as model:
            pm.CAR("x", mu=0.2, W=matrix, alpha=pm.Uniform("alpha", -1.0, 1.0), tau=1.7)
        assert model.named["x"].static_shape == x.shape
        points = [{"alpha_interval__": np.log1p(a) - np.log1p(-a), "x": x} for a in ALPHAS]
        both = model.compile_logp(), model.compile_dlogp()
        return [np.ravel(f(point)) for point in points for f in both]

    for one, other in zip(found(4), found(10_000), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-8)
    neighbours_of.cache_clear()


@pytest.mark.parametrize("given", ["csr", "csc", "dense", "integers", "variable"])
def test_weights_are_written_down_by_their_entries(given: str) -> None:
    """Whatever they come as; copies in another process know them, too. Densities are those of dense matrices."""
    import consilience.sparse as sparse

    matrix = grid(17)
    dense = np.asarray(matrix.toarray())
    W: Any = {
        "csr": matrix,
        "csc": sp.csc_matrix(matrix),
        "dense": dense,
        "integers": matrix.astype(np.int64),
        "variable": sparse.as_sparse(matrix),
    }[given]
    x = np.random.default_rng(2).normal(size=len(dense))
    precision = 2.0 * (np.diag(dense.sum(0)) - 0.4 * dense)
    expected = 0.5 * (np.linalg.slogdet(precision)[1] - x @ precision @ x - len(x) * np.log(2.0 * np.pi))
    variable = pm.CAR.dist(mu=0.0, W=W, alpha=0.4, tau=2.0)
    assert isinstance(neighbours_of(variable.inputs[2]), Neighbours)
    np.testing.assert_allclose(pm.logp(variable, x).sum().eval(), expected, rtol=1e-12)
    laplacian = np.diag(dense.sum(0)) - dense
    values = np.linalg.eigvalsh(laplacian)[1:]
    mean = 0.5 * np.log(len(x)) - np.log(0.1 * len(x)) - 0.5 * (x.mean() / 0.1) ** 2
    constant = 0.5 * (np.log(values) - np.log(2.0 * np.pi * 9.0)).sum() - 0.5 * np.log(2.0 * np.pi)
    intrinsic = pm.logp(pm.ICAR.dist(W=W, sigma=3.0, zero_sum_stdev=0.1), x).sum().eval()
    np.testing.assert_allclose(intrinsic, constant + mean - x @ laplacian @ x / 18.0, rtol=1e-10)
    again = pickle.loads(pickle.dumps(variable))
    assert neighbours_of(again.inputs[2]) is not None


def test_draws_of_large_fields_have_the_covariances_of_their_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """By sparse factors, for both kinds of field."""
    import consilience.distributions.autoregression_in_space as fields

    monkeypatch.setattr(fields, "MOST_DENSE", 4)
    matrix, count = grid(3), 20_000
    dense = np.asarray(matrix.toarray())
    laplacian = np.diag(dense.sum(0)) - dense
    for variable, expected in (
        (pm.CAR.dist(mu=1.5, W=matrix, alpha=0.7, tau=2.0), np.linalg.inv(np.diag(dense.sum(0)) - 0.7 * dense) / 2.0),
        (pm.ICAR.dist(W=matrix, sigma=2.0, zero_sum_stdev=0.5), 4.0 * np.linalg.pinv(laplacian) + 0.25),
    ):
        draws = pm.draw(variable, draws=count, random_seed=3)
        assert draws.shape == (count, 9)
        error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / count)
        assert (np.abs(np.cov(draws.T) - expected) < 5.0 * error).all()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({(0, 1): 2.0}, r"the weight at \(0, 1\) is 2.0 and that at \(1, 0\) is 1.0"),
        ({(0, 1): -1.0, (1, 0): -1.0}, r"the weight at \(0, 1\) is -1.0"),
        ({(0, 1): np.nan, (1, 0): np.nan}, r"the weight at \(0, 1\) is nan"),
        ({(3, 3): 1.0}, r"the weight at \(3, 3\) is 1.0"),
        ({(0, 1): 0.0, (1, 0): 0.0}, "row 0 has none"),
    ],
)
def test_sparse_weights_that_are_none_are_refused(change: dict[tuple[int, int], float], fault: str) -> None:
    """By the place that is wrong."""
    matrix = line(5).tolil()
    for place, value in change.items():
        matrix[place] = value
    with pytest.raises(ParameterError, match=f"W must be a symmetric matrix of weights >= 0.*, but {fault}"):
        pm.CAR.dist(mu=0.0, W=matrix.tocsr(), alpha=0.4, tau=2.0)
    with pytest.raises(ParameterError, match="it has 5 rows and 4 columns"):
        pm.ICAR.dist(W=line(5)[:, :4])


def test_memory_of_a_large_field_is_that_of_its_pairs() -> None:
    """Nowhere is a matrix of n x n numbers: of 3,600 elements it would take 100 MB."""
    import tracemalloc

    matrix = grid(60)
    tracemalloc.start()
    try:
        with pm.Model() as model:
            pm.ICAR("x", W=matrix, sigma=pm.HalfNormal("sigma", 1.0))
        value = model.compile_logp()(model.initial_point())
        drawn = pm.draw(model.named["x"], random_seed=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite([value, *drawn]).all()
    assert peak < 30e6
