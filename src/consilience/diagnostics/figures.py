"""R-hat and effective sizes of many parameters: arrays (chain, draw, ...) enter, figures leave.

Many numbers are left to the machine code of the convergence watch, which gives what NumPy gives several times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size, split_rhat
from consilience.diagnostics.measurement import Measure, in_blocks, measure
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.watch import Figures, Watch

MANY = 1 << 20
"""Draws of all parameters from which on machine code pays, even if it has to be compiled first."""

MEASURES: dict[str, Measure] = {
    "rhat": split_rhat.of_sample,
    "ess_bulk": effective_sample_size.bulk_of_sample,
    "ess_tail": effective_sample_size.tail_of_sample,
}


def figures(variables: Sequence[npt.NDArray[np.generic]], many: int = MANY) -> Figures:
    """R-hat and both effective sizes of all elements of several arrays, in C order, one variable after the other.

    many    how many draws are left to machine code; the figures do not depend on it but for their last bits

    Raises ShapeError and TypeError as `measure`.
    """
    if sum(variable.size for variable in variables) >= many:
        return Figures(**in_blocks(variables, _watched))
    return Figures(**measure(variables, MEASURES))


def _watched(draws: FloatArray) -> dict[str, FloatArray]:
    parameters, chains, _ = draws.shape
    watch = Watch(chains, parameters)
    watch.extend(np.moveaxis(draws, 0, 2))
    found = watch.measure()
    return {name: getattr(found, name) for name in MEASURES}
