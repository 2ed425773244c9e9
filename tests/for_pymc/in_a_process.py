"""A function for processes of their own, whose module opens the door; what it samples is a pickled model."""

from __future__ import annotations

import pickle

import pymc

import consilience.for_pymc as door


def slope_of(pickled: bytes) -> float:
    """The mean of a variable of the model."""
    door.install()
    sampled = pymc.sample(
        model=pickle.loads(pickled), nuts_sampler="consilience", draws=30, tune=60, chains=2, random_seed=1, quiet=True
    )
    return float(sampled.posterior["slope"].mean())
