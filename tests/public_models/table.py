"""All public models, by name: importing this file reads every file of models beside it."""

from __future__ import annotations

from tests.public_models import (
    bugs_counts as bugs_counts,
    bugs_lines as bugs_lines,
    bugs_survival as bugs_survival,
)
from tests.public_models.registry import MODELS as MODELS
