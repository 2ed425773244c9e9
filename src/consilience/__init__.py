"""Bayesian inference on its own tensor compiler.

Models come in as PyMC users write them; posteriors go out as `xarray.DataTree`.

    import consilience as pm

The part of the library that a name belongs to is loaded when the name is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

from consilience import distributions
from consilience.first_use import guarded, load_on_use

__version__ = "0.2.0"

# Public names by the module they come from. Type checkers and editors read `__init__.pyi`, which
# `python tools/names.py` writes from this table.
_NAMES: Final = {
    "consilience.estimators.approximations": "find_MAP find_hessian fit_laplace fit_pathfinder",
    "consilience.backends.modes": "DebugMode Mode NanGuardMode",
    "consilience.backends.request": "In Out",
    "consilience.compile": "get_default_mode get_mode",
    "consilience.datasets": "load_data",
    "consilience.diagnostics": "summary",
    "consilience.distributions": " ".join(
        [
            *distributions.PUBLIC.values(),
            *distributions.SPELLINGS,
            "Continuous",
            "Discrete",
            "Distribution",
            "BART",
            "Simulator",
        ]
    ),
    "consilience.errors": """
        ArgumentError ConsilienceError ConsilienceWarning ConvergenceWarning ImplicitFreezeWarning ImputationWarning
        InitialPointError ModelError ParameterError SamplingError ShapeError StorageError
        SupportError
    """,
    "consilience.engines.c_library.folder": "export",
    "consilience.engines.jax.read.jaxpr": "from_jax",
    "consilience.engines.jax.read.wrapped": "wrap_jax",
    "consilience.engines.stablehlo.emit.module": "to_stablehlo",
    "consilience.engines.stablehlo.read.module": "from_stablehlo",
    "consilience.engines.torch.read.graph": "from_torch",
    "consilience.foreign": "from_bridgestan from_density from_numpyro from_pymc from_pytensor",
    "consilience.inference": """
        AdaptiveMetropolis BARTStep BinaryGibbsMetropolis BinaryMetropolis CategoricalGibbsMetropolis CompoundStep
        DEMetropolis DEMetropolisZ EllipticalSlice HamiltonianMC Kernel MALA Metropolis NUTS ParallelTempering
        Slice StretchEnsemble
    """,
    "consilience.logprob": "CustomDist DensityDist conditional_logp icdf logccdf logcdf logp",
    "consilience.estimators.inla": "fit_INLA",
    "consilience.model": """
        Data Deterministic Minibatch Model Point Potential R2D2 RegularizedHorseshoe do
        centredness collapse freeze_dims_and_data marginalize model_to_graphviz model_to_mermaid model_to_networkx
        modelcontext noncenter observe recenter set_data
    """,
    "consilience.backends.printing": "dprint pp pprint",
    "consilience.plots": """
        add_bands add_lines bayes_factor bayesian_r2 bfmi combine_plots ess eti hdi
        loo_approximate_posterior loo_expectations loo_i loo_metrics loo_moment_match loo_pit loo_r2 loo_score
        loo_subsample mcse plot_autocorr plot_bf plot_compare plot_convergence_dist plot_dgof plot_dgof_dist
        plot_dist plot_ecdf_pit plot_energy plot_ess plot_ess_evolution plot_forest plot_khat plot_lm
        plot_loo_pit plot_mcse plot_pair plot_pair_focus plot_parallel plot_posterior plot_ppc plot_ppc_censored
        plot_ppc_dist plot_ppc_interval plot_ppc_pava plot_ppc_pava_residuals plot_ppc_pit plot_ppc_rootogram
        plot_ppc_tstat plot_prior_posterior plot_psense_dist plot_psense_quantities plot_rank plot_rank_dist
        plot_ridge plot_trace plot_trace_dist psense psense_summary residual_r2 rhat rhat_nested
        weight_predictions
    """,
    "consilience.estimators.studies.many_fits": "sample_many",
    "consilience.sample.report": "report",
    "consilience.sample": """
        Save Stop Tuning compute_deterministics compute_log_likelihood compute_log_prior forecast
        predictions_to_inference_data recover_marginals resampled_variables resume sample sample_posterior_predictive
        sample_prior_predictive to_inference_data vectorize_over_posterior
    """,
    "consilience.estimators.refutation": "challenge",
    "consilience.estimators.calibration": "posterior_predictive_check power prior_predictive_check sbc",
    "consilience.estimators.cross_validation": "compare loo loo_kfold reloo",
    "consilience.estimators.filters": "StateSpaceModel",
    "consilience.estimators.smc": "log_marginal_likelihood sample_nested sample_smc",
    "consilience.tensor": """
        OpFromGraph as_op config floatX function grad hessian jacobian shared value_and_grad wrap_py
    """,
    "consilience.estimators.variational": """
        ADVI ASVGD Approximation Empirical FullRank FullRankADVI Inference LowRankNormal LowRankADVI MeanField NFVI
        NormalizingFlow SVGD
        adadelta adagrad adagrad_window adam adamax fit momentum natural_gradient nesterov_momentum
        rmsprop sample_approx sgd
    """,
    "consilience.tensor.random": "collect_default_updates",
    "consilience.tensor.flattened": "cont_inputs hessian_diag inputvars intX join_nonshared_inputs",
}
_MODULES: Final = """
    bart callbacks cluster compile dims distributions errors gp gradient graph ifelse logprob math ode plots
    printing=backends.printing raise_op scan smc=estimators.smc sparse statespace tensor
    variational=estimators.variational xtensor
"""


def _published(found: Any, _module: str, _name: str) -> Any:
    if isinstance(found, type) and getattr(found, "component_parameters", ()):
        import_module("consilience.logprob")  # components may be expressions of random variables
    return guarded(found)


class _OtherPaths:
    """Finds modules of PyTensor and PyMC that have no file here; asked where no other finder has an answer."""

    @staticmethod
    def find_spec(path: str, *_: object) -> Any:
        # In an application that was frozen without it, that module itself is asked for here.
        ours = path.startswith(f"{__name__}.") and path != "consilience.names.module_paths"
        return import_module("consilience.names.module_paths").spec(path) if ours else None


sys.meta_path.append(_OtherPaths)
load_on_use(__name__, {**_NAMES, "": _MODULES}, publish=_published)
