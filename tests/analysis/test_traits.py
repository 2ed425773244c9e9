"""What ops say of themselves is so: axes kept apart, operands in which they are linear, on all cases of all ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from consilience.analysis.separability import kept_axes
from consilience.backends.reference import evaluate
from consilience.ir import Node, Op, TensorType, TupleType, topological
from consilience.ops import Iota, Item, Sort
from consilience.ops.factorisations import Eig, Eigvals, LeastSquares, PivotPermutation, PseudoInverse
from consilience.ops.parameter_check import Asserted, ParameterCheck
from tests.backends.agreement import Array, inputs_like
from tests.backends.test_conformance import CASES, operands
from tests.backends.test_factorisations import UNIQUE, matrix
from tests.rows import holds_for_each

# Beside the cases of conformance: ops whose results are compared otherwise there.
MORE: list[tuple[Op, list[Array]]] = [
    *((op, [matrix((3, 4, 4)) + matrix((3, 4, 4)).mT]) for op in [*(op for op, _ in UNIQUE), Eig(), Eigvals()]),
    (PivotPermutation(4), [np.array([[0, 2, 2, 3], [3, 1, 2, 3]], "int32")]),
    (PseudoInverse(), [matrix((2, 5, 3)), np.array([1e-9, 0.5])]),
    (LeastSquares(), [matrix((2, 5, 3)), matrix((2, 5, 2)), np.array([1e-9, 0.5])]),
    (Asserted(""), [matrix((2, 3)), np.ones((2, 3), bool)]),
    (ParameterCheck("", "", "", 0), [matrix((2, 3)), np.ones((2, 3), bool), matrix((2, 3))]),
]
OPS = sorted({row.op for row in CASES} - {Iota, Item} | {type(op) for op, _ in MORE}, key=lambda op: op.__name__)


def applied(kind: type[Op]) -> Iterator[tuple[Op, list[Array]]]:
    """Ops of a class with operands: all that occur in its cases."""
    yield from ((op, values) for op, values in MORE if type(op) is kind)
    for row in CASES:
        if row.op is kind:
            dtype = row.dtypes[0]
            arrays = operands(row, dtype, 1)
            leaves = inputs_like(arrays)
            built = row.build(*leaves)
            for node in topological([built] if isinstance(built, Node) else list(built)):
                if type(node.op) is kind and node.inputs and all(isinstance(x.type, TensorType) for x in node.inputs):
                    yield node.op, evaluate(list(node.inputs), dict(zip(leaves, arrays, strict=True)))


def node_of(op: Op, values: Sequence[Array]) -> Node:
    """The op of inputs like some arrays; random keys are int64 to NumPy."""
    return Node(op, *inputs_like(values))


def results(op: Op, values: Sequence[Array]) -> list[Array]:
    """What an op makes of arrays, each member of a tuple."""
    made = node_of(op, values)
    parts = [Node(Item(i), made) for i in range(len(made.type.items))] if isinstance(made.type, TupleType) else [made]
    return evaluate(parts, dict(zip(made.inputs, values, strict=True)))


def check_axes(op: Op, values: Sequence[Array]) -> None:
    """Positions taken along operands' axes are taken along those of the result that follow them, repeated or not."""
    kept = kept_axes(node_of(op, values))
    made = results(op, values) if any(kept) else []
    for axis in {axis for each in kept for axis in each}:
        length = made[0].shape[axis]
        assert all(v.shape[each[axis]] == length for v, each in zip(values, kept, strict=True) if axis in each)
        if not length:
            continue
        places = np.random.default_rng(axis).integers(0, length, length)
        moved = [np.take(v, places, each[axis]) if axis in each else v for v, each in zip(values, kept, strict=True)]
        for found, wanted in zip(results(op, moved), made, strict=True):
            np.testing.assert_allclose(found, np.take(wanted, places, axis), rtol=1e-9, atol=1e-9)


def check_linear(op: Op, values: Sequence[Array]) -> None:
    """Of a sum of operands of a group it gives the sum of what it gives of each."""
    generator = np.random.default_rng(0)
    for group in op.linear_in(len(values)):
        if any(values[place].dtype != "float64" for place in group):
            continue
        others = {place: generator.uniform(-1, 1, values[place].shape) for place in group}
        mixed = [2.0 * v - 3.0 * others[i] if i in others else v for i, v in enumerate(values)]
        other = [others.get(i, v) for i, v in enumerate(values)]
        for found, a, b in zip(*(results(op, given) for given in (mixed, values, other)), strict=True):
            size = float(np.max(np.abs(a), initial=1.0))
            np.testing.assert_allclose(found, 2.0 * a - 3.0 * b, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("kind", OPS)
def test_axes_that_an_op_keeps_apart_are_apart(kind: type[Op]) -> None:
    holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check_axes(*row))


@pytest.mark.parametrize("kind", OPS)
def test_ops_are_linear_in_the_operands_that_they_name(kind: type[Op]) -> None:
    holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check_linear(*row))


def test_ops_that_say_what_is_not_so_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [matrix((7,))]
    check_axes(Sort(0), values)
    check_linear(Sort(0), values)
    monkeypatch.setattr(Sort, "kept_axes", lambda self, *inputs: [{0: 0}])
    monkeypatch.setattr(Sort, "linear", ((0,),))
    for check in (check_axes, check_linear):
        with pytest.raises(AssertionError):
            check(Sort(0), values)
