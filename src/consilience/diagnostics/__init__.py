"""Judging draws: arrays (chain, draw, ...) enter; diagnostics, intervals, tables and warnings leave."""

from consilience.diagnostics.convergence import Finding, inspect, warn
from consilience.diagnostics.effective_sample_size import ess_bulk, ess_mean, ess_quantile, ess_tail
from consilience.diagnostics.energy import ebfmi
from consilience.diagnostics.examination import Examination, examine, examine_all
from consilience.diagnostics.interval import eti, hdi
from consilience.diagnostics.split_rhat import split_rhat
from consilience.diagnostics.standard_error import mcse_mean, mcse_quantile, mcse_sd
from consilience.diagnostics.summary import SummaryTable, summary
from consilience.diagnostics.superchains import nested_rhat

__all__ = [
    "Examination",
    "Finding",
    "SummaryTable",
    "ebfmi",
    "ess_bulk",
    "ess_mean",
    "ess_quantile",
    "ess_tail",
    "eti",
    "examine",
    "examine_all",
    "hdi",
    "inspect",
    "mcse_mean",
    "mcse_quantile",
    "mcse_sd",
    "nested_rhat",
    "split_rhat",
    "summary",
    "warn",
]
