"""Writes docs/reference/distributions.md: which formulas each distribution has. `python tools/distributions.py`

In: the declarations. Out: one row per distribution, and why cells are empty.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

from consilience import distributions
from consilience.distributions.distribution import FORMULAS, Distribution

LISTING = Path(__file__).resolve().parent.parent / "docs" / "reference" / "distributions.md"

EVENTS = (
    "AR CAR Dirichlet DirichletMultinomial EulerMaruyama GaussianRandomWalk ICAR InverseWishart KroneckerNormal "
    "GARCH11 HiddenMarkov LinearGaussianStateSpace "
    "LKJCholeskyCov LKJCorr MatrixNormal Multinomial MvGaussianRandomWalk MvLogNormal MvNormal MvStudentT "
    "MvStudentTRandomWalk OrderedMultinomial RandomWalk StickBreakingWeights UniformDirection VonMisesFisher Wishart "
    "ZeroSumNormal"
)
# Formulas that are missing, of which distributions, and why. Every empty cell stands here.
WHY = (
    ("logcdf logccdf icdf", EVENTS, "values are vectors, matrices or series, which are not ordered"),
    ("logcdf logccdf icdf draw mean variance", "Flat HalfFlat", "the density is improper: its integral is infinite"),
    ("mean variance", "Cauchy HalfCauchy", "the integrals do not exist"),
    (
        "mean variance", "VonMises",
        "both depend on where the circle is cut; the direction is mu, the concentration kappa",
    ),
    ("mean variance", "EulerMaruyama", "drift and diffusion are functions of the user's, whose moments do not close"),
)  # fmt: skip
# What full cells do not say.
LIMITS = (
    "`AR`: no variance where `init_dist` is of vectors, whose covariances are not known.",
    "`Censored`, `Truncated`: each tail needs that of the component, `icdf` its `icdf`.",
    "`Censored`, `Truncated`: mean and variance are integrals of quantiles; those of counts are steps, and have none.",
    "`Truncated`: without `icdf` of the component drawn by trials.",
    "`ICAR`: draws where all elements are connected.",
    "`Mixture`: each formula needs that of every component; `logcdf`, `logccdf` and `icdf` are of numbers only.",
)


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
    own = cls.declares(formula)
    return own or (formula == "logccdf" and has(cls, "logcdf"))


def unexplained() -> set[tuple[str, str]]:
    """Empty cells without a reason, and reasons without an empty cell."""
    empty = {(name, formula) for name, cls in declared().items() for formula in FORMULAS if not has(cls, formula)}
    explained = {(name, f) for formulas, names, _ in WHY for name in names.split() for f in formulas.split()}
    return empty ^ explained


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
    lines += ["", "Why cells are empty:", ""]
    lines += [f"- {formulas.replace(' ', ', ')} of {names.replace(' ', ', ')}: {why}." for formulas, names, why in WHY]
    lines += ["", "Limits of full cells:", "", *[f"- {limit}" for limit in LIMITS]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
