"""Pictures of distributions: densities, masses or draws for several parameters, from the library's own formulas.

In: rows of parameters by distribution. Out: a drawing, and for each row the mean and the variance. `python -m
building.pictures FOLDER` draws what `FOLDER` lacks.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# Parameters whose densities are drawn, by distribution. What is left out of a row has its default.
ROWS: dict[str, list[dict[str, Any]]] = {
    "AsymmetricLaplace": [{"kappa": k, "mu": 0, "b": 1} for k in (0.5, 1, 2)],
    "Bernoulli": [{"p": 0.2}, {"p": 0.5}, {"p": 0.9}],
    "Beta": [{"alpha": a, "beta": b} for a, b in ((0.5, 0.5), (2, 2), (2, 5), (8, 2))],
    "BetaBinomial": [{"alpha": a, "beta": b, "n": 12} for a, b in ((0.5, 0.5), (2, 5), (10, 10))],
    "BetaPrime": [{"alpha": a, "beta": b} for a, b in ((1, 2), (3, 3), (5, 4))],
    "Binomial": [{"n": 10, "p": 0.2}, {"n": 10, "p": 0.5}, {"n": 20, "p": 0.7}],
    "Categorical": [{"p": [0.1, 0.6, 0.3]}, {"p": [0.4, 0.1, 0.1, 0.4]}],
    "Cauchy": [{"alpha": 0, "beta": 0.5}, {"alpha": 0, "beta": 1}, {"alpha": -2, "beta": 1}],
    "ChiSquared": [{"nu": 2}, {"nu": 4}, {"nu": 9}],
    "ConwayMaxwellPoisson": [{"lam": 4, "nu": 0.8}, {"lam": 4, "nu": 1}, {"lam": 16, "nu": 2}],
    "Dagum": [{"p": 0.5, "a": 3, "b": 1}, {"p": 1, "a": 3, "b": 1}, {"p": 2, "a": 4, "b": 1}],
    "DiracDelta": [{"c": 0}, {"c": 3}],
    "DiscreteUniform": [{"lower": 0, "upper": 5}, {"lower": 2, "upper": 10}],
    "DiscreteWeibull": [{"q": 0.5, "beta": 1}, {"q": 0.9, "beta": 1.5}, {"q": 0.95, "beta": 2}],
    "ExGaussian": [{"mu": 0, "sigma": 1, "nu": v} for v in (0.5, 2, 4)],
    "Exponential": [{"lam": 0.5}, {"lam": 1}, {"lam": 2}],
    "Frechet": [{"alpha": 2, "sigma": 1}, {"alpha": 3, "sigma": 1}, {"alpha": 3, "sigma": 2}],
    "Gamma": [{"alpha": a, "beta": b} for a, b in ((1, 1), (2, 1), (5, 1), (9, 3))],
    "GeneralizedExtremeValue": [{"mu": 0, "sigma": 1, "xi": x} for x in (-0.4, 0, 0.4)],
    "GeneralizedNormal": [{"mu": 0, "alpha": 1, "beta": b} for b in (1, 2, 6)],
    "GeneralizedPareto": [{"mu": 0, "sigma": 1, "xi": x} for x in (-0.4, 0, 0.4)],
    "Geometric": [{"p": 0.2}, {"p": 0.5}, {"p": 0.8}],
    "Gumbel": [{"mu": 0, "beta": 1}, {"mu": 2, "beta": 1}, {"mu": 0, "beta": 2}],
    "HalfCauchy": [{"beta": 0.5}, {"beta": 1}, {"beta": 2}],
    "HalfNormal": [{"sigma": 0.5}, {"sigma": 1}, {"sigma": 2}],
    "HalfStudentT": [{"nu": 1, "sigma": 1}, {"nu": 4, "sigma": 1}, {"nu": 30, "sigma": 2}],
    "HurdleGamma": [{"psi": 0.7, "alpha": 3, "beta": 1}, {"psi": 0.9, "alpha": 8, "beta": 2}],
    "HurdleLogNormal": [{"psi": 0.7, "mu": 0, "sigma": 0.5}, {"psi": 0.9, "mu": 1, "sigma": 0.5}],
    "HurdleNegativeBinomial": [{"psi": 0.7, "mu": 4, "alpha": 2}, {"psi": 0.9, "mu": 8, "alpha": 4}],
    "HurdlePoisson": [{"psi": 0.7, "mu": 2}, {"psi": 0.9, "mu": 6}],
    "HyperGeometric": [{"N": 50, "k": 10, "n": 10}, {"N": 50, "k": 25, "n": 10}, {"N": 50, "k": 40, "n": 10}],
    "InverseChiSquared": [{"nu": 2}, {"nu": 4}, {"nu": 8}],
    "InverseGamma": [{"alpha": a, "beta": b} for a, b in ((1, 1), (3, 1), (3, 3))],
    "Kumaraswamy": [{"a": a, "b": b} for a, b in ((0.5, 0.5), (2, 2), (2, 6))],
    "Laplace": [{"mu": 0, "b": 0.5}, {"mu": 0, "b": 1}, {"mu": 2, "b": 1}],
    "Levy": [{"mu": 0, "c": 0.5}, {"mu": 0, "c": 1}, {"mu": 0, "c": 2}],
    "LogGamma": [{"alpha": a, "beta": 1} for a in (0.5, 1, 4)],
    "LogLogistic": [{"alpha": 1, "beta": 1}, {"alpha": 1, "beta": 2}, {"alpha": 1, "beta": 5}],
    "LogNormal": [{"mu": 0, "sigma": s} for s in (0.25, 0.5, 1)],
    "Logistic": [{"mu": 0, "s": 0.5}, {"mu": 0, "s": 1}, {"mu": 2, "s": 1}],
    "LogitNormal": [{"mu": 0, "sigma": 0.5}, {"mu": 0, "sigma": 2}, {"mu": 1, "sigma": 1}],
    "Moyal": [{"mu": 0, "sigma": 1}, {"mu": 2, "sigma": 1}, {"mu": 0, "sigma": 2}],
    "NegativeBinomial": [{"mu": 5, "alpha": a} for a in (1, 3, 20)],
    "Normal": [{"mu": 0, "sigma": 0.5}, {"mu": 0, "sigma": 1}, {"mu": 2, "sigma": 1}],
    "OrderedLogistic": [{"eta": e, "cutpoints": [-1, 0, 2]} for e in (-1, 0, 2)],
    "OrderedProbit": [{"eta": e, "cutpoints": [-1, 0, 2]} for e in (-1, 0, 2)],
    "Pareto": [{"alpha": 1, "m": 1}, {"alpha": 2, "m": 1}, {"alpha": 4, "m": 1}],
    "Poisson": [{"mu": 1}, {"mu": 4}, {"mu": 10}],
    "PolyaGamma": [{"h": 1, "z": 0}, {"h": 3, "z": 0}, {"h": 3, "z": 3}],
    "Rice": [{"nu": 0, "sigma": 1}, {"nu": 2, "sigma": 1}, {"nu": 4, "sigma": 1}],
    "ScaledInverseChiSquared": [{"nu": 4, "sigma": 1}, {"nu": 10, "sigma": 1}, {"nu": 10, "sigma": 2}],
    "Skellam": [{"mu1": 1, "mu2": 1}, {"mu1": 5, "mu2": 2}, {"mu1": 5, "mu2": 5}],
    "SkewNormal": [{"mu": 0, "sigma": 1, "alpha": a} for a in (-4, 0, 4)],
    "SkewStudentT": [{"a": a, "b": b, "mu": 0, "sigma": 1} for a, b in ((2, 2), (2, 8), (8, 2))],
    "StudentT": [{"nu": v, "mu": 0, "sigma": 1} for v in (1, 4, 30)],
    "Triangular": [{"lower": 0, "c": c, "upper": 4} for c in (0.5, 2, 3.5)],
    "TruncatedNormal": [{"mu": m, "sigma": 1, "lower": -1, "upper": 2} for m in (-1, 0, 2)],
    "Uniform": [{"lower": 0, "upper": 1}, {"lower": 0.5, "upper": 3}],
    "VonMises": [{"mu": 0, "kappa": 0.5}, {"mu": 0, "kappa": 4}, {"mu": 2, "kappa": 8}],
    "Wald": [{"mu": 1, "lam": 1}, {"mu": 1, "lam": 3}, {"mu": 2, "lam": 6}],
    "Weibull": [{"alpha": 0.8, "beta": 1}, {"alpha": 1.5, "beta": 1}, {"alpha": 4, "beta": 1}],
    "ZeroInflatedBinomial": [{"psi": 0.6, "n": 10, "p": 0.4}, {"psi": 0.9, "n": 10, "p": 0.6}],
    "ZeroInflatedNegativeBinomial": [{"psi": 0.6, "mu": 5, "alpha": 2}, {"psi": 0.9, "mu": 8, "alpha": 5}],
    "ZeroInflatedPoisson": [{"psi": 0.6, "mu": 3}, {"psi": 0.9, "mu": 6}],
}
RANGES = {
    "BetaPrime": (0, 6), "Cauchy": (-7, 7), "Frechet": (0, 6), "HalfCauchy": (0, 8), "InverseChiSquared": (0, 3),
    "InverseGamma": (0, 4), "Levy": (0, 6), "LogLogistic": (0, 5), "Pareto": (0.5, 5), "StudentT": (-6, 6),
    "GeneralizedPareto": (-0.5, 5), "GeneralizedExtremeValue": (-4, 6), "Dagum": (0, 4), "VonMises": (-3.1415, 3.1415),
    "SkewStudentT": (-8, 8), "Moyal": (-4, 12), "HurdleGamma": (0.01, 9), "HurdleLogNormal": (0.01, 9),
}  # fmt: skip
"""Where the axis lies for tails that run on."""

COLOURS = ("#1f6f8b", "#d1495b", "#edae49", "#6a4c93")


def label(row: dict[str, Any]) -> str:
    """A row as text: `mu = 0, sigma = 1`."""
    return ", ".join(f"{name} = {value}" for name, value in row.items())


def alternative_text(name: str, discrete: bool) -> str:
    """What a picture shows, in words."""
    what = "Probability mass" if discrete else "Density"
    return f"{what} of {name} for " + "; ".join(label(row) for row in ROWS[name])


def drawn(name: str, path: Path) -> list[dict[str, str]]:
    """Draw a distribution; mean and variance of each row."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt
    import numpy as np

    import consilience as pm

    declared = getattr(pm, name)
    discrete = issubclass(declared, pm.Discrete)
    made = [declared.dist(**row) for row in ROWS[name]]
    if name in RANGES:
        low, high = RANGES[name]
    else:
        ends = [pm.icdf(one, np.array([0.005, 0.995])).eval() for one in made if name != "PolyaGamma"]
        low, high = (min(float(e[0]) for e in ends), max(float(e[1]) for e in ends)) if ends else (0.0, 2.0)
    grid = np.arange(np.floor(low), np.ceil(high) + 1) if discrete else np.linspace(low, high, 400)
    plt.rcParams.update(
        {"svg.hashsalt": "consilience", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, axis = plt.subplots(figsize=(6.4, 3.1), layout="constrained")
    facts = []
    for place, (one, row) in enumerate(zip(made, ROWS[name], strict=True)):
        with np.errstate(all="ignore"):
            height = np.exp(pm.logp(one, grid.astype(int) if discrete else grid).eval())
        if discrete:
            axis.plot(grid, height, "o-", color=COLOURS[place], ms=4, lw=0.8, alpha=0.9, label=label(row))
        else:
            axis.plot(grid, np.where(height > 0, height, np.nan), color=COLOURS[place], lw=2, label=label(row))
        facts.append({"row": label(row), **{f: moment(declared, row, f) for f in ("mean", "variance")}})
    axis.set_ylim(0, min(axis.get_ylim()[1], 4.5) if not discrete else None)
    axis.set(xlabel="x", ylabel="mass" if discrete else "density")
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
    return facts


def moment(declared: Any, row: dict[str, Any], formula: str) -> str:
    """The value of a moment, or a dash where the distribution has none."""
    import consilience.tensor as pt
    from consilience.distributions.random_variable import distribution_of

    if not declared.declares(formula):
        return "none"
    value = pt.as_tensor(getattr(distribution_of(declared.dist(**row)), formula)()).eval()
    return f"{float(value):.4g}"


def one(task: tuple[str, str]) -> tuple[str, list[dict[str, str]]]:
    """A picture in a process of the pool; what overflows far from the mass is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return task[0], drawn(task[0], Path(task[1]))
        except Exception as error:
            raise RuntimeError(f"the picture of {task[0]}: {type(error).__name__}: {error}") from error


def all_drawn(folder: Path, digest: str) -> dict[str, list[dict[str, str]]]:
    """Facts by distribution, with a picture of each in `folder`; those of the same source are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    own = hashlib.sha256(digest.encode() + Path(__file__).read_bytes()).hexdigest()
    known = folder / "facts.json"
    if known.exists():
        told = json.loads(known.read_text(encoding="utf-8"))
        if told["of"] == own:
            return dict(told["facts"])
    with ProcessPoolExecutor(2) as pool:
        facts = dict(pool.map(one, [(name, str(folder / f"{name}.svg")) for name in ROWS], chunksize=4))
    known.write_text(json.dumps({"of": own, "facts": facts}), encoding="utf-8")
    return facts


if __name__ == "__main__":
    print(json.dumps(all_drawn(Path(sys.argv[1]), ""), indent=1))
