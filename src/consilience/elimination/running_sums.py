"""A sum of elements of which each is one of two numbers, by where a whole number stands, for all of its values at once.

A factor of a density that a change point acts on enters; the table of its sums by value leaves, or None. Ahead of the
change the elements take one form and behind it another, so running sums of both hold all of the table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.analysis.separability import links
from consilience.backends.reference import evaluate
from consilience.distributions.mathematics import where
from consilience.ir import Node, constant, is_leaf, substitute, tensor_input, topological
from consilience.ops.index import getitem
from consilience.ops.reduce import Cumulative
from consilience.ops.shape import concatenate, reshape
from consilience.transforms.vectorize import vectorize

# Values times elements of a condition that are looked at.
MOST: Final = 50_000_000
FEW: Final = 1_000  # values times elements up to which the table is as cheap written out


def running_sums(factor: Node, leaf: Node, values: npt.NDArray[np.int64]) -> Node | None:
    """The sum of a factor's elements for each value of a scalar, (values,); None where it is of another form.

    `factor`: a log density, elementwise. `leaf`: the scalar; it has to act through one condition, each element of which
    changes once, if at all, as it grows.
    """
    if leaf.ndim or not factor.ndim or not all(isinstance(n, int) for n in factor.static_shape):
        return None
    condition = _condition(factor, leaf)
    if condition is None or condition.static_shape != factor.static_shape:
        return None
    size = int(np.prod([n for n in factor.static_shape if isinstance(n, int)]))
    if not FEW < size * len(values) <= MOST:
        return None
    chosen = tensor_input("bool", condition.static_shape)
    (written,) = substitute([factor], {condition: chosen})
    linked = links(written, chosen) or {}
    if any(axis not in linked or linked[axis].axis != axis or linked[axis].places is not None
           for axis, length in enumerate(factor.static_shape) if length != 1):  # fmt: skip
        return None
    holds = evaluate(vectorize([condition], {leaf: constant(values, leaf.dtype)}), {})[0].reshape(len(values), size)
    if (np.count_nonzero(holds[1:] != holds[:-1], axis=0) > 1).any():
        return None
    changes = np.where(holds[0] == holds[-1], len(values), np.argmax(holds != holds[0], axis=0))
    order = np.argsort(changes, kind="stable")
    first = constant(holds[0].reshape(condition.static_shape))
    before, after = (
        getitem(reshape(substitute([written], {chosen: own})[0], (size,)), (constant(order),))
        for own in (first, where(first, False, True))
    )
    zero = constant(np.zeros(1), factor.dtype)
    behind = concatenate([zero, Node(Cumulative("sum", 0), after)])
    ahead = concatenate([Node(Cumulative("sum", 0, True), before), zero])
    passed = constant(np.searchsorted(changes[order], np.arange(len(values)), side="right"))
    return getitem(behind, (passed,)) + getitem(ahead, (passed,))


def _condition(factor: Node, leaf: Node) -> Node | None:
    """The only truth values that depend on the scalar and on constants, and through which alone it acts."""
    depends = {leaf}
    found: Node | None = None
    for node in topological([factor]):
        if depends.isdisjoint(node.inputs):
            continue
        if node.dtype == "bool" and not any(is_leaf(n) and n is not leaf for n in topological([node])):
            if found not in (None, node):
                return None
            found = node
        else:
            depends.add(node)
    return None if factor in depends else found
