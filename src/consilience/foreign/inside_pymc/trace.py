"""Draws in the form of PyMC's own trace, so that its own converter labels them.

A result of ours enters; a DataTree or, below ArviZ 1, an InferenceData leaves, with the names, the order, the dims and
the element types that PyMC gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
GROUPS: Final = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
SAME_TWICE: Final = {"n_steps"}  # PyMC's converter writes `tree_size` under this name


class PymcTrace:
    """What PyMC's converter asks of a trace.

    `values`, `statistics`: arrays (chain, draw, …) by name, the draws of the tuning first. `report`: `n_tune` and
    `n_draws` of each chain, and `t_sampling` in seconds.
    """

    def __init__(self, values: Mapping[str, Array], statistics: Mapping[str, Array], report: SimpleNamespace) -> None:
        self.values, self.statistics, self.report = values, statistics, report

    @property
    def nchains(self) -> int:
        """Number of chains."""
        return len(next(iter(self.statistics.values())))

    @property
    def varnames(self) -> list[str]:
        """Names of variables."""
        return list(self.values)

    @property
    def stat_names(self) -> list[str]:
        """Names of statistics."""
        return list(self.statistics)

    def __len__(self) -> int:
        return int(next(iter(self.statistics.values())).shape[1])

    def __getitem__(self, draws: slice) -> Self:
        values, statistics = (
            {name: array[:, draws] for name, array in given.items()} for given in (self.values, self.statistics)
        )
        return type(self)(values, statistics, self.report)

    def get_values(self, name: str, **_: Any) -> Array:
        """The draws of a variable; PyMC asks for them chain by chain."""
        return self.values[name]

    def get_sampler_stats(self, name: str, **_: Any) -> Array:
        """The same of a statistic."""
        return self.statistics[name]


def labelled(model: Any, result: Any, names: Sequence[str] | None, warmup: bool, arguments: Mapping[str, Any]) -> Any:
    """The result of ours as PyMC's for its model.

    `model`: of PyMC.
    `result`: of our `sample`.
    `names`: of variables to keep; None: all that PyMC keeps.
    `warmup`: whether the draws of the tuning are groups of their own.
    `arguments`: others of PyMC's `to_inference_data`.
    """
    import pymc

    if names is None:
        variables = {v.name: v.dtype for v in model.unobserved_value_vars}
    else:
        variables = {v.name: v.dtype for v in model.unobserved_RVs if v.name in names}
    tuned = warmup and "warmup_posterior" in result.children
    parts = [result.warmup_posterior, result.posterior] if tuned else [result.posterior]
    values = {name: _joined(parts, name).astype(dtype) for name, dtype in variables.items() if name in result.posterior}
    parts = [result.warmup_sample_stats, result.sample_stats] if tuned else [result.sample_stats]
    statistics = {name: _joined(parts, name) for name in result.sample_stats if name not in SAME_TWICE}
    attributes = result.sample_stats.attrs
    report = SimpleNamespace(
        n_tune=int(attributes["tuning_steps"]),
        n_draws=int(result.posterior.sizes["draw"]),
        t_sampling=float(attributes["sampling_time"]),
    )
    labels = pymc.to_inference_data(
        PymcTrace(values, statistics, report), model=model, **{"save_warmup": warmup, **arguments}
    )
    of_run = {name: value for name, value in attributes.items() if not name.startswith("creat")}
    for group in GROUPS:
        if getattr(labels, group, None) is not None:
            getattr(labels, group).attrs.update(of_run)
    return labels


def _joined(parts: Sequence[Any], name: str) -> Array:
    return np.concatenate([part[name].values for part in parts], axis=1)
