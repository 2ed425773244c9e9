"""C against machine code: the C backend, and exported libraries, beside LLVM's code for the same densities.

    python -m benchmarks.printed_c

All are called from one C loop, in turn. "exported object" is `pm.export(model, folder, target="host")`, "exported
source" ISO C (one number at a time) and C with the vectors of this machine; its Makefile compiles both.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import consilience as pm
from benchmarks import models
from benchmarks.native import GeneratedDensity, one_core, race
from benchmarks.report import Row, show
from consilience.model.log_density import model_density
from consilience.native.target import host

LIMIT_BACKEND, LIMIT_EXPORTED = 1.2, 1.1


class ExportedDensity:
    """The program of an exported library, as `GeneratedDensity` takes it."""

    def __init__(self, model: pm.Model, folder: Path, **more: Any) -> None:
        pm.export(model, folder, name="density", **more)
        subprocess.run(["make", "-s", "libdensity.so"], cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "libdensity.so"))
        self.dimension = model_density(model).dimension
        self.entry = ctypes.cast(self.library.density_program, ctypes.c_void_p).value or 0
        self.constants = ctypes.addressof(ctypes.c_char.in_dll(self.library, "density_constants"))
        header = (folder / "density.h").read_text()
        self.workspace = int(re.findall(r"DENSITY_WORKSPACE (\d+)", header)[0])


def cases() -> dict[str, pm.Model]:
    """The models that other benchmarks measure."""
    return {
        "eight schools": models.eight_schools(),
        "radon": models.radon(),
        "logistic 1000x10": models.logistic(1000, 10),
        "normal mixture 1000": models.normal_mixture(1000),
    }


def main() -> None:
    """Print times and their ratios."""
    one_core()
    rows = []
    for name, model in cases().items():
        with tempfile.TemporaryDirectory() as place:
            forms: dict[str, Any] = {
                "llvm": model_density(model),
                "c": model_density(model, "c"),
                "exported object": ExportedDensity(model, Path(place, "object"), target="host"),
                "exported source, vectors": ExportedDensity(model, Path(place, "vectors"), lanes=host().lanes),
                "exported source, ISO C": ExportedDensity(model, Path(place, "iso")),
            }
            best = race([GeneratedDensity(form) for form in forms.values()])
        for form, seconds in list(zip(forms, best, strict=True))[1:]:
            limit = {"c": LIMIT_BACKEND, "exported object": LIMIT_EXPORTED}.get(form)
            note = f"{seconds * 1e6:.3g} us beside {best[0] * 1e6:.3g}"
            rows.append(Row(f"{name}: {form}", seconds / best[0], "x llvm", limit, note=note))
    show("C beside machine code", rows)


if __name__ == "__main__":
    main()
