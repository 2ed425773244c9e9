"""Exponentials made from other exponentials keep their values, at extremes too, and are fewer."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.ir import Node, topological
from consilience.lower.sharing import share_exponentials
from consilience.ops import Elementwise

POINTS = (-1e300, -800.0, -400.0, -20.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 1.0, 20.0, 353.0, 400.0, 709.0, 800.0, 1e300)


def calls(outputs: list[Node]) -> int:
    """Number of exponentials in a graph."""
    return sum(isinstance(n.op, Elementwise) and n.op.function == "exp" for n in topological(outputs))


def minus_absolute(y: Node) -> Node:
    """exp(-|y|), as softplus and sigmoid are written out."""
    return pt.exp(-pt.abs(y))


@pytest.mark.parametrize(
    "other",
    [
        lambda x: pt.exp(2.0 * x),
        lambda x: pt.exp(-x),
        lambda x: pt.exp(-2.0 * x),
        lambda x: minus_absolute(x),
        lambda x: minus_absolute(2.0 * x + (-3.2)),
        lambda x: minus_absolute(-x + 5.0),
        lambda x: minus_absolute(-2.0 * x),
    ],
)
@pytest.mark.parametrize("point", POINTS)
def test_an_exponential_made_from_another_has_its_value(other: object, point: float) -> None:
    assert callable(other)
    x = pt.dscalar("x")
    written = [pt.exp(x), other(x)]
    shared = share_exponentials(written)
    assert calls(shared) == 1 < calls(written)
    wanted, got = evaluate(written, {x: point}), evaluate(shared, {x: point})
    np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-307)


def test_a_shift_beyond_the_range_is_left_alone() -> None:
    x = pt.dscalar("x")
    written = [pt.exp(x), minus_absolute(x + 800.0)]
    assert share_exponentials(written) == written


def test_vectors_keep_their_folded_exponentials() -> None:
    """There a division costs as much as the exponential."""
    x = pt.dvector("x")
    written = [pt.exp(x), minus_absolute(x)]
    assert calls(share_exponentials(written)) == 2
