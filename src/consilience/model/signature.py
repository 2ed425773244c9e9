"""What a model is, in one line: equal for equal densities of equal data, in every process.

A density in; digests of its graph, its data and its layout out.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.ir import constant_value, digest
from consilience.ir.side_tables import name_of
from consilience.model.log_density import ModelDensity
from consilience.model.observation import slot_values

PART: Final = 1 << 22
"""Bytes of data that are copied at a time."""


def signature(density: ModelDensity) -> dict[str, str]:
    """Digests by name: `model` of graph and coordinates; one of each data container, shared variable and constant."""
    model, elsewhere = density.model, density.rows_elsewhere()
    slots, values, _, _ = slot_values(model)
    names = {slot: f"data `{name}`" for name, slot in model.data.items()}
    found = dict(elsewhere)
    for number, (slot, value) in enumerate(zip(slots, values, strict=True)):
        own = f"shared variable `{name}`" if (name := name_of(slot)) else f"shared variable {number}"
        if (key := names.get(slot, own)) not in elsewhere:
            found[key if key not in found else f"{key} ({number})"] = _of_array(value)
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
