"""Written by `python tools/names.py` from the tables of variational.py; not to be edited."""

from consilience.estimators.variational.methods import ADVI as ADVI
from consilience.estimators.variational.methods import ASVGD as ASVGD
from consilience.estimators.variational.approximation import Approximation as Approximation
from consilience.estimators.variational.approximation import Empirical as Empirical
from consilience.estimators.variational.approximation import FullRank as FullRank
from consilience.estimators.variational.methods import FullRankADVI as FullRankADVI
from consilience.estimators.variational.inference import Inference as Inference
from consilience.estimators.variational.methods import LowRankADVI as LowRankADVI
from consilience.estimators.variational.approximation import LowRankNormal as LowRankNormal
from consilience.estimators.variational.approximation import MeanField as MeanField
from consilience.estimators.variational.methods import NFVI as NFVI
from consilience.estimators.variational.flow import NormalizingFlow as NormalizingFlow
from consilience.estimators.variational.methods import SVGD as SVGD
from consilience.estimators.variational.optimizers import adadelta as adadelta
from consilience.estimators.variational.optimizers import adagrad as adagrad
from consilience.estimators.variational.optimizers import adagrad_window as adagrad_window
from consilience.estimators.variational.optimizers import adam as adam
from consilience.estimators.variational.optimizers import adamax as adamax
from consilience.estimators.variational.methods import fit as fit
from consilience.estimators.variational.optimizers import momentum as momentum
from consilience.estimators.variational.optimizers import natural_gradient as natural_gradient
from consilience.estimators.variational.optimizers import nesterov_momentum as nesterov_momentum
from consilience.estimators.variational.optimizers import rmsprop as rmsprop
from consilience.estimators.variational.methods import sample_approx as sample_approx
from consilience.estimators.variational.optimizers import sgd as sgd

__all__: list[str]
