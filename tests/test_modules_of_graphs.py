"""Modules that PyTensor's users import: graph, ifelse, raise_op, scan."""

from __future__ import annotations

import numpy as np
import pytest

import consilience
import consilience.tensor as pt
from consilience.errors import GraphError
from consilience.gradient import grad
from consilience.graph import (
    ancestors,
    clone_replace,
    equal_computations,
    explicit_graph_inputs,
    graph_inputs,
    graph_replace,
    orphans_between,
    vectorize_graph,
)
from consilience.ifelse import ifelse
from consilience.raise_op import Assert
from consilience.scan import foldl, scan, until

BACKENDS = ("FAST_RUN", "reference")


class TestGraph:
    """Graphs taken apart and changed."""

    def test_orphans_are_the_leaves_that_are_no_inputs(self) -> None:
        x, y = pt.scalars("x", "y")
        one, (other,) = x + y, [n for n in graph_inputs([x * 2.0]) if n is not x]
        assert list(orphans_between([x], [one])) == [y]
        assert list(orphans_between([x], [x * 2.0])) == [other]
        assert list(orphans_between([one], [one * y])) == [y]

    def test_computations_are_equal_once_their_inputs_are(self) -> None:
        x, y, n = pt.scalar("x"), pt.scalar("y"), pt.lscalar("n")
        assert equal_computations([pt.exp(x), x + 1], [pt.exp(y), y + 1], [x], [y])
        assert not equal_computations([pt.exp(x)], [pt.exp(y)])
        assert not equal_computations([pt.exp(x)], [pt.exp(n)], [x], [n])
        with pytest.raises(ValueError, match="equal lengths"):
            equal_computations([x], [])

    def test_replacements_are_made_at_once(self) -> None:
        x, y = pt.scalars("x", "y")
        z = x * 2 + y
        assert clone_replace(z, {x: y, y: x}) is y * 2 + x
        assert clone_replace([z], {x: 3.0})[0].eval({y: 1.0}) == 7
        with pytest.raises(ValueError, match="do not depend on"):
            graph_replace(z, {pt.scalar("w"): y})
        assert graph_replace(z, {pt.scalar("w"): y}, strict=False) is z
        with pytest.raises(GraphError, match="of its dtype"):
            clone_replace(z, {x: pt.lscalar("i")})

    def test_leaves_are_found(self) -> None:
        x, y, s = pt.scalar("x"), pt.scalar("y"), pt.shared(2.0)
        z = x * 2.0 + pt.exp(y) * s
        assert set(explicit_graph_inputs(z)) == {x, y}
        assert set(graph_inputs([z])) > {x, y, s}
        assert pt.exp(y) in set(ancestors([z]))
        assert y not in set(ancestors([z], blockers=[pt.exp(y)]))

    def test_vectorize_graph(self) -> None:
        x, many = pt.vector("x"), pt.matrix("X")
        made = vectorize_graph(x.sum(), {x: many})
        assert made.eval({many: np.ones((2, 3))}).tolist() == [3, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_assertions_are_checked_where_the_value_is_needed(backend: str) -> None:
    """They pass derivatives and batches on."""
    x = pt.vector("x")
    y = Assert("x must be positive")(x, x > 0, pt.sum(x) < 10)
    f = pt.function([x], [pt.log(y), pt.grad(pt.sum(pt.log(y)), x)], mode=backend)
    assert f([1.0, 2.0])[1].tolist() == [1.0, 0.5]
    for wrong in ([1.0, -2.0], [5.0, 6.0]):
        with pytest.raises(AssertionError, match="x must be positive"):
            f(wrong)
    assert pt.function([x], y.shape[0], mode=backend)([-1.0]) == 1
    many = pt.matrix("X")
    g = pt.function([many], vectorize_graph(y, {x: many}), mode=backend)
    assert g(np.ones((2, 3))).tolist() == [[1.0] * 3] * 2
    with pytest.raises(AssertionError):
        g(-np.ones((2, 3)))


def test_modules_may_be_called_as_their_functions() -> None:
    """`import pytensor; pytensor.scan(...)` and `from pytensor.scan import scan` are both written."""
    x = pt.vector("x")
    step = {"sequences": x, "outputs_info": 0.0, "return_updates": False}
    assert consilience.scan(lambda v, p: v + p, **step) is not None
    for function in (consilience.scan, scan):
        last = function(lambda v, p: v + p, **step)[-1]
        assert last.eval({x: np.arange(4.0)}) == 6
    total, _ = foldl(lambda v, p: v + p, x, 0.0)
    assert total.eval({x: np.arange(4.0)}) == 6
    assert until is pt.until
    for branch in (consilience.ifelse, ifelse):
        assert branch(x[0] > 0, x[0], -x[0]).eval({x: np.array([-3.0])}) == 3
    assert grad is not None
