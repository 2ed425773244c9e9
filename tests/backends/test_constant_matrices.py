"""Linear algebra of matrices that are constants, or functions of constants, and of data: folded as if computed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.errors import LinearAlgebraError
from consilience.ir import Node, Op
from consilience.lower import primitives
from tests.backends.agreement import Array

Build = Callable[[Node, Array], Node]
GENERAL: dict[str, Build] = {
    "inv": lambda a, b: pt.linalg.inv(a),
    "det": lambda a, b: pt.linalg.det(a),
    "sign of det": lambda a, b: pt.linalg.slogdet(a)[0],
    "log |det|": lambda a, b: pt.linalg.slogdet(a)[1],
    "solve": lambda a, b: pt.linalg.solve(a, b),
    "solve for a vector": lambda a, b: pt.linalg.solve(a, np.ones(a.static_shape[-1])),
    "solve_triangular": lambda a, b: pt.linalg.solve_triangular(a, b, lower=True),
    "trace": lambda a, b: pt.linalg.trace(a),
    "inv of inv": lambda a, b: pt.linalg.inv(pt.linalg.inv(a) * 2.0),
}
DEFINITE: dict[str, Build] = {
    "cholesky": lambda a, b: pt.linalg.cholesky(a),
    "solve, definite": lambda a, b: pt.linalg.solve(a, b, assume_a="pos"),
}
SHAPES = ((0, 0), (1, 1), (3, 3), (12, 12), (2, 3, 3), (0, 3, 3), (2, 0, 0))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", [*GENERAL, *DEFINITE])
def test_constants_functions_of_constants_and_inputs_agree(name: str, shape: tuple[int, ...]) -> None:
    """The value of a constant matrix is that of NumPy, and of the same matrix as an input or made from one."""
    rng = np.random.default_rng(len(name))
    matrix = rng.normal(size=shape)
    if name in DEFINITE:
        matrix = matrix @ np.swapaxes(matrix, -1, -2) + np.eye(shape[-1])
    side = rng.normal(size=(*shape[:-1], 2))
    build = (GENERAL | DEFINITE)[name]
    t = pt.dscalar("t")
    expected = build(pt.as_tensor(matrix), side).eval(backend="reference")
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(build(pt.as_tensor(matrix), side).eval(), expected, **close)
    np.testing.assert_allclose(build(pt.as_tensor(matrix / 2) + matrix / 2, side).eval(), expected, **close)
    np.testing.assert_allclose((build(pt.as_tensor(matrix), side) * t).eval({t: 1.0}), expected, **close)
    np.testing.assert_allclose(build(pt.as_tensor(matrix) * t, side).eval({t: 1.0}), expected, **close)


def test_a_constant_matrix_solves_for_an_input() -> None:
    """The factors folded at compile time are those that the library solves with."""
    rng = np.random.default_rng(1)
    matrix, right = rng.normal(size=(2, 5, 5)), rng.normal(size=(2, 5, 3))
    b = pt.tensor("b", dtype="float64", shape=(2, 5, 3))
    result = pt.linalg.solve(matrix, b).eval({b: right})
    np.testing.assert_allclose(result, np.linalg.solve(matrix, right), rtol=1e-10)


@pytest.mark.parametrize("name", ["inv", "solve", "solve for a vector", "solve_triangular", "cholesky"])
def test_singular_constants_fail_at_the_call_with_the_place(name: str) -> None:
    """No error while compiling: the call says what failed and where it was written."""
    result = (GENERAL | DEFINITE)[name](pt.as_tensor(np.zeros((3, 3))), np.ones((3, 2)))
    compiled = pm.function([], result)
    with pytest.raises(LinearAlgebraError, match=r"singular|not positive definite") as caught:
        compiled()
    assert __file__ in str(caught.value)


def test_determinants_of_singular_constants_are_0() -> None:
    """As NumPy's: no error, and the logarithm is -inf."""
    matrix = pt.as_tensor(np.ones((3, 3)))
    assert pt.linalg.det(matrix).eval() == 0.0
    assert [float(v.eval()) for v in pt.linalg.slogdet(matrix)] == [0.0, -np.inf]


def test_data_matrices_are_inverted_when_data_are_bound() -> None:
    """What depends on data alone is prepared by the same meanings."""
    matrix = np.array([[2.0, 1.0], [0.5, 3.0]])
    with pm.Model() as model:
        data = pm.Data("A", matrix)
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("p", pt.sum(pt.linalg.inv(data) @ x) + pt.linalg.det(data) * x[0])
    point = np.array([0.3, -1.2])
    expected = -0.5 * point @ point - np.log(2 * np.pi) + (np.linalg.inv(matrix) @ point).sum() + 5.5 * point[0]
    np.testing.assert_allclose(model.compile_logp()({"x": point}), expected, rtol=1e-12)


@pytest.mark.parametrize("op", [v for v in vars(primitives).values() if isinstance(v, type) and v.__base__ is Op])
def test_every_op_of_lowering_has_a_numpy_meaning(op: type[Op]) -> None:
    """Machine code asks the reference backend for the values of constants after expansion."""
    assert op in reference.MEANINGS
