"""Written by `python tools/names.py` from the tables of smc.py; not to be edited."""

from consilience.estimators.smc.hamiltonian import HMC as HMC
from consilience.estimators.smc.moves import IMH as IMH
from consilience.estimators.smc.moves import MH as MH
from consilience.estimators.smc.streaming import assimilate as assimilate
from consilience.estimators.smc.bridge import log_marginal_likelihood as log_marginal_likelihood
from consilience.estimators.smc.sampling import resume as resume
from consilience.estimators.smc.nested import sample_nested as sample_nested
from consilience.estimators.smc.sampling import sample_smc as sample_smc

__all__: list[str]
