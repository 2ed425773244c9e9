"""What a run says of itself, and whether it holds: wrong certificates, false alarms, weights of modes, and the cost.

`python -m benchmarks.certificates [--runs N] [--rows ROW ...] [--seed S]`. Certified is a run that ends as "converged";
wrong is one with a mean off by more than 0.25 standard deviations, a standard deviation by more than 35 %, or a mode's
share of the draws by what its row says. A false alarm is a run of a posterior with one mode that tells of separate
regions. Models of more than one mode or of none say so in their row's limits.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.columns import Columns, verdict
from benchmarks.convergence.measure import CONVERGED, WRONG_MEAN, WRONG_SD
from consilience.errors import ConsilienceWarning, ConvergenceWarning

Wrong = Callable[[Any], bool]
STATUSES = ("converged", "converged_with_divergences", "not_converged", "chains_disagree")
REFERENCE_DRAWS = 20_000  # of each of four chains, for moments that no formula gives
OFF = 0.05  # of a mode's weight
RARE_SHARE = 0.01  # of draws, below which a mode of 5 % counts as missed
FALSE_ALARM = "separate region"


def moments(**known: tuple[npt.ArrayLike, npt.ArrayLike]) -> Wrong:
    """Whether a mean or a standard deviation of some variables is far from what is known: (mean, sd) by name."""

    def wrong(posterior: Any) -> bool:
        for name, (mean, sd) in known.items():
            draws = posterior[name].to_numpy()
            off = np.abs(draws.mean(axis=(0, 1)) - mean) / sd > WRONG_MEAN
            if np.any(off) or np.any(np.abs(draws.std(axis=(0, 1)) / sd - 1.0) > WRONG_SD):
                return True
        return False

    return wrong


def by_long_run(model: pm.Model) -> Wrong:
    """The same by a long run of fixed length, for models that are sampled without difficulty."""
    long = sampled(model, 2**31, draws=REFERENCE_DRAWS, tune=2000)["posterior"]
    known = {str(name): values.to_numpy() for name, values in long.data_vars.items()}
    return moments(**{name: (x.mean(axis=(0, 1)), x.std(axis=(0, 1))) for name, x in known.items()})


def sampled(model: pm.Model, seed: int, **settings: Any) -> Any:
    """A result of `pm.sample`, without its warnings: the status says the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ConsilienceWarning)
        return pm.sample(model=model, random_seed=seed, progressbar=False, **settings)


def mixture(places: Sequence[float], weights: Sequence[float], widths: Sequence[float], d: int = 2) -> pm.Model:
    """Normal components on the diagonal of `d` dimensions, their places in deviations of the first."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=d)
        terms = [
            np.log(w) - d * np.log(s) - 0.5 * pt.sum(((x - c / np.sqrt(d)) / s) ** 2)
            for c, w, s in zip(places, weights, widths, strict=True)
        ]
        pm.Potential("density", pt.logsumexp(pt.stack(terms)))
    return model


def share(posterior: Any, low: float, high: float = np.inf) -> float:
    """Of the draws of a mixture, those between two places on its line."""
    x = posterior["x"].to_numpy()
    along = x.sum(axis=-1) / np.sqrt(x.shape[-1])
    return float(((along > low) & (along < high)).mean())


def curved(scale: float) -> tuple[pm.Model, Wrong]:
    """A normal variable around the square of another."""
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 1.0)
        pm.Normal("b", a**2, scale)
    return model, lambda posterior: abs(float(posterior["b"].std()) / np.sqrt(2.0 + scale**2) - 1.0) > 0.2


def schools(centred: bool) -> tuple[pm.Model, Wrong]:
    """Eight schools. Runs that missed the neck of the centred model have a 5 % quantile of tau of 0.35 become 1."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        if centred:
            theta = pm.Normal("theta", mu, tau, shape=8)
        else:
            theta = mu + tau * pm.Normal("z", 0.0, 1.0, shape=8)
        pm.Normal("y", theta, errors, observed=effects)
    return model, lambda posterior: float(posterior["tau"].quantile(0.05)) > 1.0


def two_modes(place: float, weight: float, width: float, wrong: Callable[[float], bool]) -> tuple[pm.Model, Wrong]:
    """A second mode so many deviations away; `wrong` judges its share of the draws."""
    model = mixture((0.0, place), (1.0 - weight, weight), (1.0, width))
    return model, lambda posterior: wrong(share(posterior, place / 2.0))


def three_modes() -> tuple[pm.Model, Wrong]:
    """50, 30 and 20 % at 0, 8 and 16 deviations."""
    model = mixture((0.0, 8.0, 16.0), (0.5, 0.3, 0.2), (1.0, 1.0, 1.0))
    return model, lambda posterior: min(share(posterior, 4.0, 12.0), share(posterior, 12.0)) < OFF


def gaussian(d: int, condition: float) -> tuple[pm.Model, Wrong]:
    """A normal distribution whose axes are turned."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))
    cov = (rotation * np.geomspace(1.0, condition, d)) @ rotation.T
    with pm.Model() as model:
        pm.MvNormal("x", np.zeros(d), cov=cov)
    return model, moments(x=(0.0, np.sqrt(np.diag(cov))))


def autoregressive(d: int, rho: float) -> tuple[pm.Model, Wrong]:
    """A stationary sequence of standard normal variables, written by its differences."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0, shape=d)
        own = 0.5 * pt.sum(x[1:] ** 2)
        pm.Potential("rest", own - 0.5 * pt.sum((x[1:] - rho * x[:-1]) ** 2) / (1.0 - rho**2))
    return model, moments(x=(0.0, 1.0))


def poisson() -> tuple[pm.Model, Wrong]:
    """Random effects of counts, non-centred."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.exp(1.0 + rng.normal(0.0, 0.5, 20)))
    with pm.Model() as model:
        mu, scale = pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("scale", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=20)
        pm.Poisson("y", pt.exp(mu + scale * z), observed=counts)
    return model, by_long_run(model)


def logistic() -> tuple[pm.Model, Wrong]:
    """Logistic regression with eight predictors."""
    rng = np.random.default_rng(3)
    predictors = rng.normal(size=(200, 8))
    chosen = rng.random(200) < 1.0 / (1.0 + np.exp(-predictors @ rng.normal(size=8)))
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.5, shape=8)
        pm.Bernoulli("y", logit_p=pt.dot(predictors, beta), observed=chosen)
    return model, by_long_run(model)


def groups() -> tuple[pm.Model, Wrong]:
    """Fifty centred groups with much data each."""
    rng = np.random.default_rng(4)
    means = rng.normal(1.0, 2.0, 50)
    which = np.repeat(np.arange(50), 20)
    with pm.Model() as model:
        mu, tau, sigma = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 5.0), pm.HalfNormal("sigma", 2.0)
        theta = pm.Normal("theta", mu, tau, shape=50)
        pm.Normal("y", theta[which], sigma, observed=rng.normal(means[which], 1.0))
    return model, by_long_run(model)


def student(nu: float, d: int) -> tuple[pm.Model, Wrong]:
    """Heavy tails; judged by the quartiles, as there may be no moments."""
    with pm.Model() as model:
        pm.StudentT("x", nu, 0.0, 1.0, shape=d)
    from scipy.stats import t

    def wrong(posterior: Any) -> bool:
        quartiles = np.quantile(posterior["x"].to_numpy(), (0.25, 0.75), axis=(0, 1))
        return bool(np.any(np.abs(quartiles / (t.ppf((0.25, 0.75), nu))[:, None] - 1.0) > WRONG_SD))

    return model, wrong


def independent(d: int) -> tuple[pm.Model, Wrong]:
    """Standard normal variables."""
    with pm.Model() as model:
        pm.Normal("x", 0.0, 1.0, shape=d)
    return model, moments(x=(0.0, 1.0))


def simple() -> tuple[pm.Model, Wrong]:
    """Skewed and bounded variables: gamma, beta and Dirichlet."""
    a = np.array([1.0, 2.0, 3.0, 4.0])
    with pm.Model() as model:
        pm.Gamma("g", 2.0, 1.0)
        pm.Beta("b", 2.0, 5.0)
        pm.Dirichlet("p", a)
    deviations = np.sqrt(a * (10.0 - a) / (100.0 * 11.0))
    return model, moments(g=(2.0, np.sqrt(2.0)), b=(2 / 7, np.sqrt(10 / (49 * 8))), p=(a / 10.0, deviations))


def banana() -> tuple[pm.Model, Wrong]:
    """A normal variable around a parabola, as Haario, Saksman and Tamminen (1999) have it."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 10.0)
        pm.Normal("y", 0.03 * (x**2 - 100.0), 1.0)
    return model, moments(x=(0.0, 10.0), y=(0.0, np.sqrt(19.0)))


def funnel() -> tuple[pm.Model, Wrong]:
    """Neal's funnel."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pt.exp(v / 2.0), shape=9)
    return model, moments(v=(0.0, 3.0))


def learning() -> tuple[pm.Model, Wrong]:
    """A learner's sixty choices and twenty ratings, at random; the lesser two modes draw most starting points.

    They lie 11 and 16 nats below. Judged by the learning rate after losses that one has, -3.11 with sd 0.38 by
    sequential Monte Carlo of 24,000 particles; the others lie at 1.7 and -1.8.
    """
    rng = np.random.default_rng(0)
    ratings = np.delete(rng.integers(5, 45, 21), 12)
    trials = np.delete(np.arange(2, 44, 2), 12)
    rng.integers(5, 45, 12)
    choices, rewards = np.array([(rng.random() < 0.6, rng.random() < 0.5) for _ in range(60)]).astype(int).T

    def step(choice: Any, reward: Any, q: Any, v1: Any, v2: Any, e1: Any, e2: Any) -> tuple[Any, ...]:
        error = reward - q[choice]
        q = pt.set_subtensor(q[choice], q[choice] + pt.switch(error < 0, loss, gain) * error)
        values = w[0] + w[1] * q[choice] + w[1] ** 2 * v1 + w[1] ** 3 * v2
        return q, q[choice], v1, error, e1, values + w[2] * error + w[2] ** 2 * e1 + w[2] ** 3 * e2

    with pm.Model() as model:
        noise, rates = pm.Exponential("noise", 0.75), pm.Normal("rates", shape=2)
        w = pm.Normal("w", shape=4)
        gain, loss = pm.math.invlogit(rates[0]), pm.math.invlogit(rates[1])
        zero = pt.constant(0.0)
        q, *_, rated = pm.scan(
            step, [choices, rewards], [pt.zeros(2), zero, zero, zero, zero, None], return_updates=False
        )
        pm.Bernoulli("choice", pm.math.invlogit((q[:-1, 1] - q[:-1, 0]) / noise), observed=choices[1:])
        rate = pm.math.invlogit((rated + w[3] * rewards)[trials - 1])
        pm.Binomial("rating", n=50, p=rate, observed=ratings)
    return model, lambda posterior: abs(float(posterior["rates"][..., 0].mean()) + 3.11) > 0.2


def improper(kind: str) -> tuple[pm.Model, Wrong]:
    """A posterior without a normalisation; any certificate is wrong."""
    with pm.Model() as model:
        match kind:
            case "flat":
                pm.Flat("x")
            case "flat in 5":
                pm.Flat("x", shape=5)
            case "half flat":
                pm.HalfFlat("x")
            case "one of three unseen":
                x = pm.Flat("x", shape=3)
                pm.Normal("y", x[:2], 1.0, observed=[0.3, -0.4])
            case "ridge":
                x = pm.Flat("x", shape=2)
                pm.Normal("y", x[0] + x[1], 1.0, observed=[0.1, 0.5, -0.3])
            case "exponential":
                pm.Potential("density", pm.Flat("x"))
            case "power 0.9":
                pm.Potential("density", -0.45 * pt.log1p(pm.Flat("x") ** 2))
            case "scale of one datum":
                sigma = pm.HalfFlat("sigma")
                pm.Potential("prior", -pt.log(sigma))
                pm.Normal("y", pm.Flat("mu"), sigma, observed=[0.7])
            case "separated classes":
                beta = pm.Flat("beta", shape=2)
                at = np.linspace(-1.0, 1.0, 10)
                pm.Bernoulli("y", logit_p=beta[0] + beta[1] * at, observed=at > 0.0)
            case "counts of nothing":
                pm.Poisson("y", pt.exp(pm.Flat("rate")), observed=[0, 0, 0])
            case "groups with 1/tau":
                tau = pm.HalfFlat("tau")
                pm.Potential("prior", -pt.log(tau))
                theta = pm.Normal("theta", pm.Flat("mu"), tau, shape=8)
                pm.Normal("y", theta, 10.0, observed=[28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    return model, lambda _: True


IMPROPER = (
    "flat",
    "flat in 5",
    "half flat",
    "one of three unseen",
    "ridge",
    "exponential",
    "power 0.9",
    "scale of one datum",
    "separated classes",
    "counts of nothing",
    "groups with 1/tau",
)


@dataclass
class Tally:
    """What the runs of a row came to; `wrong` counts certified runs, `well_weighted` all."""

    runs: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    alarms: int = 0
    well_weighted: int = 0
    gradients: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Study:
    """A row: a model with what is wrong of it, and what the shares of its runs must be.

    runs       as many as `--runs` does not say otherwise
    wrong      most certified and wrong ones
    certified  least certified ones
    alarms     whether the posterior has one mode, so that no run may tell of several
    weighted   least ones whose second mode has its weight within 0.05; `weight` is that, right of `beyond`
    silent     False: none may be certified at all
    """

    make: Callable[[], tuple[pm.Model, Wrong]]
    runs: int = 100
    wrong: float | None = None
    certified: float | None = None
    alarms: bool = False
    silent: bool = True
    weighted: float | None = None
    weight: float = 0.3
    beyond: float = 5.0
    settings: dict[str, Any] = field(default_factory=dict)

    def tally(self, runs: int, seed: int) -> Tally:
        """Sample."""
        model, is_wrong = self.make()
        settings = dict(self.settings)
        step = settings.pop("step", None)
        tally = Tally()
        model.log_density()
        for i in range(runs):
            began = time.perf_counter()
            with model:
                result = sampled(model, seed + i, **settings, **({"step": step()} if step else {}))
            tally.seconds.append(time.perf_counter() - began)
            posterior = result["posterior"]
            tally.runs += 1
            tally.statuses[result.status] += 1
            tally.gradients.append(int(posterior.attrs["gradients"]))
            tally.wrong += result.status == CONVERGED and is_wrong(posterior)
            tally.alarms += self.alarms and FALSE_ALARM in result.reason
            if result.reason:
                tally.reasons[result.reason] += 1
            if self.weighted is not None:
                tally.well_weighted += abs(share(posterior, self.beyond) - self.weight) <= OFF
        return tally

    def limits(self) -> str:
        """What is asked, in words."""
        asked = [
            "" if self.wrong is None else f"wrong <= {self.wrong:.0%}",
            "" if self.certified is None else f"certified >= {self.certified:.0%}",
            "no alarm" if self.alarms else "",
            "" if self.silent else "certified 0",
            "" if self.weighted is None else f"weighted >= {self.weighted:.0%}",
        ]
        return ", ".join(filter(None, asked))

    def kept(self, tally: Tally) -> bool:
        """Whether a tally has all of it."""
        certified = tally.statuses[CONVERGED]
        return (
            (self.wrong is None or tally.wrong <= self.wrong * tally.runs)
            and (self.certified is None or certified >= self.certified * tally.runs)
            and not tally.alarms
            and (self.silent or not certified)
            and (self.weighted is None or tally.well_weighted >= self.weighted * tally.runs)
        )


smooth = partial(Study, wrong=0.02, certified=0.95, alarms=True)
one_mode = partial(Study, wrong=0.02, alarms=True)
ROWS: dict[str, Study] = {
    "curved, 0.3": one_mode(partial(curved, 0.3), 200),
    "curved, 0.1": one_mode(partial(curved, 0.1), 200),
    "schools, centred": Study(partial(schools, True), 200, wrong=0.0, alarms=True),
    "5 % at 5 sd": Study(partial(two_modes, 5.0, 0.05, 1.0, lambda s: s < RARE_SHARE), 200, wrong=0.02),
    "5 % at 6 sd": Study(partial(two_modes, 6.0, 0.05, 1.0, lambda s: s < RARE_SHARE), 200, wrong=0.02),
    "5 % at 8 sd": Study(partial(two_modes, 8.0, 0.05, 1.0, lambda s: abs(s - 0.05) > 0.04), 200, wrong=0.02),
    "two modes at 10 sd": Study(partial(two_modes, 10.0, 0.5, 1.0, lambda s: abs(s - 0.5) > 0.25), 200, wrong=0.02),
    "three modes": Study(three_modes, 200, wrong=0.02),
    "learning": Study(learning, 400, wrong=0.0),
    "learning, one chain": Study(learning, 100, wrong=0.0, settings={"chains": 1}),
    "learning, fixed": Study(learning, 100, wrong=0.0, settings={"draws": 1000, "tune": 1000}),
    "70 % in sd 0.2": Study(partial(two_modes, 6.0, 0.7, 0.2, lambda s: abs(s - 0.7) > 0.2), 200, wrong=0.15),
    "gaussian, d = 50": smooth(partial(gaussian, 50, 1e4)),
    "independent, d = 10": smooth(partial(independent, 10), 200),
    "independent, d = 200": smooth(partial(independent, 200), 50),
    "skewed and bounded": smooth(simple, 200),
    "schools, non-centred": one_mode(partial(schools, False), 200),
    "poisson effects": smooth(poisson, 200),
    "logistic regression": smooth(logistic),
    "fifty groups": smooth(groups, 50),
    "AR(1), rho 0.9": smooth(partial(autoregressive, 50, 0.9)),
    "AR(1), rho 0.999": one_mode(partial(autoregressive, 50, 0.999), 20),
    "Student-t, 3": smooth(partial(student, 3.0, 10)),
    "Student-t, 2": one_mode(partial(student, 2.0, 3)),
    "Cauchy": one_mode(partial(student, 1.0, 2)),
    "banana": one_mode(banana),
    "funnel": one_mode(funnel, 20),
    "70/30 at 10 sd, jumps": Study(
        partial(two_modes, 10.0, 0.3, 1.0, lambda s: abs(s - 0.3) > 0.1), weighted=0.9, settings={"jumps": "auto"}
    ),
    "70/30 at 10 sd, tempering": Study(
        partial(two_modes, 10.0, 0.3, 1.0, lambda s: abs(s - 0.3) > 0.1),
        weighted=0.9,
        settings={"step": pm.ParallelTempering},
    ),
    "5 % at 8 sd, jumps": Study(
        partial(two_modes, 8.0, 0.05, 1.0, lambda s: abs(s - 0.05) > 0.04),
        weighted=0.9,
        weight=0.05,
        beyond=4.0,
        settings={"jumps": "auto"},
    ),
    "three modes, jumps": Study(three_modes, certified=0.95, wrong=0.02, settings={"jumps": "auto"}),
    **{f"improper: {kind}": Study(partial(improper, kind), 5, silent=False) for kind in IMPROPER},
}


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="runs of each row, in place of those of the table")
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run; the next ones follow")
    parser.add_argument("--reasons", action="store_true", help="also the reason that most runs of a row gave")
    options = parser.parse_args()
    numbers = ("converged", "with divergences", "not", "disagree", "wrong", "alarms", "weighted", "gradients", "ms")
    columns = [("runs", 4), *((name, 5) for name in numbers), ("limits", 44), ("", 6)]
    table = Columns("What runs say of themselves", ("row", 32), columns)
    for name in options.rows:
        study = ROWS[name]
        tally = study.tally(options.runs or study.runs, options.seed)
        cells = [
            str(tally.runs),
            *(str(tally.statuses[status]) for status in STATUSES),
            str(tally.wrong),
            str(tally.alarms) if study.alarms else "-",
            "-" if study.weighted is None else str(tally.well_weighted),
            f"{np.median(tally.gradients):.0f}",
            f"{1e3 * np.median(tally.seconds):.0f}",
            study.limits(),
            verdict(study.kept(tally)),
        ]
        table.row(name, cells)
        if options.reasons and tally.reasons:
            print(f"    {tally.reasons.most_common(1)[0][0]}")


if __name__ == "__main__":
    main()
