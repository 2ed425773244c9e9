"""Approximations of a posterior that need no chains: its mode, and distributions around it that are easily drawn from.

A model in; points and labelled draws out, with what tells how far they can be trusted. Everything is computed with the
compiled log density that chains use.
"""

from consilience.approximations.hessian import find_hessian
from consilience.approximations.laplace import fit_laplace
from consilience.approximations.maximum import find_MAP
from consilience.approximations.mode_tree import Optimum
from consilience.approximations.pathfinder import fit_pathfinder

__all__ = ["Optimum", "find_MAP", "find_hessian", "fit_laplace", "fit_pathfinder"]
