"""Steps of a normalising flow: where its draws lie, and the gradient of the bound by its parameters.

The memory of an ascent in; points, log determinants and the gradient in it, out. The code of the flow is in `flow`.
"""

from __future__ import annotations

from consilience.estimators.variational.state import HALF_LOG_TURN, Ascent, Stein, add_squares, draw_normals
from consilience.native.mathematics import isfinite, log, nan
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record


@record
class FlowInputs:
    """Tables of pointers that the code of a flow reads.

    `parameters`: f64[count]. `normals`: f64[draws, dimension]. `slopes`: of the log density at the points, f64[draws,
    dimension]. `weights`: f64[draws].
    """

    parameters: Array[f64]
    normals: Array[f64]
    slopes: Array[f64]
    weights: Array[f64]


@record
class FlowPlaces:
    """What placing draws writes: points f64[draws, dimension] and log determinants f64[draws]."""

    points: Array[f64]
    logdets: Array[f64]


@record
class FlowGradient:
    """What gathering a gradient writes, f64[count]."""

    gradient: Array[f64]


@record
class FlowCode:
    """Machine code of a flow with its memory: the record of the family.

    `scale`: where the parameters of its last layer of scales begin, or -1. `close`: whether its last layers are scales
    and then a shift.
    """

    stein: Stein
    place: FunctionPointer[[FlowInputs, FlowPlaces, Array[f64], i64], i64]
    gather: FunctionPointer[[FlowInputs, FlowGradient, Array[f64], i64], i64]
    place_constants: i64
    gather_constants: i64
    workspace: Array[f64]
    inputs: FlowInputs
    places: FlowPlaces
    slope: FlowGradient
    scale: i64
    close: boolean


@native
def place_flow(ascent: Ascent, flow: FlowCode) -> f64:
    """Points of opposite pairs of normals; log determinants go to the flow's memory."""
    n = ascent.dimension
    for k in range(ascent.draws):
        draw_normals(ascent, k)
    status = flow.place(flow.inputs, flow.places, flow.workspace, flow.place_constants)
    if status != 0:
        for i in range(ascent.draws * n):
            ascent.points[i] = nan
    return float(n) * HALF_LOG_TURN


@native
def flow_entropy(ascent: Ascent, flow: FlowCode, k: i64, total: f64) -> f64:
    """See `AscentFamily`: of the normals, and what the layers make of it."""
    return add_squares(ascent, k, total + flow.places.logdets[k])


@native
def gather_flow(ascent: Ascent, flow: FlowCode, good: i64) -> None:
    """Gradient of the bound by the parameters.

    Where a flow ends with scales and a shift, the slope has mean 0 at the optimum, and its product with the distance
    from the shift mean -1: `pulls` adds up both.
    """
    n = ascent.dimension
    share = 1.0 / float(good)
    for k in range(ascent.draws):
        flow.inputs.weights[k] = share if isfinite(ascent.logps[k]) else 0.0
    flow.gather(flow.inputs, flow.slope, flow.workspace, flow.gather_constants)
    if flow.close:
        for i in range(n):
            ascent.tally.pulls[i] += ascent.gradient[flow.scale + n + i]
            ascent.tally.pulls[n + i] += 0.5 * ascent.gradient[flow.scale + i]


@native
def step_flow(ascent: Ascent, flow: FlowCode) -> None:
    """There is no natural one."""


@native
def narrow_flow(ascent: Ascent, flow: FlowCode) -> None:
    """By the last layer of scales, if there is one."""
    if flow.scale >= 0:
        for i in range(ascent.dimension):
            ascent.parameters[flow.scale + i] += log(0.5)


FUNCTIONS = (place_flow, flow_entropy, gather_flow, step_flow, narrow_flow)
