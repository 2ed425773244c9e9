"""Loops of PyTensor have the same values and gradients here, to rounding, and what they cannot say is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError
from consilience.foreign import from_pytensor

pytensor = pytest.importorskip("pytensor")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of PyTensor and its dependencies

import pytensor.tensor as theirs  # noqa: E402  # only where it is installed

LOOPS: Final[dict[str, Callable[[Any, Any], Any]]] = {}
Y = np.array([0.3, -0.2, 1.1, 0.7, -0.9, 0.4])
A = 0.6


def loop(graph: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Take a function of a vector `y` and a scalar `a` into the table."""
    LOOPS[graph.__name__] = graph
    return graph


def scan(*arguments: Any, **options: Any) -> Any:
    """The outputs of a loop of PyTensor, old or new, without its updates."""
    return pytensor.scan(*arguments, return_updates=True, **options)[0]


@loop
def map_of_a_sequence(y: Any, a: Any) -> Any:
    return scan(lambda e, a: theirs.exp(a * e), sequences=[y], non_sequences=[a])


@loop
def state_of_one_step(y: Any, a: Any) -> Any:
    return scan(lambda e, s, a: a * s + theirs.tanh(e), sequences=[y], outputs_info=[a**2], non_sequences=[a])


@loop
def last_state_alone(y: Any, a: Any) -> Any:
    return scan(
        lambda e, s, a: a * s + theirs.sin(e), sequences=[y], outputs_info=[theirs.ones(())], non_sequences=[a]
    )[-1]


@loop
def states_of_two_steps(y: Any, a: Any) -> Any:
    return scan(
        lambda e, one, two, a: a * one - two**2 / 3 + e,
        sequences=[y],
        outputs_info=[{"initial": y[:2], "taps": [-1, -2]}],
        non_sequences=[a],
    )


@loop
def states_of_one_and_three_steps_ago(y: Any, a: Any) -> Any:
    return scan(
        lambda three, one, a: theirs.cos(a * one) + three / 2,
        outputs_info=[{"initial": y[1:4], "taps": [-3, -1]}],
        non_sequences=[a],
        n_steps=5,
    )[-2:]


@loop
def neighbours_in_a_sequence(y: Any, a: Any) -> Any:
    return scan(
        lambda before, now, after, a: a * before * now - after,
        sequences=[{"input": y, "taps": [-1, 0, 1]}],
        non_sequences=[a],
    )


@loop
def from_the_end(y: Any, a: Any) -> Any:
    return scan(
        lambda e, s, a: a * s + e, sequences=[y], outputs_info=[theirs.zeros(())], non_sequences=[a], go_backwards=True
    )


@loop
def states_and_outputs_together(y: Any, a: Any) -> Any:
    def step(e: Any, vector: Any, one: Any, two: Any, a: Any) -> Any:
        vector = a * vector + e * theirs.arange(3)
        return vector, one * a + two, vector.sum() * e, vector**2

    initial = {"initial": y[:2], "taps": [-2, -1]}
    found = scan(step, sequences=[y], outputs_info=[theirs.ones(3) * a, initial, None, None], non_sequences=[a])
    return theirs.concatenate([part.ravel() for part in found])


@loop
def loop_in_a_loop(y: Any, a: Any) -> Any:
    def outer(e: Any, s: Any, a: Any) -> Any:
        inner = scan(lambda s, e, a: a * s + e, outputs_info=[s], non_sequences=[e, a], n_steps=3)
        return inner[-1]

    return scan(outer, sequences=[y], outputs_info=[a], non_sequences=[a])


@loop
def matrix_of_states(y: Any, a: Any) -> Any:
    m = theirs.stack([theirs.stack([a, 0.1]), theirs.stack([-0.2, a**2])])
    return scan(
        lambda e, p, m: m @ p @ m.T + e**2 * theirs.eye(2),
        sequences=[y],
        outputs_info=[theirs.eye(2)],
        non_sequences=[m],
    )


@loop
def ends_early(y: Any, a: Any) -> Any:
    from pytensor.scan import until

    return scan(lambda s, a: (s + a, until(s + a > 2.0)), outputs_info=[y[0]], non_sequences=[a], n_steps=20)


@loop
def number_of_steps(y: Any, a: Any) -> Any:
    return scan(lambda s, a: s * a + 1, outputs_info=[y], non_sequences=[a], n_steps=4)


@loop
def fold_of_a_sequence(y: Any, a: Any) -> Any:
    from pytensor.scan.views import reduce

    return reduce(lambda e, s: s + e**2, sequences=[y], outputs_info=[a], return_updates=True)[0]


@loop
def gradient_of_a_loop(y: Any, a: Any) -> Any:
    states = scan(
        lambda e, one, two, a: theirs.tanh(a * one - two / 3 + e),
        sequences=[y],
        outputs_info=[{"initial": y[:2], "taps": [-1, -2]}],
        non_sequences=[a],
    )
    return pytensor.grad((states**2).sum(), y)


def compiled(graph: Callable[[Any, Any], Any], y: Any, a: Any) -> tuple[Any, Any, Any]:
    """PyTensor's value of a graph, and the gradient of a weighted sum of it, with its own inputs."""
    value = graph(y, a)
    weights = theirs.cos(theirs.arange(value.size)).reshape(value.shape)
    total = (value * weights).sum()
    function = pytensor.function([y, a], [value, *pytensor.grad(total, [y, a])], mode="FAST_COMPILE")
    return value, total, function


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("length", [6, None], ids=["known length", "any length"])
def test_values_and_gradients_are_pytensors(name: str, length: int | None) -> None:
    y, a = theirs.tensor("y", shape=(length,), dtype="float64"), theirs.dscalar("a")
    value, total, function = compiled(LOOPS[name], y, a)
    own_y, own_a = pt.tensor("y", dtype="float64", shape=(length,)), pt.dscalar("a")
    own, own_total = from_pytensor([value, total], {y: own_y, a: own_a})
    f = pm.function([own_y, own_a], [own, *pt.grad(own_total, [own_y, own_a])])
    for found, wanted in zip(f(Y, A), function(Y, A), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_shortened_buffers_of_rewritten_graphs_hold_the_last_states() -> None:
    y, a = theirs.tensor("y", shape=(6,), dtype="float64"), theirs.dscalar("a")
    value = last_state_alone(y, a)
    rewritten = pytensor.graph.rewriting.utils.rewrite_graph(value, include=("canonicalize", "specialize", "scan"))
    found = from_pytensor([value, rewritten], {y: Y, a: A})
    assert found[0].eval() == pytest.approx(float(found[1].eval()), rel=1e-12)


def test_what_has_no_translation_is_named_with_the_loop_it_stands_in() -> None:
    y = theirs.dvector("y")
    states = scan(lambda e, s: s + theirs.unique(y * e).sum(), sequences=[y], outputs_info=[theirs.zeros(())])
    states.name = "states"
    with pytest.raises(MissingRuleError, match="op `Unique`") as told:
        from_pytensor(states)
    assert "PyTensor's loop" in told.value.__notes__[0]
