"""Written by `python tools/names.py` from the tables of diagnostics.py; not to be edited."""

from consilience.diagnostics.examination import Examination as Examination
from consilience.diagnostics.convergence import Finding as Finding
from consilience.diagnostics.summary import SummaryTable as SummaryTable
from consilience.diagnostics.energy import ebfmi as ebfmi
from consilience.diagnostics.effective_sample_size import ess_bulk as ess_bulk
from consilience.diagnostics.effective_sample_size import ess_mean as ess_mean
from consilience.diagnostics.effective_sample_size import ess_quantile as ess_quantile
from consilience.diagnostics.effective_sample_size import ess_tail as ess_tail
from consilience.diagnostics.interval import eti as eti
from consilience.diagnostics.examination import examine as examine
from consilience.diagnostics.examination import examine_all as examine_all
from consilience.diagnostics.interval import hdi as hdi
from consilience.diagnostics.convergence import inspect as inspect
from consilience.diagnostics.standard_error import mcse_mean as mcse_mean
from consilience.diagnostics.standard_error import mcse_quantile as mcse_quantile
from consilience.diagnostics.standard_error import mcse_sd as mcse_sd
from consilience.diagnostics.superchains import nested_rhat as nested_rhat
from consilience.diagnostics.split_rhat import split_rhat as split_rhat
from consilience.diagnostics.summary import summary as summary
from consilience.diagnostics.convergence import warn as warn

__all__: list[str]
