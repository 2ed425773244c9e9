"""Random models with data in other forms: gaps that are filled with the data themselves, and counts as floats.

Both are laws: the log density without Jacobians is that of the program.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
from consilience.errors import ModelError
from consilience.model.starting_point import starting_position
from tests.random_models.program import Datum, Line, Program

Array = npt.NDArray[Any]
Builder = Callable[[Program, dict[str, Array]], pm.Model]


def filled(program: Program, built: Builder, point: Mapping[str, Array]) -> tuple[str, float] | None:
    """A variable some of whose data are missing, and the log density where the missing values are the data.

    None where no data may lack: they are used elsewhere, too, or their elements are tied to each other, they are
    censored, or they are counts, which a random program sums out.
    """
    real = [
        (line, d) for line, d in _alone(program) if d.container == "array" and d.kind in ("real", "positive", "unit")
    ]
    chosen = [(line, d) for line, d in real if d.axes and program.arrays()[d.name].size]
    if not chosen:
        return None
    generator = program.generator("gaps")
    line, datum = chosen[generator.integers(len(chosen))]
    arrays = program.arrays()
    values = arrays[datum.name]
    mask = generator.random(values.shape) < 0.3
    mask.flat[generator.integers(values.size)] = True
    try:
        model = built(program, {**arrays, datum.name: np.ma.masked_array(values, mask)})
    except ModelError as error:
        if "tied to each other" in str(error):
            return None
        raise
    try:
        density = model.log_density()
    except ModelError as error:
        if "positive probability beside a density" in str(error):
            return None
        raise
    shape = model.eval_rv_shapes()[f"{line.name}_unobserved"]
    given = {**point, f"{line.name}_unobserved": values[mask].reshape(shape)}
    position = starting_position(model, density.layout, density.lengths, given)
    return line.name, float(model.compile_logp(jacobian=False)(density.layout.point(position)))


def as_floats(program: Program, built: Builder, point: Mapping[str, Array]) -> tuple[str, float] | None:
    """A variable whose integers come as floats in `pm.Data`, and the log density; None where there is none."""
    chosen = [(line, d) for line, d in _alone(program) if d.kind in ("count", "bit", "index", "trials")]
    if not chosen:
        return None
    line, datum = chosen[program.generator("floats").integers(len(chosen))]
    floats = dataclasses.replace(datum, dtype="float64", container="data")
    changed = dataclasses.replace(program, data=tuple(floats if d is datum else d for d in program.data))
    model = built(changed, changed.arrays())
    return line.name, float(model.compile_logp(jacobian=False)(point))


def _alone(program: Program) -> list[tuple[Line, Datum]]:
    """Observed variables with the data that they alone use, as they are."""
    texts = [text for line in program.lines for text in line.expressions()]
    words = [word for text in texts for word in re.findall(r"\w+", text)]
    data = {d.name: d for d in program.data if words.count(d.name) == 1}
    return [(line, data[line.observed]) for line in program.lines if line.observed in data]
