"""Sums of regression trees among a model's variables: what cannot move them.

A model in; an error that names the remedy out.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import ModelError
from consilience.model.variables import ModelVariables


def refuse_trees(model: ModelVariables, what: str, names: Sequence[str] | None = None) -> None:
    """Raise ModelError where `what` would have to move sums of trees, those of these names or all."""
    found = [v.name for v in model.free if v.has_trees and (names is None or v.name in names)]
    if found:
        raise ModelError(
            f"`{found[0]}` is a sum of regression trees (pm.BART), and {what} moves real numbers only. "
            "Use `pm.sample` without `backend=`, which moves them by pm.BARTStep."
        )
