"""Written by `python tools/names.py` from the tables of cov.py; not to be edited."""

from consilience.gp.covariance import Add as Add
from consilience.gp.covariance import BaseCovariance as BaseCovariance
from consilience.gp.stationary import CircularCovariance as _Circular
from consilience.gp.covariance import Combination as Combination
from consilience.gp.nonstationary import ConstantCovariance as _Constant
from consilience.gp.nonstationary import Coregion as Coregion
from consilience.gp.stationary import Cosine as Cosine
from consilience.gp.covariance import Covariance as Covariance
from consilience.gp.stationary import ExpQuad as ExpQuad
from consilience.gp.stationary import ExponentialCovariance as _Exponential
from consilience.gp.covariance import Exponentiated as Exponentiated
from consilience.gp.nonstationary import Gibbs as Gibbs
from consilience.gp.covariance import KroneckerCovariance as _Kron
from consilience.gp.nonstationary import LinearCovariance as _Linear
from consilience.gp.stationary import Matern12 as Matern12
from consilience.gp.stationary import Matern32 as Matern32
from consilience.gp.stationary import Matern52 as Matern52
from consilience.gp.stationary import Periodic as Periodic
from consilience.gp.nonstationary import Polynomial as Polynomial
from consilience.gp.covariance import Prod as Prod
from consilience.gp.stationary import RatQuad as RatQuad
from consilience.gp.nonstationary import ScaledCov as ScaledCov
from consilience.gp.stationary import Stationary as Stationary
from consilience.gp.nonstationary import WarpedInput as WarpedInput
from consilience.gp.nonstationary import WhiteNoise as WhiteNoise
from consilience.gp.stationary import WrappedPeriodic as WrappedPeriodic

Circular = _Circular
Constant = _Constant
Exponential = _Exponential
Kron = _Kron
Linear = _Linear

__all__: list[str]
