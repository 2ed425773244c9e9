"""Tables under the names of scalar functions name rows that there are, and what is missing in them is argued."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.engines.stablehlo.emit import scalars
from consilience.errors import MissingRuleError
from consilience.ir import tensor_input
from consilience.native.vectormath import FUNCTIONS
from consilience.ops import TABLE, apply
from consilience.ops.formulas import FORMULAS
from consilience.ops.scalar import COLUMNS, Column
from consilience.ops.ufuncs import OTHERWISE
from consilience.tensor import elementwise
from consilience.transforms.gradient import NO_DERIVATIVE, gradient

TOOL = Path(__file__).resolve().parents[2] / "tools" / "tables.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("listing_of_tables", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_listing_of_tables_is_up_to_date(tool: ModuleType) -> None:
    """`python tools/tables.py` writes it."""
    assert tool.LISTING.read_text(encoding="utf-8") == tool.listing()
    assert tool.PLACES.keys() == COLUMNS.keys()


def test_every_empty_cell_is_argued_and_no_full_one(tool: ModuleType) -> None:
    assert tool.unexplained() == set()


def test_every_function_has_machine_code_a_formula_or_parts(tool: ModuleType) -> None:
    """And one of the first two; functions of complex numbers have a formula for their parts."""
    code, formulas = COLUMNS["machine code"].keys(), FORMULAS.keys()
    parts = COLUMNS["of complex numbers"].keys() | COLUMNS["real, of complex numbers"].keys()
    assert not code & formulas
    assert not TABLE.keys() - code - formulas - parts
    assert {n for n, row in TABLE.items() if "complex" in (*row.accepts, row.result)} - {"where"} == parts


def test_names_elsewhere_are_rows() -> None:
    """NumPy's and the public names lead to rows; vector code is of rows, but for C's name of one."""
    assert set(OTHERWISE.values()) <= TABLE.keys()
    assert set(elementwise.ROWS.values()) | elementwise._ELSEWHERE == TABLE.keys()
    assert FUNCTIONS.keys() - {"lgamma"} <= COLUMNS["machine code"].keys()
    assert {name for name in NO_DERIVATIVE if isinstance(name, str)} <= TABLE.keys()


def test_names_of_functions_in_engines_are_rows() -> None:
    names = {*scalars._DIRECT, *scalars._CHLO, *scalars._COMPARED, *scalars._SPECIAL}
    assert names <= TABLE.keys()


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_names_of_functions_in_engines_that_are_installed_are_rows(engine: str) -> None:
    pytest.importorskip(engine)
    emitted = import_module(f"consilience.engines.{engine}.emit.elementwise")
    assert emitted.FUNCTIONS.keys() | getattr(emitted, "VALUES", {}).keys() <= TABLE.keys()


def test_an_unknown_name_is_refused_with_the_one_that_is_near() -> None:
    with pytest.raises(MissingRuleError, match=r"no scalar function `sotfplus`; did you mean `softplus`\?"):
        apply("sotfplus", 1.0)
    with pytest.raises(MissingRuleError, match=r"no scalar function `nothing like it`\."):
        COLUMNS["bounds"]["nothing like it"] = lambda x: x
    with pytest.raises(MissingRuleError, match="no scalar function `lgama`"):
        Column("never entered", {"lgama": 1})
    del COLUMNS["never entered"]


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - NO_DERIVATIVE.keys()))
def test_the_derivative_of_a_formula_is_that_of_its_function(name: str) -> None:
    """Operands that are one node, or one inside another, count once each."""
    x = tensor_input("float64", ())
    arguments = [x, apply("sigmoid", x)][: TABLE[name].arity]
    both = [gradient(y, x) for y in (apply(name, *arguments), FORMULAS[name](*arguments))]
    function, formula = evaluate(both, {x: np.array(0.3)})
    np.testing.assert_allclose(function, formula, rtol=1e-12)


def test_logarithms_of_probabilities_of_log_odds_are_finite_far_out() -> None:
    x = pt.vector("x")
    values = pt.log_expit(x).eval({x: np.array([-800.0, -1.0, 0.0, 40.0, np.inf])})
    np.testing.assert_allclose(values, [-800.0, -1.3132616875182228, -np.log(2.0), -np.exp(-40.0), 0.0], rtol=1e-15)
