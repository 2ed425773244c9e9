"""Pages of docs/do on other programs run as one script each, where these are installed, and come to what they tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import consilience as pm
from tests.pages import names_of, script_of


@pytest.mark.filterwarnings("ignore")  # PyMC's own
def test_for_pymc(tmp_path: Path) -> None:
    """Precision 1/4 + 0 + 1 + 4; means of predictions are 4 times the slope's."""
    pytest.importorskip("pymc")
    found, _ = names_of("for-pymc", tmp_path)
    try:
        assert found["verdict"] == "converged"
        assert abs(float(found["ahead"].predictions["y"].mean()) / 4 - 10.2 / 5.25) < 0.1
    finally:
        found["consilience"].for_pymc.install()


def test_from_jax(tmp_path: Path) -> None:
    """To a posterior that is that of eight schools."""
    pytest.importorskip("jax")
    pytest.importorskip("numpyro")
    found, _ = names_of("from-jax", tmp_path)
    assert found["result"].status == "converged"
    assert abs(float(found["result"].posterior["mu"].mean()) - 4.4) < 0.5


def test_from_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert {"0_weight", "2_bias"} <= set(names_of("from-torch", tmp_path)[0]["point"])


def test_jax(tmp_path: Path) -> None:
    """In a process of its own: it switches JAX's precision on for all of it."""
    pytest.importorskip("jax")
    script, _ = script_of("jax", tmp_path)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "-43.436 1.0" in done.stdout


def test_numba(tmp_path: Path) -> None:
    """To the mode of the model."""
    pytest.importorskip("numba")
    found, _ = names_of("numba", tmp_path)
    assert abs(found["found"][0] - pm.find_MAP(model=found["model"], progressbar=False)["a"]) < 1e-3


def test_torch(tmp_path: Path) -> None:
    """To the gradients that it tells."""
    pytest.importorskip("torch")
    found, _ = names_of("torch", tmp_path)
    np.testing.assert_allclose(found["given"].grad, 0.5)
    np.testing.assert_allclose(found["position"].grad, -6.0)


def test_vectorised_chains(tmp_path: Path) -> None:
    """The draws named as equal are equal."""
    jax = pytest.importorskip("jax")
    found, _ = names_of("vectorised-chains", tmp_path)
    if jax.default_backend() == "cpu":
        np.testing.assert_array_equal(found["same"].posterior["mu"], found["result"].posterior["mu"])
