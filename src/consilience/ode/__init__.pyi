"""Written by `python tools/names.py` from the tables of ode.py; not to be edited."""

from consilience.ode.differential_equation import DifferentialEquation as DifferentialEquation
from consilience.ode.solution import OdeResult as OdeResult
from consilience.ode.solution import REASONS as REASONS
from consilience.ode.stochastic import sde as sde
from consilience.ode.solution import solve as solve

__all__: list[str]
