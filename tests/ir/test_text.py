"""Programs in writing: what is printed is read back, bit by bit, and named by a stable digest."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience.tensor as pt
from consilience.errors import GraphError, ParseError
from consilience.ir import (
    FLOATS,
    NUMBERS,
    Node,
    Op,
    constant,
    digest,
    parse,
    shared_slot,
    symbol,
    tensor_input,
    text,
    topological,
    verify,
)
from consilience.ir import dimension as dims
from consilience.ops import TABLE, Elementwise
from tests.backends.agreement import inputs_like
from tests.backends.test_conformance import CASES, Case, operands
from tests.backends.test_random_graphs import random_graph


def check(outputs: list[Node], inputs: list[Node] | None = None) -> str:
    """Writing and reading give the same text and digest; returns the text."""
    given = inputs or []
    written = text(outputs, given)
    read_inputs, read = parse(written)
    assert text(read, read_inputs) == written
    assert digest(read, read_inputs) == digest(outputs, given)
    assert [o.dtype for o in read] == [o.dtype for o in outputs]
    verify(read)
    return written


@pytest.mark.parametrize("symbolic", [False, True])
def test_every_op_is_written_and_read(symbolic: bool) -> None:
    """All graphs of the conformance table, with static and symbolic lengths."""

    def graph(row: Case) -> list[Node]:
        nodes = inputs_like(operands(row, row.dtypes[0], 1), symbolic=symbolic and row.symbolic)
        results = row.build(*nodes)
        return [results] if isinstance(results, Node) else list(results)

    chosen = {row.op: row for row in CASES} | {(row.op, i % 7): row for i, row in enumerate(CASES)}
    for row in chosen.values():
        check(graph(row))


def test_every_scalar_function_is_written_and_read() -> None:
    """Rows of the table differ by their name."""
    digests = set()
    for name, row in TABLE.items():
        kind = {"float": "float64", "int": "int64", "complex": "complex128"}.get(row.accepts[0], row.accepts[0])
        nodes = [tensor_input(kind, (3,)) for _ in range(row.arity or 2)]
        if row.result == "choice":
            nodes[0] = tensor_input("bool", (3,))
        output = Node(Elementwise(name), *nodes)
        check([output])
        digests.add(digest([output]))
    assert len(digests) == len(TABLE)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.integers(3, 40))
def test_random_graphs_are_written_and_read(seed: int, steps: int) -> None:
    """With branches, index arrays, joins, shared parts."""
    _, inputs, outputs = random_graph(seed, steps)
    check(outputs, inputs)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (5, 7)])
def test_constants_keep_their_bits(dtype: str, shape: tuple[int, ...]) -> None:
    """Any bits at all, among them signed zeros, infinities, subnormal numbers and NaN with payloads."""
    generator = np.random.default_rng(1)
    raw = generator.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype="uint8")
    array = (raw % 2).astype(bool).reshape(shape) if dtype == "bool" else raw.view(dtype).reshape(shape)
    special = np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, np.nan]).astype(dtype if dtype in FLOATS else "float64")
    payload = np.array([0x7FF8000000000001, 0x7FF0000000000001, 0xFFF8000000000000], "uint64").view("float64")
    for value in (array, special, payload):
        (node,) = parse(text([constant(value)]))[1]
        assert node is constant(value)


def test_names_are_written_but_do_not_count() -> None:
    """The text shows them, the digest does not depend on them."""
    one = pt.exp(pt.vector("x") * 2).sum()
    other = pt.exp(pt.vector("long name, with 'quotes'\n") * 2).sum()
    assert digest([one]) == digest([other])
    assert "'x'" in check([one])
    check([other])


def test_digest_tells_programs_apart() -> None:
    """Op parameters, constants' bits, dtypes, which lengths are equal, the order of outputs and inputs."""
    x, y = pt.vector("x"), pt.vector("y")
    same = tensor_input("float64", [x.static_shape[0]])
    graphs: list[tuple[list[Node], list[Node]]] = [
        ([x + y], []), ([x + same], []), ([x - y], []), ([x.sum()], []), ([x.max()], []), ([x * 0.0], []),
        ([x * -0.0], []),
        ([pt.vector("x", dtype="float32")], []), ([x, y], []), ([x + y, x], []), ([x, x + y], []),
        ([x - y], [y, x]), ([x], [x, y]),
        ([x[1:]], []), ([x[2:]], []), ([shared_slot("float64", [None])], []), ([pt.key(1)], []), ([pt.key(2)], []),
    ]  # fmt: skip
    assert len({digest(outputs, inputs) for outputs, inputs in graphs}) == len(graphs)


SCRIPT = """
import numpy as np
import consilience.tensor as pt
from consilience.ir import digest
{before}
n, x, y = pt.scalar("n"), pt.vector("x"), pt.matrix("y")
z = pt.cond(n > 0, pt.exp(y[1:] * x[::-1].sum()).sum(), pt.concatenate([x, y.ravel()]).max())
print(digest([z, y.reshape((-1,))[: 3], pt.constant(np.linspace(0, 1, 100)) + n]))
"""


def test_digest_is_the_same_in_every_process() -> None:
    """Hash seeds, earlier graphs and the order of construction leave it alone."""
    found = set()
    for before, seed in (("", "1"), ("pt.vector('q') * 2; pt.tensor3('w').sum()", "2")):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(before=before)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(run.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == 64


def test_lengths_are_written_in_one_way() -> None:
    """Polynomials, quotients and extrema of lengths, whatever the order in which symbols were made."""

    def graph(first: bool) -> list[Node]:
        if first:
            n, m = symbol("n"), symbol("m")
        else:
            m, n = symbol("m"), symbol("n")
        x, y = tensor_input("float64", [n]), tensor_input("float64", [m])
        length = dims.maximum(dims.floordiv(n * m + 3 * n - 1, m + 1), dims.minimum(n, m)) * 2 - n
        return [x, y, pt.zeros((length, n + m)), pt.arange(pt.as_tensor(x.shape[0])) + 1]

    assert text(graph(True)) == text(graph(False))
    check(graph(True))


HEAD = "program\n  %0 = input : float64[3]\n"


@pytest.mark.parametrize(
    ("written", "line", "why"),
    [
        ("", 0, "ends without `return`"),
        ("hello", 1, "starts with the line `program`"),
        (HEAD, 2, "ends without `return`"),
        (HEAD + "  %1 = Nonsense() %0 : float64\n", 3, "no op or parameter `Nonsense`"),
        (HEAD + "  %1 = Reduce(kind='sum', axes=(0,)) %7 : float64\n", 3, "%7 is not defined"),
        (HEAD + "  %1 = Reduce(kind='sum', axes=(0,)) %0 : float64[2]\n", 3, "written is float64[2]"),
        (HEAD + "  %1 = Reduce(kind='sum', bones=(0,)) %0 : float64\n", 3, "bones"),
        (HEAD + "  %2 = Reduce(kind='sum', axes=(0,)) %0 : float64\n", 3, "next node is %1"),
        (HEAD + "  what is this\n", 3, "a node has the form"),
        (HEAD + "  %1 = __import__('os').system('true') %0 : float64\n", 3, "has no meaning here"),
        (HEAD + "  %1 = Iota(length=n5) : int64[n5]\n", 3, "`n5` is not defined"),
        (HEAD + "  %1 = constant (1.0, 2.0) : float64[3]\n", 3, "reshape"),
        (HEAD + "  %1 = constant (1.0, oops) : float64[2]\n", 3, "is no number"),
        (HEAD + "  %1 = constant '###' : float64[2]\n", 3, "base64"),
        (HEAD + "  %1 = Elementwise(function='add') %0 %0 : float64[3\n", 3, "'[' was never closed"),
        (HEAD + "  %1 = 3 %0 : float64[3]\n", 3, "is no op"),
        (HEAD + "  %1 = input : float8\n", 3, "`float8` is not defined"),
        (HEAD + "  inputs %0\n  return %4\n", 4, "%4 is not defined"),
        ("program\n  length q0\n", 2, "a length has the form"),
    ],
)
def test_what_cannot_be_read_names_the_line(written: str, line: int, why: str) -> None:
    """The number of the line, the line itself, and what is wrong; never another kind of error."""
    with pytest.raises(ParseError) as caught:
        parse(written)
    message = str(caught.value)
    assert message.startswith(f"line {line}: ") or not line
    assert why in message
    if line > 1:
        assert written.splitlines()[line - 1].strip() in message


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_text_is_a_parse_error_or_a_program(data: st.DataObject) -> None:
    """Characters changed at random never raise anything but ParseError."""
    _, inputs, outputs = random_graph(data.draw(st.integers(0, 50)), 12)
    written = text(outputs, inputs)
    place = data.draw(st.integers(0, len(written) - 1))
    other = data.draw(st.sampled_from([*"()[]%0123456789 ,=:'-+*n\n"]))
    damaged = written[:place] + other + written[place + 1 :]
    with contextlib.suppress(ParseError):
        leaves, read = parse(damaged)
        assert read
        again, same = parse(text(read, leaves))
        assert text(same, again) == text(read, leaves)  # what is read is a program


def test_what_is_not_plain_data_cannot_be_written() -> None:
    """The error names the op."""

    class Strange(Op):
        secret: object

        def result_type(self, *inputs: Node) -> pt.TensorType:
            return pt.TensorType("float64")

    try:
        with pytest.raises(GraphError, match="not plain data"):
            text([Node(Strange(object()))])
    finally:
        del Op.classes["Strange"]


def test_text_of_shared_regions_is_small() -> None:
    """A branch used in both branches of the next one, thirty times: each region is written once."""
    x = pt.scalar("x")
    y = x
    for i in range(30):
        y = pt.cond(x > i, y + 1.0, y * 2.0)
    written = text([y])
    assert len(written.splitlines()) < 2000


def build_by(kind: str) -> Callable[[], Node]:
    """A deep or a wide graph of 20,000 nodes."""

    def deep() -> Node:
        x = tensor_input("float64", ())
        y = x
        for i in range(10_000):
            y = Node(Elementwise("add" if i % 2 else "mul"), Node(Elementwise("neg"), y), x)
        return y

    def wide() -> Node:
        x = tensor_input("float64", ())
        return Node(Elementwise("add"), *[Node(Elementwise("add"), x, constant(float(i))) for i in range(10_000)])

    return deep if kind == "deep" else wide


@pytest.mark.parametrize("kind", ["deep", "wide"])
def test_graphs_of_twenty_thousand_nodes(kind: str) -> None:
    """Building, walking, writing, reading, verifying: no recursion limit anywhere."""
    output = build_by(kind)()
    assert len(topological([output])) > 20_000
    written = text([output])
    assert len(written.splitlines()) > 20_000
    if kind == "deep":
        verify([output])
        assert digest(parse(written)[1]) == digest([output])
