"""Programs that draw in loops, each with its density written out in NumPy: rows of `test_series.py`.

A program is a function (theta, size) of one number; a reference is a function (theta, series) of NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node
from consilience.record import Record

STEPS = 7
norm = stats.norm
SEEN = np.array([0.3, -1.2, 0.8, 0.1, 2.0, -0.4, 1.1])
REGIMES = np.array([0, 1, 1, 0, 1, 0, 0])
FACTOR = np.array([[1.0, 0.0], [0.4, 0.7]])
LAGGED = np.array([[0.5, 0.1], [-0.2, 0.3]])
CHAIN = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]])


class Pattern(Record, eq=False):
    """One program.

    Parameters
    ----------
    theta : float
        Where it is tried.
    discrete : bool
        Whether its series are masses, or have points of positive mass.
    """

    program: Callable[..., Node]
    reference: Callable[[float, Any], float]
    theta: float = 0.5
    discrete: bool = False


def scan(*arguments: Any, **named: Any) -> Any:
    """A loop of `STEPS` steps, without updates."""
    named.setdefault("n_steps", STEPS)
    return pm.scan(*arguments, **named, return_updates=False)


def before(x: Any, first: float = 0.0) -> Any:
    """The series one step later."""
    return np.r_[first, x[:-1]]


def walk(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Normal.dist(x, theta), outputs_info=pt.as_tensor(0.0))


def drifting_walk(theta: Node, size: Any) -> Node:
    return scan(lambda x: x + theta + pm.Normal.dist(0.0, 0.7), outputs_info=pt.as_tensor(0.2))


def student_walk(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.StudentT.dist(4.0, x, theta), outputs_info=pt.as_tensor(0.0))


def first_order(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Normal.dist(theta * x, 1.3), outputs_info=pt.as_tensor(1.0))


def second_order(theta: Node, size: Any) -> Node:
    return scan(
        lambda two, one: pm.Normal.dist(theta * one - 0.3 * two, 1.0),
        outputs_info={"initial": np.array([0.4, -0.2]), "taps": [-2, -1]},
    )


def _second_order(theta: float, x: Any) -> float:
    full = np.r_[0.4, -0.2, x]
    return float(norm.logpdf(x, theta * full[1:-1] - 0.3 * full[:-2]).sum())


def textbook(theta: Node, size: Any) -> Node:
    """First values that are random, joined to the loop: `pm.AR`."""
    first = pm.Normal.dist(0.0, 2.0, size=3)
    later = scan(
        lambda three, two, one: pm.Normal.dist(theta * one + 0.2 * two - 0.1 * three, 0.9),
        outputs_info={"initial": first, "taps": [-3, -2, -1]},
        n_steps=STEPS - 3,
    )
    return pt.concatenate([first, later])


def _textbook(theta: float, x: Any) -> float:
    own = pm.AR.dist([theta, 0.2, -0.1], 0.9, init_dist=pm.Normal.dist(0.0, 2.0), steps=STEPS - 3)
    return float(pm.logp(own, x).eval())


def log_normal_growth(theta: Node, size: Any) -> Node:
    return scan(lambda x: pt.exp(pm.Normal.dist(theta * pt.log(x), 0.5)), outputs_info=pt.as_tensor(2.0))


def logistic_normal(theta: Node, size: Any) -> Node:
    return scan(lambda x: pt.sigmoid(pm.Normal.dist(theta * x, 1.0)), outputs_info=pt.as_tensor(0.3))


def _logistic_normal(theta: float, x: Any) -> float:
    return float((norm.logpdf(np.log(x / (1 - x)), theta * before(x, 0.3)) - np.log(x) - np.log1p(-x)).sum())


def epidemic(theta: Node, size: Any) -> Node:
    """New infections are drawn; who is susceptible and infectious is carried."""

    def step(susceptible: Node, infectious: Node) -> list[Node]:
        new = pm.LogNormal.dist(pt.log(theta * susceptible * infectious / 100.0), 0.2)
        return [new, susceptible - new, infectious + new - 0.3 * infectious]

    return scan(step, outputs_info=[None, pt.as_tensor(90.0), pt.as_tensor(5.0)])[0]


def _epidemic(theta: float, x: Any) -> float:
    s, i, total = 90.0, 5.0, 0.0
    for new in x:
        total += stats.lognorm.logpdf(new, 0.2, scale=theta * s * i / 100.0)
        s, i = s - new, i + new - 0.3 * i
    return float(total)


def garch(theta: Node, size: Any) -> Node:
    first = pm.Normal.dist(0.0, 1.1)

    def step(x: Node, variance: Node) -> list[Node]:
        variance = 0.2 + theta * x**2 + 0.3 * variance
        return [pm.Normal.dist(0.0, pt.sqrt(variance)), variance]

    later = scan(step, outputs_info=[first, pt.as_tensor(1.21)], n_steps=STEPS - 1)[0]
    return pt.concatenate([first[None], later])


def _garch(theta: float, x: Any) -> float:
    return float(pm.logp(pm.GARCH11.dist(0.2, theta, 0.3, 1.1, steps=STEPS - 1), x).eval())


def leverage(theta: Node, size: Any) -> Node:
    """GJR-GARCH: falls raise the variance more than rises."""

    def step(x: Node, variance: Node) -> list[Node]:
        variance = 0.1 + (0.1 + theta * (x < 0.0)) * x**2 + 0.5 * variance
        return [pm.Normal.dist(0.0, pt.sqrt(variance)), variance]

    return scan(step, outputs_info=[pt.as_tensor(-0.5), pt.as_tensor(1.0)])[0]


def _leverage(theta: float, x: Any) -> float:
    variance, total = 1.0, 0.0
    for last, now in zip(before(x, -0.5), x, strict=True):
        variance = 0.1 + (0.1 + theta * (last < 0.0)) * last**2 + 0.5 * variance
        total += norm.logpdf(now, 0.0, np.sqrt(variance))
    return float(total)


def vectors(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.MvNormal.dist(theta * (LAGGED @ x), chol=FACTOR), outputs_info=pt.as_tensor([0.1, 0.2]))


def _vectors(theta: float, x: Any) -> float:
    mean = theta * np.vstack([[0.1, 0.2], x[:-1]]) @ LAGGED.T
    return float(sum(stats.multivariate_normal.logpdf(a, m, FACTOR @ FACTOR.T) for a, m in zip(x, mean, strict=True)))


def side_by_side(theta: Node, size: Any) -> Node:
    """Three series, one step of all at once."""
    return scan(lambda x: pm.Normal.dist(theta * x, [1.0, 2.0, 0.5]), outputs_info=pt.as_tensor([0.0, 1.0, -1.0]))


def _side_by_side(theta: float, x: Any) -> float:
    return float(norm.logpdf(x, theta * np.vstack([[0.0, 1.0, -1.0], x[:-1]]), [1.0, 2.0, 0.5]).sum())


def switching(theta: Node, size: Any) -> Node:
    means, scales = pt.stack([theta, -theta]), pt.as_tensor([0.5, 1.5])
    return scan(
        lambda regime, x: pm.Normal.dist(means[regime] + 0.5 * x, scales[regime]),
        sequences=pt.as_tensor(REGIMES),
        outputs_info=pt.as_tensor(0.0),
    )


def _switching(theta: float, x: Any) -> float:
    mean = np.array([theta, -theta])[REGIMES] + 0.5 * before(x)
    return float(norm.logpdf(x, mean, np.array([0.5, 1.5])[REGIMES]).sum())


def mixtures(theta: Node, size: Any) -> Node:
    def step(x: Node) -> Node:
        parts = [pm.Normal.dist(theta * x, 1.0), pm.Normal.dist(-x, 2.0)]
        return pm.Mixture.dist([0.3, 0.7], parts)

    return scan(step, outputs_info=pt.as_tensor(0.5))


def _mixtures(theta: float, x: Any) -> float:
    last = before(x, 0.5)
    return float(np.log(0.3 * norm.pdf(x, theta * last, 1.0) + 0.7 * norm.pdf(x, -last, 2.0)).sum())


def chosen(theta: Node, size: Any) -> Node:
    """A mixture by a switch that is drawn in the step."""

    def step(x: Node) -> Node:
        return pt.switch(pm.Bernoulli.dist(0.4), pm.Normal.dist(theta * x, 1.0), pm.Normal.dist(3.0, 0.5))

    return scan(step, outputs_info=pt.as_tensor(0.5))


def _chosen(theta: float, x: Any) -> float:
    return float(np.log(0.4 * norm.pdf(x, theta * before(x, 0.5)) + 0.6 * norm.pdf(x, 3.0, 0.5)).sum())


def counts(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Poisson.dist(1.0 + theta * x), outputs_info=pt.as_tensor(3))


def branching(theta: Node, size: Any) -> Node:
    """Immigration, and the mean of past counts, which is carried."""

    def step(x: Node, mean: Node) -> list[Node]:
        mean = 0.5 + 0.3 * mean + theta * x
        return [pm.NegativeBinomial.dist(mu=mean, alpha=2.0), mean]

    return scan(step, outputs_info=[pt.as_tensor(2), pt.as_tensor(1.0)])[0]


def _branching(theta: float, x: Any) -> float:
    mean, total = 1.0, 0.0
    for last, now in zip(before(x, 2), x, strict=True):
        mean = 0.5 + 0.3 * mean + theta * last
        total += stats.nbinom.logpmf(now, 2.0, 2.0 / (2.0 + mean))
    return float(total)


def binary_chain(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Bernoulli.dist(pt.switch(pt.eq(x, 1), theta, 0.2)), outputs_info=pt.as_tensor(1))


def _binary_chain(theta: float, x: Any) -> float:
    return float(stats.bernoulli.logpmf(x, np.where(before(x, 1) == 1, theta, 0.2)).sum())


def states(theta: Node, size: Any) -> Node:
    rows = (1.0 - theta) * pt.as_tensor(CHAIN) + theta / 3.0
    return scan(lambda x: pm.Categorical.dist(p=rows[x]), outputs_info=pt.as_tensor(0))


def _states(theta: float, x: Any) -> float:
    rows = (1.0 - theta) * CHAIN + theta / 3.0
    return float(np.log(rows[before(x, 0).astype(int), x.astype(int)]).sum())


def censored(theta: Node, size: Any) -> Node:
    return scan(lambda x: pt.maximum(pm.Normal.dist(theta * x, 1.0), 0.0), outputs_info=pt.as_tensor(0.5))


def _censored(theta: float, x: Any) -> float:
    mean = theta * before(x, 0.5)
    return float(np.where(x == 0.0, norm.logcdf(0.0, mean), norm.logpdf(x, mean)).sum())


def censored_by_name(theta: Node, size: Any) -> Node:
    return scan(
        lambda x: pm.Censored.dist(pm.Normal.dist(theta * x, 1.0), lower=-1.0, upper=1.0),
        outputs_info=pt.as_tensor(0.5),
    )


def _censored_by_name(theta: float, x: Any) -> float:
    mean = theta * before(x, 0.5)
    inside = np.where(x == -1.0, norm.logcdf(-1.0, mean), norm.logpdf(x, mean))
    return float(np.where(x == 1.0, norm.logsf(1.0, mean), inside).sum())


def truncated(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Truncated.dist(pm.Normal.dist(theta * x, 1.0), lower=0.0), outputs_info=pt.as_tensor(0.5))


def _truncated(theta: float, x: Any) -> float:
    mean = theta * before(x, 0.5)
    return float((norm.logpdf(x, mean) - norm.logsf(0.0, mean)).sum())


def moving_average(theta: Node, size: Any) -> Node:
    def step(error: Node) -> list[Node]:
        new = pm.Normal.dist(0.0, 0.8)
        return [1.0 + new + theta * error, new]

    return scan(step, outputs_info=[None, pt.as_tensor(0.0)])[0]


def _moving_average(theta: float, x: Any) -> float:
    error, total = 0.0, 0.0
    for now in x:
        error = now - 1.0 - theta * error
        total += norm.logpdf(error, 0.0, 0.8)
    return float(total)


def mixed_orders(theta: Node, size: Any) -> Node:
    """ARMA(1, 1)."""

    def step(x: Node, error: Node) -> list[Node]:
        new = pm.Normal.dist(0.0, 1.0)
        return [theta * x + new + 0.4 * error, new]

    return scan(step, outputs_info=[pt.as_tensor(0.2), pt.as_tensor(0.1)])[0]


def _mixed_orders(theta: float, x: Any) -> float:
    error, total = 0.1, 0.0
    for last, now in zip(before(x, 0.2), x, strict=True):
        error = now - theta * last - 0.4 * error
        total += norm.logpdf(error)
    return float(total)


def exponential_of_all(theta: Node, size: Any) -> Node:
    return pt.exp(first_order(theta, size))


def affine_of_all(theta: Node, size: Any) -> Node:
    return 3.0 - 2.0 * first_order(theta, size)


def regression_on_all(theta: Node, size: Any) -> Node:
    """An autoregression around a line: one number for each time is added."""
    return theta * pt.as_tensor(SEEN) + scan(lambda x: pm.Normal.dist(0.6 * x, 1.3), outputs_info=pt.as_tensor(1.0))


def _first_order(theta: float, x: Any) -> float:
    return float(norm.logpdf(x, theta * before(x, 1.0), 1.3).sum())


def two_outputs(theta: Node, size: Any) -> Node:
    """Log variances and values, both drawn and returned."""

    def step(h: Node) -> list[Node]:
        h = pm.Normal.dist(theta * h, 0.4)
        return [h, pm.Normal.dist(0.0, pt.exp(0.5 * h))]

    return pt.stack(scan(step, outputs_info=[pt.as_tensor(0.3), None]), axis=1)


def _two_outputs(theta: float, x: Any) -> float:
    h, y = x.T
    return float(norm.logpdf(h, theta * before(h, 0.3), 0.4).sum() + norm.logpdf(y, 0.0, np.exp(0.5 * h)).sum())


def predator_and_prey(theta: Node, size: Any) -> Node:
    """Two outputs that read each other, one below the other."""

    def step(a: Node, b: Node) -> list[Node]:
        return [pm.Normal.dist(a - theta * b, 0.5), pm.Normal.dist(b + 0.1 * a, 0.7)]

    return pt.stack(scan(step, outputs_info=[pt.as_tensor(1.0), pt.as_tensor(2.0)]))


def _predator_and_prey(theta: float, x: Any) -> float:
    (a, b), (a_last, b_last) = x, (before(x[0], 1.0), before(x[1], 2.0))
    return float(norm.logpdf(a, a_last - theta * b_last, 0.5).sum() + norm.logpdf(b, b_last + 0.1 * a_last, 0.7).sum())


def seasonal(theta: Node, size: Any) -> Node:
    return scan(
        lambda four, one: pm.Normal.dist(theta * four + 0.2 * one, 1.0),
        outputs_info={"initial": np.array([1.0, -1.0, 0.5, 0.0]), "taps": [-4, -1]},
    )


def _seasonal(theta: float, x: Any) -> float:
    full = np.r_[1.0, -1.0, 0.5, 0.0, x]
    return float(norm.logpdf(x, theta * full[:-4] + 0.2 * full[3:-1]).sum())


def regression(theta: Node, size: Any) -> Node:
    """What is known of each time, and of the one before."""
    return scan(
        lambda last, now, x: pm.Normal.dist(theta * now - 0.2 * last + 0.4 * x, 0.6),
        sequences={"input": np.r_[0.7, SEEN], "taps": [-1, 0]},
        outputs_info=pt.as_tensor(0.0),
        n_steps=None,
    )


def _regression(theta: float, x: Any) -> float:
    return float(norm.logpdf(x, theta * SEEN - 0.2 * np.r_[0.7, SEEN[:-1]] + 0.4 * before(x), 0.6).sum())


def threshold(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Normal.dist(pt.switch(x > 0.0, theta * x, 1.0 - x), 1.0), outputs_info=pt.as_tensor(0.3))


def _threshold(theta: float, x: Any) -> float:
    last = before(x, 0.3)
    return float(norm.logpdf(x, np.where(last > 0.0, theta * last, 1.0 - last)).sum())


def drifting_coefficient(theta: Node, size: Any) -> Node:
    """A carried state that no value changes."""

    def step(x: Node, rho: Node) -> list[Node]:
        return [pm.Normal.dist(rho * x, 1.0), 0.9 * rho + 0.05]

    return scan(step, outputs_info=[pt.as_tensor(1.0), theta])[0]


def _drifting_coefficient(theta: float, x: Any) -> float:
    rho, total = theta, 0.0
    for last, now in zip(before(x, 1.0), x, strict=True):
        total += norm.logpdf(now, rho * last)
        rho = 0.9 * rho + 0.05
    return float(total)


def without_past(theta: Node, size: Any) -> Node:
    return scan(lambda: pm.Gamma.dist(theta, 2.0), outputs_info=None)


def durations(theta: Node, size: Any) -> Node:
    """Waiting times whose mean follows the last ones."""

    def step(x: Node, mean: Node) -> list[Node]:
        mean = 0.1 + theta * x + 0.3 * mean
        return [pm.Exponential.dist(scale=mean), mean]

    return scan(step, outputs_info=[pt.as_tensor(1.0), pt.as_tensor(1.0)])[0]


def _durations(theta: float, x: Any) -> float:
    mean, total = 1.0, 0.0
    for last, now in zip(before(x, 1.0), x, strict=True):
        mean = 0.1 + theta * last + 0.3 * mean
        total += stats.expon.logpdf(now, scale=mean)
    return float(total)


def running_sum(theta: Node, size: Any) -> Node:
    """The sum of all values so far, which two states carry."""

    def step(total: Node, count: Node) -> list[Node]:
        x = pm.Normal.dist(theta * total / count, 1.0)
        return [x, total + x, count + 1.0]

    return scan(step, outputs_info=[None, pt.as_tensor(1.0), pt.as_tensor(1.0)])[0]


def _running_sum(theta: float, x: Any) -> float:
    total, count = 1.0 + np.cumsum(np.r_[0.0, x[:-1]]), 1.0 + np.arange(STEPS)
    return float(norm.logpdf(x, theta * total / count).sum())


def reversed_time(theta: Node, size: Any) -> Node:
    return scan(
        lambda now, x: pm.Normal.dist(theta * x + now, 1.0),
        sequences=pt.as_tensor(SEEN),
        outputs_info=pt.as_tensor(0.0),
        go_backwards=True,
    )


def sum_in_step(theta: Node, size: Any) -> Node:
    return scan(lambda x: pm.Normal.dist(theta * x, 0.6) + pm.Normal.dist(1.0, 0.8), outputs_info=pt.as_tensor(0.4))


def rows_of_cells(theta: Node, size: Any) -> Node:
    """A loop within the step of a loop: a table in which each cell follows the one above and the one to its left."""

    def row(above: Node) -> Node:
        return scan(
            lambda up, left: pm.Normal.dist(theta * left + 0.3 * up, 1.0),
            sequences=above,
            outputs_info=pt.as_tensor(0.0),
            n_steps=3,
        )

    return scan(row, outputs_info=pt.as_tensor([0.1, 0.2, 0.3]), n_steps=4)


def _rows_of_cells(theta: float, x: Any) -> float:
    above, left = np.vstack([[0.1, 0.2, 0.3], x[:-1]]), np.column_stack([np.zeros(4), x[:, :-1]])
    return float(norm.logpdf(x, theta * left + 0.3 * above).sum())


PATTERNS = {
    "walk": Pattern(walk, lambda t, x: norm.logpdf(x, before(x), t).sum()),
    "walk with drift": Pattern(drifting_walk, lambda t, x: norm.logpdf(x, before(x, 0.2) + t, 0.7).sum()),
    "Student-t walk": Pattern(student_walk, lambda t, x: stats.t.logpdf(x, 4.0, before(x), t).sum()),
    "AR(1)": Pattern(first_order, _first_order),
    "AR(2) by taps": Pattern(second_order, _second_order),
    "AR(3) with random first values": Pattern(textbook, _textbook),
    "exp of a normal": Pattern(
        log_normal_growth, lambda t, x: stats.lognorm.logpdf(x, 0.5, scale=before(x, 2.0) ** t).sum()
    ),
    "sigmoid of a normal": Pattern(logistic_normal, _logistic_normal),
    "SIR": Pattern(epidemic, _epidemic),
    "GARCH": Pattern(garch, _garch),
    "GARCH with leverage": Pattern(leverage, _leverage, 0.3),
    "VAR": Pattern(vectors, _vectors),
    "series side by side": Pattern(side_by_side, _side_by_side),
    "known regimes": Pattern(switching, _switching),
    "mixture": Pattern(mixtures, _mixtures),
    "drawn switch": Pattern(chosen, _chosen),
    "counts of past counts": Pattern(
        counts, lambda t, x: stats.poisson.logpmf(x, 1.0 + t * before(x, 3)).sum(), discrete=True
    ),
    "counts with a carried mean": Pattern(branching, _branching, discrete=True),
    "binary chain": Pattern(binary_chain, _binary_chain, discrete=True),
    "chain of states": Pattern(states, _states, discrete=True),
    "censored by maximum": Pattern(censored, _censored, discrete=True),
    "censored": Pattern(censored_by_name, _censored_by_name, discrete=True),
    "truncated": Pattern(truncated, _truncated),
    "MA(1)": Pattern(moving_average, _moving_average),
    "ARMA(1, 1)": Pattern(mixed_orders, _mixed_orders),
    "exp of all": Pattern(exponential_of_all, lambda t, x: _first_order(t, np.log(x)) - np.log(x).sum()),
    "affine of all": Pattern(affine_of_all, lambda t, x: _first_order(t, (3.0 - x) / 2.0) - STEPS * np.log(2.0)),
    "regression on all": Pattern(regression_on_all, lambda t, x: _first_order(0.6, x - t * SEEN)),
    "two outputs": Pattern(two_outputs, _two_outputs),
    "two outputs that read each other": Pattern(predator_and_prey, _predator_and_prey),
    "seasonal": Pattern(seasonal, _seasonal),
    "regression": Pattern(regression, _regression),
    "threshold": Pattern(threshold, _threshold),
    "drifting coefficient": Pattern(drifting_coefficient, _drifting_coefficient),
    "without past": Pattern(without_past, lambda t, x: stats.gamma.logpdf(x, t, scale=0.5).sum()),
    "durations": Pattern(durations, _durations),
    "running sum": Pattern(running_sum, _running_sum),
    "backwards": Pattern(reversed_time, lambda t, x: norm.logpdf(x, t * before(x) + SEEN[::-1]).sum()),
    "sum in the step": Pattern(sum_in_step, lambda t, x: norm.logpdf(x, t * before(x, 0.4) + 1.0, 1.0).sum()),
    "loop in a loop": Pattern(rows_of_cells, _rows_of_cells),
}
