"""A scalar function with a formula needs no word in any engine."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.backends import reference
from consilience.engines.emitter.formulas import FORMULAS
from consilience.engines.stablehlo.emit import scalars
from consilience.ir import Node
from consilience.ops import TABLE, Elementwise

FAR = {"i0": 300.0, "i1": 300.0, "erfcx": 20.0}  # beyond, the reference overflows or a power of the argument does
POINTS = {
    (0.0, np.inf): [1e-3, 0.5, 3.0, 40.0],
    (-np.inf, 0.0): [-40.0, -3.0, -0.5, -1e-3],
    (0.0, 1.0): [1e-3, 0.3, 0.9],
}


@pytest.mark.parametrize("name", ["log1mexp", "log_ndtr", "erfcx", "betaln", "i0", "i1", "i0e_slope", "log10", "exp2"])
def test_formulas_for_engines_mean_what_the_functions_do(name: str) -> None:
    """Computed by NumPy, as graphs."""
    row = TABLE[name]
    axes = [POINTS.get(d, [-40.0, -3.0, -0.5, 0.0, 0.5, 3.0, 40.0]) for d in row.domain]
    points = [np.ravel(p) for p in np.meshgrid(*axes)]
    points = [np.clip(p, -FAR.get(name, np.inf), FAR.get(name, np.inf)) for p in points]
    nodes = [pt.vector(f"x{i}", shape=(p.size,)) for i, p in enumerate(points)]
    given = dict(zip(nodes, points, strict=True))
    wanted = reference.evaluate([Node(Elementwise(name), *nodes)], given)[0]
    found = reference.evaluate([FORMULAS[name](*nodes)], given)[0]
    np.testing.assert_allclose(found, wanted, rtol=5e-13)


def test_bessel_functions_have_their_limits() -> None:
    x = pt.vector("x", shape=(2,))
    ends = np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(reference.evaluate([FORMULAS["i0"](x)], {x: ends})[0], [np.inf, np.inf])
    np.testing.assert_array_equal(reference.evaluate([FORMULAS["i1"](x)], {x: ends})[0], ends)


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_names_of_engines_are_rows(engine: str) -> None:
    pytest.importorskip(engine)
    assert import_module(f"consilience.engines.{engine}.emit.elementwise").FUNCTIONS.keys() <= TABLE.keys()


def test_names_of_stablehlo_are_rows() -> None:
    for table in (scalars._DIRECT, scalars._CHLO, scalars._COMPARED, scalars._SPECIAL):
        assert table.keys() <= TABLE.keys()


def test_stablehlo_takes_a_formula() -> None:
    """`log_expit` stands in no table of an engine."""
    x, at = pt.vector("x", shape=(4,)), np.array([-30.0, -1.0, 0.0, 40.0])
    text = pm.to_stablehlo(pt.log_expit(x), [x])
    assert isinstance(text, str)
    back = pm.from_stablehlo(text)(pt.as_tensor(at))
    np.testing.assert_allclose(back.eval(), pt.log_expit(pt.as_tensor(at)).eval(), rtol=1e-14)


def test_jax_takes_a_formula_and_its_derivatives_at_the_kink_inside() -> None:
    """|x| in the formula of `log_expit` is none in its derivatives: they are the table's."""
    jax = pytest.importorskip("jax")
    x, at = pt.vector("x", shape=(3,)), np.array([-1.0, 0.0, 2.0])
    f = function([x], pt.log_expit(x)).jax
    logistic = 1 / (1 + np.exp(-at))
    with jax.enable_x64(True):
        np.testing.assert_allclose(f(at), np.log(logistic), rtol=1e-14)
        for slopes in (jax.jacfwd(f)(at), jax.jacrev(f)(at)):
            np.testing.assert_allclose(np.diagonal(slopes), 1 - logistic, rtol=1e-14)
        curvature = np.diagonal(jax.hessian(lambda v: f(v).sum())(at))
    np.testing.assert_allclose(curvature, -logistic * (1 - logistic), rtol=1e-13)


def test_pytorch_takes_a_formula() -> None:
    torch = pytest.importorskip("torch")
    x, at = pt.vector("x", shape=(3,)), np.array([-1.0, 0.0, 2.0])
    given = torch.tensor(at, requires_grad=True)
    found = function([x], pt.log_expit(x), backend="torch").torch(given)
    found.sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), -np.log1p(np.exp(-at)), rtol=1e-14)
    np.testing.assert_allclose(given.grad.numpy(), 1 / (1 + np.exp(at)), rtol=1e-14)
