"""How a run of a model begins: density, kernel and starting points enter, a run that can be started leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from consilience.inference import NUTS, Kernel
from consilience.model.log_density import ModelDensity
from consilience.record import replace
from consilience.run import Options, Running, launch
from consilience.run.supervisor import Keep, Supervisor
from consilience.run.thread_pool import threads
from consilience.sample.monitoring import monitored_of
from consilience.sample.properness import properness
from consilience.sample.result_options import ResultOptions
from consilience.sample.separate_modes import SeparateModes
from consilience.sample.step_methods import DivisibleDensity

Floats = npt.NDArray[np.float64]


def begun(
    density: ModelDensity,
    kernel: Kernel,
    points: Floats | int,
    options: Options,
    result: ResultOptions,
    *,
    seed: int,
    cores: int | None,
    keep: Keep | None = None,
    reparametrized: Callable[[Floats], Supervisor | None] | None = None,
) -> Running:
    """A run of chains from these points (chain, coordinate), or of so many chains that are put somewhere later.

    Where separate modes are to be looked for, that happens here, and points are moved to them.
    """
    monitored = monitored_of(density, result)
    if isinstance(kernel, NUTS):
        monitored = replace(monitored, improper=properness(density, monitored.names, threads(cores)))
    resumed = isinstance(points, int)
    places = np.zeros((points, density.dimension)) if isinstance(points, int) else points
    if result.modes:
        search = SeparateModes(density, monitored, seed, threads(cores))
        places, monitored = places if resumed else search.spread(places), search.told(monitored)
    return launch(
        DivisibleDensity(density),
        kernel,
        places,
        options,
        seed=seed,
        cores=cores,
        monitored=monitored,
        operations=density.operations,
        keep=keep,
        reparametrized=reparametrized,
    )
