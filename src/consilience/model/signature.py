"""What a model is, in one line: equal for equal densities of equal data, in every process.

A density in; digests of its graph, its data and its layout out.
"""

from __future__ import annotations

import hashlib

import numpy as np

from consilience.ir import digest
from consilience.model.log_density import ModelDensity, slot_values


def signature(density: ModelDensity) -> dict[str, str]:
    """Digests by name: `model` of graph and coordinates, `data` of the values the density reads."""
    described = hashlib.sha256(digest(density.graph()).encode())
    for stretch in density.layout.stretches:
        described.update(f"{stretch.key} {stretch.shape}\n".encode())
    data = hashlib.sha256()
    _, values, _, _ = slot_values(density.model)
    for value in values:
        data.update(f"{value.dtype} {value.shape}\n".encode())
        data.update(np.ascontiguousarray(value).tobytes())
    return {"model": described.hexdigest()[:32], "data": data.hexdigest()[:32]}
