"""Patterns in the user's notation, and what they match."""

from __future__ import annotations

import pytest

from consilience.errors import GraphError
from consilience.ir import Node, constant, tensor_input
from consilience.ops import Elementwise, apply
from consilience.rewrite.facts import Facts, assume
from consilience.rewrite.pattern import (
    Call,
    Term,
    given,
    instantiate,
    matches,
    numbers,
    partial_matches,
    positive,
    wildcards,
)
from consilience.rewrite.rule import rule
from consilience.rewrite.rules.notation import exp, log, log1p, logaddexp, maximum, softplus, square, true_div

X, Y = wildcards("x y")
(C,) = numbers("c")


def scalars(count: int) -> list[Node]:
    return [tensor_input("float64", (), name) for name in "abcdefgh"[:count]]


def first(term: Term, node: Node) -> dict[str, Node] | None:
    return next((dict(bound) for bound in matches(term, node, {})), None)


def add(*nodes: Node | float) -> Node:
    return apply("add", *nodes)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (1 - exp(X), "(1 - exp(x))"),
        (X - Y, "(x - y)"),
        (-(X - Y), "(-x + y)"),
        (1 / X, "reciprocal(x)"),
        (X / Y, "x / y"),
        (X**2, "square(x)"),
        (-X * -Y, "x * y"),
        (-1 * X, "-x"),
        (2 * -X, "-2 * x"),
        (X + (Y + 1), "(x + y + 1)"),
    ],
)
def test_terms_take_the_normal_form_as_they_are_written(term: Term, text: str) -> None:
    assert repr(term) == text


def test_one_wildcard_takes_the_rest_of_a_sum_in_any_order() -> None:
    a, b = scalars(2)
    for node in (add(1.0, a, b), add(a, 1.0, b), add(a, b, 1.0)):
        bound = first(1 + X, node)
        assert bound is not None
        assert set(bound["x"].inputs) == {a, b}
    assert first(1 + X, add(2.0, a)) is None
    assert first(1 + X, add(a, b)) is None


def test_numbers_are_compared_by_value() -> None:
    (a,) = scalars(1)
    assert first(1 + X, add(constant(1), tensor_input("int64", ()))) is not None
    assert first(2 * X, apply("mul", constant([[2.0]]), a)) is not None
    assert first(2 * X, apply("mul", constant([2.0, 2.0]), a)) is None


def test_number_wildcards_take_numbers_only() -> None:
    a, b = scalars(2)
    bound = first(C * X, apply("mul", a, 3.0))
    assert bound is not None
    assert bound["x"] is a
    assert first(C * X, apply("mul", a, b)) is None


def test_one_name_is_one_value() -> None:
    a, b = scalars(2)
    assert first(maximum(X, X), apply("maximum", a, a)) is not None
    assert first(maximum(X, X), apply("maximum", a, b)) is None
    assert first(true_div(exp(X), 1 + exp(X)), apply("exp", a) / (1 + apply("exp", a))) is not None
    assert first(true_div(exp(X), 1 + exp(X)), apply("exp", a) / (1 + apply("exp", b))) is None


def test_symmetric_functions_match_in_both_orders() -> None:
    (a,) = scalars(1)
    assert first(logaddexp(X, 0), apply("logaddexp", a, 0.0)) is not None
    assert first(logaddexp(X, 0), apply("logaddexp", 0.0, a)) is not None


def test_a_sum_inside_must_match_whole() -> None:
    a, b, c = scalars(3)
    term = log(exp(X) + exp(Y))
    pair = add(apply("exp", a), apply("exp", b))
    assert first(term, apply("log", pair)) is not None
    assert first(term, apply("log", add(apply("exp", a), apply("exp", b), c))) is None


def test_a_sum_at_the_root_may_leave_a_rest() -> None:
    a, b = scalars(2)
    pattern = exp(X) - 1
    node = add(b, apply("exp", a), -1.0)
    assert isinstance(pattern, Call)
    ((bound, rest),) = partial_matches(pattern, node, {})
    assert bound["x"] is a
    assert rest == (b,)


def test_two_rests_of_one_sum_are_an_error() -> None:
    a, b = scalars(2)
    with pytest.raises(GraphError, match="one wildcard only"):
        first(X + Y, add(a, b))


def test_a_rule_keeps_the_rest() -> None:
    a, b = scalars(2)
    expm1 = rule("exp - 1", exp(X) - 1, Call("expm1", (X,)))
    result = expm1.apply(add(b, apply("exp", a), -1.0), Facts())
    assert result is add(apply("expm1", a), b)


def test_conditions_ask_for_facts() -> None:
    a, b = scalars(2)
    a = assume(a, positive=True)
    split = rule("log of a square", log(square(X)), 2 * log(X), given(positive(X)))
    assert split.apply(apply("log", apply("square", a)), Facts()) is apply("mul", 2.0, apply("log", a))
    assert split.apply(apply("log", apply("square", b)), Facts()) is None
    assert [c.text for c in split.conditions] == ["positive(x)"]


def test_right_sides_keep_the_dtype() -> None:
    x = tensor_input("float32", (2,))
    made = instantiate(softplus(2 * X + 0.5) - log1p(X), {"x": x})
    assert isinstance(made, Node)
    assert made.dtype == "float32"
    assert isinstance(made.op, Elementwise)
