"""A study on two processes, whose last fits are endless; to be interrupted from without."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import xarray

import consilience as pm
from tests.cluster.models import with_data


def endless(model: pm.Model, random_seed: int, cores: int, progressbar: bool) -> Any:
    first = float(model["values"].eval()[0])
    if first > 9:
        os.write(1, f"at work {os.getpid()}\n".encode())  # at once: workers share the pipe
    while first > 9:
        time.sleep(0.01)
    draws = xarray.Dataset({"mean": (("chain", "draw"), np.zeros((1, 2)))})
    return xarray.DataTree.from_dict({"posterior": draws})


def main() -> None:
    rows = [{"values": np.full(4, float(n))} for n in range(14)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fits = pm.sample_many(with_data(), rows, executor=pool, sampler=endless, random_seed=1, store=sys.argv[2])
        print("there are", sorted(fits), "and it is said:", [str(one.message) for one in told], flush=True)


if __name__ == "__main__":
    # Tests that run in the background of a shell ignore interrupts, and what they start inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
