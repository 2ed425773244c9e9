"""Runs the programs of this folder, by real PyMC or by this library, and gives what is compared.

`python tests/black_boxes/programs.py` under an interpreter with PyMC writes `recorded.json`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
NAMES = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
SHIFTS = (0.0, 0.1, -0.15)


def run(name: str, package: str | None = None) -> dict[str, Any]:
    """The namespace of a program; `package` takes the place of PyMC and PyTensor."""
    path = HERE / "programs" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    if package is not None:
        text = re.sub(r"^import pytensor$", f"import {package} as pytensor", text, flags=re.MULTILINE)
        text = re.sub(r"^(import|from) (pymc|pytensor)\b", rf"\1 {package}", text, flags=re.MULTILINE)
    space: dict[str, Any] = {"__name__": f"black_box_{name}"}
    exec(compile(text, str(path), "exec"), space)
    return space


def points(model: Any) -> list[dict[str, Any]]:
    """The initial point, and two beside it."""
    first = model.initial_point()
    return [
        {key: np.asarray(value + shift * (k + 1)).tolist() for k, (key, value) in enumerate(first.items())}
        for shift in SHIFTS
    ]


def measured(model: Any, places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Log density and gradient (None where there is none) at some points."""
    logp = model.compile_logp()
    try:
        dlogp = model.compile_dlogp()
    except (NotImplementedError, TypeError):
        dlogp = None
    found = []
    for place in places:
        point = {key: np.asarray(value) for key, value in place.items()}
        slope = None if dlogp is None else [float(g) for g in dlogp(point)]
        found.append({"point": place, "logp": float(logp(point)), "slope": slope})
    return found


if __name__ == "__main__":
    recorded = {}
    for name in sys.argv[1:] or NAMES:
        model = run(name)["model"]
        recorded[name] = measured(model, points(model))
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
