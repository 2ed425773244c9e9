"""Loops of what loops make: keys, lengths from data inside of bodies, sums over no steps; windows; bad input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm  # noqa: F401  # random variables have keys that a step makes anew
import consilience.tensor as pt
from consilience.backends import llvm
from consilience.errors import DtypeError, GraphError, MissingRuleError, OutOfBoundsError, ShapeError
from consilience.ir import Node
from consilience.ir.leaves import Parameter
from consilience.ir.lengths import sources_of
from consilience.lower import specialise
from consilience.lower.steps import Program
from consilience.ops.random import draw, fold_in

BACKENDS = ("FAST_RUN", "reference")


def scan(*arguments: Any, **keywords: Any) -> list[Node]:
    found: list[Node] = pt.scan(*arguments, **{"return_updates": False, "return_list": True, **keywords})
    return found


def draws_of(key: Node, steps: int) -> list[Node]:
    """Draws with a key that every step changes."""
    found = []
    for _ in range(steps):
        found.append(draw("random_normal", key, ()))
        key = fold_in(key, 5)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("checkpoint", [None, 2, 3])
def test_keys_are_carried(checkpoint: int | None, backend: str) -> None:
    """Their trace too, in blocks of steps."""
    values, keys = scan(
        lambda value, key: [draw("random_normal", key, ()), fold_in(key, 5)],
        outputs_info=[0.0, pt.key(3)],
        n_steps=5,
        checkpoint=checkpoint,
    )
    assert keys.dtype == "key"
    wanted = pt.stack(draws_of(pt.key(3), 5))
    found, again, other = pt.function([], [values, wanted, draw("random_normal", keys[3], ())], mode=backend)()
    np.testing.assert_array_equal(found, again)
    assert other == found[4]


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_are_carried_in_loops_in_loops(backend: str) -> None:
    """Beside small tensors, which machine code takes apart."""
    x = pt.vector("x", shape=(2,))

    def step(p: Node) -> list[Node]:
        return [
            scan(
                lambda q, key: [q * 0.5 + draw("random_normal", key, ()), fold_in(key, 5)],
                outputs_info=[p, pt.key(9)],
                n_steps=3,
            )[0].sum(0)
        ]

    (found,) = pt.function([x], scan(step, outputs_info=[x], n_steps=2), mode=backend)(np.array([0.3, -0.7]))
    noise = pt.function([], draws_of(pt.key(9), 3))()
    p = np.array([0.3, -0.7])
    for row in found:
        total, q = np.zeros(2), p
        for z in noise:
            q = q * 0.5 + z
            total = total + q
        p = total
        np.testing.assert_allclose(row, p, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_of_steps_inside_may_be_read_inside_too(backend: str) -> None:
    """Lengths in a body are those of the function, whatever the body reads."""
    k, a = pt.lscalar("k"), pt.scalar("a")

    def step(p: Node) -> list[Node]:
        return [scan(lambda q: [q * a + k], outputs_info=[p], n_steps=pt.mod(k, 4))[0].sum(0)]

    outputs = scan(step, outputs_info=[a], n_steps=2)
    assert not any(isinstance(source.op, Parameter) for source in sources_of(outputs))
    f = pt.function([k, a], outputs[0], mode=backend)
    for count in (6, 4, 3):
        p, rows = 0.5, []
        for _ in range(2):
            total, q = 0.0, p
            for _ in range(count % 4):
                q = q * 0.5 + count
                total += q
            rows.append(total)
            p = total
        np.testing.assert_allclose(f(count, 0.5), rows, rtol=1e-12)


def test_last_values_need_no_trace_at_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a length is known when called, too, and in loops in loops."""
    texts: list[str] = []
    lower = llvm.lower

    def read(*arguments: Any) -> Program:
        program = lower(*arguments)
        texts.append(str(program))
        return program

    monkeypatch.setattr(llvm, "lower", read)
    M, a = pt.matrix("M"), pt.scalar("a")

    def step(row: Node, p: Node) -> Node:
        return scan(lambda v, q: q * a + v, sequences=row, outputs_info=p)[0][-1]

    f = pt.function([M, a], scan(step, sequences=M, outputs_info=0.0)[0][-1])
    assert f(np.array([[1.0, 2.0], [3.0, 4.0]]), 0.5) == 6.125
    (text,) = texts
    assert text.count("repeat") == 2
    assert "writes" not in text
    with pytest.raises(OutOfBoundsError):
        f(np.zeros((2, 0)), 0.5)


def test_lengths_are_put_into_a_body_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its results, which would be a power of the depth of loops in loops."""
    visits = []
    whole = specialise._specialised

    def counted(*given: Any) -> Any:
        visits.append(given)
        return whole(*given)

    monkeypatch.setattr(specialise, "_specialised", counted)
    x = pt.vector("x")

    def inside(depth: int, values: Sequence[Node]) -> list[Node]:
        if not depth:
            return [value * 0.5 for value in values]
        return [trace[-1] for trace in scan(lambda *v: inside(depth - 1, v), outputs_info=list(values), n_steps=1)]

    f = pt.function([x], inside(4, [x, x + 1, x + 2, x + 3]))
    np.testing.assert_allclose(f(np.ones(3)), np.outer([0.5, 1.0, 1.5, 2.0], np.ones(3)))
    assert len(visits) <= 10


def test_sums_over_no_steps_keep_their_shape() -> None:
    """A sum over no elements is one zero of rank 2, which can be cumulated."""
    x = pt.tensor("x", shape=(None, 1, 1))
    f = pt.function([x], pt.cumsum(pt.exp(x).sum(0), 0))
    assert f(np.zeros((0, 1, 1))).tolist() == [[0.0]]
    assert f(np.zeros((2, 1, 1))).tolist() == [[2.0]]


class TestTruncatedGradients:
    """Derivatives pass through the last steps: through all where there are fewer."""

    def test_of_lengths_known_when_called(self) -> None:
        x, a, s = pt.vector("x"), pt.scalar("a"), pt.scalar("s")
        last = scan(lambda v, p: p * a + v, sequences=x, outputs_info=s, truncate_gradient=3)[0][-1]
        f = pt.function([x, a, s], pt.grad(last, [x, s]))
        for backwards in ([0.25, 0.5, 1.0], [0.5, 1.0], [0, 0, 0.25, 0.5, 1.0]):
            by_x, by_s = f(np.ones(len(backwards)), 0.5, 1.0)
            np.testing.assert_allclose(by_x, backwards)
            assert by_s == {3: 0.125, 2: 0.25}.get(len(backwards), 0.0)

    def test_need_a_known_number_of_steps(self) -> None:
        a = pt.scalar("a")
        last = scan(lambda p: (p * a, pt.until(p > 3)), outputs_info=1.0, n_steps=9, truncate_gradient=3)[0][-1]
        with pytest.raises(MissingRuleError, match="leave out `truncate_gradient`, or `until`"):
            pt.grad(last, a)
        with pytest.raises(ValueError, match="number of steps >= 1, or -1, got 0"):
            scan(lambda p: p * a, outputs_info=1.0, n_steps=9, truncate_gradient=0)


class TestBadInput:
    """Says what was needed and what came."""

    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            (
                {"sequences": {"input": np.zeros(2), "taps": [-3, 0]}},
                ShapeError,
                r"taps \[-3, 0\].* least 3 elements",
            ),
            ({"sequences": np.float64(1)}, ShapeError, "sequence 0 of .* has no axis to go along"),
            ({"sequences": {"tensor": np.zeros(2)}}, GraphError, "a dict of `input` and `taps`"),
            ({"sequences": np.zeros(3), "n_steps": 2.5}, DtypeError, "`n_steps` of .* is an integer, got 2.5"),
            (
                {"sequences": np.zeros(3), "checkpoint": 0},
                ValueError,
                "'sqrt' or a number of steps >= 1, got 0",
            ),
            ({"sequences": np.zeros(3), "truncate_gradient": -5}, ValueError, "number of steps >= 1, or -1, got -5"),
        ],
    )
    def test_of_loops_over_sequences(self, arguments: dict[str, Any], error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text):
            pt.scan(lambda *elements: sum(elements), **arguments)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_known_when_called(self, backend: str) -> None:
        x, k = pt.vector("x"), pt.lscalar("k")
        over = pt.function([x, k], scan(lambda v: v + 1, sequences=x, n_steps=k), mode=backend)
        with pytest.raises(ShapeError, match="`k` is 5"):
            over(np.zeros(2), 5)
        with pytest.raises(ShapeError, match=">= 0, got -3 from `k`"):
            over(np.zeros(2), -3)
        grows = pt.function([x], scan(lambda p: pt.concatenate([p, p]), outputs_info=x, n_steps=2), mode=backend)
        with pytest.raises(ShapeError, match="carried values keep their shape"):
            grows(np.ones(2))
        far = scan(lambda p, q: p + q, outputs_info={"initial": x, "taps": [-3, -1]}, n_steps=2)
        with pytest.raises(OutOfBoundsError, match="indexed is `x`"):
            pt.function([x], far, mode=backend)(np.zeros(2))
        last = pt.reduce(lambda v, p: v + p, x, 0.0, return_updates=False)
        with pytest.raises(OutOfBoundsError, match="axis 0 with size 0"):
            pt.function([x], last, mode=backend)(np.zeros(0))

    def test_conditions(self) -> None:
        with pytest.raises(ShapeError, match="condition of `until` must be a scalar"):
            scan(lambda p: (p, pt.until(p > 0)), outputs_info=np.ones(2), n_steps=3)
        count, _ = pt.while_loop(lambda i, p: p < 0.0, lambda i, p: (i + 1, p * 0.5), (0, -2.0), max_steps=40)
        assert count.eval() == 40

    def test_integers_have_no_slopes(self) -> None:
        k, a = pt.lscalar("k"), pt.scalar("a")
        with pytest.raises(DtypeError, match="cast it to float64"):
            pt.grad(scan(lambda p: p * 2, outputs_info=k, n_steps=3)[0][-1], k)
        count, last = scan(lambda i, p: [i + 1, p * i], outputs_info=[pt.as_tensor(1), a], n_steps=3)
        assert pt.function([a], pt.grad(last[-1] * count[-1], a))(2.0) == 24.0
