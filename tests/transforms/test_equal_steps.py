"""Steps of a recurrence that are written out are one loop: the same values and slopes, whatever the number of steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import ImputationWarning
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ops.loop import Scan
from consilience.rewrite.rules import simplify
from consilience.transforms.equal_steps import FEWEST, equal_steps_looped
from consilience.transforms.equal_terms import FEWEST_STEPS, equal_terms_batched
from consilience.transforms.gradient import gradient

A = tensor_input("float64", (), "a")
B = tensor_input("float64", (), "b")
DATA = tensor_input("float64", (200,), "data")
ROWS = tensor_input("float64", (200, 3), "rows")
LEVELS = tensor_input("float64", (3,), "levels")
OWN = [tensor_input("float64", (), f"own{i}") for i in range(200)]
_random = np.random.default_rng(7)
VALUES = {node: _random.uniform(0.1, 0.6, node.static_shape) for node in (A, B, DATA, ROWS, LEVELS, *OWN)}
NUMBERS = _random.normal(size=200)
CHOICES = _random.integers(0, 3, 200)
WANTED = [A, B, DATA, ROWS, LEVELS, OWN[4]]


def autoregression(steps: int) -> list[Node]:
    x, xs = A, []
    for t in range(steps):
        x = A * x + B + DATA[t]
        xs.append(x)
    return [pt.stack(xs), x]


def constants_of_each_step(steps: int) -> list[Node]:
    x = constant(0.3)
    for t in range(steps):
        x = pt.tanh(A * x + float(NUMBERS[t]))
    return [x]


def inputs_of_each_step(steps: int) -> list[Node]:
    x, xs = B, []
    for t in range(steps):
        x = x + A * OWN[t]
        xs.append(x * x)
    return [pt.add(*xs)]


def random_walk_by_sums(steps: int) -> list[Node]:
    x, xs = A, []
    for t in range(steps):
        x = x + DATA[t]
        xs.append(x)
    return [pt.stack(xs)]


def volatility(steps: int) -> list[Node]:
    h, total = constant(1.0), constant(0.0)
    for t in range(steps):
        h = A + B * float(NUMBERS[t - 1]) ** 2 + 0.5 * h
        total = total - 0.5 * pt.log(h) - 0.5 * float(NUMBERS[t]) ** 2 / h
    return [total, h]


def epidemic(steps: int) -> list[Node]:
    s, i, r, seen = constant(0.9), constant(0.1), constant(0.0), []
    for _ in range(steps):
        new, gone = A * s * i, B * i
        s, i, r = s - new, i + new - gone, r + gone
        seen.append(new)
    return [pt.stack(seen), r]


def two_states_back(steps: int) -> list[Node]:
    x, before, xs = B, A, []
    for t in range(steps):
        x, before = A * x - B * before + DATA[t], x
        xs.append(x)
    return [pt.stack(xs)]


def three_steps_back(steps: int) -> list[Node]:
    xs = [A, B, A * B]
    for t in range(steps):
        xs.append(pt.sin(xs[-3]) * A + xs[-1] * B + DATA[t])
    return [pt.add(*xs), xs[-1]]


def learning(steps: int) -> list[Node]:
    q, total = LEVELS, constant(0.0)
    for t in range(steps):
        total = total + q[CHOICES[t]] - pt.logsumexp(q)
        q = pt.set_subtensor(q[CHOICES[t]], q[CHOICES[t]] + A * (float(NUMBERS[t]) - q[CHOICES[t]]))
    return [total, q]


def branches(steps: int) -> list[Node]:
    v, vs = B, []
    for t in range(steps):
        v = pt.switch(v > 0.4, v * A, v + A * (1 - v)) + DATA[t] / 50
        vs.append(v)
    return [pt.stack(vs)]


def filled_vector(steps: int) -> list[Node]:
    x = pt.set_subtensor(pt.zeros(steps)[0], B)
    for t in range(1, steps):
        x = pt.set_subtensor(x[t], A * x[t - 1] + DATA[t])
    return [x]


def filled_rows(steps: int) -> list[Node]:
    x = pt.set_subtensor(pt.zeros((steps, 3))[0], LEVELS)
    for t in range(1, steps):
        x = pt.set_subtensor(x[t], A * x[t - 1] * ROWS[t] + DATA[t])
    return [x, x[:, 1].sum()]


def vectors(steps: int) -> list[Node]:
    x, xs = LEVELS, []
    for t in range(steps):
        x = A * x[::-1] + ROWS[t] @ LEVELS
        xs.append(x)
    return [pt.stack(xs), x.sum()]


def the_first_state_has_another_shape(steps: int) -> list[Node]:
    x, xs = A, []
    for t in range(steps):
        x = B * x + ROWS[t]
        xs.append(x)
    return [pt.stack(xs)]


def every_other_step_differs(steps: int) -> list[Node]:
    x, xs = A, []
    for t in range(steps):
        x = pt.tanh(x * B + DATA[t]) if t % 2 else pt.exp(-x * A) * DATA[t]
        xs.append(x)
    return [pt.add(*xs)]


def one_step_differs(steps: int) -> list[Node]:
    x, xs = A, []
    for t in range(steps):
        x = pt.exp(-x) if t == steps // 4 else pt.tanh(x * B + DATA[t])
        xs.append(x)
    return [pt.stack(xs), xs[3] + xs[-2]]


def two_recurrences(steps: int) -> list[Node]:
    x, y, xs, ys = A, B, [], []
    for t in range(steps):
        x = pt.tanh(x * B + DATA[t])
        xs.append(x)
    for t in range(steps):
        y = pt.sin(y * A + xs[t])
        ys.append(y)
    return [pt.stack(ys), xs[2]]


def steps_within_steps(steps: int) -> list[Node]:
    x = A
    for t in range(steps):
        for _ in range(25):
            x = x + 0.01 * pt.sin(x * B)
        x = x * DATA[t]
    return [x]


def counts(steps: int) -> list[Node]:
    n, flag, ns = constant(1), constant(np.asarray(True)), []
    for t in range(steps):
        n = pt.switch(flag, 3 * n + int(CHOICES[t]), n // 2)
        flag = pt.and_(pt.eq(n % 2, int(CHOICES[t]) % 2), n < 1000)
        ns.append(n)
    return [pt.stack(ns), flag]


RECURRENCES: list[Callable[[int], list[Node]]] = [
    autoregression, constants_of_each_step, inputs_of_each_step, random_walk_by_sums, volatility, epidemic,
    two_states_back, three_steps_back, learning, branches, filled_vector, filled_rows, vectors,
    the_first_state_has_another_shape, every_other_step_differs, one_step_differs, two_recurrences, steps_within_steps,
    counts,
]  # fmt: skip


def loops(outputs: list[Node]) -> int:
    return sum(isinstance(node.op, Scan) for node in topological(outputs))


def slopes_of(outputs: list[Node]) -> list[Node]:
    total = pt.add(*[(o * constant(0.3 + 0.1 * i)).sum() for i, o in enumerate(outputs)], constant(0.0))
    (total,) = simplify([total], keep=WANTED)
    return gradient(total, WANTED)


@pytest.mark.parametrize("written", RECURRENCES, ids=lambda f: f.__name__)
def test_a_recurrence_is_a_loop_with_the_same_values_and_slopes(written: Callable[[int], list[Node]]) -> None:
    steps = 60
    before = written(steps)
    after = equal_terms_batched(before)
    assert [a.type for a in after] == [b.type for b in before]
    assert loops(after) >= 1
    for old, new in zip(evaluate(before, VALUES), evaluate(after, VALUES), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12, atol=1e-14)
    if written is counts:
        return
    wanted = evaluate(slopes_of(before), VALUES)
    for old, new in zip(wanted, evaluate(slopes_of(after), VALUES), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-10, atol=1e-12)


# The place of a step that differs moves; elements of two traces in turn are joined one by one.
OF_ONE_SIZE = [f for f in RECURRENCES if f not in (one_step_differs, every_other_step_differs)]


@pytest.mark.parametrize("written", OF_ONE_SIZE, ids=lambda f: f.__name__)
def test_the_size_of_the_graph_does_not_depend_on_the_number_of_steps(written: Callable[[int], list[Node]]) -> None:
    def size(steps: int) -> int:
        return len(topological(equal_terms_batched(written(steps))))

    own = 40 if written is inputs_of_each_step else 0  # a leaf of each step's own, and its place in a join
    assert abs(size(80) - size(60)) <= 8 + own


def test_a_function_of_machine_code_and_its_gradient_are_those_of_the_steps() -> None:
    outputs = learning(60)
    total = outputs[0] + outputs[1].sum()
    function = pm.function([A, LEVELS], [total, *pt.grad(total, [A, LEVELS])])
    given = [VALUES[A], VALUES[LEVELS]]
    written = evaluate([total, *gradient(simplify([total], keep=[A, LEVELS])[0], [A, LEVELS])], VALUES)
    for new, old in zip(function(*given), written, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-11)


def test_the_look_for_recurrences_counts_as_their_search_does() -> None:
    assert FEWEST_STEPS == FEWEST


def test_steps_of_different_shapes_and_few_steps_stay_as_they_are() -> None:
    x, few = DATA[:100], A
    for _ in range(FEWEST_STEPS + 10):
        x = pt.tanh(x[1:] * B)
    for t in range(FEWEST_STEPS - 2):
        few = pt.sin(few * B + DATA[t])
    assert equal_steps_looped([x, few]) == [x, few]


def test_a_state_that_is_kept_is_not_looked_into() -> None:
    x, xs = A, []
    for t in range(80):
        x = pt.tanh(x * B + DATA[t])
        xs.append(x)
    kept = xs[40]
    after = equal_steps_looped([xs[-1], xs[20]], [kept])
    assert kept in topological(after)
    for old, new in zip(evaluate([xs[-1], xs[20]], VALUES), evaluate(after, VALUES), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-13)
    (slope,) = gradient(after[0], [kept])
    (wanted,) = gradient(xs[-1], [kept])
    np.testing.assert_allclose(*(evaluate([node], VALUES)[0] for node in (slope, wanted)), rtol=1e-11)


def test_steps_with_large_operands_of_their_own_stay_as_they_are() -> None:
    x = tensor_input("float64", (100,))
    own = [tensor_input("float64", (100, 100)) for _ in range(30)]
    for weights in own:
        x = pt.tanh(weights @ x)
    assert equal_steps_looped([x]) == [x]


def test_a_model_of_steps_is_the_model_of_a_loop() -> None:
    """Innovations and terms of each step, with dims, and values that are missing."""
    y = np.cumsum(NUMBERS[:60])
    y[[7, 30]] = np.nan
    warned = pytest.warns(ImputationWarning, match="2 missing values")
    with warned, pm.Model(coords={"time": range(60)}) as steps:
        a, s = pm.Uniform("a", 0, 1), pm.HalfNormal("s")
        e = pm.Normal("e", dims="time")
        x, xs = constant(0.0), []
        for t in range(60):
            x = a * x + s * e[t]
            xs.append(x)
        pm.Deterministic("x", pt.stack(xs), dims="time")
        pm.Normal("y", pt.stack(xs), 1, observed=y, dims="time")
        for t in range(0, 60, 2):
            pm.Normal(f"z{t}", xs[t], s, observed=NUMBERS[t])
    warned = pytest.warns(ImputationWarning, match="2 missing values")
    with warned, pm.Model(coords={"time": range(60)}) as scanned:
        a, s = pm.Uniform("a", 0, 1), pm.HalfNormal("s")
        e = pm.Normal("e", dims="time")
        states, _ = pm.scan(lambda e, x, a, s: a * x + s * e, [e], [pt.zeros(())], [a, s])
        pm.Deterministic("x", states, dims="time")
        pm.Normal("y", states, 1, observed=y, dims="time")
        pm.Normal("z", states[::2], s, observed=NUMBERS[:60:2])
    point = {**steps.initial_point(), "e": NUMBERS[60:120]}
    np.testing.assert_allclose(steps.compile_logp()(point), scanned.compile_logp()(point), rtol=1e-12)
    np.testing.assert_allclose(steps.compile_dlogp()(point), scanned.compile_dlogp()(point), rtol=1e-11)
    options = {"draws": 20, "tune": 20, "chains": 1, "random_seed": 3, "progressbar": False}
    found = pm.sample(model=steps, compute_convergence_checks=False, **options)
    x = found.posterior["x"].values
    a, s, e = (found.posterior[name].values for name in ("a", "s", "e"))
    np.testing.assert_allclose(x[..., 1:], a[..., None] * x[..., :-1] + s[..., None] * e[..., 1:], rtol=1e-9)
