"""Writes docs/reference/tables.md: what each layer knows of each scalar function and each op. `python tools/tables.py`

In: the table of scalar functions and its columns, the ops and the modules that name them. Out: one row each, and why
cells are empty.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Final

from consilience import ops
from consilience.ir import Op
from consilience.ops.scalar import COLUMNS, TABLE
from consilience.tensor.elementwise import ROWS as PUBLIC
from consilience.transforms.gradient import NO_DERIVATIVE, PULLBACKS
from consilience.transforms.vectorize.table import NO_BATCHED

PULLBACKS.read()  # derivatives of scalar functions among them
LISTING = Path(__file__).resolve().parent.parent / "docs" / "reference" / "tables.md"

# Where each column is filled, and what holds for a function that is not in it.
PLACES: Final = {
    "formula": ("ops.formulas", "has machine code"),
    "machine code": ("lower.scalar_code", "has a formula, or one for the parts of complex numbers"),
    "unsigned": ("lower.scalar_code", "is the same for integers with and without sign, or not of integers"),
    "of complex numbers": ("transforms.complex_pairs", "is not of complex numbers"),
    "real, of complex numbers": ("transforms.complex_pairs", "is not of complex numbers, or complex itself"),
    "derivative": ("transforms.gradient", "has that of its formula, or none, for a reason given there"),
    "bounds": ("rewrite.bounds", "is any number of its dtype to rules of rewriting"),
    "inverse": ("logprob.bijections", "is inverted numerically where intervals prove it monotone, else refused"),
    "interval": ("logprob.intervals", "is taken at the ends of an interval if it is monotone or even, else refused"),
    "formula for engines": ("engines.emitter.formulas", "is the engine's own, or by the other formula, or NumPy's"),
    "cost": ("analysis.operations", "counts as 20 additions"),
}
for _module, _ in PLACES.values():
    import_module(f"consilience.{_module}")

_SLOPES = " ".join(name for name in TABLE if "_slope" in name)
_BESSEL = "i0 i1 i1e j0 j1 k0 k0e k1 k1e y0 y1"
_BESSEL_OF_ORDER = "iv ive jv kv kve yv"
# Empty cells of the columns that a new function has to be thought of in. One by formula may stay out of them.
WHY: Final = (
    ("bounds", "mod fmod floor_div copysign tan erfinv ndtri gammaln digamma betaln expi dawsn spence", "any number"),
    ("bounds", "complex modulus real imag angle conj fold_in random_normal", "any number, or no real one"),
    ("bounds", "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift", "no rule asks for bits"),
    ("bounds", _SLOPES, "slopes come after the rules that ask"),
    ("bounds", f"{_BESSEL} {_BESSEL_OF_ORDER} arcsin arccos arctan2 arccosh arctanh owens_t", "no rule asks"),
    ("bounds", "gamma trigamma zeta exp1 expn ellipk ellipe ndtri_exp hyp1f1 hyp2f1", "no rule asks"),
    ("bounds", "sine_integral cosine_integral", "no rule asks"),
    ("inverse", "floor ceil trunc round", "steps: probabilities are differences (`logprob/rounding.py`)"),
    (
        "inverse",
        "sin cos tan gamma gammaln cosine_integral dawsn expi j0 j1 y0 y1 i0 i0e i0e_slope i1e",
        "not one to one",
    ),
    ("inverse", "erfcx digamma trigamma", "none in these functions: found numerically"),
    (
        "inverse",
        "i1 k0 k0e k1 k1e sine_integral exp1 spence ellipk ellipe",
        "none in these functions, and not asked for",
    ),
)

# Functions of which a column may ask.
_ASKED: Final = {
    "bounds": set(TABLE),
    "inverse": {
        n for n, row in TABLE.items() if row.arity == 1 and row.result == "float" and row.accepts[0] == "float"
    },
}


for _found in walk_packages(ops.__path__, "consilience.ops."):
    import_module(_found.name)
OPS: Final = {
    name: op
    for name, op in sorted(Op.classes.items())
    if op.__module__.startswith("consilience.ops.") and not name.startswith("_")
}

# What ops say of themselves, where they are defined (`ir/op.py`), and what holds for one that does not.
SAID: Final = {
    "axes kept apart": "mixes all axes",
    "linear": "is linear in no operand",
    "picks": "computes its elements, so that their bounds are not known",
    "zeros": "makes nothing of zeros but what is linear or picked",
    "monotone": "may rise or fall",
    "triangle": "reads whole matrices",
    "operations": "moves numbers, or is not counted",
}


def says(op: type[Op]) -> list[bool]:
    """Whether an op declares each of `SAID`."""
    own = {name: getattr(op, name) is not getattr(Op, name) for name in vars(Op) if not name.startswith("__")}
    groups = (
        ("core", "kept_axes"), ("linear", "linear_in"), ("picks", "picks_of"), ("zero_in",),
        ("monotone_in", "picks", "picks_of"), ("triangle", "triangle_read"),
    )  # fmt: skip
    return [*(any(own[name] for name in group) for group in groups), bool(op.flops) or op is ops.Elementwise]


def unexplained() -> set[tuple[str, str]]:
    """Empty cells without a reason, and reasons without an empty cell."""
    empty = {(c, n) for c, asked in _ASKED.items() for n in asked - COLUMNS[c].keys() - COLUMNS["formula"].keys()}
    return empty ^ {(column, name) for column, names, _ in WHY for name in names.split()}


def listing() -> str:
    """The text."""
    lines = [
        "# Scalar functions and ops, and what is known of them",
        "",
        "Written by `python tools/tables.py`; not to be edited. A column is a table under the names of the",
        "rows in `ops/scalar.py` and `ops/formulas.py`; a name without a row is an error where it is entered.",
        "",
        "| column | filled in `consilience.` | a function that is not in it |",
        "|---|---|---|",
        *(f"| {column} | `{module}` | {meanwhile} |" for column, (module, meanwhile) in PLACES.items()),
        "",
        "| function | arguments | public names | " + " | ".join(PLACES) + " |",
        "|---" * (len(PLACES) + 3) + "|",
    ]
    for name, row in TABLE.items():
        public = " ".join(f"`{own}`" for own, of in PUBLIC.items() if of == name)
        cells = ["x" if name in COLUMNS[column] else "" for column in PLACES]
        lines.append(f"| `{name}` | {row.arity or '2 or more'} | {public} | {' | '.join(cells)} |")
    lines += ["", f"{len(TABLE)} functions. Why cells are empty:", ""]
    lines += [f"- {column} of {', '.join(f'`{n}`' for n in names.split())}: {why}." for column, names, why in WHY]
    reasons: dict[str, list[str]] = {}
    for name in filter(NO_DERIVATIVE.__contains__, TABLE):
        reasons.setdefault(NO_DERIVATIVE[name], []).append(f"`{name}`")
    lines += [f"- derivative of {', '.join(names)}: {why}." for why, names in reasons.items()]
    lines += [
        "",
        "## Ops",
        "",
        "Each has its meaning in `backends.reference`, a derivative and a batched form, or a reason for having none.",
        "What it says of itself stands in its class (`ir/op.py`); to say nothing is safe, and costs speed alone.",
        "",
        "| what an op says | one that does not |",
        "|---|---|",
        *(f"| {said} | {meanwhile} |" for said, meanwhile in SAID.items()),
        "",
        "| op | family | derivative | batched form | " + " | ".join(SAID) + " |",
        "|---" * (len(SAID) + 4) + "|",
    ]
    tables = [
        OPS.keys() - {op.__name__ for op in none if not isinstance(op, str)} for none in (NO_DERIVATIVE, NO_BATCHED)
    ]
    for name, op in OPS.items():
        cells = ["x" if there else "" for there in (*(name in table for table in tables), *says(op))]
        lines.append(f"| `{name}` | {op.__module__.removeprefix('consilience.ops.')} | {' | '.join(cells)} |")
    lines += ["", f"{len(OPS)} ops. Why cells are empty:", ""]
    for what, none in (("derivative", NO_DERIVATIVE), ("batched form", NO_BATCHED)):
        reasons = sorted((op.__name__, why) for op, why in none.items() if not isinstance(op, str))
        lines += [f"- {what} of `{name}`: {why}." for name, why in reasons]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
