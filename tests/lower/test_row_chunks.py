"""Long loops in chunks: equal to the reference, with the same bits for any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends import llvm
from consilience.errors import OutOfBoundsError
from consilience.ir import Node, constant
from consilience.lower import entry, row_chunks
from consilience.native import shared_work as native
from consilience.native.shared_work import IdleThreads
from tests.backends.agreement import Array, inputs_like, run_reference, same

GROUPS = 5


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of any length in chunks of some hundred instructions."""
    monkeypatch.setattr(entry, "MANY_ELEMENTS", 0)
    monkeypatch.setattr(row_chunks, "LONG", 0)
    monkeypatch.setattr(row_chunks, "CHUNK", 256)


@contextmanager
def helping(count: int) -> Iterator[list[int]]:
    """So many threads that help, and what each did, known afterwards."""
    helpers, did = IdleThreads(), list[int]()
    calls = helpers.calls
    threads = [threading.Thread(target=lambda: did.append(helpers.help(calls))) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield did
    finally:
        helpers.call_back()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)


Graph = Callable[[Node, Node, Node, Node], Sequence[Node]]


def regression(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    eta = m @ b[:3] + x
    value = (eta * (g > 0) - pt.softplus(eta)).sum()
    return [value, pt.grad(value, b), pt.grad(value, x)]


def effects_of_groups(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    value = -pt.sqr(x - b[g]).sum()
    return [value, pt.grad(value, b)]


def effects_of_sorted_groups(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    known = constant(np.sort(np.arange(int(x.static_shape[0])) * 7 % GROUPS))  # type: ignore[arg-type]  # a number
    value = -pt.sqr(x - pt.exp(b[known])).sum()
    return [value, pt.grad(value, b)]


def slopes_of_groups(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    rates = pt.outer(b, pt.arange(1.0, 4.0))
    value = pt.tanh((m * rates[g]).sum(1) * x).sum()
    return [value, pt.grad(value, b)]


def sums_along_axes(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    e = pt.exp(m * 0.1)
    return [e.sum(0), e.sum(1), e.sum(), e.prod(1), (e * pt.arange(3.0)).sum(0) + 1.0]


def extremes_of_columns(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    return [pt.exp(m).max(0), m.sum()]


def other_reductions(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    return [x.max(), x.min(), (1 + x * 1e-3).prod(), (x > 9).any(), (x < 9).all(), g.sum(), (x > 0).sum(), g.max()]


def mixture(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    value = pt.logsumexp(-pt.sqr(x[:, None] - b[:3]) + m, axis=1).sum()
    return [value, pt.grad(value, b)]


def elements(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    return [pt.sin(x) + b[g], pt.arange(x.shape[0]) * 2 + g, m.T * x, pt.where(x > 0, x, 0.0)]


def single_precision(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    y, c = x.astype("float32"), b.astype("float32")
    value = pt.tanh(y * c[g]).sum()
    return [value, pt.tanh(y).max()]


def written_in_order(x: Node, m: Node, g: Node, b: Node) -> list[Node]:
    return [pt.set_subtensor(b[g], x), pt.inc_subtensor(b[g % 2], x), pt.cumsum(x)]


GRAPHS: list[Graph] = [
    regression,
    effects_of_groups,
    effects_of_sorted_groups,
    slopes_of_groups,
    sums_along_axes,
    other_reductions,
    mixture,
    elements,
    single_precision,
]
WHOLE: list[Graph] = [written_in_order, extremes_of_columns]  # fmt: skip


def operands(rows: int) -> list[Array]:
    random = np.random.default_rng(rows)
    return [random.normal(size=rows), random.normal(size=(rows, 3)), random.integers(0, GROUPS, rows),
            random.normal(size=GROUPS)]  # fmt: skip


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("graph", [*GRAPHS, *WHOLE], ids=lambda graph: graph.__name__)
def test_chunks_agree_with_the_reference_and_threads_change_no_bit(graph: Graph) -> None:
    """Rows that fill chunks, and some left over; no helper, one, two and seven."""
    for rows in (640, 1501):
        arrays = operands(rows)
        nodes = inputs_like(arrays)
        outputs = list(graph(*nodes))
        run = llvm.compile(nodes, outputs, {}).bind()
        alone = run(arrays)
        for found, wanted in zip(alone, run_reference(nodes, outputs, arrays), strict=True):
            same(found, wanted, rtol=1e-11, scale=10.0)
        for count in (1, 2, 7):
            with helping(count):
                for _ in range(3):
                    for found, wanted in zip(run(arrays), alone, strict=True):
                        np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("short")
def test_idle_threads_do_a_part() -> None:
    """As soon as the system lets one run."""
    arrays = operands(1501)
    nodes = inputs_like(arrays)
    run = llvm.compile(nodes, regression(*nodes), {}).bind()
    for _ in range(1000):
        with helping(1) as did:
            for _ in range(50):
                run(arrays)
        if sum(did):
            break
    assert sum(did)


def chunks(graph: Graph, rows: int = 1501) -> int:
    nodes = inputs_like(operands(rows))
    return int(llvm.compile(nodes, list(graph(*nodes)), {}).chunks)  # type: ignore[attr-defined]  # of machine code


@pytest.mark.usefixtures("short")
def test_loops_are_cut_unless_rows_write_where_others_do() -> None:
    assert {graph.__name__ for graph in (*GRAPHS, *WHOLE) if chunks(graph) < 2} == {g.__name__ for g in WHOLE}


def test_short_loops_are_whole() -> None:
    """The same code as ever where a thread more would not pay."""
    assert all(chunks(graph) == 0 for graph in GRAPHS)


@pytest.mark.usefixtures("short")
def test_sums_by_group_take_a_part_of_the_memory_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more groups there are fewer chunks, and at last none."""
    monkeypatch.setattr(row_chunks, "LONG", 30_000)  # and the copies of what is added to stay whole
    rows = 4096
    for groups, most in ((8, 64), (64, 8), (512, 0), (4096, 0)):
        arrays = [np.ones(rows), np.random.default_rng(1).integers(0, groups, rows), np.zeros(groups)]
        x, g, b = inputs_like(arrays)
        code = llvm.compile([x, g, b], [pt.inc_subtensor(b[g], pt.exp(x))], {})
        assert bool(most) <= code.chunks <= most  # type: ignore[attr-defined]  # of machine code
        same(code.bind()(arrays)[0], np.bincount(arrays[1], minlength=groups) * np.e)


@pytest.mark.usefixtures("short")
def test_an_index_outside_is_an_error_whoever_meets_it() -> None:
    arrays = operands(1501)
    arrays[2][777] = GROUPS
    nodes = inputs_like(arrays)
    run = llvm.compile(nodes, effects_of_groups(*nodes), {}).bind()
    with helping(2), pytest.raises(OutOfBoundsError):
        run(arrays)


@pytest.mark.usefixtures("short")
def test_many_threads_share_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """More works than slots, more helpers than places, threads that are called back meanwhile: all values are right."""
    monkeypatch.setattr(native, "PLACES", 2)
    arrays = operands(1501)
    nodes = inputs_like(arrays)
    run = llvm.compile(nodes, regression(*nodes), {}).bind()
    alone = run(arrays)
    wrong = list[int]()

    def work() -> None:
        for i in range(20):
            found = run(arrays)
            wrong.extend(i for a, b in zip(found, alone, strict=True) if not np.array_equal(a, b))

    workers = [threading.Thread(target=work) for _ in range(native.SLOTS + 4)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        with helping(3):
            workers[0].join(0.005)
    assert not wrong
