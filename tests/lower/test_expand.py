"""What is written out in primitives keeps its meaning."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.ir import Node, topological
from consilience.lower.expand import MANY_OPERANDS, expand
from consilience.ops import Elementwise


@pytest.mark.parametrize("function", ["add", "mul"])
@pytest.mark.parametrize("count", [MANY_OPERANDS, MANY_OPERANDS + 1, 33 * 32 + 1, 3000])
def test_an_op_of_very_many_operands_becomes_a_tree(function: str, count: int) -> None:
    """No op of the tree has many operands, its value is that of the whole, and operands of all shapes may come."""
    x, y = pt.vector("x"), pt.scalar("y")
    terms = [pt.sin(x * float(i)) if i % 3 else pt.cos(y + float(i)) for i in range(count)]
    whole = Node(Elementwise(function), *(1.0 + 0.01 * term for term in terms))
    (tree,) = expand([whole])
    widest = max(len(n.inputs) for n in topological([tree]))
    assert widest <= MANY_OPERANDS
    assert tree.type == whole.type
    values = {x: np.array([0.3, -1.2]), y: np.array(0.7)}
    expected = reference.evaluate([whole], values)[0]
    np.testing.assert_allclose(reference.evaluate([tree], values)[0], expected, rtol=1e-12)
    if count < 100:
        np.testing.assert_allclose(pm.function([x, y], whole)(*values.values()), expected, rtol=1e-12)
