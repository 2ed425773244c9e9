"""Expressions, functions and contexts come out of a pickle as they went in: equal, shared as before, compiled anew."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.contexts import DEFAULT, Context
from consilience.backends.pickling import LEVELS, SHALLOW
from consilience.backends.request import In
from consilience.errors import ExecutionError, OutOfBoundsError
from consilience.ir import Constant, Input, Node, Shared, digest, shared_slot, topological, verify
from consilience.ir.side_tables import source_of
from tests.backends.agreement import inputs_like
from tests.backends.test_conformance import CASES, operands
from tests.backends.test_random_graphs import random_graph


def again(value: Any) -> Any:
    """What comes out of a pickle."""
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("symbolic", [False, True])
def test_every_op_survives(symbolic: bool) -> None:
    """All graphs of the conformance table: the same program, sound, with fresh leaves only."""
    for row in {row.op: row for row in CASES}.values():
        nodes = inputs_like(operands(row, row.dtypes[0], 1), symbolic=symbolic and row.symbolic)
        results = row.build(*nodes)
        outputs = [results] if isinstance(results, Node) else list(results)
        inputs, read = again((nodes, outputs))
        assert digest(read, inputs) == digest(outputs, nodes), row.op
        verify(read)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_survive(seed: int) -> None:
    """With branches, index arrays, joins and shared parts."""
    _, inputs, outputs = random_graph(seed, 25)
    read_inputs, read = again((inputs, outputs))
    assert digest(read, read_inputs) == digest(outputs, inputs)
    assert len(topological(read)) == len(topological(outputs))


class TestIdentity:
    def test_what_is_one_before_is_one_after(self) -> None:
        """Variables, lengths and shared expressions, across everything in one pickle."""
        x = pt.vector("x")
        inner = pt.exp(x)
        other, twice, named = again([x, inner + x, {"inner": inner}])
        assert twice.inputs == (named["inner"], other)
        assert named["inner"].inputs == (other,)
        assert other.static_shape == twice.static_shape
        assert other is not x
        assert twice.eval({other: [0.0, 1.0]}) == pytest.approx([1.0, np.e + 1.0])

    def test_what_has_no_leaves_is_the_very_same_node(self) -> None:
        """Equal expressions are one node, wherever they come from."""
        for node in (pt.constant(2.0), pt.constant(np.arange(100)), pt.ones((2, 3)) + 1.0, pt.key(3)):
            assert again(node) is node

    def test_constants_cannot_be_written_to(self) -> None:
        """Nor can their copies."""
        x = pt.constant(np.random.default_rng(0).normal(size=50))
        data = pickle.dumps(x)
        del x
        node = pickle.loads(data)
        assert isinstance(node.op, Constant)
        with pytest.raises(ValueError, match="read-only"):
            node.op.array[0] = 1.0

    def test_two_pickles_have_leaves_of_their_own(self) -> None:
        """An input is a new one each time, as a symbolic length is."""
        x = pt.vector("x")
        first, second = again(x), again(x)
        assert len({x, first, second}) == 3
        assert len({x.static_shape, first.static_shape, second.static_shape}) == 3

    def test_lengths_made_of_lengths(self) -> None:
        """Sums, products, quotients and extremes of symbolic lengths keep their relations."""
        x, y = pt.vector("x"), pt.vector("y")
        outputs = [pt.concatenate([x, y, x]), x[2:7], x[::3], (x[:, None] * y).reshape((-1,))]
        (a, b), read = again(((x, y), outputs))
        values = {a: np.arange(5.0), b: np.ones(3)}
        for old, new in zip(outputs, read, strict=True):
            np.testing.assert_array_equal(
                new.eval(values, on_unused_input="ignore"),
                old.eval({x: values[a], y: values[b]}, on_unused_input="ignore"),
            )

    def test_lengths_computed_at_run_time(self) -> None:
        """The number of true entries of a mask is counted by the copy's own input."""
        x = pt.vector("x")
        mask = x > 0
        outputs = [x[mask], x[mask] * pt.ones(x[mask].shape[0])]
        other, (first, second) = again((x, outputs))
        for values in ([1.0, -1.0, 3.0], [-1.0]):
            wanted = [v for v in values if v > 0]
            assert [first.eval({other: values}).tolist(), second.eval({other: values}).tolist()] == [wanted, wanted]
        assert first.static_shape == second.static_shape


class TestSideTables:
    def test_names_and_lines_are_kept(self) -> None:
        """So that messages name them."""
        x, i = pt.vector("x"), pt.lscalar("i")
        picked = x[i]
        read_x, read_i, read = again((x, i, picked))
        assert (read_x.name, read_i.name) == ("x", "i")
        assert source_of(read) == source_of(picked)
        with pytest.raises(OutOfBoundsError) as caught:
            read.eval({"x": [1.0], "i": 3})
        assert source_of(picked) in str(caught.value)

    def test_shared_variables_bring_their_values(self) -> None:
        """And have a life of their own from then on."""
        w = pt.shared(np.array([1.0, 2.0]), "w", shape=(None,))
        read_w, read = again((w, w * 10.0))
        w.set_value([5.0])
        np.testing.assert_array_equal(read.eval(), [10.0, 20.0])
        read_w.set_value([7.0, 8.0, 9.0])
        np.testing.assert_array_equal(read.eval(), [70.0, 80.0, 90.0])
        assert w.get_value() == [5.0]
        empty = again(shared_slot("float64", (), "empty"))
        with pytest.raises(ExecutionError, match=r"`empty` .* has no value"):
            empty.eval()

    def test_derivatives_ask_for_the_lengths_of_their_origin(self) -> None:
        """As before the pickle."""
        x, y = pt.vector("x"), pt.vector("y")
        slope = pt.grad((x + y).sum() ** 2, x)
        inputs, read = again(((x, y), slope))
        f = pt.function(inputs, read)
        assert f([1.0, 2.0], [3.0, 4.0]).tolist() == [20.0, 20.0]
        with pytest.raises(ValueError, match="equal lengths"):
            f([1.0, 2.0], [3.0])


class TestDepth:
    @pytest.mark.parametrize("depth", [SHALLOW - 1, SHALLOW, SHALLOW + 1, 3 * SHALLOW, LEVELS * SHALLOW, 20_000])
    def test_deep_graphs_need_no_recursion(self, depth: int) -> None:
        """Alone, with their inputs, and with inner nodes."""
        x = pt.scalar("x")
        y, middle = x, x
        for i in range(depth):
            y = pt.sin(y) + x if i % 2 else y * 0.5
            middle = y if i == depth // 2 else middle
        read_x, read_middle, read = again((x, middle, y))
        assert digest([read], [read_x]) == digest([y], [x])
        assert read_middle in set(topological([read]))

    def test_what_is_pickled_together_is_written_once(self) -> None:
        """A hundred expressions of one large part are not a hundred times as long."""
        x = pt.vector("x")
        part = x
        for _ in range(15 * SHALLOW // 2):
            part = pt.sin(part) * 2.0
        many = [part + float(i) for i in range(100)]
        assert len(pickle.dumps(many)) < 3 * len(pickle.dumps(many[0]))


class TestFunctions:
    @pytest.mark.parametrize("duplicate", [again, copy.deepcopy])
    def test_functions_keep_what_they_were_made_of(self, duplicate: Any) -> None:
        """Form of the results, defaults, mode, name and settings."""
        x, y = pt.fscalar("x"), pt.scalar("y")
        f = pt.function(
            [x, In(y, value=3.0, name="shift")],
            {"sum": x + y},
            name="adder",
            mode="PY",
            allow_input_downcast=True,
            profile=True,
        )
        g = duplicate(f)
        assert g(np.float64(1.5)) == f(1.5) == {"sum": 4.5}
        assert g(1.5, shift=1.0) == {"sum": 2.5}
        assert (g.name, g.mode, repr(g)) == (f.name, f.mode, repr(f))
        assert g.profile.calls == 2

    @pytest.mark.parametrize("duplicate", [again, copy.deepcopy])
    def test_state_goes_along_and_then_its_own_way(self, duplicate: Any) -> None:
        """Updates of the copy do not touch the original."""
        count = pt.shared(np.int64(0), "count")
        f = pt.function([], count, updates={count: count + 1})
        f()
        g = duplicate(f)
        assert [int(g()), int(g()), int(f())] == [1, 2, 1]

    def test_contexts_are_kept_the_default_one_as_itself(self) -> None:
        """With their values and parents."""
        w, v = pt.shared(1.0, "w"), pt.shared(2.0, "v")
        own = Context(DEFAULT)
        own.set(w, 10.0)
        f = pt.function([], w + v, context=own)
        assert again(f)() == 12.0
        assert again(DEFAULT) is DEFAULT

    def test_equal_functions_have_equal_pickles(self) -> None:
        """Twice in one process."""
        x = pt.vector("x")
        f = pt.function([x], pt.exp(x).sum())
        assert pickle.dumps(f) == pickle.dumps(f)

    def test_another_process_can_use_them(self) -> None:
        """Which has not loaded the library before."""
        x = pt.vector("x")
        data = pickle.dumps((pt.function([x], (pt.exp(x) * pt.shared(2.0, "w")).sum()), (x + 1.0)))
        code = (
            "import pickle, sys; f, e = pickle.load(sys.stdin.buffer); import numpy as np; "
            "print(float(f([0.0, 0.0])), float(e.eval({'x': [1.0]})[0]), float(np.exp(e).sum().eval({'x': [-1.0]})))"
        )
        done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=False)
        assert done.stdout.split() == [b"4.0", b"2.0", b"1.0"], done.stderr.decode()
        alone = (
            code.split("print")[0].replace("f, e", "e")
            + "print(e.eval({'x': [1.0]}), (e - 1).sum().eval({'x': [3.0]}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", alone], input=pickle.dumps(x + 1.0), capture_output=True, check=False
        )
        assert done.stdout.split() == [b"[2.]", b"3.0"], done.stderr.decode()


def test_copies_of_expressions_are_the_expressions() -> None:
    """They never change, so `copy` and `deepcopy` have nothing to do; nor have they for ops and lengths."""
    x = pt.vector("x")
    y = pt.exp(x)
    assert copy.copy(y) is y
    (first, second), length, op = copy.deepcopy(((x, y), x.static_shape[0], y.op))
    assert (first, second) == (x, y)
    assert length is x.static_shape[0]
    assert op is y.op


def test_leaves_are_new_ones_of_their_kind() -> None:
    """Inputs stay inputs, shared variables shared variables."""
    for node in (pt.matrix("m"), pt.shared(1.0, "s")):
        read = again(node)
        assert isinstance(read.op, Input | Shared)
        assert type(read.op) is type(node.op)
        assert (read.dtype, read.ndim) == (node.dtype, node.ndim)
