"""The processor that machine code is made for.

A processor's name comes in or is found out; a `Target` and LLVM's own objects for it go out.
Program text, passes and loading stay outside.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from consilience.errors import NativeError
from consilience.record import Record, replace

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine

LANES = (1, 2, 4, 8)

_lock = threading.Lock()
_ready: set[str] = set()


class Target(Record):
    """A processor: what code may use and how wide its vectors are.

    `features` is LLVM's list, as in "+avx2,-avx512f"; empty means those of `cpu`. `lanes` is the number
    of float64 per vector, one of 1, 2, 4, 8. `fma` says that a multiplication and an addition can
    be one instruction with one rounding.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool

    def __post_init__(self) -> None:
        if self.lanes not in LANES:
            raise NativeError(f"a vector has {', '.join(map(str, LANES))} lanes, not {self.lanes}")

    @property
    def architecture(self) -> str:
        """The family of instruction sets, under one name: "x86_64", "aarch64", ..."""
        family = self.triple.partition("-")[0]
        return {"arm64": "aarch64", "amd64": "x86_64"}.get(family, family)


CROSS = {
    "x86-64-v2": Target("x86_64-unknown-linux-gnu", "x86-64-v2", "", 2, False),
    "x86-64-v3": Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 4, True),
    "x86-64-v4": Target("x86_64-unknown-linux-gnu", "x86-64-v4", "", 8, True),
    "neoverse-v2": Target("aarch64-unknown-linux-gnu", "neoverse-v2", "", 4, True),
    "apple-m1": Target("arm64-apple-macosx12.0.0", "apple-m1", "", 4, True),
}
"""Processors that every kernel must lower for, whatever machine the tests run on."""

PORTABLE = {
    "x86-64-v2": CROSS["x86-64-v2"],
    "x86-64-v3": CROSS["x86-64-v3"],
    "x86-64-v4": CROSS["x86-64-v4"],
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", "", 4, True),
    "apple-m1": CROSS["apple-m1"],
}
"""Generic processors for which this library comes with machine code of its own programs."""

# What a generic x86-64 level asks of the processor, beyond the level below it.
_LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("cx16", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


def host() -> Target:
    """The processor this process runs on, or the generic one that is asked for.

    The environment variable CONSILIENCE_TARGET (x86-64-v2, x86-64-v3, x86-64-v4) asks for code that is the same on all
    processors of a level, so that machines of a cluster agree in all bits. CONSILIENCE_LANES (1, 2, 4 or 8) overrides
    the width of vectors, for tests.
    """
    found = _detect()
    if level := os.environ.get("CONSILIENCE_TARGET"):
        found = _generic(found, level)
    asked = os.environ.get("CONSILIENCE_LANES")
    if not asked:
        return found
    if not asked.isdecimal() or int(asked) not in LANES:
        raise NativeError(f"CONSILIENCE_LANES must be 1, 2, 4 or 8; it is {asked!r}")
    return replace(found, lanes=int(asked))


def _generic(here: Target, level: str) -> Target:
    """The generic processor of a level, which this one has to be one of."""
    levels = [name for name in _LEVELS if name in PORTABLE]
    if level not in levels:
        raise NativeError(f"CONSILIENCE_TARGET must be one of {', '.join(levels)}; it is {level!r}")
    if here.architecture != "x86_64" or not _has_all(here, level):
        raise NativeError(
            f"CONSILIENCE_TARGET={level} asks for instructions that this processor ({here.cpu}) does not have; name "
            "the highest level that all machines have"
        )
    return replace(PORTABLE[level], triple=here.triple)


def runs_here(target: Target) -> bool:
    """Whether this process can execute code made for `target`.

    True only where that is certain: for the host's own processor, for the generic one that it is `portable` as, and for
    the generic x86-64 levels on the same operating system when the processor has all their instructions.
    """
    here = _detect()
    if replace(target, lanes=here.lanes) in (here, replace(portable(here), lanes=here.lanes)):
        return True
    if target.features or target.cpu not in _LEVELS or _system(target.triple) != _system(here.triple):
        return False
    return _has_all(here, target.cpu)


def _has_all(target: Target, level: str) -> bool:
    """Whether a processor has all instructions of a generic x86-64 level."""
    available = set(target.features.split(","))
    names = list(_LEVELS)
    needed = [feature for name in names[: names.index(level) + 1] for feature in _LEVELS[name]]
    return all("+" + feature in available for feature in needed)


@functools.cache
def portable(target: Target) -> Target:
    """The generic processor whose code runs on all machines like `target`, with registers as wide.

    `target` itself where there is no such one, or where it is generic. Code for both can call each other, since vectors
    are passed in the same registers.
    """
    if target.architecture == "aarch64":
        name = "apple-m1" if "-apple-" in target.triple else "aarch64" if "-linux-gnu" in target.triple else ""
        return replace(PORTABLE[name], lanes=target.lanes) if name else target
    available = target.features.split(",")
    level = "x86-64-v4" if "+avx512f" in available else "x86-64-v3" if "+avx" in available else "x86-64-v2"
    if target.architecture != "x86_64" or not _has_all(target, level) or target.fma != PORTABLE[level].fma:
        return target
    linux = target.triple.endswith("-linux-gnu")
    return replace(PORTABLE[level], lanes=target.lanes, **({} if linux else {"triple": target.triple}))


def llvm(every_target: bool = False) -> ModuleType:
    """llvmlite's binding, initialised for this machine or for `every_target` it knows.

    The first call imports llvmlite, a shared library of 170 MB, which takes 60-80 ms.
    """
    import llvmlite.binding as binding

    wanted = "every" if every_target else "native"
    if wanted not in _ready:
        with _lock:
            if every_target:
                binding.initialize_all_targets()
                binding.initialize_all_asmprinters()
            else:
                binding.initialize_native_target()
                binding.initialize_native_asmprinter()
            _ready.add(wanted)
    module: ModuleType = binding
    return module


class Versions(NamedTuple):
    """What machine code depends on besides its source and its target."""

    consilience: str
    llvmlite: str
    llvm: str


@functools.cache
def versions() -> Versions:
    """The versions of this library, of llvmlite and of LLVM."""
    import llvmlite

    # Read, not imported: the package's public names stand above this layer.
    own = str(getattr(sys.modules["consilience"], "__version__", "unknown"))
    return Versions(own, llvmlite.__version__, ".".join(map(str, llvm().llvm_version_info)))


def new_machine(target: Target, level: int, linked: bool = False) -> TargetMachine:
    """A code generator of LLVM for `target`; `level` runs from 0 (fastest to compile) to 3.

    linked   whether the code is for a linker's libraries and programs, and not for this process
    """
    if level not in (0, 1, 2, 3):
        raise NativeError(f"the level of the code generator is 0, 1, 2 or 3, not {level!r}")
    binding = llvm(every_target=target.architecture != _detect().architecture)
    try:
        description = binding.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise NativeError(f"LLVM knows no target {target.triple!r}: {error}") from None
    return description.create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic" if linked else "default",
        codemodel="default" if linked else "jitdefault",
        jit=not linked,
    )


@functools.cache
def _detect() -> Target:
    binding = llvm()
    features = binding.get_host_cpu_features().flatten()
    triple = binding.get_process_triple()
    available = set(features.split(","))
    lanes, fma = 2, "+fma" in available
    if "+avx512f" in available:
        lanes = 8
    elif "+avx2" in available:
        lanes = 4
    elif triple.startswith(("aarch64", "arm64")):
        lanes, fma = 4, True
    return Target(triple, binding.get_host_cpu_name(), features, lanes, fma)


def _system(triple: str) -> str:
    """Architecture and operating system, without vendor and version: "x86_64-linux"."""
    parts = triple.split("-")
    names = [part for part in parts[1:] if part.startswith(("linux", "darwin", "macosx", "windows"))]
    return f"{parts[0]}-{names[0].rstrip('0123456789.') if names else triple}"
