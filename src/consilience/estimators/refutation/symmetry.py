"""Labels that can be exchanged without changing the density: draws of one labelling stand for those of all.

Draws of a model with vectors in; the same with labels exchanged at random wherever the density allows it, out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import ConsilienceError

Floats = npt.NDArray[np.float64]
Values = Mapping[str, npt.NDArray[Any]]
MOST_LABELS: Final = 12
LOOKED_AT: Final = 6  # draws at which a density is compared
EQUAL: Final = 1e-9  # relative


def exchanged(
    values: Values, log_density: Callable[[Values], Floats], seed: int
) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """Draws (chain, draw, ...) with labels exchanged at random, and the names of the variables that have them.

    `log_density`: of values (draw, ...) by name, on the variables' own scales.

    Labels are places along the last axis of all variables of one length together. Two can be exchanged if the density
    of some draws stays the same.
    """
    made, named = dict(values), []
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 23]))
    lengths = {a.shape[-1] for a in values.values() if a.ndim > 2 and 2 <= a.shape[-1] <= MOST_LABELS}
    for length in sorted(lengths):
        names = [name for name, a in values.items() if a.ndim > 2 and a.shape[-1] == length]
        flat = {name: a.reshape(-1, *a.shape[2:]) for name, a in values.items()}
        some = {name: a[:: -(-len(a) // LOOKED_AT)] for name, a in flat.items()}
        before = log_density(some)
        group = np.arange(length)
        for i, j in itertools.combinations(range(length), 2):
            order = np.arange(length)
            order[[i, j]] = j, i
            try:
                after = log_density({**some, **{name: some[name][..., order] for name in names}})
            except ConsilienceError:  # outside of the support, as where values are in order
                continue
            if np.allclose(after, before, rtol=EQUAL, atol=EQUAL):
                group[group == group[j]] = group[i]
        if len(np.unique(group)) == length:
            continue
        orders = np.tile(np.arange(length), (len(next(iter(flat.values()))), 1))
        for label in np.unique(group):
            places = np.flatnonzero(group == label)
            orders[:, places] = generator.permuted(np.tile(places, (len(orders), 1)), axis=1)
        for name in names:
            wide = orders.reshape(len(orders), *(1,) * (flat[name].ndim - 2), length)
            made[name] = np.take_along_axis(flat[name], np.broadcast_to(wide, flat[name].shape), -1).reshape(
                values[name].shape
            )
        named += names
    return made, named
