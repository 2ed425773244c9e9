"""A learner's choices and ratings, a kind of model that studies of learning fit: three modes, two of them traps.

Sixty choices between two sides with rewards, twenty ratings that follow powers of two weights; data are random numbers.
The modes lie at log densities of -172, -183 and -188; from draws of the prior L-BFGS comes to them in 15, 49 and 35 %.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import particles
from benchmarks.certificates.target import Draws, Target

STEPS, LEFT_OUT = 60, 12


def data(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Choices and rewards (60,), trials (20,) of the ratings, ratings (20,) from 5 to 44."""
    rng = np.random.default_rng(seed)
    ratings = np.delete(rng.integers(5, 45, 21), LEFT_OUT)
    trials = np.delete(np.arange(2, 44, 2), LEFT_OUT)
    rng.integers(5, 45, 12)
    choices, rewards = np.array([(rng.random() < 0.6, rng.random() < 0.5) for _ in range(STEPS)]).astype(int).T
    return choices, rewards, trials, ratings


def model(beside: int = 0) -> pm.Model:
    """The model, with so many independent normal variables beside it."""
    choices, rewards, trials, ratings = data()

    def step(choice: Any, reward: Any, q: Any, v1: Any, v2: Any, e1: Any, e2: Any) -> tuple[Any, ...]:
        error = reward - q[choice]
        q = pt.set_subtensor(q[choice], q[choice] + pt.switch(error < 0, loss, gain) * error)
        values = w[0] + w[1] * q[choice] + w[1] ** 2 * v1 + w[1] ** 3 * v2
        return q, q[choice], v1, error, e1, values + w[2] * error + w[2] ** 2 * e1 + w[2] ** 3 * e2

    with pm.Model() as built:
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
        if beside:
            pm.Normal("beside", shape=beside)
    return built


def of_interest(draws: Draws) -> Draws:
    """Without the variables beside."""
    return {name: draws[name] for name in ("noise", "rates", "w")}


def learning(beside: int = 0, **more: Any) -> Target:
    """With the truth of the plain one."""
    return Target(partial(model, beside), particles(model), of_interest, truth=PLAIN, **more)


PLAIN = "learning"
LEARNING = {
    PLAIN: Target(model, particles(model), of_interest),
    "learning, one chain": learning(settings={"chains": 1}),
    "learning, two chains": learning(settings={"chains": 2}),
    "learning, eight chains": learning(settings={"chains": 8}),
    "learning, HMC": learning(step=pm.HamiltonianMC),
    "learning, 1,000 draws": learning(settings={"draws": 1000}),
    "learning and 50 more": learning(50),
    "learning and 300 more": learning(300),
    "learning and 600 more": learning(600),
}
