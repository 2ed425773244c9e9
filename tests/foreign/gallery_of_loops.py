"""Models whose densities are loops, added to the gallery: each uses `pytensor.scan` as users write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.foreign.gallery import COUNTS, ZEROS_AND_ONES, Y, gallery


def scanned(step: Callable[..., Any], **options: Any) -> Any:
    """The outputs of a loop of PyTensor of any version."""
    import pytensor

    return pytensor.scan(step, return_updates=True, **options)[0]


@gallery
def moving_average_by_a_loop(pm: Any) -> None:
    mu, theta = pm.Normal("mu"), pm.Uniform("theta", -1, 1)
    sigma = pm.HalfNormal("sigma", 1.0)
    errors = scanned(
        lambda y, error, mu, theta: y - mu - theta * error,
        sequences=[Y],
        outputs_info=[np.float64(0.0)],
        non_sequences=[mu, theta],
    )
    pm.Potential("likelihood", pm.logp(pm.Normal.dist(0, sigma), errors).sum())


@gallery
def second_order_autoregression_by_a_loop(pm: Any) -> None:
    rho = pm.Normal("rho", 0, 0.5, shape=2)
    z = pm.Normal("z", shape=12)
    start = pm.Normal("start", shape=2)
    level = scanned(
        lambda z, before, last, rho: rho[0] * last + rho[1] * before + 0.5 * z,
        sequences=[z],
        outputs_info=[{"initial": start, "taps": [-2, -1]}],
        non_sequences=[rho],
    )
    pm.Normal("y", pm.Deterministic("level", level), 1.0, observed=Y)


@gallery
def hidden_markov_chain_by_the_forward_algorithm(pm: Any) -> None:
    p = pm.Dirichlet("p", np.array([[4.0, 1.0], [1.0, 4.0]]))
    mu = pm.Normal("mu", np.array([-1.0, 1.0]), 1.0)
    emitted = pm.logp(pm.Normal.dist(mu, 1.0), Y[:, None])
    forward = scanned(
        lambda emitted, alpha, p: pm.math.logsumexp(alpha[:, None] + pm.math.log(p), axis=0).ravel() + emitted,
        sequences=[emitted[1:]],
        outputs_info=[emitted[0] + np.log(0.5)],
        non_sequences=[p],
    )
    pm.Potential("likelihood", pm.math.logsumexp(forward[-1]))


@gallery
def local_level_by_a_kalman_filter(pm: Any) -> None:
    noise, drift = pm.HalfNormal("noise", 1.0), pm.HalfNormal("drift", 1.0)

    def step(y: Any, level: Any, variance: Any, noise: Any, drift: Any) -> Any:
        total = variance + drift**2 + noise**2
        gain = (variance + drift**2) / total
        term = -0.5 * (pm.math.log(2 * np.pi * total) + (y - level) ** 2 / total)
        return level + gain * (y - level), (1 - gain) * (variance + drift**2), term

    *_, terms = scanned(
        step,
        sequences=[Y],
        outputs_info=[np.float64(0.0), np.float64(10.0), None],
        non_sequences=[noise, drift],
    )
    pm.Potential("likelihood", terms.sum())


@gallery
def discounted_learning_from_the_end(pm: Any) -> None:
    rate = pm.Beta("rate", 2.0, 2.0)
    strength = pm.HalfNormal("strength", 2.0)
    value = scanned(
        lambda choice, q, rate: q + rate * (choice - q),
        sequences=[ZEROS_AND_ONES.astype(float)],
        outputs_info=[np.float64(0.5)],
        non_sequences=[rate],
        go_backwards=True,
    )
    pm.Bernoulli("y", logit_p=strength * (value[:-1] - 0.5), observed=ZEROS_AND_ONES[:-1])


@gallery
def epidemic_by_steps(pm: Any) -> None:
    contact, recovery = pm.LogNormal("contact", 0.0, 0.5), pm.Beta("recovery", 2.0, 4.0)

    def step(susceptible: Any, infected: Any, contact: Any, recovery: Any) -> Any:
        new = contact * susceptible * infected / 100.0
        return susceptible - new, infected + new - recovery * infected, new

    *_, new = scanned(
        step, outputs_info=[np.float64(95.0), np.float64(5.0), None], non_sequences=[contact, recovery], n_steps=12
    )
    pm.Poisson("y", pm.math.maximum(new, 0.01), observed=COUNTS)


@gallery
def generated_by_a_loop_of_random_steps(pm: Any) -> None:
    from pymc.pytensorf import collect_default_updates

    rho, sigma = pm.Uniform("rho", -1, 1), pm.HalfNormal("sigma", 1.0)

    def walk(rho: Any, sigma: Any, size: Any) -> Any:
        def step(last: Any, rho: Any, sigma: Any) -> Any:
            y = pm.Normal.dist(rho * last, sigma)
            return y, collect_default_updates([y])

        return scanned(step, outputs_info=[np.float64(0.0)], non_sequences=[rho, sigma], n_steps=12)

    pm.CustomDist("y", rho, sigma, dist=walk, observed=Y)


@gallery
def latent_states_of_a_loop_of_random_steps(pm: Any) -> None:
    import pytensor.tensor as pt
    from pymc.pytensorf import collect_default_updates

    rho = pm.Normal("rho", 0, 0.5, shape=2)

    def walk(rho: Any, size: Any) -> Any:
        def step(before: Any, last: Any, rho: Any) -> Any:
            y = pm.StudentT.dist(nu=5.0, mu=rho[0] * last + rho[1] * before, sigma=1.0)
            return y, collect_default_updates([y])

        initial = {"initial": pt.zeros(2), "taps": [-2, -1]}
        return scanned(step, outputs_info=[initial], non_sequences=[rho], n_steps=12)

    level = pm.CustomDist("level", rho, dist=walk, shape=12)
    pm.Normal("y", level, 1.0, observed=Y)
