"""The same posterior in less centred coordinates, where the draws of a run ask for them.

Draws enter; a run of as many chains in coordinates in which hierarchies are written by standard variables leaves.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import ConsilienceError
from consilience.inference import NUTS
from consilience.model.centredness import less_centred
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.reparametrization import noncenter
from consilience.model.signature import signature
from consilience.model.starting_point import starting_positions
from consilience.record import as_plain, replace
from consilience.run.supervisor import Supervisor
from consilience.sample.beginning import Floats, begun
from consilience.sample.identity import identity
from consilience.sample.result_options import ResultOptions

if TYPE_CHECKING:
    from consilience.sample.work import Work

MOST_DRAWS: Final = 2000  # to find the coordinates from
WIDE: Final = 2.0  # half the width of the noise that L-BFGS begins with


class LessCentred:
    """Other coordinates for a run: called with its draws, and once at most with success.

    begin   makes the run to go on with, of the work so far, the density in the new coordinates, and what is asked of
            the result
    once    whether to be asked once is enough, whatever the answer
    work    the run, known before it starts
    """

    work: Work

    def __init__(self, begin: Callable[[Work, ModelDensity, ResultOptions], Supervisor], once: bool = False) -> None:
        self.begin = begin
        self.once = once
        self.asked = False
        self.context = contextvars.copy_context()  # the run may have a thread of its own

    def __call__(self, draws: Floats) -> Supervisor | None:
        """The run to go on with, given draws (chain, draw, coordinate); None where they ask for no other coordinates.

        What it gives belongs to the result from then on: the density of `work` is that of the new coordinates.
        """
        if self.once and self.asked:
            return None
        self.asked = True
        try:
            return self.context.run(self._made, draws)
        except ConsilienceError as error:  # the run goes on as it was, and says so at its end
            self.work.notes.append(f"the hierarchies stay in the model's own coordinates: {error}")
            return None

    def _made(self, draws: Floats) -> Supervisor | None:
        work = self.work
        if work.running.monitored.places is not None:  # separate regions: draws of all of them tell of none
            return None
        flat = draws.reshape(-1, draws.shape[-1])[:: -(-draws.shape[0] * draws.shape[1] // MOST_DRAWS)]
        centredness = less_centred(work.model, {name: a[None] for name, a in work.density.expand(flat, False).items()})
        if not centredness:
            return None
        plain = {name: np.asarray(c).tolist() for name, c in centredness.items()}
        density, result = model_density(rewritten(work.model, plain)), replace(work.result, centredness=plain)
        run = self.begin(work, density, result)
        work.density, work.result = density, result
        return run


def on_threads(cores: int | None) -> Callable[[Work, ModelDensity, ResultOptions], Supervisor]:
    """How a run on threads goes on in other coordinates; so does its checkpoint."""

    def begin(work: Work, density: ModelDensity, result: ResultOptions) -> Supervisor:
        kernel, options, keep, running = work.kernel, work.options, work.checkpoint, work.running
        assert isinstance(kernel, NUTS)
        chains, seed = running.supervisor.controller.setting.chains, running.seed
        points = starting_positions(density, chains, seed, None, width=WIDE)
        run = begun(density, kernel, points, options, result, seed=seed, cores=cores, keep=keep)
        if keep is not None:
            keep.begin_again(identity(signature(density), kernel, options, chains, seed), as_plain(result))
        return run.supervisor

    return begin


def rewritten(model: Model, centredness: Mapping[str, Any] | None) -> Model:
    """The model in the coordinates of a result: itself, or with hierarchies less centred."""
    return model if centredness is None else noncenter(model, centredness)
