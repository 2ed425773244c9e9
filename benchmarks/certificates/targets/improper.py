"""Posteriors without a normalisation: any certificate is wrong."""

from __future__ import annotations

from functools import partial

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.target import Target


def improper(kind: str) -> pm.Model:
    """One of KINDS."""
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
    return model


KINDS = (
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
IMPROPER = {f"improper: {kind}": Target(partial(improper, kind)) for kind in KINDS}
