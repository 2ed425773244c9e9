"""Writes docs/reference/names.md, and the stubs that type checkers read. `python tools/names.py`

In: the public names of PyTensor and PyMC with their parameters, recorded in names.json, and this library.
Out: the listing of which are there, which differ and which are not yet there, and `tensor/*.pyi`.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import consilience as pm
import consilience.tensor as pt
from consilience.names import absent
from consilience.tensor import keywords

ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "docs" / "reference" / "names.md"
RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "names.json").read_text(encoding="utf-8"))
PLACES = {
    "pytensor.tensor": ("consilience.tensor", pt),
    "pytensor.TensorVariable": ("methods of tensors", pt.TensorVariable),
    "pytensor.tensor.linalg": ("consilience.tensor.linalg", pt.linalg),
    "pytensor.tensor.special": ("consilience.tensor.special", pt.special),
    "pytensor": ("consilience", pm),
    "pymc.math": ("consilience.math", pm.math),
    "pymc": ("consilience", pm),
}
"""Where each recorded namespace has its counterpart here."""

DIFFERENT = {
    "pytensor.tensor": {
        "TensorType": "a dtype and lengths; it makes no inputs, `pt.tensor` does",
        "allclose": "symbolic, as `isclose` is; PyTensor computes it from arrays",
        "atleast_3d": "new axes come in front, as in PyTensor; NumPy puts those of a vector on both sides",
        "broadcast_arrays": "a list",
        "broadcast_shape": "integers where lengths are static; no `arrays_are_shapes`",
        "cov": "computed in float64, as in NumPy",
        "empty": "zeros",
        "empty_like": "zeros",
        "full_like": "of a's dtype, as in NumPy; PyTensor takes that of the value",
        "geomspace": "computed from the ratio of the ends, so `base` has no influence",
        "mgrid": "a list of tensors, one for each slice",
        "ogrid": "a list of tensors, one for each slice",
        "power": "integers stay integers for constant exponents >= 0 only, otherwise the result is float64",
        "pow": "integers stay integers for constant exponents >= 0 only, otherwise the result is float64",
        "random": "explicit keys in place of a stream with a state",
        "shape": "a tuple of integers, and of scalars where a length is symbolic",
        "special": "the functions, not the ops",
        "linalg": "the functions, not the ops",
        "split": "NumPy's positions are taken too, as `indices_or_sections`",
        "unique": "inverse places have the tensor's shape, as in NumPy",
        "vectorize": "the graph is batched by rules of its ops",
        "where": "with one argument, which asks for positions, it is an error",
    },
    "pytensor.tensor.linalg": {
        "cholesky": "a matrix without a factor raises LinearAlgebraError; PyTensor gives NaN",
        "eigh": "the first element of a vector that is about as large as its largest is positive",
        "pinv": "singular values up to machine precision times the larger length count as 0, as in SciPy",
        "qr": '"raw" gives LAPACK\'s matrix in the shape of the operand',
        "svd": "the first element of a column of U that is about as large as its largest is positive",
        "solve": "symmetric and banded matrices are solved as general ones; `solve_banded` is there",
    },
    "pytensor": {
        "function": "results are NumPy arrays; the graph is compiled for the lengths that come",
    },
    "pymc.math": {
        "log1mexp": "of negative numbers, without `negative_input`",
    },
    "pymc": {},
}
"""What is there but means something else, or takes other parameters, and how."""


def parameters_of(recorded: str) -> list[str]:
    """The parameters in a recorded text such as "(x, axis=None)", with defaults and stars."""
    return [part for part in recorded[1:-1].split(", ") if part]


def lacking(recorded: str, function: Any) -> list[str]:
    """Parameters that the recorded function has and `function` takes neither by that name nor in that place."""
    own = list(inspect.signature(function).parameters.values())
    own = own[1:] if own and own[0].name == "self" else own
    positional = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
    stars = [p for p in own if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    found, named_only = [], False
    for place, text in enumerate(parameters_of(recorded)):
        name = text.partition("=")[0]
        if name == "*" or name.startswith("*"):
            named_only = True
            if name.startswith("*") and name not in ("*", "**kwargs") and not stars:
                found.append(name)
        elif stars:
            continue
        elif name not in {p.name for p in own} and not keywords.translates(name, tuple(p.name for p in own)):
            found.append(name)
        elif not named_only and (place >= len(positional) or not same(name, positional[place])):
            found.append(f"{name} in place {place + 1}")
    return found


def same(theirs: str, ours: str) -> bool:
    """Whether two names of a parameter in one place mean one thing."""
    return theirs == ours or keywords.translates(theirs, (ours,))


def listed() -> Iterator[tuple[str, str, str, str]]:
    """Namespace, name, state ("there", "different" or "not yet") and the reason for the two latter."""
    for namespace, names in RECORDED["names"].items():
        here = PLACES[namespace][1]
        for name, text in names.items():
            if not hasattr(here, name):
                yield namespace, name, "not yet", absent.known(name) or "?"
                continue
            why = DIFFERENT.get(namespace, {}).get(name, "")
            if text.startswith("(") and callable(getattr(here, name)) and not isinstance(getattr(here, name), type):
                text = text if namespace != "pytensor.TensorVariable" else "(" + text[1:].partition(", ")[2]
                less = [p for p in lacking(text, getattr(here, name)) if f"`{p.split()[0]}`" not in why]
                if less:
                    why = "; ".join(filter(None, [why, "without " + ", ".join(f"`{p}`" for p in less)]))
            yield namespace, name, "different" if why else "there", why


def listing() -> str:
    """The text of docs/reference/names.md."""
    rows = list(listed())
    versions = ", ".join(f"{library} {version}" for library, version in RECORDED["recorded from"].items())
    lines = [
        "# PyTensor's and PyMC's names",
        "",
        f"Which public names of {versions} are there, which differ, and which are not there yet with what serves",
        "meanwhile (the error for such a name says the same). Written by `python tools/names.py`; a test compares.",
    ]
    for namespace, (place, _) in PLACES.items():
        own = [row for row in rows if row[0] == namespace]
        states = {state: [row for row in own if row[2] == state] for state in ("there", "different", "not yet")}
        counts = ", ".join(f"{len(found)} {state}" for state, found in states.items())
        lines += ["", f"## `{namespace}` ({len(own)}) in {place}: {counts}", ""]
        lines += ["**There:** " + (_names(states["there"]) or "none") + ".", ""]
        if states["different"]:
            lines += ["**Different:**", "", "| name | how |", "|---|---|"]
            lines += [f"| `{name}` | {why} |" for _, name, _, why in states["different"]] + [""]
        if states["not yet"]:
            lines += ["**Not yet:**", "", "| names | meanwhile |", "|---|---|"]
            groups: dict[str, list[tuple[str, str, str, str]]] = {}
            for row in states["not yet"]:
                groups.setdefault(row[3], []).append(row)
            lines += [f"| {_names(group)} | {why} |" for why, group in groups.items()]
    return "\n".join(lines).rstrip() + "\n"


def _names(rows: list[tuple[str, str, str, str]]) -> str:
    return " ".join(f"`{row[1]}`" for row in rows)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from stubs import STUBS

    LISTING.write_text(listing(), encoding="utf-8")
    for path, text in STUBS.items():
        path.write_text(text(), encoding="utf-8")
