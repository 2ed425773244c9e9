"""The folder of an exported library.

In: a model or a function, and where it goes. Out: files. Outside: what is exported (`exported`), how code is made
(`code`), the C around it (`interface`), chains (`chain`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from consilience.backends.c.names import HEADER_NAMES, identifier
from consilience.backends.function import Function
from consilience.engines.c_library import interface
from consilience.engines.c_library.chain import chain_of, declarations, example, functions
from consilience.engines.c_library.chain import source as chain_source
from consilience.engines.c_library.code import PORTABLE, closed, object_code, program, routines, source
from consilience.engines.exported import exported, size
from consilience.errors import ModelError, StorageError
from consilience.inference import NUTS
from consilience.model.model import Model
from consilience.native.target import CROSS, LANES, Target, host
from consilience.record import replace

TARGETS: Final = ("host", *CROSS)
"""Processors that object files are made for."""


def export(
    what: Model | Function,
    folder: str | Path,
    *,
    target: str | None = None,
    lanes: int = 1,
    name: str | None = None,
    deterministics: bool = True,
    sampler: NUTS | bool = False,
    overwrite: bool = False,
) -> Path:
    """Write a model's log density with its gradient, or a function, as a C library that needs no Python.

    what: A model: `int64_t name(position, log_density, gradient, workspace)` on the unconstrained scale, and
        `name_values(position, ..., workspace)`, which gives its variables on their own scales, with the model's present
        data; or what `pm.function` gave, of inputs of fixed shapes, with the present values of its shared variables.
    folder: Is made. It will hold `name.h`, `name.c`, `name_program.c` or `name_program.o`, `name_data.c`, `main.c`, a
        `Makefile`, and for a model `name_values_program.c` or `.o`.
    target: None: C source. Or an object file instead: "host", "x86-64-v2", "x86-64-v3", "x86-64-v4" (Linux),
        "neoverse-v2" (Linux) or "apple-m1" (macOS).
    lanes: Numbers per vector in C source: 1 for ISO C11, for any compiler and processor; 2, 4 or 8 with the vectors of
        GCC and Clang, which is faster where the processor has such registers.
    name: Of the library and its function, by default that of the folder.
    deterministics: Whether `name_values` gives the deterministics of a model too.
    sampler: Whether the library of a model also has the No-U-Turn Sampler: `name_begin` and `name_transition`, and
        `sample.c` that prints draws; or its settings, `pm.NUTS(...)`. Its C source needs GCC or Clang.
    overwrite: Whether files of a folder that exists may be replaced.
    Returns: The folder.
    Raises StorageError: Where the folder exists, or is no folder.
    Raises ValueError: For an unknown target or width.
    Raises MissingRuleError: For what has no form in C.
    See to_stablehlo: A module of StableHLO.

    Notes
    -----
    Programs that factorise matrices call BLAS and LAPACK; the Makefile then links them.

    >>> import tempfile
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pm.export(model, f"{folder}/density", name="density")
    ...     sorted({p.suffix for p in path.iterdir()})
    ['', '.c', '.h']
    """
    place = Path(folder)
    own = _library_name(place.name if name is None else name)
    processor = _target(target, lanes)
    if place.exists() and not (place.is_dir() and overwrite):
        what_exists = "exists" if place.is_dir() else "is a file"
        raise StorageError(
            f"the folder {str(place)!r} {what_exists}; choose another"
            + (", or pass `overwrite=True` to replace its files." if place.is_dir() else ".")
        )
    wanted = exported(what, own, deterministics)
    settings = _sampler(what, sampler)
    made = [(f, program(f.inputs, f.outputs, f.data, processor, f"{f.name}_program")) for f in wanted]
    parts = {f"{f.name}_program": (closed_.file, f"{f.title}: the program.") for f, closed_ in made}
    files: dict[str, str | bytes] = {}
    more = ""
    if settings is not None:
        dimension = size(wanted[0].inputs[0])
        chain = chain_of(settings, dimension, made[0][1].workspace, own)
        kernel = closed(
            functions(own, processor.lanes), [f"{own}_{n}" for n in ("start", "step", "normals")], processor
        )
        parts[f"{own}_sampler"] = kernel, "The No-U-Turn Sampler: one transition, and what a chain learns from it."
        files |= {f"{own}_chain.c": chain_source(own, chain, dimension), "sample.c": example(own, wanted[1], dimension)}
        more = declarations(own, chain)
    for part, (file, remark) in parts.items():
        code: str | bytes = source(file, remark) if target is None else object_code(file, processor)
        files[f"{part}.{'c' if target is None else 'o'}"] = code
    factorises = any(routines(file) for file, _ in parts.values())
    files |= {
        f"{own}.h": interface.header(own, made, more),
        f"{own}.c": interface.interface(own, wanted),
        f"{own}_data.c": interface.data(made),
        "main.c": interface.main(own, wanted[0]),
        "Makefile": interface.makefile(own, factorises, target, lanes, list(parts), settings is not None),
    }
    place.mkdir(parents=True, exist_ok=True)
    for part in parts:  # of an export for another target
        (place / f"{part}.{'o' if target is None else 'c'}").unlink(missing_ok=True)
    for file_name, content in files.items():
        (place / file_name).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def _library_name(asked: str) -> str:
    if not _allowed(asked):
        found = re.sub(r"\W+", "_", asked, flags=re.ASCII).strip("_")
        hint = f", such as name={found!r}" if _allowed(found) else ""
        raise ValueError(
            f"a library needs a name that C allows and its headers do not take, got {asked!r}; give one by "
            f"`name=`{hint}."
        )
    return asked


def _allowed(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)) and identifier(name) == name and name not in HEADER_NAMES


def _target(target: str | None, lanes: int) -> Target:
    if lanes not in LANES:
        raise ValueError(f"`lanes` must be one of {', '.join(map(str, LANES))}, got {lanes!r}.")
    if target is None:
        return replace(PORTABLE, lanes=lanes, fma=lanes > 2)
    if target not in TARGETS:
        raise ValueError(
            f"unknown target {target!r}; available are {', '.join(map(repr, TARGETS))}, and None for C source."
        )
    if lanes != 1:
        raise ValueError(f"`lanes` is for C source; the target {target!r} has vectors of its own width.")
    return host() if target == "host" else CROSS[target]


def _sampler(what: Model | Function, asked: NUTS | bool) -> NUTS | None:
    if asked is False:
        return None
    settings = NUTS() if asked is True else asked
    if not isinstance(settings, NUTS):
        raise ModelError(f"`sampler` must be True, False or `pm.NUTS(...)`, got {asked!r}.")
    if not isinstance(what, Model):
        raise ModelError("a function has no draws: `sampler=` is for models.")
    if settings.vars:
        raise ModelError("an exported sampler moves all variables of a model; leave out those of `pm.NUTS`.")
    discrete = [v.name for v in what.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and NUTS moves along gradients; sum it out with `pm.marginalize`, or export "
            "without `sampler=`."
        )
    return settings
