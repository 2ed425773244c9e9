"""Random models in other coordinates: the law that densities differ by the Jacobian, whatever the centredness."""

from __future__ import annotations

import numpy as np

import consilience as pm
from consilience.distributions.random_variable import distribution_of
from consilience.model.reparametrization import LOCATION_SCALE
from consilience.ops.elementwise import apply
from consilience.ops.shape import broadcast_to
from tests.random_models.program import Program


def difference(program: Program, model: pm.Model) -> tuple[str, float, float] | None:
    """A variable centred in part at random: its name, the change of the log density, and the log Jacobian.

    None where the model has no variable of a location and a scale on the whole line.
    """
    families = {title for title, (location, _) in LOCATION_SCALE.items() if location is not None}
    found = [v for v in model.free if v.inside and distribution_of(v.node).title in families]
    if not found:
        return None
    generator = program.generator("coordinates")
    variable = found[generator.integers(len(found))]
    name = variable.name
    shape = model.eval_rv_shapes()[name]
    degree = generator.choice([0.0, 0.3, 1.0]) if generator.random() < 0.3 else generator.random(shape)
    other = pm.noncenter(model, {name: degree})
    point = {key: generator.normal(0.0, 0.5, np.shape(v)) for key, v in other.initial_point().items()}
    density = other.log_density()
    value = density.expand(density.layout.position(point)[None])[name][0]
    same = {key: v for key, v in point.items() if key != f"{name}_raw"} | {name: value}
    bound = distribution_of(variable.node)
    scale = bound.by_name()[LOCATION_SCALE[bound.title][1]]
    (log_scale,) = model.replace_rvs_by_values([apply("log", broadcast_to(scale, variable.node.static_shape))])
    known = model.compile_fn(log_scale)(same)
    change = float(other.compile_logp()(point)) - float(model.compile_logp()(same))
    return name, change, float(np.sum((1.0 - degree) * known))
