"""How a run of chains in lock step begins: a log density of JAX, starting points and options enter, a run leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.inference.tuner import TuningSetting
from consilience.run import Monitored, Options, Running
from consilience.run.controller import RunController, Setting
from consilience.run.judging import Judging, superchains_of
from consilience.run.supervisor import Supervisor
from consilience.vectorised.engine import LockStepEngine
from consilience.vectorised.settings import COLUMNS, ChEES
from consilience.vectorised.tuner import ChEESTuner

Floats = npt.NDArray[np.float64]


def launch(
    logp: Callable[[Any], Any],
    kernel: ChEES,
    points: Floats,
    options: Options,
    *,
    chains: int,
    seed: int,
    monitored: Monitored | None = None,
    device: Any = None,
    precision: str = "float64",
    climb: bool = True,
    reparametrized: Callable[[Floats], Supervisor | None] | None = None,
) -> Running:
    """A run of so many chains, ready to start; `device`, `precision`, `climb` as in `LockStepEngine`.

    logp            log density of a position (coordinate,), in JAX
    kernel          how they move
    points          float64 (point, coordinate): neighbouring chains begin at the same one
    options         lengths and the rule; `pool` and `window_budget` have no meaning here
    seed            64-bit integer, on which all depends
    monitored       what is watched; all coordinates by default
    reparametrized  as in `run.launch`
    raises          SamplingError for an unknown device or precision
    """
    dimension = points.shape[1]
    watched = monitored or Monitored(tuple(f"x[{i}]" for i in range(dimension)))
    engine = LockStepEngine(
        logp,
        kernel.max_steps,
        points,
        chains=chains,
        seed=seed,
        device=device,
        precision=precision,
        climb=climb,
        folded=watched.without_turns,
    )
    judging = Judging(superchains_of(chains), every_check=True, memory=False, at_the_end=True)
    setting = Setting(chains, dimension, COLUMNS, watched, reparametrized, judging, engine.longest)
    tuning = TuningSetting(chains, dimension, COLUMNS, options.tune, options.min_tune, options.max_tune)
    controller = RunController(options, setting, ChEESTuner(kernel, tuning))
    return Running(Supervisor(controller, engine, seed), ())
