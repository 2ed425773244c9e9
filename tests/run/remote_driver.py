"""A program that samples on two processes until it is stopped, or resumes: `python -m tests.run.remote_driver FILE`.

It prints when there are draws, the seconds after which the workers are free again, and how the run ended.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op

SETTINGS: dict[str, Any] = {
    "draws": None, "tune": 20, "chains": 2, "random_seed": 3, "progressbar": False,
    "compute_convergence_checks": False, "stop": pm.Stop(ess=1e9, min_draws=20, max_draws=500),
}  # fmt: skip


def slow() -> pm.Model:
    """A density in Python, defined where no import finds it, of two milliseconds.

    It has no symmetry: a run that finds one makes its first draws anew, of which an interrupt would leave none.
    """

    @as_op(itypes=[pt.dvector], otypes=[pt.dscalar])
    def sleeping(x: Any) -> Any:
        time.sleep(0.002)
        return np.asarray(-0.5 * ((x - [1.0, 3.0]) ** 2).sum())

    with pm.Model() as model:
        pm.Potential("slow", sleeping(pm.Normal("x", shape=2)))
    return model


def main(where: str) -> None:
    def listen(event: Any) -> None:
        if isinstance(event, pm.events.DrawsMade):
            print("draws", flush=True)

    warnings.simplefilter("ignore")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        model, save = slow(), pm.Save(checkpoint=where)
        result = pm.sample(model=model, step=pm.DEMetropolisZ(), executor=pool, save=save, callback=listen, **SETTINGS)
        began = time.monotonic()
        with contextlib.suppress(BrokenExecutor):  # an interrupt from a terminal goes to them, too
            wait([pool.submit(int) for _ in range(2)])
        print(time.monotonic() - began, flush=True)
        print(result.status, result.posterior.sizes["draw"], flush=True)


if __name__ == "__main__":
    # Tests that run in the background of a shell ignore interrupts, and what they start inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(sys.argv[1])
