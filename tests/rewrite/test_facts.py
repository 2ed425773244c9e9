"""Facts hold of the values computed, and are known where they matter."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from consilience.backends.reference import evaluate
from consilience.errors import GraphError
from consilience.ir import Node, constant, tensor_input
from consilience.ops import TABLE, Assume, Cast, apply, linalg
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import arange, broadcast_to, eye, transpose
from consilience.rewrite.bounds import ELEMENTWISE
from consilience.rewrite.facts import Facts, assume
from consilience.rewrite.rules import simplify
from tests.rewrite.samples import Samples
from tests.rows import over_rows
from tests.rules.random_graphs import leaves, random_graph

QUESTIONS: dict[str, tuple[Callable[[Facts, Node], bool | None], Callable[[np.ndarray], np.ndarray]]] = {
    # Underflow is left aside, so that a positive number may be computed as 0.
    "positive": (Facts.positive, lambda a: (a >= 0) | np.isnan(a)),
    "non_negative": (Facts.non_negative, lambda a: (a >= 0) | np.isnan(a)),
    "negative": (Facts.negative, lambda a: (a <= 0) | np.isnan(a)),
    "non_positive": (Facts.non_positive, lambda a: (a <= 0) | np.isnan(a)),
    "whole": (Facts.whole, lambda a: (a == np.trunc(a)) | ~np.isfinite(a)),
    "probability": (Facts.probability, lambda a: ((a >= 0) & (a <= 1)) | np.isnan(a)),
}


@over_rows("seed", range(200))
def test_facts_hold_of_random_graphs(seed: int) -> None:
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    inputs = leaves()
    graph = random_graph(choose.randrange, inputs, choose.randrange(2, 25))
    facts = Facts()
    values = {x: draw.normal(0, 1, [int(str(n)) for n in x.static_shape]) for x in inputs.values()}
    (array,) = evaluate([graph], values)
    for ask, holds in QUESTIONS.values():
        answer = ask(facts, graph)
        if answer is True:
            assert holds(array).all()
        elif answer is False and array.size:
            assert not holds(array).all() or (array == 0).any() or np.isnan(array).any()
    assert facts.bounds(graph).low <= np.nan_to_num(array, nan=np.inf, posinf=np.inf, neginf=-np.inf).min(
        initial=np.inf
    )


@over_rows("name", sorted(set(ELEMENTWISE) - {"where", *DRAWS}))
def test_bounds_of_a_scalar_function_hold(name: str) -> None:
    entry = TABLE[name]
    draw = np.random.default_rng(5)
    signs: list[dict[str, bool]] = [{}, {"positive": True}, {"negative": True}, {"probability": True}]
    for facts_of_inputs in signs:
        dtype = "float64" if "float" in entry.accepts else "bool"
        if dtype == "bool" and facts_of_inputs:
            continue
        arity = entry.arity or 3
        inputs = [tensor_input(dtype, (200,)) for _ in range(arity)]
        values = []
        operands = [assume(x, finite=True, **facts_of_inputs) if facts_of_inputs else x for x in inputs]
        for _ in inputs:
            array = draw.normal(0, 3, 200)
            if "positive" in facts_of_inputs:
                array = np.abs(array)
            elif "negative" in facts_of_inputs:
                array = -np.abs(array)
            elif facts_of_inputs:
                array = draw.random(200)
            values.append(array if dtype == "float64" else array > 0)
        node = apply(name, *operands)
        (result,) = evaluate([node], dict(zip(inputs, values, strict=True)))
        known = Facts().bounds(node)
        real = result[~np.isnan(result.astype("float64"))].astype("float64")
        assert (real >= known.low).all()
        assert (real <= known.high).all()
        if known.finite:
            assert np.isfinite(result).all()
        if known.not_nan:
            assert len(real) == len(result)
        if known.nonzero:
            assert (real != 0).all()


def test_signs_of_the_usual_scales() -> None:
    x = tensor_input("float64", ())
    facts = Facts()
    for positive in (
        apply("exp", x),
        apply("softplus", x),
        apply("sigmoid", x),
        1 + apply("exp", x),
        2 * apply("exp", x),
    ):
        assert facts.positive(positive) is True
        assert facts.negative(-positive) is True
        assert facts.positive(-positive) is False
    assert facts.positive(x) is None
    assert facts.non_negative(apply("square", x)) is True
    assert facts.probability(apply("sigmoid", x)) is True
    assert facts.finite(x) is None
    assert facts.at_most(-apply("exp", x), 0) is True
    assert facts.at_least(apply("cosh", x), 1) is True


def test_finiteness_comes_from_assumptions() -> None:
    x = assume(tensor_input("float64", ()), finite=True)
    facts = Facts()
    assert facts.finite(apply("exp", x) * x - 3) is True
    assert facts.not_nan(apply("exp", x)) is True
    assert facts.finite(apply("log", x)) is None
    assert facts.finite(apply("log", apply("exp", x))) is True


def test_integers_are_finite_and_whole() -> None:
    n = tensor_input("int64", (3,))
    assert Facts().finite(n) is True
    assert Facts().whole(Node(Cast("float64"), n)) is True


def test_assumptions_are_checked_for_their_names() -> None:
    x = tensor_input("float64", (3, 3))
    with pytest.raises(GraphError, match="`pretty` is no fact"):
        assume(x, pretty=True)
    with pytest.raises(GraphError, match="only what holds"):
        assume(x, positive=False)


def test_an_assumption_speaks_for_the_graph_that_holds_it() -> None:
    """Another graph that shares the value is not told."""
    x = tensor_input("float64", ())
    positive = assume(x, positive=True)
    assert Facts().positive(positive) is True
    assert Facts().positive(x) is None
    absolute = apply("abs", x)
    assert simplify([apply("abs", positive)]) == [positive]
    assert simplify([absolute]) == [absolute]


def test_assumptions_of_one_value_add_up() -> None:
    x = assume(assume(tensor_input("float64", ()), finite=True), at_least=2.0)
    assert Facts().finite(x) is True
    assert Facts().at_least(x, 2) is True
    assert not isinstance(x.inputs[0].op, Assume)


def test_bounds_can_be_assumed() -> None:
    x = assume(tensor_input("float64", ()), at_least=-1.0, at_most=2.5)
    assert Facts().at_least(x, -1) is True
    assert Facts().positive(3 - x) is True


def test_deep_graphs_are_asked_without_recursion() -> None:
    x = tensor_input("float64", ())
    graph = x
    for _ in range(10_000):
        graph = apply("abs", graph) + 1.0
    assert Facts().positive(graph) is True


class TestStructure:
    def test_triangles(self) -> None:
        t, facts = Samples(), Facts()
        factor = t.cholesky(t.square_matrix)
        assert facts.structure(factor, "lower")
        assert facts.structure(factor, "positive_diagonal")
        assert facts.structure(transpose(factor), "upper")
        assert not facts.structure(transpose(factor), "lower")
        assert facts.structure(t.inv(factor), "lower")
        assert facts.structure(factor @ t.lower, "lower")
        assert not facts.structure(factor @ transpose(factor), "lower")
        assert facts.structure(t.square_matrix * factor, "lower")

    def test_positive_definiteness(self) -> None:
        t, facts = Samples(), Facts()
        gram = t.lower @ transpose(t.lower)
        assert facts.structure(gram, "positive_definite")
        assert facts.structure(gram, "symmetric")
        assert facts.structure(t.positive * gram + eye(3), "positive_definite")
        assert not facts.structure(t.scalar * gram, "positive_definite")
        assert facts.structure(t.scalar * gram, "symmetric")
        assert facts.structure(t.inv(gram), "positive_definite")
        assert not facts.structure(t.matrix @ transpose(t.matrix), "positive_definite")
        assert facts.structure(t.matrix @ transpose(t.matrix), "symmetric")
        assert facts.structure(broadcast_to(gram, (2, 3, 3)), "positive_definite")

    def test_identity_and_diagonals(self) -> None:
        facts = Facts()
        for name in ("lower", "upper", "diagonal", "symmetric", "positive_definite"):
            assert facts.structure(eye(3), name)
        assert not facts.structure(eye(3, k=1), "diagonal")
        assert facts.structure(constant(np.diag([1.0, 2.0])), "diagonal")
        assert facts.structure(constant([[2.0, 1.0], [1.0, 2.0]]), "positive_definite")
        assert not facts.structure(constant([[1.0, 2.0], [2.0, 1.0]]), "positive_definite")

    def test_indices(self) -> None:
        facts = Facts()
        assert facts.structure(arange(5), "increasing")
        assert facts.structure(arange(5) * 2 + 1, "unique")
        assert facts.structure(constant([3, 1, 2]), "unique")
        assert not facts.structure(constant([3, 1, 3]), "unique")
        assert not facts.structure(constant([3, 1, 2]), "increasing")

    def test_what_was_assumed(self) -> None:
        facts = Facts()
        k = assume(tensor_input("float64", (4, 4)), positive_definite=True)
        assert facts.structure(k, "symmetric")
        assert facts.structure(linalg.cholesky(k), "lower")
