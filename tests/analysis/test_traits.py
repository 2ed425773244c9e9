"""What ops say of themselves is so, on all cases of all ops: axes kept apart, operands in which they are linear, values
that are picked, zeros, slopes of one sign, triangles that are read. And what it costs to say nothing."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from consilience import ops
from consilience.analysis.operations import USUAL, operations
from consilience.analysis.separability import Link, kept_axes, links
from consilience.backends.reference import evaluate
from consilience.elimination.curvature_pattern import pattern_of
from consilience.errors import ParameterError
from consilience.ir import Node, Op, TensorType, TupleType, constant, tensor_input, topological
from consilience.logprob.intervals import ranges
from consilience.ops import ArgSort, Det, Inverse, Iota, Item, Softmax, Sort, apply
from consilience.ops.axes import aligned
from consilience.ops.factorisations import (
    ComplexSchur,
    Eig,
    Eigvals,
    LeastSquares,
    PivotPermutation,
    PseudoInverse,
    Schur,
)
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import reduce
from consilience.ops.scalar import TABLE, ScalarFunction
from consilience.record import replace
from consilience.rewrite.bounds import UNKNOWN, Bounds, bounds_of
from consilience.transforms.equal_rows import along_rows
from tests.backends.agreement import Array, inputs_like
from tests.backends.test_conformance import CASES, operands
from tests.backends.test_factorisations import UNIQUE, matrix
from tests.rows import holds_for_each

OTHERS = [Eig(), Eigvals(), Schur(), ComplexSchur()]
# Beside the cases of conformance: ops whose results are compared otherwise there.
MORE: list[tuple[Op, list[Array]]] = [
    *((op, [matrix((3, 4, 4)) + matrix((3, 4, 4)).mT]) for op in [*(op for op, _ in UNIQUE), *OTHERS]),
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


def outcome(op: Op, values: Sequence[Array]) -> list[Array] | None:
    """The results, or None where the op requires what does not hold."""
    try:
        return results(op, values)
    except (AssertionError, ParameterError):
        return None


def check_axes(op: Op, values: Sequence[Array]) -> None:
    """Positions taken along operands' axes are taken along those of the result that follow them, repeated or not.

    What an op refuses it refuses whichever positions are taken: an error is no value of one position.
    """
    node = node_of(op, values)
    kept = kept_axes(node)
    made = outcome(op, values) if any(kept) else []
    shape = node.type.items[0].shape if isinstance(node.type, TupleType) else node.static_shape
    for axis in {axis for each in kept for axis in each}:
        length = int(shape[axis])
        assert all(v.shape[each[axis]] == length for v, each in zip(values, kept, strict=True) if axis in each)
        if not length:
            continue
        places = np.random.default_rng(axis).integers(0, length, length)
        moved = [np.take(v, places, each[axis]) if axis in each else v for v, each in zip(values, kept, strict=True)]
        found_there = outcome(op, moved)
        assert (found_there is None) == (made is None)
        for found, wanted in zip(found_there or (), made or (), strict=True):
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


def check_price(op: Op, values: Sequence[Array]) -> None:
    """Operations of known lengths are a number, and twice as many matrices take twice as many."""
    one = op.volume(*node_of(op, values).inputs)
    assert isinstance(one, int)
    assert one >= 0
    assert op.flops >= 0.0
    if op.core is not None and values[0].ndim > op.core:
        two = node_of(op, [np.concatenate([value, value]) for value in values])
        assert op.volume(*two.inputs) == 2 * one


def check_picks(op: Op, values: Sequence[Array]) -> None:
    """Each element of the result is one of those of the operands it picks from."""
    picked = op.picks_of(len(values))
    if picked:
        (made,) = results(op, values)
        among = np.concatenate([values[place].ravel() for place in picked])
        assert (np.isin(made, among) | (np.isnan(made) & np.isnan(among).any())).all()


def check_zeros(op: Op, values: Sequence[Array]) -> None:
    """Where a group of operands is 0, all along the axes that are mixed, the result is."""
    groups = op.zero_in(len(values))
    if not groups:
        return
    values = [finite(value) for value in values]
    shapes = [made.shape for made in results(op, values)]
    kept = kept_axes(node_of(op, values))
    for group in groups:
        every_other = {axis for place in group for axis in kept[place]}

        def rows(axis: int, length: int, chosen: set[int] = every_other) -> Array:
            return np.arange(0, length, 2 if axis in chosen else 1)

        changed = list(values)
        for place in group:
            changed[place] = np.array(values[place])
            result_axis = {own: axis for axis, own in kept[place].items()}
            lengths = enumerate(values[place].shape)
            changed[place][np.ix_(*(rows(result_axis.get(axis, -1), n) for axis, n in lengths))] = 0
        for found, shape in zip(results(op, changed), shapes, strict=True):
            there = found[np.ix_(*(rows(axis, n) for axis, n in enumerate(shape)))]
            assert not there[np.isfinite(there)].any()


def finite(values: Array) -> Array:
    """The array with 0 in place of what is no number, and others of moderate size."""
    return np.asarray(np.clip(np.nan_to_num(values), -1e6, 1e6)) if values.dtype.kind == "f" else values


def check_monotone(op: Op, values: Sequence[Array]) -> None:
    """Where an operand rises, no element of the result falls, or none rises."""
    generator = np.random.default_rng(2)
    values = [finite(value) for value in values]
    for place, sign in enumerate(op.monotone_in(len(values))):
        own = values[place]
        if not sign or own.dtype.kind == "c":
            continue
        up = 0.3 * (1 + np.abs(own.astype(float))) * np.floor(generator.uniform(0, 2, own.shape))
        risen = own | (up > 0) if own.dtype == bool else (own + up).astype(own.dtype)
        changed = [risen if i == place else value for i, value in enumerate(values)]
        for old, new in zip(results(op, values), results(op, changed), strict=True):
            before, after = sign * old.astype(float), sign * new.astype(float)
            assert (after >= before - 1e-6 * (1 + np.abs(np.nan_to_num(before)))).all()


def check_triangle(op: Op, values: Sequence[Array]) -> None:
    """What lies in the triangle that is not read changes nothing."""
    side = op.triangle_read()
    if side:
        other = np.triu(np.ones(values[0].shape[-2:], bool), 1)
        changed = np.where(other if side == "lower" else other.T, 7.5, values[0])
        for found, wanted in zip(results(op, [changed, *values[1:]]), results(op, values), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("op", [Asserted(""), ParameterCheck("", "", "", 0)])
def test_a_condition_is_required_as_a_whole(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its axes are mixed with all of the result, though one of each is made of equal positions."""

    def check() -> None:
        for row in range(4):
            conditions = np.ones((4, 3), bool)
            conditions[row, 2] = False
            given = [matrix((4, 3)), conditions, matrix((4, 3))][: 2 + isinstance(op, ParameterCheck)]
            assert outcome(op, given) is None
            check_axes(op, given)

    check()
    monkeypatch.setattr(type(op), "kept_axes", lambda self, *inputs: aligned(2, inputs))
    with pytest.raises(AssertionError):
        check()


def test_every_op_that_tells_axes_is_tried() -> None:
    read = [import_module(m.name) for m in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}.")]
    kinds = {kind for kind in Op.classes.values() if kind.__module__ in {m.__name__ for m in read}}
    telling = {kind for kind in kinds if kind.core is not None or kind.kept_axes is not Op.kept_axes}
    assert len(telling) > 60
    assert {k.__name__ for k in telling - {*OPS, Item} if not k.__name__.startswith("_")} == set()


CHECKS = (check_picks, check_zeros, check_monotone, check_triangle)


@pytest.mark.parametrize("kind", OPS)
def test_axes_that_an_op_keeps_apart_are_apart(kind: type[Op]) -> None:
    holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check_axes(*row))


@pytest.mark.parametrize("kind", OPS)
def test_ops_are_linear_in_the_operands_that_they_name(kind: type[Op]) -> None:
    holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check_linear(*row))


@pytest.mark.parametrize("kind", OPS)
def test_prices_follow_lengths(kind: type[Op]) -> None:
    holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check_price(*row))


@pytest.mark.parametrize("kind", OPS)
def test_values_are_as_an_op_says(kind: type[Op]) -> None:
    for check in CHECKS:
        holds_for_each(((repr(op), (op, values)) for op, values in applied(kind)), lambda row: check(*row))  # noqa: B023


def test_ops_that_say_what_is_not_so_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [matrix((7,))]
    check_axes(Sort(0), values)
    check_linear(Sort(0), values)
    monkeypatch.setattr(Sort, "kept_axes", lambda self, *inputs: [{0: 0}])
    monkeypatch.setattr(Sort, "linear", ((0,),))
    for check in (check_axes, check_linear):
        with pytest.raises(AssertionError):
            check(Sort(0), values)
    lies: list[tuple[type[Op], str, Any, Any, list[Array]]] = [
        (Softmax, "picks", (0,), check_picks, [matrix((4,))]),
        (ArgSort, "zero_in", lambda self, count: ((0,),), check_zeros, [matrix((4,))]),
        (Inverse, "monotone_in", lambda self, count: (1,), check_monotone, [matrix((3, 3))]),
        (Det, "triangle", "lower", check_triangle, [matrix((3, 3))]),
    ]
    for kind, name, told, check, given in lies:
        op = kind((0,)) if kind is Softmax else kind(0) if kind is ArgSort else kind()  # type: ignore[call-arg]
        check(op, given)
        monkeypatch.setattr(kind, name, told)
        with pytest.raises(AssertionError):
            check(op, given)


def points(row: ScalarFunction, count: int, generator: np.random.Generator) -> list[Array]:
    """Arguments of a function, inside its domain."""
    ends = [(max(low, -20.0), min(high, 20.0)) for low, high in (*row.domain, *row.domain[-1:] * count)][:count]
    arrays = [generator.uniform(low, high, 400) for low, high in ends]
    return [array > 0 if row.result == "choice" and not i else array for i, array in enumerate(arrays)]


def check_function(row: ScalarFunction) -> None:
    """What a row of the scalar table says of slopes, symmetry, zeros and choice."""
    generator = np.random.default_rng(3)
    count = row.arity or 3
    given = points(row, count, generator)
    with np.errstate(all="ignore"):
        value = row.numpy(*given)
        for place, sign in enumerate(row.monotone_in(count)):
            if sign and given[place].dtype != bool:
                changed = [np.sort(x) if i == place else np.full_like(x, x[0]) for i, x in enumerate(given)]
                assert (sign * np.diff(row.numpy(*changed)) >= -1e-12).all()
        if row.monotone == "v":
            values = row.numpy(np.linspace(-5.0, 5.0, 101))
            assert (np.diff(values[:51]) <= 0).all()
            assert (np.diff(values[50:]) >= 0).all()
        if row.parity:
            mirrored = row.numpy(*(-x for x in given))
            np.testing.assert_allclose(mirrored, -value if row.parity == "odd" else value, rtol=1e-12)
        if row.flat:
            assert len(np.unique(row.numpy(*given[:1], *(np.full_like(x, 0.5) for x in given[1:])))) <= 42
        for group in row.zero_in(count):
            changed = [np.zeros_like(x) if i in group else x for i, x in enumerate(given)]
            assert not np.asarray(row.numpy(*changed)).any()
        if row.picks:
            assert np.any([value == given[place] for place in row.picks], 0).all()


def test_functions_are_as_their_rows_say() -> None:
    told = [row for row in TABLE.values() if "float" in row.accepts and (row.monotone or row.parity or row.zero_in(2))]
    assert len(told) > 50
    holds_for_each(((row.name, row) for row in told), check_function)


def check_one_sign(row: ScalarFunction) -> None:
    """A function of one argument whose values only rise or only fall on its domain says so."""
    (ordered,) = (np.sort(x) for x in points(row, 1, np.random.default_rng(3)))
    with np.errstate(all="ignore"):
        steps = np.diff(row.numpy(ordered))
    steps = steps[np.isfinite(steps)]
    found = "+" if (steps >= 0).all() else "-" if (steps <= 0).all() else ""
    assert row.monotone.strip("v") == found


def test_slopes_of_one_sign_are_told() -> None:
    told = [row for row in TABLE.values() if row.arity == 1 and row.result == "float"]
    holds_for_each(((row.name, row) for row in told), check_one_sign)


@pytest.mark.parametrize(
    "wrong", [{"monotone": "-"}, {"parity": "even"}, {"flat": True}, {"zero": "together"}, {"picks": (0,)}]
)
def test_functions_that_say_what_is_not_so_are_found(wrong: dict[str, Any]) -> None:
    check_function(TABLE["arccosh"])
    with pytest.raises(AssertionError):
        check_function(replace(TABLE["exp"], **wrong))


class Untold(Op):
    """An exponential that says nothing of itself."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


def test_an_op_that_says_nothing_costs_speed_alone() -> None:
    """What each reader of traits answers for the same function, told and untold."""
    x = tensor_input("float64", (6,))
    told, untold = apply("exp", x), Node(Untold(), x)
    assert links(told, x) == {0: Link(0, None)}
    assert links(untold, x) == {}  # summed over all combinations of elements, in place of one after another
    assert along_rows(apply("exp", constant(np.arange(6.0))), 6) is not None
    assert along_rows(Node(Untold(), constant(np.arange(6.0))), 6) is None  # every row is computed, equal or not
    both = [pattern_of(reduce("sum", value), x) for value in (told, untold)]
    pairs = [0 if found is None else found.pairs.nnz for found in both]
    assert pairs == [6, 36]  # the whole matrix of second derivatives
    assert bounds_of(untold, {x: Bounds(0.0, 1.0)}) == UNKNOWN  # no rule that asks for a sign applies
    assert (operations([told]), operations([untold])) == (6 * USUAL, 0.0)  # no plan is made for it alone
    assert (untold.op.monotone_in(1), untold.op.zero_in(1), untold.op.picks_of(1)) == ((0,), (), ())
    low, high = ranges([untold], {x: (np.zeros(1), np.ones(1))})[untold]
    assert (low, high) == (-np.inf, np.inf)  # no numerical inverse
