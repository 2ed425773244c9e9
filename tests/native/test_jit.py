"""Loading machine code: meaning, lifetime, symbols, errors."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import struct
import subprocess
import sys
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from consilience.errors import NativeError
from consilience.native import jit
from consilience.native.jit import Library, Passes, compile_object, load
from consilience.native.loops import Module, f64, i64, ptr
from consilience.native.target import CROSS, LANES, Target, host
from consilience.record import replace

SERIAL = itertools.count()

SQUARES = """
define double @squares(ptr %x, i64 %n) {
entry:
  %i = alloca i64
  %sum = alloca double
  store i64 0, ptr %i
  store double 0.0, ptr %sum
  br label %head
head:
  %k = load i64, ptr %i
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %p = getelementptr double, ptr %x, i64 %k
  %v = load double, ptr %p
  %vv = fmul double %v, %v
  %s = load double, ptr %sum
  %t = fadd reassoc double %s, %vv
  store double %t, ptr %sum
  %next = add i64 %k, 1
  store i64 %next, ptr %i
  br label %head
done:
  %r = load double, ptr %sum
  ret double %r
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path_factory.mktemp("cache")))


def constant(number: int) -> str:
    """Text, never seen before, of a function `answer` that returns `number`."""
    return f"define i64 @answer() {{\n  ret i64 {number}\n}}\n; {next(SERIAL)}\n"


def calling(name: str) -> str:
    """Text of a function `f` of one float64 that calls `name`."""
    return (
        f"declare double @{name}(double)\n"
        "define double @f(double %x) {\n"
        f"  %y = call double @{name}(double %x)\n"
        "  ret double %y\n}\n"
    )


def answer(library: Library) -> int:
    return int(library.function("answer", ctypes.c_int64)())


class TestMeaning:
    @pytest.mark.parametrize("passes", ["light", "full"])
    @pytest.mark.parametrize("level", range(4))
    def test_no_level_and_no_pass_changes_a_result(self, level: int, passes: Passes) -> None:
        library = load(SQUARES, ["squares"], level=level, passes=passes)
        squares = library.function("squares", ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
        for count in (0, 1, 7, 8, 100):
            numbers = (ctypes.c_double * count)(*range(count))
            assert squares(numbers, count) == sum(n * n for n in range(count))

    @pytest.mark.parametrize("lanes", LANES)
    def test_a_loop_program_runs_at_every_width(self, lanes: int) -> None:
        program = Module()
        code = program.function("double_all", [("x", ptr), ("count", i64)], None)
        pointer, count = code.parameters
        wide = f64.vector(lanes) if lanes > 1 else f64
        with code.for_(0, count, lanes) as index:
            place = code.offset(pointer, index, f64)
            code.store(code.mul(code.load(wide, place), code.const(wide, 2.0)), place)
        code.ret()
        library = load(program, ["double_all"], target=replace(host(), lanes=lanes))
        numbers = (ctypes.c_double * 16)(*range(16))
        library.function("double_all", None, ctypes.c_void_p, ctypes.c_int64)(numbers, 16)
        assert list(numbers) == [2.0 * n for n in range(16)]

    def test_integers_have_the_alignment_of_the_target(self) -> None:
        """Text without a layout is read with the target's: an i64 is aligned to 8 bytes, not 4."""
        text = """
define i64 @offset() {
  ret i64 ptrtoint (ptr getelementptr ({i8, i64}, ptr null, i32 0, i32 1) to i64)
}
"""
        assert load(text, ["offset"]).function("offset", ctypes.c_int64)() == 8

    def test_the_interpreter_runs_on_while_native_code_runs(self) -> None:
        """Native code waits for a flag that only another Python thread can set."""
        text = """
define i64 @wait(ptr %flag) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %value = load atomic i64, ptr %flag seq_cst, align 8
  %seen = icmp ne i64 %value, 0
  %next = add i64 %i, 1
  %late = icmp sgt i64 %next, 20000000000
  %stop = or i1 %seen, %late
  br i1 %stop, label %done, label %loop
done:
  ret i64 %value
}
"""
        wait = load(text, ["wait"]).function("wait", ctypes.c_int64, ctypes.c_void_p)
        flag = ctypes.c_int64(0)
        threading.Timer(0.05, lambda: setattr(flag, "value", 7)).start()
        assert wait(ctypes.addressof(flag)) == 7


class TestLifetime:
    def test_equal_programs_are_loaded_once(self) -> None:
        text = constant(1)
        assert load(text, ["answer"]).address("answer") != 0
        first, second = load(text, ["answer"]), load(text, ["answer"])
        assert first.address("answer") == second.address("answer")

    def test_programs_with_other_imports_are_loaded_apart(self) -> None:
        text = "declare i64 @source()\ndefine i64 @answer() {\n  %r = call i64 @source()\n  ret i64 %r\n}\n"
        callbacks = [ctypes.CFUNCTYPE(ctypes.c_int64)(lambda n=n: n) for n in (1, 2)]
        addresses = [ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in callbacks]
        libraries = [load(text, ["answer"], imports={"source": address}) for address in addresses]
        assert [answer(library) for library in libraries] == [1, 2]

    def test_code_goes_with_its_last_user(self) -> None:
        library = load(constant(5), ["answer"])
        code = weakref.ref(library._open())
        other = Library(library._open())
        function = library.function("answer", ctypes.c_int64)
        library.close()
        del library
        assert code() is not None
        assert answer(other) == 5
        del other
        assert function() == 5
        del function
        assert code() is None

    def test_a_function_outlives_its_library(self) -> None:
        functions = [load(constant(n), ["answer"]).function("answer", ctypes.c_int64) for n in range(20)]
        gc.collect()
        assert [function() for function in functions] == list(range(20))

    def test_a_closed_library_says_so(self) -> None:
        library = load(constant(0), ["answer"])
        library.close()
        library.close()
        with pytest.raises(NativeError, match="library of answer has been closed"):
            library.address("answer")

    def test_code_outlives_the_compiler_that_loaded_it(self) -> None:
        first = load(constant(-1), ["answer"])
        for n in range(2 * jit._LIBRARIES_PER_JIT):
            assert answer(load(constant(n % 3), ["answer"], level=0)) == n % 3
        assert answer(first) == -1
        assert first._open()._jit is not jit._jit

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's table of memory")
    def test_loading_and_closing_leaves_nothing_behind(self) -> None:
        def resident() -> int:
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        def mappings() -> int:
            return len(Path("/proc/self/maps").read_text().splitlines())

        text = constant(3)

        def repeat(times: int) -> None:
            for _ in range(times):
                load(text, ["answer"]).close()

        repeat(300)
        memory, maps = resident(), mappings()
        repeat(900)
        assert resident() - memory < 3 * 2**20  # 10 MiB if LLVM kept every library's name
        assert mappings() - maps < 20

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's table of memory")
    def test_compiling_leaves_nothing_behind(self) -> None:
        def resident() -> int:
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        def repeat(times: int) -> None:
            for n in range(times):
                compile_object(constant(n), level=0)
                compile_object(constant(n), passes="full")

        repeat(60)
        memory = resident()
        repeat(200)
        assert resident() - memory < 4 * 2**20  # 11 MiB if pass managers were not freed


class TestThreads:
    def test_many_threads_load_and_free_at_once(self) -> None:
        texts = [constant(n) for n in range(12)]

        def work(thread: int) -> list[int]:
            order = [(thread + n) % len(texts) for n in range(3 * len(texts))]
            return [answer(load(texts[n], ["answer"], level=0)) - n for n in order]

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(8)))
        assert results == [[0] * 36] * 8

    def test_threads_that_want_the_same_program_share_one_compilation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compiled: list[str] = []
        compile_text = jit._compile

        def counted(text: str, target: Target, level: int, passes: Passes) -> bytes:
            compiled.append(text)
            return compile_text(text, target, level, passes)

        monkeypatch.setattr(jit, "_compile", counted)
        text = constant(9)
        with ThreadPoolExecutor(8) as pool:
            libraries = list(pool.map(lambda _: load(text, ["answer"]), range(8)))
        assert [answer(library) for library in libraries] == [9] * 8
        assert compiled == [text]


class TestSymbols:
    @pytest.mark.parametrize(("name", "x", "y"), [("exp", 1.0, 2.718281828459045), ("lgamma", 5.0, 3.1780538303479458)])
    def test_the_c_library_is_found(self, name: str, x: float, y: float) -> None:
        text = calling(name)
        assert load(text, ["f"]).function("f", ctypes.c_double, ctypes.c_double)(x) == pytest.approx(y, rel=1e-15)

    def test_what_the_code_generator_calls_is_found(self) -> None:
        text = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @copy(ptr %to, ptr %from, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
"""
        source, target = ctypes.create_string_buffer(b"x" * 999), ctypes.create_string_buffer(1000)
        copy = load(text, ["copy"]).function("copy", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        copy(target, source, 1000)
        assert target.raw == source.raw

    def test_imports_come_before_the_c_library(self) -> None:
        text = calling("exp")
        own = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: -x)
        library = load(text, ["f"], imports={"exp": ctypes.cast(own, ctypes.c_void_p).value or 0})
        assert library.function("f", ctypes.c_double, ctypes.c_double)(2.0) == -2.0

    def test_vector_mathematics_is_linked_when_declared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        defining = (
            "define double @consilience_twice_f64x1(double %x) {\n  %y = fadd double %x, %x\n  ret double %y\n}\n"
        )
        asked: list[Target] = []

        def library(target: Target) -> Library:
            asked.append(target)
            return load(defining, ["consilience_twice_f64x1"], target=target)

        package = types.SimpleNamespace(library=library)
        monkeypatch.setitem(sys.modules, "consilience.native.vectormath", package)
        text = calling("consilience_twice_f64x1")
        loaded = load(text, ["f"])
        gc.collect()
        assert loaded.function("f", ctypes.c_double, ctypes.c_double)(21.0) == 42.0
        assert asked == [host()]

    @pytest.mark.parametrize("name", ["no_such_function", "consilience_nothing_f64x1", "no.such-$name"])
    def test_an_unknown_symbol_is_named_and_nothing_is_printed(
        self, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        empty = types.SimpleNamespace(library=lambda target: load(constant(0), ["answer"], target=target))
        monkeypatch.setitem(sys.modules, "consilience.native.vectormath", empty)
        text = f'declare void @"{name}"()\ndefine void @f() {{\n  call void @"{name}"()\n  ret void\n}}'
        with pytest.raises(NativeError) as caught:
            load(text, ["f"])
        assert name in str(caught.value)
        assert capfd.readouterr() == ("", "")

    def test_an_unknown_intrinsic_is_named_and_nothing_is_printed(self, capfd: pytest.CaptureFixture[str]) -> None:
        text = calling("llvm.nonsense")
        with pytest.raises(NativeError, match=r"llvm\.nonsense"):
            load(text, ["f"])
        assert capfd.readouterr() == ("", "")

    def test_a_missing_export_is_named_and_nothing_is_printed(self, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(NativeError, match="does not define question"):
            load(constant(1), ["answer", "question"])
        assert capfd.readouterr() == ("", "")

    def test_an_address_that_was_not_exported_is_refused(self) -> None:
        with pytest.raises(NativeError, match="'question' is not exported; there is answer"):
            load(constant(1), ["answer"]).address("question")


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "complaint"),
        [
            ("%y = fadd double %x, %q", "use of undefined value '%q'"),
            ("%y = fadd double %x, 1", "integer constant must have integer type"),
            ("%y = frobnicate double %x", "expected instruction opcode"),
        ],
    )
    def test_unreadable_text_is_shown_with_its_line(self, line: str, complaint: str) -> None:
        text = f"define double @f(double %x) {{\n  {line}\n  ret double %x\n}}"
        with pytest.raises(NativeError) as caught:
            load(text, ["f"])
        assert complaint in str(caught.value)
        assert f"line 2: {line}" in str(caught.value)

    def test_an_error_in_the_first_line_shows_it(self) -> None:
        with pytest.raises(NativeError, match="line 1: nonsense"):
            load("nonsense", ["f"])

    def test_a_value_used_before_it_exists_is_an_error_not_a_crash(self) -> None:
        text = "define i64 @f(i64 %x) {\n  %y = add i64 %z, 1\n  %z = add i64 %x, 1\n  ret i64 %y\n}"
        with pytest.raises(NativeError, match="breaks LLVM's rules: Instruction does not dominate all uses"):
            load(text, ["f"])

    def test_unknown_passes_are_refused(self) -> None:
        with pytest.raises(NativeError, match="'heavy'"):
            load(constant(1), ["answer"], passes="heavy")  # type: ignore[arg-type]  # the point of the test

    def test_code_for_another_machine_is_not_loaded(self) -> None:
        foreign = next(target for target in CROSS.values() if target.architecture != host().architecture)
        with pytest.raises(NativeError, match="this machine cannot execute"):
            load(constant(1), ["answer"], target=foreign)


R_AARCH64_MOVW_UABS_G3 = 269
RELATIVE_TO_A_PAGE = {275, 276, 311, 312}  # of the symbol, or of the table that holds its address


def relocations(image: bytes) -> set[int]:
    """The kinds of relocation that an object file in ELF's form of 64 bits asks for."""
    (place,) = struct.unpack_from("<Q", image, 40)
    (count,) = struct.unpack_from("<H", image, 60)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, place + 64 * i) for i in range(count)]
    return {
        struct.unpack_from("<I", image, offset + begin + 8)[0]
        for _, kind, _, _, offset, size, _, _, _, _ in sections
        if kind == 4
        for begin in range(0, size, 24)
    }


class TestObjects:
    @pytest.mark.parametrize("name", CROSS)
    def test_every_target_gets_its_object_and_nothing_is_printed(
        self, name: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        magic = b"\xcf\xfa\xed\xfe" if "apple" in name else b"\x7fELF"
        for level, passes in itertools.product(range(4), ("light", "full")):
            assert compile_object(SQUARES, CROSS[name], level, passes).startswith(magic)  # type: ignore[arg-type]  # a product of literals
        assert capfd.readouterr() == ("", "")

    def test_an_object_is_a_function_of_its_source(self) -> None:
        for target in CROSS.values():
            assert compile_object(SQUARES, target) == compile_object(SQUARES, target)

    def test_addresses_on_aarch64_are_whole(self) -> None:
        """The linker asserts, and ends the process, where one that is relative to a page is farther than 4 GB."""
        text = """
declare void @imported()
define void @exported() {
  ret void
}
define internal void @inside() {
  ret void
}
define void @addresses(ptr %p) {
  store ptr @imported, ptr %p
  %q = getelementptr ptr, ptr %p, i64 1
  store ptr @exported, ptr %q
  %r = getelementptr ptr, ptr %p, i64 2
  store ptr @inside, ptr %r
  call void @imported()
  ret void
}
"""
        name = next(name for name in CROSS if name.startswith("neoverse"))
        for level in range(4):
            kinds = relocations(compile_object(text, CROSS[name], level))
            assert R_AARCH64_MOVW_UABS_G3 in kinds
            assert not kinds & RELATIVE_TO_A_PAGE


def test_importing_brings_in_no_heavy_library() -> None:
    """LLVM and SciPy are imported when first needed, not before."""
    script = (
        "import sys; from consilience.native import blas, cache, jit, target; "
        "print(sorted({'llvmlite', 'numpy', 'scipy', 'threadpoolctl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
