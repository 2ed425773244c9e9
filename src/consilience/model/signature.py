"""What a model is, in one line: equal for equal densities of equal data, in every process.

A density in; digests of its graph, its data and its layout out.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import constant_value, digest
from consilience.model.log_density import ModelDensity
from consilience.model.observation import slot_values


def signature(density: ModelDensity) -> dict[str, str]:
    """Digests by name: `model` of graph and coordinates, one of each data container and of constant observed values."""
    described = hashlib.sha256(digest(density.graph()).encode())
    for stretch in density.layout.stretches:
        described.update(f"{stretch.variable.coordinates} {stretch.shape}\n".encode())
    model = density.model
    _, values, _, _ = slot_values(model)
    found = {f"data `{name}`": _of_array(value) for name, value in zip(model.data, values, strict=True)}
    for variable in model.observed:
        known = constant_value(variable.data)
        if known is not None:
            found[f"observed values of `{variable.name}`"] = _of_array(known)
    return {"model": described.hexdigest()[:32], **found}


def _of_array(values: npt.NDArray[Any]) -> str:
    bits = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return f"{values.dtype} {values.shape} {bits[:16]}"
