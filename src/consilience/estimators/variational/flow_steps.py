"""Steps of a normalising flow: where its draws lie, and the gradient of the bound by its parameters.

The memory of an ascent in; points, log determinants and the gradient in it, out. The code of the flow is in `flow`.
"""

from __future__ import annotations

from consilience.estimators.variational.state import PER_STEP, Ascent
from consilience.native.mathematics import isfinite, nan
from consilience.native.random import random_normals
from consilience.native.typed_python import f64, i64, native


@native
def place_flow(ascent: Ascent) -> f64:
    """Points of opposite pairs of normals; log determinants go to the flow's memory, so that 0 is left."""
    n = ascent.dimension
    flow = ascent.flow
    for k in range(ascent.draws):
        normals = ascent.normals[k * n :]
        if k % 2 == 0:
            random_normals(ascent.key, (ascent.step * PER_STEP + k) * PER_STEP, normals, n)
        else:
            before = ascent.normals[(k - 1) * n :]
            for i in range(n):
                normals[i] = -before[i]
    status = flow.place(flow.inputs, flow.places, flow.workspace, flow.place_constants)
    if status != 0:
        for i in range(ascent.draws * n):
            ascent.points[i] = nan
    return 0.0


@native
def gather_flow(ascent: Ascent, good: i64) -> None:
    """Gradient of the bound by the parameters.

    Where a flow ends with scales and a shift, the slope has mean 0 at the optimum, and its product with the distance
    from the shift mean -1: `pulls` adds up both.
    """
    n = ascent.dimension
    flow = ascent.flow
    share = 1.0 / float(good)
    for k in range(ascent.draws):
        flow.inputs.weights[k] = share if isfinite(ascent.logps[k]) else 0.0
    flow.gather(flow.inputs, flow.slope, flow.workspace, flow.gather_constants)
    if flow.close:
        for i in range(n):
            ascent.pulls[i] += ascent.gradient[flow.scale + n + i]
            ascent.pulls[n + i] += 0.5 * ascent.gradient[flow.scale + i]
