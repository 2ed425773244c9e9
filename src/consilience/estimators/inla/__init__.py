"""Integrated nested Laplace approximations of latent normal models.

A model and the names of its latent variables in; an approximation of its posterior out.
"""

from consilience.estimators.inla.nested_laplace import NestedLaplace, fit_INLA

__all__ = ["NestedLaplace", "fit_INLA"]
