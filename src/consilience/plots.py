"""Plots and statistics of ArviZ under the names that PyMC gives them: results enter, pictures and numbers leave.

The functions are those of `arviz_plots` and `arviz_stats`, which are loaded when one of them is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from consilience.errors import MissingPackageError
from consilience.names import absent

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

_OBSERVED: Final = {
    "normal": """
        x = pm.Normal("x")
        s = pm.HalfNormal("s")
        y = pm.Normal("y", x, s, observed=[0.5, 1.0, 0.2, 0.7, 0.4, 0.9, 0.6, 0.3])
    """,
    "line": """
        t = pm.Data("t", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], dims="row")
        slope = pm.Normal("slope")
        line = pm.Deterministic("line", slope * t, dims="row")
        s = pm.HalfNormal("s")
        y = pm.Normal("y", line, s, observed=[0.1, 1.2, 1.9, 3.2, 3.8, 5.1], dims="row")
    """,
    "yes or no": """
        t = pm.Data("t", [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
        slope = pm.Normal("slope")
        y = pm.Bernoulli("y", logit_p=slope * t, observed=[0, 0, 1, 0, 1, 1])
    """,
    "mean": """
        x = pm.Normal("x")
        y = pm.Normal("y", x, 1.0, observed=values)
    """,
    "times": """
        rate = pm.Exponential("rate", 1.0)
        y = pm.Exponential("y", rate, observed=[1.0, 0.3, 2.0, 3.0])
    """,
    "counts": """
        rate = pm.Exponential("rate", 1.0)
        y = pm.Poisson("y", rate, observed=[1, 0, 2, 3])
    """,
}
"""Models of the examples, by what they observe."""

_ADDED: Final = {
    "predictions": "pm.sample_posterior_predictive("
    "result, extend_inferencedata=True, random_seed=1, progressbar=False)",
    "prior": "result.update(pm.sample_prior_predictive(random_seed=1))",
    "likelihood": "pm.compute_log_likelihood(result)",
    "log prior": "pm.compute_log_prior(result)",
}
"""Groups that functions read beside the posterior, and the line that adds each inside a model."""

_EXAMPLES: Final[dict[str, tuple[str, str, str]]] = {
    "add_bands": ("normal", "", "picture = pm.plot_trace(result)\nshown = pm.add_bands(picture, values=[(10, 20)])"),
    "add_lines": ("normal", "", "picture = pm.plot_dist(result)\nshown = pm.add_lines(picture, values=0.5)"),
    "bayes_factor": ("normal", "prior", 'pm.bayes_factor(result, var_names="x", ref_vals=0.5)'),
    "bayesian_r2": ("line", "", 'pm.bayesian_r2(result, pred_mean="line", scale="s")'),
    "combine_plots": ("normal", "", "pm.combine_plots(result, plots=[(pm.plot_trace, {}), (pm.plot_dist, {})])"),
    "loo_approximate_posterior": (
        "normal",
        "likelihood",
        (
            "import numpy as np\n"
            'log_p = log_q = np.zeros((4, result.posterior.sizes["draw"]))  # draws of the posterior itself\n'
            "shown = pm.loo_approximate_posterior(result, log_p=log_p, log_q=log_q)"
        ),
    ),
    "loo_expectations": ("normal", "predictions, likelihood", ""),
    "loo_i": ("normal", "likelihood", "pm.loo_i(0, result)"),
    "loo_metrics": ("normal", "predictions, likelihood", ""),
    "loo_moment_match": (
        "mean",
        "likelihood",
        (
            "before = pm.loo(result, pointwise=True)\n"
            'points = result.posterior["x"].expand_dims(parameter=["x"], axis=-1)\n'
            "density = lambda p: sum(-0.5 * (v - p[..., 0]) ** 2 for v in [*values, 0.0])  # the prior's mean is 0\n"
            "of_one = lambda p, i: -0.5 * (values[i] - p[..., 0]) ** 2 - 0.5 * np.log(2.0 * np.pi)\n"
            "shown = pm.loo_moment_match(result, before, density, of_one, upars=points, k_threshold=0.0)"
        ),
    ),
    "loo_pit": ("normal", "predictions, likelihood", ""),
    "loo_r2": ("line", "predictions, likelihood", 'pm.loo_r2(result, var_name="y")'),
    "loo_score": ("normal", "predictions, likelihood", ""),
    "loo_subsample": ("normal", "likelihood", "pm.loo_subsample(result, observations=2)"),
    "plot_bf": ("normal", "prior", 'pm.plot_bf(result, var_names="x", ref_val=0.5)'),
    "plot_compare": ("normal", "likelihood", 'pm.plot_compare(pm.compare({"one": result, "the same": result}))'),
    "plot_ecdf_pit": (
        "",
        "",
        (
            "import numpy as np, xarray as xr\n"
            'ranks = xr.DataArray(np.random.default_rng(1).uniform(size=(1, 100)), dims=("chain", "draw"))\n'
            'shown = pm.plot_ecdf_pit(xr.DataTree.from_dict({"prior_sbc": ranks.to_dataset(name="x")}))'
        ),
    ),
    "plot_khat": ("normal", "likelihood", "pm.plot_khat(pm.loo(result, pointwise=True))"),
    "plot_lm": ("line", "predictions", 'pm.plot_lm(result, x="t", y="y")'),
    "plot_loo_pit": ("normal", "predictions, likelihood", ""),
    "plot_pair_focus": ("normal", "", 'pm.plot_pair_focus(result, focus_var="x")'),
    "plot_ppc_censored": (
        "times",
        "predictions",
        (
            "import xarray as xr\n"
            'ended = xr.Dataset({"y": ("y_dim_0", [1, 1, 0, 1])})  # the third had not ended yet\n'
            'result.update(xr.DataTree.from_dict({"constant_data": ended}))\n'
            "shown = pm.plot_ppc_censored(result)"
        ),
    ),
    "plot_ppc_dist": ("normal", "predictions", ""),
    "plot_ppc_interval": ("normal", "predictions", ""),
    "plot_ppc_pava": ("yes or no", "predictions", ""),
    "plot_ppc_pava_residuals": ("yes or no", "predictions", 'pm.plot_ppc_pava_residuals(result, x_var="t")'),
    "plot_ppc_pit": ("normal", "predictions", ""),
    "plot_ppc_rootogram": ("counts", "predictions", ""),
    "plot_ppc_tstat": ("normal", "predictions", ""),
    "plot_prior_posterior": ("normal", "prior", ""),
    "plot_psense_dist": ("normal", "likelihood, log prior", ""),
    "plot_psense_quantities": ("normal", "likelihood, log prior", ""),
    "psense": ("normal", "likelihood, log prior", ""),
    "psense_summary": ("normal", "likelihood, log prior", ""),
    "residual_r2": ("line", "", 'pm.residual_r2(result, pred_mean="line", obs_name="y")'),
    "rhat_nested": ("normal", "", "pm.rhat_nested(result, superchain_ids=[0, 0, 1, 1])"),
    "weight_predictions": ("normal", "predictions", "pm.weight_predictions([result, result], weights=[0.7, 0.3])"),
}
"""The model of an example, groups that are added, and the call; `pm.name(result)` where none stands."""

RENAMED: Final = {"plot_posterior": "plot_dist", "plot_ppc": "plot_ppc_dist"}
"""Names that PyMC users know, and the function that does the same today; it takes the arguments of its new name."""

_HOME: Final = {name: package for package, names in NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *RENAMED])


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in __all__:
        raise AttributeError(absent.reason(f"module {__name__!r}", name, __all__), name=name)
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
        else ("object\n    The numbers, the table or the `xarray.Dataset` that ArviZ returns.")
    )
    return f"""{about}.

Parameters
----------
*arguments : object
    Positional arguments of `{package}.{target}`: first a result of `pm.sample`, or a mapping of several results.
**keywords : object
    Keyword arguments of the same function, often `var_names`, `group`, `coords`, `ci_prob` and `backend`.

Returns
-------
{result}

Raises
------
MissingPackageError
    An ImportError, if ArviZ is not installed: `pip install 'consilience[plots]'`.

See Also
--------
{package}.{target} : The ArviZ function that is called.

Examples
--------
{_example(name, target)}
"""


def _example(name: str, target: str) -> str:
    """A model, what is added to its result, and the call, as it is typed."""
    model, groups, call = _EXAMPLES.get(target, ("normal", "", ""))
    lines = [">>> import consilience as pm"]
    if model == "mean":
        lines += [">>> import numpy as np", ">>> values = [0.5, 1.0, 0.2, 3.0]"]
    if model:
        inside = [line.strip() for line in _OBSERVED[model].strip().splitlines()]
        inside += ["result = pm.sample(random_seed=1, progressbar=False)"]
        inside += [f"added = {_ADDED[group]}" for group in groups.split(", ") if group]
        lines += [">>> with pm.Model():", *(f"...     {line}" for line in inside)]
    call = call or f"pm.{name}(result)"
    if "shown =" not in call:
        call = f"shown = {call}"
    return "\n".join([*lines, *(f">>> {line}" for line in call.splitlines())])
