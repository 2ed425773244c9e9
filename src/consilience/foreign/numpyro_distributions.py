"""NumPyro's distributions in ours: a class of theirs with its attributes in, one of ours with its parameters out.

Only families whose unconstrained line is the same in both (the real line, logarithms, log odds); others stay densities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from consilience import distributions

Arrays = Mapping[str, Any]
Parameters = Callable[[Arrays], dict[str, Any]]


def _renamed(**names: str) -> Parameters:
    """Parameters of ours by the names of theirs."""
    return lambda theirs: {own: theirs[name] for own, name in names.items()}


def _walk(theirs: Arrays) -> dict[str, Any]:
    """A walk from 0, whose first value is a step already."""
    return {"sigma": theirs["scale"], "init_dist": distributions.Normal.dist(0.0, theirs["scale"])}


# Class of NumPyro -> our class, names of NumPyro's attributes, and our parameters of them.
FAMILIES: Final[Mapping[str, tuple[Any, tuple[str, ...], Parameters]]] = {
    "Normal": (distributions.Normal, ("loc", "scale"), _renamed(mu="loc", sigma="scale")),
    "HalfNormal": (distributions.HalfNormal, ("scale",), _renamed(sigma="scale")),
    "StudentT": (distributions.StudentT, ("df", "loc", "scale"), _renamed(nu="df", mu="loc", sigma="scale")),
    "Cauchy": (distributions.Cauchy, ("loc", "scale"), _renamed(alpha="loc", beta="scale")),
    "HalfCauchy": (distributions.HalfCauchy, ("scale",), _renamed(beta="scale")),
    "Laplace": (distributions.Laplace, ("loc", "scale"), _renamed(mu="loc", b="scale")),
    "Logistic": (distributions.Logistic, ("loc", "scale"), _renamed(mu="loc", s="scale")),
    "Gumbel": (distributions.Gumbel, ("loc", "scale"), _renamed(mu="loc", beta="scale")),
    "LogNormal": (distributions.LogNormal, ("loc", "scale"), _renamed(mu="loc", sigma="scale")),
    "Exponential": (distributions.Exponential, ("rate",), _renamed(lam="rate")),
    "Gamma": (distributions.Gamma, ("concentration", "rate"), _renamed(alpha="concentration", beta="rate")),
    "InverseGamma": (
        distributions.InverseGamma, ("concentration", "rate"), _renamed(alpha="concentration", beta="rate"),
    ),
    "Weibull": (distributions.Weibull, ("concentration", "scale"), _renamed(alpha="concentration", beta="scale")),
    "Beta": (
        distributions.Beta, ("concentration1", "concentration0"),
        _renamed(alpha="concentration1", beta="concentration0"),
    ),
    "Uniform": (distributions.Uniform, ("low", "high"), _renamed(lower="low", upper="high")),
    "MultivariateNormal": (distributions.MvNormal, ("loc", "scale_tril"), _renamed(mu="loc", chol="scale_tril")),
    "GaussianRandomWalk": (distributions.GaussianRandomWalk, ("scale",), _walk),
    "BernoulliProbs": (distributions.Bernoulli, ("probs",), _renamed(p="probs")),
    "BernoulliLogits": (distributions.Bernoulli, ("logits",), _renamed(logit_p="logits")),
    "BinomialProbs": (distributions.Binomial, ("probs", "total_count"), _renamed(n="total_count", p="probs")),
    "BinomialLogits": (
        distributions.Binomial, ("logits", "total_count"), _renamed(n="total_count", logit_p="logits"),
    ),
    "Poisson": (distributions.Poisson, ("rate",), _renamed(mu="rate")),
    "NegativeBinomial2": (
        distributions.NegativeBinomial, ("mean", "concentration"), _renamed(mu="mean", alpha="concentration"),
    ),
    "CategoricalProbs": (distributions.Categorical, ("probs",), _renamed(p="probs")),
    "CategoricalLogits": (distributions.Categorical, ("logits",), _renamed(logit_p="logits")),
}  # fmt: skip
