"""Expressions, ops and models of PyTensor and PyMC where those of this library are needed: named, with what to do.

Stand-ins have the modules and the behaviour of the real classes, which are not installed everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import absent
from consilience.errors import ConsilienceError
from consilience.graph import Apply, Op


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


def test_pytensor_refuses_expressions_of_this_library_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is loaded first."""
    import functools
    import sys
    import types

    convert = functools.singledispatch(lambda x, *rest, **more: "converted")
    stand_in = types.ModuleType("pytensor.tensor")
    stand_in._as_tensor_variable = convert  # type: ignore[attr-defined]  # PyTensor's
    monkeypatch.setitem(sys.modules, "pytensor.tensor", stand_in)
    absent.refuse_elsewhere(pt.TensorVariable)
    assert convert(1.0) == "converted"
    with pytest.raises(TypeError, match="`consilience` and its modules in place of `pymc` and `pytensor`"):
        convert(X, None, None)
