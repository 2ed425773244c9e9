"""Expressions, ops and models of PyTensor and PyMC where those of this library are needed: named, with what to do.

Stand-ins have the modules and the behaviour of the real classes, which are not installed everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceError
from consilience.graph import Apply, Op
from consilience.names import absent


class _Foreign:
    """Something of another library."""

    def __str__(self) -> str:
        return "theirs"


def _of(module: str) -> Any:
    return type("Foreign", (_Foreign,), {"__module__": module})()


THEIRS = _of("pytensor.tensor.variable")
MODEL = _of("pymc.model.core")
X = pt.vector("x")


class Mine(Op):
    """Any op."""

    itypes, otypes = [pt.dvector], [pt.dvector]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0]


MEETINGS: dict[str, Callable[[], Any]] = {
    "operator": lambda: X + THEIRS,
    "reflected operator": lambda: THEIRS * X,
    "function": lambda: pt.exp(THEIRS),
    "member of a list": lambda: pt.stack([THEIRS, 1.0]),
    "op": lambda: Mine()(THEIRS),
    "inputs of Apply": lambda: Apply(Mine(), [THEIRS], [X.type()]),
    "outputs of Apply": lambda: Apply(Mine(), [X], [THEIRS]),
    "op of Apply": lambda: Apply(THEIRS, [X], [X.type()]),
    "type": lambda: pt.wrap_py([THEIRS], [pt.dvector])(np.exp),
    "compiled": lambda: pt.function([X], THEIRS),
    "derivative": lambda: pt.grad(THEIRS, X),
    "parameter": lambda: pm.Normal.dist(THEIRS),
    "component": lambda: pm.Mixture.dist([0.5, 0.5], [THEIRS, THEIRS]),
    "draws": lambda: pm.draw(THEIRS),
    "density": lambda: pm.logp(THEIRS, 1.0),
    "observed": lambda: _inside(lambda: pm.Normal("y", observed=THEIRS)),
    "data": lambda: _inside(lambda: pm.Data("d", THEIRS)),
    "potential": lambda: _inside(lambda: pm.Potential("p", THEIRS)),
    "deterministic": lambda: _inside(lambda: pm.Deterministic("d", THEIRS)),
}
MODELS: dict[str, Callable[[], Any]] = {
    "sample": lambda: pm.sample(model=MODEL),
    "find_MAP": lambda: pm.find_MAP(model=MODEL),
    "sample_prior_predictive": lambda: pm.sample_prior_predictive(model=MODEL),
    "do": lambda: pm.do(MODEL, {"a": 1}),
    "set_data": lambda: pm.set_data({"a": 1}, model=MODEL),
}


def _inside(action: Callable[[], Any]) -> Any:
    with pm.Model():
        return action()


@pytest.mark.parametrize("name", MEETINGS)
def test_expressions_of_pytensor_are_named(name: str) -> None:
    """With both remedies."""
    with pytest.raises((ConsilienceError, TypeError), match=r"`theirs` belongs to PyTensor, .*pm\.from_pytensor"):
        MEETINGS[name]()


@pytest.mark.parametrize("name", MODELS)
def test_models_of_pymc_are_named(name: str) -> None:
    """Where a model is asked for."""
    with pytest.raises((ConsilienceError, TypeError), match=r"`theirs` belongs to PyMC, .*pm\.from_pymc"):
        MODELS[name]()


AROUND: dict[str, Callable[[], Any]] = {
    "variable": lambda: pm.Normal("x"),
    "data": lambda: pm.Data("d", 1.0),
    "deterministic": lambda: pm.Deterministic("d", X),
    "sample": lambda: pm.sample(draws=10),
    "sample_prior_predictive": pm.sample_prior_predictive,
}


@pytest.mark.parametrize("name", AROUND)
def test_a_model_of_pymc_around_a_call_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that there is none."""

    class Theirs:
        inside: Any = MODEL

        @classmethod
        def get_context(cls, error_if_none: bool = True) -> Any:
            return cls.inside

    stand_in = ModuleType("pymc")
    stand_in.Model = Theirs  # type: ignore[attr-defined]  # PyMC's
    monkeypatch.setitem(sys.modules, "pymc", stand_in)
    with pytest.raises(ConsilienceError, match=r"The model around is not .*`theirs` belongs to PyMC, .*pm\.from_pymc"):
        AROUND[name]()
    Theirs.inside = None
    with pytest.raises((ConsilienceError, TypeError), match=r"(?i)no model on (the )?context stack"):
        AROUND[name]()


def test_what_pymc_sets_on_a_variable_is_refused_in_the_same_words() -> None:
    """PyMC's `Potential` names the variable, and then gives it a method."""
    with pytest.raises(AttributeError, match="belongs to consilience"):
        X.str_repr = str  # type: ignore[method-assign]


def test_pytensor_refuses_expressions_of_this_library_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is loaded first."""
    import functools

    convert = functools.singledispatch(lambda x, *rest, **more: "converted")
    stand_in = ModuleType("pytensor.tensor")
    stand_in._as_tensor_variable = convert  # type: ignore[attr-defined]  # PyTensor's
    monkeypatch.setitem(sys.modules, "pytensor.tensor", stand_in)
    absent.refuse_elsewhere(pt.TensorVariable)
    assert convert(1.0) == "converted"
    with pytest.raises(TypeError, match="`consilience` and its modules in place of `pymc` and `pytensor`"):
        convert(X, None, None)
