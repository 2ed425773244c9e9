"""Judging draws: arrays (chain, draw, ...) enter; diagnostics, intervals, tables and warnings leave."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "convergence": "Finding inspect warn",
        "effective_sample_size": "ess_bulk ess_mean ess_quantile ess_tail",
        "energy": "ebfmi",
        "examination": "Examination examine examine_all",
        "interval": "eti hdi",
        "split_rhat": "split_rhat",
        "standard_error": "mcse_mean mcse_quantile mcse_sd",
        "summary": "SummaryTable summary",
        "superchains": "nested_rhat",
    },
    public=True,
)
