"""Normal components on a line in several dimensions: modes whose places, weights and widths are given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.target import Draws, Target


def model(places: Sequence[float], weights: Sequence[float], widths: Sequence[float], d: int) -> pm.Model:
    """Components on the diagonal of `d` dimensions, their places in deviations of the first."""
    with pm.Model() as built:
        x = pm.Flat("x", shape=d)
        terms = [
            np.log(w) - d * np.log(s) - 0.5 * pt.sum(((x - c / np.sqrt(d)) / s) ** 2)
            for c, w, s in zip(places, weights, widths, strict=True)
        ]
        pm.Potential("density", pt.logsumexp(pt.stack(terms)))
    return built


def mixture(
    places: Sequence[float], weights: Sequence[float], widths: Sequence[float] | None = None, d: int = 2, **more: Any
) -> Target:
    """The same with its draws; events are the modes but the first, divided half way."""
    wide = np.ones(len(places)) if widths is None else np.asarray(widths)

    def draw(rng: np.random.Generator, count: int) -> Draws:
        which = rng.choice(len(places), count, p=weights)
        centres = np.asarray(places)[which, None] / np.sqrt(d)
        return {"x": centres + wide[which, None] * rng.normal(size=(count, d))}

    def measure(draws: Draws) -> Draws:
        along = draws["x"].sum(axis=-1) / np.sqrt(d)
        ends = [*((a + b) / 2 for a, b in pairwise(places)), np.inf]
        modes = {f"mode {i + 2}": (along > ends[i]) & (along <= ends[i + 1]) for i in range(len(places) - 1)}
        return {"x": draws["x"], **modes}

    return Target(partial(model, places, weights, wide, d), draw, measure, **more)


MIXTURES = {
    "5 % at 5 sd": mixture((0, 5), (0.95, 0.05)),
    "5 % at 6 sd": mixture((0, 6), (0.95, 0.05)),
    "5 % at 8 sd": mixture((0, 8), (0.95, 0.05)),
    "5 % at 8 sd, d = 20": mixture((0, 8), (0.95, 0.05), d=20),
    "two modes at 10 sd": mixture((0, 10), (0.5, 0.5)),
    "two modes at 10 sd, d = 50": mixture((0, 10), (0.5, 0.5), d=50),
    "two modes at 10 sd, one chain": mixture((0, 10), (0.5, 0.5), settings={"chains": 1}),
    "70/30 at 10 sd": mixture((0, 10), (0.7, 0.3)),
    "70/30 at 10 sd, tempering": mixture((0, 10), (0.7, 0.3), step=pm.ParallelTempering),
    "70/30 at 30 sd": mixture((0, 30), (0.7, 0.3)),
    "three modes": mixture((0, 8, 16), (0.5, 0.3, 0.2)),
    "five modes": mixture((0, 8, 16, 24, 32), (0.3, 0.25, 0.2, 0.15, 0.1)),
    "70 % in sd 0.2": mixture((0, 6), (0.3, 0.7), (1.0, 0.2)),
    "70 % in sd 0.2, d = 5": mixture((0, 6), (0.3, 0.7), (1.0, 0.2), d=5, invisible=True),
    "sd 1 and 5": mixture((0, 20), (0.5, 0.5), (1.0, 5.0)),
    "five modes, two chains": mixture((0, 8, 16, 24, 32), (0.3, 0.25, 0.2, 0.15, 0.1), settings={"chains": 2}),
    "70/30 at 10 sd, 1,000 draws": mixture((0, 10), (0.7, 0.3), settings={"draws": 1000}),
    **{
        f"70/30 at 10 sd, {name}": mixture((0, 10), (0.7, 0.3), step=step)
        for name, step in (("HMC", pm.HamiltonianMC), ("Metropolis", pm.Metropolis), ("slice", pm.Slice))
    },
}
