"""Populations as a result: draws with names and dimensions, evidences and their error, figures of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from consilience.estimators.smc.population import Population
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.sample.inference_data import to_inference_data

if TYPE_CHECKING:
    import xarray


def labelled(model: Model, density: ModelDensity, found: Sequence[Population]) -> xarray.DataTree:
    """A tree of the posterior, with the mean evidence and its standard error, and of figures of chains and stages."""
    import xarray

    values = [density.expand(one.particles.points) for one in found]
    tree = to_inference_data({name: np.stack([v[name] for v in values]) for name in values[0]}, model=model)
    evidences = np.array([one.evidence for one in found])
    highest = evidences.max()
    ratios = np.exp(evidences - highest)
    mean = float(highest + np.log(ratios.mean()))
    error = float(ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(found))) if len(found) > 1 else np.nan
    tree["posterior"].attrs.update(
        inference_library="consilience",
        method="SMC",
        log_marginal_likelihood=mean,
        log_marginal_likelihood_error=error,
        **({"status": "interrupted"} if np.isnan(evidences).any() else {}),
    )
    stages = max(len(one.betas) for one in found)
    table = {
        name: np.array([[*row, *[np.nan] * (stages - len(row))] for row in rows])
        for name, rows in (
            ("beta", [one.betas for one in found]),
            ("acceptance_rate", [one.acceptance for one in found]),
            ("moves", [one.moves for one in found]),
        )
    }
    tree["sample_stats"] = xarray.DataTree(
        xarray.Dataset(
            {
                "log_marginal_likelihood": ("chain", evidences),
                "stages": ("chain", [len(one.betas) for one in found]),
                **{name: (("chain", "stage"), rows) for name, rows in table.items()},
            },
            coords={"chain": np.arange(len(found))},
        )
    )
    return tree
