"""The same posterior in less centred coordinates, where the draws of a run ask for them.

Draws enter; a run of as many chains in coordinates in which hierarchies are written by standard variables leaves.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import ConsilienceError
from consilience.inference import NUTS
from consilience.model.centredness import less_centred
from consilience.model.log_density import model_density
from consilience.model.model import Model
from consilience.model.reparametrization import noncenter
from consilience.model.signature import signature
from consilience.model.starting_point import starting_positions
from consilience.record import as_plain, replace
from consilience.run.supervisor import Supervisor
from consilience.sample.beginning import Floats, begun
from consilience.sample.identity import identity

if TYPE_CHECKING:
    from consilience.sample.work import Work

MOST_DRAWS: Final = 2000  # to find the coordinates from
WIDTH: Final = 2.0  # half the width of the noise that chains begin with


class LessCentred:
    """Other coordinates for a run: called with its draws, and once at most with success.

    work   the run, known before it starts
    """

    work: Work

    def __init__(self, cores: int | None) -> None:
        self.cores = cores
        self.context = contextvars.copy_context()  # the run has a thread of its own

    def __call__(self, draws: Floats) -> Supervisor | None:
        """The run to go on with, given draws (chain, draw, coordinate); None where they ask for no other coordinates.

        What it gives belongs to the result from then on: the density of `work` is that of the new coordinates.
        """
        try:
            return self.context.run(self._made, draws)
        except ConsilienceError:  # no such coordinates, or no starting point in them: the run goes on as it was
            return None

    def _made(self, draws: Floats) -> Supervisor | None:
        work = self.work
        old, running, kernel = work.density, work.running, work.kernel
        assert isinstance(kernel, NUTS)
        if running.monitored.places is not None:  # separate regions: draws of all of them tell of none
            return None
        flat = draws.reshape(-1, draws.shape[-1])[:: -(-draws.shape[0] * draws.shape[1] // MOST_DRAWS)]
        centredness = less_centred(work.model, {name: a[None] for name, a in old.expand(flat, False).items()})
        if not centredness:
            return None
        plain = {name: np.asarray(c).tolist() for name, c in centredness.items()}
        density = model_density(rewritten(work.model, plain))
        seed, chains = running.seed, draws.shape[0]
        points = starting_positions(density, chains, seed, None, width=WIDTH)
        result = replace(work.result, centredness=plain)
        keep = work.checkpoint
        begins = begun(density, kernel, points, work.options, result, seed=seed, cores=self.cores, keep=keep)
        if keep is not None:
            known = identity(signature(density), kernel, work.options, chains, seed)
            keep.begin_again(known, as_plain(result))
        work.density, work.result = density, result
        return begins.supervisor


def rewritten(model: Model, centredness: Mapping[str, Any] | None) -> Model:
    """The model in the coordinates of a result: itself, or with hierarchies less centred."""
    return model if centredness is None else noncenter(model, centredness)
