"""All targets by name, in the order of the table of published figures; each is built when asked for."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.convergence.targets import (
    curved,
    gaussian,
    gaussian_process,
    logistic,
    mixture,
    radon,
    schools,
    student,
    volatility,
)
from benchmarks.convergence.targets.target import Paper, Target, Truth, moments

TARGETS: dict[str, Callable[[], Target]] = {
    "8schools_nc": schools.non_centred,
    "gp": gaussian_process.hyperparameters,
    "student5": student.independent,
    "iid10": lambda: gaussian.independent(10),
    "iid100": lambda: gaussian.independent(100),
    "scales100": gaussian.scales,
    "logistic": logistic.shared_factors,
    "logistic_corr": logistic.polynomial,
    "radon_nc": radon.non_centred,
    "factor100": gaussian.factors,
    "sv500": volatility.non_centred,
    "banana": curved.banana,
    "mix5": mixture.near,
    "mix10": mixture.far,
    "8schools_c": schools.centred,
    "illrot100": gaussian.rotated,
    "radon_c": radon.centred,
    "funnel10": curved.funnel,
    "iid1000": lambda: gaussian.independent(1000),
}

__all__ = ["TARGETS", "Paper", "Target", "Truth", "moments"]
