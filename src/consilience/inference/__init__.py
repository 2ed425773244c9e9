"""Step methods: kernels that know a log density and random numbers, and nothing of models, threads or screens."""

from consilience.inference.adaptive_metropolis import AdaptiveMetropolis
from consilience.inference.binary_metropolis import BinaryMetropolis
from consilience.inference.block import Block
from consilience.inference.compound import CompoundStep
from consilience.inference.de_metropolis import DEMetropolis
from consilience.inference.de_metropolis_z import DEMetropolisZ
from consilience.inference.density import LogDensity
from consilience.inference.elliptical_slice import EllipticalSlice
from consilience.inference.gibbs import BinaryGibbsMetropolis, CategoricalGibbsMetropolis
from consilience.inference.hmc import HamiltonianMC
from consilience.inference.kernel import Kernel
from consilience.inference.mala import MALA
from consilience.inference.metropolis import Metropolis
from consilience.inference.nuts_kernel import NUTS
from consilience.inference.slice import Slice
from consilience.inference.stretch import StretchEnsemble
from consilience.inference.tempering import ParallelTempering

__all__ = [
    "MALA",
    "NUTS",
    "AdaptiveMetropolis",
    "BinaryGibbsMetropolis",
    "BinaryMetropolis",
    "Block",
    "CategoricalGibbsMetropolis",
    "CompoundStep",
    "DEMetropolis",
    "DEMetropolisZ",
    "EllipticalSlice",
    "HamiltonianMC",
    "Kernel",
    "LogDensity",
    "Metropolis",
    "ParallelTempering",
    "Slice",
    "StretchEnsemble",
]
