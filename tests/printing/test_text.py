"""Graphs in writing: every op has its line, letters are shared, inner graphs follow, no text outgrows its graph."""

from __future__ import annotations

import ast
import io
import re

import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.printing import debugprint, pprint
from consilience.backends.printing.infix import term
from consilience.errors import GraphError
from consilience.ir import Constant, Node, topological
from tests.printing.graphs import ALL, branch, loop, of_row


def written(graph: object, **options: object) -> str:
    """The tree as a text."""
    text = debugprint(graph, file="str", **options)  # type: ignore[arg-type]  # any graph, any option
    assert isinstance(text, str)
    return text


def test_a_tree_has_the_looks_of_pytensor() -> None:
    x, y = pt.scalar("x"), pt.scalar("y")
    shared = pt.exp(x)
    assert written(shared * y + shared) == "\n".join(
        [
            "add [id A]",
            " ├─ mul [id B]",
            " │  ├─ exp [id C]",
            " │  │  └─ x [id D]",
            " │  └─ y [id E]",
            " └─ exp [id C]",
            "    └─ ···",
        ]
    )


def test_every_op_of_the_table_has_its_line_and_its_formula() -> None:
    """Each value once, whatever the op; the formula is an expression of Python, but for the bodies of loops."""
    for row in ALL:
        _, _, outputs = of_row(row)
        text = written(outputs, print_inner_graphs=False)
        letters = re.findall(r"\[id (\w+)\]", text)
        assert len(set(letters)) == len(topological(outputs)), row.text
        for line in pprint(outputs).split("\n"):
            if "→" in line:
                continue
            # A node is the same in all programs, and may have got a name with spaces in one.
            ast.parse(re.sub(r"result (\d)", r"result_\1", re.sub(r"(\w) of (\w)", r"\1_of_\2", line)))


@pytest.mark.parametrize("graph", [branch, loop])
def test_inner_graphs_follow_with_letters_of_their_own(graph: object) -> None:
    outputs = graph()  # type: ignore[operator]  # a function
    text = written(outputs, print_type=True)
    head, _, inner = text.partition("Inner graphs:")
    assert not set(re.findall(r"[─→] .*?\[id (\w+)\]", inner)) & set(re.findall(r"\[id (\w+)\]", head))
    assert re.search(r"\*0-<float64\[.*\]> -> \[id \w+\]", inner)
    assert "Inner graphs" not in written(outputs, print_inner_graphs=False)


def test_options_say_types_shapes_lines_and_how_deep() -> None:
    x = pt.matrix("x", shape=(2, 3))
    y = pt.exp(x).sum(axis=0)
    y_text = written(y, print_type=True, print_shape=True, print_source=True)
    assert "sum(axes=(0,)) [id A] <float64[3]> shape=(3,)" in y_text
    assert f"({__file__}:" in y_text
    assert written(y, depth=1) == "sum(axes=(0,)) [id A]"
    assert written(y, id_type="int", depth=2).endswith("exp [id 1]")
    assert written(y, id_type="", depth=2).endswith("exp")
    named = pt.exp(x + 1)
    named = pm.tensor.as_tensor(named, name="named")
    assert "x [" not in written(named * 2, stop_on_name=True)
    file = io.StringIO()
    assert debugprint(y, file=file) is file
    assert file.getvalue() == written(y) + "\n"


def test_letters_go_on_behind_z() -> None:
    text = written([pt.scalar(f"v{i}") for i in range(30)])
    assert "[id Z]" in text
    assert "[id AD]" in text


def test_names_come_with_their_ops(capsys: pytest.CaptureFixture[str]) -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Deterministic("twice", 2 * mu)
        pm.Normal("y", mu, observed=[1.0, 2.0])
    text = written(model)
    assert "Normal 'mu' [id A]" in text
    assert "mul 'twice'" in text
    assert "Normal 'y'" in text
    assert "[observed]" in text
    assert pprint(model) == "mu = Normal(0, 1)\ntwice = 2 * mu\ny = Normal(mu, 1)"
    assert "mu" in written(model.compile_logp())
    mu.dprint()
    assert "Normal 'mu'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x, y: x + 2 * y, "x + 2 * y"),
        (lambda x, y: (x + y) * (x - y), "(x + y) * (x - y)"),
        (lambda x, y: x - (y - x), "x - (y - x)"),
        (lambda x, y: -(x / y), "-x / y"),
        (lambda x, y: -(x % y), "-(x % y)"),
        (lambda x, y: (-x) ** y, "(-x) ** y"),
        (lambda x, y: x / (y * x), "x / (y * x)"),
        (lambda x, y: (x < y) & (y < 1), "(x < y) & (y < 1)"),
        (lambda x, y: pt.where(x > y, pt.exp(x), 0.0), "where(x > y, exp(x), 0)"),
        (lambda x, y: pt.maximum(x, y).astype("float32"), "float32(maximum(x, y))"),
    ],
)  # fmt: skip
def test_formulas_have_as_many_parentheses_as_they_need(build: object, text: str) -> None:
    x, y = pt.scalar("x"), pt.scalar("y")
    assert pprint(build(x, y)) == text  # type: ignore[operator]  # a function


def test_indices_and_axes_are_written_as_users_write_them() -> None:
    x = pt.matrix("x")
    assert pprint(x[1:, 0]) == "x[1:, 0]"
    assert pprint(x[::2, None].sum(axis=0)) == "sum(x[::2, None], axis=0)"
    assert pprint((x @ x).sum()) == "sum(x @ x)"
    assert pprint(x[0].set(1.0)) == "x[0].set(broadcast_to(1, (x.shape[1],)))"


def test_a_value_used_twice_is_written_once() -> None:
    """A formula is no longer than its graph: this one would have a million signs."""
    value: Node = pt.scalar("x")
    for _ in range(20):
        value = pt.exp(value) / (1 + pt.exp(value))
    text = pprint(value)
    assert len(text) < 40 * 20
    assert text.count("exp(") == 20


def test_long_chains_are_written_without_recursion() -> None:
    value: Node = pt.scalar("x")
    for i in range(2000):
        value = pt.sin(value + i)
    assert pprint(value).count("sin(") == 2000
    assert written(value, depth=5).count("\n") == 6
    whole = written(value)
    assert len(re.findall(r"(?:^|─ )sin .*(?<!continued\])$", whole, re.MULTILINE)) == 2000
    assert len(whole) < 2000 * 2 * 1000
    assert term(value).count("…") == 1


def test_compiled_functions_show_what_is_computed() -> None:
    x = pt.vector("x")
    counter = pt.shared(0, name="counter")
    f = pt.function([x], {"loss": pt.log(pt.exp(x)).sum()}, updates={counter: counter + 1}, name="f")
    text = written(f)
    assert "exp" not in text
    assert "sum(axes=(0,)) [id A] [loss]" in text or "sum(axes=(0,)) [id A] loss" in text
    assert "[next value of counter]" in text


@pytest.mark.parametrize("wrong", [1.0, "x", None, [1.0], {"a": object()}])
def test_what_is_no_graph_is_refused(wrong: object) -> None:
    for write in (written, pprint):
        with pytest.raises(GraphError, match="an expression, a list of expressions, a compiled function or a model"):
            write(wrong)  # type: ignore[operator]  # either


def test_wrong_options_are_refused() -> None:
    x = pt.scalar("x")
    with pytest.raises(ValueError, match="`id_type` must be 'CHAR', 'int' or ''"):
        debugprint(x, id_type="letters")
    with pytest.raises(TypeError, match="`depth` must be a number of levels"):
        debugprint(x, depth="all")  # type: ignore[arg-type]  # the mistake
    assert written(pt.constant([1.0, 2.0])) == "[1., 2.] [id A]"
    assert isinstance(pt.constant(1.0).op, Constant)
