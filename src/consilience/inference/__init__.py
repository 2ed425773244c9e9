"""Step methods: kernels that know a log density and random numbers, and nothing of models, threads or screens."""

from consilience.inference.block import Block
from consilience.inference.compound import CompoundStep
from consilience.inference.de_metropolis import DEMetropolis
from consilience.inference.de_metropolis_z import DEMetropolisZ
from consilience.inference.density import LogDensity
from consilience.inference.gibbs import BinaryGibbsMetropolis, CategoricalGibbsMetropolis
from consilience.inference.hmc import HamiltonianMC
from consilience.inference.kernel import Kernel
from consilience.inference.mala import MALA
from consilience.inference.metropolis import Metropolis
from consilience.inference.nuts_kernel import NUTS
from consilience.inference.stretch import StretchEnsemble
from consilience.inference.tempering import ParallelTempering

__all__ = [
    "MALA",
    "NUTS",
    "BinaryGibbsMetropolis",
    "Block",
    "CategoricalGibbsMetropolis",
    "CompoundStep",
    "DEMetropolis",
    "DEMetropolisZ",
    "HamiltonianMC",
    "Kernel",
    "LogDensity",
    "Metropolis",
    "ParallelTempering",
    "StretchEnsemble",
]
