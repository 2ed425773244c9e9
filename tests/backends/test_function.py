"""What a compiled function promises: names, forms, checks at the call, contexts, threads, memory."""

from __future__ import annotations

import gc
import inspect
import math
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.contexts import DEFAULT, Context, shared
from consilience.backends.function import KEPT_SHAPES, Function, function
from consilience.errors import (
    DtypeError,
    ExecutionError,
    GraphError,
    LinearAlgebraError,
    MemoryShortage,
    OutOfBoundsError,
    ShapeError,
)
from consilience.ir import constant

BACKENDS = pytest.mark.parametrize("backend", ["llvm", "reference"])


def here() -> str:
    """The place of the caller, as errors name it."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


class TestForms:
    @BACKENDS
    def test_results_come_in_the_form_of_the_outputs(self, backend: str) -> None:
        """An expression gives an array, a list a list, a dict a dict."""
        x = pt.vector("x")
        value = np.array([1.0, 2.0])
        assert function([x], x.sum(), backend=backend)(value) == 3.0
        listed = function([x], [x.sum(), x * 2], backend=backend)(value)
        assert isinstance(listed, list)
        np.testing.assert_array_equal(listed[1], [2.0, 4.0])
        named = function([x], {"total": x.sum(), "twice": x * 2}, backend=backend)(value)
        assert list(named) == ["total", "twice"]
        assert named["total"] == 3.0
        assert function([x], [], backend=backend, on_unused_input="ignore")(value) == []
        assert function([x], None, backend=backend, on_unused_input="ignore")(value) is None

    @BACKENDS
    def test_inputs_go_by_position_or_by_name(self, backend: str) -> None:
        """As in any Python call."""
        x, y = pt.scalar("x"), pt.scalar("y")
        f = function([x, y], x - y, name="difference", backend=backend)
        assert f(5.0, 3.0) == f(5.0, y=3.0) == f(y=3.0, x=5.0) == 2.0
        with pytest.raises(TypeError, match="takes 2 inputs, got 3"):
            f(1.0, 2.0, 3.0)
        with pytest.raises(TypeError, match="`x` of `difference` was given twice"):
            f(1.0, x=2.0)
        with pytest.raises(TypeError, match=r"no input `z`; its inputs are \['x', 'y'\]"):
            f(1.0, z=2.0)
        with pytest.raises(TypeError, match="needs a value for `y`"):
            f(1.0)

    def test_inputs_of_one_name_go_by_position_only(self) -> None:
        """A name that stands for two inputs is refused, not guessed."""
        f = function([a := pt.scalar("x"), b := pt.scalar("x")], a - b)
        assert f(3.0, 1.0) == 2.0
        with pytest.raises(TypeError, match="2 inputs named `x`"):
            f(x=1.0)

    @BACKENDS
    def test_one_value_may_be_several_outputs_and_an_input_an_output(self, backend: str) -> None:
        """Results are fresh arrays: writing into one changes neither the others nor the input."""
        x = pt.vector("x")
        value = np.array([1.0, 2.0])
        first, second, third = function([x], [x, x + 1, x + 1], backend=backend)(value)
        first[0], second[0] = 9.0, 9.0
        assert value[0] == 1.0
        assert third[0] == 2.0

    def test_inputs_are_checked_when_the_function_is_made(self) -> None:
        """Missing, doubled and impossible inputs."""
        x, y = pt.vector("x"), pt.vector("y")
        with pytest.raises(GraphError, match="depends on `y`"):
            function([x], x + y)
        with pytest.raises(GraphError, match=r"`x` of type .* is listed twice"):
            function([x, x], x)
        with pytest.raises(GraphError, match="an input must be a symbolic variable"):
            function([constant(1.0)], x)
        with pytest.raises(TypeError, match="must be a list of variables"):
            function(x, x)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(GraphError, match="an output must be a tensor expression"):
            function([x], [3.0])  # type: ignore[list-item]  # what is tested

    def test_inputs_without_a_name_go_by_position(self) -> None:
        """A name is never needed."""
        x = pt.vector()
        assert function([x], x.sum())([1.0, 2.0]) == 3.0


class TestChecksAtTheCall:
    @BACKENDS
    @pytest.mark.parametrize(
        ("dtype", "value"),
        [
            ("int64", [1.5]), ("float64", [1j]), ("float64", ["a"]), ("float64", [True]), ("bool", [2]),
            ("int64", np.array([1], "uint64").astype("float32")), ("float64", [object()]), ("int64", [True]),
        ],
    )  # fmt: skip
    def test_values_of_another_kind_are_refused(self, backend: str, dtype: str, value: Any) -> None:
        """Nothing is truncated or reinterpreted in silence."""
        x = pt.tensor("x", dtype=dtype, shape=(None,))
        with pytest.raises(DtypeError, match=f"`x` of type {dtype}.* needs {dtype}"):
            function([x], x, backend=backend)(value)

    def test_values_of_the_same_kind_are_converted(self) -> None:
        """Integers become floats; byte order, strides and alignment do not matter."""
        x = pt.vector("x")
        f = function([x], x * 2)
        wanted = [2.0, 4.0, 6.0]
        raw = np.zeros(25, "uint8")
        unaligned = raw[1:].view("float64")
        unaligned[...] = [1.0, 2.0, 3.0]
        for value in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], "int8"), np.array([1, 2, 3], ">f8"),
                      np.array([3.0, 2.0, 1.0])[::-1], np.array([1, 2, 3], "float16"), unaligned):  # fmt: skip
            np.testing.assert_array_equal(f(value), wanted)

    def test_masked_arrays_and_expressions_are_no_values(self) -> None:
        """A mask is never dropped; an expression has no numbers yet."""
        x = pt.vector("x")
        f = function([x], x * 2)
        with pytest.raises(DtypeError, match="masked"):
            f(np.ma.masked_array([1.0, 2.0], [False, True]))
        with pytest.raises(TypeError, match="needs numbers for `x`"):
            f(x)  # type: ignore[arg-type]  # what is tested

    @BACKENDS
    def test_wrong_rank_and_static_length(self, backend: str) -> None:
        """The message names the input, what it needs and what came."""
        x = pt.tensor("x", shape=(2, None))
        f = function([x], x.sum(), backend=backend)
        with pytest.raises(ShapeError, match=r"`x` .* needs rank 2, got an array of shape \(3,\)"):
            f([1.0, 2.0, 3.0])
        with pytest.raises(ShapeError, match=r"axis 0 of `x` .* needs length 2, got an array of shape \(3, 4\)"):
            f(np.zeros((3, 4)))

    def test_static_lengths_that_differ_are_refused_when_written(self) -> None:
        """The message names both operands and their lengths."""
        x, y = pt.tensor("x", shape=(2,)), pt.tensor("y", shape=(3,))
        with pytest.raises(ShapeError, match="lengths 2 and 3") as caught:
            x + y
        assert "`x`" in str(caught.value)
        assert "`y`" in str(caught.value)

    @BACKENDS
    def test_symbolic_lengths_that_turn_out_different(self, backend: str) -> None:
        """The message names both lengths, their values and the line where they were brought together."""
        x, y = pt.vector("x"), pt.vector("y")
        total, line = x + y, here()
        f = function([x, y], total.sum(), backend=backend)
        assert f([1.0, 2.0], [3.0, 4.0]) == 10.0
        with pytest.raises(ShapeError) as caught:
            f([1.0, 2.0], [3.0, 4.0, 5.0])
        message = str(caught.value)
        for part in ("`x.shape[0]` is 2", "`y.shape[0]` is 3", line, "`add`"):
            assert part in message

    def test_rewriting_removes_no_check(self) -> None:
        """Though the sum is multiplied by zero and simplified away, its operands must fit."""
        x, y = pt.vector("x"), pt.vector("y")
        f = function([x, y], ((x + y) * 0.0).sum() * 0.0 + x.shape[0])
        with pytest.raises(ShapeError, match="equal lengths"):
            f([1.0], [1.0, 2.0])

    def test_a_length_of_one_stretches_only_when_static(self) -> None:
        """A symbolic length that happens to be 1 is not stretched."""
        x, y = pt.vector("x"), pt.vector("y")
        with pytest.raises(ShapeError, match="stretched only when it is static"):
            function([x, y], x + y)([1.0], [1.0, 2.0])

    @BACKENDS
    def test_branches_of_symbolic_lengths(self, backend: str) -> None:
        """The result has the length of the branch that is taken."""
        x, y, n = pt.vector("x"), pt.vector("y"), pt.scalar("n")
        f = function([x, y, n], pt.cond(n > 0, x * 2, y), backend=backend)
        np.testing.assert_array_equal(f([1.0], [5.0], 1.0), [2.0])
        np.testing.assert_array_equal(f([1.0], [5.0], -1.0), [5.0])
        np.testing.assert_array_equal(f([1.0], [1.0, 2.0], 1.0), [2.0])
        np.testing.assert_array_equal(f([1.0], [1.0, 2.0], -1.0), [1.0, 2.0])

    @BACKENDS
    def test_lengths_decided_by_reshape_products_and_joins(self, backend: str) -> None:
        """Shape constraints other than broadcasting."""
        x, y = pt.vector("x"), pt.matrix("y")
        for build in (
            lambda: x.reshape((2, 3)),
            lambda: y @ x,
            lambda: pt.concatenate([y, y.T]),
            lambda: pt.linalg.det(y),
        ):
            f = function([x, y], build(), backend=backend, on_unused_input="ignore")
            with pytest.raises(ShapeError):
                f(np.zeros(5), np.zeros((3, 4)))


class TestFailures:
    def test_index_out_of_bounds_names_the_line(self) -> None:
        """Found by machine code, located in the expression as written."""
        x, i = pt.vector("x"), pt.lvector("i")
        picked, line = x[i], here()
        f = function([x, i], pt.exp(picked * 2).sum())
        assert np.isfinite(f(np.ones(3), [0, -1]))
        with pytest.raises(OutOfBoundsError, match="index 3 is out of bounds") as caught:
            f(np.ones(3), [0, 3])
        assert line in str(caught.value)

    @pytest.mark.parametrize(
        ("build", "why"),
        [
            (pt.linalg.cholesky, "not positive definite"),
            (lambda a: pt.linalg.solve(a, a[0]), "singular"),
            (pt.linalg.inv, "singular"),
            (lambda a: pt.linalg.solve_triangular(a, a[0], lower=True), "singular"),
            (lambda a: pt.linalg.solve(a, a[0], assume_a="pos"), "not positive definite"),
        ],
    )
    def test_failed_factorisation_names_the_line(self, build: Callable[..., Any], why: str) -> None:
        """Singular systems, matrices without Cholesky factor."""
        a = pt.matrix("a")
        result = build(a)
        f = function([a], result.sum() * 2)
        with pytest.raises(LinearAlgebraError, match=why) as caught:
            f(np.zeros((3, 3)))
        assert __file__ in str(caught.value)
        assert np.isfinite(f(np.eye(3)))

    def test_nan_in_a_matrix_is_a_failure_not_a_number(self) -> None:
        """LAPACK does not look for NaN; we do."""
        a = pt.matrix("a")
        matrix = np.eye(3)
        matrix[1, 0] = np.nan
        with pytest.raises(LinearAlgebraError):
            function([a], pt.linalg.cholesky(a))(matrix)

    def test_what_a_branch_does_not_compute_cannot_fail(self) -> None:
        """The other branch of `cond` is lazy."""
        a = pt.matrix("a")
        f = function([a], pt.cond(a[0, 0] > 0, pt.linalg.cholesky(a).sum(), -1.0))
        assert f(-np.eye(2)) == -1.0
        assert f(np.eye(2)) == 2.0

    def test_constants_fail_at_the_call(self) -> None:
        """A constant matrix without a factor is found when the function runs."""
        factor = pt.linalg.cholesky(constant(np.array([[1.0, 2.0], [2.0, 1.0]])))
        with pytest.raises(LinearAlgebraError, match="not positive definite"):
            function([], factor)()


class TestSizes:
    @BACKENDS
    def test_zero_sizes(self, backend: str) -> None:
        """Sums of nothing are 0, products 1; extremes of nothing are an error at the call."""
        x = pt.matrix("x")
        f = function([x], [x.sum(), x.prod(), x.sum(0), (x + 1).T, x @ x.T, pt.concatenate([x, x])], backend=backend)
        total, product, columns, turned, gram, joined = f(np.zeros((0, 3)))
        assert (total, product) == (0.0, 1.0)
        np.testing.assert_array_equal(columns, np.zeros(3))
        assert (turned.shape, gram.shape, joined.shape) == ((3, 0), (0, 0), (0, 3))
        with pytest.raises(ShapeError, match="empty axis has no value"):
            function([x], x.max(), backend=backend)(np.zeros((0, 3)))

    def test_a_huge_constant_tensor_is_never_made(self) -> None:
        """10**18 zeros add up without memory or time."""
        assert function([], pt.zeros((10**9, 10**9)).sum())() == 0.0
        assert function([], pt.ones((10**9, 10**6)).sum())() == 1e15

    @BACKENDS
    def test_an_array_beyond_memory_is_an_error(self, backend: str) -> None:
        """Before anything is computed."""
        with pytest.raises((MemoryShortage, MemoryError)):
            function([], pt.ones((10**6, 10**9)) * 2.0, backend=backend)()

    def test_scratch_beyond_memory_is_an_error(self) -> None:
        """Also for values that stay inside."""
        x = pt.vector("x")
        pairs = pt.exp(pt.broadcast_to(x, (10**9, x.shape[0])) + pt.arange(10**9)[:, None])
        with pytest.raises(MemoryShortage, match="GiB"):
            function([x], pairs.cumsum(0).sum())(np.ones(10**4))

    @BACKENDS
    def test_sizes_beyond_an_address_are_shape_errors(self, backend: str) -> None:
        """Counting elements overflows nowhere."""
        x = pt.vector("x")
        n = x.shape[0]
        with pytest.raises(ShapeError, match="addressed"):
            function([], pt.zeros((2**40, 2**40)) + 1.0, backend=backend)()
        with pytest.raises(ShapeError, match="addressed"):
            function([x], pt.broadcast_to(x[0], (n, 2**50, 2**10)).sum(), backend=backend)(np.ones(8))


class TestContexts:
    @BACKENDS
    def test_shared_values_are_read_at_each_call(self, backend: str) -> None:
        """A new value of the same shape needs no new code."""
        w = shared(np.array([1.0, 2.0]), "w")
        x = pt.vector("x")
        f = function([x], (w * x).sum(), backend=backend)
        assert f([1.0, 1.0]) == 3.0
        DEFAULT.set(w, [10.0, 20.0])
        assert f([1.0, 1.0]) == 30.0
        if backend == "llvm":
            assert len(f._executables) == 1

    def test_contexts_do_not_see_each_other(self) -> None:
        """Values set in one context stay there; what is not set comes from the parent, if any."""
        w = shared(2.0, "w")
        one, two, alone = Context(DEFAULT), Context(DEFAULT), Context()
        f = function([], w * 10.0)
        one.set(w, 3.0)
        assert [f(context=one), f(context=two), f()] == [30.0, 20.0, 20.0]
        two.set(w, 4.0)
        assert [f(context=one), f(context=two), f()] == [30.0, 40.0, 20.0]
        assert function([], w * 10.0, context=two)() == 40.0
        with pytest.raises(ExecutionError, match=r"`w` .* has no value in this context"):
            f(context=alone)

    def test_threads_with_contexts_of_their_own(self) -> None:
        """Eight threads, eight values, no mixture."""
        w = shared(np.zeros(100), "w")
        f = function([], (w * 2.0).sum())

        def work(number: int) -> bool:
            own = Context(DEFAULT)
            for _ in range(200):
                own.set(w, np.full(100, float(number)))
                if f(context=own) != 200.0 * number:
                    return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))

    def test_a_value_must_fit_its_slot(self) -> None:
        """The kind is that of the first value; lengths may change unless they are fixed."""
        w = shared(np.arange(3), "w", shape=(3,))
        with pytest.raises(ShapeError, match=r"cannot hold an array of shape \(4,\)"):
            DEFAULT.set(w, np.arange(4))
        with pytest.raises(DtypeError, match="holds int64"):
            DEFAULT.set(w, [0.5, 1.0, 1.5])
        v = shared(np.zeros(2), "v", shape=(None,))
        f = function([], v.sum())
        DEFAULT.set(v, np.ones(5))
        assert f() == 5.0

    def test_values_of_a_context_are_copies(self) -> None:
        """Neither the array given nor the one taken out changes the value."""
        array = np.ones(2)
        w = shared(array, "w")
        array[0] = 7.0
        assert function([], w.sum())() == 2.0
        with pytest.raises(ValueError, match="read-only"):
            DEFAULT.get(w)[0] = 7.0


class TestThreads:
    def test_one_function_in_many_threads(self) -> None:
        """Each call has scratch memory and results of its own."""
        x = pt.matrix("x")
        f = function([x], [pt.linalg.cholesky(x @ x.T + pt.eye(x.shape[0])).sum(), pt.exp(x).sum(0).cumsum()])
        generator = np.random.default_rng(5)
        arrays = [generator.normal(size=(n, n)) for n in (2, 3, 20, 21) * 8]
        serial = [f(a) for a in arrays]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(5):
                for found, wanted in zip(pool.map(f, arrays), serial, strict=True):
                    np.testing.assert_array_equal(found[0], wanted[0])
                    np.testing.assert_array_equal(found[1], wanted[1])

    def test_compiling_and_calling_in_many_threads(self) -> None:
        """Graphs, functions and calls made at once, partly equal ones."""
        barrier = threading.Barrier(8)

        def work(number: int) -> float:
            barrier.wait()
            total = 0.0
            for power in range(6):
                x = pt.vector("x")
                y = x
                for _ in range(power + number % 3):
                    y = y * x + 1.0
                total += float(function([x], pt.tanh(y).sum())(np.linspace(0, 1, 7 + power)))
            return total

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(work, range(8)))
        assert found[0] == found[3] == found[6]
        assert found[1] == found[4] == found[7]
        assert found[2] == found[5]


class TestMemory:
    def test_code_goes_with_its_function(self) -> None:
        """Nothing keeps a function, its graph or its machine code alive."""
        x = pt.vector("x")
        f = function([x], pt.exp(x).sum() * 3.25)
        f(np.ones(3))
        (executable,) = f._executables.values()
        code = weakref.ref(executable.compiled.library._code)  # type: ignore[attr-defined]  # the machine-code backend's
        gone: weakref.ref[Function] = weakref.ref(f)
        assert code() is not None
        del f, executable
        gc.collect()
        assert gone() is None
        assert code() is None

    def test_specialisations_are_bounded(self) -> None:
        """A function called with ever new shapes keeps the latest ones only."""
        x = pt.vector("x")
        f = function([x], x.sum(), backend="reference")
        for n in range(KEPT_SHAPES + 20):
            assert f(np.ones(n)) == n
        assert len(f._executables) == KEPT_SHAPES


class TestDeepGraphs:
    def test_a_deep_chain_of_vectors(self) -> None:
        """No recursion limit on the way from the graph to machine code."""
        x = pt.vector("x")
        y = x
        for i in range(3000):
            y = pt.sin(y) if i % 3 == 0 else y * 0.5 + x
        value = np.linspace(-1.0, 1.0, 5)
        np.testing.assert_allclose(function([x], y)(value), function([x], y, backend="reference")(value), rtol=1e-12)

    def test_twenty_thousand_nodes_deep(self) -> None:
        """One chain of scalars; the sum of so many roundings is compared with Python's own."""
        x = pt.scalar("x")
        y, wanted = x, 0.3
        for i in range(10_000):
            y = pt.sin(y) * 1.5 if i % 2 else y + x
            wanted = math.sin(wanted) * 1.5 if i % 2 else wanted + 0.3
        np.testing.assert_allclose(function([x], y)(0.3), wanted, rtol=1e-9)

    @pytest.mark.slow
    def test_a_hundred_thousand_nodes_wide(self) -> None:
        """A sum of as many independent terms."""
        x = pt.scalar("x")
        y = pt.stack([pt.exp(x * (i / 1e5)) for i in range(33_000)]).sum()
        np.testing.assert_allclose(function([x], y)(0.3), np.exp(0.3 * np.arange(33_000) / 1e5).sum(), rtol=1e-9)


class TestEval:
    def test_eval_takes_nodes_or_names(self) -> None:
        """One expression, once."""
        x, y = pt.scalar("x"), pt.scalar("y")
        assert (x + y).eval({x: 1.0, y: 2.0}) == (x + y).eval({"x": 1.0, "y": 2.0}) == 3.0
        assert pt.ones(3).sum().eval() == 3.0
        with pytest.raises(GraphError, match="needs a value for `y`"):
            (x + y).eval({x: 1.0})
