"""Exported libraries compile without a warning, run without Python, and give our numbers."""

from __future__ import annotations

import ctypes
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import export
from consilience.backends.c.compiler import command
from consilience.errors import MissingRuleError, ModelError, ShapeError, StorageError
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.inference.nuts import NutsInfo
from consilience.inference.streams import chain_key
from consilience.model.log_density import model_density
from consilience.native.target import CROSS
from consilience.native.typed_python.records import layout

Floats = np.ndarray[Any, np.dtype[np.float64]]


def eight_schools() -> pm.Model:
    """Eight schools, non-centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", 0, 1, shape=8)
        errors = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
        pm.Normal("y", mu + tau * theta, errors, observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))
    return model


def logistic() -> pm.Model:
    """Logistic regression, 1000 rows and 10 columns."""
    rng = np.random.default_rng(0)
    x, slopes = rng.normal(size=(1000, 10)), rng.normal(size=10)
    y = rng.random(1000) < 1 / (1 + np.exp(-x @ slopes))
    with pm.Model() as model:
        b = pm.Normal("b", 0, 2, shape=10)
        a = pm.Normal("a", 0, 5)
        pm.Bernoulli("y", logit_p=a + pm.math.dot(x, b), observed=y.astype(int))
    return model


def gaussian_process() -> pm.Model:
    """A model with a Cholesky factorisation."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 12)
    with pm.Model() as model:
        length = pm.LogNormal("length", -1, 0.5)
        cov = pt.exp(-0.5 * ((x[:, None] - x[None]) / length) ** 2) + 0.1 * np.eye(12)
        pm.MvNormal("y", np.zeros(12), cov=cov, observed=rng.normal(size=12))
    return model


def built(folder: Path) -> Path:
    """The folder, made by its Makefile; a warning is an error."""
    subprocess.run(
        ["make", "-s", f"CC={' '.join(command())}", "CFLAGS=-O2 -Werror"], cwd=folder, check=True, capture_output=True
    )
    return folder


def called(folder: Path, *numbers: float) -> list[Floats]:
    """What `main` prints, run in an empty environment."""
    run = subprocess.run(
        [str(folder / "main"), *(repr(float(n)) for n in numbers)], env={}, check=True, capture_output=True, text=True
    )
    return [np.array(line.split()[1:], float) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("make", [eight_schools, logistic], ids=["eight schools", "logistic"])
@pytest.mark.parametrize(
    ("target", "lanes"), [(None, 1), (None, 4), ("host", 1)], ids=["ISO C", "vectors", "object code"]
)
def test_density_and_gradient_are_ours_without_python(
    make: Any, target: str | None, lanes: int, tmp_path: Path
) -> None:
    """To 1e-12, at two positions."""
    model = make()
    folder = built(export(model, tmp_path / "posterior", target=target, lanes=lanes))
    density = model_density(model)
    rng = np.random.default_rng(2)
    for _ in range(2):
        position = rng.normal(size=density.dimension)
        logp, gradient = density(position)
        found = called(folder, *position)
        np.testing.assert_allclose(found[0], logp, rtol=1e-12)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-12, atol=1e-12 * np.abs(gradient).max())


def test_the_library_depends_on_the_c_library_alone(tmp_path: Path) -> None:
    """And holds some hundred kilobytes."""
    folder = built(export(logistic(), tmp_path / "logistic"))
    library = folder / "liblogistic.so"
    assert library.stat().st_size < 300_000
    if platform.system() == "Linux":
        needed = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
        names = {line.split()[0].split("/")[-1].split(".")[0] for line in needed.splitlines()}
        assert names <= {"linux-vdso", "libm", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}


def test_header_tells_the_layout_of_positions(tmp_path: Path) -> None:
    """Which coordinates are which variable, and on which scale."""
    header = (export(eight_schools(), tmp_path / "schools") / "schools.h").read_text()
    assert "0: mu" in header
    assert "1: tau (log)" in header
    assert "2 to 9: theta[8]" in header
    assert "int64_t schools(const double *position, double *log_density, double *gradient, void *workspace);" in header


@pytest.mark.parametrize("target", CROSS)
def test_object_files_are_made_for_other_processors(target: str, tmp_path: Path) -> None:
    """ELF for Linux and Mach-O for macOS, of the right machine."""
    folder = export(eight_schools(), tmp_path / "schools", target=target)
    code = (folder / "schools_program.o").read_bytes()
    if target == "apple-m1":
        assert code[:4] == b"\xcf\xfa\xed\xfe"
        assert code[4:8] == b"\x0c\x00\x00\x01"
    else:
        machine = {"neoverse-v2": 183}.get(target, 62)
        assert code[:4] == b"\x7fELF"
        assert int.from_bytes(code[18:20], "little") == machine


def test_functions_are_exported_with_their_shared_values(tmp_path: Path) -> None:
    """Inputs and outputs keep their names and types."""
    x, n = pt.vector("x", shape=(3,)), pt.lscalar("n")
    scale = pm.shared(np.array([1.0, 2.0, 4.0]), name="scale")
    f = pm.function([x, n], [pt.exp(x * scale).sum(), pt.argsort(x) + n])
    folder = built(export(f, tmp_path / "sums"))
    values = np.array([0.25, -1.5, 0.1])
    total, order = called(folder, *values, 5)
    wanted = f(values, 5)
    np.testing.assert_allclose(total, wanted[0], rtol=1e-14)
    np.testing.assert_array_equal(order, wanted[1])
    assert re.search(r"const double \*x, const int64_t \*n, double \*\w+, int64_t \*", (folder / "sums.h").read_text())


def test_factorisations_call_lapack(tmp_path: Path) -> None:
    """Under Fortran's names, which the Makefile links."""
    folder = export(gaussian_process(), tmp_path / "process")
    assert "dlauum_" in (folder / "process_program.c").read_text()
    assert "-llapack" in (folder / "Makefile").read_text()


def our_draws(model: pm.Model, seed: int, tune: int, draws: int) -> Floats:
    """Draws of one chain that tunes itself, begun at 0."""
    density = model_density(model)
    chain = MarkovChain(
        pm.NUTS(), density, np.zeros(density.dimension), chain_key(seed, 0), tune, np.zeros(1, np.int64)
    )
    chain.begin()
    count = tune + draws
    rows = Rows(np.zeros((count, density.dimension)), np.zeros((count, len(chain.kernel.columns.names)), np.int64))
    chain.write_to(rows)
    assert chain.advance(count) == count
    return rows.draws[tune:]


def sampled(folder: Path, *numbers: int) -> dict[str, Floats]:
    """What `sample` prints, run in an empty environment: a column of draws by name."""
    run = subprocess.run(
        [str(folder / "sample"), *map(str, numbers)], env={}, check=True, capture_output=True, text=True
    )
    head, *lines = run.stdout.splitlines()
    columns = np.array([line.split(",") for line in lines], float).T
    return dict(zip(head.split(","), columns, strict=True))


def on_own_scales(model: pm.Model, draws: Floats) -> dict[str, Floats]:
    """The same columns, of our draws."""
    found: dict[str, Floats] = {}
    for name, values in model_density(model).expand(draws).items():
        flat = values.reshape(len(draws), -1)
        found |= {f"{name}[{i}]" if values.ndim > 1 else name: column for i, column in enumerate(flat.T)}
    return found


@pytest.mark.parametrize("make", [eight_schools, logistic], ids=["eight schools", "logistic"])
def test_draws_of_exported_chains_are_ours(make: Any, tmp_path: Path) -> None:
    """Object code for this machine: every bit of every log density, tuning included, and values on their own scales."""
    model = make()
    folder = built(export(model, tmp_path / "posterior", target="host", sampler=True))
    draws = our_draws(model, 7, 200, 100)
    found = sampled(folder, 7, 200, 100)
    density = model_density(model)
    np.testing.assert_array_equal(found.pop("lp"), [density(draw)[0] for draw in draws])
    wanted = on_own_scales(model, draws)
    assert found.keys() == wanted.keys()
    for name, column in found.items():
        np.testing.assert_allclose(column, wanted[name], rtol=1e-14)
    assert (folder / "libposterior.so").stat().st_size < 300_000


@pytest.mark.parametrize("lanes", [1, 8])
def test_draws_of_exported_source_begin_as_ours(lanes: int, tmp_path: Path) -> None:
    """C compiled otherwise rounds otherwise, which chains amplify: the first transitions agree."""
    model = eight_schools()
    folder = built(export(model, tmp_path / "schools", lanes=lanes, sampler=True))
    found = sampled(folder, 3, 0, 4)
    for name, column in on_own_scales(model, our_draws(model, 3, 0, 4)).items():
        np.testing.assert_allclose(found[name], column, rtol=1e-8)
    draws = sampled(folder, 1, 500, 4000)
    # by the posterior's known means
    assert abs(draws["mu"].mean() - 4.4) < 0.5
    assert abs(draws["tau"].mean() - 3.6) < 0.6


def test_names_of_variables_may_be_those_of_c(tmp_path: Path) -> None:
    """Keywords, functions of C, names that the library's own code has, and names that differ in capitals."""
    with pm.Model() as model:
        for name in (
            "double",
            "exp",
            "position",
            "workspace",
            "inputs",
            "count",
            "i",
            "a",
            "A",
            "class",
            "x y",
            "seed",
        ):
            pm.Normal(name, 0, 1)
        pm.Deterministic("half", model["a"] / 2)
        pm.Bernoulli("y", pt.sigmoid(model["exp"]), observed=1)
    folder = built(export(model, tmp_path / "names", sampler=True))
    draws = sampled(folder, 1, 10, 20)
    assert len(draws) == 14
    np.testing.assert_allclose(draws["half"], draws["a"] / 2)
    density = built(export(model, tmp_path / "less", deterministics=False))
    assert "half" not in (density / "less.h").read_text()
    x = pt.vector("count", shape=(2,))
    folder = built(export(pm.function([x], pt.exp(x)), tmp_path / "exps"))
    np.testing.assert_allclose(called(folder, 0.5, 1.0)[0], np.exp([0.5, 1.0]), rtol=1e-15)


def test_chains_of_one_library_are_independent_of_each_other(tmp_path: Path) -> None:
    """Two chains in turn, each in its own memory, give what each gives alone; statistics have PyMC's names."""
    folder = built(export(eight_schools(), tmp_path / "schools", target="host", sampler=True))
    library = ctypes.CDLL(str(folder / "libschools.so"))
    size = int(re.findall(r"SCHOOLS_CHAIN (\d+)", (folder / "schools.h").read_text())[0])
    memories = [ctypes.create_string_buffer(size) for _ in range(2)]
    position, statistics = np.zeros(10), np.zeros(len(layout(NutsInfo).names))
    for number, memory in enumerate(memories):
        begun = library.schools_begin(
            memory, *map(ctypes.c_int64, (7, number, 0)), ctypes.c_void_p(position.ctypes.data)
        )
        assert begun == 0
    draws: list[list[Floats]] = [[], []]
    for _ in range(5):
        for own, memory in zip(draws, memories, strict=True):
            places = ctypes.c_void_p(position.ctypes.data), ctypes.c_void_p(statistics.ctypes.data)
            assert library.schools_transition(memory, *places) == 0
            own.append(position.copy())
    np.testing.assert_array_equal(draws[0], our_draws(eight_schools(), 7, 0, 5))
    assert not np.array_equal(draws[0], draws[1])
    logp = model_density(eight_schools())(draws[1][-1])[0]
    assert statistics[layout(NutsInfo).names.index("lp")] == logp


class TestBadInput:
    def test_a_folder_that_exists(self, tmp_path: Path) -> None:
        """It is left alone unless `overwrite=True`, and a file is never replaced by a folder."""
        folder = tmp_path / "schools"
        export(eight_schools(), folder)
        before = {p: p.read_bytes() for p in folder.iterdir()}
        with pytest.raises(StorageError, match=r"'.*schools' exists; .*`overwrite=True`"):
            export(logistic(), folder)
        assert {p: p.read_bytes() for p in folder.iterdir()} == before
        export(eight_schools(), folder, target="host", overwrite=True)
        assert (folder / "schools_program.o").exists()
        assert not (folder / "schools_program.c").exists()
        (tmp_path / "file").write_text("")
        with pytest.raises(StorageError, match="is a file"):
            export(eight_schools(), tmp_path / "file", overwrite=True)

    def test_unknown_targets_widths_and_names(self, tmp_path: Path) -> None:
        """What is available is listed; nothing is written."""
        model = eight_schools()
        with pytest.raises(ValueError, match=r"unknown target 'arm'; available are 'host', 'x86-64-v2'"):
            export(model, tmp_path / "a", target="arm")
        with pytest.raises(ValueError, match=r"`lanes` must be one of 1, 2, 4, 8, got 3"):
            export(model, tmp_path / "a", lanes=3)
        with pytest.raises(ValueError, match=r"has vectors of its own width"):
            export(model, tmp_path / "a", target="host", lanes=4)
        with pytest.raises(ValueError, match=r"name='eight_schools'"):
            export(model, tmp_path / "eight schools")
        with pytest.raises(ValueError, match=r"its headers do not take, got 'exp2'"):
            export(model, tmp_path / "exp2")
        with pytest.raises(ModelError, match=r"a model or a compiled function can be exported, got 3"):
            export(3, tmp_path / "a")  # type: ignore[arg-type]  # what a user may pass
        assert not list(tmp_path.iterdir())

    def test_samplers_that_cannot_be_exported(self, tmp_path: Path) -> None:
        """Other step methods, discrete variables, settings out of range, and a start without a density."""
        with pytest.raises(ModelError, match=r"`sampler` must be True, False or `pm.NUTS"):
            export(eight_schools(), tmp_path / "a", sampler=pm.Metropolis())  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="leave out those of"):
            export(eight_schools(), tmp_path / "a", sampler=pm.NUTS(vars=("mu",)))
        with pm.Model() as counts:
            n = pm.Poisson("n", 3)
            pm.Normal("y", n, 1, observed=2.0)
        with pytest.raises(ModelError, match="`n` is discrete"):
            export(counts, tmp_path / "a", sampler=True)
        assert not list(tmp_path.iterdir())

    def test_what_has_no_form_in_c_is_named(self, tmp_path: Path) -> None:
        """SciPy's functions, computed lengths, open shapes, updates."""
        x = pt.vector("x", shape=(4,))
        with pytest.raises(MissingRuleError, match="`k0e` is computed by SciPy"):
            export(pm.function([x], pt.k0e(x) if hasattr(pt, "k0e") else pm.math.kve(0, x)), tmp_path / "a")
        with pytest.raises(MissingRuleError, match="fixed lengths"):
            export(pm.function([x], x[x > 0]), tmp_path / "a")
        y = pt.vector("y")
        with pytest.raises(ShapeError, match=r"input.*fixed shapes.*`y`"):
            export(pm.function([y], y + 1.0), tmp_path / "a")
        with pytest.raises(ModelError, match="a function has no draws"):
            export(pm.function([x], x + 1.0), tmp_path / "a", sampler=True)
        count = pm.shared(0, name="count")
        with pytest.raises(ModelError, match="updates shared variables"):
            export(pm.function([], count, updates={count: count + 1}), tmp_path / "a")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("make", [eight_schools, logistic], ids=["eight schools", "logistic"])
def test_a_density_is_a_c_function_of_this_process(make: Any) -> None:
    """`address` brings its own data and scratch memory."""
    density = make().log_density()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(density.address)
    position = np.random.default_rng(5).normal(size=density.dimension)
    logp, gradient = np.empty(1), np.empty(density.dimension)
    assert call(position.ctypes.data, logp.ctypes.data, gradient.ctypes.data) == 0
    wanted = density(position)
    assert logp[0] == wanted[0]
    np.testing.assert_array_equal(gradient, wanted[1])


def test_much_scratch_memory_is_not_taken_from_the_stack() -> None:
    """A density with temporaries of a megabyte, called from a thread with a small stack."""
    x = np.random.default_rng(3).normal(size=(400, 400))
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=400)
        pm.Normal("y", pt.linalg.inv(pt.eye(400) * 30 + x * b) @ np.ones(400), 1, observed=np.ones(400))
    density = model.log_density()
    assert density.workspace > 1 << 20
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(density.address)
    position, logp, gradient = np.full(400, 0.1), np.empty(1), np.empty(400)
    assert call(position.ctypes.data, logp.ctypes.data, gradient.ctypes.data) == 0
    np.testing.assert_allclose(logp[0], density(position)[0], rtol=1e-12)


def test_without_cffi_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """`density.cffi` alone needs it."""
    monkeypatch.setitem(sys.modules, "cffi", None)
    with pytest.raises(ImportError, match="pip install cffi"):
        _ = eight_schools().log_density().cffi
