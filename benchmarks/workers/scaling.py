"""How much of the workers' time is work, where an evaluation of the density sleeps a given time without the
interpreter's lock and chains are many: threads stand for workers, each of which gets and gives pickles.

    python -m benchmarks.workers.scaling
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from consilience.cluster.executors import Adapter
from consilience.inference import DEMetropolisZ
from consilience.run import Run, RunPlan
from consilience.run.launch import new_leg

TUNE, DRAWS = 50, 450  # one segment each
CODE = """
declare i32 @usleep(i32)
define i64 @sleeping(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace) {{
  call i32 @usleep(i32 {microseconds})
  %position = load ptr, ptr %inputs
  %x = load double, ptr %position
  %second = getelementptr double, ptr %position, i64 1
  %y = load double, ptr %second
  %xx = fmul double %x, %x
  %yy = fmul double %y, %y
  %sum = fadd double %xx, %yy
  %half = fmul double %sum, -0.5
  %logp = load ptr, ptr %outputs
  store double %half, ptr %logp
  ret i64 0
}}"""


class Sleeping:
    """A normal density of two coordinates that takes so many seconds, in machine code: no interpreter is held."""

    dimension, constants, workspace = 2, 0, 0

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        for prepare in (llvm.initialize_native_target, llvm.initialize_native_asmprinter):
            prepare()
        module = llvm.parse_assembly(CODE.format(microseconds=round(1e6 * seconds)))
        self._engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
        self._engine.finalize_object()
        self.entry = self._engine.get_function_address("sleeping")

    def __reduce__(self) -> tuple[Any, ...]:
        return Sleeping, (self.seconds,)


class Pickling(Adapter):
    """So many workers; what goes to them and back is pickled, and is on its way for so many seconds."""

    isolates = True

    def __init__(self, workers: int, way: float) -> None:
        super().__init__(ThreadPoolExecutor(workers))
        self.workers, self.way = workers, way

    def count(self) -> int:
        return self.workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.executor.submit(self._run, function, pickle.dumps(arguments))

    def _run(self, function: Callable[..., Any], arguments: bytes) -> Any:
        time.sleep(self.way)
        return pickle.loads(pickle.dumps(function(*pickle.loads(arguments))))


def efficiency(chains: int, workers: int, seconds: float, way: float) -> float:
    """The share of the time of as many workers as have chains that these spend with chains.

    On a machine that is busy sleep takes longer than it should, with chains and without.
    """
    running = Run(
        new_leg(
            Sleeping(seconds), DEMetropolisZ(), np.zeros((chains, 2)), RunPlan(tune=TUNE, draws=DRAWS), seed=1,
            executor=Pickling(workers, way),
        ),
        1,
    )  # fmt: skip
    began = time.monotonic()
    running.start(background=False)
    run = running.wait()
    took = time.monotonic() - began
    return sum(run.chain_seconds) / (took * min(chains, workers))


def main() -> None:
    efficiency(2, 2, 0.001, 0.0)  # compiles
    print("chains workers  seconds of tuning and drawing  ms of the way  efficiency")
    for seconds, way in ((0.02, 0.005), (0.002, 0.005), (0.0002, 0.005)):
        for chains, workers in ((1, 1), (4, 4), (16, 16), (64, 16), (64, 64), (256, 64)):
            found = efficiency(chains, workers, seconds, way)
            took = f"{TUNE * seconds:.2f} and {DRAWS * seconds:.2f}"
            print(f"{chains:6} {workers:7} {took:>30} {1e3 * way:14.0f} {found:11.0%}", flush=True)


if __name__ == "__main__":  # by the module's name, under which its classes pickle
    from benchmarks.workers import scaling

    scaling.main()
