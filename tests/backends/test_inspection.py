"""What compiled functions tell of themselves: rules and terms, loops as Python and as LLVM, times of kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.inspect.kernel_profile import KernelProfile
from consilience.backends.inspect.stages import stages
from consilience.backends.printing import debugprint, pprint, to_html, to_mermaid
from consilience.errors import GraphError
from consilience.ir import Input, Node, topological
from consilience.ops import TABLE
from tests.printing.graphs import ALL, branch, covering, loop, of_row

LOGISTIC = np.linspace(-2.0, 2.0, 101)


def logistic() -> pt.Function:
    """A logistic regression as people write it, with a slip of numerics in every line."""
    slope, x, y = pt.scalar("slope"), pt.vector("x"), pt.vector("y")
    p = 1 / (1 + pt.exp(-slope * x))
    loss = -(y * pt.log(p) + (1 - y) * pt.log(1 - p)).sum()
    f: pt.Function = pt.function([slope, x, y], [loss, pt.grad(loss, slope)], name="logistic")
    return f


class Memory:
    """What a pointer leads to, for lowered loops that Python runs: cells that hold any number, and slices of them."""

    def __init__(self, cells: list[Any], start: int = 0) -> None:
        self.cells, self.start = cells, start

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Memory(self.cells, self.start + place.start)
        return self.cells[self.start + place]

    def __setitem__(self, place: int, value: Any) -> None:
        self.cells[self.start + place] = np.float64(value) if isinstance(value, float) else value


def memory(size: int) -> Memory:
    """Cells for so many bytes, or more."""
    return Memory([np.float64(0.0)] * size)


PYTHONS = {name: row.numpy for name, row in TABLE.items()} | {
    "memory": memory, "f64": np.float64, "i64": int, "i32": int, "i8": int, "abs": abs,
    "maximum": np.maximum, "minimum": np.minimum, "isnan": np.isnan, "round_even": np.rint,
    "fmod": np.fmod, "copysign": np.copysign, "f32": lambda x: float(np.float32(x)), "fma": lambda a, b, c: a * b + c,
}  # fmt: skip


def run_by_python(nodes: list[Node], outputs: list[Node], arrays: list[Any]) -> bool:
    """Check that the lowered loops, run by Python, give what the function gives; False if they call a library."""
    f = pt.function(nodes, outputs, on_unused_input="ignore")
    (stage, *others), _ = stages((*f.inputs,), f.optimised, f.check_shapes([a.shape for a in arrays]), arrays)
    if others:  # the first stage finds lengths only
        return False
    known: dict[str, Any] = dict(PYTHONS)
    exec(stage.python(), known)
    results = [memory(np.size(w) + 1) for w in f(*arrays)]
    tables = [[Memory(list(a.ravel())) for a in values] for values in (arrays, stage.program.constants)]
    try:
        with np.errstate(all="ignore"):
            status = known["entry"](tables[0], results, memory(stage.workspace), tables[1])
    except NameError:
        return False
    assert status == 0
    for found, meant in zip(results, f(*arrays), strict=True):
        np.testing.assert_allclose(found.cells[:-1], np.ravel(meant), rtol=1e-6, atol=1e-9)
    return True


class TestExplanation:
    def test_names_rules_with_the_terms_before_and_after_and_the_users_line(self) -> None:
        report = logistic().explain()
        rules = {rule.rule: rule for rule in report.rules}
        assert "1 - sigmoid" in rules
        assert rules["log of sigmoid"].count == len(rules["log of sigmoid"].applications) == 2
        assert report.computed < report.written
        text = str(report)
        assert re.search(
            r"1 - sigmoid\n +1 - sigmoid\(slope \* x\)  →  sigmoid\(.*\)   \(.*test_inspection\.py:\d+\)", text
        )
        assert "what is computed:" in text
        assert text.endswith("all of it is machine code.")

    def test_says_what_runs_in_python(self) -> None:
        x = pt.vector("x")
        assert pt.function([x], x + 1, mode="PY").explain().python == (
            "everything: the backend 'reference' computes value by value with NumPy",
        )
        (staged,) = pt.function([x], x[x > 0]).explain().python
        assert "lengths that depend on values are computed first" in staged
        z = pt.zvector("z")
        assert any("complex" in line for line in pt.function([z], z * 2).explain().python)
        assert "in Python, holding the interpreter's lock:" in str(pt.function([x], x[x > 0]).explain())

    def test_names_python_functions_and_shows_functions_with_derivatives_of_their_own(self) -> None:
        @pt.wrap_py([pt.dvector], [pt.dvector], infer_shape=lambda node, shapes: shapes)
        def doubled(x: Any) -> Any:
            return 2 * x

        x = pt.vector("x")
        f = pt.function([x], doubled(x) + 1)
        (found,) = f.explain().python
        assert re.fullmatch(r"python\(doubled\)   \(.*test_inspection\.py:\d+\)", found)
        assert pprint(doubled(x) + 1) == "doubled(x)[0] + 1"
        clipped = pt.custom_vjp(lambda x: pt.exp(x))
        clipped.defvjp(lambda x: (pt.exp(x), x), lambda x, seed: (pt.clip(seed * pt.exp(x), -1.0, 1.0),))
        text = debugprint(clipped(x), file="str")
        assert isinstance(text, str)
        assert "pullback:" in text
        for graph in (clipped(x), doubled(x)):
            assert pprint(graph)
            assert to_html(graph)
            assert to_mermaid(graph)

    def test_of_a_graph_as_written_knows_no_rules(self) -> None:
        x = pt.vector("x")
        report = pt.function([x], pt.log(pt.exp(x)), mode="FAST_COMPILE").explain()
        assert not report.rules
        assert report.result == "log(exp(x))"

    def test_of_loops_reaches_inside(self) -> None:
        out = loop()
        f = pt.function([n for n in topological(out) if isinstance(n.op, Input)], out)
        assert f.explain().computed > 20

    def test_of_a_models_density_names_the_lines_of_its_variables(self) -> None:
        with pm.Model() as model:
            scale = pm.HalfNormal("scale")
            pm.Normal("y", 0.0, scale, observed=[1.0, 2.0])
        f = model.compile_logp().f
        assert "test_inspection.py" in str(f.explain())
        assert pm.compile([scale], scale + 1).explain().result == "1 + scale"


class TestLoweredLoops:
    def test_every_op_of_the_table_is_readable_python(self) -> None:
        for row in covering():
            nodes, arrays, outputs = of_row(row)
            f = pt.function(nodes, outputs, on_unused_input="ignore")
            text = f.lowered(*arrays)
            tree = ast.parse(text)
            assert any(isinstance(s, ast.FunctionDef) and s.name == "entry" for s in tree.body), row.text
            assert "define i64 @entry" in f.llvm(*arrays).replace('"', "")

    def test_names_inputs_and_writes_loops_as_people_would(self) -> None:
        x, y = pt.vector("x"), pt.vector("y")
        f = pt.function([x, y], (x * y + 1).sum())
        text = f.lowered(np.ones(7), np.ones(7))
        assert "# inputs: x float64[7], y float64[7]" in text
        assert "    for i in range(7):\n        total +=" in text
        assert "x[i] * y[i]" in text
        assert "output0[0] = " in text

    @pytest.mark.parametrize("graph", [branch, loop])
    def test_loops_and_branches_compute_what_the_function_computes(self, graph: Callable[[], list[Node]]) -> None:
        outputs = graph()
        nodes = [n for n in topological(outputs) if isinstance(n.op, Input)]
        for flag in (True, False):
            arrays = [
                np.array(flag if n.dtype == "bool" else 0.3) if not n.ndim else np.linspace(-1, 2, 4) for n in nodes
            ]
            assert run_by_python(nodes, outputs, arrays)

    def test_every_op_of_the_table_computes_what_the_function_computes(self) -> None:
        """Of those that call no library."""
        ran = 0
        for row in ALL[::2]:
            nodes, arrays, outputs = of_row(row)
            ran += run_by_python(nodes, outputs, arrays)
        assert ran > 180

    def test_needs_shapes_unless_they_are_known(self) -> None:
        x = pt.vector("x")
        f = pt.function([x], x.sum(), name="total")
        with pytest.raises(TypeError, match="shapes of the inputs of `total` are not known yet: call it first"):
            f.lowered()
        f(np.ones(5))
        assert "range(5)" in f.lowered()
        fixed = pt.vector("y", shape=(3,))
        assert "range(3)" in pt.function([fixed], fixed.sum()).lowered()
        masked = pt.function([x], x[x > 0], name="masked")
        masked(np.ones(3))
        with pytest.raises(TypeError, match="lengths in `masked` depend on values, so give those"):
            masked.lowered()
        assert masked.lowered(np.ones(3)).count("def entry") == 2

    def test_is_refused_where_there_is_no_machine_code(self) -> None:
        x = pt.vector("x")
        f = pt.function([x], x + 1, mode="PY", name="slow")
        for look in (f.lowered, f.llvm, f.profile_kernels):
            with pytest.raises(GraphError, match="`slow` was compiled for the backend 'reference'"):
                look(np.ones(2))


class TestKernelProfile:
    def test_every_op_of_the_table_has_its_time(self) -> None:
        for row in covering():
            nodes, arrays, outputs = of_row(row)
            f = pt.function(nodes, outputs, on_unused_input="ignore")
            profile = f.profile_kernels(*arrays, repeat=3)
            assert isinstance(profile, KernelProfile)
            assert all(kernel.seconds >= 0.0 and kernel.size >= 0 for kernel in profile.kernels), row.text
            assert str(profile)

    @pytest.mark.parametrize("graph", [branch, loop])
    def test_loops_and_branches_are_kernels(self, graph: object) -> None:
        outputs = graph()  # type: ignore[operator]  # a function
        f = pt.function([n for n in topological(outputs) if isinstance(n.op, Input)], outputs)
        values = [np.ones(10) if v.ndim else np.array(True if v.dtype == "bool" else 0.5) for v in f.inputs]
        assert f.profile_kernels(*values, repeat=3).kernels

    def test_counts_bytes_and_operations_and_names_the_users_lines(self) -> None:
        x, y = pt.vector("x"), pt.vector("y")
        f = pt.function([x, y], (x * y + x).sum())
        profile = f.profile_kernels(np.ones(100_000), np.ones(100_000), repeat=5)
        kernel = max(profile.kernels, key=lambda k: k.seconds)
        assert kernel.size == 2 * 8 * 100_000
        assert kernel.operations == pytest.approx(3 * 100_000, rel=1e-3)
        assert any("test_inspection.py" in place for place in kernel.sources)
        assert "mul" in kernel.title
        assert kernel.memory_share > 0.0
        assert profile.call_seconds >= profile.code_seconds * 0.5
        assert "GB/s" in str(profile)

    def test_times_are_those_of_the_code(self) -> None:
        """Kernels together take about as long as a call in which little else happens."""
        x = pt.vector("x")
        f = pt.function([x], pt.exp(pt.sin(x)).sum())
        profiles = (f.profile_kernels(np.ones(300_000), repeat=15) for _ in range(8))  # others may use the machine, too
        assert any(0.5 * p.code_seconds < sum(k.seconds for k in p.kernels) < 1.5 * p.code_seconds for p in profiles)

    def test_leaves_shared_values_alone(self) -> None:
        counter = pt.shared(0, name="counter")
        f = pt.function([], counter * 2, updates={counter: counter + 1})
        f.profile_kernels(repeat=3)
        assert counter.get_value() == 0

    def test_wrong_use_is_refused(self) -> None:
        x = pt.vector("x")
        f = pt.function([x], x + 1)
        for repeat in (0, 2, True, 5.0):
            with pytest.raises(ValueError, match="`repeat` must be a number of calls, at least 3"):
                f.profile_kernels(np.ones(3), repeat=repeat)  # type: ignore[arg-type]  # the mistake
        with pytest.raises(TypeError, match="needs a value for `x`"):
            f.profile_kernels()


def test_a_function_of_nothing_can_be_looked_at() -> None:
    f = pt.function([], pt.constant(1.0) + pt.constant([1.0, 2.0]))
    assert "def entry" in f.lowered()
    assert f.profile_kernels(repeat=3).repeat == 3
    assert f.explain().computed == 1
