"""The vector math library: how accurate and how fast, against NumPy and SciPy on the same arrays.

In: the cases of tests/native/vectormath_cases.py. Out: a table on the terminal: greatest error in units of
the last place (or in 2**-52 relative), nanoseconds per element of a native loop at the machine's width, at 4
lanes and for scalars, and of NumPy's or SciPy's function, one call for 4096 elements.

    python -m benchmarks.vectormath [name ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from consilience.native.target import host
from consilience.native.vectormath import FUNCTIONS
from consilience.ops.log_incomplete import BETA_FUNCTIONS, GAMMA_FUNCTIONS
from tests.native.test_vectormath import MEANING
from tests.native.vectormath_cases import CASES, Array, compiled

LENGTH = 4096
REPETITIONS = 20

# Arguments as they occur in models: no subnormal numbers, no rare branches.
TYPICAL: dict[str, tuple[tuple[float, float], ...]] = {
    "arccos": ((-1, 1),), "arccosh": ((1, 20),), "arcsin": ((-1, 1),), "arctanh": ((-1, 1),),
    "arctan2": ((-5, 5), (-5, 5)), "betainc": ((0.5, 20), (0.5, 20), (0, 1)), "digamma": ((0.1, 20),),
    "betainc_slope_a": ((0.5, 20), (0.5, 20), (0, 1)), "betainc_slope_b": ((0.5, 20), (0.5, 20), (0, 1)),
    **dict.fromkeys(BETA_FUNCTIONS, ((0.5, 20), (0.5, 20), (-5, 5))),
    **dict.fromkeys(GAMMA_FUNCTIONS, ((0.5, 20), (0.1, 30))),
    "betaln": ((0.5, 20), (0.5, 20)), "gamma": ((0.1, 20),), "gammainc_slope": ((0.5, 20), (0.5, 20)),
    "ndtri_exp": ((-20, -0.1),), "owens_t": ((-4, 4), (-4, 4)), "zeta": ((1.5, 20), (0.5, 20)),
    "betainccinv": ((0.5, 20), (0.5, 20), (0, 1)), "betaincinv": ((0.5, 20), (0.5, 20), (0, 1)),
    "binomial_quantile": ((1, 100), (0, 1), (0, 1)), "poisson_quantile": ((0.1, 100), (0, 1)),
    "negative_binomial_quantile": ((0.1, 100), (0.5, 20), (0, 1)),
    "gammainccinv": ((0.5, 20), (0, 1)), "gammaincinv": ((0.5, 20), (0, 1)),
    "erfinv": ((-1, 1),), "gammainc": ((0.5, 20), (0.1, 30)), "gammaincc": ((0.5, 20), (0.1, 30)),
    "gammaln": ((0.1, 20),), "lgamma": ((0.1, 20),), "log": ((0.1, 20),), "log10": ((0.1, 20),),
    "log1mexp": ((-10, 0),), "log1p": ((-0.9, 20),), "log2": ((0.1, 20),), "ndtri": ((0, 1),),
    "pow": ((0.1, 20), (-5, 5)), "trigamma": ((0.1, 20),),
}  # fmt: skip


def nanoseconds(run: Callable[[], object], elements: int, rounds: int = 7) -> float:
    """Best of several rounds, per element."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best / elements * 1e9


def native(name: str, lanes: int, arguments: list[Array]) -> float:
    """The library's function in a native loop."""
    result = np.empty(LENGTH)
    addresses = [a.ctypes.data for a in (*arguments, result)]
    run = compiled(name, lanes)
    return nanoseconds(lambda: run(*addresses, LENGTH, REPETITIONS), LENGTH * REPETITIONS)


def reference(name: str, arguments: list[Array]) -> float:
    """NumPy's or SciPy's function."""
    with np.errstate(all="ignore"):
        return nanoseconds(lambda: MEANING[name](*arguments), LENGTH)


def main(names: list[str]) -> None:
    """Print the table for `names`, by default all functions."""
    target = host()
    rng = np.random.default_rng(1)
    print(f"{target.cpu}, {target.lanes} lanes; errors over {len(CASES)} sets of points; ns per element")
    widths = "".join(f" {lanes:>5d}x" for lanes in (target.lanes, 4, 1))
    print(f"{'function':12s} {'max error':>10s} {'mean':>6s} {'unit':9s}{widths} {'NumPy':>8s}")
    for name in names or sorted(FUNCTIONS):
        for number, case in enumerate(case for case in CASES if case.name == name):
            errors = case.errors()
            line = f"{name:12s} {errors.max():10.2f} {errors.mean():6.2f} {case.unit:9s}"
            if number == 0:
                ranges = TYPICAL.get(name, ((-5.0, 5.0),))
                arguments = [rng.uniform(low, high, LENGTH) for low, high in ranges]
                times = [native(name, lanes, arguments) for lanes in (target.lanes, 4, 1)]
                line += "".join(f" {t:6.2f}" for t in (*times,)) + f" {reference(name, arguments):8.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
