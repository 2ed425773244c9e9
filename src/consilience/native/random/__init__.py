"""Random numbers without state: every draw is a pure function of a key, a counter and its parameters.

Enters: keys (one i64 each, made by `fold_in`) and counters. Leaves: draws, the same under CPython and
natively. Outside: which key belongs to which chain.
"""

from consilience.native.random.continuous import (
    random_beta,
    random_exponential,
    random_gamma,
    random_normal,
    random_normals,
    random_uniform,
    random_uniforms,
    random_von_mises,
)
from consilience.native.random.discrete import random_binomial, random_conway_maxwell_poisson, random_poisson
from consilience.native.random.philox import fold_in, philox, random_bits

__all__ = [
    "fold_in",
    "philox",
    "random_beta",
    "random_binomial",
    "random_bits",
    "random_conway_maxwell_poisson",
    "random_exponential",
    "random_gamma",
    "random_normal",
    "random_normals",
    "random_poisson",
    "random_uniform",
    "random_uniforms",
    "random_von_mises",
]
