"""Which public names have a complete numpydoc docstring. `python -m tests.numpydoc_of_names` writes what is lacking.

In: the public namespaces. Out: their callables, and of each the checks of numpydoc that it does not pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

LACKING = Path(__file__).with_name("incomplete_docstrings.txt")
SPACES = """
    consilience consilience.tensor consilience.tensor.linalg consilience.tensor.special consilience.tensor.random
    consilience.tensor.fft consilience.tensor.signal consilience.tensor.extra_ops consilience.tensor.interpolate
    consilience.tensor.optimize consilience.math consilience.gp consilience.gp.cov consilience.gp.mean consilience.ode
    consilience.sparse consilience.dims consilience.xtensor consilience.xtensor.math consilience.xtensor.random
    consilience.xtensor.signal consilience.distributions.transforms consilience.scan consilience.gradient
    consilience.graph consilience.compile consilience.ifelse consilience.raise_op consilience.logprob
    consilience.cluster consilience.diagnostics consilience.estimators.smc consilience.estimators.variational
    consilience.backends.printing consilience.model
""".split()  # noqa: SIM905 -- a list of words reads as one
# Layout and order of sections (GL), the summary (SS), parameters as in the signature, each with type and description
# (PR), the text of what is returned where it has one (RT), an example (EX). "returns": functions say what they return.
CHECKS = """
    GL03 GL05 GL06 GL07 GL08 SS01 SS02 SS03 SS06 PR01 PR02 PR03 PR04 PR07 PR08 PR09 PR10 RT04 RT05 EX01
""".split()  # noqa: SIM905


def public() -> Iterator[tuple[str, Any]]:
    """Callables of this library, each under the first of its names."""
    seen: set[int] = set()
    for space in SPACES:
        module = import_module(space)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            own = getattr(thing, "__module__", "consilience").startswith("consilience")
            if isinstance(thing, ModuleType) or not callable(thing) or not own or id(thing) in seen:
                continue
            if getattr(thing, "__origin__", None) is None:
                seen.add(id(thing))
                yield f"{space}.{name}", thing


def lacks(thing: Any) -> list[str]:
    """The checks that a docstring does not pass."""
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import validate

    try:
        found = [check for check, _ in validate(get_doc_object(thing))["errors"] if check in CHECKS]
    except AttributeError:  # a class whose docstring is a property of its objects
        return ["GL08"]
    text = inspect.getdoc(thing) or ""
    said = "Returns\n-------" in text or "Yields\n------" in text
    return sorted({*found, *(() if inspect.isclass(thing) or said else ("returns",))})


def lacking() -> dict[str, list[str]]:
    """Names whose docstring is incomplete, with what they lack."""
    return {name: found for name, thing in public() if (found := lacks(thing))}


if __name__ == "__main__":
    incomplete = lacking()
    LACKING.write_text("".join(f"{name} {' '.join(what)}\n" for name, what in incomplete.items()), encoding="utf-8")
    total = sum(1 for _ in public())
    print(f"{total - len(incomplete)} of {total} public names have a complete docstring")
