"""Bayesian inference on its own tensor compiler.

Models come in as PyMC users write them; posteriors go out as `xarray.DataTree`.

    import consilience as pm
"""

from consilience import tensor as math
from consilience.diagnostics import summary
from consilience.dist import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Cauchy,
    CustomDist,
    Dirichlet,
    Exponential,
    Flat,
    Gamma,
    HalfCauchy,
    HalfFlat,
    HalfNormal,
    InverseGamma,
    Laplace,
    LogNormal,
    Lognormal,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    draw,
    icdf,
    logcdf,
    logp,
)
from consilience.errors import (
    ConsilienceError,
    ConsilienceWarning,
    ConvergenceWarning,
    InitialPointError,
    ModelError,
    ParameterError,
    SamplingError,
    ShapeError,
    SupportError,
)
from consilience.inference import HmcKernel as HamiltonianMC
from consilience.inference import MetropolisKernel as Metropolis
from consilience.inference import NutsKernel as NUTS
from consilience.model import Data, Deterministic, Model, Potential, modelcontext, set_data
from consilience.sample import (
    compute_log_likelihood,
    sample,
    sample_posterior_predictive,
    sample_prior_predictive,
)
from consilience.tensor.differentiation import grad, hessian, jacobian, value_and_grad
from consilience.tensor.doors import function, shared

__version__ = "0.1.0"

__all__ = [name for name in dir() if not name.startswith("_")]
