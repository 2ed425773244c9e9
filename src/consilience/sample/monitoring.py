"""What a run of a model watches: names of its coordinates as a person knows them, and derived quantities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.transforms import Circular, Log
from consilience.errors import ModelError
from consilience.inference.integrability import endless_direction
from consilience.model.log_density import ModelDensity
from consilience.model.variables import ModelVariables
from consilience.run import Monitored
from consilience.sample.plan import ModelPlan

Floats = npt.NDArray[np.float64]


MOST_ELEMENTS: Final = 32  # of simplexes and the like: each takes 50 us in a check
MOST_NAMED: Final = 3  # coordinates
LARGEST_LOGARITHM: Final = 700.0  # of a float64
SMALL_PART: Final = 0.1  # of the largest one in a direction


def monitored_of(density: ModelDensity, plan: ModelPlan) -> Monitored:
    """All coordinates of the free variables, elements of some, and elements of the deterministics named in `monitor`.

    Variables that are written by others are monitored as if they were named. Draws of those that are summed out are
    monitored as elements are, and may stay as they are.
    Elements of a variable are monitored besides its coordinates where each depends on several of these (a simplex), up
    to 32 in all; others, unless they are named, cannot be told from their coordinates, or cost more than they tell.
    """
    model = density.model
    written = tuple(plan.coordinates.all_centredness)
    shown = {f"{name}_raw": f"standardized {name}" for name in written}
    shown |= {f"{name}_init_raw": f"standardized start of {name}" for name in written}
    names = tuple(coordinate_names(density, shown))
    derived = density.derived
    unknown = [n for n in plan.monitor if n not in derived and n not in {v.name for v in model.free}]
    if unknown:
        raise ModelError(
            f"`monitor` names {unknown}; the free variables, which are always watched, and the deterministics are "
            f"{[v.name for v in model.free] + list(derived)}."
        )
    left = MOST_ELEMENTS
    again = {*(v.name for v in model.marginalized), *plan.coordinates.marginalized}
    drawn_again = [name for name in derived if name in again]
    named = dict.fromkeys((*plan.monitor, *written))
    for name in drawn_again:
        size = math.prod(density.shape_of(name)[0])
        if name not in named and 0 < size <= left:
            named[name] = None
            left -= size
    deterministic = tuple(n for n in named if n in derived)
    whole = np.concatenate([np.full(s.size, not s.variable.continuous) for s in density.layout.stretches])
    angles = angular_coordinates(density)
    joint = {v.name for v in model.free if v.sampled is not None and v.sampled.rank() > 0}
    if not joint and not deterministic:
        return Monitored(names, discrete=whole, angles=angles, enabled=plan.checks)

    def expand(draws: Floats) -> dict[str, Floats]:
        values = density.expand(draws, False) if joint else {}
        return values | (density.expand(draws, deterministic) if deterministic else {})

    # Two points show which elements are constant whatever the point, as the diagonal of a correlation matrix.
    two = expand(np.random.default_rng(0).standard_normal((2, density.dimension)))
    places = {}
    for name in [v.name for v in model.free if v.name in joint]:
        moving = np.flatnonzero(np.reshape(two[name][0] != two[name][1], -1))
        if name in plan.monitor or len(moving) <= left:
            places[name] = moving
            left -= len(moving)
    places |= {name: np.arange(two[name][0].size) for name in deterministic}
    labels, steady = [], set[str]()
    for name, some in places.items():
        own = list(element_names(model, name, two[name].shape[1:]))
        labels += [own[place] for place in some]
        steady.update(own if name in drawn_again else ())

    def derive(draws: Floats) -> Floats:
        values = expand(draws)
        columns = [np.reshape(values[n], (len(draws), -1))[:, some].astype(float) for n, some in places.items()]
        return np.concatenate(columns, axis=1)

    if not labels:
        return Monitored(names, discrete=whole, angles=angles, enabled=plan.checks)
    return Monitored(names, tuple(labels), derive, whole, angles, frozenset(steady), enabled=plan.checks)


def angular_coordinates(density: ModelDensity) -> npt.NDArray[np.bool_] | None:
    """Which coordinates are angles, along which the density repeats; None where there are none."""
    angles = np.concatenate(
        [np.full(s.size, isinstance(s.variable.sampled, Circular)) for s in density.layout.stretches]
    )
    return angles if angles.any() else None


def properness(density: ModelDensity, names: tuple[str, ...], threads: int) -> Callable[[Floats], str]:
    """What tells of draws (chain, draw, coordinate) in words how the posterior is improper; nothing where it is not.

    Angles, whose densities repeat for ever on the unconstrained line, are left out.
    """
    angles = angular_coordinates(density)
    lines = np.ones(density.dimension)
    limits = np.concatenate(
        [
            np.full(s.size, LARGEST_LOGARITHM if isinstance(s.variable.sampled, Log) else np.inf)
            for s in density.layout.stretches
        ]
    )
    if angles is not None:
        lines[angles] = 0.0

    def improper(draws: Floats) -> str:
        direction = endless_direction(density, draws, lines, threads, limits)
        parts = np.flatnonzero(np.abs(direction) > SMALL_PART)
        if not len(parts):
            return ""
        named = ", ".join(f"`{names[i]}`" for i in parts[:MOST_NAMED])
        more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
        where = f"`{names[parts[0]]}` alone" if len(parts) == 1 else f"{named}{more} together"
        return (
            f"the posterior seems to be improper: moving {where}, its density does not fall off however far one goes; "
            "give a proper prior to what the data leave open"
        )

    return improper


def coordinate_names(density: ModelDensity, shown: Mapping[str, str]) -> Iterator[str]:
    """A name per coordinate: `theta[A]` where the coordinate stands for one element, else `p_simplex__[0]`.

    `shown`: names by which variables are shown in place of their own.
    """
    for stretch in density.layout.stretches:
        own = tuple(stretch.variable.node.static_shape)
        whole = len(own) == len(stretch.shape) and all(
            not isinstance(n, int) or n == m for n, m in zip(own, stretch.shape, strict=True)
        )
        own_name = stretch.variable.name
        for name in element_names(density.model, own_name if whole else stretch.variable.coordinates, stretch.shape):
            yield shown.get(own_name, own_name) + name.removeprefix(own_name)


def element_names(model: ModelVariables, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """A name per element in row-major order, with labels where the model has them."""
    if not shape:
        yield name
        return
    dims = model.named_vars_to_dims.get(name, ())
    labels = []
    for axis, length in enumerate(shape):
        dim = dims[axis] if axis < len(dims) else None
        known = model.coords.get(dim) if dim is not None else None
        labels.append(list(known) if known is not None and len(known) == length else list(range(length)))
    for place in np.ndindex(*shape):
        yield f"{name}[{', '.join(str(labels[axis][i]) for axis, i in enumerate(place))}]"
