"""Bayesian inference on its own tensor compiler.

Models come in as PyMC users write them; posteriors go out as `xarray.DataTree`.

    import consilience as pm

The part of the library that a name belongs to is loaded when the name is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

# Public names by the module they come from. Type checkers and editors read the imports further down
# instead; tests/test_door.py holds the two together.
_NAMES: Final = {
    "consilience.backends.request": "In Out",
    "consilience.diagnostics": "summary",
    "consilience.distributions": """
        Bernoulli Beta Binomial Categorical Cauchy CustomDist compile Dirichlet Exponential Flat Gamma HalfCauchy
        HalfFlat HalfNormal InverseGamma Laplace LogNormal Lognormal MvNormal NegativeBinomial Normal Poisson
        StudentT Uniform draw find_constrained_prior icdf logcdf logp
    """,
    "consilience.errors": """
        ConsilienceError ConsilienceWarning ConvergenceWarning InitialPointError ModelError ParameterError
        SamplingError SealError ShapeError StorageError SupportError
    """,
    "consilience.inference": "HamiltonianMC Metropolis NUTS",
    "consilience.model": """
        Data Deterministic Model Point Potential do model_to_graphviz model_to_mermaid model_to_networkx
        modelcontext observe set_data
    """,
    "consilience.plots": """
        add_bands add_lines bayes_factor bayesian_r2 bfmi combine_plots compare ess eti hdi loo
        loo_approximate_posterior loo_expectations loo_i loo_kfold loo_metrics loo_moment_match loo_pit loo_r2
        loo_score loo_subsample mcse plot_autocorr plot_bf plot_compare plot_convergence_dist plot_dgof
        plot_dgof_dist plot_dist plot_ecdf_pit plot_energy plot_ess plot_ess_evolution plot_forest plot_khat
        plot_lm plot_loo_pit plot_mcse plot_pair plot_pair_focus plot_parallel plot_posterior plot_ppc
        plot_ppc_censored plot_ppc_dist plot_ppc_interval plot_ppc_pava plot_ppc_pava_residuals plot_ppc_pit
        plot_ppc_rootogram plot_ppc_tstat plot_prior_posterior plot_psense_dist plot_psense_quantities plot_rank
        plot_rank_dist plot_ridge plot_trace plot_trace_dist psense psense_summary reloo residual_r2 rhat
        rhat_nested weight_predictions
    """,
    "consilience.sample": """
        compute_deterministics compute_log_likelihood compute_log_prior predictions_to_inference_data resume sample
        sample_posterior_predictive sample_prior_predictive to_inference_data vectorize_over_posterior
    """,
    "consilience.tensor": "config floatX function grad hessian jacobian shared value_and_grad",
    "consilience.tensor.flattened": "cont_inputs hessian_diag inputvars intX",
}
_MODULES: Final = {
    "distributions": "consilience.distributions",
    "errors": "consilience.errors",
    "gradient": "consilience.gradient",
    "math": "consilience.math",
    "tensor": "consilience.tensor",
}
_HOME: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *_MODULES])

if TYPE_CHECKING:
    from consilience import distributions as distributions
    from consilience import errors as errors
    from consilience import gradient as gradient
    from consilience import math as math
    from consilience import tensor as tensor
    from consilience.backends.request import In as In
    from consilience.backends.request import Out as Out
    from consilience.diagnostics import summary as summary
    from consilience.distributions import Bernoulli as Bernoulli
    from consilience.distributions import Beta as Beta
    from consilience.distributions import Binomial as Binomial
    from consilience.distributions import Categorical as Categorical
    from consilience.distributions import Cauchy as Cauchy
    from consilience.distributions import CustomDist as CustomDist
    from consilience.distributions import Dirichlet as Dirichlet
    from consilience.distributions import Exponential as Exponential
    from consilience.distributions import Flat as Flat
    from consilience.distributions import Gamma as Gamma
    from consilience.distributions import HalfCauchy as HalfCauchy
    from consilience.distributions import HalfFlat as HalfFlat
    from consilience.distributions import HalfNormal as HalfNormal
    from consilience.distributions import InverseGamma as InverseGamma
    from consilience.distributions import Laplace as Laplace
    from consilience.distributions import LogNormal as LogNormal
    from consilience.distributions import Lognormal as Lognormal
    from consilience.distributions import MvNormal as MvNormal
    from consilience.distributions import NegativeBinomial as NegativeBinomial
    from consilience.distributions import Normal as Normal
    from consilience.distributions import Poisson as Poisson
    from consilience.distributions import StudentT as StudentT
    from consilience.distributions import Uniform as Uniform
    from consilience.distributions import compile as compile
    from consilience.distributions import draw as draw
    from consilience.distributions import find_constrained_prior as find_constrained_prior
    from consilience.distributions import icdf as icdf
    from consilience.distributions import logcdf as logcdf
    from consilience.distributions import logp as logp
    from consilience.errors import ConsilienceError as ConsilienceError
    from consilience.errors import ConsilienceWarning as ConsilienceWarning
    from consilience.errors import ConvergenceWarning as ConvergenceWarning
    from consilience.errors import InitialPointError as InitialPointError
    from consilience.errors import ModelError as ModelError
    from consilience.errors import ParameterError as ParameterError
    from consilience.errors import SamplingError as SamplingError
    from consilience.errors import SealError as SealError
    from consilience.errors import ShapeError as ShapeError
    from consilience.errors import StorageError as StorageError
    from consilience.errors import SupportError as SupportError
    from consilience.inference import NUTS as NUTS
    from consilience.inference import HamiltonianMC as HamiltonianMC
    from consilience.inference import Metropolis as Metropolis
    from consilience.model import Data as Data
    from consilience.model import Deterministic as Deterministic
    from consilience.model import Model as Model
    from consilience.model import Point as Point
    from consilience.model import Potential as Potential
    from consilience.model import do as do
    from consilience.model import model_to_graphviz as model_to_graphviz
    from consilience.model import model_to_mermaid as model_to_mermaid
    from consilience.model import model_to_networkx as model_to_networkx
    from consilience.model import modelcontext as modelcontext
    from consilience.model import observe as observe
    from consilience.model import set_data as set_data
    from consilience.plots import add_bands as add_bands
    from consilience.plots import add_lines as add_lines
    from consilience.plots import bayes_factor as bayes_factor
    from consilience.plots import bayesian_r2 as bayesian_r2
    from consilience.plots import bfmi as bfmi
    from consilience.plots import combine_plots as combine_plots
    from consilience.plots import compare as compare
    from consilience.plots import ess as ess
    from consilience.plots import eti as eti
    from consilience.plots import hdi as hdi
    from consilience.plots import loo as loo
    from consilience.plots import loo_approximate_posterior as loo_approximate_posterior
    from consilience.plots import loo_expectations as loo_expectations
    from consilience.plots import loo_i as loo_i
    from consilience.plots import loo_kfold as loo_kfold
    from consilience.plots import loo_metrics as loo_metrics
    from consilience.plots import loo_moment_match as loo_moment_match
    from consilience.plots import loo_pit as loo_pit
    from consilience.plots import loo_r2 as loo_r2
    from consilience.plots import loo_score as loo_score
    from consilience.plots import loo_subsample as loo_subsample
    from consilience.plots import mcse as mcse
    from consilience.plots import plot_autocorr as plot_autocorr
    from consilience.plots import plot_bf as plot_bf
    from consilience.plots import plot_compare as plot_compare
    from consilience.plots import plot_convergence_dist as plot_convergence_dist
    from consilience.plots import plot_dgof as plot_dgof
    from consilience.plots import plot_dgof_dist as plot_dgof_dist
    from consilience.plots import plot_dist as plot_dist
    from consilience.plots import plot_ecdf_pit as plot_ecdf_pit
    from consilience.plots import plot_energy as plot_energy
    from consilience.plots import plot_ess as plot_ess
    from consilience.plots import plot_ess_evolution as plot_ess_evolution
    from consilience.plots import plot_forest as plot_forest
    from consilience.plots import plot_khat as plot_khat
    from consilience.plots import plot_lm as plot_lm
    from consilience.plots import plot_loo_pit as plot_loo_pit
    from consilience.plots import plot_mcse as plot_mcse
    from consilience.plots import plot_pair as plot_pair
    from consilience.plots import plot_pair_focus as plot_pair_focus
    from consilience.plots import plot_parallel as plot_parallel
    from consilience.plots import plot_posterior as plot_posterior
    from consilience.plots import plot_ppc as plot_ppc
    from consilience.plots import plot_ppc_censored as plot_ppc_censored
    from consilience.plots import plot_ppc_dist as plot_ppc_dist
    from consilience.plots import plot_ppc_interval as plot_ppc_interval
    from consilience.plots import plot_ppc_pava as plot_ppc_pava
    from consilience.plots import plot_ppc_pava_residuals as plot_ppc_pava_residuals
    from consilience.plots import plot_ppc_pit as plot_ppc_pit
    from consilience.plots import plot_ppc_rootogram as plot_ppc_rootogram
    from consilience.plots import plot_ppc_tstat as plot_ppc_tstat
    from consilience.plots import plot_prior_posterior as plot_prior_posterior
    from consilience.plots import plot_psense_dist as plot_psense_dist
    from consilience.plots import plot_psense_quantities as plot_psense_quantities
    from consilience.plots import plot_rank as plot_rank
    from consilience.plots import plot_rank_dist as plot_rank_dist
    from consilience.plots import plot_ridge as plot_ridge
    from consilience.plots import plot_trace as plot_trace
    from consilience.plots import plot_trace_dist as plot_trace_dist
    from consilience.plots import psense as psense
    from consilience.plots import psense_summary as psense_summary
    from consilience.plots import reloo as reloo
    from consilience.plots import residual_r2 as residual_r2
    from consilience.plots import rhat as rhat
    from consilience.plots import rhat_nested as rhat_nested
    from consilience.plots import weight_predictions as weight_predictions
    from consilience.sample import compute_deterministics as compute_deterministics
    from consilience.sample import compute_log_likelihood as compute_log_likelihood
    from consilience.sample import compute_log_prior as compute_log_prior
    from consilience.sample import predictions_to_inference_data as predictions_to_inference_data
    from consilience.sample import resume as resume
    from consilience.sample import sample as sample
    from consilience.sample import sample_posterior_predictive as sample_posterior_predictive
    from consilience.sample import sample_prior_predictive as sample_prior_predictive
    from consilience.sample import to_inference_data as to_inference_data
    from consilience.sample import vectorize_over_posterior as vectorize_over_posterior
    from consilience.tensor import config as config
    from consilience.tensor import floatX as floatX
    from consilience.tensor import function as function
    from consilience.tensor import grad as grad
    from consilience.tensor import hessian as hessian
    from consilience.tensor import jacobian as jacobian
    from consilience.tensor import shared as shared
    from consilience.tensor import value_and_grad as value_and_grad
    from consilience.tensor.flattened import cont_inputs as cont_inputs
    from consilience.tensor.flattened import hessian_diag as hessian_diag
    from consilience.tensor.flattened import inputvars as inputvars
    from consilience.tensor.flattened import intX as intX


else:

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            found = getattr(import_module(_HOME[name]), name)
            if _HOME[name] in ("consilience.distributions", "consilience.model"):
                import_module("consilience.tensor")  # it gives NumPy's functions of random variables their meaning
        elif name in _MODULES:
            found = import_module(_MODULES[name])
        else:
            instead = import_module("consilience.plots").instead_of(name)
            place = f"module {__name__!r}"
            told = f"{place} has no attribute {name!r}{instead}"
            reason = told if instead else import_module("consilience.absent").reason(place, name, __all__)
            raise AttributeError(reason, name=name, obj=sys.modules[__name__])
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


class _Door(ModuleType):
    """This package, in which `sample` is the function: importing the module of that name does not change it."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
