"""Readings, sums by counts, choices by masks: every form that rules find computes what was written, on all lengths."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input
from consilience.ops import apply
from consilience.planning.alternatives import Alternatives
from consilience.planning.choice import plan
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.rewrite.rules import simplify
from tests.planning.samples import every_alternative, forced
from tests.transforms.laws import Array

SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e150, -3.5)
FUNCTIONS = ("sin", "square", "tanh", "neg", "abs")


class Program:
    """Inputs with values that Hypothesis draws."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw
        self.arrays: dict[Node, Array] = {}

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self.draw(st.integers(low, high))

    def given(self, *shape: int, dtype: str = "float64") -> Node:
        """A new input, of which some elements are not finite."""
        node = tensor_input(dtype, shape, f"x{len(self.arrays)}")
        if dtype == "int64":
            values = self.draw(arrays_of.arrays("int64", shape, elements=st.integers(-(2**62), 2**62)))
        else:
            elements = (
                st.one_of(st.floats(-3, 3), st.sampled_from(SPECIAL)) if self.number(0, 2) == 0 else st.floats(-3, 3)
            )
            values = self.draw(arrays_of.arrays("float64", shape, elements=elements))
        self.arrays[node] = values
        return node

    def places(self, below: int, *shape: int, known: bool = True) -> Node:
        """Positions on an axis, counted from either end."""
        values = self.draw(arrays_of.arrays("int64", shape, elements=st.integers(-below, below - 1)))
        if known:
            return constant(values)
        node = tensor_input("int64", shape, f"i{len(self.arrays)}")
        self.arrays[node] = values
        return node

    def function(self, *operands: Node) -> Node:
        """A function of a product or sum of operands."""
        joined = apply(("mul", "add")[self.number(0, 1)], *operands) if len(operands) > 1 else operands[0]
        return apply(self.draw(st.sampled_from(FUNCTIONS)), joined)


def check(program: Program, *outputs: Node) -> None:
    """Every single alternative, and what is planned, on the values that were drawn."""
    simple = simplify(list(outputs))
    found = Alternatives(simple, [], EXPLORE, ALWAYS)
    with np.errstate(all="ignore"):
        written = evaluate(simple, program.arrays)
        for number, member in every_alternative(found):
            made = plan(simple, choice=forced({number: member}))
            assert [o.type for o in made.outputs] == [o.type for o in simple]
            for before, after in zip(written, evaluate(made.outputs, program.arrays), strict=True):
                same(before, after, made.rules)


def same(before: Array, after: Array, rules: tuple[str, ...]) -> None:
    """Integers are equal, finite numbers close, and what is not finite is not."""
    if before.dtype.kind != "f":
        np.testing.assert_array_equal(before, after, str(rules))
        return
    finite = np.isfinite(before)
    np.testing.assert_array_equal(finite, np.isfinite(after), str(rules))
    scale = np.max(np.abs(before[finite]), initial=1.0)
    np.testing.assert_allclose(after[finite], before[finite], rtol=1e-9, atol=1e-11 * scale, err_msg=str(rules))


laws = settings(max_examples=60, deadline=None)


@laws
@given(st.data())
def test_functions_are_read_at_slices_positions_and_index_arrays(data: st.DataObject) -> None:
    p = Program(data)
    rows, columns = p.number(0, 4), p.number(0, 5)
    dtype = ("float64", "int64")[p.number(0, 1)]
    whole, column, row = (p.given(*s, dtype=dtype) for s in ((rows, columns), (rows, 1), (columns,)))
    operands = data.draw(
        st.sampled_from([(whole,), (whole, column), (column, row), (whole, row), (row, column, whole)])
    )
    joined = apply(("mul", "add")[p.number(0, 1)], *operands) if len(operands) > 1 else operands[0]
    value = joined * joined if dtype == "int64" else p.function(apply("sin", joined))
    shape = (p.number(0, 3),) if p.number(0, 1) else (2, p.number(1, 3))

    def entry(length: int | None) -> object:
        kind = p.number(0, 2)
        if kind == 0 or not isinstance(length, int) or length == 0:
            return slice(p.number(-3, 1), p.number(0, 4), (None, 2)[p.number(0, 1)])
        return p.number(-length, length - 1) if kind == 1 else p.places(length, *shape, known=bool(p.number(0, 1)))

    check(p, value[tuple(entry(n) for n in value.static_shape)])  # type: ignore[index, arg-type]  # static lengths


@laws
@given(st.data())
def test_reductions_and_joins_are_read_before_and_after(data: st.DataObject) -> None:
    p = Program(data)
    rows, columns = p.number(1, 4), p.number(1, 4)
    x, y, v = p.given(rows, columns), p.given(p.number(0, 3), columns), p.given(columns)
    places = p.places(rows, p.number(0, 7), known=bool(p.number(0, 1)))
    kind = data.draw(st.sampled_from(("sum", "max", "min", "logsumexp")))
    reduced = getattr(pt, kind)
    join = pt.concatenate([x, apply("sin", y), x * v])
    check(
        p,
        reduced(p.function(x), axis=1)[places],
        reduced(x[places], axis=1),
        x[places] @ v,
        join[p.places(2 * rows + y.static_shape[0], p.number(0, 5))],  # type: ignore[operator]  # static here
        pt.stack([x, x * v])[p.places(2, rows), pt.arange(rows)],
        pt.stack([x, apply("sin", x)])[:, places],
    )


@laws
@given(st.data())
def test_sums_by_counts_and_by_groups(data: st.DataObject) -> None:
    """Groups without elements may hold infinities: nothing of them is read."""
    p = Program(data)
    groups, count = p.number(1, 4), p.number(0, 9)
    f, h, c = p.given(groups), p.given(groups), p.given()
    places = p.places(groups, count, known=bool(p.number(0, 1)))
    y = p.given(count)
    zeros = pt.zeros(groups)
    check(
        p,
        p.function(f)[places].sum(),
        (f[places] * y).sum(),
        (c * y * apply("sin", f)[places] * h[places]).sum(),
        pt.inc_subtensor(zeros[places], f[places] * y),
        pt.inc_subtensor(zeros[places], pt.broadcast_to(c, (count,))),
    )


@laws
@given(st.data())
def test_choices_by_known_masks(data: st.DataObject) -> None:
    p = Program(data)
    shape = (p.number(0, 6),) if p.number(0, 1) else (p.number(0, 3), p.number(0, 3))
    x, y, c = p.given(*shape), p.given(*shape), p.given()
    mask = constant(data.draw(arrays_of.arrays("bool", shape)))
    i = p.given(*shape, dtype="int64")
    chosen = pt.where(mask, apply("sin", x * c), apply(("tanh", "neg")[p.number(0, 1)], y))
    check(
        p,
        chosen,
        chosen.sum(),
        (y + c * pt.where(mask, apply("tanh", x), 0.0)).sum(),
        pt.where(mask, c, p.function(x)),
        pt.where(mask, i * i, i),
    )


def test_a_mask_that_changes_after_the_plan() -> None:
    """Only masks that cannot change are looked at; what is shared is right whatever it holds."""
    generator = np.random.default_rng(5)
    x = pt.dvector("x")
    values = generator.normal(size=60_000)
    few = generator.random(60_000) < 0.02
    mask = pm.shared(few, name="mask")
    function = pm.function([x], pt.where(mask, pt.gammaln(pt.abs(x) + 1.0), x).sum())
    constant_mask = pm.function([x], pt.where(few, pt.gammaln(pt.abs(x) + 1.0), x).sum())
    assert function(values) == pytest.approx(float(constant_mask(values)), rel=1e-12)
    mask.set_value(~few)
    written = pm.function([x], pt.where(~few, pt.gammaln(pt.abs(x) + 1.0), x).sum(), plan=False)
    assert function(values) == pytest.approx(float(written(values)), rel=1e-12)


def test_data_of_a_model_that_change_after_the_plan() -> None:
    """Counts of shared data follow the data."""
    generator = np.random.default_rng(6)
    f = pt.dvector("f")
    places = pm.shared(generator.integers(0, 5, 60_000), name="places")
    function = pm.function([f], pt.exp(f)[places].sum())
    values = np.array([0.1, -3.0, 2.0, 0.5, np.inf])
    places.set_value(np.arange(60_000) % 4)
    assert function(values) == pytest.approx(15_000 * np.exp(values[:4]).sum(), rel=1e-12)
    places.set_value(np.zeros(7, "int64"))
    assert function(values) == pytest.approx(7 * np.exp(0.1), rel=1e-12)


@pytest.mark.parametrize("length", [0, 1, 7, 300])
def test_lengths_that_are_known_when_the_function_runs(length: int) -> None:
    """Programs of any size are planned where a limit of memory asks for it; the next call may have other lengths."""
    x, m, y, places = pt.dvector("x"), pt.dmatrix("m"), pt.dvector("y"), pt.lvector("places")
    kept = x[x > 0.0]
    outputs = [
        pt.exp(pt.sin(x) * y)[places],
        pt.exp(m[:, None] + y[:, None])[places, places],
        pt.logsumexp(m[places], axis=1),
        (pt.exp(x)[places] * y[places]).sum(),
        pt.concatenate([pt.exp(x), y])[places],
        pt.exp(kept)[kept.shape[0] // 2 :].sum(),
        pt.grad((pt.exp(x)[places] * 2.0).sum(), x),
    ]
    inputs = [x, m, y, places]
    planned, written = (pm.function(inputs, outputs, plan=p) for p in (10**12, False))
    generator = np.random.default_rng(8)
    for n in (length, length + 2):
        values = [generator.normal(size=n), generator.normal(size=(n, 3)), generator.normal(size=n)]
        at = generator.integers(-n, n, 2 * n) if n else np.zeros(0, "int64")
        for a, b in zip(planned(*values, at), written(*values, at), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_what_is_planned() -> None:
    """The dear function is computed where the mask holds, cells by their row and column, sums by their counts."""
    x = pt.tensor("x", dtype="float64", shape=(100_000,))
    a, b = (pt.tensor(n, dtype="float64", shape=(k,)) for n, k in (("a", 900), ("b", 1000)))
    c = pt.tensor("c", dtype="float64", shape=(1000, 20))
    generator = np.random.default_rng(7)
    i, j = (generator.integers(0, n, 3000) for n in (900, 1000))
    rare = generator.random(100_000) < 0.05
    cases = {
        "choice by subsets": pt.where(rare, pt.gammaln(x), x),
        "sum of choices by subsets": pt.where(rare, pt.gammaln(x), pt.exp(x)).sum(),
        "function of what is read": pt.exp(a[:, None] + b)[i, j],
        "sum by counts of what is read": pt.log(a)[generator.integers(0, 900, 100_000)].sum(),
        "reduction of what is read": pt.exp(a[:, None] + b).sum(1)[i[:5]],
        "join of what is read": pt.concatenate([pt.exp(x), x])[generator.integers(0, 200_000, 3000)],
        "reading of rows that are reduced": pt.logsumexp(c[generator.integers(0, 1000, 30_000)], axis=1),
    }
    for rule, output in cases.items():
        found = plan(simplify([output]))
        assert rule in found.rules
        assert found.seconds < 0.75 * found.written_seconds
