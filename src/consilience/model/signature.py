"""What a model is, in one line: equal for equal densities of equal data, in every process.

A density in; digests of its graph, its data and its layout out.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.ir import constant_value, digest
from consilience.model.log_density import ModelDensity
from consilience.model.observation import slot_values

PART: Final = 1 << 22
"""Bytes of data that are copied at a time."""


def signature(density: ModelDensity) -> dict[str, str]:
    """Digests by name: `model` of graph and coordinates, one of each data container and of constant observed values."""
    model, elsewhere = density.model, density.rows_elsewhere()
    _, values, _, _ = slot_values(model)
    found = dict(elsewhere)
    for name, value in zip(model.data, values, strict=True):
        if (key := f"data `{name}`") not in elsewhere:
            found[key] = _of_array(value)
    for variable in model.observed:
        known = constant_value(variable.data)
        if known is not None:
            found[f"observed values of `{variable.name}`"] = _of_array(known)
    return {"model": digest_of_model(density), **found}


def digest_of_model(density: ModelDensity) -> str:
    """Of graph and coordinates alone, whatever the data."""
    described = hashlib.sha256(digest(density.graph()).encode())
    for stretch in density.layout.stretches:
        described.update(f"{stretch.variable.coordinates} {stretch.shape}\n".encode())
    return described.hexdigest()[:32]


def _of_array(values: npt.NDArray[Any]) -> str:
    bits = hashlib.sha256()
    rows = values if values.ndim else values[None]
    step = max(1, PART // max(1, rows[:1].nbytes))
    for i in range(0, len(rows), step):  # data may be as large as the memory, and lie column by column
        bits.update(np.ascontiguousarray(rows[i : i + step]).tobytes())
    return f"{values.dtype} {values.shape} {bits.hexdigest()[:16]}"
