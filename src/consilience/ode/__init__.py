"""Differential equations: initial value problems with derivatives of their solutions, and stochastic equations.

Functions of tensors in, tensors of states out. The solvers are loops of the tensor language: a model with an equation
is one native function.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "differential_equation": "DifferentialEquation",
        "solution": "OdeResult REASONS solve",
        "stochastic": "sde",
    },
    public=True,
)
