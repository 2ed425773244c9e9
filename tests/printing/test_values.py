"""`Print`: values shown while a function runs, and expressions that stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.printing import Print

BOTH = pytest.mark.parametrize("mode", ["FAST_RUN", "reference"])


@BOTH
def test_a_value_is_printed_at_every_evaluation(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = pt.vector("x")
    f = pm.function([x], Print("x is", attrs=("__str__", "shape", "max"))(x) * 2, mode=mode)
    for value in ([1.0, 2.0], [3.0]):
        np.testing.assert_array_equal(f(value), 2 * np.array(value))
    assert capsys.readouterr().out.splitlines() == [
        "x is __str__ = [1. 2.]", "x is shape = (2,)", "x is max = 2.0",
        "x is __str__ = [3.]", "x is shape = (1,)", "x is max = 3.0",
    ]  # fmt: skip


@BOTH
def test_derivatives_pass_a_print(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = pt.vector("x")
    slope = pm.function([x], pm.grad((Print("seen")(x) ** 2).sum(), x), mode=mode)
    np.testing.assert_allclose(slope([1.0, 3.0]), [2.0, 6.0])
    assert "seen __str__ = [1. 3.]" in capsys.readouterr().out


def test_prints_with_unlike_messages_are_two(capsys: pytest.CaptureFixture[str]) -> None:
    n = pt.lscalar("n")
    assert pm.function([n], Print("one")(n) + Print("two")(n))(3) == 6
    assert sorted(capsys.readouterr().out.splitlines()) == ["one __str__ = 3", "two __str__ = 3"]


def test_densities_of_models_print(capsys: pytest.CaptureFixture[str]) -> None:
    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Normal("b", Print("a is")(a), observed=1.0)
    np.testing.assert_allclose(model.compile_dlogp()({"a": 2.0}), [-3.0])
    assert "a is __str__ = 2.0" in capsys.readouterr().out


def test_what_arrays_do_not_have_is_refused_at_once() -> None:
    with pytest.raises(AttributeError, match=r"attributes of arrays.*'colour' is none"):
        Print("x", attrs=("colour",))
