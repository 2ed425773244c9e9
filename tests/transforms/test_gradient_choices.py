"""0 times the slope of what is not chosen is 0, whatever chooses, and only choice makes it so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ops import Elementwise
from consilience.transforms.gradient import gradient, hessian, pushforward
from tests.transforms.laws import check_derivatives

POINT = np.array([[0.16, 0.0], [1.0, 0.49]])  # the slope of sqrt, log, … is infinite at [0, 1]
HALF = np.array([[1.25, 0.0], [0.5, 0.5 / 0.7]])  # that of sqrt elsewhere

# What is chosen of a function of POINT, and the weights of its elements.
CHOSEN: dict[str, tuple[Callable[[Node], Node], list[list[float]]]] = {
    "one element": (lambda y: y[0, 0], [[1, 0], [0, 0]]),
    "two elements": (lambda y: y[0, 0] + 2.0 * y[1, 1], [[1, 0], [0, 2]]),
    "a row": (lambda y: y[1].sum(), [[0, 0], [1, 1]]),
    "a column, turned and flattened": (lambda y: (y.T.reshape((4,)) * 3.0)[:2].sum(), [[3, 0], [3, 0]]),
    "positions": (lambda y: y[[0, 1, 1], [0, 1, 1]].sum(), [[1, 0], [0, 2]]),
    "true entries": (lambda y: y[np.array([[True, False], [False, True]])].sum(), [[1, 0], [0, 1]]),
    "the greatest": (lambda y: y.max(), [[0, 0], [1, 0]]),
    "the greatest of rows, then one": (lambda y: y.max(axis=1)[0], [[1, 0], [0, 0]]),
    "the greatest of two": (lambda y: pt.maximum(y, 0.2).sum(), [[1, 0], [1, 1]]),
    "sorted": (lambda y: pt.sort(y, axis=1)[0, 1], [[1, 0], [0, 0]]),
    "the middle": (lambda y: pt.flatten(pt.sort(pt.flatten(y)))[1], [[1, 0], [0, 0]]),
    "a triangle": (lambda y: pt.tril(y).sum(), [[1, 0], [1, 1]]),
    "the diagonal": (lambda y: pt.diag(y).sum(), [[1, 0], [0, 1]]),
    "all but what is set": (lambda y: pt.set_subtensor(y[0, 1], 1.0).sum(), [[1, 0], [1, 1]]),
    "where": (lambda y: pt.where(constant(POINT > 0), y, 0.0)[0].sum(), [[1, 0], [0, 0]]),
    "joined": (lambda y: pt.stack([y[0, 0], y[0, 1]])[0], [[1, 0], [0, 0]]),
    "running sums": (lambda y: pt.cumsum(y, axis=1)[0, 0], [[1, 0], [0, 0]]),
    "a row of a product": (lambda y: (y @ constant(np.eye(2) + 1.0))[1, 0], [[0, 0], [2, 1]]),
    "a column of a product": (lambda y: (constant(np.eye(2) + 1.0) @ y)[1, 0], [[1, 0], [2, 0]]),
    "weights of exponentials": (
        lambda y: pt.logsumexp(pt.where(constant(POINT > 0.2), 0.0, -np.inf) + y), [[0, 0], [-1, -1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_not_chosen_does_not_count(name: str, symbolic: bool) -> None:
    """Backwards, forwards, and in second derivatives, on functions with infinite slopes where nothing is chosen."""
    choose, weights = CHOSEN[name]
    x = tensor_input("float64", (None, None) if symbolic else (2, 2))
    cost = choose(pt.sqrt(x))
    (slope,) = evaluate(gradient(cost, [x]), {x: POINT})
    if name == "weights of exponentials":
        share = np.exp(np.sqrt(POINT[1])) / np.exp(np.sqrt(POINT[1])).sum()
        expected = np.array([[0.0, 0.0], HALF[1] * share])
    else:
        expected = HALF * weights
    np.testing.assert_allclose(slope, expected, rtol=1e-12)
    tangent = np.array([[0.3, -0.4], [0.5, 0.7]])
    (forth,) = evaluate(pushforward([cost], [x], [constant(tangent)]), {x: POINT})
    np.testing.assert_allclose(forth, (expected * tangent).sum(), rtol=1e-12)
    (second,) = evaluate([hessian(cost, x)], {x: POINT})
    assert np.isfinite(second).all()
    compiled = pt.function([x], [gradient(cost, x), pt.hessian(cost, x)])(POINT)
    np.testing.assert_allclose(compiled[0], expected, rtol=1e-12)
    np.testing.assert_allclose(compiled[1], second, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ["log", "reciprocal", "arcsin", "cbrt", "log1p"])
def test_any_function_with_an_infinite_slope(name: str) -> None:
    at = {"arcsin": 1.0, "log1p": -1.0}.get(name, 0.0)
    x = tensor_input("float64", (3,))
    (slope,) = evaluate(gradient(getattr(pt, name)(x)[0] * 2.0, [x]), {x: np.array([0.5, at, at])})
    assert np.isfinite(slope).all()
    assert slope[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("factor", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stretched", [False, True])
def test_products_with_constants_that_are_not_finite(factor: float, stretched: bool) -> None:
    """Also of one number that is stretched over all that is chosen from."""
    x, condition = tensor_input("float64", () if stretched else (3,)), tensor_input("bool", (3,))
    cost = pt.where(condition, x * factor, pt.sin(x)).sum()
    at = {x: np.array(0.5) if stretched else np.full(3, 0.5), condition: np.zeros(3, bool)}
    (slope,) = evaluate(gradient(cost, [x]), at)
    np.testing.assert_allclose(slope, np.cos(0.5) * (3 if stretched else np.ones(3)), rtol=1e-12)


def test_products_with_what_is_infinite() -> None:
    x, y = tensor_input("float64", (2,)), tensor_input("float64", (2,))
    point = {x: np.array([2.0, 3.0]), y: np.array([4.0, 0.0])}
    a, b = evaluate(gradient((x / y)[0] + (x * pt.log(y))[0], [x, y]), point)
    np.testing.assert_allclose(a, [0.25 + np.log(4.0), 0.0])
    np.testing.assert_allclose(b, [-2.0 / 16 + 2.0 / 4, 0.0])


def test_slopes_that_are_0_by_chance_are_no_choice() -> None:
    """The second derivative counts at the least point, and an infinite slope is not hidden."""
    x = tensor_input("float64", (2,))
    cost = pt.square(pt.sqrt(x)[0] - 1.0)
    (second,) = evaluate([hessian(cost, x)], {x: np.array([1.0, 0.0])})
    assert second.tolist() == [[0.5, 0.0], [0.0, 0.0]]
    total = pt.square(pt.logsumexp(pt.concatenate([pt.log(x), x - 1.0])) - np.log(4.0))
    (second,) = evaluate([hessian(total, x)], {x: np.ones(2)})
    np.testing.assert_allclose(second, np.full((2, 2), 0.5), rtol=1e-12)
    (slope,) = evaluate(gradient(pt.square(pt.sqrt(x)[0]), [x]), {x: np.zeros(2)})
    assert not np.isfinite(slope[0])


def test_sums_of_exponentials_have_derivatives_forwards() -> None:
    check_derivatives(lambda x: pt.logsumexp(pt.concatenate([pt.log(x), -x])), [np.array([0.5, 2.0])])
    check_derivatives(lambda x, y: pt.logaddexp(pt.log(x), pt.sqrt(y)), [np.array([0.5, 2.0]), np.array([1.0, 2.0])])


def test_functions_with_finite_slopes_get_no_masks() -> None:
    """Group effects, as hierarchical models read them: nothing is added."""
    mu, log_sigma, z = tensor_input("float64", ()), tensor_input("float64", ()), tensor_input("float64", (5,))
    group = tensor_input("int64", (None,))
    cost = pt.square((mu + pt.exp(log_sigma) * z)[group]).sum()
    assert not any(_is_mask(n) for n in topological(gradient(cost, [mu, log_sigma, z])))
    every = pt.log(z)[constant(np.array([0, 1, 2, 3, 4, 4, 3]))].sum()
    assert not any(_is_mask(n) for n in topological(gradient(every, [z])))


def _is_mask(node: Node) -> bool:
    return isinstance(node.op, Elementwise) and node.op.function == "where"
