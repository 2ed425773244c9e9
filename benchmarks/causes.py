"""Situations whose trouble has a known cause: how many of them a run names rightly, with the parameter.

`python -m benchmarks.causes` runs all and prints a table; `--only NAME …` some of them, `--seeds 1 2 3` with other
random numbers. A cause is named rightly if its kind and one of the parameters are those that the situation was made
with.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

import consilience as pm
import consilience.tensor as pt


class Situation(NamedTuple):
    """A model in trouble, the kinds of cause that are right, the parameters that are, and how it is sampled."""

    build: Callable[[np.random.Generator], None]
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    settings: dict[str, Any]


SHORT: Final = {"stop": pm.Stop(max_draws=2000, max_time=20.0)}
FIXED: Final = {"draws": 1000, "tune": 1000}
SITUATIONS: dict[str, Situation] = {}


def situation(kinds: str, names: str = "", **settings: Any) -> Callable[..., Callable[[np.random.Generator], None]]:
    """Enter a function that writes the model in a context."""

    def enter(build: Callable[[np.random.Generator], None]) -> Callable[[np.random.Generator], None]:
        row = Situation(build, tuple(kinds.split()), tuple(names.split()), settings or SHORT)
        SITUATIONS[build.__name__.replace("_", " ")] = row
        return build

    return enter


@situation("neck", "tau theta", **FIXED)
def eight_schools_centred(rng: np.random.Generator) -> None:
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, [15, 10, 16, 11, 9, 11, 10, 18], observed=[28, 8, -3, 7, -1, 1, 18, 12])


@situation("neck", "v x", **FIXED)
def neals_funnel(rng: np.random.Generator) -> None:
    v = pm.Normal("v", 0, 3)
    pm.Normal("x", 0, pt.exp(v / 2), shape=9)


@situation("neck", "s slope", **FIXED)
def slopes_of_many_small_groups(rng: np.random.Generator) -> None:
    group, x = np.repeat(np.arange(30), 2), rng.normal(size=60)
    s = pm.HalfNormal("s", 1)
    slope = pm.Normal("slope", pm.Normal("middle", 0, 1), s, shape=30)
    pm.Normal("y", slope[group] * x, 2, observed=rng.normal(size=60))


@situation("edge", "theta")
def bound_of_a_uniform_known_from_data(rng: np.random.Generator) -> None:
    pm.Uniform("y", 0, pm.HalfNormal("theta", 20), observed=rng.uniform(0, 10, 50))


@situation("edge", "shift")
def exponential_with_a_shift(rng: np.random.Generator) -> None:
    y = 3.0 + rng.exponential(1, 80)
    shift = pm.Normal("shift", 0, 10)
    pm.Potential("y", pt.sum(pt.switch(y > shift, -(y - shift), -np.inf)))


@situation("edge", "m")
def scale_of_a_pareto(rng: np.random.Generator) -> None:
    pm.Pareto("y", alpha=3, m=pm.HalfNormal("m", 10), observed=2.0 * (1 + rng.pareto(3, 60)))


@situation("edge", "a b", **FIXED)
def an_order_asked_for_by_a_potential(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Normal("y", a - b, 0.3, observed=[0.1, -0.1])
    pm.Potential("order", pt.switch(a < b, 0.0, -np.inf))


@situation("edge", "a b y")
def probabilities_that_sum_to_1_at_the_start_alone(rng: np.random.Generator) -> None:
    a, b = pm.Uniform("a", 0, 1, initval=0.5), pm.Uniform("b", 0, 1, initval=0.5)
    pm.Multinomial("y", n=10, p=pt.stack([a, b]), observed=[4, 6])


@situation("tails", "beta", **FIXED)
def separated_classes_with_cauchy_priors(rng: np.random.Generator) -> None:
    x = np.linspace(-2, 2, 20)
    pm.Bernoulli("y", logit_p=pm.Cauchy("beta", 0, 2.5) * x, observed=(x > 0).astype(int))


@situation("tails", "x", **FIXED)
def ten_cauchy_variables(rng: np.random.Generator) -> None:
    pm.Cauchy("x", 0, 1, shape=10)


@situation("tails", "effect", **FIXED)
def an_effect_without_data(rng: np.random.Generator) -> None:
    effect, base = pm.StudentT("effect", nu=1, mu=0, sigma=5, shape=2), pm.Normal("base", 0, 1)
    pm.Normal("y", base + 0.0 * effect.sum(), 1, observed=rng.normal(size=20))


@situation("jump", "tau", stop=pm.Stop(max_draws=1000, max_time=15.0))
def a_change_point_in_continuous_time(rng: np.random.Generator) -> None:
    t = np.linspace(0, 10, 60)
    tau, level = pm.Uniform("tau", 0, 10), pm.Normal("level", 0, 2, shape=2)
    speed = pm.LogNormal("speed", 0, 0.05)  # so that it is not summed over intervals: these move with it
    y = np.where(t < 4, 0, 2) + rng.normal(size=60) / 2
    pm.Normal("y", pt.switch(t * speed < tau, level[0], level[1]), 0.5, observed=y)


@situation("jump", "k", **FIXED)
def a_rounded_parameter(rng: np.random.Generator) -> None:
    k = pm.Normal("k", 3, 2, shape=12)
    pm.Normal("y", pt.floor(k), 0.35, observed=rng.integers(1, 5, 12))


@situation("jump", "low high", **FIXED)
def two_thresholds(rng: np.random.Generator) -> None:
    x = rng.uniform(0, 10, 80)
    low, high = pm.Uniform("low", 0, 5), pm.Uniform("high", 5, 10)
    pm.Normal(
        "y", pt.switch((x > low) & (x < high), 1.5, 0.0), 1, observed=1.5 * ((x > 3) & (x < 7)) + rng.normal(size=80)
    )


@situation("improper", "beta")
def separated_classes_with_flat_priors(rng: np.random.Generator) -> None:
    x = np.linspace(-2, 2, 20)
    pm.Bernoulli("y", logit_p=pm.Flat("beta") * x, observed=(x > 0).astype(int))


@situation("improper dependence", "a b")
def two_intercepts(rng: np.random.Generator) -> None:
    pm.Normal("y", pm.Flat("a") + pm.Flat("b"), 1, observed=rng.normal(size=20))


@situation("improper", "alpha", stop=pm.Stop(max_time=200.0))
def counts_without_overdispersion(rng: np.random.Generator) -> None:
    pm.NegativeBinomial("y", mu=pm.HalfNormal("mu", 10), alpha=pm.HalfFlat("alpha"), observed=rng.binomial(20, 0.3, 60))


@situation("spike improper", "sigma")
def the_same_value_five_times(rng: np.random.Generator) -> None:
    pm.Normal("y", pm.Normal("mu", 0, 5), pm.HalfFlat("sigma"), observed=np.full(5, 2.0))


@situation("spike improper", "sigma")
def a_line_through_all_points(rng: np.random.Generator) -> None:
    x = np.arange(4.0)
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Normal("y", a + b * x, pm.HalfFlat("sigma"), observed=1 + 2 * x)


@situation("labels", "mu", chains=8, draws=600, tune=600, remedies=())
def components_without_an_order(rng: np.random.Generator) -> None:
    mu = pm.Normal("mu", 0, 5, shape=2)
    y = np.concatenate([rng.normal(-3, 1, 60), rng.normal(3, 1, 60)])
    pm.NormalMixture("y", w=[0.5, 0.5], mu=mu, sigma=1.0, observed=y)


@situation("signs", "loading ability", remedies=(), **FIXED)
def loadings_without_a_sign(rng: np.random.Generator) -> None:
    answers = rng.normal(np.outer(rng.normal(size=30), [0.8, 1.0, 1.2, 1.4]), 0.5)
    ability, loading = pm.Normal("ability", 0, 1, shape=30), pm.Normal("loading", 0, 2, shape=4)
    pm.Normal("y", ability[:, None] * loading, 0.5, observed=answers)


@situation("rotations", "loadings scores", remedies=(), **FIXED)
def loadings_that_may_be_rotated(rng: np.random.Generator) -> None:
    answers = rng.normal(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)), 0.5)
    scores, loadings = pm.Normal("scores", 0, 1, shape=(40, 2)), pm.Normal("loadings", 0, 1, shape=(6, 2))
    pm.Normal("y", scores @ loadings.T, 0.5, observed=answers)


@situation("regions", "", chains=8, draws=600, tune=600, remedies=())
def two_places_of_a_source(rng: np.random.Generator) -> None:
    place = pm.Normal("place", 0, 10)
    pm.Normal("y", place**2 + 0.1 * place, 0.1, observed=[36.0, 36.1])


@situation("few", "", draws=40, tune=100)
def forty_draws(rng: np.random.Generator) -> None:
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, [15, 10, 16, 11, 9, 11, 10, 18], observed=[28, 8, -3, 7, -1, 1, 18, 12])


@situation("steps dependence", "x y", **FIXED)
def a_curved_ridge(rng: np.random.Generator) -> None:
    x = pm.Normal("x", 0, 3)
    pm.Normal("y", x**2, 0.02)


@situation("overflow steps", "y rate", **FIXED)
def a_rate_that_overflows(rng: np.random.Generator) -> None:
    rate = pm.Normal("rate", 0, 400)
    pm.Potential("y", pt.log(pt.cosh(rate) / pt.cosh(rate + 1)))


def look(row: Situation, seed: int) -> tuple[str, str, str, float]:
    """The kind of cause that a run names, the reason and the advice it gives, and its processor time in seconds."""
    from consilience.sample import causes

    kinds: list[str] = []
    before = causes.cause_of

    def noting(work: Any, run: Any) -> Any:
        cause = before(work, run)
        kinds.append(cause.kind if cause else "none")
        kinds.extend(cause.names if cause else ())
        return cause

    with pm.Model() as model:
        row.build(np.random.default_rng(seed))
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        causes.cause_of = noting
        try:
            result = pm.sample(model=model, random_seed=seed, progressbar=False, **row.settings)
        finally:
            causes.cause_of = before
    return " ".join(kinds) or result.status, result.reason, result.advice, time.process_time() - began


def right(row: Situation, told: str) -> bool:
    """Whether kind and a parameter are those of the situation."""
    kind, *names = told.split()
    return kind in row.kinds and (not row.names or not set(row.names).isdisjoint(names))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--words", action="store_true", help="print reasons and advice, too")
    chosen = parser.parse_args()
    good = count = 0
    for name, row in SITUATIONS.items():
        if chosen.only and not any(part in name for part in chosen.only):
            continue
        for seed in chosen.seeds:
            told, reason, advice, seconds = look(row, seed)
            count += 1
            good += right(row, told)
            mark = "right" if right(row, told) else "WRONG"
            print(f"{mark}  {name:<52} {told:<28} {seconds:6.1f} s", flush=True)
            if chosen.words:
                print(f"       {reason}\n       -> {advice}")
    print(f"{good} of {count} named rightly")


if __name__ == "__main__":
    main()
