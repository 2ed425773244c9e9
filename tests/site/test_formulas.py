"""What a page of the reference shows as a formula is what the library computes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from building import formulas, mathml, pictures  # noqa: E402

NOTATION: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": abs, "pi": np.pi, "cos": np.cos, "sign": np.sign,
    "Gamma": special.gamma, "B": special.beta, "binom": special.binom, "factorial": special.factorial,
    "Phi": stats.norm.cdf, "phi": stats.norm.pdf, "I": special.iv, "logit": special.logit, "oo": 60, "k": None,
    "Cases": lambda *rows: next(value for value, holds in rows if holds),
}  # fmt: skip
POINTS = {"Categorical": [0, 2], "VonMises": [-1.0, 2.5], "Pareto": [1.5, 4.0], "Levy": [0.3, 2.0]}


def computed(name: str, row: dict[str, Any], x: float) -> float:
    """The formula at a point, in Python's arithmetic."""
    text = formulas.DENSITIES[name]
    if "Sum(" in text:
        terms = sum(row["lam"] ** k / special.factorial(k) ** row["nu"] for k in range(60))
        text = text[: text.index("Sum(")] + repr(float(terms))
    with np.errstate(all="ignore"):
        return float(eval(text, {**NOTATION, **row, "x": x}))


@pytest.mark.parametrize("name", sorted(formulas.DENSITIES))
def test_a_formula_is_the_density_of_the_library(name: str) -> None:
    """At points of the support, for the parameters of the picture."""
    declared = getattr(pm, name)
    compared = 0
    counts = name.startswith(("Hurdle", "ZeroInflated")) and name not in ("HurdleGamma", "HurdleLogNormal")
    points = POINTS.get(name, [0.0, 1.0, 3.0] if counts else [0.0, 1.0, 3.0, 0.25, 0.8])
    for row in pictures.ROWS[name]:
        if row.get("xi") == 0:  # where the formula is a limit
            row = row | {"xi": 0.2}
        row = {k: np.asarray(v, float) if isinstance(v, list) else float(v) for k, v in row.items()}
        logps = pm.logp(declared.dist(**row), np.asarray(points)).eval()
        for x, logp in zip(points, logps, strict=True):
            if not np.isfinite(logp):
                continue
            try:
                value = computed(name, row, int(x) if name == "Categorical" else x)
            except ZeroDivisionError:  # at the end of a support
                continue
            if np.isfinite(value):
                assert value == pytest.approx(np.exp(logp), rel=1e-8), (row, x)
                compared += 1
    assert compared >= len(pictures.ROWS[name])


@pytest.mark.parametrize("name", sorted({*formulas.DENSITIES, *formulas.OTHERS}))
def test_a_formula_is_of_a_public_name_and_can_be_drawn(name: str) -> None:
    thing: Any = pm
    for part in name.split("."):
        thing = getattr(thing, part)
    made = mathml.mathml(formulas.of(name) or "")
    assert made.count("<mrow>") == made.count("</mrow>") > 0


def test_parts_are_in_parentheses_where_they_bind_less() -> None:
    assert "<mo stretchy" in mathml.mathml("(a + b) ** 2")
    assert "<mo stretchy" not in mathml.mathml("a + b ** 2 / c")
    assert "<mo stretchy" in mathml.mathml("a * (b - c)")
    assert "<mo stretchy" not in mathml.mathml("-a * b @ c / d + e")
    assert "<mo stretchy" in mathml.mathml("(-a) ** b")
    assert "&lt;" in mathml.mathml("a < b")
    assert "<b>" not in mathml.mathml("a < b")
    with pytest.raises(ValueError, match="no a if b else c"):
        mathml.mathml("a if b else c")
