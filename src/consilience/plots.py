"""Plots and statistics of ArviZ under the names that PyMC gives them: results enter, pictures and numbers leave.

The functions are those of `arviz_plots` and `arviz_stats`, which are loaded when one of them is first called.
`FORMER` says what became of the names that ArviZ 1.0 gave up.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from consilience.errors import MissingPackageError

NAMES: Final = {
    "arviz_plots": """
        add_bands add_lines combine_plots plot_autocorr plot_bf plot_compare plot_convergence_dist plot_dgof
        plot_dgof_dist plot_dist plot_ecdf_pit plot_energy plot_ess plot_ess_evolution plot_forest plot_khat plot_lm
        plot_loo_pit plot_mcse plot_pair plot_pair_focus plot_parallel plot_ppc_censored plot_ppc_dist
        plot_ppc_interval plot_ppc_pava plot_ppc_pava_residuals plot_ppc_pit plot_ppc_rootogram plot_ppc_tstat
        plot_prior_posterior plot_psense_dist plot_psense_quantities plot_rank plot_rank_dist plot_ridge plot_trace
        plot_trace_dist
    """,
    "arviz_stats": """
        bayes_factor bayesian_r2 bfmi ess eti hdi loo_approximate_posterior loo_expectations loo_i
        loo_metrics loo_moment_match loo_pit loo_r2 loo_score loo_subsample mcse psense psense_summary
        residual_r2 rhat rhat_nested weight_predictions
    """,
}
"""Names by the package they come from."""

RENAMED: Final = {"plot_posterior": "plot_dist", "plot_ppc": "plot_ppc_dist"}
"""Names that PyMC users know, and the function that does the same today; it takes the arguments of its new name."""

FORMER: Final = {
    "plot_bpv": "`plot_ppc_pit` and `plot_ppc_tstat` show Bayesian p-values",
    "plot_density": "`plot_dist` compares densities of several results",
    "plot_dist_comparison": "`plot_prior_posterior` compares prior and posterior",
    "plot_dot": '`plot_dist(..., kind="dot")` draws dots',
    "plot_ecdf": '`plot_dist(..., kind="ecdf")` draws the distribution function, `plot_ecdf_pit` checks it',
    "plot_elpd": "`plot_compare` shows the differences, `loo_i` gives them one by one",
    "plot_hdi": "`plot_lm` draws intervals along a predictor",
    "plot_joint": "`plot_pair` shows two parameters jointly",
    "plot_kde": "`plot_dist` estimates densities",
    "plot_separation": "`plot_ppc_pava` checks the calibration of binary predictions",
    "plot_violin": "`plot_ridge` and `plot_forest` compare the densities of many parameters",
    "psens": "`psense` and `psense_summary` measure the sensitivity to prior and likelihood",
    "r2_score": "`bayesian_r2` and `residual_r2` give the variance explained",
    "waic": "`loo` estimates the same quantity more reliably",
}
"""Names that ArviZ 1.0 gave up, and what to use instead."""

_HOME: Final = {name: package for package, names in NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *RENAMED])


def instead_of(name: str) -> str:
    """The end of a message about a name that is not there: what to use instead; empty if nothing is known."""
    return f": ArviZ 1.0 gave it up; {FORMER[name]}." if name in FORMER else ""


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead_of(name)}", name=name)
    found = globals()[name] = _passed_on(name)
    return found


def _passed_on(name: str) -> Callable[..., Any]:
    """A function that passes its arguments on to the function of ArviZ that `name` stands for."""
    target = RENAMED.get(name, name)
    package = _HOME[target]

    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            module = import_module(package)
        except ImportError as error:
            raise MissingPackageError(
                f"`{name}` is a function of {package}, which cannot be loaded ({error}): "
                "pip install 'consilience[plots]'"
            ) from error
        return getattr(module, target)(*arguments, **keywords)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"`{package}.{target}` of ArviZ, with its arguments and its result.\n\n"
        f"See help({package}.{target}). Raises MissingPackageError (an ImportError) where ArviZ is not installed."
    )
    return call
