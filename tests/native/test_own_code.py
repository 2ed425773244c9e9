"""The library's own programs: shipped machine code is that of the sources, and whatever is wrong with it, they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from consilience.inference import nuts_chain
from consilience.native import cache, jit, own_code
from consilience.native.random import library as draws
from consilience.native.random.continuous import random_normals
from consilience.native.target import CROSS, PORTABLE, Target, host, portable, runs_here
from consilience.native.typed_python import f64, native
from consilience.native.typed_python.function import NativeFunction
from consilience.native.typed_python.translate import translate
from consilience.record import replace

ROOT = Path(__file__).resolve().parents[2]
WHOLE_RUN = """
import consilience as pm
with pm.Model():
    pm.Normal("y", pm.Normal("x"), observed=[1.0, 2.0])
    assert pm.sample(draws=50, tune=50, chains=2, random_seed=1, progressbar=False).posterior["x"].shape == (2, 50)
"""
WITHOUT_TRANSLATION = """
from consilience.native import jit
from consilience.native.typed_python import function, translate
def refuse(*arguments):
    raise AssertionError("translated again")
translate._function = function._functions = refuse
"""
WITHOUT_SHIPPED = """
from pathlib import Path
from consilience.native import own_code
own_code.SHIPPED = Path("nowhere")
"""
ONE_CHAIN = """
from consilience.inference import nuts_chain
from consilience.native.random import library
from consilience.native.typed_python import compile_native
assert compile_native([nuts_chain.start_nuts, nuts_chain.step_nuts]).address("step_nuts")
assert library.library("consilience_random_gamma_f64x4").address("consilience_random_gamma_f64x4")
"""
READ_BY_SHIPPED = """
import sys
sys.path.insert(0, "tools")
import machine_code
from consilience.native import own_code
seen = set()
own_code.sources = lambda modules: seen.add(modules) or "some"
machine_code.made("x86-64-v2", compiled=False)
assert len(seen) > 10
for modules in seen:
    read = own_code.read_by(modules)
    above = [name for name in read if name.partition(".")[0] in ("model", "sample", "tensor")]
    assert not above, (sorted(modules), above)
"""
is_shipped = pytest.mark.skipif(
    replace(portable(host()), lanes=1) not in [replace(p, lanes=1) for p in PORTABLE.values()],
    reason="nothing is shipped for this processor",
)


@native
def halved(x: f64) -> f64:
    """Not part of the library."""
    return 0.5 * x


@native
def quartered(x: f64) -> f64:
    """Calls one that is not either."""
    return halved(halved(x))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a cache of its own."""
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path / "cache"))


def execute(*arguments: str) -> None:
    """Run Python with these arguments."""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


class TestShipped:
    @pytest.mark.parametrize(
        "processor", [name if name == "x86-64-v3" else pytest.param(name, marks=pytest.mark.slow) for name in PORTABLE]
    )
    def test_is_what_the_sources_make(self, processor: str) -> None:
        """If not: `python tools/machine_code.py`."""
        execute("tools/machine_code.py", "--check", "--processor", processor)

    def test_is_small(self) -> None:
        assert sum(file.stat().st_size for file in own_code.SHIPPED.iterdir()) < 2 * 2**20
        assert {file.name for file in own_code.SHIPPED.iterdir()} == set(PORTABLE)

    @is_shipped
    @pytest.mark.slow
    def test_the_first_run_on_a_machine_compiles_the_model_alone(self) -> None:
        execute("-c", WITHOUT_TRANSLATION + WHOLE_RUN)

    @is_shipped
    def test_has_the_bits_of_what_is_compiled_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shipped = draws.Fill(random_normals)
        monkeypatch.setattr(own_code, "shipped", lambda key, target: None)
        jit._loaded.clear()
        compiled = draws.Fill(random_normals)
        assert shipped.address != compiled.address
        found = np.empty((2, 1001))
        shipped(7, 3, found[0], 1001)
        compiled(7, 3, found[1], 1001)
        assert found[0].tobytes() == found[1].tobytes()

    @pytest.mark.parametrize("damage", ["absent", "empty", "head", "truncated", "flipped"])
    def test_damaged_files_are_not_used(self, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        target = PORTABLE["x86-64-v3"]
        keys = ["a" * 64, "b" * 64]
        content = own_code.archive({keys[0]: b"first" * 9, keys[1]: b"second" * 9})
        monkeypatch.setattr(own_code, "SHIPPED", tmp_path)
        file = tmp_path / "x86-64-v3"
        file.write_bytes(content)
        own_code._archive.cache_clear()
        assert [own_code.shipped(key, target) for key in keys] == [b"first" * 9, b"second" * 9]
        damaged = {
            "empty": b"",
            "head": b"\xff" + content[1:],
            "truncated": content[:-5],
            "flipped": content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        }
        file.unlink()
        if damage != "absent":
            file.write_bytes(damaged[damage])
        own_code._archive.cache_clear()
        assert own_code.shipped(keys[1], target) is None
        own_code._archive.cache_clear()

    @is_shipped
    def test_is_passed_over_once_sources_have_changed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found: list[bytes | None] = []
        look = own_code.shipped
        monkeypatch.setattr(own_code, "shipped", lambda key, to: found.append(look(key, to)) or found[-1])
        jit._loaded.clear()
        first = draws.Fill(random_normals)
        assert found
        assert None not in found
        found.clear()
        monkeypatch.setattr(own_code, "sources", lambda modules: "other")
        second = draws.Fill(random_normals)
        assert first.address != second.address
        assert set(found) == {None}


class TestKept:
    def test_a_second_process_neither_parses_nor_translates(self) -> None:
        for code in (ONE_CHAIN, WITHOUT_TRANSLATION + ONE_CHAIN):
            execute("-c", WITHOUT_SHIPPED + code)

    @pytest.mark.parametrize(
        "function",
        [halved, NativeFunction(nuts_chain.start_nuts.python, True, True, False, False)],
        ids=["of a user", "with other options"],
    )
    def test_other_functions_are_translated_in_every_process(self, function: NativeFunction[..., object]) -> None:
        """Nothing tells when functions outside the library, or constants they use, have changed."""
        written: list[int] = []
        for _ in range(2):
            own_code.load_own({"halved": halved}, lambda: written.append(1) or translate({"halved": halved}))
        assert written == [1, 1]
        assert own_code._place(function) is None

    def test_a_program_that_calls_others_is_not_known_by_sources(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever replaces a function of the library has its code in this process alone."""
        monkeypatch.setattr(own_code, "shipped", lambda key, to: None)
        ways: list[str] = []
        digest = cache.digest
        monkeypatch.setattr(cache, "digest", lambda *of: ways.append(of[-1]) or digest(*of))
        own_code.load_own({"random_normals": random_normals}, lambda: translate({"random_normals": quartered}))
        assert ways[-2:] == ["own", "light"]


class TestSources:
    def test_shipped_programs_read_nothing_of_models(self) -> None:
        """Or their machine code would be stale after nearly every change, and be compiled where they first run."""
        execute("-c", READ_BY_SHIPPED)

    def test_all_that_is_imported_counts_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(own_code, "_ROOT", tmp_path)
        files = {
            "record.py": "",
            "native/emit.py": "x = 1",
            "native/cache.py": "",
            "inference/a.py": "from consilience.inference.b import f\n",
            "inference/b.py": "def f():\n    import consilience.inference.c\n",
            "inference/c.py": "from consilience.deep.g import g\nfrom consilience.errors import e\n",
            "deep/g.py": "",
            "inference/d.py": "",
        }
        found: list[str | None] = []

        def look() -> bool:
            """Whether the digest is another one than before."""
            for name, content in files.items():
                path = tmp_path / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(content, encoding="utf-8")
            own_code._source.cache_clear(), own_code._index.cache_clear()
            found.append(own_code.sources.__wrapped__(frozenset(["consilience.inference.a"])))
            return len(found) == 1 or found[-1] != found[-2]

        assert look()
        uninvolved = {"native/cache.py", "inference/d.py", "deep/h.py"}
        for name in (*files, "deep/h.py"):
            files[name] = files.get(name, "") + "# changed\n"
            assert look() is (name not in uninvolved), name
        (tmp_path / "inference/c.py").unlink()
        del files["inference/c.py"]
        look()
        assert found[-1] is None
        own_code._source.cache_clear(), own_code._index.cache_clear()

    def test_a_changed_file_is_read_again_though_size_and_time_of_modification_are_the_same(
        self, tmp_path: Path
    ) -> None:
        """As after the installation of another release, whose files have times of their archive."""
        file = tmp_path / "a.py"
        found = []
        for content in ("from consilience.b import c", "from consilience.d import c"):
            file.write_text(content, encoding="utf-8")
            os.utime(file, (10, 10))
            for _ in range(2):  # read, and remembered
                index = own_code._Index()
                found.append(index.describe("a.py", file)[1])
                index.keep()
            assert not index._new
            time.sleep(0.02)  # a tick of the clock of files
        assert found == ["b", "b", "d", "d"]


class TestPortable:
    def test_is_generic_runs_here_and_has_as_wide_vectors(self) -> None:
        here = host()
        generic = portable(here)
        assert runs_here(generic)
        assert (generic.lanes, generic.fma, generic.architecture) == (here.lanes, here.fma, here.architecture)
        assert portable(generic) == generic

    @pytest.mark.parametrize("name", CROSS)
    def test_generic_processors_stay_as_they_are(self, name: str) -> None:
        if CROSS[name].architecture == "x86_64":
            assert portable(CROSS[name]) == CROSS[name]

    def test_a_processor_without_all_of_a_level_is_itself(self) -> None:
        """Vectors would be passed in registers of other widths."""
        v2, v3 = ("+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2", "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe")
        triple = "x86_64-pc-linux-gnu"
        cases = {
            (v2, 2, False): "x86-64-v2",
            (f"{v2},+avx", 2, False): "here",
            (f"{v2},{v3}", 4, True): "x86-64-v3",
            (f"{v2},{v3},+avx512f", 8, True): "here",
            ("+sse3", 2, False): "here",
        }
        for (features, lanes, fma), cpu in cases.items():
            assert portable(Target(triple, "here", features, lanes, fma)).cpu == cpu
        windows = portable(Target("x86_64-pc-windows-msvc", "here", f"{v2},{v3}", 4, True))
        assert (windows.cpu, windows.triple) == ("x86-64-v3", "x86_64-pc-windows-msvc")
        assert portable(Target("aarch64-unknown-linux-gnu", "here", "+sve", 4, True)) == PORTABLE["aarch64"]
        assert portable(Target("arm64-apple-darwin24.1.0", "m4", "+sme", 4, True)) == PORTABLE["apple-m1"]
