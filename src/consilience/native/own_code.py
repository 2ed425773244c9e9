"""Machine code of this library's own programs: shipped with it, found on disk, or compiled.

In: native functions and the way to write their program. Out: a loaded library. Outside: translation, passes, linking
(`jit`). A program is known by the source text that it depends on, so nothing is translated to find its code.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from consilience.errors import Status
from consilience.native import cache, jit
from consilience.native.target import PORTABLE, Target, host, portable
from consilience.record import replace

if TYPE_CHECKING:
    from consilience.native.loops import Module
    from consilience.native.typed_python.function import NativeFunction

_LIBRARY: Final = "consilience"
_ROOT: Final = Path(__file__).resolve().parents[1]
SHIPPED: Final = _ROOT / "native" / "machine_code"
"""A file of each of `PORTABLE`: lines of key, checksum and length, an empty line, and what they tell of. Written by
`tools/machine_code.py`."""

# Of this layer, which translates and defines the mathematics, what takes part in loading alone. Of errors programs know
# the numbers of statuses.
_LOADING: Final = (
    *("beside.py", "blas.py", "cache.py", "capsule.py", "flat_call.py", "given.py", "interruption.py"),
    *("own_code.py", "scipy_special.py", "threads.py", "trusted_folder.py"),
)
_IMPORTED: Final = re.compile(rb"^\s*(?:from|import)\s+consilience\.([\w.]+)", re.MULTILINE)


class _ForeignError(Exception):
    """A program with functions from outside this library: nothing would tell when they have changed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def load_own(
    functions: Mapping[str, NativeFunction[..., Any]],
    write: Callable[[], Module] | None = None,
    *,
    imports: Mapping[str, int] | None = None,
    level: int = 2,
    passes: jit.Passes = "light",
    target: Target | None = None,
) -> jit.Library:
    """Load the program that `write`, or else translation, makes of `functions`, which it exports by these names.

    Functions that modules of this library define are compiled for the generic processor whose code runs here
    (`target.portable`), by which every machine of a kind has the same code, compiled or shipped. Functions of users are
    translated in every process.
    """
    write = write or (lambda: translated(functions))
    places = [_place(function) for function in functions.values()]
    if None in places:
        return jit.load(write(), functions, imports, level, passes, target)
    modules = {place.rpartition(".")[0] for place in places if place}
    described = "".join(f"{name}={place}\n" for name, place in zip(functions, places, strict=True))
    return _load(described, modules, functions, write, imports, level, passes, target)


def translated(functions: Mapping[str, NativeFunction[..., Any]]) -> Module:
    """The loop program of native functions by the names under which it exports them."""
    from consilience.native.typed_python.translate import translate  # seldom needed: most code is found

    return translate(functions)


def load_program(
    symbols: Iterable[str], write: Callable[[], Module], *, level: int = 2, target: Target | None = None
) -> jit.Library:
    """The same for a program that this layer writes itself; it exports these symbols, by which it is known."""
    names = tuple(symbols)
    return _load("\n".join(names), (), names, write, None, level, "light", target)


def _load(
    described: str,
    modules: Iterable[str],
    exports: Iterable[str],
    write: Callable[[], Module],
    imports: Mapping[str, int] | None,
    level: int,
    passes: jit.Passes,
    target: Target | None,
) -> jit.Library:
    target = portable(target or host())
    read = sources(frozenset(modules))
    if read is None:
        return jit.load(write(), exports, imports, level, passes, target)
    known = f"{read}\n{target.triple}\n{target.cpu}\n{target.features}\n{target.lanes}\n{level}\n{passes}\n{described}"
    key = hashlib.sha256(known.encode()).hexdigest()

    def text() -> str:
        from consilience.native.emit import emit

        module = write()
        made = emit(module, target)
        if not all(name in names or name.startswith((f"{_LIBRARY}_", f"{_LIBRARY}.")) for name in module.functions):
            raise _ForeignError(made)
        return made

    names = tuple(exports)
    digest = cache.digest(key, target, level, "own")
    try:
        return jit.load_kept(digest, text, names, imports, level, passes, target, lambda: shipped(key, target))
    except _ForeignError as foreign:
        return jit.load(foreign.text, names, imports, level, passes, target)


def shipped(key: str, target: Target) -> bytes | None:
    """What came with this library for a program, unless its source text has changed since."""
    for name, generic in PORTABLE.items():
        if target == replace(generic, lanes=target.lanes):
            content, places = _archive(name)
            checksum, begin, end = places.get(key, ("", 0, 0))
            packed = content[begin:end]
            return zlib.decompress(packed) if packed and hashlib.sha256(packed).hexdigest() == checksum else None
    return None


@functools.cache
def _archive(name: str) -> tuple[bytes, dict[str, tuple[str, int, int]]]:
    """The file of one processor, and where what of each key stands in it."""
    try:
        content = (SHIPPED / name).read_bytes()
    except OSError:
        return b"", {}
    head, _, _ = content.partition(b"\n\n")
    places, begin = {}, len(head) + 2
    for key, checksum, length in re.findall(r"^(\w{64}) (\w{64}) (\d{1,9})$", head.decode("ascii", "replace"), re.M):
        places[key] = checksum, begin, begin + int(length)
        begin += int(length)
    return content, places


def archive(programs: Mapping[str, bytes]) -> bytes:
    """The file of programs by key."""
    packed = {key: zlib.compress(payload, 9) for key, payload in sorted(programs.items())}
    head = "".join(f"{key} {hashlib.sha256(blob).hexdigest()} {len(blob)}\n" for key, blob in packed.items())
    return head.encode() + b"\n" + b"".join(packed.values())


def _place(function: NativeFunction[..., Any]) -> str | None:
    """Module and name of `function` if this library defines it under its own name; None for other functions."""
    module = function.python.__module__ or ""
    known = getattr(sys.modules.get(module), function.name, None) is function
    return f"{module}.{function.name}" if known and module.startswith(f"{_LIBRARY}.") else None


@functools.cache
def sources(modules: frozenset[str]) -> str | None:
    """Digest of what programs of modules depend on: this layer, and source text of modules with all they import.

    None where source text cannot be read.
    """
    found = read_by(modules)
    if found is None:
        return None
    _index().keep()
    read_all = "".join(f"{name} {found[name]}\n" for name in sorted(found))
    return hashlib.sha256(f"{[status.value for status in Status]}\n{read_all}".encode()).hexdigest()


def read_by(modules: Iterable[str]) -> dict[str, str] | None:
    """Digests of what `sources` reads, by name without the library's; None where source text cannot be read."""
    waiting = ["native", "record", *(module.partition(".")[2] for module in modules)]
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name not in found and not name.startswith(("native.", "errors")):
            read = _source(name)
            if read is None:
                return None
            found[name] = read[0]
            waiting += () if name == "native" else read[1]
    return found


@functools.cache
def _source(name: str) -> tuple[str, set[str]] | None:
    """Digest of a module's or a package's source text, and the modules of this library that it imports."""
    place = _ROOT.joinpath(*name.split("."))
    single = place.with_suffix(".py")
    state = hashlib.sha256()
    imported: set[str] = set()
    try:
        files = [single] if single.exists() else sorted(place.rglob("*.py"))
        for file in files:
            if file.parent.name != "native" or file.name not in _LOADING:
                path = file.relative_to(_ROOT).as_posix()
                digest, *others = _index().describe(path, file)
                state.update(f"{path} {digest}\n".encode())
                imported.update(others)
    except OSError:
        return None
    return (state.hexdigest(), imported) if files else None


class _Index:
    """What was read of files of source text, kept on disk: to look at a file takes less time than to read it."""

    def __init__(self) -> None:
        self._digest = cache.digest(f"sources in {_ROOT}", host(), 0, "sources")
        kept = (cache.get(self._digest) or b"").decode()
        self._lines = {path: line for line in kept.splitlines() for path in [line.partition(" ")[0]]}
        self._new = False

    def describe(self, path: str, file: Path) -> list[str]:
        """The digest of a file's content and the modules of this library that it imports; raises OSError."""
        status = file.stat()
        # Time of change and number too: an installer may set times of modification, and sizes may be equal.
        stamp = f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} "
        if not self._lines.get(path, "").startswith(stamp):
            content = file.read_bytes()
            imported = sorted({found.decode() for found in _IMPORTED.findall(content)})
            self._lines[path] = stamp + " ".join([hashlib.sha256(content).hexdigest(), *imported])
            self._new = True
        return self._lines[path].split(" ")[5:]

    def keep(self) -> None:
        """Write it, if anything was read anew."""
        if self._new:
            self._new = False
            cache.put(self._digest, "\n".join(self._lines.values()).encode())


@functools.cache
def _index() -> _Index:
    return _Index()
