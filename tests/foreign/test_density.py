"""Log densities computed elsewhere are sampled as models are, and what is wrong with them is told."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceError, ConsilienceWarning, ModelError, ShapeError
from consilience.foreign import from_density
from tests.foreign.compiling import library, needs_compiler

QUIET: Any = {"progressbar": False, "random_seed": 3}
SHORT: Any = {**QUIET, "compute_convergence_checks": False}
SOURCE = """
int normal(double const *x, double *gradient, double *logp, void *data) {
    double const *about = data;
    double sum = 0, precision = about ? about[0] : 1;
    if (x[0] > 1e6) return 7;
    for (int i = 0; i < 3; i++) { sum += x[i] * x[i]; gradient[i] = -precision * x[i]; }
    *logp = -0.5 * precision * sum;
    return 0;
}
"""


def normal(x: np.ndarray) -> tuple[float, np.ndarray]:
    """A standard normal density."""
    return -0.5 * float(x @ x), -x


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ctypes.CDLL(str(library(tmp_path_factory.mktemp("density"), SOURCE)))


def test_a_python_function_has_its_own_values_and_gradients_in_one_call() -> None:
    calls = []

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(1)
        return normal(x)

    density = from_density(3, counted).log_density()
    before = len(calls)
    logp, gradient = density(np.array([1.0, 2.0, 3.0]))
    assert logp == -7.0
    assert gradient.tolist() == [-1.0, -2.0, -3.0]
    assert len(calls) == before + 1


def test_names_and_shapes_lie_in_the_vector_in_their_order() -> None:
    scale = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    model = from_density(
        5,
        lambda x: (-0.5 * float(x @ (x / scale**2)), -x / scale**2),
        names={"mu": (), "theta": "school", "b": (2, 1)},
        coords={"school": ["a", "b"]},
    )
    posterior = pm.sample(model=model, **QUIET).posterior
    assert posterior["theta"].dims == ("chain", "draw", "school")
    assert posterior["b"].shape[2:] == (2, 1)
    found = [posterior[name].std(["chain", "draw"]).values.ravel() for name in ("mu", "theta", "b")]
    assert np.allclose(np.concatenate(found), scale, rtol=0.15)


def test_a_python_function_is_known_again_in_other_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from consilience.ops.python_call import PythonFunction\n"
        "def f(x):\n"
        "    return [y for y in x if y in {'a', 'b', 'c', 'd'}], (lambda z: z + 1)\n"
        "print(PythonFunction(f, 'f').identity)\n",
        encoding="utf-8",
    )
    told = {
        subprocess.run(
            [sys.executable, script], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


def test_a_run_of_a_python_function_is_resumed_by_the_same_code_only(tmp_path: Path) -> None:
    whole = pm.sample(50, tune=50, model=from_density(2, normal), save=pm.Save(checkpoint=tmp_path / "run"), **SHORT)
    again = pm.resume(tmp_path / "run", model=from_density(2, normal), progressbar=False)
    assert np.array_equal(whole.posterior["x"], again.posterior["x"])
    with pytest.raises(ConsilienceError, match="cannot be resumed"):
        pm.resume(tmp_path / "run", model=from_density(2, lambda x: (-float(x @ x), -2 * x)), progressbar=False)


@needs_compiler
class TestMachineCode:
    def test_of_a_library_gives_what_it_computes(self, code: Any) -> None:
        own = np.array([4.0])
        address = ctypes.cast(code.normal, ctypes.c_void_p).value
        for function in (code.normal, address, ctypes.c_void_p(address)):
            for data in (own, own.ctypes.data, (ctypes.c_double * 1)(4.0), own.ctypes.data_as(ctypes.c_void_p)):
                logp, gradient = from_density(3, function, data=data).log_density()(np.array([1.0, 2.0, 3.0]))
                assert logp == -28.0
                assert gradient.tolist() == [-4.0, -8.0, -12.0]

    def test_has_density_0_where_it_reports_a_failure(self, code: Any) -> None:
        density = from_density(3, code.normal).log_density()
        assert density(np.array([2e6, 0.0, 0.0]))[0] == -np.inf

    def test_is_sampled_to_the_draws_that_python_gives(self, code: Any) -> None:
        ours = pm.sample(model=from_density(3, normal), **QUIET)
        theirs = pm.sample(model=from_density(3, code.normal), **QUIET)
        assert ours.status == theirs.status == "converged"
        assert np.allclose(ours.posterior["x"][:, 0], theirs.posterior["x"][:, 0])

    def test_can_be_resumed(self, code: Any, tmp_path: Path) -> None:
        whole = pm.sample(model=from_density(3, code.normal), save=pm.Save(checkpoint=tmp_path / "run"), **QUIET)
        again = pm.resume(tmp_path / "run", model=from_density(3, code.normal), progressbar=False)
        assert np.array_equal(whole.posterior["x"], again.posterior["x"])

    def test_belongs_to_copies_of_the_model_too(self, code: Any) -> None:
        assert from_density(3, code.normal).copy().log_density()(np.ones(3))[0] == -1.5

    def test_of_other_data_is_not_resumed(self, code: Any, tmp_path: Path) -> None:
        pm.sample(
            model=from_density(3, code.normal, data=np.ones(1)), save=pm.Save(checkpoint=tmp_path / "run"), **QUIET
        )
        with pytest.raises(ConsilienceError, match="cannot be resumed"):
            pm.resume(tmp_path / "run", model=from_density(3, code.normal, data=np.full(1, 2.0)), progressbar=False)

    def test_serves_every_other_method(self, code: Any) -> None:
        model = from_density(3, code.normal)
        assert np.allclose(pm.find_MAP(model=model, progressbar=False)["x"], 0, atol=1e-4)

    def test_that_needs_the_lock_is_refused(self) -> None:
        with pytest.raises(ModelError, match="PyDLL"):
            from_density(3, ctypes.pythonapi.Py_IsInitialized)

    def test_of_cffi_has_an_address(self, code: Any) -> None:
        cffi = pytest.importorskip("cffi")
        ffi = cffi.FFI()
        ffi.cdef("int normal(double const *x, double *gradient, double *logp, void *data);")
        function = ffi.dlopen(code._name).normal
        assert from_density(3, function).log_density()(np.ones(3))[0] == -1.5


def test_a_cfunc_of_numba_has_an_address() -> None:
    numba = pytest.importorskip("numba")
    vector = numba.types.CPointer(numba.float64)

    @numba.cfunc(numba.int32(vector, vector, vector, numba.types.voidptr))
    def function(x, gradient, logp, data):  # type: ignore[no-untyped-def]
        gradient[0] = -x[0]
        logp[0] = -0.5 * x[0] * x[0]
        return 0

    logp, gradient = from_density(1, function).log_density()(np.array([3.0]))
    assert (logp, gradient.tolist()) == (-4.5, [-3.0])


def test_a_function_that_raises_in_a_chain_has_density_0_there_and_its_traceback_is_told() -> None:
    def half(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x[0] < 0:
            raise ZeroDivisionError("no value below 0")
        return -float(x[0]), -np.ones(1)

    with pytest.warns(ConsilienceWarning) as told:
        result = pm.sample(
            100, tune=100, chains=2, model=from_density(1, half, initial=[1.0]), init="adapt_diag", **QUIET
        )
    assert (result.posterior["x"] >= 0).all()
    message = next(str(w.message) for w in told if "raised" in str(w.message))
    assert "ZeroDivisionError: no value below 0" in message
    assert "in half" in message


def test_starting_points_at_which_a_function_raises_are_passed_by() -> None:
    """The noise around the initial point reaches into the half where there is no value."""

    def half(x: Any) -> Any:
        if x[0] > 0.1:
            raise ZeroDivisionError("no value above 0.1")
        return -0.5 * x @ x, -x

    model = pm.from_density(2, half, initial=np.array([-1.0, 0.0]))
    with pytest.warns(ConsilienceWarning) as told:
        found = pm.sample(model=model, draws=50, tune=50, random_seed=3, chains=8, progressbar=False)
    assert float(found.posterior["x"][..., 0].max()) <= 0.1
    assert any("ZeroDivisionError: no value above 0.1" in str(w.message) for w in told)


def test_a_run_that_fails_tells_what_the_function_raised() -> None:
    calls: list[int] = []

    def short(x: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(1)
        return -0.5 * float(x @ x), (-x if len(calls) < 50 else x[:1])

    with pytest.raises(ConsilienceError) as told:
        pm.sample(model=from_density(2, short), **QUIET)
    assert "must have shape (2,), got (1,)" in told.value.__notes__[0]


def test_a_function_that_gives_nan_has_density_0_there() -> None:
    density = from_density(1, lambda x: (float("nan") if x[0] > 1 else 0.0, np.zeros(1))).log_density()
    assert density(np.array([2.0]))[0] == -np.inf
    assert density(np.array([0.5]))[0] == 0.0


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ((3, lambda x: x[0]), ShapeError, "two things"),
        ((3, lambda x: (x, x)), ShapeError, "must be a number, got shape"),
        ((3, lambda x: (0.0, x[:2])), ShapeError, r"shape \(3,\), got \(2,\)"),
        ((3, lambda x: 1 // 0), ModelError, "ZeroDivisionError"),
        ((3, lambda x: (-float(x @ x) - x[0], x)), ModelError, "gradient that `<lambda>` gives is not that"),
        ((0, normal), ModelError, "at least 1"),
        ((3, "normal"), ModelError, "callable"),
        ((3, 0), ModelError, "no address"),
    ],
)
def test_mistakes_are_told_before_anything_runs(given: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        from_density(*given)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"names": ["a"]}, "each of the 3 coordinates"),
        ({"names": {"a": 2}}, "2 elements in all"),
        ({"names": {"a": (1, "k")}, "coords": {"k": [1, 2, 3]}}, "not both"),
        ({"names": "abc"}, "a list of names"),
        ({"initial": [1.0]}, "`initial`"),
        ({"initial": [np.inf, 0, 0]}, "finite"),
        ({"data": np.ones(2)}, "machine code"),
    ],
)
def test_names_and_starts_that_do_not_fit_are_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ConsilienceError, match=told):
        from_density(3, normal, **arguments)
