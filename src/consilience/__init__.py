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
    "consilience.diagnostics": "summary",
    "consilience.distributions": """
        Bernoulli Beta Binomial Categorical Cauchy CustomDist Dirichlet Exponential Flat Gamma HalfCauchy
        HalfFlat HalfNormal InverseGamma Laplace LogNormal Lognormal MvNormal NegativeBinomial Normal Poisson
        StudentT Uniform draw icdf logcdf logp
    """,
    "consilience.errors": """
        ConsilienceError ConsilienceWarning ConvergenceWarning InitialPointError ModelError ParameterError
        SamplingError SealError ShapeError StorageError SupportError
    """,
    "consilience.inference": "HamiltonianMC Metropolis NUTS",
    "consilience.model": "Data Deterministic Model Potential modelcontext set_data",
    "consilience.sample": """
        compute_log_likelihood resume sample sample_posterior_predictive sample_prior_predictive
    """,
    "consilience.tensor": "config floatX function grad hessian jacobian shared value_and_grad",
}
_MODULES: Final = {
    "distributions": "consilience.distributions",
    "errors": "consilience.errors",
    "math": "consilience.tensor",
    "tensor": "consilience.tensor",
}
_HOME: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *_MODULES])

if TYPE_CHECKING:
    from consilience import distributions as distributions
    from consilience import errors as errors
    from consilience import tensor as tensor
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
    from consilience.distributions import draw as draw
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
    from consilience.model import Potential as Potential
    from consilience.model import modelcontext as modelcontext
    from consilience.model import set_data as set_data
    from consilience.sample import compute_log_likelihood as compute_log_likelihood
    from consilience.sample import resume as resume
    from consilience.sample import sample as sample
    from consilience.sample import sample_posterior_predictive as sample_posterior_predictive
    from consilience.sample import sample_prior_predictive as sample_prior_predictive
    from consilience.tensor import config as config
    from consilience.tensor import floatX as floatX
    from consilience.tensor import function as function
    from consilience.tensor import grad as grad
    from consilience.tensor import hessian as hessian
    from consilience.tensor import jacobian as jacobian
    from consilience.tensor import shared as shared
    from consilience.tensor import value_and_grad as value_and_grad

    math = tensor  # PyMC's name
else:

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            found = getattr(import_module(_HOME[name]), name)
        elif name in _MODULES:
            found = import_module(_MODULES[name])
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
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
