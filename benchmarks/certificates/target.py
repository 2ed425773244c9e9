"""A posterior that is known: a model, independent draws of its posterior, and what is measured of draws.

Draws are arrays by name, their leading axes those of the draws: (draw, ...) for a truth, (chain, draw, ...) for a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
from consilience.errors import ConsilienceWarning

Array = npt.NDArray[Any]
Draws = Mapping[str, Array]
Draw = Callable[[np.random.Generator, int], Draws]
ELEMENTS = 12  # of a variable that are looked at, evenly chosen


def everything(draws: Draws) -> Draws:
    """All variables as they are."""
    return draws


@dataclass(frozen=True)
class Target:
    """A row of the study.

    make      builds the model
    draw      draws of the posterior, independent or nearly so; None for a posterior without a normalisation
    measure   of draws, the quantities to compare: numbers, or events (bool), of which only the probability counts.
              Models whose labels may be exchanged name what does not change with them
    settings  of `pm.sample`
    step      makes its step method
    truth     the target that has the same posterior, where it is another one
    invisible made so that nothing which a run can afford to look at tells of a mode
    """

    make: Callable[[], pm.Model]
    draw: Draw | None = None
    measure: Callable[[Draws], Draws] = everything
    settings: Mapping[str, Any] = field(default_factory=dict)
    step: Callable[[], Any] | None = None
    truth: str = ""
    invisible: bool = False

    def sample(self, model: pm.Model, seed: int, **more: Any) -> Any:
        """A result of `pm.sample`, without its warnings: the status says the same."""
        step = {"step": self.step()} if self.step is not None else {}
        with warnings.catch_warnings(), model:
            warnings.simplefilter("ignore", ConsilienceWarning)
            return pm.sample(random_seed=seed, progressbar=False, cores=1, **self.settings, **step, **more)


def variables(model: pm.Model, posterior: Any) -> dict[str, Array]:
    """Draws (chain, draw, ...) of the free variables of a model, from a result's posterior."""
    return {v.name: posterior[v.name].to_numpy() for v in model.free}


def scalars(draws: Draws, leading: int) -> dict[str, Array]:
    """Every quantity by element, `x[3]`, each with the leading axes alone; of long ones a dozen elements."""
    found = {}
    for name, values in draws.items():
        flat = np.asarray(values).reshape(*values.shape[:leading], -1)
        width = flat.shape[-1]
        places = np.unique(np.linspace(0, width - 1, min(width, ELEMENTS)).round().astype(int))
        for i in places:
            found[f"{name}[{i}]" if values.ndim > leading else name] = flat[..., i]
    return found
