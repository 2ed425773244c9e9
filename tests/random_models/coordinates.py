"""Random models in other coordinates: the law that densities differ by the Jacobian.

Whatever the centredness of a variable, and on the maps along which samplers move.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

import consilience as pm
from consilience.backends import contexts, reference
from consilience.distributions.random_variable import distribution_of
from consilience.elimination.addends import total
from consilience.model.log_density import model_density
from consilience.model.reparametrization import LOCATION_SCALE
from consilience.model.terms import terms_of
from consilience.ops.elementwise import apply
from consilience.ops.shape import broadcast_to
from consilience.transforms.gradient import gradient
from tests.random_models.program import Program

Array = npt.NDArray[np.float64]
STEP = 1e-5


def of_samplers(
    model: pm.Model, point: Mapping[str, Array]
) -> tuple[tuple[float, float], tuple[float, Array], tuple[float, Array]] | None:
    """The density that chains climb, at a point of PyMC's coordinates.

    returns   the change of the log density from these coordinates to those of samplers beside the log Jacobian between
              them, from differences; value and gradient by machine code, and by the reference backend. None where the
              coordinates are the same
    """
    if all(v.sampled == v.transform for v in model.free):
        return None
    density = model_density(model)
    layout = density.layout
    moved = [s for s in layout.stretches if s.variable.sampled != s.variable.transform]
    position = layout.position(point)
    value, slope = density(position)
    places = np.concatenate([np.arange(s.start, s.start + s.size) for s in moved])

    def users(at: Array) -> Array:
        values = layout.point(at)
        return np.concatenate([np.ravel(values[s.key]) for s in moved])

    jacobian = np.zeros((len(places), len(places)))  # of no rows, where all that is moved is empty
    for column, step in zip(jacobian.T, STEP * np.eye(layout.dimension)[places], strict=True):
        column[:] = (users(position + step) - users(position - step)) / (2.0 * STEP)
    change = float(value) - float(model.compile_logp()(layout.point(position)))
    terms = terms_of(model)
    logp = total(terms.all)
    given = dict(zip(terms.values, layout.parts(position), strict=True))
    given |= {slot: np.asarray(contexts.DEFAULT.get(slot)) for slot in model.data_slots()}
    with np.errstate(all="ignore"):
        known, *slopes = reference.evaluate([logp, *gradient(logp, terms.values)], given)
    beside = float(known), np.concatenate([np.ravel(s) for s in slopes])
    return (change, float(np.linalg.slogdet(jacobian)[1])), (float(value), np.asarray(slope)), beside


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
