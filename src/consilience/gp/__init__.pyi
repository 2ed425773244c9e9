"""Written by `python tools/names.py` from the tables of gp.py; not to be edited."""

from consilience.gp.hilbert_space import HSGP as HSGP
from consilience.gp.hilbert_space import HSGPPeriodic as HSGPPeriodic
from consilience.gp.latent import Latent as Latent
from consilience.gp.kronecker import LatentKron as LatentKron
from consilience.gp.marginal import Marginal as Marginal
from consilience.gp.inducing_points import MarginalApprox as MarginalApprox
from consilience.gp.kronecker import MarginalKron as MarginalKron
from consilience.gp.inducing_points import MarginalSparse as MarginalSparse
from consilience.gp.latent import TP as TP
from consilience.gp.hilbert_space import approx_hsgp_hyperparams as approx_hsgp_hyperparams
from consilience.gp import cov as cov
from consilience.gp import hilbert_space as _hsgp_approx
from consilience.gp import mean as mean
from consilience.gp import numerics as _util

hsgp_approx = _hsgp_approx
util = _util

__all__: list[str]
