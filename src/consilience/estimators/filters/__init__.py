"""Particle filters: states of state-space models from data, one time after the other.

Functions that return distributions, and data, in; labelled trees of states and likelihoods out.
"""

from consilience.estimators.filters.state_space_model import StateSpaceModel

__all__ = ["StateSpaceModel"]
