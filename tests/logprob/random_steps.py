"""Random programs that draw in loops, with their densities by NumPy, one step after the other.

A program is made twice from the same random numbers: with the functions of tensors and with those of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import consilience as pm
import consilience.tensor as pt

# A variable by two numbers, which may be any, and the same of SciPy.
FAMILIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "normal": (lambda a, b: pm.Normal.dist(a, pt.exp(b)), lambda a, b: stats.norm(a, np.exp(b))),
    "student": (lambda a, b: pm.StudentT.dist(6.0, a, pt.exp(b)), lambda a, b: stats.t(6.0, a, np.exp(b))),
    "laplace": (lambda a, b: pm.Laplace.dist(a, pt.exp(b)), lambda a, b: stats.laplace(a, np.exp(b))),
    "gamma": (
        lambda a, b: pm.Gamma.dist(1.0 + pt.exp(a), pt.exp(b)),
        lambda a, b: stats.gamma(1.0 + np.exp(a), scale=np.exp(-b)),
    ),
    "poisson": (lambda a, b: pm.Poisson.dist(pt.exp(a + 0.1 * b)), lambda a, b: stats.poisson(np.exp(a + 0.1 * b))),
    "bernoulli": (lambda a, b: pm.Bernoulli.dist(pt.sigmoid(a)), lambda a, b: stats.bernoulli(1 / (1 + np.exp(-a)))),
}
COUNTS = ("poisson", "bernoulli")
# What a step makes of a draw: the function of tensors, the inverse, and the logarithm of the inverse's slope.
MAPS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "same": (lambda z: z, lambda y: y, lambda y: np.zeros_like(y)),
    "affine": (lambda z: 1.5 - 2.0 * z, lambda y: (1.5 - y) / 2.0, lambda y: np.full_like(y, -np.log(2.0))),
    "exp": (pt.exp, np.log, lambda y: -np.log(y)),
    "sinh": (pt.sinh, np.arcsinh, lambda y: -0.5 * np.log1p(y**2)),
}


class Program:
    """A random program of some steps, its series and its density at one."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.steps = int(rng.integers(1, 6))
        self.shape = tuple(rng.integers(1, 3, size=rng.integers(0, 2)).tolist())
        self.outputs = int(rng.integers(1, 3))
        self.families = [str(rng.choice(list(FAMILIES))) for _ in range(self.outputs)]
        self.maps = ["same" if f in COUNTS else str(rng.choice(list(MAPS))) for f in self.families]
        self.taps = [sorted({-int(n) for n in rng.integers(1, 4, size=rng.integers(1, 3))}) for _ in self.families]
        self.read = [bool(rng.random() < 0.8) for _ in self.families]
        self.states = int(rng.integers(0, 3))
        self.keeps = rng.uniform(-0.5, 0.5, self.states)
        self.sequence_taps = [0] if rng.random() < 0.5 else [-1, 0]
        before = -min(self.sequence_taps)
        self.sequence = rng.normal(size=self.steps + before) if rng.random() < 0.6 else None
        self.firsts = [rng.uniform(0.2, 1.0, (-min(t), *self.shape)) for t in self.taps]
        self.starts = rng.uniform(-0.5, 0.5, (self.states, *self.shape))
        count = 2 + self.states + sum(len(t) for t in self.taps) + self.outputs
        self.weights = rng.uniform(-0.4, 0.4, (self.outputs, 2, count))
        self.state_weights = rng.uniform(-0.3, 0.3, (self.states, count))
        self.carry_draws = bool(rng.random() < 0.5)
        self.together = bool(rng.random() < 0.5)

    def combined(self, weights: Any, parts: list[Any], tanh: Callable[..., Any]) -> Any:
        """A bounded expression of what a step knows."""
        total = weights[0]
        for weight, part in zip(weights[1:], parts, strict=False):
            total = total + float(weight) * tanh(part)
        return total

    def tensor(self, size: Any) -> Any:
        """The series by a loop."""

        def step(*arguments: Any) -> list[Any]:
            given = list(arguments)
            known = [given.pop(0) for _ in self.sequence_taps] if self.sequence is not None else []
            for reads, taps in zip(self.read, self.taps, strict=True):
                known += [given.pop(0) for _ in taps] if reads else []
            states = given
            drawn, made = [], []
            for i, (family, change) in enumerate(zip(self.families, self.maps, strict=True)):
                parts = [*known, *states, *(made if self.together else [])]
                a, b = (self.combined(w, parts, pt.tanh) + np.zeros(self.shape) for w in self.weights[i])
                drawn.append(FAMILIES[family][0](a, b))
                made.append(MAPS[change][0](drawn[-1]).astype("float64"))
            source = drawn[0].astype("float64") if self.carry_draws else made[0]
            nexts = [
                float(keep) * state + self.combined(w, [*known, source], pt.tanh)
                for keep, state, w in zip(self.keeps, states, self.state_weights, strict=True)
            ]
            return [*made, *nexts]

        infos: list[Any] = []
        for reads, taps, first in zip(self.read, self.taps, self.firsts, strict=True):
            initial = first[0] if taps == [-1] else first
            infos.append({"initial": pt.as_tensor(initial), "taps": taps} if reads else None)
        infos += [pt.as_tensor(start) for start in self.starts]
        sequences = [] if self.sequence is None else [{"input": self.sequence, "taps": self.sequence_taps}]
        found = pm.scan(step, sequences, infos, n_steps=self.steps, return_updates=False, return_list=True)[
            : self.outputs
        ]
        return found[0] if self.outputs == 1 else pt.stack(found, axis=1)

    def walk(self, series: Any) -> tuple[Any, Any]:
        """The log densities of several series (series, step, …), and standardised residuals of their draws."""
        values = [series] if self.outputs == 1 else [series[:, :, i] for i in range(self.outputs)]
        values = [np.asarray(value, "float64") for value in values]
        count = len(series)
        firsts = [np.broadcast_to(first, (count, *first.shape)) for first in self.firsts]
        full = [np.concatenate(pair, axis=1) for pair in zip(firsts, values, strict=True)]
        states: list[Any] = list(self.starts)
        total, residuals, before = np.zeros(count), [], -min(self.sequence_taps)
        for t in range(self.steps):
            known: list[Any] = []
            if self.sequence is not None:
                known += [self.sequence[t + before + tap] for tap in self.sequence_taps]
            for i, taps in enumerate(self.taps):
                known += [full[i][:, self.firsts[i].shape[0] + t + tap] for tap in taps] if self.read[i] else []
            drawn: list[Any] = []
            made: list[Any] = []
            for i, (family, change) in enumerate(zip(self.families, self.maps, strict=True)):
                parts = [*known, *states, *(made if self.together else [])]
                a, b = (self.combined(w, parts, np.tanh) + np.zeros((count, *self.shape)) for w in self.weights[i])
                y = values[i][:, t]
                z = MAPS[change][1](y)
                law = FAMILIES[family][1](a, b)
                density = law.logpmf(z) if family in COUNTS else law.logpdf(z) + MAPS[change][2](y)
                total += density.reshape(count, -1).sum(1)
                residuals.append((z - law.mean()) / law.std())
                drawn.append(z)
                made.append(y)
            source = drawn[0] if self.carry_draws else made[0]
            states = [
                float(keep) * state + self.combined(w, [*known, source], np.tanh)
                for keep, state, w in zip(self.keeps, states, self.state_weights, strict=True)
            ]
        return total, np.stack(residuals)
