"""Graphs with every op: shared by the tests of this folder."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.ir import Node, topological
from consilience.ir.region import regions_of
from tests.backends.agreement import inputs_like
from tests.tensor.table import FUNCTIONS, Row

LENGTHS = {"n": 4, "m": 3, "p": 2, "q": 5, "r": 6}


def branch() -> list[Node]:
    """A branch whose inner graphs share a value, used twice."""
    x, chosen = pt.vector("x"), pt.scalar("chosen", dtype="bool")
    shared = pt.exp(x)
    return [*pt.cond(chosen, [shared / (1 + shared), x.sum()], [x + 1, -x.mean()]), shared]  # type: ignore[misc]  # lists


def loop() -> list[Node]:
    """A loop in a loop, with its gradient."""
    x, rate = pt.vector("x"), pt.scalar("rate")

    def inner(value: Node, total: Node) -> Node:
        return pt.tanh(total + rate * value)

    def outer(value: Node, total: Node) -> Node:
        return pt.foldl(inner, [x], total, return_updates=False) + value

    out = pt.scan(outer, sequences=[x], outputs_info=[pt.constant(0.5)], return_updates=False)
    return [out.sum(), pt.grad(out.sum(), rate)]


def ops_of(outputs: list[Node]) -> set[object]:
    """Kinds of the ops of a graph, inner graphs included; of scalar functions that they are one."""
    found: set[object] = set()
    for node in topological(outputs):
        found.add(type(node.op))
        for region in regions_of(node.op).values():
            found |= ops_of(list(region.results))
    return found


def of_row(row: Row) -> tuple[list[Node], list[Any], list[Node]]:
    """Inputs, arrays and outputs of a row of the table of functions, in the first dtype that the function takes."""
    for dtype in row.dtypes:
        arrays = row.arrays(dtype, LENGTHS, np.random.default_rng(1))
        nodes = inputs_like(arrays)
        try:
            results = row.ours(*nodes)
        except DtypeError:
            continue
        return nodes, arrays, list(results) if isinstance(results, list | tuple) else [results]
    raise AssertionError(row.text)


@functools.cache
def covering() -> tuple[Row, ...]:
    """Rows that have every op of the table between them."""
    seen: set[object] = set()
    chosen = []
    for rows in FUNCTIONS.values():
        for row in rows:
            ops = ops_of(of_row(row)[2])
            if not ops <= seen:
                seen |= ops
                chosen.append(row)
    return tuple(chosen)


ALL = tuple(row for rows in FUNCTIONS.values() for row in rows)
