"""Times of PyTensor for the programs of `benchmarks.planner`, by an interpreter that has PyMC.

    PYTHON -m benchmarks.planner_in_pytensor FILE [a part of a case's name]

The file of programs is run with PyTensor's modules in place of ours. Written to FILE: by name, microseconds of a call
(processor time, the best of several); 0 where PyTensor refuses a program.
"""

from __future__ import annotations

import json
import sys
import time
import types
from math import inf
from pathlib import Path
from typing import Any

SECONDS = 0.15
FILES = Path(__file__).parents[1]


def stand_ins() -> None:
    """Put PyTensor's modules where programs look for ours."""
    import pymc  # type: ignore[import-not-found]
    import pytensor  # type: ignore[import-not-found]
    import pytensor.tensor as tensor  # type: ignore[import-not-found]

    def module(name: str, **members: Any) -> Any:
        made = sys.modules[name] = types.ModuleType(name)
        vars(made).update(members)
        return made

    missing = {name: vars(tensor.linalg)[name] for name in ("slogdet", "inv", "solve", "cholesky", "solve_triangular")}
    linalg = types.SimpleNamespace(trace=tensor.linalg.trace, **missing)
    own = module("consilience.tensor", **{**vars(tensor), "grad": pytensor.grad, "linalg": linalg})
    module("consilience", **{**vars(pymc), "tensor": own})
    module("consilience.ir", Node=object)
    module("consilience.rewrite")
    module("consilience.rewrite.facts", assume=lambda node, **facts: node)
    module("tests")
    module("tests.transforms")
    module("tests.transforms.laws", Array=Any)


def seconds(make: Any, case: Any) -> float:
    """Processor time of a call of a case."""
    import pytensor

    outputs = make(case)
    function = pytensor.function(list(case.values), outputs, on_unused_input="ignore")
    function.trust_input = True
    values = list(case.values.values())
    function(*values)
    best, began = inf, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        start = time.process_time()
        function(*values)
        best = min(best, time.process_time() - start)
    return best


def main(file: str, wanted: str) -> None:
    """Time the programs, and write their times after each."""
    stand_ins()
    source = types.ModuleType("cases")
    path = FILES / "tests" / "planning" / "cases.py"
    exec(compile(path.read_text(), str(path), "exec"), source.__dict__)
    found: dict[str, float] = {}
    for name, make in source.CASES.items():
        if wanted in name:
            try:
                found[name] = seconds(make, source.Case()) * 1e6
            except Exception as error:  # what another library refuses is told, not hidden
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                found[name] = 0.0
            Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], " ".join(sys.argv[2:]))
