"""Machine code in this process, from a loop program or from LLVM text.

A program, its exports and the addresses it imports come in; a `Library` of callable addresses goes out.
How a program is written and what its functions mean stay outside.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from consilience.errors import NativeError
from consilience.first_use import face
from consilience.native import blas, cache, given, scipy_special
from consilience.native.beside import Beside, hand_over
from consilience.native.target import Target, host, llvm, new_machine, runs_here

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ModulePassManager, ModuleRef, ResourceTracker, TargetMachine

    from consilience.native.loops import Module

Passes: TypeAlias = Literal["light", "full"]

# LLVM never forgets the name of a library, about 10 KB each, and looks names up ever more slowly. So a
# new just-in-time compiler starts after this many; an old one goes with the last of its libraries.
_LIBRARIES_PER_JIT = 64

_SCIPY = (blas.PREFIX, scipy_special.PREFIX)
_DECLARED = re.compile(r'^\s*declare\b[^@\n]*@(?:"([^"\n]+)"|([\w.$-]+))', re.MULTILINE)
_UNPLACED = re.compile(r"^(\s*(?:declare|define(?: internal)?))\b", re.MULTILINE)
_PARSE_ERROR = re.compile(r"<string>:(\d+):(\d+): error: (.*)")

_lock = threading.Lock()
_jit: LLJIT | None = None
_libraries = 0
_gates: weakref.WeakValueDictionary[object, threading.Lock] = weakref.WeakValueDictionary()
_loaded: weakref.WeakValueDictionary[object, _Code] = weakref.WeakValueDictionary()


class Library:
    """Functions loaded into this process.

    Addresses are valid while the library is referenced and not closed. Functions made by `function` hold
    the code themselves, so they never dangle. Use from several threads is safe.
    """

    __slots__ = ("__weakref__", "_code", "exports")

    def __init__(self, code: _Code) -> None:
        self._code: _Code | None = code
        self.exports = tuple(code.addresses)

    def address(self, name: str) -> int:
        """Where the exported function `name` starts."""
        return self._open().address(name)

    def function(
        self, name: str, restype: type[ctypes._CDataType] | None, *argtypes: type[ctypes._CDataType]
    ) -> Callable[..., Any]:
        """The exported function `name` as a callable that releases the interpreter's lock.

        `restype` and `argtypes` are ctypes types; nothing checks them against the machine code.
        """
        code = self._open()
        function = ctypes.CFUNCTYPE(restype, *argtypes)(code.address(name))
        function.code = code  # type: ignore[attr-defined]  # any attribute will do: it keeps the code loaded
        return function

    def close(self) -> None:
        """Give the code up; it is unloaded once no function made from it is left. Repeating is harmless."""
        self._code = None

    def _open(self) -> _Code:
        if self._code is None:
            raise NativeError(f"the library of {', '.join(self.exports)} has been closed; load it again")
        return self._code


class _Code:
    """Loaded machine code, shared by equal libraries and by the functions made from them."""

    __slots__ = ("__weakref__", "_dependencies", "_jit", "_tracker", "addresses")

    def __init__(self, tracker: ResourceTracker, jit: LLJIT, exports: Iterable[str], dependencies: object) -> None:
        self.addresses: dict[str, int] = {name: tracker[name] for name in exports}
        self._tracker = tracker  # unloads the code when collected
        self._jit = jit
        self._dependencies = dependencies

    def address(self, name: str) -> int:
        try:
            return self.addresses[name]
        except KeyError:
            raise NativeError(f"{name!r} is not exported; there is {', '.join(self.addresses)}") from None


def load(
    source: str | Module,
    exports: Iterable[str],
    imports: Mapping[str, int] | None = None,
    level: int = 2,
    passes: Passes = "light",
    target: Target | None = None,
) -> Library:
    """Compile `source`, or find it compiled, and load it.

    `source` is LLVM text or a loop program. `exports` are the functions to be called from outside,
    `imports` the addresses of symbols the program declares. Other declared symbols are looked up in the
    vector math library (names that start with "consilience_"), in SciPy's BLAS and LAPACK ("blas_" before the
    routine's name), in its special functions ("special_"), among the addresses that users gave ("given_") and in this
    process (the C library).
    `level` is that of the code generator, 0 to 3. `passes` is "light" (inlining where asked for, SROA,
    instcombine, simplifycfg), enough for code that is already vectors, or "full" (LLVM's O1, with vectors
    for loops). `target` must be one that this machine can execute.

    Raises NativeError: text that LLVM cannot read, a symbol without address, a missing export.
    """
    target = target or host()
    if not runs_here(target):
        raise NativeError(f"this machine cannot execute code for {target.cpu} ({target.triple})")
    text = source if isinstance(source, str) else _emit(source, target)
    digest = cache.digest(text, target, level, passes)
    return load_kept(digest, lambda: text, exports, imports, level, passes, target, lambda: None)


def load_kept(
    digest: str,
    write: Callable[[], str],
    exports: Iterable[str],
    imports: Mapping[str, int] | None,
    level: int,
    passes: Passes,
    target: Target,
    ready: Callable[[], bytes | None],
) -> Library:
    """Load the program that is kept under `digest`; else what `ready` gives; else what `write` writes, compiled.

    What is kept, and what `ready` gives, was made by `packed`.
    """
    names = tuple(sorted(set(exports)))
    key = (digest, names, tuple(sorted(imports.items())) if imports else ())
    with _lock:
        gate = _gates.setdefault(key, threading.Lock())
    with gate:  # two threads that want the same code: one compiles, the other waits
        code = _loaded.get(key)
        if code is None:
            known = ready() or cache.get(digest)
            if known is None:
                text = write()
                declared = _declared(text)
                # What the program calls may have to be compiled too, which goes on beside.
                resolved = Beside(lambda: resolve(declared, imports or {}, lambda s: _provider(s, target)))
                hand_over()
                image = _compile(text, target, level, passes)
                cache.put(digest, packed(declared, image))
                symbols, dependencies = resolved.result()
            else:
                head, _, image = known.partition(b"\n\n")
                declared = head.decode().split("\n") if head else []
                symbols, dependencies = resolve(declared, imports or {}, lambda s: _provider(s, target))
            code = _link(image, names, symbols, dependencies)
            _loaded[key] = code
    return Library(code)


def packed(declared: Sequence[str], image: bytes) -> bytes:
    """An object file behind the names of the symbols that it needs, of which none holds the end of a line."""
    return "\n".join(declared).encode() + b"\n\n" + image


def compile_object(
    source: str | Module,
    target: Target | None = None,
    level: int = 2,
    passes: Passes = "light",
    linked: bool = False,
) -> bytes:
    """The object file of `source` for any target, this machine's by default; nothing is cached or loaded.

    linked   whether it is for a linker's libraries and programs, and not for this process
    """
    target = target or host()
    return _compile(source if isinstance(source, str) else _emit(source, target), target, level, passes, linked)


def _emit(module: Module, target: Target) -> str:
    from consilience.native.emit import emit  # the emitter is not needed for text

    return emit(module, target)


def _compile(text: str, target: Target, level: int, passes: Passes, linked: bool = False) -> bytes:
    if passes not in ("light", "full"):
        raise NativeError(f'passes are "light" or "full", not {passes!r}')
    binding = llvm()
    with borrowed(target, level, linked) as generator, binding.create_context() as context:
        # Sizes and alignments are decided while reading, so the layout must precede the text; on the same
        # line, so that numbers of lines in errors stay true. The triple comes last and wins.
        head = f'target datalayout = "{generator.target_data}" '
        # AArch64 reaches a table of addresses within 4 GB only, and the linker puts the table anywhere.
        local = text if linked or target.architecture != "aarch64" else _UNPLACED.sub(r"\1 dso_local", text)
        try:
            module = binding.parse_assembly(head + local, context)
        except RuntimeError as error:
            raise NativeError(_explain(str(error), text)) from None
        with module:
            try:
                module.verify()  # costs under 1 %; the passes may crash on what breaks LLVM's rules
            except RuntimeError as error:
                raise NativeError(f"the program breaks LLVM's rules: {error}") from None
            module.triple = generator.triple
            _optimise(module, generator, passes)
            return _object_of(module, generator)


@contextmanager
def borrowed(target: Target, level: int, linked: bool = False) -> Iterator[TargetMachine]:
    """A code generator for one thread at a time."""
    idle = _machines.setdefault((target, level, linked), [])
    try:
        generator = idle.pop()
    except IndexError:
        generator = new_machine(target, level, linked)
    try:
        yield generator
    finally:
        idle.append(generator)


_machines: dict[tuple[Target, int, bool], list[TargetMachine]] = {}


def _unlocked(name: str) -> Callable[..., Any]:
    """A function of LLVM without the lock that llvmlite takes for every call.

    The lock lets one thread at a time into LLVM. What works on a module of its own context, with a code generator
    of its own, needs no such care, and these calls are most of the time of a compilation.
    """
    from llvmlite.binding import ffi

    function: Callable[..., Any] = getattr(ffi.lib, name)
    bare: Callable[..., Any] = getattr(function, "_cfn", function)
    return bare


def _object_of(module: ModuleRef, generator: TargetMachine) -> bytes:
    """The module as an object file."""
    from llvmlite.binding import ffi

    with ffi.OutputString() as complaint:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(generator, module, 1, complaint)
        if not buffer:
            raise NativeError(f"LLVM cannot make an object file: {complaint}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _optimise(module: ModuleRef, generator: TargetMachine, passes: Passes) -> None:
    binding = llvm()
    # For "full". What is left out, LLVM's second level and more inlining than of tiny functions included, takes as
    # long again to compile; on NUTS, before its loops were written as vectors, it changed nothing beyond 10 ns a step.
    options = binding.create_pipeline_tuning_options(speed_level=1)
    options.inlining_threshold = 25
    options.loop_vectorization, options.slp_vectorization, options.loop_interleaving = True, False, False
    # A manager serves once: a second run of LLVM's own pipeline aborts the process.
    with options, binding.create_pass_builder(generator, options) as builder:
        if passes == "full":
            manager = builder.getModulePassManager()
        else:
            manager = binding.create_new_module_pass_manager()
            manager.add_always_inliner_pass()
            manager.add_sroa_pass()
            manager.add_instruction_combine_pass()
            manager.add_simplify_cfg_pass()
        try:
            _unlocked("LLVMPY_RunNewModulePassManager")(manager, module, builder)
        finally:
            _dispose(manager)


def _dispose(manager: ModulePassManager) -> None:
    """Free a pass manager: 30 KB that llvmlite's own `close` leaves behind where it finds an empty method."""
    from llvmlite.binding import ffi, newpassmanagers

    if type(manager)._dispose is ffi.ObjectRef._dispose:
        newpassmanagers.NewPassManager._dispose(manager)
    manager.close()


def _explain(message: str, text: str) -> str:
    """LLVM's complaint with the line it complains about."""
    found = _PARSE_ERROR.search(message)
    lines = text.splitlines()
    if found is None or not 1 <= int(found[1]) <= len(lines):
        return f"LLVM cannot read the program: {message.strip()}"
    line = lines[int(found[1]) - 1]
    return f"LLVM cannot read the program: {found[3]}\n  line {found[1]}: {line.strip()}"


def _declared(text: str) -> list[str]:
    return [quoted or plain for quoted, plain in _DECLARED.findall(text)]


class Addresses(Protocol):
    """What defines symbols: a `Library`, or one of its kind."""

    def address(self, name: str, /) -> int: ...


class Loaded(Addresses, Protocol):
    """Functions loaded into this process, as `Library` has them."""

    def function(
        self, name: str, restype: type[ctypes._CDataType] | None, /, *argtypes: type[ctypes._CDataType]
    ) -> Callable[..., Any]: ...


def resolve(
    declared: Sequence[str], imports: Mapping[str, int], provider: Callable[[str], Addresses | None]
) -> tuple[dict[str, int], object]:
    """Addresses of all symbols that a program declares, and what must stay referenced with them.

    provider   the library of this package that defines a symbol beginning with "consilience_", if there is one
    raises     NativeError for symbols that nothing defines
    """
    symbols: dict[str, int] = {}
    missing: list[str] = []
    providers: list[Addresses] = []
    wanted = [n for n in declared if n.startswith(_SCIPY) and n not in imports]
    loading = Beside(lambda: _scipy_addresses(wanted)) if wanted else None  # libraries of 20 MB when first used
    for name in declared:
        if name in imports:
            symbols[name] = imports[name]
        elif name.startswith(_SCIPY):
            continue
        elif name.startswith(given.PREFIX):
            symbols[name] = given.address(name)
        elif name.startswith("consilience_"):
            library = provider(name)
            if library is not None:
                providers.append(library)
                symbols[name] = library.address(name)
            else:
                missing.append(name)
        elif not name.startswith("llvm."):
            address = _process_address(name)
            if address is None:
                missing.append(name)
            else:
                symbols[name] = address
    if loading is not None:
        symbols |= loading.result()
    if missing:
        raise NativeError(
            f"nothing defines the symbol{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            "pass addresses as `imports`"
        )
    return symbols, providers


def _scipy_addresses(symbols: Iterable[str]) -> dict[str, int]:
    """Addresses of SciPy's routines and special functions, each library loaded only if it is asked for."""
    found: dict[str, int] = {}
    for library in (blas, scipy_special):
        found |= library.imports(s.removeprefix(library.PREFIX) for s in symbols if s.startswith(library.PREFIX))
    return found


def _provider(symbol: str, target: Target) -> Library | None:
    """The library of this package that defines a symbol: draws, routines, or vector mathematics."""
    # By name, at the moment of use: those packages are themselves compiled through this module.
    for kind in ("random", "routine", "helpers"):
        if symbol.startswith(f"consilience_{kind}_"):
            found: Library | None = face(f"machine code {kind}").library(symbol)
            return found
    library: Library = face("machine code of vector mathematics").library(target)
    return library if symbol in library.exports else None


def _process_address(name: str) -> int | None:
    """The address of a function of the C library, of CPython, or of anything else visible in this process."""
    for library in (_process(), ctypes.pythonapi):
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _link(image: bytes, exports: tuple[str, ...], symbols: Mapping[str, int], dependencies: object) -> _Code:
    global _jit, _libraries
    binding = llvm()
    builder = binding.JITLibraryBuilder().add_object_img(image)
    builder.add_current_process()  # what the code generator itself calls: memcpy, roundeven, ...
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    with _lock:
        if _jit is None or _libraries % _LIBRARIES_PER_JIT == 0:
            _jit = binding.create_lljit_compiler(new_machine(host(), 2), suppress_errors=True)
        jit = _jit
        _libraries += 1
        library = f"consilience{_libraries}"
    try:
        tracker = builder.link(jit, library)
    except RuntimeError as error:
        raise NativeError(_explain_link(str(error), image, exports, symbols)) from None
    return _Code(tracker, jit, exports, dependencies)


def _explain_link(message: str, image: bytes, exports: tuple[str, ...], symbols: Mapping[str, int]) -> str:
    absent = re.search(r"Symbols not found: \[ (.*?) \]", message)
    if absent:
        return f"the program does not define {absent[1]}, which it should export"
    # LLVM does not say which symbol failed. Names that the code generator brought in itself
    # stand in the object's table of strings.
    strings = re.findall(rb"(?<=\0)_?([A-Za-z][\w.$]{2,})(?=\0)", image)
    unknown = sorted(
        name
        for name in {string.decode() for string in strings}
        if name not in exports and name not in symbols and _process_address(name) is None
    )
    return f"the program could not be linked: {message}; without address may be: {', '.join(unknown)}"
