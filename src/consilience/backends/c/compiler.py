"""The system's C compiler: a file in, a library in this process out, kept on disk for the next one.

In: C text. Out: addresses and callables. Outside: what the text says.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from consilience.errors import NativeError
from consilience.native import cache
from consilience.native.target import host

NAMES: Final = ("cc", "gcc", "clang")
FLAGS: Final = (
    "-std=c11", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared",
)  # fmt: skip

_lock = threading.Lock()
_loaded: dict[str, ctypes.CDLL] = {}


@functools.cache
def _found(asked: str | None) -> tuple[str, ...]:
    if asked:
        command = shlex.split(asked)
        if not command or shutil.which(command[0]) is None:
            raise NativeError(
                f"the environment variable CC names the compiler {asked!r}, which is not found; unset it or correct it."
            )
        return tuple(command)
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return (path,)
    raise NativeError(
        f'backend="c" needs a C compiler, and none of {", ".join(NAMES)} is found; install gcc or clang, name one in '
        'the environment variable CC, or take backend="llvm", which needs none.'
    )


def command() -> tuple[str, ...]:
    """The command of the compiler: that of the environment variable CC, else the first of cc, gcc, clang."""
    return _found(os.environ.get("CC", "").strip() or None)


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.partition("\n")[0]


class CLibrary:
    """Functions of a C file loaded into this process, for as long as it runs (`jit.Loaded`)."""

    def __init__(self, library: ctypes.CDLL, dependencies: object = None) -> None:
        self._library = library
        self._dependencies = dependencies

    def address(self, name: str, /) -> int:
        """Where the exported function `name` starts."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def function(
        self, name: str, restype: type[ctypes._CDataType] | None, /, *argtypes: type[ctypes._CDataType]
    ) -> Callable[..., Any]:
        """The exported function `name` as a callable that releases the interpreter's lock."""
        function = ctypes.CFUNCTYPE(restype, *argtypes)(self.address(name))
        function.library = self  # type: ignore[attr-defined]  # any attribute will do: it keeps the code loaded
        return function


def load(text: str, level: int, imports: Mapping[str, int], link: str, dependencies: object = None) -> CLibrary:
    """Compile C text, or find it compiled, and load it.

    `level`: of the optimiser, 0 to 3. `imports`: addresses of the symbols from outside, in the order in which the
    function `link` takes them. `dependencies`: what must stay referenced with the code. Raises NativeError where there
    is no compiler, or it refuses the text.
    """
    found = command()
    flags = (f"-O{level}", *FLAGS)
    digest = cache.digest(f"{' '.join(found)} {_version(found)}\n{text}", host(), level, f"c {' '.join(flags)}")
    with _lock:
        known = _loaded.get(digest)
    if known is None:
        image = cache.get(digest)
        if image is None:
            image = _compile(found, flags, text)
            cache.put(digest, image)
        library = _open(image)
        if imports:
            table = (ctypes.c_void_p * len(imports))(*imports.values())
            getattr(library, link)(table)
        with _lock:
            known = _loaded.setdefault(digest, library)
    return CLibrary(known, dependencies)


def _compile(command: tuple[str, ...], flags: tuple[str, ...], text: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="consilience") as folder:
        source, target = Path(folder, "program.c"), Path(folder, "program.so")
        source.write_text(text)
        run = subprocess.run(
            [*command, *flags, str(source), "-o", str(target), "-lm"], capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise NativeError(f"{command[0]} cannot compile the program:\n{run.stderr.strip()[:2000]}")
        return target.read_bytes()


def _open(image: bytes) -> ctypes.CDLL:
    if sys.platform == "win32":
        raise NativeError('backend="c" loads shared libraries of Linux and macOS; take backend="llvm" on Windows.')
    with tempfile.NamedTemporaryFile(prefix="consilience", suffix=".so", delete=False) as file:
        file.write(image)
    try:
        return ctypes.CDLL(file.name)
    finally:
        Path(file.name).unlink()
