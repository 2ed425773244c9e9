"""`pm.sample` without sampling, for tests of what is built on it, as `pymc.testing` has it.

In: what `pm.sample` takes. Out: draws of the prior in the form of a posterior. Outside: tests of densities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    import xarray

__all__ = ["mock_sample", "mock_sample_setup_and_teardown"]


def mock_sample(
    draws: int = 10,
    *,
    sample_stats: Mapping[str, Callable[[tuple[int, int]], npt.ArrayLike]] | None = None,
    chains: int = 1,
    model: Any = None,
    var_names: Any = None,
    random_seed: Any = None,
    **ignored: Any,
) -> xarray.DataTree:
    """Draws of the prior as group `posterior`: a result of the form that `pm.sample` gives, in no time.

    `draws`: per chain; all chains have the same. `sample_stats`: functions of the shape (chains, draws), by the name of
    the statistic each gives; none by default. `**ignored`: the other keywords of `pm.sample`.

    Examples
    --------
    >>> import consilience as pm
    >>> from consilience.testing import mock_sample
    >>> with pm.Model():
    ...     mu = pm.Normal("mu")
    ...     result = mock_sample(draws=5, chains=2)
    >>> result.posterior["mu"].shape
    (2, 5)
    """
    import xarray

    del ignored
    sampling = import_module("consilience.sample")
    tree = sampling.sample_prior_predictive(draws, model=model, var_names=var_names, random_seed=random_seed)
    prior = tree["prior"].to_dataset().isel(chain=0, drop=True)
    posterior = prior.expand_dims({"chain": range(chains)}).transpose("chain", "draw", ...)
    groups = {name: group for name, group in tree.children.items() if name not in ("prior", "prior_predictive")}
    groups["posterior"] = xarray.DataTree(posterior)
    if sample_stats is not None:
        shape = (chains, posterior.sizes["draw"])
        found = {name: (("chain", "draw"), make(shape)) for name, make in sample_stats.items()}
        groups["sample_stats"] = xarray.DataTree(xarray.Dataset(found, posterior[["chain", "draw"]].coords))
    return xarray.DataTree(children={name: group.copy() for name, group in groups.items()})


def mock_sample_setup_and_teardown() -> Iterator[None]:
    """A generator for `pytest.fixture`: meanwhile `pm.sample` is `mock_sample`, and improper priors have draws."""
    package = import_module("consilience")
    replaced = {"sample": mock_sample, "Flat": package.Normal, "HalfFlat": package.HalfNormal}
    before = {name: getattr(package, name) for name in replaced}
    try:
        for name, value in replaced.items():
            setattr(package, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(package, name, value)
