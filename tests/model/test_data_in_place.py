"""Large data that nobody can write to are read where they lie; others are copied, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.ir import constant, constant_value
from consilience.ir.leaves import LARGE
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.observation import slot_values

ROWS, COLUMNS = 70_000, 8


def matrix(dtype: str = "float64") -> Any:
    x = np.random.default_rng(1).normal(size=(ROWS, COLUMNS)).astype(dtype)
    assert dtype == "float32" or x.nbytes >= LARGE
    return x


def regression(x: Any, data: bool = False) -> ModelDensity:
    y = np.arange(len(x)) % 2
    with pm.Model() as model:
        given = pm.Data("x", x) if data else x
        pm.Bernoulli("y", logit_p=given @ pm.Normal("b", shape=x.shape[1]), observed=y)
    return model_density(model)


def read(density: ModelDensity, x: Any) -> bool:
    """Whether machine code reads these very numbers."""
    return any(np.shares_memory(array, x) for array in density._bound.arrays)  # type: ignore[attr-defined]  # of machine code


def right(density: ModelDensity, x: Any) -> None:
    b = np.linspace(-0.5, 0.5, x.shape[1])
    eta = x.astype("float64") @ b
    y = np.arange(len(x)) % 2
    value, slope = density(b)
    prior = -0.5 * (b @ b) - 0.5 * len(b) * np.log(2 * np.pi)
    np.testing.assert_allclose(value, prior + np.sum(y * eta - np.logaddexp(0, eta)), rtol=1e-11)
    np.testing.assert_allclose(slope, x.T.astype("float64") @ (y - 1 / (1 + np.exp(-eta))) - b, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("data", [False, True])
def test_read_only_arrays_and_mapped_files_stay_where_they_are(data: bool, tmp_path: Path) -> None:
    """As constants and as `pm.Data`; an array that can be written to is copied, and may change afterwards."""
    x = matrix()
    copied = regression(x, data)
    assert not read(copied, x)
    right(copied, x)
    kept = x.copy()
    x[:] = 0.0
    right(copied, kept)
    np.save(tmp_path / "x.npy", 3.0 * kept)  # constants of equal bits are one
    frozen = 2.0 * kept
    frozen.setflags(write=False)
    for own in (frozen, np.load(tmp_path / "x.npy", mmap_mode="r")):
        density = regression(own, data)
        assert read(density, own)
        right(density, own)


def test_a_read_only_view_of_what_can_be_written_to_is_copied() -> None:
    """As pandas gives one of a table's columns."""
    owner = matrix()
    view = owner[:]
    view.setflags(write=False)
    held = constant_value(constant(view))
    assert held is not None
    assert not np.shares_memory(held, owner)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
def test_matrices_of_few_columns_are_converted_as_they_are_read(dtype: str) -> None:
    x = np.repeat(matrix(), 2, axis=0)
    x = (x * 3).astype(dtype)
    x.setflags(write=False)
    density = regression(x)
    assert read(density, x)
    right(density, x)


def test_wide_matrices_are_converted_once() -> None:
    x = np.random.default_rng(2).normal(size=(30_000, 40)).astype("float32")
    x.setflags(write=False)
    density = regression(x)
    assert not read(density, x)
    right(density, x)


def test_new_data_of_another_length() -> None:
    x = matrix()
    with pm.Model() as model:
        given, y = pm.Data("x", x), pm.Data("y", np.arange(ROWS) % 2)
        pm.Bernoulli("z", logit_p=given @ pm.Normal("b", shape=COLUMNS), observed=y)
    right(model_density(model), x)
    more = np.concatenate([x, x[:1000]])
    more.setflags(write=False)
    pm.set_data({"x": more, "y": np.arange(len(more)) % 2}, model=model)
    density = model_density(model)
    assert read(density, more)
    right(density, more)
    for values in (2.0 * x, x.astype("float32")):  # which are laid out by columns, in the one copy that there is
        pm.set_data({"x": values, "y": np.arange(ROWS) % 2}, model=model)
        held = slot_values(model)[1][0]
        density = model_density(model)
        assert held.dtype == "float64"
        assert read(density, held)
        assert not np.shares_memory(held, values)
        right(density, values)
