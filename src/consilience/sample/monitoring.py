"""What a run of a model watches: names of its coordinates as a person knows them, and derived quantities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.run import Monitored
from consilience.sample.result_options import ResultOptions

Floats = npt.NDArray[np.float64]


def monitored_of(model: Model, density: ModelDensity, result: ResultOptions) -> Monitored:
    """All coordinates of the free variables; besides them the elements of the deterministics named in `monitor`."""
    names = tuple(coordinate_names(model, density))
    unknown = [
        n for n in result.monitor if n not in model.named_deterministics and n not in {v.name for v in model.free}
    ]
    if unknown:
        raise ModelError(
            f"`monitor` names {unknown}; the free variables, which are always watched, and the deterministics are "
            f"{[v.name for v in model.free] + list(model.named_deterministics)}."
        )
    derived = [n for n in dict.fromkeys(result.monitor) if n in model.named_deterministics]
    whole = np.concatenate([np.full(s.size, not s.variable.continuous) for s in density.layout.stretches])
    if not derived:
        return Monitored(names, discrete=whole, enabled=result.checks)
    one = density.expand(np.zeros((1, density.dimension)))

    def derive(draws: Floats) -> Floats:
        values = density.expand(draws)
        return np.concatenate([np.reshape(values[n], (len(draws), -1)).astype(float) for n in derived], axis=1)

    labels = [label for n in derived for label in element_names(model, n, one[n].shape[1:])]
    return Monitored(names, tuple(labels), derive, whole, enabled=result.checks)


def coordinate_names(model: Model, density: ModelDensity) -> Iterator[str]:
    """A name per coordinate: `theta[A]` where the coordinate stands for one element, else `p_simplex__[0]`."""
    for stretch in density.layout.stretches:
        own = tuple(stretch.variable.node.static_shape)
        whole = len(own) == len(stretch.shape) and all(
            not isinstance(n, int) or n == m for n, m in zip(own, stretch.shape, strict=True)
        )
        yield from element_names(model, stretch.variable.name if whole else stretch.key, stretch.shape)


def element_names(model: Model, name: str, shape: tuple[int, ...]) -> Iterator[str]:
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
