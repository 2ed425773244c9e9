"""Sums and joins of terms of one form are the same numbers, in graphs whose size does not depend on their count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input, topological
from consilience.rewrite.rules import simplify
from consilience.transforms.equal_terms import FEWEST, equal_terms_batched
from consilience.transforms.gradient import gradient

VECTOR = tensor_input("float64", (60,), "vector")
MATRIX = tensor_input("float64", (60, 60), "matrix")
SCALAR = tensor_input("float64", (), "scalar")
ROW = tensor_input("float64", (3,), "row")
OWN = [tensor_input("float64", (), f"own{i}") for i in range(40)]
WIDE = [tensor_input("float64", (3,), f"wide{i}") for i in range(40)]
_random = np.random.default_rng(5)
VALUES = {node: _random.uniform(0.5, 1.5, node.static_shape) for node in (VECTOR, MATRIX, SCALAR, ROW, *OWN, *WIDE)}

# What differs from one term to the next, by its number.
LEAVES: dict[str, Callable[[int], Node]] = {
    "a constant": lambda i: constant(0.3 + i / 50),
    "few constants": lambda i: constant(float(i % 3) + 0.5),
    "an element": lambda i: VECTOR[i],
    "every other element": lambda i: VECTOR[min(2 * i, 59) - 60],
    "a repeated element": lambda i: VECTOR[(7 * i) % 5],
    "an element of a matrix": lambda i: MATRIX[i, (3 * i) % 11],
    "a column's element": lambda i: MATRIX[i, 4],
    "a sum of part of a row": lambda i: MATRIX[i, 2:5].sum(),
    "a sum of a moving part": lambda i: VECTOR[i : i + 3].sum(),
    "an input of its own": lambda i: OWN[i % 40],
    "a norm of an input of its own": lambda i: (WIDE[i % 40] ** 2).sum(),
    "an element of an input of its own": lambda i: WIDE[i % 40][1],
    "a product with a row": lambda i: MATRIX[i, :3] @ ROW,
    "shared": lambda i: SCALAR,
    "two forms": lambda i: VECTOR[i] if i % 2 else pt.exp(constant(i / 99.0)),
}
FORMS: dict[str, Callable[..., Node]] = {
    "product": lambda a, b: a * b,
    "normal density": lambda a, b: -0.5 * pt.square((a - SCALAR) / b) - pt.log(b),
    "shared part": lambda a, b: pt.exp(SCALAR) * a + pt.log1p(b * SCALAR),
    "used twice": lambda a, b: pt.tanh(a * b) + pt.square(a * b),
    "wide": lambda a, b: (ROW * a + b).sum(),
    "cast": lambda a, b: pt.cast(a > b, "float64") * b,
}


def equal(before: list[Node], after: list[Node]) -> None:
    for old, new in zip(evaluate(before, VALUES), evaluate(after, VALUES), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12, atol=1e-12)
    assert [a.type for a in before] == [a.type for a in after]


def added(terms: list[Node], long: bool) -> Node:
    if long:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total
    return pt.add(*terms)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(list(FORMS)), st.sampled_from(list(LEAVES)), st.sampled_from(list(LEAVES)),
    st.integers(FEWEST - 2, 40), st.booleans(), st.booleans(),
)  # fmt: skip
def test_sums_and_joins_keep_their_values_and_gradients(
    form: str, first: str, second: str, count: int, long: bool, mixed: bool
) -> None:
    terms = [FORMS[form](LEAVES[first](i), LEAVES[second](i)) for i in range(count)]
    if mixed:
        terms[3:3] = [SCALAR * 2, pt.exp(VECTOR).sum(), constant(4.0)]
    total = added(terms, long)
    joined = pt.stack(terms)
    wide = pt.concatenate([term * ROW for term in terms]) if count < 30 else joined
    before = [total, joined, wide]
    after = equal_terms_batched(before)
    equal(before, after)
    wanted = [VECTOR, SCALAR, MATRIX, OWN[3], WIDE[17]]
    slopes = [
        gradient(simplify([output], keep=wanted)[0], wanted) for output in (total, equal_terms_batched([total])[0])
    ]
    equal(*(list(found) for found in slopes))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("leaf", [name for name in LEAVES if "own" not in name and name != "two forms"])
def test_size_of_the_graph_does_not_depend_on_the_number_of_terms(form: str, leaf: str) -> None:
    def size(count: int) -> int:
        terms = [FORMS[form](LEAVES[leaf](i), VECTOR[i]) for i in range(count)]
        return len(topological(equal_terms_batched([pt.add(*terms)])))

    assert abs(size(50) - size(25)) <= 4


def test_steps_of_a_recurrence_are_computed_once() -> None:
    level, terms = constant(0.0), []
    for i in range(50):
        level = pt.tanh(level * SCALAR + VECTOR[i])
        terms.append(pt.square(level - constant(i / 7.0)))
    before = pt.add(*terms)
    (after,) = equal_terms_batched([before])
    equal([before], [after])
    count = sum(getattr(node.op, "function", "") == "tanh" for node in topological([after]))
    assert count <= 50 + 1


def test_what_is_kept_is_not_looked_into() -> None:
    kept = [pt.exp(VECTOR[i]) for i in range(30)]
    total = pt.add(*(pt.square(node) * 2.0 for node in kept))
    (after,) = equal_terms_batched([total], kept)
    assert set(kept) <= set(topological([after]))
    equal([total], [after])


def test_terms_of_large_arrays_and_few_terms_stay_as_they_are() -> None:
    large = pt.add(*((MATRIX * float(i)).sum() for i in range(30)))
    few = pt.add(*(pt.exp(VECTOR[i]) for i in range(FEWEST - 1)))
    assert equal_terms_batched([large, few]) == [large, few]


def test_models_written_in_loops_have_the_density_and_the_gradient_of_models_of_arrays() -> None:
    x, y = np.linspace(-1, 1, 40), np.sin(np.arange(40.0))
    with pm.Model() as looped:
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        own = [pm.Normal(f"b{i}", a, 2.0) for i in range(40)]
        for i in range(40):
            pm.Normal(f"y{i}", own[i] * x[i], s, observed=y[i])
            pm.Potential(f"p{i}", -pt.square(own[i]) / 50)
    with pm.Model() as arrays:
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        b = pm.Normal("b", a, 2.0, shape=40)
        pm.Normal("y", b * x, s, observed=y)
        pm.Potential("p", -pt.square(b) / 50)
    values = np.random.default_rng(1).normal(size=40)
    point = {"a": 0.3, "s_log__": -0.2}
    loop_point = point | {f"b{i}": values[i] for i in range(40)}
    array_point = point | {"b": values}
    np.testing.assert_allclose(looped.compile_logp()(loop_point), arrays.compile_logp()(array_point), rtol=1e-13)
    np.testing.assert_allclose(looped.compile_dlogp()(loop_point), arrays.compile_dlogp()(array_point), rtol=1e-12)


def test_chains_of_a_model_written_in_a_loop_go_on_from_any_number_of_threads() -> None:
    with pm.Model() as model:
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        for i in range(30):
            pm.Normal(f"y{i}", a * (i / 30), s, observed=i / 10)
    options = {"draws": 50, "tune": 50, "chains": 2, "random_seed": 3, "progressbar": False}
    found = [pm.sample(model=model, cores=cores, compute_convergence_checks=False, **options) for cores in (1, 2)]
    np.testing.assert_array_equal(found[0].posterior["a"], found[1].posterior["a"])
