"""Written by `python tools/names.py` from the tables of approximations.py; not to be edited."""

from consilience.estimators.approximations.mode_tree import Optimum as Optimum
from consilience.estimators.approximations.maximum import find_MAP as find_MAP
from consilience.estimators.approximations.hessian import find_hessian as find_hessian
from consilience.estimators.approximations.laplace import fit_laplace as fit_laplace
from consilience.estimators.approximations.pathfinder import fit_pathfinder as fit_pathfinder

__all__: list[str]
