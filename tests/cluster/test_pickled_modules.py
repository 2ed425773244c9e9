"""Modules of this package go to workers by name, as those of others do: functions of a session refer to them."""

from __future__ import annotations

import importlib
import pickle
from types import ModuleType

import pytest

import consilience


@pytest.mark.parametrize("name", ["", ".tensor", ".gp", ".math", ".smc", ".ifelse", ".scan", ".gradient", ".compile"])
def test_a_module_pickles_by_its_name(name: str) -> None:
    module = getattr(consilience, name[1:]) if name else consilience
    assert isinstance(module, ModuleType)
    cloudpickle = pytest.importorskip("cloudpickle")
    assert cloudpickle.loads(cloudpickle.dumps(module)) is importlib.import_module(module.__name__)
    if type(module) is not ModuleType:
        assert pickle.loads(pickle.dumps(module)) is module


def test_a_lambda_that_uses_the_package_goes_with_cloudpickle() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    scope: dict[str, object] = {"pm": consilience, "pt": consilience.tensor}
    made = eval("lambda x: (pm.__name__, pt.exp.__name__, x)", scope)
    made.__module__ = "__main__"
    assert cloudpickle.loads(cloudpickle.dumps(made))(1) == ("consilience", consilience.tensor.exp.__name__, 1)
