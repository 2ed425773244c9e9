"""Nodes are frozen, interned by meaning and bits, and freed when nobody holds them."""

from __future__ import annotations

import copy
import gc
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.ir import NUMBERS, Node, constant, tensor_input, topological
from consilience.ir.node import alive
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import name_of, source_of
from consilience.ops import Elementwise


def test_equal_expressions_are_one_object() -> None:
    """Common subexpressions merge by construction, names notwithstanding."""
    x = pt.vector("x")
    assert pt.exp(x * 2) is pt.exp(x * 2)
    assert pt.exp(x * 2) is not pt.exp(x * 3)
    assert pt.vector("x") is not pt.vector("x")


def test_constants_are_told_apart_by_dtype_shape_and_bits() -> None:
    """0.0 is not -0.0, 1 is not True, NaN differs by payload and equals itself."""
    quiet, other = np.array([0x7FF8000000000000, 0x7FF8000000000001], "uint64").view("float64")
    values = [
        0.0,
        -0.0,
        0,
        False,
        np.float32(0),
        np.int32(0),
        [0.0],
        [[0.0]],
        np.zeros(0),
        np.zeros((0, 1)),
        quiet,
        other,
    ]
    nodes = [constant(v) for v in values]
    assert len(set(nodes)) == len(values)
    assert [constant(v) for v in values] == nodes


def test_long_constants_are_told_apart_by_their_bits_whatever_the_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays beyond 64 bytes are found by a checksum, and compared bit by bit where it agrees."""
    monkeypatch.setattr(zlib, "crc32", lambda _: 1)
    arrays = [np.zeros(100), -np.zeros(100), np.zeros(100, "int64"), np.full(100, np.nan), np.arange(100.0)]
    nodes = [constant(a) for a in arrays]
    assert len(set(nodes)) == len(arrays)
    assert [constant(a.copy()) for a in arrays] == nodes
    assert constant(np.arange(1000.0)) is constant(np.arange(1000.0))
    assert constant(np.arange(1000.0)) is not constant(np.arange(1000.0)[::-1])


def test_constants_do_not_change_with_the_array_they_came_from() -> None:
    """The array is copied and read-only."""
    array = np.zeros(3)
    node = constant(array)
    array[0] = 1.0
    assert node is constant(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        node.op.array[0] = 1.0  # type: ignore[attr-defined]  # a constant's op


@pytest.mark.parametrize(
    "value", [np.array([b"a"]), np.array(["a"]), np.array([None]), np.array(["2000-01-01"], "M8[D]")]
)
def test_arrays_without_a_meaning_are_refused(value: np.ndarray) -> None:  # type: ignore[type-arg]  # any array
    """Bytes, text, objects, dates."""
    with pytest.raises(DtypeError, match="have no meaning here"):
        constant(value)


def test_arrays_keep_their_dtype() -> None:
    """Short, unsigned and half ones too; masked ones are refused."""
    for dtype in NUMBERS:
        assert constant(np.array([1], dtype)).dtype == dtype
    with pytest.raises(DtypeError, match="masked"):
        constant(np.ma.masked_array([1.0], [True]))


def test_many_threads_build_one_graph() -> None:
    """The same objects come out of every thread."""
    x = pt.vector("x")
    barrier = threading.Barrier(8)

    def build(_: int) -> list[Node]:
        barrier.wait()
        y = x
        for i in range(500):
            y = pt.tanh(y + float(i)) * x
        return topological([y])

    with ThreadPoolExecutor(8) as pool:
        graphs = list(pool.map(build, range(8)))
    assert all(len(g) == len(graphs[0]) for g in graphs)
    assert all(a is b for g in graphs for a, b in zip(g, graphs[0], strict=True))


def test_nodes_are_frozen() -> None:
    """No attribute can be set or deleted; copies are the node itself."""
    x = pt.vector("x")
    for name in ("op", "inputs", "type", "anything"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(x, name, None)
        with pytest.raises(AttributeError, match="frozen"):
            delattr(x, name)
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x


def test_expressions_have_no_truth_value() -> None:
    """`if x > 0` is a mistake that says so."""
    x = pt.scalar("x")
    with pytest.raises(TypeError, match="no truth value"):
        bool(x > 0)
    with pytest.raises(TypeError, match=r"use `x\.shape\[0\]`"):
        len(pt.vector("v"))


@pytest.mark.parametrize(
    ("mistake", "step"),
    [
        (lambda: [*pt.vector("v")], r"got `v` .*`pt\.scan`.*`pt\.specify_shape`"),
        (lambda: [*pt.iscalar("n")], r"a scalar cannot be iterated, got `n` .*`pt\.arange\(n\)`"),
        (lambda: len(pt.iscalar("n")), r"a scalar has no length, got `n` .*`pt\.atleast_1d\(x\)`"),
        (lambda: int(pt.dscalar("x")), r"no int: .*`pt\.arange\(n\)`"),
        (lambda: 1 if pt.dscalar("x") > 0 else 2, r"`pt\.where` or `pt\.cond`"),
    ],
    ids=["elements", "a scalar's elements", "a scalar's length", "int", "if"],
)
def test_what_python_needs_a_value_for_names_the_expression_in_its_place(
    mistake: Callable[[], object], step: str
) -> None:
    """The error says which function of expressions does what was meant."""
    with pytest.raises(TypeError, match=step):
        mistake()


def test_names_and_lines_stand_beside_the_graph() -> None:
    """They are known of a node and not part of it."""
    x = pt.vector("x")
    assert name_of(x) == "x"
    assert __file__ in source_of(x)


def test_memory_is_given_back() -> None:
    """Nodes, constants and side tables go when the last reference goes, a hundred thousand deep as well."""
    gc.collect()
    before = alive()
    x = tensor_input("float64", (), "x")
    y = x
    for i in range(100_000):
        y = Node(Elementwise("add"), y, x) if i % 1000 else Node(Elementwise("mul"), y, constant(float(i)))
    assert alive() > before + 100_000
    del y, x
    gc.collect()
    assert alive() <= before


def test_shape_constraints_are_collected_once_each() -> None:
    """Equal shape constraints of several nodes are one, with the place of the first."""
    x, y = pt.vector("x"), pt.vector("y")
    debts = collect([x + y, x - y, (x + y) * 2])
    assert [(repr(d.left), repr(d.right)) for d in debts] == [("x.shape[0]", "y.shape[0]")]
    assert __file__ in debts[0].where
    assert collect([x + 1.0, x + x, pt.exp(x)]) == ()
