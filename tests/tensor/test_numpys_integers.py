"""An integer of NumPy means the integer that it is, as axis, order, shift, length or number of times."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
import consilience.xtensor as px
from consilience.errors import GraphError
from consilience.ir import Node
from tests.rows import over_rows
from tests.tensor.table import FUNCTIONS, OURS, Row
from tests.tensor.test_table import as_list, generator, inputs_like, lengths


class _Rewritten(ast.NodeTransformer):
    """Integers in calls as NumPy's, and `pt.f(x, …)` as the method `x.f(…)`, as far as asked."""

    def __init__(self, *, numpys: bool, methods: bool) -> None:
        self.numpys, self.methods = numpys, methods

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("pt"), name), [ast.Name() as x, *rest]) if self.methods:
                return ast.Call(ast.Attribute(x, name, ast.Load()), rest, node.keywords)
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        if type(node.value) is not int or not self.numpys:
            return node
        return ast.parse(f"np.int64({node.value})", mode="eval").body


def rewritten(text: str, *, numpys: bool, methods: bool = False) -> str:
    """The text of a row, with NumPy's integers or as a method."""
    return ast.unparse(_Rewritten(numpys=numpys, methods=methods).visit(ast.parse(text, mode="eval")))


def built(text: str, nodes: list[Node]) -> list[Any]:
    """The expressions that a text means."""
    return as_list(eval(f"lambda {', '.join('xyzw'[: len(nodes)])}: {text}", OURS)(*nodes))


def given(row: Row) -> list[Node]:
    """Inputs for a row."""
    rng = generator(row)
    return inputs_like(row.arrays(row.dtypes[0], lengths(rng), rng), symbolic=False)


ROWS = [row for rows in FUNCTIONS.values() for row in rows if "int64" in rewritten(row.text, numpys=True)]


@over_rows("row", ROWS, lambda row: row.text)
def test_functions_take_numpys_integers(row: Row) -> None:
    """The expression is the one of Python's integers."""
    nodes = given(row)
    wanted = built(row.text, nodes)
    found = built(rewritten(row.text, numpys=True), nodes)
    interned = all(a is b for a, b in zip(wanted, built(row.text, nodes), strict=True))
    if interned:
        assert all(a is b for a, b in zip(found, wanted, strict=True)), (found, wanted)
    else:  # ops that hold functions of Python's are made anew in every call
        assert [f.type for f in found] == [w.type for w in wanted]


def _methods() -> Iterator[tuple[Row, str]]:
    for row in ROWS:
        text = rewritten(row.text, numpys=False, methods=True)
        if text != rewritten(row.text, numpys=False):
            try:
                built(text, given(row))
            except (AttributeError, TypeError):
                continue  # no method, or one of other parameters
            yield row, text


METHODS = list(_methods())


def test_methods_take_numpys_integers() -> None:
    """The same of methods, of which there are many."""
    for row, text in METHODS:
        nodes = given(row)
        found, wanted = built(rewritten(text, numpys=True), nodes), built(text, nodes)
        assert all(a is b for a, b in zip(found, wanted, strict=True)), text
    assert len(METHODS) > 30


def _step(*values: Node) -> Node:
    return values[0] + values[-1]


def _loop(n: Any, **settings: Any) -> Node:
    found: Node = pt.scan(_step, n_steps=n, return_updates=False, **settings)
    return found


@pytest.mark.parametrize(
    ("numpys", "pythons"),
    [
        (lambda x: pt.roll(x, np.array([1, 2]), np.array([0, 1])), lambda x: pt.roll(x, (1, 2), (0, 1))),
        (lambda x: x.sum(np.array([0, 2])), lambda x: x.sum((0, 2))),
        (lambda x: x.sum(pt.constant(1)), lambda x: x.sum(1)),
        (lambda x: x.dimshuffle(np.array([2, 0, 1])), lambda x: x.dimshuffle(2, 0, 1)),
        (lambda x: x.transpose(np.array([2, 0, 1])), lambda x: x.transpose(2, 0, 1)),
        (lambda x: x.transpose(np.int64(2), np.int64(0), np.int64(1)), lambda x: x.transpose(2, 0, 1)),
        (lambda x: pt.vmap(pt.sum, np.int64(1), np.int64(0))(x), lambda x: pt.vmap(pt.sum, 1, 0)(x)),
        (lambda x: pt.switch_case(np.int64(1), x, x + 1), lambda x: pt.switch_case(1, x, x + 1)),
        (
            lambda x: px.as_xtensor(x, ("a", "b", "c")).expand_dims("d", axis=np.int64(1)).values,
            lambda x: pt.expand_dims(x, 1),
        ),
        (lambda x: _loop(np.int64(3), outputs_info=x), lambda x: _loop(3, outputs_info=x)),
        (lambda x: _loop(None, sequences=x), lambda x: _loop(None, sequences=[x])),
        (
            lambda x: _loop(np.int64(3), outputs_info={"initial": x, "taps": range(-2, 0)}),
            lambda x: _loop(3, outputs_info={"initial": x, "taps": [-2, -1]}),
        ),
        (
            lambda x: _loop(None, sequences={"input": x, "taps": np.arange(-1, 1)}, truncate_gradient=np.int64(2)),
            lambda x: _loop(None, sequences={"input": x, "taps": [-1, 0]}, truncate_gradient=2),
        ),
        (
            lambda x: _loop(np.int64(5), outputs_info=x, checkpoint=np.int64(2)),
            lambda x: _loop(5, outputs_info=x, checkpoint=2),
        ),
    ],
)
def test_what_the_table_of_functions_does_not_show(numpys: Any, pythons: Any) -> None:
    """Sequences of integers as arrays; axes of `vmap` and of named tensors; steps and taps of loops."""
    x = pt.tensor3("x", shape=(3, 4, 5))
    assert numpys(x) is pythons(x)


@pytest.mark.parametrize("taps", [1.5, [0.5], "ab", [-1, None]])
def test_taps_that_are_no_integers_are_refused_by_name(taps: Any) -> None:
    """The message names the loop and what came."""
    with pytest.raises(GraphError, match="taps of scanned are integers"):
        pt.scan(_step, outputs_info={"initial": pt.zeros(2), "taps": taps}, n_steps=3, name="scanned")


@pytest.mark.parametrize("axis", [1.0, np.float64(1), "a", [0.5]])
def test_an_axis_is_an_integer(axis: Any) -> None:
    """Floats are no axes, whole or not."""
    with pytest.raises(TypeError):
        pt.vector("x").sum(axis)
