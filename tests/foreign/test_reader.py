"""What readers of other programs share: tables whose rows name functions, results as declared, places in errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import consilience.tensor as pt
from consilience.engines.reader.axes import backwards, ordered, parts
from consilience.engines.reader.forms import Form
from consilience.engines.reader.lax import LAX, lax
from consilience.engines.reader.loops import first_of, one_of
from consilience.engines.reader.program import Language, ProgramStep
from consilience.engines.reader.rules import Rules, plain
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError

WORDS = Rules()
WORDS.rows("exp log")
WORDS.rows({"plus": "add", "invert": "linalg.inv"}, plain)


@WORDS("both")
def _both(x: Any) -> list[Any]:
    return [x, -x]


@WORDS("call")
def _call(x: Any, *, inner: str) -> Any:
    """An operation inside another one, whose own place is not known."""
    return of(inner, x, where=None)[0]


@WORDS("narrow")
def _narrow(x: Any) -> Any:
    raise ShapeError(f"a matrix is needed, got rank {x.ndim}.")


TOY = Language("Toy", "word", WORDS, lambda title: f" Write `{title}` here.")
VECTOR = Form((3,), "float64")


def of(name: str, *operands: Any, where: str | None = "at line 7", forms: Any = (VECTOR,), **parameters: Any) -> Any:
    return TOY.values(ProgramStep(name, name, parameters, forms, lambda: where), operands)


X = pt.tensor("x", shape=(3,))


def test_rows_that_name_no_function_are_refused() -> None:
    with pytest.raises(AttributeError, match="normal_cdf"):
        Rules().rows({"special_ndtr": "normal_cdf"})
    with pytest.raises(GraphError, match=r"\['exp'\] have rules already"):
        WORDS.rows("exp")
    with pytest.raises(GraphError, match="rules already"):
        WORDS("log")(plain(pt.log))


def test_results_get_the_dtype_that_the_program_declares() -> None:
    single = Form((3,), "float32")
    assert [x.dtype for x in of("both", X, forms=(VECTOR, single))] == ["float64", "float32"]
    assert of("plus", X, 1.0, precision="high")[0].dtype == "float64"
    assert of("both", X, forms=None) == [X, -X]


def test_errors_name_the_operation_and_its_place() -> None:
    with pytest.raises(
        MissingRuleError, match=r"^Toy's word `sinc` has no translation \(at line 7\)\. Write `sinc` he"
    ):
        of("sinc", X)
    with pytest.raises(ShapeError, match=r"^a matrix is needed, got rank 1 \(at line 7\)\. Write `narrow` here\.$"):
        of("narrow", X)
    with pytest.raises(
        DtypeError, match=r"a result of Toy's word `exp` \(at line 7\) has the dtype bfloat16, which ten"
    ):
        of("exp", X, forms=(Form((3,), "bfloat16"),))
    with pytest.raises(
        GraphError, match=r"`exp` has the shape \(3,\) in place of \(4,\) \(at line 7\); if the program"
    ):
        of("exp", X, forms=(Form((4,), "float64"),))
    with pytest.raises(
        MissingRuleError, match=r"`exp` is not of a known form: .*accuracy.*\(at line 7\); please report"
    ):
        of("exp", X, accuracy=2)


def test_a_place_that_is_not_known_is_that_of_the_operation_around_it() -> None:
    with pytest.raises(MissingRuleError, match=r"^Toy's word `sinc` has no translation \(at line 7\)\. Write `sinc`"):
        of("call", X, inner="sinc")
    with pytest.raises(ShapeError, match=r"got rank 1 \(at line 7\)\. Write `narrow` here\.$"):
        of("call", X, inner="narrow")
    with pytest.raises(MissingRuleError, match=r"`sinc` has no translation \(at a line of Toy itself\)\."):
        of("sinc", X, where=None)


def test_the_first_branch_whose_test_holds_is_taken() -> None:
    n = pt.tensor("n", shape=(), dtype="int64")
    branches = [[pt.constant(np.asarray(float(k)))] for k in range(3)]
    (found,) = first_of([pt.eq(n, 0), pt.eq(n, 1)], branches)
    assert [float(found.eval({n: k})) for k in (0, 1, 5)] == [0.0, 1.0, 2.0]
    assert one_of(pt.constant(np.asarray(False)), [X], [n]) == [n]
    assert one_of(pt.eq(n, 0), [], []) == []


def test_parts_and_orders_along_an_axis() -> None:
    x = np.array([[3.0, 1.0, np.nan, 1.0], [0.0, -2.0, 5.0, 5.0]])
    for own, wanted in zip(parts(pt.constant(x), [1, 0, 3], 1), np.split(x, [1, 1], 1), strict=True):
        np.testing.assert_array_equal(own.eval(), wanted)
    np.testing.assert_array_equal(backwards(pt.constant(x), [0, 1]).eval(), x[::-1, ::-1])
    np.testing.assert_array_equal(ordered(pt.constant(x), 1).eval(), np.argsort(x, 1, kind="stable"))
    np.testing.assert_array_equal(ordered(pt.constant(x), 1, descending=True).eval(), [[2, 0, 1, 3], [2, 3, 0, 1]])


def test_the_readers_of_programs_that_are_not_installed_have_their_tables() -> None:
    """Each row names a function, or the import fails; each operation of lax is one of JAX's."""
    from consilience.engines.jax.read.calls import RULES as OF_JAX
    from consilience.engines.stablehlo.read.module import HLO
    from consilience.engines.torch.read import arrays, factorisations, windows
    from consilience.engines.torch.read.ops import RULES as OF_TORCH
    from consilience.foreign.pytensor_graph import RULES as OF_PYTENSOR
    from consilience.foreign.pytensor_scalars import SCALARS

    assert LAX.keys() < OF_JAX.keys()
    assert all(callable(rule) for table in (OF_JAX, HLO, OF_TORCH, OF_PYTENSOR, SCALARS) for rule in table.values())
    for module in (arrays, factorisations, windows):
        assert module.RULES is OF_TORCH
    x = np.array([-40.0, -3.0, 0.0, 2.0])
    np.testing.assert_allclose(OF_TORCH["special_ndtr"](pt.constant(x)).eval(), scipy.special.ndtr(x), rtol=1e-13)


def test_convolutions_of_pytorch_are_those_of_lax() -> None:
    """Steps, gaps, groups and the transpose, beside sums that are written out."""
    from consilience.engines.torch.read.windows import RULES

    rng = np.random.default_rng(3)
    x, weight = rng.normal(size=(2, 4, 9)), rng.normal(size=(6, 2, 3))  # two groups
    found = RULES["convolution"](*map(pt.constant, (x, weight)), None, [2], [1], [2], False, [0], 2).eval()
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    wanted = np.array(
        [
            [
                [
                    sum(wide[n, 2 * (o // 3) + c, 2 * i + 2 * k] * weight[o, c, k] for c in range(2) for k in range(3))
                    for i in range(4)
                ]
                for o in range(6)
            ]
            for n in range(2)
        ]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    back = rng.normal(size=found.shape)  # the transpose is the derivative by the operand
    kernel = pt.constant(weight)
    turned = RULES["convolution"](pt.constant(back), kernel, None, [2], [1], [2], True, [0], 2).eval()
    leaf = pt.tensor("leaf", shape=x.shape)
    out = RULES["convolution"](leaf, kernel, None, [2], [1], [2], False, [0], 2)
    slope = pt.grad(pt.sum(out * back), leaf).eval({leaf: x})
    np.testing.assert_allclose(turned, slope, rtol=1e-12, atol=1e-13)


def test_windows_of_lax_are_taken_together() -> None:
    x = np.arange(12.0).reshape(3, 4)
    (found,) = lax(
        "reduce_window_max", pt.constant(x), window_dimensions=[2, 2], window_strides=[1, 2],
        padding=[(0, 0), (0, 0)], base_dilation=[1, 1], window_dilation=[1, 1],
    )  # fmt: skip
    np.testing.assert_array_equal(found.eval(), [[5, 7], [9, 11]])
