"""Modes that look at what is computed: NaN and infinity named by their origin, values compared with NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.backends.modes import DebugMode, NanGuardMode
from consilience.errors import DebugModeError, NotFiniteError
from consilience.ir import Node
from consilience.ops import TABLE, Softmax
from consilience.record import replace
from tests.printing.graphs import ALL, covering, of_row

HERE = r"test_checked_modes\.py:\d+"


class TestNanGuard:
    @pytest.mark.parametrize("mode", ["nan_guard", "NanGuardMode", "NAN_GUARD", pm.NanGuardMode(), NanGuardMode()])
    def test_names_the_op_the_users_line_and_the_element(self, mode: Any) -> None:
        x, y = pt.vector("x"), pt.vector("y")
        f = pt.function([x, y], (pt.log(x) * y + 1).sum(), mode=mode, name="f")
        np.testing.assert_allclose(f([1.0, 2.0], [3.0, 4.0]), 4 * np.log(2) + 2)
        with pytest.raises(
            NotFiniteError, match=r"of `f` holds NaN.\n  It first appears in log\(x\): 1 of 3.*at \(1,\)"
        ) as e:
            f([1.0, -2.0, 3.0], [1.0, 1.0, 1.0])
        assert "written at" in str(e.value)
        assert "x = -2.0 at (1,)" in str(e.value)
        with pytest.raises(NotFiniteError, match=HERE):
            f([1.0, -2.0, 3.0], [1.0, 1.0, 1.0])

    def test_tells_an_operation_from_a_value_that_was_given(self) -> None:
        x = pt.vector("x")
        f = pt.function([x], pt.exp(x), mode="nan_guard")
        with pytest.raises(NotFiniteError, match=r"comes from `x`.*is given with it: 1 of 2 elements"):
            f([0.0, np.nan])
        with pytest.raises(NotFiniteError, match=r"first appears in exp\(x\)"):
            f([0.0, 1000.0])

    def test_lets_pass_what_no_result_holds(self) -> None:
        """The branch that is not taken may be NaN."""
        x = pt.vector("x")
        f = pt.function([x], pt.where(x > 0, pt.log(x), 0.0), mode="nan_guard")
        np.testing.assert_array_equal(f([-1.0, 1.0]), [0.0, 0.0])

    def test_follows_nan_that_infinities_make(self) -> None:
        x = pt.scalar("x")
        f = pt.function([x], pt.exp(x) - pt.exp(2 * x), mode=NanGuardMode(inf_is_error=False))
        with pytest.raises(NotFiniteError, match="holds NaN"):
            f(800.0)
        assert pt.function([x], pt.exp(x), mode=NanGuardMode(inf_is_error=False))(800.0) == np.inf
        with pytest.raises(NotFiniteError, match="a number beyond 1e"):
            pt.function([x], x * 1e9, mode=NanGuardMode(big_is_error=True))(1e3)
        assert pt.function([x], x * 1e9, mode="nan_guard")(1e3) == 1e12

    def test_goes_into_loops_and_branches(self) -> None:
        x, start = pt.vector("x"), pt.scalar("start")

        def step(value: Node, last: Node) -> Node:
            return pt.sqrt(last - value)

        path = pt.scan(step, sequences=[x], outputs_info=[start], return_updates=False)
        f = pt.function([x, start], path[-1], mode="nan_guard")
        with pytest.raises(NotFiniteError, match=rf"sqrt\(.*\): a number[\s\S]*{HERE}[\s\S]*run 3 [\s\S]*= -3\."):
            f([0.1, 0.2, 5.0, 0.0], 4.0)
        g = pt.function([x, start], pt.cond(start > 0, pt.log(x), x) * 2, mode="nan_guard")
        np.testing.assert_array_equal(g([-1.0], -1.0), [-2.0])
        with pytest.raises(NotFiniteError, match=rf"log\(.*\): 1 of 1[\s\S]*{HERE}"):
            g([-1.0], 1.0)

    def test_looks_at_updates_and_at_densities_of_models(self) -> None:
        state = pt.shared(1.0, name="state")
        x = pt.scalar("x")
        f = pt.function([x], None, updates={state: state / x}, mode="nan_guard")
        with pytest.raises(NotFiniteError, match="infinity"):
            f(0.0)
        assert state.get_value() == 1.0
        with pm.Model() as model:
            scale = pm.HalfNormal("scale")
            pm.Normal("y", 0.0, scale, observed=[1.0, 2.0])
        logp = model.compile_logp(mode="nan_guard")
        assert np.isfinite(logp(model.initial_point()))
        with pytest.raises(NotFiniteError, match=rf"of `logp` holds infinity[\s\S]*{HERE}"):
            logp({"scale_log__": -800.0})

    def test_lets_integers_and_empty_arrays_be(self) -> None:
        x, i = pt.vector("x"), pt.vector("i", dtype="int64")
        f = pt.function([x, i], [x * 2, i + 1], mode="nan_guard")
        assert f(np.zeros(0), np.zeros(0, int))[0].size == 0


@contextmanager
def wrong(table: dict[Any, Any], key: Any, made: Callable[[Any], Any]) -> Iterator[None]:
    """NumPy computes one op wrongly inside."""
    known = table[key]
    table[key] = made(known)
    try:
        yield
    finally:
        table[key] = known


class TestDebugMode:
    def test_agrees_with_numpy_on_every_op_of_the_table(self) -> None:
        for row in covering():
            nodes, arrays, outputs = of_row(row)
            f = pt.function(nodes, outputs, mode="debug", on_unused_input="ignore")
            known = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
            for found, meant in zip(f(*arrays), known, strict=True):
                np.testing.assert_allclose(found, meant, rtol=1e-5, atol=1e-8)
        assert len(ALL) > len(covering()) > 10

    @pytest.mark.parametrize("mode", ["debug", "DebugMode", "DEBUG_MODE", DebugMode()])
    def test_names_the_first_value_that_differs(self, mode: Any) -> None:
        x = pt.vector("x")
        f = pt.function([x], pt.exp(pt.softmax(x)).sum(), mode=mode, name="f")
        f([1.0, 2.0])
        with (
            wrong(reference.MEANINGS, Softmax, lambda known: lambda node, lengths, a: known(node, lengths, a) * 1.001),
            pytest.raises(
                DebugModeError, match=rf"`f`: .* differ in softmax\(x\)[\s\S]*{HERE}[\s\S]*machine code finds 0\.26"
            ),
        ):
            f([1.0, 2.0])

    def test_goes_into_loops_and_branches(self) -> None:
        x, start = pt.vector("x"), pt.scalar("start")

        def step(value: Node, last: Node) -> Node:
            return pt.cos(last - value) * 2

        path = pt.scan(step, sequences=[x], outputs_info=[start], return_updates=False)
        f = pt.function([x, start], [path[-1], pt.cond(start > 0, pt.sin(x), x)], mode="debug")
        f([0.1, 0.2], 3.0)
        for name, told in (("cos", r"run 1 of the inner graphs of scan"), ("sin", "run 1 of the inner graphs of cond")):
            off = wrong(TABLE, name, lambda row: replace(row, numpy=lambda a: row.numpy(a) + 0.01))
            with off, pytest.raises(DebugModeError, match=rf"{told}[\s\S]*{HERE}"):
                f([0.1, 0.2], 3.0)

    def test_takes_lengths_that_depend_on_values_and_random_draws(self) -> None:
        x = pt.vector("x")
        np.testing.assert_array_equal(pt.function([x], x[x > 0] * 2, mode="debug")([1.0, -1.0, 3.0]), [2.0, 6.0])
        assert pt.function([], pt.random.normal(size=(5,)), mode="debug")().shape == (5,)

    def test_infinities_and_nan_are_equal_to_themselves(self) -> None:
        x = pt.vector("x")
        found = pt.function([x], pt.log(x), mode="debug")([0.0, -1.0, np.inf])
        np.testing.assert_array_equal(found, [-np.inf, np.nan, np.inf])


def test_unknown_modes_are_refused_with_those_there_are() -> None:
    x = pt.scalar("x")
    with pytest.raises(ValueError, match=r"unknown `mode` 'nan_guards'; available are .*nan_guard.*debug"):
        pt.function([x], x, mode="nan_guards")
    with pytest.raises(ValueError, match=r"`mode` must be one of .*'nan_guard'"):
        pm.Model().compile_fn(pt.constant(1.0), mode="guard")


def test_settings_of_pytensors_debug_mode_are_taken_or_refused_by_name() -> None:
    """Everything is compared whatever they say; finiteness is the concern of another mode."""
    x = pt.vector("x")
    mode = pm.DebugMode(check_c_code=False, stability_patience=3)
    assert mode == pm.DebugMode()
    np.testing.assert_array_equal(pt.function([pm.In(x, borrow=True, mutable=True)], 10 * x, mode=mode)([1.0]), [10.0])
    with pytest.raises(TypeError, match="no setting `check_d`; it takes check_c_code"):
        pm.DebugMode(check_d=True)
    with pytest.raises(ValueError, match="`NanGuardMode"):
        pm.DebugMode(check_isfinite=True)
