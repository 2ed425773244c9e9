"""`pm.gp.cov`: covariance functions under PyMC's names."""

from consilience.first_use import guard
from consilience.gp.covariance import Add as Add
from consilience.gp.covariance import BaseCovariance as BaseCovariance
from consilience.gp.covariance import Combination as Combination
from consilience.gp.covariance import Covariance as Covariance
from consilience.gp.covariance import Exponentiated as Exponentiated
from consilience.gp.covariance import KroneckerCovariance as Kron
from consilience.gp.covariance import Prod as Prod
from consilience.gp.nonstationary import ConstantCovariance as Constant
from consilience.gp.nonstationary import Coregion as Coregion
from consilience.gp.nonstationary import Gibbs as Gibbs
from consilience.gp.nonstationary import LinearCovariance as Linear
from consilience.gp.nonstationary import Polynomial as Polynomial
from consilience.gp.nonstationary import ScaledCov as ScaledCov
from consilience.gp.nonstationary import WarpedInput as WarpedInput
from consilience.gp.nonstationary import WhiteNoise as WhiteNoise
from consilience.gp.stationary import CircularCovariance as Circular
from consilience.gp.stationary import Cosine as Cosine
from consilience.gp.stationary import ExponentialCovariance as Exponential
from consilience.gp.stationary import ExpQuad as ExpQuad
from consilience.gp.stationary import Matern12 as Matern12
from consilience.gp.stationary import Matern32 as Matern32
from consilience.gp.stationary import Matern52 as Matern52
from consilience.gp.stationary import Periodic as Periodic
from consilience.gp.stationary import RatQuad as RatQuad
from consilience.gp.stationary import Stationary as Stationary
from consilience.gp.stationary import WrappedPeriodic as WrappedPeriodic

__all__ = [
    "Add", "BaseCovariance", "Circular", "Combination", "Constant", "Coregion", "Cosine", "Covariance", "ExpQuad",
    "Exponential", "Exponentiated", "Gibbs", "Kron", "Linear", "Matern12", "Matern32", "Matern52", "Periodic",
    "Polynomial", "Prod", "RatQuad", "ScaledCov", "Stationary", "WarpedInput", "WhiteNoise", "WrappedPeriodic",
]  # fmt: skip

guard(globals())
