"""Approximations of a posterior that need no chains: its mode, and distributions around it that are easily drawn from.

A model in; points and labelled draws out, with what tells how far they can be trusted. Everything is computed with the
compiled log density that chains use.
"""

from consilience.estimators.approximations.hessian import find_hessian
from consilience.estimators.approximations.laplace import fit_laplace
from consilience.estimators.approximations.maximum import find_MAP
from consilience.estimators.approximations.mode_tree import Optimum
from consilience.estimators.approximations.pathfinder import fit_pathfinder

__all__ = ["Optimum", "find_MAP", "find_hessian", "fit_laplace", "fit_pathfinder"]
