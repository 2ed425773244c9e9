"""Sequential Monte Carlo: particles that go from the prior to the posterior in steps, and evidences.

A model in; labelled draws and the log marginal likelihood with its error out.
"""

from consilience.estimators.smc.bridge import log_marginal_likelihood
from consilience.estimators.smc.hamiltonian import HMC
from consilience.estimators.smc.moves import IMH, MH
from consilience.estimators.smc.nested import sample_nested
from consilience.estimators.smc.sampling import resume, sample_smc
from consilience.estimators.smc.streaming import assimilate
from consilience.first_use import guard

__all__ = ["HMC", "IMH", "MH", "assimilate", "log_marginal_likelihood", "resume", "sample_nested", "sample_smc"]

guard(globals())
