"""Leave-one-out cross-validation by importance sampling, of log likelihoods that are read part by part.

A result in; ArviZ's `ELPDData` out, whose numbers are those of `arviz_stats.loo`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from consilience.cluster.workers import Workers
from consilience.diagnostics.variables import pieces, unread
from consilience.errors import ArgumentError, warn
from consilience.estimators.cross_validation.refits import arviz, axes_of

WITHOUT: Final = ("log_weights", "pareto_k", "log_jacobian", "mixture")
"""Arguments that ask for all log likelihoods at once."""
OF_TASK: Final = 16 * 2**20
"""Bytes that go to a worker at once."""


def check_log_likelihood(title: str, groups: Mapping[str, Any]) -> None:
    """Raise ArgumentError where a result of a run has no log likelihoods, or none of any draw."""
    if "posterior" in groups and "log_likelihood" not in groups:
        raise ArgumentError(
            f"{title} has no log likelihoods; add them with `pm.compute_log_likelihood(result, model=model)`, or "
            'sample with `idata_kwargs={"log_likelihood": True}`.'
        )
    if "log_likelihood" in groups and 0 in groups["log_likelihood"].sizes.values():
        raise ArgumentError(f"{title} has no draws of its log likelihoods; a longer run may have some: see `max_time`.")


def loo(
    data: Any,
    pointwise: bool | None = None,
    var_name: str | None = None,
    reff: float | None = None,
    *,
    executor: Any = None,
    **others: Any,
) -> Any:
    """Leave-one-out cross-validation by Pareto-smoothed importance sampling.

    It estimates how well the model predicts new observations, from the log likelihood of the draws, without refitting.

    data (DataTree): A result with the group `log_likelihood`. If the group is large and on disk (`store=` of
        `pm.compute_log_likelihood`), or if there is an executor, observations are read and computed part by part; the
        result then has no `log_weights`.
    pointwise: Whether the result has `elpd_i` and `pareto_k`; by default the setting in ArviZ's `rcParams`.
    var_name : ...
    reff: Effective sample size divided by the number of draws; by default computed from the posterior.
    executor (Executor): Computes parts of the observations; see `pm.compute_log_likelihood`.
    **others: Keywords `log_weights`, `pareto_k`, `log_jacobian` and `mixture` of `arviz_stats.loo`.
    Returns (ELPDData): Expected log predictive density, its standard error and the effective number of parameters.
    Warns UserWarning: If a Pareto k is too large for a reliable approximation; `pm.reloo` refits without these
        observations.
    See reloo: Refits for observations with a large Pareto k.
    See loo_kfold: Refits for all observations, by folds.
    See compare: Several models.
    References: Vehtari, Gelman, Gabry (2017), Statistics and Computing 27, 1413, doi:10.1007/s11222-016-9696-4.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.2, -0.5, 1.0, 0.3, -0.1, 0.6])
    ...     result = pm.compute_log_likelihood(pm.sample(random_seed=1, progressbar=False))
    >>> bool(abs(pm.loo(result).elpd - -6.5) < 0.5)
    True
    """
    if isinstance(data, str) and "://" not in data and not Path(data).exists():
        raise ArgumentError(
            f"`loo`: `data` must be a result or the path of a stored one; there is nothing at {data!r}."
        )
    groups = getattr(data, "children", {})
    check_log_likelihood("`loo`: the result", groups)
    known = data["log_likelihood"].data_vars if "log_likelihood" in groups else {}
    name = var_name if var_name is not None or len(known) != 1 else str(next(iter(known)))
    in_parts = name in known and (executor is not None or unread(known[name]))
    if not in_parts or any(others.get(key) is not None and others[key] is not False for key in WITHOUT):
        return arviz("loo")(data, pointwise=pointwise, var_name=var_name, reff=reff, **others)
    values = known[name].transpose("chain", "draw", ...)
    count = values.sizes["chain"] * values.sizes["draw"]
    like = values.isel(chain=0, draw=0, drop=True)
    elpd, k, p = (np.full(like.shape, np.nan) for _ in range(3))
    given = _relative_efficiency(data) if reff is None else reff

    def items() -> Iterator[tuple[tuple[slice, ...], Any, float]]:
        for place in pieces(values.shape, values.dtype.itemsize, None if executor is None else OF_TASK):
            yield place, values[(slice(None), slice(None), *place)].load(), given

    def take(place: tuple[slice, ...], found: tuple[Any, Any, float]) -> None:
        elpd[place], k[place], p[place] = found

    if executor is None:
        for item in items():
            take(item[0], _of_part(item))
    else:
        with Workers(executor) as workers:
            for task in workers.each(_of_part, items()):
                if task is not None:
                    take(task.item[0], task.result())
    good = min(1 - 1 / np.log10(count), 0.7)
    if (bad := int((k > good).sum())) > 0:
        warn(
            f"Estimated shape parameter of Pareto distribution is greater than {good:.2f} for {bad} of {k.size} "
            "observations, of which importance sampling is not to be trusted; `pm.reloo` leaves them out in refits.",
            UserWarning,
        )
    shown = arviz("rcParams")["stats.ic_pointwise"] if pointwise is None else pointwise
    own = {"elpd_i": like.copy(data=elpd), "pareto_k": like.copy(data=k)} if shown else {}
    return arviz("ELPDData")(
        kind="loo", elpd=elpd.sum(), se=np.sqrt(elpd.size * np.var(elpd)), p=p.sum(), n_samples=count,
        n_data_points=elpd.size, scale="log", warning=bad > 0, good_k=good, **own,
    )  # fmt: skip


def _of_part(item: tuple[tuple[slice, ...], Any, float]) -> tuple[Any, Any, Any]:
    """What is known of some observations: log predictive densities, Pareto k, and what they lose being left out."""
    import xarray

    _, values, reff = item
    tree = xarray.DataTree.from_dict({"log_likelihood": values.to_dataset(name="y")})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto|The point-wise LOO", UserWarning)
        found = arviz("loo")(tree, pointwise=True, reff=reff)
    elpd = found.elpd_i.transpose(*axes_of(values)).to_numpy()
    draws = values.to_numpy().reshape(-1, *elpd.shape)
    whole = np.logaddexp.reduce(draws, axis=0) - np.log(len(draws))
    return elpd, found.pareto_k.transpose(*axes_of(values)).to_numpy(), whole - elpd


def _relative_efficiency(data: Any) -> float:
    """Effective draws of means by draws, over all variables of the posterior, as ArviZ has it."""
    posterior = data["posterior"].to_dataset()
    if posterior.sizes["chain"] == 1:
        return 1.0
    sizes = arviz("ess")(posterior, method="mean")
    each = np.hstack([sizes[name].values.ravel() for name in sizes.data_vars])
    return float(each.mean() / (posterior.sizes["chain"] * posterior.sizes["draw"]))
