"""Run time of log density and gradient beside C, beside reads of the data and beside LAPACK, in one process.

All runners take turns in one C loop; the best slice of each counts.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import problems
from benchmarks.native import GaussianLapack, GeneratedDensity, PlainDensity, Read, one_core, race
from benchmarks.problems import Problem
from benchmarks.report import Row, show


def central_differences(problem: Problem, step: float = 1e-5) -> np.ndarray:
    """Gradient of the NumPy density."""
    q = problem.position
    return np.array([(problem.logp(q + step * e) - problem.logp(q - step * e)) / (2 * step) for e in np.eye(q.size)])


def check(name: str, found: tuple[float, np.ndarray], logp: float, gradient: np.ndarray) -> None:
    """Value and gradient agree with NumPy; what computes something else must not be timed."""
    np.testing.assert_allclose(found[0], logp, rtol=1e-10, err_msg=f"{name}: log density")
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(found[1], gradient, rtol=1e-6, atol=1e-7 * scale, err_msg=f"{name}: gradient")


def beside_c(problem: Problem, generated: GeneratedDensity) -> list[Row]:
    """Ratio to hand-written C, and to two reads of the data where they exceed the caches."""
    by_hand = PlainDensity(problem)
    logp = problem.logp(problem.position)
    gradient = central_differences(problem) if problem.gradient is None else problem.gradient(problem.position)
    check(f"C, {problem.name}", by_hand(problem.position), logp, gradient)
    check(f"generated, {problem.name}", generated(problem.position), logp, gradient)

    largest = max(problem.fields, key=lambda array: array.nbytes)
    large = largest.nbytes > 8e6
    seconds = race([by_hand, generated, *([Read(largest)] if large else [])])
    ratio, note = seconds[1] / seconds[0], f"{microseconds(seconds[1])}, C {microseconds(seconds[0])}"
    rows = [Row(f"{problem.name} over C", ratio, "", 1.3, note=note)]
    if large:
        speed = largest.nbytes / seconds[2] / 1e9
        note = f"two reads {microseconds(2 * seconds[2])}, {speed:.1f} GB/s"
        rows.append(Row(f"{problem.name} over two reads", seconds[1] / (2 * seconds[2]), "", 2, note=note))
    return rows


def beside_lapack(generated: GeneratedDensity) -> list[Row]:
    """Ratio of the Gaussian process to dpotrf, dpotri and dpotrs on its covariance."""
    q = np.log([2.0, 1.0, 0.3])
    problem = Problem("GP", "", {}, (), 0.0, q, problems.gaussian_process_logp)
    check("generated, GP", generated(q), problem.logp(q), central_differences(problem))
    lapack = GaussianLapack(problems.gaussian_process_covariance(q), problems.gaussian_process_data()[1])
    ours, needed = race([generated, lapack])
    shares = lapack.parts / lapack.parts.sum() * needed
    note = f"{microseconds(ours)}, LAPACK {microseconds(needed)}: " + ", ".join(
        f"{name} {microseconds(share)}" for name, share in zip(("dpotrf", "dpotri", "dpotrs"), shares, strict=True)
    )
    return [Row("GP, 200 points, over LAPACK", ours / needed, "", 1.3, note=note)]


def microseconds(seconds: float) -> str:
    """A time as text."""
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-4 else f"{seconds * 1e6:.0f} us"


def main() -> None:
    """Print the table."""
    from benchmarks import models

    one_core()
    rows: list[Row] = []
    with threadpool_limits(1):
        for problem in problems.problems():
            density = models.MODELS[problem.name.split(",")[0]]().log_density()
            rows += beside_c(problem, GeneratedDensity(density))
        rows += beside_lapack(GeneratedDensity(models.gaussian_process().log_density()))
    show("Log density and gradient: time per call as a ratio", rows)


if __name__ == "__main__":
    main()
