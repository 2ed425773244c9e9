"""`pm.gp`: Gaussian processes, exact, latent, and in approximations that scale.

Inputs, covariance and mean functions in, variables of the model and their distributions at new inputs out.
"""

from typing import Any

from consilience.first_use import guard
from consilience.gp import cov as cov
from consilience.gp import hilbert_space as hsgp_approx
from consilience.gp import mean as mean
from consilience.gp import numerics as util
from consilience.gp.hilbert_space import HSGP, HSGPPeriodic, approx_hsgp_hyperparams
from consilience.gp.inducing_points import MarginalApprox, MarginalSparse
from consilience.gp.kronecker import LatentKron, MarginalKron
from consilience.gp.latent import TP, Latent
from consilience.gp.marginal import Marginal
from consilience.names import absent

__all__ = [
    "HSGP", "TP", "HSGPPeriodic", "Latent", "LatentKron", "Marginal", "MarginalApprox", "MarginalKron",
    "MarginalSparse", "approx_hsgp_hyperparams", "cov", "hsgp_approx", "mean", "util",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(absent.reason(f"module {__name__!r}", name, __all__), name=name)


guard(globals())
