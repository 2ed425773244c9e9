"""Loops give what the same loop written in Python gives: values, derivatives, batches, on every backend."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError
from consilience.gradient import pushforward
from consilience.ir import Node, topological
from consilience.ops.loop import Scan
from consilience.rewrite.rules import simplify
from consilience.transforms.vectorize import vectorize

Array = npt.NDArray[Any]
BACKENDS = ("FAST_RUN", "reference")
RNG = np.random.default_rng(11)
X, M, S = RNG.normal(size=7), RNG.normal(size=(4, 4)), RNG.normal(size=3)


class Row(NamedTuple):
    """A loop over x (7), M (4, 4), s (3) and a, and the same in NumPy."""

    graph: Callable[[Node, Node, Node, Node], Any]
    plain: Callable[[Array, Array, Array, float], Any]


def scan(*arguments: Any, **keywords: Any) -> Any:
    return pt.scan(*arguments, **{"return_updates": False, **keywords})


def running(step: Callable[..., Any], start: Any, *sequences: Any) -> list[Any]:
    """Values of a recursion on the last one."""
    found, last = [], start
    for row in zip(*sequences, strict=True):
        last = step(*row, last)
        found.append(last)
    return found


def taps_of_outputs(x: Array, a: float) -> list[float]:
    values = list(x[:3])
    for _ in range(6):
        values.append(values[-3] * a + values[-1])
    return values[3:]


def set_in_turn(x: Array, a: float) -> Array:
    result = x.copy()
    for i in range(1, 7):
        result[i] = result[i - 1] * a + 1
    return result


def doubled_until(a: float) -> list[float]:
    values = [a]
    while len(values) < 50:
        values.append(values[-1] * 2)
        if values[-1] > 30:
            break
    return values[1:]


def counted(a: float) -> list[float]:
    i, s = 0, 1.0
    while s < 40:
        i, s = i + 1, s * 1.5 + i * a
    return [i, s]


def softly(g: Array, m: Array) -> Array:
    return np.log(np.exp(g[:, None] + m[:3, :3]).sum(0))


ROWS: dict[str, Row] = {
    "last value": Row(
        lambda x, M, s, a: scan(lambda v, p: a * p + v, sequences=x, outputs_info=1.0),
        lambda x, M, s, a: running(lambda v, p: a * p + v, 1.0, x),
    ),
    "nothing carried": Row(lambda x, M, s, a: scan(lambda v: v * v + a, sequences=[x]), lambda x, M, s, a: x * x + a),
    "map": Row(
        lambda x, M, s, a: pt.map(lambda v: pt.exp(v) * a, x, return_updates=False), lambda x, M, s, a: np.exp(x) * a
    ),
    "rows": Row(
        lambda x, M, s, a: scan(lambda row, p: p * a + row, sequences=M, outputs_info=pt.zeros(4)),
        lambda x, M, s, a: running(lambda row, p: p * a + row, np.zeros(4), M),
    ),
    "taps of sequences": Row(
        lambda x, M, s, a: scan(
            lambda now, before, behind, p: now + before * p - behind * a,
            sequences=[{"input": x, "taps": [0, -2, 1]}],
            outputs_info=[0.5],
        ),
        lambda x, M, s, a: running(lambda n, b, f, p: n + b * p - f * a, 0.5, x[2:-1], x[:-3], x[3:]),
    ),
    "taps of outputs": Row(
        lambda x, M, s, a: scan(
            lambda far, near: far * a + near, outputs_info=[{"initial": x[:3], "taps": [-3, -1]}], n_steps=6
        ),
        lambda x, M, s, a: taps_of_outputs(x, a),
    ),
    "backwards": Row(
        lambda x, M, s, a: scan(lambda v, p: p * a + v, sequences=x, outputs_info=0.0, go_backwards=True),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x[::-1]),
    ),
    "fewer steps than elements": Row(
        lambda x, M, s, a: scan(lambda v, p: p * a + v, sequences=x, outputs_info=0.0, n_steps=4),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x[:4]),
    ),
    "several outputs": Row(
        lambda x, M, s, a: scan(
            lambda v, p, q: [p + v, q * a + p, p * q], sequences=x, outputs_info=[0.0, pt.as_tensor(1.0), None]
        )[2],
        lambda x, M, s, a: several(x, a),
    ),
    "vectors": Row(
        lambda x, M, s, a: scan(lambda v, p: pt.sin(p) * v + a, sequences=x, outputs_info=s),
        lambda x, M, s, a: running(lambda v, p: np.sin(p) * v + a, s, x),
    ),
    "small matrices": Row(
        lambda x, M, s, a: scan(lambda p: p @ M * 0.3 + a, outputs_info=M, n_steps=3),
        lambda x, M, s, a: running(lambda _, p: p @ M * 0.3 + a, M, range(3)),
    ),
    "forward algorithm": Row(
        lambda x, M, s, a: scan(
            lambda e, g: pt.logsumexp(g[:, None] + M[:3, :3], axis=0) + e * a, sequences=x, outputs_info=s
        ),
        lambda x, M, s, a: running(lambda e, g: softly(g, M) + e * a, s, x),
    ),
    "elements by index": Row(
        lambda x, M, s, a: scan(lambda i, p: p * a + x[i], sequences=pt.arange(5), outputs_info=0.0),
        lambda x, M, s, a: running(lambda i, p: p * a + x[i], 0.0, range(5)),
    ),
    "elements that are set": Row(
        lambda x, M, s, a: scan(
            lambda i, p: pt.set_subtensor(p[i], p[i - 1] * a + 1), sequences=pt.arange(1, 7), outputs_info=x
        )[-1],
        lambda x, M, s, a: set_in_turn(x, a),
    ),
    "branches inside": Row(
        lambda x, M, s, a: scan(lambda v, p: pt.ifelse(v > 0, p + v, p * a), sequences=x, outputs_info=1.0),
        lambda x, M, s, a: running(lambda v, p: p + v if v > 0 else p * a, 1.0, x),
    ),
    "inside a branch": Row(
        lambda x, M, s, a: pt.ifelse(a > 0, scan(lambda v, p: p * a + v, sequences=x, outputs_info=0.0)[-1], x[0]),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x)[-1],
    ),
    "loops inside": Row(
        lambda x, M, s, a: scan(
            lambda row, p: scan(lambda v, q: q * a + v, sequences=row, outputs_info=p)[-1],
            sequences=M,
            outputs_info=0.0,
        ),
        lambda x, M, s, a: running(lambda row, p: running(lambda v, q: q * a + v, p, row)[-1], 0.0, M),
    ),
    "factorisations inside": Row(
        lambda x, M, s, a: scan(lambda p: pt.linalg.cholesky(p @ p.T + (2 + a) * pt.eye(4)), outputs_info=M, n_steps=3),
        lambda x, M, s, a: running(lambda _, p: np.linalg.cholesky(p @ p.T + (2 + a) * np.eye(4)), M, range(3)),
    ),
    "checkpoints": Row(
        lambda x, M, s, a: scan(lambda v, p: pt.tanh(p * a) + v, sequences=x, outputs_info=1.0, checkpoint=3),
        lambda x, M, s, a: running(lambda v, p: np.tanh(p * a) + v, 1.0, x),
    ),
    "square-root checkpoints": Row(
        lambda x, M, s, a: scan(lambda v, p: p * a + s * v, sequences=x, outputs_info=s, checkpoint="sqrt"),
        lambda x, M, s, a: running(lambda v, p: p * a + s * v, s, x),
    ),
    "until": Row(
        lambda x, M, s, a: scan(lambda p: (p * 2, pt.until(p * 2 > 30)), outputs_info=a, n_steps=50),
        lambda x, M, s, a: doubled_until(a),
    ),
    "while": Row(
        lambda x, M, s, a: pt.while_loop(lambda i, p: p < 40, lambda i, p: (i + 1, p * 1.5 + i * a), (0, 1.0))[1],
        lambda x, M, s, a: counted(a)[1],
    ),
    "reduce": Row(
        lambda x, M, s, a: pt.reduce(lambda v, p: p * a + v * v, x, 1.0, return_updates=False),
        lambda x, M, s, a: running(lambda v, p: p * a + v * v, 1.0, x)[-1],
    ),
    "foldr": Row(
        lambda x, M, s, a: pt.foldr(lambda v, p: p * a + v, x, 0.0, return_updates=False),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x[::-1])[-1],
    ),
    "decorator": Row(
        lambda x, M, s, a: pt.scan(sequences=x, outputs_info=0.0)(lambda v, p: p * a + v),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x),
    ),
    "parameters by position": Row(
        lambda x, M, s, a: scan(lambda v, p, w: p * w + v, sequences=x, outputs_info=0.0, non_sequences=a),
        lambda x, M, s, a: running(lambda v, p: p * a + v, 0.0, x),
    ),
    "the shortest sequence": Row(
        lambda x, M, s, a: scan(lambda v, w, p: p * a + v * w, sequences=[x, s], outputs_info=0.0),
        lambda x, M, s, a: running(lambda v, w, p: p * a + v * w, 0.0, x[:3], s),
    ),
    "unlike taps": Row(
        lambda x, M, s, a: scan(
            lambda v, w, u, p: p * a + v * w - u, sequences=[{"input": x, "taps": range(2)}, x], outputs_info=0.0
        ),
        lambda x, M, s, a: running(lambda v, w, u, p: p * a + v * w - u, 0.0, x[:-1], x[1:], x[:-1]),
    ),
    "the shortest sequence, backwards": Row(
        lambda x, M, s, a: scan(lambda v, w, p: p * a + v * w, sequences=[x, s], outputs_info=0.0, go_backwards=True),
        lambda x, M, s, a: running(lambda v, w, p: p * a + v * w, 0.0, x[:3:-1], s[::-1]),
    ),
    "no steps": Row(
        lambda x, M, s, a: scan(lambda p: p * a, outputs_info=1.0, n_steps=0), lambda x, M, s, a: np.zeros(0)
    ),
}


def several(x: Array, a: float) -> list[float]:
    p, q, found = 0.0, 1.0, []
    for v in x:
        found.append(p * q)
        p, q = p + v, q * a + p
    return found


AT = (X, M, S, 0.8)


def leaves(name: str) -> list[Node]:
    """Inputs; blocks of steps need a length that is known when the loop is written."""
    return [
        pt.vector("x", shape=(7 if "checkpoints" in name else None,)),
        pt.matrix("M", shape=(4, 4)),
        pt.vector("s", shape=(3,)),
        pt.scalar("a"),
    ]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ROWS)
def test_values_are_those_of_python(name: str, backend: str) -> None:
    """With symbolic and with fixed lengths."""
    inputs = leaves(name)
    found = pt.function(inputs, ROWS[name].graph(*inputs), mode=backend, on_unused_input="ignore")(*AT)
    np.testing.assert_allclose(found, np.array(ROWS[name].plain(*AT)), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_those_of_differences(name: str) -> None:
    """Of a weighted sum of all results, with respect to every input it depends on; machine code and reference agree."""
    inputs = leaves(name)
    result = ROWS[name].graph(*inputs)
    weight = np.cos(np.arange(np.size(np.array(ROWS[name].plain(*AT))))).reshape(np.shape(ROWS[name].plain(*AT)))
    cost = pt.sum(result * weight)
    slopes = pt.grad(cost, inputs, disconnected_inputs="ignore")
    found = pt.function(inputs, slopes, on_unused_input="ignore")(*AT)
    again = pt.function(inputs, slopes, mode="reference", on_unused_input="ignore")(*AT)
    for i, (own, other) in enumerate(zip(found, again, strict=True)):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-11)
        direction = RNG.normal(size=np.shape(AT[i]))
        sides = []
        for sign in (1, -1):
            moved = [v + sign * 1e-6 * direction if i == j else v for j, v in enumerate(AT)]
            sides.append(np.sum(np.array(ROWS[name].plain(*moved)) * weight))  # type: ignore[arg-type]  # arrays
        assert np.sum(own * direction) == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=2e-6, abs=2e-8)


SMOOTH = ["last value", "rows", "taps of outputs", "vectors", "forward algorithm", "loops inside", "checkpoints"]


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_and_pushforwards(name: str) -> None:
    """The gradient of a gradient is its difference; a pushforward is the sum over the pullback."""
    inputs = leaves(name)
    result = ROWS[name].graph(*inputs)
    cost = pt.sum(pt.sin(result))
    a = inputs[3]
    slope = pt.grad(cost, a)
    both = pt.function(inputs, [slope, pt.grad(slope, a)], on_unused_input="ignore")
    up, down = (both(X, M, S, 0.8 + h)[0] for h in (1e-5, -1e-5))
    assert both(*AT)[1] == pytest.approx((up - down) / 2e-5, rel=1e-6)
    moved = pt.function(inputs, pushforward(cost, [a], [pt.as_tensor(1.0)]), on_unused_input="ignore")
    assert np.ravel(moved(*AT))[0] == pytest.approx(both(*AT)[0], rel=1e-10)


BATCHED = [name for name in ROWS if name not in ("inside a branch", "no steps", "until", "elements by index")]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("which", [(3,), (0, 3), (0, 1, 2, 3)], ids=["a", "x, a", "all"])
@pytest.mark.parametrize("name", BATCHED)
def test_batches_are_python_loops(name: str, which: tuple[int, ...], backend: str) -> None:
    """One loop over a batch of operands is as many loops."""
    inputs = leaves(name)
    result = ROWS[name].graph(*inputs)
    batch = {i: pt.tensor(f"b{i}", shape=(3, *inputs[i].static_shape)) for i in which}
    (made,) = vectorize([result], {inputs[i]: leaf for i, leaf in batch.items()})
    rows = [
        tuple(np.asarray(v) + (0.1 * k * (i == 3) + 0.2 * k * (i != 3)) * (i in which) for i, v in enumerate(AT))
        for k in range(3)
    ]
    given = [np.stack([row[i] for row in rows]) if i in which else AT[i] for i in range(4)]
    f = pt.function([batch.get(i, leaf) for i, leaf in enumerate(inputs)], made, mode=backend, on_unused_input="ignore")
    wanted = np.stack([np.array(ROWS[name].plain(*row)) for row in rows])  # type: ignore[arg-type]  # arrays
    np.testing.assert_allclose(f(*given), wanted, rtol=1e-10, atol=1e-12)


def loops(outputs: list[Node]) -> list[Scan]:
    return [node.op for node in topological(simplify(outputs)) if isinstance(node.op, Scan)]


class TestWhatIsNotComputed:
    """Loops are smaller after `simplify` than they were written."""

    def test_last_value_needs_no_trace(self) -> None:
        x, a = pt.vector("x", shape=(5,)), pt.scalar("a")
        (op,) = loops([scan(lambda v, p: p * a + v, sequences=x, outputs_info=0.0)[-1]])
        assert (op.carried, op.sequences, op.traces) == (1, 1, 0)

    def test_value_and_gradient_share_the_forward_loop(self) -> None:
        x, a = pt.vector("x", shape=(5,)), pt.scalar("a")
        cost = pt.sum(scan(lambda v, p: pt.tanh(p * a + v), sequences=x, outputs_info=0.0) ** 2)
        forward, backward = loops([cost, *pt.grad(cost, [x, a])])
        assert (forward.carried, forward.traces, backward.reverse) == (1, 2, True)

    def test_results_that_nobody_reads_are_not_carried(self) -> None:
        x = pt.vector("x", shape=(5,))
        p, _ = scan(lambda v, p, q: (p + v, q * p), sequences=x, outputs_info=[0.0, 1.0])
        (op,) = loops([p])
        assert (op.carried, op.traces) == (1, 1)

    def test_loops_over_equal_steps_become_one(self) -> None:
        x, y = pt.vector("x", shape=(5,)), pt.vector("y", shape=(5,))
        one, two = (scan(lambda v, p: p * 0.5 + v, sequences=s, outputs_info=0.0) for s in (x, y))
        (op,) = loops([one, two])
        assert (op.carried, op.sequences) == (2, 2)

    def test_loops_that_follow_each_other_do_not(self) -> None:
        x = pt.vector("x", shape=(5,))
        one = scan(lambda v, p: p * 0.5 + v, sequences=x, outputs_info=0.0)
        assert len(loops([scan(lambda v, p: p * 0.5 + v, sequences=one, outputs_info=0.0)])) == 2

    def test_equal_values_are_carried_once(self) -> None:
        x = pt.vector("x", shape=(5,))
        p, q = scan(lambda v, p, q: (p * 2 + v, v + q * 2), sequences=x, outputs_info=[0.0, 0.0])
        (op,) = loops([p, q])
        assert op.carried == 1

    def test_constants_are_computed_before(self) -> None:
        x, a = pt.vector("x", shape=(5,)), pt.scalar("a")
        (op,) = loops([scan(lambda v, p: p * pt.exp(a) + v, sequences=x, outputs_info=0.0)])
        assert all("exp" not in repr(node.op) for node in topological(op.body.results))


def test_any_type_is_carried() -> None:
    """Integers, truth values, short floats, complex numbers."""
    i, b, f = scan(
        lambda i, b, f: (i * 2 + 1, ~b, f * np.float32(0.5)), outputs_info=[1, True, np.float32(1)], n_steps=4
    )
    found = pt.function([], [i, b, f])()
    assert [v.dtype for v in found] == ["int64", "bool", "float32"]
    assert [v.tolist() for v in found] == [[3, 7, 15, 31], [False, True, False, True], [0.5, 0.25, 0.125, 0.0625]]
    z = pt.zscalar("z")
    for backend in BACKENDS:
        count, last = pt.while_loop(lambda i, w: (abs(w) < 2) & (i < 50), lambda i, w: (i + 1, w * w + z), (0, 0j))
        steps, value = pt.function([z], [count, last], mode=backend)(0.4 + 0.4j)
        w, n = 0j, 0
        while abs(w) < 2 and n < 50:
            w, n = w * w + (0.4 + 0.4j), n + 1
        assert steps == n
        assert value == pytest.approx(w)


class TestRandomVariables:
    """Made inside a step, they are drawn anew in every step."""

    def test_every_step_has_its_own_draw(self) -> None:
        z = scan(lambda: pt.random.normal(), n_steps=2000)
        draws = pt.function([], z)()
        assert len(np.unique(draws)) == 2000
        assert abs(draws.mean()) < 5 / np.sqrt(2000)
        assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 5 / np.sqrt(2000)

    def test_draws_outside_stay_the_same_in_all_steps(self) -> None:
        outside = pt.random.normal()
        found = pt.function([], scan(lambda: outside * 1.0, n_steps=5))()
        assert len(np.unique(found)) == 1

    def test_keys_make_them_reproducible(self) -> None:
        f = pt.function([], scan(lambda p: p + pt.random.normal(), outputs_info=0.0, n_steps=5))
        assert not np.array_equal(f(), f())
        walk = scan(lambda p: p + pt.random.normal(), outputs_info=0.0, n_steps=5)
        np.testing.assert_array_equal(pm.draw(walk, random_seed=1), pm.draw(walk, random_seed=1))

    def test_nested_loops_draw_every_time(self) -> None:
        table = scan(lambda: scan(lambda: pt.random.uniform(), n_steps=3), n_steps=4)
        assert len(np.unique(pt.function([], table)())) == 12

    @pytest.mark.parametrize("backend", [*BACKENDS, "c"])
    def test_loops_that_stop_when_a_draw_says_so(self, backend: str) -> None:
        """The number of steps is random, and so is the length of the trace; the derivative passes through all steps."""
        m = pt.scalar("m")
        walk = scan(
            lambda p: (q := p + pt.random.normal(m, 0.1), pt.until(q > 1.0)), outputs_info=pt.as_tensor(0.0), n_steps=90
        )
        f = pm.function([m], [walk, pt.sum(walk), pt.grad(pt.sum(walk), m)], mode=backend)
        lengths = set()
        for _ in range(12):
            values, total, slope = f(0.2)
            steps = len(values)
            assert values[-1] > 1.0
            assert (values[:-1] <= 1.0).all()
            assert total == pytest.approx(values.sum())
            assert slope == pytest.approx(steps * (steps + 1) / 2)
            lengths.add(steps)
        assert len(lengths) > 1

    def test_draws_of_random_length_are_made_one_by_one(self) -> None:
        """As an array where they have one shape; else the message says that they have not."""
        walk = scan(
            lambda p: (q := p + pt.random.exponential(), pt.until(q > 3.0)), outputs_info=pt.as_tensor(0.0), n_steps=90
        )
        last, total = pm.draw([walk[-1], pt.random.poisson(3.0) + 0 * walk.sum()], draws=20, random_seed=1)
        assert (last > 3.0).all()
        assert len(np.unique(last)) == 20
        assert total.shape == (20,)
        sizes = pm.draw(pt.ones(pt.random.poisson(3.0)).sum(), draws=20, random_seed=1)
        assert len(np.unique(sizes)) > 1
        with pytest.raises(ShapeError, match="have different shapes"):
            pm.draw(walk, draws=20, random_seed=1)

    def test_while_loops_draw_every_time(self) -> None:
        last = pt.while_loop(lambda p: p < 5, lambda p: p + pt.random.uniform(), 0.0)
        values = [float(pm.draw(last, random_seed=i)) for i in range(20)]
        assert all(5 <= v < 6 for v in values)
        assert len(set(values)) == 20


def test_number_of_steps_from_data() -> None:
    """Known only when the function runs: from an input, from a shape, from values."""
    n, a = pt.iscalar("n"), pt.scalar("a")
    powers = scan(lambda p: p * a, outputs_info=1.0, n_steps=n)
    f = pt.function([n, a], [powers, pt.grad(pt.sum(powers), a)])
    for steps in (4, 1, 0, 6):
        values, slope = f(steps, 0.5)
        np.testing.assert_allclose(values, 0.5 ** np.arange(1, steps + 1))
        assert slope == pytest.approx(sum(k * 0.5 ** (k - 1) for k in range(1, steps + 1)))
    x = pt.vector("x")
    g = pt.function([x], scan(lambda p: p + 1, outputs_info=0.0, n_steps=x.shape[0]))
    assert g(np.zeros(3)).tolist() == [1, 2, 3]


def test_shared_variables_are_updated_in_every_step() -> None:
    """As PyTensor's updates: the value of a step is that of the one before it; a function writes the last one."""
    total = pt.shared(1.0, name="total")
    outputs, updates = pt.scan(lambda v: (total * 2, {total: total + v}), sequences=pt.arange(4).astype("float64"))
    f = pt.function([], outputs, updates=updates)
    assert f().tolist() == [2, 2, 4, 8]
    assert total.get_value() == 7


def test_truncated_gradients_see_the_last_steps() -> None:
    """Of seven elements the last three."""
    x, a = pt.vector("x"), pt.scalar("a")
    last = scan(lambda v, p: p * a + v, sequences=x, outputs_info=1.0, truncate_gradient=3)[-1]
    found = pt.function([x, a], pt.grad(last, x))(X, 0.5)
    np.testing.assert_allclose(found, [0, 0, 0, 0, 0.25, 0.5, 1])


def test_gradient_of_a_while_loop_counts_its_steps_first() -> None:
    """s -> a s until s >= 50: ten steps for a = 1.5."""
    s, a = pt.scalar("s"), pt.scalar("a")
    last = pt.while_loop(lambda p: p < 50.0, lambda p: p * a, s)
    value, by_s, by_a = pt.function([s, a], [last, *pt.grad(last, [s, a])])(1.0, 1.5)
    assert (value, by_s, by_a) == pytest.approx((1.5**10, 1.5**10, 10 * 1.5**9))


def test_a_loop_in_a_model() -> None:
    """Free variables in a loop, its trace a Deterministic, its density sampled."""
    y = np.cumsum(RNG.normal(size=15))
    with pm.Model() as model:
        rho = pm.Beta("rho", 2, 2)
        noise = pm.Normal("noise", shape=15)
        path = pm.Deterministic("path", scan(lambda e, p: p * rho + e, sequences=noise, outputs_info=0.0))
        pm.Normal("y", path, 0.5, observed=y)
    logp = model.compile_logp()
    point = {"rho_logodds__": 0.3, "noise": RNG.normal(size=15)}
    share = 1 / (1 + np.exp(-0.3))
    own = np.array(running(lambda e, p: p * share + e, 0.0, point["noise"]))
    wanted = stats.norm.logpdf(y, own, 0.5).sum() + stats.norm.logpdf(point["noise"]).sum()
    wanted += stats.beta(2, 2).logpdf(share) + np.log(share * (1 - share))
    assert logp(point) == pytest.approx(wanted)


def test_a_loop_without_end_can_be_interrupted() -> None:
    """Ctrl-C reaches machine code that is not done."""
    last = pt.while_loop(lambda p: p > -1.0, lambda p: p * 0.5, 1.0)
    f = pt.function([], last)
    # A process that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f()
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


class TestBadInput:
    """Says what was needed and what came."""

    def test_types_that_change(self) -> None:
        with pytest.raises(ShapeError, match="carried values keep their shape"):
            scan(lambda p: pt.stack([p, p]), outputs_info=0.0, n_steps=3)
        with pytest.raises(DtypeError, match="carried values keep their dtype"):
            scan(lambda p: p * 0.5, outputs_info=pt.as_tensor(1), n_steps=3)

    def test_sequences_that_are_too_short(self) -> None:
        x = pt.vector("x")
        f = pt.function([x], scan(lambda v: v, sequences=x, n_steps=5))
        with pytest.raises(ShapeError, match="sequences of a loop have the length of the loop"):
            f(np.zeros(3))
        with pytest.raises(ShapeError, match="5 steps"):
            scan(lambda v: v, sequences=np.zeros(3), n_steps=5)

    def test_taps(self) -> None:
        with pytest.raises(ShapeError, match="reach 3 steps back"):
            scan(lambda p: p, outputs_info=[{"initial": np.zeros(2), "taps": [-3]}], n_steps=3)
        with pytest.raises(GraphError, match="negative integers"):
            scan(lambda p: p, outputs_info=[{"initial": np.zeros(2), "taps": [0]}], n_steps=3)

    def test_numbers_of_steps(self) -> None:
        with pytest.raises(ShapeError, match="n_steps"):
            scan(lambda p: p, outputs_info=0.0, n_steps=-2)
        with pytest.raises(GraphError, match="no sequence that tells its number of steps"):
            scan(lambda p: p, outputs_info=0.0)
        n = pt.iscalar("n")
        with pytest.raises(ShapeError):
            pt.function([n], scan(lambda p: p + 1, outputs_info=0.0, n_steps=n))(-1)

    def test_outputs_that_are_not_described(self) -> None:
        with pytest.raises(GraphError, match="describes 1 outputs, and its step returns 2"):
            scan(lambda p: (p, p), outputs_info=[0.0], n_steps=3)

    def test_lengths_that_differ_from_step_to_step(self) -> None:
        with pytest.raises(MissingRuleError, match="differs from one step of a loop to another"):
            scan(lambda row: row[row > 0], sequences=np.eye(3))

    def test_loops_that_return_too_little(self) -> None:
        with pytest.raises(GraphError, match="carries 2 values and its body returns 1"):
            pt.while_loop(lambda i, p: p < 3, lambda i, p: p + 1, (0, 0.0))

    def test_no_gradient_through_integers(self) -> None:
        n = pt.iscalar("n")
        last = scan(lambda p: p * 2, outputs_info=n, n_steps=3)[-1]
        with pytest.raises((TypeError, GraphError)):
            pt.grad(last, n)
