"""PyMC's signatures beside ours. `python tools/signatures.py` records them where PyMC is installed.

In: PyMC's public functions, classes and methods, recorded in signatures.json, and this library.
Out: the parameters that ours take neither by PyMC's name nor in its place, and the reasons of those that stay.
"""

from __future__ import annotations

import importlib
import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "signatures.json"
MODULES = (
    "pymc", "pymc.math", "pymc.gp", "pymc.gp.cov", "pymc.gp.mean", "pymc.gp.util", "pymc.gp.hsgp_approx",
    "pymc.distributions", "pymc.distributions.transforms", "pymc.model.transform", "pymc.model.fgraph", "pymc.stats",
    "pymc.smc", "pymc.smc.kernels", "pymc.variational", "pymc.variational.callbacks", "pymc.variational.approximations",
    "pymc.variational.inference", "pymc.variational.opvi", "pymc.ode", "pymc.dims", "pymc.logprob",
    "pymc.step_methods", "pymc.exceptions",
)  # fmt: skip
"""PyMC's public modules: what users write after `pm.`, and where its pages document methods."""


# ---- recording, where PyMC is installed


def signature_text(thing: Any) -> str | None:
    """The parameters as "(x, axis=None, *args)": without types, defaults that have no short form as "..."."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None
    texts, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        plain = isinstance(p.default, str | int | float | bool | None | tuple) and ", " not in repr(p.default)
        default = "" if p.default is p.empty else f"={p.default!r}" if plain else "=..."
        texts.append(f"{stars}{p.name}{default}")
    return f"({', '.join(texts)})"


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods that PyMC itself defines, without those of its inner work; `dist` and `__init__` first."""
    for name in dict.fromkeys(["dist", "__init__", "__call__", *sorted(dir(cls))]):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner is None or not owner.__module__.startswith("pymc") or (name[0] == "_" and name[:2] != "__"):
            continue
        if name[:2] == "__" and name not in ("__init__", "__call__"):
            continue
        thing = inspect.getattr_static(cls, name)
        if name == "__init__" and hasattr(cls, "dist"):
            continue
        if isinstance(thing, staticmethod | classmethod):
            yield name, getattr(cls, name)
        elif isinstance(thing, types.FunctionType):
            yield name, thing


def recorded_signatures() -> dict[str, dict[str, str]]:
    """Per module the signatures of its functions, and of its classes' methods as "Normal.dist"."""
    found: dict[str, dict[str, str]] = {}
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = vars(module).get("__all__") or [
            name
            for name, thing in vars(module).items()
            if name[0] != "_" and str(getattr(thing, "__module__", "")).startswith("pymc")
        ]
        rows = found[module_name] = {}
        for name in sorted(names):
            thing = vars(module).get(name)
            if not callable(thing) or id(thing) in seen:
                continue
            if isinstance(thing, type):
                if not thing.__module__.startswith("pymc"):
                    continue
                seen.add(id(thing))
                if issubclass(thing, BaseException):
                    continue
                for method, function in public_methods(thing):
                    text = signature_text(function)
                    static = isinstance(inspect.getattr_static(thing, method), staticmethod | classmethod)
                    if text is not None:
                        own = text if static else "(" + text[1:].partition(", ")[2] if ", " in text else "()"
                        rows[f"{name}.{method}"] = own
            else:
                seen.add(id(thing))
                text = signature_text(thing)
                if text is not None:
                    rows[name] = text
    return found


def main() -> None:
    """Write signatures.json from the installed PyMC."""
    pymc = importlib.import_module("pymc")
    record = {"recorded from": {"pymc": pymc.__version__}, "signatures": recorded_signatures()}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
