"""The machine code that this library comes with: its own programs, for each of the generic processors.

`python tools/machine_code.py` writes `src/consilience/native/machine_code/`; with `--check` it says which files are not
what the sources make, and writes nothing. Each processor has a process of its own, which takes it for the machine that
it runs on, and loads nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from consilience.native import jit, own_code, target

ORDINARY = (
    "exp expm1 exp2 log log1p log1mexp log2 log10 pow sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh "
    "gammaln digamma trigamma betaln erf erfc erfinv log_ndtr ndtri i0e"
)
"""Functions that densities of ordinary models call. All others together are four times as long."""

SMALL = (
    "all_finite argsort below eigenvectors identity mirror_lower next_key select small_cholesky small_eigen "
    "small_solve sort_keys transpose triangle_finite upper_rows"
)
"""Routines beside matrices and sorting; Fourier transforms and sparse matrices are compiled when they are needed."""


def programs(lanes: int) -> None:
    """Load what is shipped: all step methods, what watches and judges draws, draws, routines, mathematics."""
    from consilience import inference
    from consilience.diagnostics.compiled import library as diagnostics
    from consilience.estimators.variational import ascent
    from consilience.inference import kernel
    from consilience.inference.modes import evaluations
    from consilience.native import batch, vectormath
    from consilience.native.random import library as draws
    from consilience.native.routines import library as routines

    batch._driver()
    kernel.compiling_transitions().result()
    methods = (getattr(inference, name) for name in inference.__all__)
    for start, step in dict.fromkeys((m.start, m.step) for m in methods if getattr(m, "start", None) is not None):
        kernel._compiled(start, step)
    for begun in (diagnostics.prepare(), evaluations.preparing(), ascent.preparing()):
        begun.result()
    draws.normals()
    draws.filled_uniforms()
    for width in (1, lanes):
        for name in draws.DRAWS:
            draws.library(draws.symbol(name, width))
        vectormath.library().prepare(vectormath.symbol(name, width) for name in ORDINARY.split())
    for name in SMALL.split():
        routines.library(routines.PREFIX + name)


def made(name: str, compiled: bool) -> dict[str, bytes]:
    """All programs for one processor by key; without their machine code unless they are to be `compiled`."""
    found: dict[str, bytes] = {}

    def record(_: str, write: Any, exports: Any, __: Any, level: int, passes: Any, to: Any, ready: Any) -> Any:
        key = (ready() or b"").decode()
        if key and key not in found:  # what has no key is translated in every process
            text = write() if compiled else ""
            found[key] = jit.packed(jit._declared(text), jit._compile(text, to, level, passes)) if compiled else b""
        return SimpleNamespace(address=lambda _: 0, function=lambda *_: None, exports=tuple(exports))

    processor = target.PORTABLE[name]
    target.llvm(every_target=True)
    with (
        patch.object(target, "_detect", lambda: processor),
        patch.object(jit, "load_kept", record),
        patch.object(own_code, "shipped", lambda key, _: key.encode()),
    ):
        programs(processor.lanes)
    return found


def main() -> None:
    """Write or check the files of all processors, or of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare keys with the sources, and write nothing")
    parser.add_argument("--processor", choices=target.PORTABLE, help="the only one")
    arguments = parser.parse_args()
    if not arguments.processor:
        parts = [[sys.executable, __file__, *sys.argv[1:], "--processor", name] for name in target.PORTABLE]
        raise SystemExit(max(subprocess.run(part, check=False).returncode for part in parts))
    name = arguments.processor
    wanted = made(name, compiled=not arguments.check)
    if arguments.check:
        if own_code._archive(name)[1].keys() != wanted.keys():
            raise SystemExit(f"{name}: not the machine code of these sources; run `python tools/machine_code.py`")
        return
    own_code.SHIPPED.mkdir(exist_ok=True)
    content = own_code.archive(wanted)
    (own_code.SHIPPED / name).write_bytes(content)
    print(f"{name}: {len(wanted)} programs, {len(content)} bytes, of {sum(map(len, wanted.values()))}")


if __name__ == "__main__":
    main()
