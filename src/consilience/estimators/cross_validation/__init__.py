"""How well models predict what they have not seen: by posteriors without some observations, on workers of any kind.

A result and its model in; ArviZ's `ELPDData` and tables out, whose importance sampling is theirs.
"""

from consilience.estimators.cross_validation.comparison import compare
from consilience.estimators.cross_validation.folds import loo_kfold
from consilience.estimators.cross_validation.importance import loo
from consilience.estimators.cross_validation.leaving_one_out import reloo

__all__ = ["compare", "loo", "loo_kfold", "reloo"]
