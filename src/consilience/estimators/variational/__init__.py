"""Variational inference: distributions fitted to a posterior by stochastic gradients.

A model in; approximations out, which are sampled from like chains.
"""

from typing import Any

from consilience.estimators.variational.approximation import (
    Approximation,
    Empirical,
    FullRank,
    LowRankNormal,
    MeanField,
)
from consilience.estimators.variational.flow import NormalizingFlow
from consilience.estimators.variational.inference import (
    ADVI,
    ASVGD,
    NFVI,
    SVGD,
    FullRankADVI,
    Inference,
    LowRankADVI,
    fit,
    sample_approx,
)
from consilience.estimators.variational.optimizers import (
    adadelta,
    adagrad,
    adagrad_window,
    adam,
    adamax,
    momentum,
    natural_gradient,
    nesterov_momentum,
    rmsprop,
    sgd,
)
from consilience.first_use import guard
from consilience.names import absent

__all__ = [
    "ADVI",
    "ASVGD",
    "NFVI",
    "SVGD",
    "Approximation",
    "Empirical",
    "FullRank",
    "FullRankADVI",
    "Inference",
    "LowRankADVI",
    "LowRankNormal",
    "MeanField",
    "NormalizingFlow",
    "adadelta",
    "adagrad",
    "adagrad_window",
    "adam",
    "adamax",
    "fit",
    "momentum",
    "natural_gradient",
    "nesterov_momentum",
    "rmsprop",
    "sample_approx",
    "sgd",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent.reason(f"module {__name__!r}", name, __all__), name=name)


guard(globals())
