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

ABOUT: Final = {
    "add_bands": "Shaded bands added to the pictures of a collection",
    "add_lines": "Lines added to the pictures of a collection",
    "combine_plots": "Several kinds of plots side by side, a row for each variable",
    "plot_autocorr": "Autocorrelation of draws by lag, for each chain",
    "plot_bf": "Bayes factor by the ratio of prior and posterior density at a point, after Savage and Dickey",
    "plot_compare": "Expected log predictive densities of several models with their standard errors",
    "plot_convergence_dist": "Distribution of convergence diagnostics over all variables",
    "plot_dgof": "How well a density estimate fits draws, by the uniformity of its probabilities",
    "plot_dgof_dist": "Density estimate of draws beside the check of its fit",
    "plot_dist": "Marginal distributions of variables with their point estimate and interval",
    "plot_ecdf_pit": "Distribution function of probability integral transforms less the uniform one, with its band",
    "plot_energy": "Marginal energy beside its change from draw to draw, with the fraction of missing information",
    "plot_ess": "Effective number of draws of quantiles, or of small intervals",
    "plot_ess_evolution": "Effective number of draws as chains grow longer",
    "plot_forest": "Point estimates and intervals of many variables, one above the other",
    "plot_khat": "Pareto shape of the importance weights of leave-one-out cross-validation, observation by observation",
    "plot_lm": "Regression line of the posterior predictive with its interval over the data",
    "plot_loo_pit": "Calibration of leave-one-out predictions by their probability integral transforms",
    "plot_mcse": "Monte Carlo standard error of quantiles",
    "plot_pair": "Scatter plots of all pairs of variables, divergences marked",
    "plot_pair_focus": "Scatter plots of one variable against all others",
    "plot_parallel": "Draws as lines across all variables, divergences marked",
    "plot_ppc_censored": "Survival curve of censored data beside those of predictions",
    "plot_ppc_dist": "Distribution of the data beside those of posterior predictive draws",
    "plot_ppc_interval": "Predictive interval of each observation with the observation",
    "plot_ppc_pava": "Calibration of binary predictions: observed frequency against predicted probability",
    "plot_ppc_pava_residuals": "Calibration of binary predictions as residuals",
    "plot_ppc_pit": "Calibration of posterior predictions by their probability integral transforms",
    "plot_ppc_rootogram": "Counts of the data beside predicted ones, on a scale of square roots",
    "plot_ppc_tstat": "A statistic of the data beside its distribution over predictions",
    "plot_prior_posterior": "Prior and posterior density of each variable in one picture",
    "plot_psense_dist": "Posteriors under weaker and stronger prior or likelihood",
    "plot_psense_quantities": "Summaries of posteriors under weaker and stronger prior or likelihood",
    "plot_rank": "Distribution functions of the ranks of each chain among all draws, with their band",
    "plot_rank_dist": "Marginal distributions beside the ranks of each chain",
    "plot_ridge": "Densities of many variables, one above the other",
    "plot_trace": "Draws of each chain in order",
    "plot_trace_dist": "Marginal distributions beside the draws in order",
    "bayes_factor": "Bayes factor of a point value: the ratio of prior and posterior density there",
    "bayesian_r2": "Share of the variance that a regression explains, draw by draw",
    "bfmi": "Bayesian fraction of missing information of each chain, from its energies",
    "compare": "Ranking of models by expected log predictive density, with weights and standard errors",
    "ess": "Effective number of draws: bulk, tail, mean, quantile",
    "eti": "Equal-tailed interval: quantiles that leave the same probability on both sides",
    "hdi": "Highest density interval: the shortest one of a given probability",
    "loo": "Leave-one-out cross-validation by Pareto smoothed importance sampling",
    "loo_approximate_posterior": "Leave-one-out cross-validation of draws from an approximation",
    "loo_expectations": "Expectations of leave-one-out predictions",
    "loo_i": "Leave-one-out cross-validation of single observations",
    "loo_kfold": "Cross-validation in K folds, each fitted anew",
    "loo_metrics": "Errors of leave-one-out predictions: mean absolute, mean squared, accuracy",
    "loo_moment_match": "Leave-one-out cross-validation with moment matching where importance weights are unreliable",
    "loo_pit": "Probability integral transforms of leave-one-out predictions",
    "loo_r2": "Share of the variance explained by leave-one-out predictions",
    "loo_score": "Continuous ranked probability score of leave-one-out predictions",
    "loo_subsample": "Leave-one-out cross-validation of a random part of many observations",
    "mcse": "Monte Carlo standard error of mean, standard deviation or quantile",
    "psense": "Sensitivity of the posterior to power scaling of prior or likelihood",
    "psense_summary": "Table of the sensitivity to prior and likelihood with its diagnosis",
    "reloo": "Leave-one-out cross-validation in which unreliable observations are left out by new fits",
    "residual_r2": "Share of the variance explained, from residuals, draw by draw",
    "rhat": "Convergence of chains: split, rank-normalised R-hat",
    "rhat_nested": "Convergence of many short chains: nested R-hat",
    "weight_predictions": "Predictions of several models mixed by their weights",
}
"""What each function does; its parameters are told by ArviZ."""

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
    call.__doc__ = _documented(name, target, package)
    return call


def _documented(name: str, target: str, package: str) -> str:
    """The docstring of a function that is passed on, made when it is first used."""
    about = ABOUT[target]
    result = (
        "PlotCollection\n    The picture: `.show()`, `.savefig(...)`."
        if target.startswith("plot_")
        else ("object\n    Numbers, or a table or `xarray.Dataset` of them, as ArviZ gives them.")
    )
    return f"""{about}.

Parameters
----------
*arguments : object
    What `{package}.{target}` takes by place: first a result of `pm.sample`, or a mapping of several.
**keywords : object
    What it takes by name, often `var_names`, `group`, `coords`, `ci_prob`, `backend`.

Returns
-------
{result}

Raises
------
MissingPackageError
    An ImportError, where ArviZ is not installed: `pip install 'consilience[plots]'`.

See Also
--------
{package}.{target} : The function of ArviZ that is called.

Examples
--------
>>> import consilience as pm
>>> with pm.Model():
...     x = pm.Normal("x")
...     y = pm.Normal("y", x, observed=[0.5, 1.0])
...     result = pm.sample(random_seed=1, progressbar=False)
>>> shown = pm.{name}(result)  # doctest: +SKIP
"""
