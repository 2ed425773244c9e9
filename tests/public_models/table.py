"""All public models, by name: importing this file reads every file of models beside it."""

from __future__ import annotations

from tests.public_models import (
    bugs_counts as bugs_counts,
)
from tests.public_models import (
    bugs_lines as bugs_lines,
)
from tests.public_models import (
    bugs_survival as bugs_survival,
)
from tests.public_models import (
    latent_states as latent_states,
)
from tests.public_models import (
    pymc_processes as pymc_processes,
)
from tests.public_models import (
    pymc_regressions as pymc_regressions,
)
from tests.public_models import (
    pymc_time as pymc_time,
)
from tests.public_models import (
    rethinking as rethinking,
)
from tests.public_models import (
    textbooks as textbooks,
)
from tests.public_models.registry import MODELS as MODELS
