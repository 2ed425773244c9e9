"""Results as starting values: some of their draws, each as a point by name.

A tree with the group `posterior`, or such a group, in; mappings of names to values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.errors import ModelError
from consilience.model.data import in_order_of
from consilience.model.variables import ModelVariables


def is_result(value: Any) -> bool:
    """Whether a value holds draws: of `pm.sample`, `pm.sample_smc`, `pm.fit_pathfinder`, `approx.sample()` …"""
    return hasattr(value, "posterior") or {"chain", "draw"} <= set(getattr(value, "sizes", ()))


def drawn_points(result: Any, model: ModelVariables, count: int, seed: int) -> list[Mapping[str, Any]]:
    """`count` of its draws at random, all of them different where there are as many.

    Raises ModelError where no free variable of the model has draws in it.
    """
    posterior = getattr(result, "posterior", result)
    names = [v.name for v in model.free if v.name in posterior.data_vars]
    if not names:
        raise ModelError(
            f"the result that chains are to begin with has draws of {list(posterior.data_vars)}, and of none of the "
            f"free variables {[v.name for v in model.free]}."
        )
    draws = {name: values for name, values in stacked(posterior, model).items() if name in names}
    size = len(draws[names[0]])
    if not size:
        raise ModelError("the result that chains are to begin with has no draws; a longer run may have some.")
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 11]))
    chosen = generator.permutation(size)[:count] if size >= count else generator.integers(size, size=count)
    return [{name: values[place] for name, values in draws.items()} for place in chosen]


def stacked(posterior: Any, model: ModelVariables) -> dict[str, Any]:
    """Arrays (chains x draws, ...) by name, by the labels of a model."""
    axes = ("chain", "draw")
    found = {}
    for name in map(str, posterior.data_vars):
        draws = posterior[name].transpose(*axes, ...)
        draws = np.asarray(in_order_of((*axes, *model.dims_of.get(name, ())), draws, model.coords))
        found[name] = draws.reshape(-1, *draws.shape[2:])
    return found
