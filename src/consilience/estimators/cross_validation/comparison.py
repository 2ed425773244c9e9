"""Models beside each other by what they predict: ArviZ's table, with refits where importance sampling fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consilience.errors import ModelError
from consilience.estimators.cross_validation.importance import check_log_likelihood, loo
from consilience.estimators.cross_validation.leaving_one_out import reloo
from consilience.estimators.cross_validation.refits import arviz
from consilience.model.model import Model

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations


def compare(
    compare_dict: Mapping[str, Any],
    method: str = "stacking",
    var_name: str | None = None,
    *,
    models: Mapping[str, Model] | None = None,
    store: str | Path | None = None,
    **refits: Any,
) -> pd.DataFrame:
    """Compare models by their expected log predictive density, with weights for model averaging.

    compare_dict: Results of `pm.sample` with log likelihoods, or `ELPDData`, by name.
    method: How the weights are computed: "stacking", "BB-pseudo-BMA" or "pseudo-BMA".
    var_name : ...
    models: Models by name. For these, observations with a large Pareto k are left out in refits, see `pm.reloo`. The
        other results are used without refits.
    store: Folder for these refits.
    **refits: Keywords of `pm.reloo`: `executor`, `cores`, `limit`, `random_seed`, `draws` and others.
    Returns: ArviZ's table with one row per model, the best first.
    Raises ModelError: If a model is given without a result.
    See loo: The expected log predictive density of one model.
    See reloo: Refits where importance sampling is not reliable.
    References: Yao, Vehtari, Simpson, Gelman (2018), Bayesian Analysis 13, 917, doi:10.1214/17-BA1091, on the weights.
    >>> data = [0.2, -0.5, 1.0, 0.3, -0.1, 0.6]
    >>> found = {}
    >>> for name, scale in {"narrow": 0.5, "wide": 5.0}.items():
    ...     with pm.Model() as model:
    ...         mu = pm.Normal("mu", 0, 1)
    ...         y = pm.Normal("y", mu, scale, observed=data)
    ...         result = pm.sample(random_seed=1, progressbar=False)
    ...         found[name] = pm.compute_log_likelihood(result)
    >>> list(pm.compare(found).index)
    ['narrow', 'wide']
    """
    if not isinstance(compare_dict, Mapping) or not compare_dict:
        raise ModelError(
            "`compare_dict` must be a dictionary of results by name, such as {'pooled': result, 'nested': other}, "
            + ("got an empty one." if isinstance(compare_dict, Mapping) else f"got a {type(compare_dict).__name__}.")
        )
    known = dict(models or {})
    unknown = [name for name in known if name not in compare_dict]
    if unknown:
        raise ModelError(f"`models` has `{unknown[0]}`; there are results of {', '.join(compare_dict)}.")
    if not known and (refits or store is not None):
        raise ModelError("refits need `models=`: the model of each result, by name.")
    folder = None if store is None else Path(store)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    found = dict(compare_dict)
    for name, result in compare_dict.items():
        groups = {} if name in known else getattr(result, "children", {})
        check_log_likelihood(f"the result {name!r}", groups)
        if "log_likelihood" in groups:
            found[name] = loo(result, pointwise=True, var_name=var_name)
    for number, (name, model) in enumerate(known.items()):
        file = None if folder is None else folder / f"{number}.jsonl"
        found[name] = reloo(compare_dict[name], var_name=var_name, model=model, pointwise=True, store=file, **refits)
    return arviz("compare")(found, method=method, var_name=var_name)
