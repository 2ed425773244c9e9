"""An attack on posteriors without data: the model's own draws are independent draws of it, and exact."""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.distributions.drawing import draw
from consilience.estimators.refutation.attack import Allowance, Others, by_comparison
from consilience.estimators.refutation.claim import Claim
from consilience.estimators.refutation.report import AttackReport

NAME: Final = "independent draws of the model"
GROUPS, DRAWS = 64, 64


def independent_draws(claim: Claim, allowance: Allowance) -> AttackReport | None:
    """Draws of a model that has no data and no potentials; None of any other."""
    model = claim.model
    if model.observed or model.named_potentials:
        return None

    def make(number: int) -> Others:
        count = GROUPS * DRAWS * (number + 1)
        names = [v.name for v in model.free]
        found = draw([v.node for v in model.free], draws=count, random_seed=(allowance.seed + number) % 2**31)
        values = dict(zip(names, map(np.asarray, found), strict=True))
        positions = claim.density.unconstrained(values).reshape(GROUPS, -1, claim.density.dimension)
        grouped = {name: a.reshape(GROUPS, -1, *a.shape[1:]) for name, a in values.items()}
        return Others(claim.scalars_of(grouped, positions), f"{count} independent draws of the model")

    return by_comparison(NAME, claim, make)
