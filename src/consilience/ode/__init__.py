"""Differential equations: initial value problems with derivatives of their solutions, and stochastic equations.

Functions of tensors in, tensors of states out. The solvers are loops of the tensor language: a model with an equation
is one native function.
"""

from consilience.first_use import guard
from consilience.ode.differential_equation import DifferentialEquation
from consilience.ode.solution import REASONS, OdeResult, solve
from consilience.ode.stochastic import sde

__all__ = ["REASONS", "DifferentialEquation", "OdeResult", "sde", "solve"]

guard(globals())
