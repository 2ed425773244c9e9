"""Slopes of Bessel, integral and hypergeometric functions, against 40-digit arithmetic over their domains."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import MissingRuleError
from consilience.ir import tensor_input
from consilience.transforms.gradient import gradient

Array = npt.NDArray[np.float64]
POINTS = 16
RNG = np.random.default_rng(20261123)


def uniform(low: float, high: float) -> Array:
    return RNG.uniform(low, high, POINTS)


def powers(low: float, high: float) -> Array:
    return np.asarray(10.0 ** uniform(low, high))


def _dawson(x: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


ORDERS, FAR = uniform(0.1, 30.0), powers(-2.0, 3.0)
SHAPE = uniform(0.1, 20.0)

INTEGRALS = {"Si": lambda x: pt.special.sici(x)[0], "Ci": lambda x: pt.special.sici(x)[1]}

# Function, place of the argument, points, exact function; the scale of an oscillating slope is that of its envelope.
CASES: list[tuple[str, int, tuple[Array, ...], Callable[..., mp.mpf], bool]] = [
    ("i0", 0, (uniform(-30, 30),), lambda x: mp.besseli(0, x), False),
    ("i1", 0, (uniform(-30, 30),), lambda x: mp.besseli(1, x), False),
    ("i1", 0, (powers(-6, 1),), lambda x: mp.besseli(1, x), False),
    ("i0e", 0, (powers(-6, 3),), lambda x: mp.besseli(0, x) * mp.exp(-x), False),
    ("i1e", 0, (powers(-6, 3),), lambda x: mp.besseli(1, x) * mp.exp(-x), False),
    ("iv", 1, (ORDERS, np.minimum(FAR, 600)), mp.besseli, False),
    ("ive", 1, (ORDERS, FAR), lambda v, x: mp.besseli(v, x) * mp.exp(-x), False),
    ("k0", 0, (powers(-10, 2),), lambda x: mp.besselk(0, x), False),
    ("k1", 0, (powers(-10, 2),), lambda x: mp.besselk(1, x), False),
    ("k0e", 0, (powers(-10, 3),), lambda x: mp.besselk(0, x) * mp.exp(x), False),
    ("k1e", 0, (powers(-10, 3),), lambda x: mp.besselk(1, x) * mp.exp(x), False),
    ("kv", 1, (ORDERS, np.minimum(FAR, 600) + 0.3), mp.besselk, False),
    ("kve", 1, (ORDERS, FAR + 0.3), lambda v, x: mp.besselk(v, x) * mp.exp(x), False),
    ("j0", 0, (uniform(-30, 30),), lambda x: mp.besselj(0, x), True),
    ("j1", 0, (uniform(-30, 30),), lambda x: mp.besselj(1, x), True),
    ("j1", 0, (powers(-6, 0),), lambda x: mp.besselj(1, x), False),
    ("jv", 1, (ORDERS, uniform(0.1, 100)), mp.besselj, True),
    ("y0", 0, (uniform(0.1, 30),), lambda x: mp.bessely(0, x), True),
    ("y1", 0, (uniform(0.1, 30),), lambda x: mp.bessely(1, x), True),
    ("yv", 1, (uniform(0.1, 5.0), uniform(0.1, 100)), mp.bessely, True),
    ("exp1", 0, (powers(-10, 2.5),), mp.e1, False),
    ("expi", 0, (uniform(-100, 100),), mp.ei, False),
    ("expn", 1, (np.floor(uniform(0, 20)), powers(-3, 2)), mp.expint, False),
    ("Si", 0, (np.append(uniform(-40, 40)[:-1], 1e-7),), mp.si, True),
    ("Ci", 0, (powers(-6, 1.6),), mp.ci, True),
    ("dawsn", 0, (np.abs(uniform(-60, 60)) + 1.5,), _dawson, False),
    ("spence", 0, (np.append(uniform(0.01, 5)[:-1], 1.001),), lambda x: mp.polylog(2, 1 - x), False),
    ("ellipk", 0, (np.append(uniform(-5, 0.99)[:-1], 1e-9),), mp.ellipk, False),
    ("ellipe", 0, (np.append(uniform(-5, 0.99)[:-1], 1e-9),), mp.ellipe, False),
    *(("hyp1f1", i, (SHAPE, SHAPE + uniform(0.1, 9), uniform(-50, 50)), mp.hyp1f1, False) for i in range(3)),
    *(("hyp2f1", i, (SHAPE, SHAPE[::-1], 20 + uniform(0.1, 9), uniform(-3, 0.95)), mp.hyp2f1, False) for i in range(4)),
]


@pytest.mark.parametrize(("order", "bound"), [(1, 2e-12), (2, 1e-10)], ids=["first", "second"])
@pytest.mark.parametrize(
    ("name", "place", "points", "exact", "oscillates"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)
def test_slopes_are_those_of_many_digits(
    name: str,
    place: int,
    points: tuple[Array, ...],
    exact: Callable[..., mp.mpf],
    oscillates: bool,
    order: int,
    bound: float,
    record_property: Callable[[str, object], None],
) -> None:
    """In the argument to the second order, in parameters of hypergeometric functions to the first."""
    nodes = [tensor_input("float64", (POINTS,)) for _ in points]
    result = (INTEGRALS.get(name) or getattr(pt.special, name))(*nodes)
    if order == 2 and name.startswith("hyp") and place < len(points) - 1:
        (slope,) = gradient(result.sum(), [nodes[place]])
        with pytest.raises(MissingRuleError, match="again in a parameter"):
            gradient(slope.sum(), [nodes[place]])
        return
    for _ in range(order):
        (result,) = gradient(result.sum(), [nodes[place]])
    run = pm.function(nodes, result)
    found = run(*points)
    np.testing.assert_allclose(evaluate([result], dict(zip(nodes, points, strict=True)))[0], found, rtol=1e-8)
    worst = 0.0
    with mp.workdps(60):
        h = mp.mpf(10) ** -20
        for value, *x in zip(found, *points, strict=True):
            at = [mp.mpf(float(v)) for v in x]
            ends = [exact(*at[:place], at[place] + k * h, *at[place + 1 :]) for k in (-1, 0, 1)]
            slope = (ends[2] - ends[0]) / (2 * h) if order == 1 else (ends[2] - 2 * ends[1] + ends[0]) / h**2
            worst = max(worst, float(abs(mp.mpf(float(value)) - slope) / (max(abs(slope), 0.1 * oscillates))))
    record_property("greatest relative error", worst)
    print(f"\n{name}, derivative {order} in argument {place}: greatest relative error {worst:.1e}")
    assert worst < bound
