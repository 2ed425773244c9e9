"""What `pm.challenge` says of results that are right, and of results made wrong.

`python -m benchmarks.challenges [--runs N] [--models ROW ...] [--out FILE]`. Right ones are certified runs; wrong ones
have chains that were started in a lesser mode, tails that chains did not come to, or draws of something else than the
posterior. The `models` of the command are these rows, or `right` and `wrong` for all of either.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.summary import Rate
from benchmarks.certificates.targets import hierarchies, learning, mixtures
from benchmarks.convergence.columns import Columns
from benchmarks.rows_of_processes import Row, made, parser_of, read
from consilience.errors import ConsilienceWarning
from consilience.inference.modes.search import find_regions

Made = Callable[[int], tuple[pm.Model, Any]]
"""A model and a result of it, of a seed."""


def certified(make: Callable[[], pm.Model], seed: int, **settings: Any) -> tuple[pm.Model, Any]:
    """A run as anybody makes it."""
    model = make()
    return model, sampled(model, seed, **settings)


def plain(make: Callable[[], Any], seed: int, **settings: Any) -> tuple[pm.Model, Any]:
    """A run without remedies."""
    return certified(make, seed, remedies=(), **settings)


def sampled(model: pm.Model, seed: int, **settings: Any) -> Any:
    """A result of `pm.sample`, without its warnings: the status says the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        return pm.sample(model=model, random_seed=seed, progressbar=False, **settings)


def two(place: float, weight: float, width: float = 1.0) -> Callable[[], pm.Model]:
    """A mode of this weight and width so many deviations from a wide one."""
    return partial(mixtures.model, (0.0, place), (1.0 - weight, weight), (1.0, width), 2)


def heavy_tails() -> pm.Model:
    """Ten variables of three degrees of freedom."""
    with pm.Model() as model:
        pm.StudentT("x", 3.0, 0.0, 1.0, shape=10)
    return model


def radon() -> pm.Model:
    """Counties with slopes and intercepts, non-centred."""
    rng = np.random.default_rng(5)
    county = rng.integers(0, 15, 120)
    floor = rng.random(120) < 0.3
    y = 1.5 + 0.3 * rng.normal(size=15)[county] - 0.6 * floor + 0.7 * rng.normal(size=120)
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 3.0), pm.HalfNormal("tau", 1.0)
        effect = mu + tau * pm.Normal("z", shape=15)
        pm.Normal("y", effect[county] + pm.Normal("b") * floor, pm.HalfNormal("sigma", 2.0), observed=y)
    return model


def process() -> pm.Model:
    """A Gaussian process through thirty points."""
    x = np.linspace(0.0, 1.0, 30)[:, None]
    y = np.sin(6.0 * x[:, 0]) + 0.2 * np.random.default_rng(6).normal(size=30)
    with pm.Model() as model:
        length, height = pm.InverseGamma("length", 5.0, 1.5), pm.HalfNormal("height", 2.0)
        found = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, ls=length))
        found.marginal_likelihood("y", X=x, y=y, sigma=pm.HalfNormal("sigma", 1.0))
    return model


def volatility() -> pm.Model:
    """Forty returns, their log volatilities a random walk."""
    rng = np.random.default_rng(7)
    returns = np.exp(0.5 * np.cumsum(0.2 * rng.normal(size=40))) * rng.normal(size=40)
    with pm.Model() as model:
        step = pm.Exponential("step", 5.0)
        walk = pm.Deterministic("walk", step * pt.cumsum(pm.Normal("z", shape=40)))
        pm.StudentT("y", nu=pm.Gamma("nu", 2.0, 0.1), mu=0.0, sigma=pt.exp(0.5 * walk), observed=returns)
    return model


def change_point() -> pm.Model:
    """A step in a series that has two, the place summed out."""
    values = np.random.default_rng(11).normal(0.0, 0.35, 100)
    values[30:70] += 1.0
    values[70:] += 2.0
    with pm.Model() as model:
        k = pm.DiscreteUniform("k", 1, 99)
        level = pm.Normal("level", 0.0, 3.0, shape=2)
        pm.Normal("y", pt.switch(np.arange(100) < k, level[0], level[1]), 0.5, observed=values)
    return pm.marginalize(model, "k")


def shares() -> pm.Model:
    """Counts of five kinds."""
    with pm.Model() as model:
        p = pm.Dirichlet("p", np.ones(5))
        pm.Multinomial("y", n=60, p=p, observed=[30, 15, 10, 4, 1])
    return model


def curved(data: bool) -> tuple[pm.Model, Callable[[Any], bool]]:
    """A normal variable around the square of another, perhaps with an observation that says little; cut tails."""
    with pm.Model() as model:
        b = pm.Normal("b", pm.Normal("a") ** 2, 0.1)
        if data:
            pm.Normal("y", b, 100.0, observed=[1.0])
    return model, lambda posterior: float(posterior["b"].std()) < 0.8 * np.sqrt(2.01)


def centred_schools() -> tuple[pm.Model, Callable[[Any], bool]]:
    """The 5 % quantile of tau is 0.35; that of runs which missed the neck is far above."""
    return hierarchies.schools(True), lambda posterior: float(posterior["tau"].quantile(0.05)) > 1.0


def funnel() -> tuple[pm.Model, Callable[[Any], bool]]:
    """Neal's funnel in ten dimensions; its neck unseen."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pt.exp(v / 2.0), shape=9)
    return model, lambda posterior: float(posterior["v"].std()) < 2.5


def correlated() -> pm.Model:
    """A regression on two predictors that are nearly one."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(40, 1)) + 0.2 * rng.normal(size=(40, 2))
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 3.0, shape=2)
        pm.Normal("y", pt.dot(x, beta), pm.HalfNormal("sigma", 2.0), observed=x.sum(1) + rng.normal(size=40))
    return model


def mixture_of_groups() -> pm.Model:
    """Two means in order, with a lesser mode where they share the data otherwise."""
    y = np.concatenate([np.random.default_rng(9).normal(m, 0.3, n) for m, n in ((-2.0, 20), (2.0, 20), (2.6, 4))])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0, shape=2)
        w = pm.Dirichlet("w", np.ones(2))
        pm.NormalMixture("y", w=w, mu=mu, sigma=[0.5, 0.25], observed=y)
    return model


def in_one_mode(make: Callable[[], pm.Model], values: dict[str, Any], seed: int) -> tuple[pm.Model, Any]:
    """All chains begin at one place."""
    return plain(make, seed, initvals=values, init="adapt_diag")


def lesser_mode(make: Callable[[], pm.Model], seed: int) -> tuple[pm.Model, Any]:
    """All chains begin in the second of the regions that a search finds."""
    model = make()
    density = model.log_density()
    found = find_regions(density, np.zeros(density.dimension), seed=seed, budget=20_000)
    values = density.layout.point(found.regions[1].mode)
    return model, sampled(model, seed, initvals=values, init="adapt_diag", remedies=())


def until_wrong(row: Callable[..., Any], *arguments: Any) -> Made:
    """Runs without remedies, until one is wrong as its row says."""

    def made(seed: int) -> tuple[pm.Model, Any]:
        model, wrong = row(*arguments)
        for number in range(100):
            result = sampled(model, 100 * seed + number, draws=2000, tune=1000, remedies=())
            if wrong(result.posterior):
                return model, result
        raise RuntimeError("no run of a hundred is wrong")

    return made


def mean_field(seed: int) -> tuple[pm.Model, Any]:
    """Draws of a normal approximation without correlations."""
    model = correlated()
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model, pm.fit(20_000, random_seed=seed, progressbar=False).sample(1000, random_seed=seed)


def other_data(seed: int) -> tuple[pm.Model, Any]:
    """Draws of the posterior before an observation was corrected."""
    with pm.Model() as model:
        y = pm.Data("data", [0.3, 0.9, 0.4, 13.0])
        mu = pm.Normal("mu", 0.0, 10.0)
        pm.Normal("y", mu, pm.HalfNormal("sigma", 5.0), observed=y)
    result = sampled(model, seed)
    model.set_data("data", [0.3, 0.9, 0.4, 1.3])
    return model, result


LEARNING = learning.LEARNING[learning.PLAIN].make
RIGHT: dict[str, Made] = {
    "eight schools, non-centred": partial(certified, partial(hierarchies.schools, False)),
    "logistic regression": partial(certified, hierarchies.logistic),
    "radon": partial(certified, radon),
    "two modes, 30 and 70 %": partial(certified, two(8.0, 0.3)),
    "learning": partial(certified, LEARNING),
    "Gaussian process": partial(certified, process),
    "Student-t, 3 degrees": partial(certified, heavy_tails),
    "Dirichlet": partial(certified, shares),
    "stochastic volatility": partial(certified, volatility),
    "eight schools, centred": partial(certified, partial(hierarchies.schools, True)),
    "change point, summed out": partial(certified, change_point),
}
WRONG: dict[str, Made] = {
    "learning, lesser mode": partial(lesser_mode, LEARNING),
    "two modes, in one": partial(in_one_mode, two(10.0, 0.5), {"x": np.zeros(2)}),
    "5 % at 8 sd, unseen": partial(in_one_mode, two(8.0, 0.05), {"x": np.zeros(2)}),
    "70 % in sd 0.2, unseen": partial(in_one_mode, two(6.0, 0.7, 0.2), {"x": np.zeros(2)}),
    "change point, in one": partial(in_one_mode, change_point, {"level": np.array([0.6, 2.0])}),
    "mixture, lesser labels": partial(in_one_mode, mixture_of_groups, {"mu": np.array([2.1, -2.0])}),
    "curved, tail unseen": until_wrong(curved, False),
    "curved, with data": until_wrong(curved, True),
    "eight schools, neck unseen": until_wrong(centred_schools),
    "funnel": until_wrong(funnel),
    "mean field": mean_field,
    "draws of other data": other_data,
}
ROWS: dict[str, Made] = RIGHT | WRONG


MAX_TIME = 30.0  # seconds of a challenge


def one(work: tuple[str, int]) -> Row:
    """A challenge of a result: whether it was refuted, and by what."""
    name, seed = work
    model, result = ROWS[name](seed)
    began, before = time.perf_counter(), time.process_time()
    found = pm.challenge(result, model=model, max_time=MAX_TIME, random_seed=seed, progressbar=False)
    return {
        "model": name, "seed": seed, "status": str(result.posterior.attrs.get("status", "-")),
        "refuted": bool(found.refuted), "by": [f"{a.attack}: {a.found}" for a in found.attempts if a.refuted],
        "seconds": round(time.perf_counter() - began, 2), "cpu": round(time.process_time() - before, 2),
        "words": str(found),
    }  # fmt: skip


def show(rows: Iterable[Row]) -> None:
    """Print the table, what refuted, and how often in all; results that are not certified are not among right ones."""
    of: dict[str, dict[int, Row]] = {}
    for row in rows:
        of.setdefault(row["model"], {})[row["seed"]] = row
    table = Columns("What challenges say", ("row", 28), [(name, 10) for name in ("refuted", "seconds", "")])
    for name in [name for name in ROWS if name in of]:
        runs = list(of[name].values())
        seconds, refuted = np.median([row["seconds"] for row in runs]), sum(row["refuted"] for row in runs)
        table.row(name, [f"{refuted} of {len(runs)}", f"{seconds:.1f}", "wrong" if name in WRONG else "right"])
        for line, count in Counter(f"{row['status']}: {(row['by'] or ['-'])[0]}" for row in runs).items():
            print(f"    {count} times {line}", flush=True)
    for title, names in (("right, certified", RIGHT), ("wrong", WRONG)):
        runs = [row for name in names for row in of.get(name, {}).values()]
        runs = [row for row in runs if names is WRONG or row["status"] == "converged"]
        found = Rate(sum(row["refuted"] for row in runs), len(runs))
        print(f"{title}: {found.wrong} of {found.runs} refuted, {found}")


def main() -> None:
    """Run or read."""
    groups = {"right": list(RIGHT), "wrong": list(WRONG)}
    given = parser_of("benchmarks.challenges", __doc__, [*groups, *ROWS], "results").parse_args()
    names = list(dict.fromkeys(name for one in given.models for name in groups.get(one, [one])))
    work = [(name, seed) for seed in range(given.runs) for name in names]
    show(read(given.summary) if given.summary else made(one, work, given))


if __name__ == "__main__":
    main()
