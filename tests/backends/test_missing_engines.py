"""Engines are extras: where one is missing or broken, who asks for it is told, and nobody else notices."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingPackageError
from tests.test_public_names import in_a_fresh_process


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


def test_an_engine_that_is_there_and_broken_is_met_by_who_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise RuntimeError('no driver')", encoding="utf-8")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import consilience as pm, consilience.tensor as pt
x = pt.vector("x")
f = pm.function([x], x.sum())
with pm.Model() as model:
    pm.Normal("x")
answer = [float(f([1.0, 2.0])), float(model.log_density()([0.0])[0])]
with model:
    for ask in (lambda: f.jax, lambda: pm.function([x], x, backend="jax"), lambda: pm.sample(backend="jax"),
                lambda: pm.from_jax(abs, x)):
        try:
            ask()
        except pm.ConsilienceError as error:
            answer.append(str(error))
"""
    three, level, *told = in_a_fresh_process(code)
    assert (three, round(float(level), 3)) == (3.0, -0.919)
    assert len(told) == 4
    assert all("JAX" in text and "RuntimeError: no driver" in text for text in told), told
