"""Approximations of a posterior that need no chains: its mode, and distributions around it that are easily drawn from.

A model in; points and labelled draws out, with what tells how far they can be trusted. Everything is computed with the
compiled log density that chains use.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "hessian": "find_hessian",
        "laplace": "fit_laplace",
        "maximum": "find_MAP",
        "mode_tree": "Optimum",
        "pathfinder": "fit_pathfinder",
    },
)
