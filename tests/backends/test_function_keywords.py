"""The keywords of `function` mean what they mean in PyTensor; what has no meaning here says so."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.contexts import DEFAULT, Context
from consilience.backends.function import FunctionProfile, function
from consilience.backends.modes import ABSENT, MODES
from consilience.backends.registry import installed
from consilience.backends.request import In, Out
from consilience.errors import (
    ConsilienceWarning,
    DtypeError,
    GraphError,
    OutOfBoundsError,
    ShapeError,
    UnusedInputError,
)

BACKENDS = pytest.mark.parametrize("backend", ["llvm", "reference"])


class TestModes:
    @pytest.mark.parametrize("mode", [None, *(name for name, mode in MODES.items() if mode.backend in installed())])
    def test_every_mode_computes_the_same(self, mode: str | None) -> None:
        """Names of PyTensor's modes choose a backend and whether the graph is simplified."""
        x = pt.vector("x")
        f = function([x], pt.log(pt.exp(x)).sum() * 1.0, mode=mode)
        assert f([1.0, 2.0]) == pytest.approx(3.0)
        assert (f.optimised == f.outputs) == (mode == "FAST_COMPILE")

    @pytest.mark.parametrize("mode", [*ABSENT, "nonsense"])
    def test_modes_that_are_not_there_say_what_is(self, mode: str) -> None:
        """The message lists what is available."""
        with pytest.raises(ValueError, match=f"unknown `mode` '{mode}'.*FAST_RUN"):
            function([], pt.ones(2), mode=mode)

    def test_mode_and_backend_exclude_each_other(self) -> None:
        """There is one choice."""
        with pytest.raises(ValueError, match="not both"):
            function([], pt.ones(2), mode="PY", backend="llvm")
        with pytest.raises(ValueError, match="unknown `backend` 'gpu'"):
            function([], pt.ones(2), backend="gpu")
        with pytest.raises(TypeError, match="must be a name"):
            function([], pt.ones(2), mode=3)  # type: ignore[arg-type]  # what is tested


class TestUnusedInputs:
    def test_unused_inputs_are_refused_warned_of_or_ignored(self) -> None:
        """An error by default."""
        x, y = pt.vector("x"), pt.vector("y")
        with pytest.raises(UnusedInputError, match=r"`y` of type .* is not used"):
            function([x, y], x.sum())
        with pytest.warns(ConsilienceWarning, match="`y`"):
            f = function([x, y], x.sum(), on_unused_input="warn")
        assert f([1.0], [5.0, 6.0]) == 1.0
        assert function([x, y], x.sum(), on_unused_input="ignore")([1.0], [5.0]) == 1.0
        with pytest.raises(ValueError, match="'raise', 'warn' or 'ignore'"):
            function([x], x, on_unused_input="sometimes")  # type: ignore[arg-type]  # what is tested

    @pytest.mark.parametrize(
        "build",
        [
            lambda x, y: x.sum() + y.shape[0],
            lambda x, y: pt.zeros((y.shape[0], 2)) + x[0],
            lambda x, y: pt.grad((x * 2.0).sum() + y.sum(), x),
            lambda x, y: pt.grad((x[0] * y[0]), x).sum() * 0.0 + x[0],
        ],
    )
    def test_lengths_and_derivatives_count_as_use(self, build: Callable[..., Any]) -> None:
        """An input that decides a length, or was in the cost of a derivative, is used."""
        x, y = pt.vector("x"), pt.vector("y")
        function([x, y], build(x, y))([1.0], [2.0, 3.0])

    def test_the_inputs_of_a_cost_are_used_by_its_derivative(self) -> None:
        """Though d(a x)/dx does not depend on x."""
        a, x = pt.scalar("a"), pt.scalar("x")
        assert function([a, x], pt.grad(a * x, x))(3.0, 4.0) == 3.0


class TestUpdates:
    @BACKENDS
    def test_results_see_the_old_values_and_the_next_call_the_new(self, backend: str) -> None:
        """All expressions are computed before anything is written."""
        a, b = pt.shared(1.0, "a"), pt.shared(2.0, "b")
        f = function([], [a, b], updates={a: b, b: a + b}, backend=backend)
        assert [[float(v) for v in f()] for _ in range(3)] == [[1.0, 2.0], [2.0, 3.0], [3.0, 5.0]]
        assert (a.get_value(), b.get_value()) == (5.0, 8.0)

    def test_a_function_may_only_update(self) -> None:
        """`outputs=None` returns None; pairs do as well as a dict."""
        w, x = pt.shared(np.zeros(2), "w"), pt.vector("x")
        step = function([x], updates=[(w, w + x)])
        assert step([1.0, 2.0]) is None
        assert step([1.0, 2.0]) is None
        np.testing.assert_array_equal(w.get_value(), [2.0, 4.0])

    def test_a_failed_call_changes_nothing(self) -> None:
        """Neither where the computation fails nor where one of the new values does not fit."""
        w, v, i = pt.shared(np.arange(3.0), "w", shape=(3,)), pt.shared(0.0, "v"), pt.lscalar("i")
        f = function([i], updates={v: v + 1.0, w: w + w[i]})
        with pytest.raises(OutOfBoundsError):
            f(7)
        assert v.get_value() == 0.0
        x = pt.vector("x")
        g = function([x], updates={v: v + 1.0, w: x})
        with pytest.raises(ShapeError, match=r"`w` .* cannot hold"):
            g(np.ones(4))
        assert v.get_value() == 0.0
        np.testing.assert_array_equal(w.get_value(), np.arange(3.0))

    def test_updates_of_another_type_are_refused(self) -> None:
        """PyTensor's rule: dtype and shape are those of the shared variable; numbers are converted."""
        n, v = pt.shared(np.int64(1), "n"), pt.shared(np.zeros(2), "v", shape=(2,))
        with pytest.raises(DtypeError, match=r"`updates` must give `n` .* dtype int64"):
            function([], updates={n: n * 1.5})
        with pytest.raises(DtypeError, match="must give `v`"):
            function([], updates={v: v.astype("float32")})
        with pytest.raises(DtypeError, match="array of float64"):
            function([], updates={n: 1.5})
        with pytest.raises(ShapeError, match="of its shape"):
            function([], updates={v: v.sum()})
        with pytest.raises(ShapeError, match="of its shape"):
            function([], updates={v: pt.zeros(3)})
        x = pt.scalar("x")
        with pytest.raises(GraphError, match=r"`x` .* is none: make it with `pt.shared`"):
            function([x], updates={x: x + 1.0})
        with pytest.raises(GraphError, match=r"gives `v` .* twice"):
            function([], updates=[(v, v), (v, v + 1.0)])
        with pytest.raises(TypeError, match="dict or a list of pairs"):
            function([], updates=[v])  # type: ignore[list-item]  # what is tested
        function([], updates={n: 5, v: [1, 2]})()
        assert n.get_value() == 5
        np.testing.assert_array_equal(v.get_value(), [1.0, 2.0])

    def test_updates_of_many_threads_are_all_counted(self) -> None:
        """Reading, computing and writing is one step."""
        count = pt.shared(np.int64(0), "count")
        f = function([], count, updates={count: count + 1})
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda _: int(f()), range(400)))
        assert sorted(seen) == list(range(400))
        assert count.get_value() == 400

    def test_other_functions_never_see_half_an_update(self) -> None:
        """Two values that are always written together are always read together."""
        a, b = pt.shared(0.0, "a"), pt.shared(0.0, "b")
        step, apart = function([], updates={a: a + 1.0, b: b + 1.0}), function([], a - b)
        stop = threading.Event()

        def read() -> float:
            largest = 0.0
            while not stop.is_set():
                largest = max(largest, abs(float(apart())))
            return largest

        with ThreadPoolExecutor(2) as pool:
            found = pool.submit(read)
            for _ in range(300):
                step()
            stop.set()
            assert found.result() == 0.0

    def test_updates_stay_in_the_context_of_the_call(self) -> None:
        """The default context keeps its value."""
        a = pt.shared(1.0, "a")
        own = Context(DEFAULT)
        f = function([], a, updates={a: a * 2.0})
        assert [float(f(context=own)) for _ in range(3)] == [1.0, 2.0, 4.0]
        assert a.get_value() == 1.0


class TestGivens:
    def test_all_places_are_filled_at_once(self) -> None:
        """Cyclic replacements exchange; what stands in a place is not searched again."""
        a, b = pt.shared(1.0, "a"), pt.shared(2.0, "b")
        first, second = function([], [a * 10.0, b], givens={a: b, b: a})()
        assert (first, second) == (20.0, 1.0)
        x, y = pt.scalar("x"), pt.scalar("y")
        assert function([y], x * y, givens={x: y + 1.0})(3.0) == 12.0
        assert function([y], x + a, givens=[(x, a), (a, y)])(5.0) == 1.0 + 5.0

    def test_inner_expressions_numbers_and_updates(self) -> None:
        """Any expression may be replaced; arrays are taken as constants; updates are replaced too."""
        x, w = pt.vector("x"), pt.shared(np.ones(2), "w")
        inner = pt.exp(x)
        assert function([], inner.sum(), givens={inner: np.array([1, 2])})() == 3.0
        function([x], updates={w: w * 2.0}, givens={w: x})([5.0, 6.0])
        np.testing.assert_array_equal(w.get_value(), [10.0, 12.0])

    def test_what_cannot_be_replaced_is_refused(self) -> None:
        """Inputs, other types, the same place twice."""
        x, y, n = pt.scalar("x"), pt.scalar("y"), pt.lscalar("n")
        with pytest.raises(GraphError, match=r"`x` .* is an input and replaced"):
            function([x, y], x + y, givens={x: y})
        with pytest.raises(DtypeError, match=r"`givens` must give `x` .* float64"):
            function([n], x * 2.0, givens={x: n})
        assert function([n], x * 2.0, givens={x: n}, rebuild_strict=False)(3) == 6.0
        with pytest.raises(ShapeError, match="of its shape"):
            function([], x * 2.0, givens={x: pt.zeros(2)})
        with pytest.raises(GraphError, match="twice"):
            function([y], x, givens=[(x, y), (x, y + 1)])
        with pytest.raises(GraphError, match="depends on `y`"):
            function([], x, givens={x: y})


class TestInputs:
    def test_values_by_default_and_names(self) -> None:
        """`In` gives an input a default value or another name."""
        x, y = pt.scalar("x"), pt.scalar("y")
        f = function([x, In(y, value=10.0, name="shift")], x + y)
        assert (f(1.0), f(1.0, 2.0), f(1.0, shift=3.0)) == (11.0, 3.0, 4.0)
        with pytest.raises(TypeError, match="no input `y`"):
            f(1.0, y=1.0)
        with pytest.raises(DtypeError, match="needs float64"):
            function([In(x, strict=True)], x)(np.float32(1.0))
        assert function([x], Out(x * 2.0, borrow=True))(1.0) == 2.0

    def test_any_expression_may_be_an_input(self) -> None:
        """Its value is then given, and what it was computed from is not needed."""
        x = pt.vector("x")
        inner = pt.exp(x)
        assert function([inner], inner.sum() * 2.0)([1.0, 2.0]) == 6.0
        mu = pm.Normal.dist(0.0, 1.0)
        assert function([mu], mu * 2.0)(4.0) == 8.0

    def test_shared_variables_are_no_inputs(self) -> None:
        """The message shows how to give another value at a call."""
        a, x = pt.shared(1.0, "a"), pt.scalar("x")
        with pytest.raises(GraphError, match=r"givens=\{shared: variable\}"):
            function([a], a)
        assert function([x], a * 2.0, givens={a: x})(4.0) == 8.0

    @pytest.mark.parametrize(
        ("dtype", "value", "default", "downcast"),
        [
            ("float32", np.float64(0.1), None, np.float32(0.1)),
            ("float32", 0.1, np.float32(0.1), np.float32(0.1)),
            ("float32", 0.5, np.float32(0.5), np.float32(0.5)),
            ("int32", np.int64(3), None, 3),
            ("int32", 3, 3, 3),
            ("int32", 2**40, None, 0),
            ("float64", np.int64(3), 3.0, 3.0),
            ("float32", np.int64(3), None, 3.0),
            ("int64", 1.5, None, 1),
            ("float64", True, None, 1.0),
            ("float64", 1j, None, None),
            ("float64", "a", None, None),
            ("float64", object(), None, None),
            ("float64", np.datetime64("2020-01-01"), None, None),
        ],
    )  # fmt: skip
    def test_what_is_converted(self, dtype: str, value: Any, default: Any, downcast: Any) -> None:
        """Arrays to wider dtypes, Python's numbers as they fit; everything that is a number if asked for."""
        x = pt.tensor("x", dtype=dtype)
        for allowed, wanted in ((None, default), (True, downcast)):
            f = function([x], x, allow_input_downcast=allowed)
            if wanted is None:
                with pytest.raises(DtypeError, match=f"`x` of type {dtype}"):
                    f(value)
            else:
                assert f(value) == wanted

    def test_python_floats_are_rounded_unless_forbidden(self) -> None:
        """`allow_input_downcast=False` wants the very value."""
        x = pt.fscalar("x")
        f = function([x], x, allow_input_downcast=False)
        assert f(0.5) == 0.5
        with pytest.raises(DtypeError):
            f(0.1)

    def test_ragged_lists_are_no_arrays(self) -> None:
        """NumPy's complaint, with the name of the input."""
        x = pt.matrix("x")
        with pytest.raises(DtypeError, match=r"`x` .* needs an array of numbers"):
            function([x], x)([[1.0], [1.0, 2.0]])


class TestTheFunctionItself:
    def test_profile_counts_calls_and_compilations(self) -> None:
        """Two shapes, three calls."""
        x = pt.vector("x")
        f = function([x], x.sum(), profile=True)
        for n in (2, 3, 2):
            f(np.ones(n))
        assert isinstance(f.profile, FunctionProfile)
        assert (f.profile.calls, f.profile.compiled) == (3, 2)
        assert min(f.profile.graph_seconds, f.profile.compile_seconds, f.profile.call_seconds) > 0.0
        assert "called 3 times" in f.profile.summary()
        assert function([x], x).profile is None

    def test_copies_swap_shared_variables_and_drop_updates(self) -> None:
        """The original stays as it is."""
        a, b = pt.shared(1.0, "a"), pt.shared(10.0, "b")
        f = function([], a * 2.0, updates={a: a + 1.0}, name="f")
        g, h = f.copy(swap={a: b}, name="g"), f.copy(delete_updates=True)
        assert (f(), f(), g(), g(), h(), h()) == (2.0, 4.0, 20.0, 22.0, 6.0, 6.0)
        assert (g.name, h.name) == ("g", "f")
        assert (f.get_shared(), g.get_shared()) == ([a], [b])
        with pytest.raises(GraphError, match="does not use `b`"):
            f.copy(swap={b: a})
        with pytest.raises(GraphError, match="shared variable of type"):
            f.copy(swap={a: pt.shared(np.ones(2))})

    def test_keywords_without_meaning_are_taken(self) -> None:
        """There are neither default updates nor operations in place."""
        x = pt.scalar("x")
        f = function([x], x, no_default_updates=True, accept_inplace=True, rebuild_strict=True, name="same")
        assert f(2.0) == 2.0
        assert repr(f) == "<function same(x) of 1 outputs>"


class TestRandomVariables:
    def test_a_function_of_random_variables_draws_them_at_every_call(self) -> None:
        """Unless it is given a value."""
        with pm.Model():
            mu = pm.Normal("mu", 0.0, 1.0)
        f = function([], [mu, mu * 2.0])
        first, second = f(), f()
        assert first[0] != second[0]
        assert first[1] == 2.0 * first[0]
        assert function([], mu * 2.0, givens={mu: 3.0})() == 6.0

    def test_compile_draws_anew_at_every_call_and_again_from_the_same_seed(self) -> None:
        """As `pm.compile` of PyMC."""
        mu = pm.Normal.dist(0.0, 1.0)
        y = pm.Normal.dist(mu, 1e-9, shape=3)
        f, g = pm.compile([], [mu, y], random_seed=1), pm.compile([], [mu, y], random_seed=1)
        first, second = f(), f()
        assert first[0] != second[0]
        np.testing.assert_allclose(first[1], np.full(3, first[0]), atol=1e-7)
        np.testing.assert_array_equal(g()[0], first[0])
        np.testing.assert_array_equal(g()[0], second[0])
        np.testing.assert_allclose(pm.compile([mu], y)(50.0), np.full(3, 50.0), atol=1e-6)
        x = pt.scalar("x")
        assert pm.compile([x], x * 2.0)(2.0) == 4.0

    def test_eval_takes_values_of_any_expression_and_draws_the_rest(self) -> None:
        """By node or by name; unknown names are refused."""
        with pm.Model():
            mu = pm.Normal("mu", 0.0, 1.0)
            y = pm.Normal("y", mu, 1e-9)
        assert abs(float(y.eval({mu: 50.0})) - 50.0) < 1e-6
        assert abs(float(y.eval({"mu": 50.0})) - 50.0) < 1e-6
        assert y.eval() != y.eval()
        with pytest.raises(GraphError, match="depends on nothing named `sigma`"):
            y.eval({"sigma": 1.0})
        one, other = pt.scalar("s"), pt.scalar("s")
        with pytest.raises(GraphError, match="2 variables named `s`"):
            (one + other).eval({"s": 1.0})
        x = pt.vector("x")
        assert (pt.exp(x).sum() + 1.0).eval({pt.exp(x): [1.0, 2.0]}) == 4.0
        assert x.sum().eval({x: [1.0], pt.scalar("z"): 1.0}) == 1.0  # a value too many
        assert x.sum().eval({x: [1.0], pt.scalar("z"): 1.0}, on_unused_input="ignore") == 1.0
        assert x.sum().eval({x: [1.0]}, mode="FAST_COMPILE") == 1.0


def test_values_of_shared_variables_are_got_and_set() -> None:
    """Copies, of the dtype and rank of the variable, and of any length not fixed; other expressions have none."""
    w = pt.shared(np.zeros(2), "w")
    w.set_value([1, 2])
    taken = w.get_value()
    taken[0] = 9.0
    held = w.get_value(borrow=True)
    np.testing.assert_array_equal(held, [1.0, 2.0])
    assert w.get_value(borrow=True) is held  # a program tells by it whether the value was set since
    with pytest.raises(ValueError, match="read-only"):
        held[0] = 9.0
    w.set_value([1, 2])
    assert w.get_value(borrow=True) is not held
    total = function([], [w.sum(), w.shape[0]])
    w.set_value(np.ones(5))
    assert [float(v) for v in total()] == [5.0, 5.0]
    w.set_value([])
    assert [float(v) for v in total()] == [0.0, 0.0]
    with pytest.raises(ShapeError, match=r"`w` .* holds arrays of 1 axes, got shape \(2, 2\)"):
        w.set_value(np.zeros((2, 2)))
    fixed = pt.shared(np.zeros(2), "fixed", shape=(2,))
    with pytest.raises(ShapeError, match=r"`fixed` .* cannot hold an array of shape \(3,\)"):
        fixed.set_value(np.zeros(3))
    with pytest.raises(GraphError, match=r"only shared variables .*\.eval\(\)"):
        (w + 1.0).get_value()


def test_a_length_of_a_shared_variable_is_known_where_its_values_are_not_used() -> None:
    data = pt.shared(np.arange(3.0), "data", shape=(None,))
    f = function([], pt.zeros(data.shape[0]) + 2.0)
    np.testing.assert_array_equal(f(), [2.0, 2.0, 2.0])
    data.set_value(np.arange(5.0))
    np.testing.assert_array_equal(f(), np.full(5, 2.0))


@pytest.mark.parametrize(
    ("mode", "backend", "simplified"),
    [
        (pm.Mode(), "llvm", True),
        (pm.Mode(linker="vm"), "llvm", True),
        (pm.Mode(linker="cvm", optimizer="fast_run"), "llvm", True),
        (pm.Mode("py", None), "reference", False),
        (pm.Mode(linker=None, optimizer=None), "llvm", False),
        (pm.Mode("reference", simplified=False), "reference", False),
        (pm.Mode(backend="c"), "c", True),
    ],
)
def test_a_mode_is_made_of_a_backend_or_a_linker(mode: pm.Mode, backend: str, simplified: bool) -> None:
    """PyTensor's linkers and optimizers have a backend and a truth value for a meaning."""
    assert (mode.backend, mode.simplified) == (backend, simplified)
    assert pickle.loads(pickle.dumps(mode)) == mode


def test_a_mode_of_an_unknown_linker_is_refused_by_name() -> None:
    x = pt.vector("x")
    with pytest.raises(ValueError, match="unknown backend 'perl'; available are"):
        pm.function([x], x, mode=pm.Mode(linker="perl"))
