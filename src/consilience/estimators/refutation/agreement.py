"""The first attack costs nothing: chains that do not agree among themselves are no draws of one posterior."""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.diagnostics.split_rhat import split_rhat
from consilience.estimators.refutation.attack import AMONG_THEMSELVES, Allowance
from consilience.estimators.refutation.claim import Claim
from consilience.estimators.refutation.report import AttackReport

NAME: Final = AMONG_THEMSELVES
APART: Final = 1.1


def chains_among_themselves(claim: Claim, allowance: Allowance) -> AttackReport:
    """R-hat of every scalar, of halves of chains."""
    del allowance
    found = np.nan_to_num(split_rhat(np.moveaxis(claim.scalars, 0, -1)), nan=1.0)
    worst = int(np.argmax(found))
    said = f"R-hat is {found[worst]:.3g} at most (`{claim.names[worst]}`)"
    chains = claim.scalars.shape[1]
    smallest = f"chains {2.0 * np.sqrt(APART**2 - 1.0):.1g} sd apart" if chains > 1 else ""
    return AttackReport(NAME, said, smallest, refuted=bool(found[worst] > APART))
