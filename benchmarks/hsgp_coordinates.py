"""Coordinates of Hilbert space processes in a plane: `python -m benchmarks.hsgp_coordinates [--side 20] [--seeds 1]`.

A map with normal noise and one with binomial counts, each by the coefficients as standard numbers ("plain", as
`pm.gp.HSGP` has them) and by three other ways to write the same posterior:

- "diagonal": coefficients a = mean + z / sqrt(1 / S(length, height) + D) with D the diagonal of Phi' W Phi, where W and
  the working response are averages over 100 draws of tuning;
- "eigenvectors": of the whole S^1/2 Phi' W Phi S^1/2 at a reference, whose eigenvalues follow the height alone;
- "spectrum": the height of the spectrum at the middle of the frequencies that data tell, in place of the height.

These have 400 draws after 400 of tuning. "default" is `pm.sample()` with nothing else given, which finds coordinates
for the "plain" model by itself and ends when it has converged; in a checkout of an earlier commit, what it did before.

Printed are the status, gradients in all, those for an effective draw of the worst element and of the few scalars, the
R-hat of these, divergences, processor seconds, and the commit.
"""

from __future__ import annotations

import argparse
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.hard_posteriors.models import smooth

ROOT: Final = Path(__file__).resolve().parents[1]
WIDER, NU = 1.5, 2.5  # than the points lie; of Matérn's covariance
WAYS: Final = ("default", "plain", "diagonal", "eigenvectors", "spectrum")
QUIET: Final[dict[str, Any]] = {"progressbar": False, "compute_convergence_checks": False}


class Map:
    """Points, data, basis functions and their squared frequencies."""

    def __init__(self, kind: str, side: int) -> None:
        rng = np.random.default_rng(10)
        n = 300 if side <= 20 else 600
        X = rng.uniform(-1, 1, (n, 2))
        f = 1.5 * smooth(rng, X, 0.35 if side <= 20 else 0.25)
        self.normal = kind == "normal"
        self.trials = rng.integers(10, 60, n)
        noisy = f + 0.4 * rng.normal(size=n)
        self.y = noisy if self.normal else rng.binomial(self.trials, 1 / (1 + np.exp(1.0 - f)))
        number = np.stack(np.meshgrid(*2 * [np.arange(1, side + 1)], indexing="ij"), -1).reshape(-1, 2)
        frequencies = np.pi * number / (2 * WIDER)
        self.basis = np.prod(np.sin(frequencies * (X[:, None] + WIDER)) / np.sqrt(WIDER), -1)
        self.squares = (frequencies**2).sum(-1)


def log_spectrum(length: Any, squares: Any) -> Any:
    """The logarithm of the spectral density of a Matérn process of unit height in a plane."""
    constant = np.log(4 * np.pi * NU) + NU * np.log(2 * NU)
    return constant - 2 * NU * pt.log(length) - (NU + 1) * pt.log(2 * NU / length**2 + squares)


def built(own: Map, way: str, known: dict[str, Any]) -> pm.Model:
    """The model in some coordinates; `known` is what `reference` gives."""
    with pm.Model() as model:
        length = pm.InverseGamma("length", 3, 1)
        if way == "spectrum":
            log_height = pm.Flat("spectrum") - 0.5 * log_spectrum(length, known["middle"])
            height = pm.Deterministic("height", pt.exp(log_height))
            pm.Potential("prior", pm.logp(pm.HalfNormal.dist(2), height) + log_height)
        else:
            height = pm.HalfNormal("height", 2)
        noise, level = (pm.HalfNormal("noise"), 0.0) if own.normal else (None, pm.Normal("level", 0, 2))
        logs = 2 * pt.log(height) + log_spectrum(length, own.squares)
        weight = noise**-2 / known["precision"] if noise is not None and known else 1.0
        size = len(own.squares)
        if way in ("default", "plain", "spectrum"):
            a = pt.exp(0.5 * logs) * pm.Normal("b", shape=size)
        elif way == "diagonal":
            z = pm.Flat("z", shape=size)
            precision = pt.exp(-logs) + weight * known["D"]
            a = weight * known["working"] / precision + z / pt.sqrt(precision)
            volume = -0.5 * pt.sum(pt.log(precision))
            pm.Potential("coordinates", -0.5 * pt.sum(a**2 * pt.exp(-logs) + logs) + volume)
        else:
            z, V = pm.Flat("z", shape=size), known["V"]
            relative = height / known["height"]
            shrunk = 1 / pt.sqrt(1 + relative**2 * weight * known["eigenvalues"])
            b = z + V @ ((shrunk - 1) * (V.T @ z) + shrunk**2 * known["turned"] * relative * weight)
            a = pt.exp(0.5 * logs) * b
            pm.Potential("coordinates", -0.5 * pt.sum(b**2) + pt.sum(pt.log(shrunk)))
        f = level + own.basis @ pm.Deterministic("a", a)
        if own.normal:
            pm.Normal("y", f, noise, observed=own.y)
        else:
            pm.Binomial("y", n=own.trials, logit_p=f, observed=own.y)
    return model


def reference(own: Map, posterior: Any) -> dict[str, Any]:
    """Averages over draws: curvatures along the values of the process, and where the coefficients are."""
    flat = {name: np.asarray(posterior[name]).reshape(-1, *posterior[name].shape[2:]) for name in posterior}
    phi, a = own.basis, flat["a"].mean(0)
    f = flat["a"] @ phi.T + (0.0 if own.normal else flat["level"][:, None])
    if own.normal:
        precision = (flat["noise"] ** -2).mean()
        W, slope = np.full(len(own.y), precision), precision * (own.y - f).mean(0)
    else:
        precision, p = 1.0, 1 / (1 + np.exp(-f))
        W, slope = (own.trials * p * (1 - p)).mean(0), (own.y - own.trials * p).mean(0)
    D = (phi**2 * W[:, None]).sum(0)
    height, length = (np.exp(np.log(flat[name]).mean()) for name in ("height", "length"))
    root = np.exp(0.5 * (2 * np.log(height) + np.asarray(log_spectrum(pt.constant(length), own.squares).eval())))
    _, values, rows = np.linalg.svd(np.sqrt(W)[:, None] * phi * root, full_matrices=False)
    kept = values**2 > 0.05
    V = rows[kept].T
    return {
        "D": D, "working": D * a + phi.T @ slope, "precision": precision, "height": height, "V": V,
        "eigenvalues": values[kept] ** 2, "turned": V.T @ (root * (phi.T @ (W * (phi @ a) + slope))),
        "middle": np.exp(np.log(own.squares[root**2 * D > 1]).mean()),
    }  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=20, help="basis functions along either axis")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--kinds", nargs="+", default=["normal", "binomial"])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    print(f"commit {commit.stdout.strip()}, {given.side} x {given.side} basis functions, 4 chains\n")
    print("| data | seed | coordinates | status | gradients | worst | scalars | R-hat | divergences | s |")
    print("|---|--:|---|---|--:|--:|--:|--:|--:|--:|")
    warnings.simplefilter("ignore")
    for kind in given.kinds:
        own = Map(kind, given.side)
        scalars = ["length", "height", "noise" if own.normal else "level"]
        for seed in given.seeds:
            known: dict[str, Any] = {}
            if set(given.ways) - {"default", "plain"}:
                first = pm.sample(25, tune=50, model=built(own, "plain", {}), random_seed=seed, remedies=(), **QUIET)
                known = reference(own, first.posterior)
            for way in given.ways:
                plain = way in ("default", "plain")
                model, spent = built(own, way, {} if plain else known), time.process_time()
                more: dict[str, Any] = {} if way == "default" else {"draws": 400, "tune": 400}
                more |= {} if plain else {"remedies": ("steps", "metric")}
                result = pm.sample(model=model, random_seed=seed, **more, **QUIET)
                spent = time.process_time() - spent
                ess = {name: float(pm.ess(result, var_names=[name])[name].min()) for name in [*scalars, "a"]}
                rhat = max(float(pm.rhat(result, var_names=[name])[name]) for name in scalars)
                gradients = int(result.posterior.attrs["gradients"])
                few = min(ess[name] for name in scalars)
                diverging = int(result.sample_stats["diverging"].values.sum())
                print(
                    f"| {kind} | {seed} | {way} | {result.status} | {gradients:,} | "
                    f"{gradients / min(ess.values()):.0f} | {gradients / few:.0f} | {rhat:.3f} | "
                    f"{diverging} | {spent:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
