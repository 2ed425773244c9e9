"""Data beyond a support: refused with the variable's name, or of density 0, whatever stands for the ends.

In: a program. Out: nothing, or what went wrong. One element of the data of one likelihood is moved out of its support.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
from consilience.errors import SupportError
from tests.random_models.densities import FAMILIES
from tests.random_models.program import Datum, Line, Program

Array = npt.NDArray[Any]
BEYOND = {"positive": -0.5, "unit": 1.5, "count": -1, "bit": 100}  # by the kind of the data
BOUNDED = ("Uniform", "TruncatedNormal", "Triangular", "Truncated", "Censored")  # of those whose data are real numbers
FAR = 1e4


def found(program: Program, built: Callable[[Program, dict[str, Array]], pm.Model], point: Mapping[str, Array]) -> str:
    """What is wrong with the density of data out of the support; empty if nothing is, or there are no such data."""
    chosen = _candidates(program)
    generator = program.generator("beyond")
    if not chosen:
        return ""
    line, datum, value = chosen[generator.integers(len(chosen))]
    arrays = program.arrays()
    place = generator.integers(arrays[datum.name].size)
    moved = arrays[datum.name].copy()
    moved.flat[place] = value
    try:
        logp = float(built(program, {**arrays, datum.name: moved}).compile_logp()(point))
    except SupportError as error:
        return "" if f"`{line.name}`" in str(error) else f"`{line.name}` is not named: {error}"
    return "" if logp == -np.inf else f"`{line.name}` with element {place} of `{datum.name}` {value}: {logp!r}"


def _candidates(program: Program) -> list[tuple[Line, Datum, float]]:
    """Likelihoods with data of their own that can leave the support."""
    data = {d.name: d for d in program.data}
    words = [w for line in program.lines for text in line.expressions() for w in re.findall(r"\w+", text)]
    result = []
    for line in program.lines:
        datum = data.get(line.observed)
        if datum is None or words.count(datum.name) > 1 or 0 in program.shape(datum.axes):
            continue
        if line.family not in FAMILIES or FAMILIES[line.family].support == "mixed":
            continue
        value = FAR if line.family in BOUNDED else BEYOND.get(datum.kind)
        unsigned = datum.dtype in ("bool", "uint8", "uint16")
        if value is None or (unsigned and (value < 0 or datum.dtype == "bool")) or not _ends(line):
            continue
        result.append((line, datum, float(value)))
    return result


def _ends(line: Line) -> bool:
    """Whether the family has an end on that side."""
    return line.family in BOUNDED or FAMILIES[line.family].support != "real"
