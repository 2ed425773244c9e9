"""Engines are extras: where one is missing, the error names the command that installs it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingPackageError


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_functions_and_densities_name_the_command(engine: str) -> None:
    if find_spec(engine) is not None:
        pytest.skip(f"{engine} is installed")
    x = pt.vector("x")
    f: Any = pm.function([x], x.sum())
    with pm.Model() as model:
        pm.Normal("x")
    density: Any = model.log_density()
    for holder in (f, density):
        with pytest.raises(MissingPackageError, match=rf"pip install 'consilience\[{engine}\]'"):
            getattr(holder, engine)


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_the_backend_names_the_command(engine: str) -> None:
    if find_spec(engine) is not None:
        pytest.skip(f"{engine} is installed")
    x = pt.vector("x")
    with pytest.raises(MissingPackageError, match=rf"pip install 'consilience\[{engine}\]'"):
        pm.function([x], x.sum(), backend=engine)
