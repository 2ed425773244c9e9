"""Saved modules of StableHLO, read without JAX: values, derivatives, and what is told of mistakes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import consilience as pm
import consilience.tensor as pt
from consilience.engines.reader.forms import Form
from consilience.engines.stablehlo.read.constants import DenseText, dense_array
from consilience.errors import ConsilienceError, DtypeError, GraphError, MissingRuleError, ParseError, ShapeError
from consilience.gradient import verify_grad

FILES = sorted(Path(__file__).with_name("stablehlo").glob("*.mlir"))


def recorded(path: Path) -> tuple[str, list[Any], list[Any]]:
    """The text, arguments, and what JAX computed."""
    text = path.read_text(encoding="utf-8")
    found: dict[str, list[Any]] = {"argument": [], "result": []}
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if len(words) == 4 and words[0] == "//" and words[1] in found:
            found[words[1]].append(np.array(json.loads(words[3]), words[2]))
    return text, found["argument"], found["result"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_saved_modules_compute_what_jax_computed(path: Path) -> None:
    text, arguments, wanted = recorded(path)
    function = pm.from_stablehlo(text)
    leaves = [pt.tensor(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arguments)]
    found = function(*leaves)
    outputs = [*found] if isinstance(found, tuple) else [found]
    values = pt.function(leaves, outputs, on_unused_input="ignore")(*arguments)
    for own, theirs in zip(values, wanted, strict=True):
        assert own.dtype == theirs.dtype
        np.testing.assert_allclose(own, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["network", "gaussian", "linear_system", "recurrence", "newton", "special"])
def test_saved_modules_are_differentiated(name: str) -> None:
    text, arguments, _ = recorded(FILES[0].with_name(f"{name}.mlir"))
    function = pm.from_stablehlo(text)

    def first(*values: Any) -> Any:
        found = function(*values)
        return found[0] if isinstance(found, tuple) else found

    verify_grad(first, arguments, rng=np.random.default_rng(1))


def module(body: str, arguments: str = "%a: tensor<4xf64>", results: str = "tensor<4xf64>") -> str:
    return f"module @m {{\n  func.func public @main({arguments}) -> {results} {{\n{body}\n  }}\n}}\n"


SUM = module("    %0 = stablehlo.add %a, %a : tensor<4xf64>\n    return %0 : tensor<4xf64>")


def test_a_module_is_part_of_a_model() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", shape=4)
        pm.Normal("y", pm.from_stablehlo(SUM)(x), 1.0, observed=np.ones(4))
    point = {"x": np.array([0.1, 0.2, 0.3, 0.4])}
    np.testing.assert_allclose(model.compile_dlogp()(point), -point["x"] - 2 * (2 * point["x"] - 1))


def test_comments_locations_and_other_functions_are_read() -> None:
    text = f'#loc1 = loc("f.py":3:1)\n{SUM}'.replace(" : tensor<4xf64>\n", " : tensor<4xf64> loc(#loc1) // sum\n", 1)
    more = "  func.func private @twice(%a: tensor<f64>) -> tensor<f64> { return %a : tensor<f64> }\n}"
    text = text.rstrip().removesuffix("}") + more
    np.testing.assert_allclose(pm.from_stablehlo(text)(np.ones(4)).eval(), 2 * np.ones(4))
    assert float(pm.from_stablehlo(text, "twice")(3.0).eval()) == 3.0


@pytest.mark.parametrize(
    ("text", "dtype", "wanted"),
    [
        ("1.5", "float32", [[1.5, 1.5], [1.5, 1.5]]),
        ("[[1, 2], [3, 4]]", "int8", [[1, 2], [3, 4]]),
        ("[[true, false], [false, true]]", "bool", [[True, False], [False, True]]),
        ('"0x00000000000080BF0000C07F0000807F"', "float32", [[0, -1], [np.nan, np.inf]]),
        ("0xFFF0000000000000", "float64", [[-np.inf] * 2] * 2),
        ("[[0x7FF8000000000000, 1.0], [-2.5e-03, 4]]", "float64", [[np.nan, 1], [-0.0025, 4]]),
        ("[[(1.0, 2.0), (0.0, -1.0)], [(3.0, 0.0), (0.0, 0.0)]]", "complex128", [[1 + 2j, -1j], [3, 0]]),
        ('"0x0A"', "bool", [[True, True], [True, True]]),
        ('"0x00010001"', "bool", [[False, True], [False, True]]),
    ],
)
def test_constants_are_read_in_every_form(text: str, dtype: str, wanted: Any) -> None:
    found = dense_array(DenseText(text, 1), Form((2, 2), dtype), {})
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(wanted, dtype))


def test_what_pytorch_and_tensorflow_write_is_read() -> None:
    """Normalisation of layers, functions as calls, functions outside of a module, divided arrays, older dialects."""
    text = """
module @IrToHlo.7 attributes {mhlo.cross_program_prefetches = [], mhlo.is_dynamic = false} {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main(%arg0: tensor<2x5xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tuple<tensor<2x5xf64>> {
    %0 = mhlo.constant dense<1.000000e+00> : tensor<2xf64>
    %1 = "mhlo.broadcast_in_dim"(%0) {broadcast_dimensions = dense<[0]> : tensor<1xi64>} : (tensor<2xf64>) -> tensor<2xf64>
    %2, %mean, %var = "stablehlo.batch_norm_training"(%arg0, %0, %1) {epsilon = 9.99999974E-6 : f32,
      feature_index = 0 : i64} : (tensor<2x5xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x5xf64>, tensor<2xf64>, tensor<2xf64>)
    %3 = stablehlo.custom_call @mhlo.erf(%2) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2x5xf64>) -> tensor<2x5xf64>
    %4:2 = stablehlo.custom_call @mhlo.topk(%3) {mhlo.attributes = {k = 5 : i64}} : (tensor<2x5xf64>) -> (tensor<2x5xf64>, tensor<2x5xi32>)
    %5 = stablehlo.tuple %4#0 : tuple<tensor<2x5xf64>>
    return %5 : tuple<tensor<2x5xf64>>
  }
}
"""  # noqa: E501 (lines of other programs)
    x = np.array([[0.3, -1.0, 2.0, 0.1, 5.0], [1.0, 2.0, 4.0, 8.0, 16.0]])
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 9.99999974e-6) + 1
    (found,) = pm.from_stablehlo(text)(x)
    np.testing.assert_allclose(found.eval(), -np.sort(-scipy.special.erf(normal), axis=1), rtol=1e-9)


def test_constants_in_resources_are_read() -> None:
    body = "    %c = stablehlo.constant dense_resource<w> : tensor<2xf64>\n    return %c : tensor<2xf64>"
    text = module(body, "", "tensor<2xf64>")
    data = np.array([1.0, -2.0]).tobytes().hex()
    whole = f'{text}{{-#\n  dialect_resources: {{\n    builtin: {{\n      w: "0x08000000{data}"\n    }}\n  }}\n#-}}\n'
    np.testing.assert_array_equal(pm.from_stablehlo(whole)().eval(), [1.0, -2.0])
    with pytest.raises(ParseError, match="are left out in line 3"):
        pm.from_stablehlo(text.replace("<w>", "<__elided__>"))


def test_reductions_with_bodies_of_their_own_and_wide_bits() -> None:
    """A body that is no single operation; shifts by more places than there are; the total order."""
    text = module(
        """    %c = stablehlo.constant dense<2> : tensor<i64>
    %0 = stablehlo.reduce(%a init: %c) across dimensions = [0] : (tensor<5xi64>, tensor<i64>) -> tensor<i64>
     reducer(%x: tensor<i64>, %y: tensor<i64>)  {
      %2 = stablehlo.xor %x, %y : tensor<i64>
      %3 = stablehlo.or %2, %2 : tensor<i64>
      stablehlo.return %3 : tensor<i64>
    }
    %4 = stablehlo.constant dense<[0, 1, 63, 64, -1]> : tensor<5xi64>
    %5 = stablehlo.shift_right_logical %a, %4 : tensor<5xi64>
    %6 = stablehlo.shift_right_arithmetic %a, %4 : tensor<5xi64>
    %7 = stablehlo.shift_left %a, %4 : tensor<5xi64>
    %8 = stablehlo.popcnt %a : tensor<5xi64>
    %9 = stablehlo.count_leading_zeros %a : tensor<5xi64>
    return %0, %5, %6, %7, %8, %9 : tensor<i64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, """
        "tensor<5xi64>",
        "%a: tensor<5xi64>", "(tensor<i64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>)",
    )  # fmt: skip
    given = np.array([5, -8, -1, -3, 7])
    x = pt.tensor("x", shape=(5,), dtype="int64")
    total, logical, arithmetic, left, ones, zeros = pt.function([x], list(pm.from_stablehlo(text)(x)))(given)
    assert total == 2 ^ 5 ^ -8 ^ -1 ^ -3 ^ 7
    np.testing.assert_array_equal(logical, [5, 2**63 - 4, 1, 0, 0])
    np.testing.assert_array_equal(arithmetic, [5, -4, -1, -1, 0])
    np.testing.assert_array_equal(left, [5, -16, -(2**63), 0, 0])
    np.testing.assert_array_equal(ones, [2, 61, 64, 63, 3])
    np.testing.assert_array_equal(zeros, [61, 0, 0, 0, 61])


@pytest.mark.parametrize(("kind", "dtype"), [("i8", "int8"), ("i64", "int64"), ("ui8", "uint8"), ("ui64", "uint64")])
def test_whole_numbers_are_divided_towards_zero(kind: str, dtype: str) -> None:
    """The greatest and the least among them."""
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, info.max, 7, 1] + ([-7, -100] if info.min else [0, 100])
    a, b = (g.ravel() for g in np.meshgrid(np.array(numbers, dtype), np.array([2, 3, info.max, 5], dtype)))
    if info.min:
        b = np.where(np.arange(b.size) % 2, b, -b)
    of = f"tensor<{a.size}x{kind}>"
    body = f"    %0 = stablehlo.divide %a, %b : {of}\n    %1 = stablehlo.remainder %a, %b : {of}\n"
    body += f"    return %0, %1 : {of}, {of}"
    x, y = (pt.tensor(name, shape=a.shape, dtype=dtype) for name in "xy")
    text = module(body, f"%a: {of}, %b: {of}", f"({of}, {of})")
    quotient, rest = pt.function([x, y], list(pm.from_stablehlo(text)(x, y)))(a, b)
    for i, j, q, r in zip(a.tolist(), b.tolist(), quotient.tolist(), rest.tolist(), strict=True):
        assert q == (abs(i) // abs(j)) * (1 if (i < 0) == (j < 0) else -1)
        assert r == i - q * j


@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_windows_keep_the_order_of_their_elements(reverse: bool) -> None:
    """A body that is associative and not commutative: the composition of affine functions."""
    pair, scalars = "(tensor<5xf64>, tensor<5xf64>)", "tensor<f64>, tensor<f64>"
    edges = "[[0, 4]]" if reverse else "[[4, 0]]"
    body = f"""    %1 = stablehlo.constant dense<1.0> : tensor<f64>
    %0 = stablehlo.constant dense<0.0> : tensor<f64>
    %r:2 = "stablehlo.reduce_window"(%a, %b, %1, %0) <{{window_dimensions = array<i64: 5>, padding = dense<{edges}> :
      tensor<1x2xi64>}}> ({{
    ^bb0(%p: tensor<f64>, %q: tensor<f64>, %s: tensor<f64>, %t: tensor<f64>):
      %u = stablehlo.multiply %p, %s : tensor<f64>
      %v = stablehlo.multiply %q, %s : tensor<f64>
      %w = stablehlo.add %v, %t : tensor<f64>
      stablehlo.return %u, %w : {scalars}
    }}) : (tensor<5xf64>, tensor<5xf64>, {scalars}) -> {pair}
    return %r#1 : tensor<5xf64>"""
    a, b = np.array([0.5, 2.0, -1.0, 3.0, 0.25]), np.array([1.0, -2.0, 0.5, 0.0, 4.0])
    found = pm.from_stablehlo(module(body, "%a: tensor<5xf64>, %b: tensor<5xf64>"))(a, b).eval()
    for i, own in enumerate(found):
        value = 0.0
        for j in range(i, 5) if reverse else range(i + 1):
            value = value * a[j] + b[j]
        assert own == pytest.approx(value)


SORT = """    %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<f64>, %y: tensor<f64>, %i: tensor<i64>, %j: tensor<i64>):
{}
      stablehlo.return %r : tensor<i1>
    }}) : (tensor<6xf64>, tensor<6xi64>) -> (tensor<6xf64>, tensor<6xi64>)
    return %0#1 : tensor<6xi64>"""
LESS = "comparison_direction = #stablehlo<comparison_direction LT>"
SCALARS, NUMBERS = "(tensor<f64>, tensor<f64>) -> tensor<i1>", "(tensor<i64>, tensor<i64>) -> tensor<i1>"


@pytest.mark.parametrize(
    ("comparison", "order"),
    [
        (f"      %r = stablehlo.compare LT, %x, %y, FLOAT : {SCALARS}", [5, 1, 3, 0, 2, 4]),
        (f"      %r = stablehlo.compare GT, %y, %x : {SCALARS}", [5, 1, 3, 0, 2, 4]),
        (f"      %r = stablehlo.compare GT, %x, %y, TOTALORDER : {SCALARS}", [4, 0, 2, 1, 3, 5]),
        (f"      %r = stablehlo.compare LT, %j, %i, SIGNED : {NUMBERS}", [5, 4, 3, 2, 1, 0]),
        ((f"      %l = stablehlo.compare LT, %x, %y : {SCALARS}\n      %e = stablehlo.compare EQ, %x, %y : {SCALARS}\n"
         f"      %g = stablehlo.compare GT, %i, %j : {NUMBERS}\n      %n = stablehlo.and %e, %g : tensor<i1>\n"
         "      %r = stablehlo.or %l, %n : tensor<i1>"), [5, 3, 1, 2, 0, 4]),
        (f'      %r = "stablehlo.compare"(%x, %y) <{{{LESS}}}> : {SCALARS}',
         [5, 1, 3, 0, 2, 4]),
        (f"      %u = stablehlo.abs %x : tensor<f64>\n      %r = stablehlo.compare LT, %u, %y : {SCALARS}", None),
        (f"      %r = stablehlo.compare LE, %x, %y : {SCALARS}", None),
        (f"      %r = stablehlo.compare LT, %x, %x : {SCALARS}", None),
    ],
)  # fmt: skip
def test_sorts_are_told_by_their_comparisons(comparison: str, order: list[int] | None) -> None:
    """Up, down, by the second operand, by two; others are refused."""
    text = module(SORT.format(comparison), "%a: tensor<6xf64>, %b: tensor<6xi64>", "tensor<6xi64>")
    if order is None:
        with pytest.raises(MissingRuleError, match="an order other than that of its operands"):
            pm.from_stablehlo(text)
        return
    found = pm.from_stablehlo(text)(np.array([2.0, 1.0, 2.0, 1.0, 3.0, -1.0]), np.arange(6))
    np.testing.assert_array_equal(found.eval(), order)


def test_bits_of_floats_are_those_of_numpy() -> None:
    for dtype, name in (("float64", "f64"), ("float32", "f32")):
        whole = dtype.replace("float", "uint")
        values = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 0.1, 3.0], dtype)
        info = np.finfo(dtype)
        values = np.append(values, [info.tiny, info.smallest_subnormal, -info.max, info.tiny / dtype_two(dtype)])
        kinds = (f"tensor<13x{name}>", f"tensor<13xui{whole[4:]}>")
        for (one, other), given in ((kinds, values), (kinds[::-1], values.view(whole))):
            body = f"    %0 = stablehlo.bitcast_convert %a : ({one}) -> {other}\n    return %0 : {other}"
            x = pt.tensor("x", shape=(13,), dtype=str(given.dtype))
            out = pt.function([x], pm.from_stablehlo(module(body, f"%a: {one}", other))(x))(given)
            np.testing.assert_array_equal(out, given.view(out.dtype))


def dtype_two(dtype: str) -> Any:
    return np.asarray(2, dtype)


ONE = "    %0 = {} : tensor<4xf64>\n    return %0 : tensor<4xf64>"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (module(ONE.format("stablehlo.frobnicate %a")), MissingRuleError,
         r"`stablehlo.frobnicate` has no translation \(line 3 of the text: `%0 = stablehlo.frobnicate"),
        (module(ONE.format('"stablehlo.rng"(%a, %a, %a) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}>')),
         MissingRuleError, "`stablehlo.rng` has no translation .line 3 .*Draw beforehand"),
        (module(ONE.format("stablehlo.custom_call @mystery(%a)")), MissingRuleError, "the call of `mystery` .*line 3"),
        (module(ONE.format("stablehlo.add %a, %b")), ParseError, "`%b` is used before it is known .line 3"),
        (module(ONE.format("call @other(%a)")), ParseError, "`@other` is called and is not in the text"),
        (module("    return %a : tensor<?xf64>", "%a: tensor<?xf64>", "tensor<?xf64>"), ShapeError,
         "leaves a length open .argument %a of `@main`"),
        (module("    return %a : tensor<4xf8E4M3FN>", "%a: tensor<4xf8E4M3FN>", "tensor<4xf8E4M3FN>"), DtypeError,
         "`f8E4M3FN` cannot be computed with"),
        (module("    %0 = stablehlo.add %a ] %a : tensor<4xf64>"), ParseError, "`stablehlo.add`.* in line 3"),
        ("def f(x):\n  return x", ParseError, "a function .* was needed in line 1"),
        ("module {\n ` }", ParseError, "line 2 cannot be read as MLIR"),
        ("module { func.func @f() -> () { return } }", GraphError, "no function `@main`; it has f"),
        (module("    %0 = vhlo.add_v1 %a, %a : tensor<4xf64>\n    return %0 : tensor<4xf64>"), MissingRuleError,
         "stablehlo-translate"),
    ],
)  # fmt: skip
def test_mistakes_in_the_text_are_told_with_their_line(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pm.from_stablehlo(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_that_is_cut_or_changed_is_read_or_refused(path: Path) -> None:
    """No other exception, whatever is missing or added."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("module") :]
    rng = np.random.default_rng(len(text))
    for change in range(9):
        place = int(rng.integers(len(text)))
        more = ("%", "(", "<{", "[", ":", ",", "x", "0", '"', "dense<")[int(rng.integers(10))]
        changed = (text[:place], text[:place] + text[place + 2 :], text[:place] + more + text[place:])[change % 3]
        with contextlib.suppress(ConsilienceError):
            assert callable(pm.from_stablehlo(changed))


def test_mistakes_in_the_arguments_are_told() -> None:
    function = pm.from_stablehlo(SUM)
    with pytest.raises(GraphError, match=r"`main` has 1 arguments \(float64\[4\]\), got 2"):
        function(np.ones(4), 1.0)
    with pytest.raises(ShapeError, match=r"argument %a of `main` was traced with the shape \(4,\)"):
        function(np.ones(3))
    with pytest.raises(DtypeError, match="was traced as float64"):
        function(np.ones(4) + 1j)
