"""All public models, by name: importing this file reads every file of models beside it."""

from __future__ import annotations

from tests.public_models import (
    bugs_counts as bugs_counts,
    bugs_lines as bugs_lines,
    bugs_survival as bugs_survival,
    pymc_processes as pymc_processes,
    pymc_time as pymc_time,
    rethinking as rethinking,
)
from tests.public_models.registry import MODELS as MODELS
