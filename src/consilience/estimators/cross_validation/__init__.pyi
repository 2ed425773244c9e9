"""Written by `python tools/names.py` from the tables of cross_validation.py; not to be edited."""

from consilience.estimators.cross_validation.comparison import compare as compare
from consilience.estimators.cross_validation.importance import loo as loo
from consilience.estimators.cross_validation.folds import loo_kfold as loo_kfold
from consilience.estimators.cross_validation.leaving_one_out import reloo as reloo

__all__: list[str]
