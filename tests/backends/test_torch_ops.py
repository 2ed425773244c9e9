"""The PyTorch backend says what the other backends say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.backends import reference
from consilience.errors import LinearAlgebraError, OutOfBoundsError, ParameterError
from consilience.ir import Node
from consilience.model.log_density import model_density
from consilience.ops import Elementwise
from consilience.ops.random import Key, draw, fold_in
from tests.backends.agreement import inputs_like, lengths_of, same
from tests.backends.test_conformance import CASES, Case, operands, scale_of, strided
from tests.backends.test_conformance_scalar import ACCURACY, REAL, TABLE, operand
from tests.native.vectormath_cases import CASES as VECTORMATH
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import load

pytest.importorskip("torch")

from consilience.engines.torch import emit as backend

FIRST = {row.op: row for row in reversed(CASES)}


def agree(row: Case, dtype: str, symbolic: bool) -> None:
    """A row of the conformance suite."""
    arrays = operands(row, dtype, 1)
    arrays = [strided(a) for a in arrays] if symbolic else arrays
    nodes = inputs_like(arrays, symbolic=symbolic and row.symbolic)
    built = row.build(*nodes)
    outputs = [built] if isinstance(built, Node) else list(built)
    wanted = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    found = backend.compile(nodes, outputs, lengths_of(nodes, arrays)).bind()(arrays)
    for a, b in zip(found, wanted, strict=True):
        same(a, b, row.rtol if dtype == "float64" else None, scale_of(row, arrays))


@pytest.mark.parametrize("row", [pytest.param(row, id=op.__name__) for op, row in FIRST.items()])
def test_one_row_of_every_op(row: Case) -> None:
    """The first row of the conformance suite for each op."""
    agree(row, row.dtypes[0], symbolic=False)


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("row", "dtype"),
    [pytest.param(row, dtype, id=f"{row.op.__name__} {row.name} {dtype}") for row in CASES for dtype in row.dtypes],
)
def test_op(row: Case, dtype: str, symbolic: bool) -> None:
    """The whole conformance suite, with fixed lengths, and with symbolic ones on strided arrays."""
    agree(row, dtype, symbolic)


def values_of(name: str, arrays: list[Any]) -> tuple[Any, Any]:
    """Of a scalar function: PyTorch's and NumPy's."""
    nodes = inputs_like(arrays)
    out = Node(Elementwise(name), *nodes)
    wanted = reference.evaluate([out], dict(zip(nodes, arrays, strict=True)))[0]
    return backend.compile(nodes, [out], {}).bind()(arrays)[0], wanted


@pytest.mark.parametrize("name", sorted(REAL))
def test_function(name: str) -> None:
    """Each function of the table."""
    row = TABLE[name]
    if "float" not in row.accepts or row.result == "choice":
        pytest.skip("of no numbers, or of a choice: conformance suite")
    arrays = [operand(row, i, "float64", (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
    same(*values_of(name, arrays), ACCURACY.get(name))


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.name}-{c.unit}") for c in VECTORMATH if c.name in TABLE])
def test_function_over_its_whole_range(case: Any) -> None:
    """Where the vector math library is tested too."""
    found, wanted = values_of(case.name, [np.ravel(p).astype(float) for p in case.points])
    zeros = 1e-14 if case.name in ("gammaln", "digamma") else 0.0  # next to theirs
    unknown = np.isnan(wanted) | (np.abs(wanted) < 1e-300) & (np.abs(found) < 1e-300)
    np.testing.assert_allclose(np.where(unknown, wanted, found), wanted, rtol=3e-10, atol=zeros)


def test_draws_have_the_same_bits() -> None:
    key = Node(Key(3))
    outputs = [draw("random_uniform", key, (50,)), draw("random_poisson", fold_in(key, 3), (7,), 2.5)]
    for a, b in zip(backend.compile([], outputs, {}).bind()([]), reference.evaluate(outputs, {}), strict=True):
        np.testing.assert_array_equal(a, b)
    normals = [draw("random_normal", key, (50,)), draw("random_exponential", key, (50,))]
    for a, b in zip(backend.compile([], normals, {}).bind()([]), reference.evaluate(normals, {}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_densities_of_reference_posteriors(name: str) -> None:
    """Value and gradient at two points."""
    build, _ = MODELS[name]
    model = build(pm, pt, load(name)["data_values"])
    density, own = model.log_density(), model_density(model, backend="torch")
    rng = np.random.default_rng(1)
    for _ in range(2):
        position = rng.uniform(-1, 1, density.dimension)
        (value, slope), (wanted, wanted_slope) = own(position), density(position)
        np.testing.assert_allclose(value, wanted, rtol=1e-10)
        np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-9 * np.abs(wanted_slope).max())


class TestErrors:
    """Where there is no value, the words are those of the other backends."""

    def test_an_index_outside_its_axis(self) -> None:
        x, i = pt.vector("x"), pt.iscalar("i")
        f = function([x, i], x[i], backend="torch")
        assert f(np.arange(3.0), 2) == 2.0
        with pytest.raises(OutOfBoundsError, match="index 5 is out of bounds"):
            f(np.arange(3.0), 5)

    def test_a_matrix_that_is_not_positive_definite(self) -> None:
        a = pt.matrix("a")
        f = function([a], pt.linalg.cholesky(a), backend="torch")
        np.testing.assert_allclose(f(4 * np.eye(2)), 2 * np.eye(2))
        with pytest.raises(LinearAlgebraError, match="not positive definite"):
            f(-np.eye(2))

    def test_a_parameter_outside_its_range(self) -> None:
        s = pt.scalar("s")
        f = function([s], pm.logp(pm.Normal.dist(0.0, s), 1.0), mode="PYTORCH")
        assert np.isfinite(f(1.0))
        with pytest.raises(ParameterError, match="must be"):
            f(-1.0)


def test_only_the_branch_that_is_taken_is_computed() -> None:
    x = pt.scalar("x")
    f = function([x], pt.ifelse(x > 0, pt.linalg.cholesky(pt.diag(pt.stack([x, x])))[0, 0], x), backend="torch")
    assert f(4.0) == 2.0
    assert f(-4.0) == -4.0
