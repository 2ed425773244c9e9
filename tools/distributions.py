"""Writes docs/distributions.md: which formulas each distribution has. `python tools/distributions.py`

In: the declarations. Out: one row per distribution, and why cells are empty.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

from consilience import distributions
from consilience.distributions.distribution import FORMULAS, Distribution

LISTING = Path(__file__).resolve().parent.parent / "docs" / "distributions.md"

WHY = {
    "logcdf": "vectors and matrices have no distribution function of one number; others say so when asked",
    "icdf": "no closed form, and no search is worth its cost; draws do not need it",
    "draw": "an improper prior cannot be drawn, nor can a spatial prior whose precision is singular",
    "mean, variance": "not finite or not known in closed form; MissingRuleError says so",
}


def declared() -> dict[str, type[Distribution]]:
    """Public distributions by name, without second spellings."""
    found = {}
    for names in distributions.PUBLIC.values():
        for name in names.split():
            thing = getattr(distributions, name)
            if inspect.isclass(thing) and issubclass(thing, Distribution):
                found[name] = thing
    return dict(sorted(found.items()))


def has(cls: type[Distribution], formula: str) -> bool:
    """Whether the declaration has a formula; `logccdf` follows from `logcdf`."""
    own = getattr(cls, formula) is not getattr(Distribution, formula)
    return own or (formula == "logccdf" and has(cls, "logcdf"))


def lines_of(cls: type[Distribution]) -> int:
    """Lines of code of a declaration with its parameterizations, without docstrings, comments and empty lines."""
    total = 0
    for one in {cls, *cls.parameterizations}:
        tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        total += sum(1 for line in ast.unparse(tree).splitlines() if line.strip())
    return total


def listing() -> str:
    """The text."""
    rows = declared()
    lines = [
        "# Distributions and their formulas",
        "",
        "Written by `python tools/distributions.py`; not to be edited.",
        "",
    ]
    lines += ["| distribution | parameters | " + " | ".join(FORMULAS) + " |", "|---" * (len(FORMULAS) + 2) + "|"]
    for name, cls in rows.items():
        names = dict.fromkeys(n for form in cls.parameterizations for n in form.parameter_names)
        names |= dict.fromkeys(n for form in cls.parameterizations for a in form.alternatives for n in a.constraints)
        cells = ["x" if has(cls, formula) else "" for formula in FORMULAS]
        lines.append(f"| `{name}` | {', '.join(names)} | {' | '.join(cells)} |")
    sizes = sorted((lines_of(cls), name) for name, cls in rows.items())
    middle, most = sizes[len(sizes) // 2], sizes[-1]
    lines += [
        "",
        f"{len(rows)} distributions; lines of code of a declaration: median {middle[0]}, most {most[0]} ({most[1]}).",
    ]
    lines += ["", "Why cells are empty:", "", *[f"- {formula}: {why}." for formula, why in WHY.items()]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
