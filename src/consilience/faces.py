"""What is found by its name, because it stands above who asks: one row each, and the only such names.

In: a name. Out: a module, or what it has there. The rows of engines are what they make of a compiled function or of the
density of a model; those without a place in a module are loaded for what they enter in tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

FACES: Final = {
    "Function.jax": ("consilience.engines.jax.function", "of_function"),
    "Function.numba": ("consilience.engines.numba.function", "of_function"),
    "Function.torch": ("consilience.engines.torch.function", "of_function"),
    "Function.torch_module": ("consilience.engines.torch.function", "module_of"),
    "ModelDensity.jax": ("consilience.engines.jax.function", "of_density"),
    "ModelDensity.torch": ("consilience.engines.torch.function", "of_density"),
    "Posterior.challenge": ("consilience.estimators.refutation.portfolio", "challenge"),
    "backend c": ("consilience.backends.c", "compile"),
    "backend jax": ("consilience.engines.jax.emit", "compile"),
    "backend llvm": ("consilience.backends.llvm", "compile"),
    "backend reference": ("consilience.backends.reference", "compile"),
    "backend torch": ("consilience.engines.torch.emit", "compile"),
    "meanings of operators": ("consilience.tensor", ""),  # expressions may be unpickled where only the graph is loaded
    "meanings of random keys": ("consilience.tensor.random", ""),
    "page of a run": ("consilience.watch.live", "page_of"),
    "page of a result": ("consilience.watch.page_file", "write"),
    "words of variables": ("consilience.model.printing", ""),
    "machine code helpers": ("consilience.native.shared_work", ""),
    "machine code random": ("consilience.native.random.library", ""),  # the just-in-time compiler compiles these itself
    "machine code routine": ("consilience.native.routines.library", ""),
    "machine code of vector mathematics": ("consilience.native.vectormath", ""),
}


def face(name: str) -> Any:
    """What a row of `FACES` names, loaded when it is asked for."""
    module, attribute = FACES[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
