"""Programs with something to choose, and every alternative of a program computed and compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.backends.reference import evaluate
from consilience.ir import Node
from consilience.planning import Forced
from consilience.planning.alternatives import Alternatives
from consilience.planning.choice import plan
from tests.transforms.laws import Array


def every_alternative(found: Alternatives) -> list[tuple[int, int]]:
    """All members that are not the written ones, as pairs of class and member."""
    return [(n, m) for n, members in enumerate(found.members) for m in range(1, len(members))]


def forced(choices: dict[int, int]) -> Forced:
    """A choice of given members."""
    return lambda found: choices


def complaint(outputs: Sequence[Node], given: dict[Node, Array], choice: Forced, tolerance: float = 1e-9) -> str:
    """How the forms of a choice differ from what was written; empty where they do not."""
    made = plan(outputs, choice=choice)
    for before, after in zip(outputs, made.outputs, strict=True):
        if before.type != after.type:
            return f"{after.type!r} of {before.type!r}"
    written, chosen = evaluate(outputs, given), evaluate(made.outputs, given)
    for before, after in zip(written, chosen, strict=True):
        scale = max(1.0, float(np.max(np.abs(before[np.isfinite(before)]), initial=0.0)))
        wrong = np.isfinite(before) & ~np.isclose(before, after, rtol=tolerance, atol=tolerance * scale)
        if wrong.any():
            return f"{before[wrong][0]} became {after[wrong][0]} by {made.rules}"
    return ""
