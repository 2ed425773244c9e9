"""Samplers: kernels that know a log density and random numbers, and nothing of models, threads or screens."""

from consilience.inference.density import LogDensity
from consilience.inference.hmc_chain import HmcKernel
from consilience.inference.kernel import Divergences, Kernel, MarkovChain, Rows, Tuning
from consilience.inference.metropolis_chain import MetropolisKernel
from consilience.inference.nuts_chain import NutsKernel

# PyMC's names of the kernels.
HamiltonianMC = HmcKernel
Metropolis = MetropolisKernel
NUTS = NutsKernel

__all__ = [
    "NUTS",
    "Divergences",
    "HamiltonianMC",
    "HmcKernel",
    "Kernel",
    "LogDensity",
    "MarkovChain",
    "Metropolis",
    "MetropolisKernel",
    "NutsKernel",
    "Rows",
    "Tuning",
]
