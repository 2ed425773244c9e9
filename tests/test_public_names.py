"""Public names: every name is there, each loads its own part of the library only, types agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import consilience as pm
from consilience import distributions

ABOVE_THE_TENSORS = {
    "distributions",
    "logprob",
    "model",
    "sample",
    "inference",
    "run",
    "storage",
    "ui",
    "diagnostics",
    "doctor",
}


def in_a_fresh_process(code: str) -> list[str]:
    """What `code` leaves in a list named `answer`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json; print(json.dumps(answer))"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert isinstance(answer, list)
    return answer


def test_no_name_is_listed_twice() -> None:
    """A name has one home."""
    listed = [name for names in pm._NAMES.values() for name in names.split()] + [
        word.partition("=")[0] for word in pm._MODULES.split()
    ]
    assert len(listed) == len(set(listed)) == len(pm.__all__)


def test_every_listed_name_exists() -> None:
    """Each public name leads to something, and `dir` shows it."""
    assert [name for name in pm.__all__ if getattr(pm, name, None) is None] == []
    assert set(pm.__all__) <= set(dir(pm))


def test_every_distribution_is_public() -> None:
    """What `distributions` declares, users find in `consilience`."""
    things = {name: getattr(distributions, name) for name in distributions.__all__}
    declared = {
        n for n, thing in things.items() if isinstance(thing, type) and issubclass(thing, distributions.Distribution)
    }
    assert declared - {"Continuous", "Discrete", "Distribution"} <= set(pm.__all__)
    assert len(declared) > 20


def test_unknown_names_are_refused_by_name() -> None:
    """A name that is not there raises AttributeError, so that `hasattr` and imports of modules work."""
    with pytest.raises(AttributeError, match="'consilience' has no attribute 'Normall'"):
        _ = pm.Normall
    assert not hasattr(pm, "Normall")


@pytest.mark.parametrize("order", ["import consilience.sample, consilience.model", "import consilience.model.model"])
def test_sample_is_the_function_whatever_is_imported_first(order: str) -> None:
    """The module of the same name does not hide the function."""
    answer = in_a_fresh_process(f"{order}\nimport consilience as pm\nanswer = [type(pm.sample).__name__]")
    assert answer == ["function"]


def test_importing_the_package_loads_nothing() -> None:
    """`import consilience` costs next to nothing: neither NumPy nor any layer is loaded."""
    answer = in_a_fresh_process(
        "import sys, consilience\nanswer = [m for m in sys.modules if m.split('.')[0] in ('consilience', 'numpy')]"
    )
    assert set(answer) == {"consilience", "consilience.distributions", "consilience.first_use"}  # tables of names


def test_importing_tensors_loads_the_compiler_only() -> None:
    """`import consilience.tensor` loads no sampler, no model and none of the heavy libraries."""
    loaded = in_a_fresh_process("import sys, consilience.tensor as pt\nanswer = list(sys.modules)")
    assert not {"llvmlite", "pandas", "rich", "scipy", "xarray"} & set(loaded)
    files = {name for name in loaded if name.startswith("consilience.")} - {"consilience.distributions"}
    layers = {name.split(".")[1] for name in files}
    assert not layers & ABOVE_THE_TENSORS


def test_building_a_model_loads_no_sampler() -> None:
    """Declaring a model loads no kernels, runs, storage or screens."""
    loaded = in_a_fresh_process(
        "import sys, consilience as pm\n"
        "with pm.Model() as model:\n    pm.Normal('x', 0, 1)\n"
        "answer = [m for m in sys.modules if m.startswith('consilience.')]"
    )
    assert not {name.split(".")[1] for name in loaded} & {"run", "storage", "ui", "diagnostics", "sample"}


def test_star_import_gives_all_names() -> None:
    """`from consilience import *` gives what `__all__` lists."""
    names = in_a_fresh_process(
        "from consilience import *\nanswer = [n for n in dir() if n[0] != '_' and n != 'answer']"
    )
    assert sorted(names) == sorted(pm.__all__)


WALK = """
import types
import consilience as pm
from consilience import first_use
answer = []
seen = {pm.errors, pm.plots, pm.distributions}  # plots pass arguments on to ArviZ; all layers stand on distributions
def walk(module, path):
    seen.add(module)
    for name in module.__all__:
        try:
            found = getattr(module, name)
        except Exception:
            continue  # of a package that is not installed
        if isinstance(found, types.ModuleType):
            if found not in seen and found.__name__.startswith("consilience."):
                walk(found, f"{path}.{name}")
            continue
        own = vars(found).get("__init__") if isinstance(found, type) and not issubclass(found, Exception) else found
        if isinstance(own, types.FunctionType) and str(own.__module__).startswith("consilience."):
            if own.__code__.co_filename != first_use.WRAPPER and own.__code__.co_filename != "<string>":
                answer.append(f"{path}.{name}")
walk(pm.distributions.dist_math, "pm.distributions.dist_math")
for name in pm._MODULES.split():
    module = getattr(pm, name.partition("=")[0])
    if isinstance(module, types.ModuleType) and module not in seen:
        walk(module, f"pm.{name}")
"""


def test_functions_are_guarded_in_whatever_public_module_they_are_asked_for_first() -> None:
    """Errors of a wrong argument name it, and a docstring is complete, by each path to a function."""
    assert in_a_fresh_process(WALK) == []
