"""Written by `python tools/names.py` from the tables of inference.py; not to be edited."""

from consilience.inference.adaptive_metropolis import AdaptiveMetropolis as AdaptiveMetropolis
from consilience.inference.bart import BARTStep as BARTStep
from consilience.inference.gibbs import BinaryGibbsMetropolis as BinaryGibbsMetropolis
from consilience.inference.binary_metropolis import BinaryMetropolis as BinaryMetropolis
from consilience.inference.block import Block as Block
from consilience.inference.gibbs import CategoricalGibbsMetropolis as CategoricalGibbsMetropolis
from consilience.inference.compound import CompoundStep as CompoundStep
from consilience.inference.de_metropolis import DEMetropolis as DEMetropolis
from consilience.inference.de_metropolis_z import DEMetropolisZ as DEMetropolisZ
from consilience.inference.elliptical_slice import EllipticalSlice as EllipticalSlice
from consilience.inference.hmc import HamiltonianMC as HamiltonianMC
from consilience.inference.kernel import Kernel as Kernel
from consilience.inference.density import LogDensity as LogDensity
from consilience.inference.mala import MALA as MALA
from consilience.inference.metropolis import Metropolis as Metropolis
from consilience.inference.nuts_kernel import NUTS as NUTS
from consilience.inference.tempering import ParallelTempering as ParallelTempering
from consilience.inference.slice import Slice as Slice
from consilience.inference.stretch import StretchEnsemble as StretchEnsemble

__all__: list[str]
