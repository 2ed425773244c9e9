"""A mode by names: where a search ended enters, a mapping or a labelled tree leaves.

How modes are sought stays outside.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.errors import warn
from consilience.estimators.approximations.target import Floats, TargetDensity
from consilience.record import Record
from consilience.sample.inference_data import to_inference_data

if TYPE_CHECKING:
    import xarray


class Optimum(Record, eq=False):
    """Where the search for a mode ended.

    `x`: position on the unconstrained scale, float64[dimension].
    `logp`: log density there.
    `converged`: whether the gradient vanishes there.
    `evaluations`: of the log density and its gradient, from all starting points.
    `ends`: log densities where the ascents from all starting points ended, highest first.
    `message`: in words.
    """

    x: Floats
    logp: float
    converged: bool
    evaluations: int
    ends: Floats
    message: str


def named_values(target: TargetDensity, x: Floats, transformed: bool) -> dict[str, Any]:
    """Values by name at a point of the chosen coordinates."""
    position = target.whole(x[None])
    values = {n: v[0] for n, v in target.density.expand(position).items()}
    return {**target.density.layout.point(position[0]), **values} if transformed else values


def mode_tree(
    target: TargetDensity,
    point: Mapping[str, Any],
    found: Optimum,
    method: str,
    hessian: bool,
    of_the_tree: Mapping[str, Any],
) -> xarray.DataTree:
    """The values as one draw of the group `posterior`, beside `fit`: the mode's vector and, if asked, covariance."""
    import xarray

    tree = to_inference_data(
        {n: np.asarray(v)[None, None] for n, v in point.items()}, model=target.model, **of_the_tree
    )
    tree["posterior"].attrs.update({"inference_library": "consilience", "method": "MAP", "message": found.message})
    values = target.density.layout.point(target.whole(found.x[None])[0])
    keys = {s.key: s.variable.name for s in target.density.layout.stretches if s.variable.name in target.names}
    labels = [label for key, name in keys.items() for label in _labels(target, key, name, values[key].shape)]
    fit: dict[str, Any] = {"mean_vector": ("rows", np.concatenate([values[key].ravel() for key in keys]))}
    if hessian:
        fit["covariance_matrix"] = (("rows", "columns"), _covariance(target, values, list(keys.values())))
    places = {"rows": labels, "columns": labels} if hessian else {"rows": labels}
    tree["fit"] = xarray.DataTree(xarray.Dataset(fit, places, {"method": method, "evaluations": found.evaluations}))
    return tree


def _labels(target: TargetDensity, key: str, name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of a variable's elements, by labels where the model has as many."""
    if not shape:
        return [key]
    dims = target.model.dims_of.get(name) or ()
    own = [target.model.coords.get(d) if d else None for d in dims] if len(dims) == len(shape) else [None] * len(shape)
    axes = [range(n) if c is None or len(c) != n else c for c, n in zip(own, shape, strict=True)]
    return [f"{key}[{','.join(map(str, place))}]" for place in itertools.product(*axes)]


def _covariance(target: TargetDensity, values: Mapping[str, Floats], names: list[str]) -> Floats:
    """Inverse of the negative second derivatives of the density that was climbed; NaN where it has no peak there."""
    curvature = np.asarray(target.model.compile_d2logp(names, jacobian=False)(values), float)
    try:
        factor = np.linalg.inv(np.linalg.cholesky(curvature))
    except np.linalg.LinAlgError:
        warn(
            "the second derivatives at the mode are not those of a peak, so there is no covariance (NaN): it is flat "
            "there, or at a bound of the support. `pm.sample` tells how far the posterior reaches."
        )
        return np.full(curvature.shape, np.nan)
    return np.asarray(factor.T @ factor)
