"""Simulation-based calibration: ranks of parameters among the draws of a sampler that was given their data.

A model and a sampler in; ranks, tests of their uniformity and the counts of what went wrong out. Sources: S. Talts and
others (2018), arXiv:1804.06788; M. Modrák and others (2023), arXiv:2211.02383, for quantities that depend on the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.effective_sample_size import ess_bulk
from consilience.diagnostics.variables import held
from consilience.errors import ModelError, SamplingError
from consilience.estimators.approximations.importance import LARGEST
from consilience.estimators.calibration.replications import Replication, Replications, Sampler, Values, sampler_of
from consilience.estimators.calibration.uniformity import Uniformity, uniformity
from consilience.model.log_density import model_density
from consilience.model.model import Model, modelcontext
from consilience.record import Record
from consilience.sample.posterior import sample

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations
    import xarray

Quantity = Callable[[Values, Values], Any]


class Calibration(Record, eq=False):
    """Ranks of many replications.

    `ranks`: an `xarray.Dataset`, one variable of whole numbers from 0 to `levels` - 1 for each quantity, first axis
        `replication`: the number of the replication, as those that failed are left out.
    `levels`: number of values that a rank can have.
    `count`: replications in all.
    `failures`: number of replications by what was wrong; those with "error" have no ranks, all others are in `ranks`.
    `errors`: messages of the replications without ranks, by number.
    """

    ranks: xarray.Dataset
    levels: int
    count: int
    failures: dict[str, int]
    errors: dict[int, str]

    def tests(self, prob: float = 0.95) -> dict[str, Uniformity]:
        """Tests of uniformity by scalar: `mu`, `theta[0]`; `prob` is that of each one's band."""
        return {name: uniformity(values, self.levels, prob) for name, values in self._scalars()}

    def summary(self) -> pd.DataFrame:
        """A row for each scalar: p-values of both tests, and mean and deviation of the ranks (0.5 and 0.289)."""
        import pandas as pd

        rows = {}
        for name, values in self._scalars():
            found, share = uniformity(values, self.levels), (values + 0.5) / self.levels
            rows[name] = {
                "replications": len(values),
                "mean": share.mean(),
                "sd": share.std(),
                "chi_square_p": found.chi_square_p,
                "ecdf_p": found.ecdf_p,
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def passed(self, alpha: float = 0.01) -> bool:
        """Whether no scalar's p-value is below `alpha` divided by the number of tests, and no replication failed."""
        found = [p for t in self.tests().values() for p in (t.chi_square_p, t.ecdf_p)]
        return not self.errors and min(found) >= alpha / len(found)

    def plot(self, prob: float = 0.95) -> Any:
        """Histogram of ranks, and difference of distribution functions with its band, for each scalar."""
        from consilience.estimators.calibration.pictures import ranks_and_bands

        return ranks_and_bands(dict(self._scalars()), self.levels, prob)

    def _scalars(self) -> list[tuple[str, npt.NDArray[np.int64]]]:
        found = []
        for name, array in self.ranks.data_vars.items():
            values = array.to_numpy()
            for place in np.ndindex(values.shape[1:]):
                label = f"{name}[{', '.join(map(str, place))}]" if place else str(name)
                found.append((label, values[(slice(None), *place)]))
        return found


def sbc(
    model: Model | None = None,
    sampler: Sampler = sample,
    n: int = 1000,
    *,
    var_names: Sequence[str] | None = None,
    draws: int = 99,
    quantities: Mapping[str, Quantity] | None = None,
    log_likelihood: bool = True,
    random_seed: Any = None,
    cores: int | None = None,
    executor: Any = None,
    store: str | Path | None = None,
    progressbar: bool = False,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
) -> Any:
    """Simulation-based calibration: whether a sampler's draws are from the posterior, on data from the prior.

    model : ...
    sampler (Sampler, default sample): `pm.sample`, "nuts", "smc", "pathfinder", "laplace", or a function (model, seed)
        -> draws: a tree with a group `posterior`, of the model that it is given, on one thread.
    n: Replications.
    var_names: Free variables and deterministics to rank; all by default.
    draws: Draws that ranks are counted in, evenly spaced over all draws of the sampler. A replication in which some
        scalar has fewer effective draws is counted in `failures` as "few effective draws".
    quantities: Functions (values, data) -> number or array of parameters and data, by name.
    log_likelihood: Whether the log likelihood is a quantity too: it finds samplers that overlook data.
    random_seed : ...
    cores: Threads; the ranks do not depend on it.
    executor (Executor): In place of threads: a process pool, `loky`, MPI, a Dask client or `pm.cluster.ray()`; the
        ranks do not depend on it. A replication that kills its worker is counted as one that failed.
    store: File where replications are kept as they end; a run that was killed goes on from there, and one that is
        longer begins with what is there. It needs the same `random_seed`, or none.
    progressbar : ...
    callback: Called with `consilience.events.StepProgress` while the study goes on.
    blocking: False returns at once with a handle, whose `wait()` gives the result, as for `pm.sample`.
    Returns: A `Calibration`: `ranks`, `tests()`, `summary()`, `passed()`, `plot()`; after Ctrl-C or a stop of the
        replications that were done.
    Raises ModelError: Where the data cannot be simulated.
    Raises StorageError: Where `store` belongs to another study.
    Raises SamplingError: Where every replication failed.
    See power: Whether a decision holds.
    References: Talts, Betancourt, Simpson, Vehtari, Gelman (2018), arXiv:1804.06788.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.0, 0.0])
    >>> found = pm.sbc(model, "laplace", n=50, random_seed=1)
    >>> found.count, found.passed()
    (50, True)
    """
    owner = modelcontext(model)
    if draws < 1:
        raise ValueError(f"`draws` must be at least 1, got {draws}.")
    known = [v.name for v in owner.free] + list(owner.named_deterministics)
    names = list(var_names) if var_names is not None else known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ModelError(f"`var_names` has {unknown[0]!r}; the model has {', '.join(known)}.")
    title, _ = sampler_of(sampler)
    own = dict(quantities or {})
    taken = [name for name in own if name in known or name == "log_likelihood"]
    if taken:
        raise ModelError(f"the quantity `{taken[0]}` has the name of something else; give it another.")

    answer = partial(_ranked, sampler=sampler, names=names, draws=draws, quantities=own, whole=log_likelihood)
    identity = {
        "study": "sbc",
        "sampler": title,
        "draws": draws,
        "quantities": [*names, *own, *(["log_likelihood"] if log_likelihood else [])],
    }
    study = Replications(
        owner, answer, n, identity, lambda found: _labelled(owner, found, draws + 1),
        random_seed=random_seed, cores=cores, executor=executor, store=store, progressbar=progressbar,
        callback=callback,
    )  # fmt: skip
    return study.delivered(blocking)


def _ranked(
    simulation: Replication,
    sampler: Sampler,
    names: Sequence[str],
    draws: int,
    quantities: Mapping[str, Quantity],
    whole: bool,
) -> dict[str, Any]:
    """Ranks of one replication, and what was wrong with it."""
    tree = sampler_of(sampler)[1](simulation.model, simulation.seed)
    posterior = held(tree)["posterior"].data_vars  # whether or not it is a tree of xarray, which takes time to build
    free = [v.name for v in simulation.model.free]
    wanted = dict.fromkeys([*names, *(free if whole else []), *(known_names(simulation) if quantities else [])])
    chains = {name: np.asarray(posterior[name].values) for name in wanted}
    shape = next(iter(chains.values())).shape[:2]
    total = shape[0] * shape[1]
    if total < draws:
        raise SamplingError(f"the sampler gave {total} draws, where ranks among {draws} were wanted.")
    places = (np.arange(draws) + 0.5) * total / draws
    kept = {name: v.reshape(total, *v.shape[2:])[places.astype(int)] for name, v in chains.items()}
    pairs = {name: (simulation.truth[name], kept[name]) for name in names}
    for name, function in quantities.items():
        each = [function({k: v[i] for k, v in kept.items()}, simulation.data) for i in range(draws)]
        pairs[name] = (np.asarray(function(simulation.truth, simulation.data)), np.asarray(each))
    if whole:
        density = model_density(simulation.model)
        all_draws = {k: np.concatenate([simulation.truth[k][None], kept[k]]) for k in free}
        likelihood = density.tempered(density.unconstrained(all_draws))[1]
        pairs["log_likelihood"] = (likelihood[0], likelihood[1:])
    generator = np.random.default_rng([simulation.seed, 2])
    ranks = {}
    for name, (truth, values) in pairs.items():
        below, equal = (values < truth).sum(axis=0), (values == truth).sum(axis=0)
        ranks[name] = np.asarray(below + generator.integers(0, equal + 1)).tolist()
    return {"ranks": ranks, "wrong": _wrong(tree, {k: chains[k] for k in names}, draws)}


def known_names(simulation: Replication) -> list[str]:
    """Free variables and deterministics."""
    return list(simulation.truth)


def _wrong(tree: Any, chains: Mapping[str, npt.NDArray[Any]], draws: int) -> list[str]:
    """What the sampler's result says against itself."""
    found = []
    groups = held(tree)
    status = str(getattr(tree, "status", "") or "")
    if status in {"not_converged", "chains_disagree", "interrupted"}:
        found.append(status)
    statistics = groups["sample_stats"].data_vars if "sample_stats" in groups else {}
    if "diverging" in statistics and bool(np.any(statistics["diverging"].values)):
        found.append("divergent")
    if float(groups["posterior"].attrs.get("pareto_k", 0.0)) > LARGEST:
        found.append("pareto_k")
    sizes = [np.nanmin(ess_bulk(v), initial=np.inf) for v in chains.values() if v.size]
    if min(sizes, default=np.inf) < draws:
        found.append("few effective draws")
    return found


def _labelled(model: Model, found: Mapping[int, dict[str, Any]], levels: int) -> Calibration:
    import xarray

    errors = {k: one["error"] for k, one in found.items() if "error" in one}
    good = [k for k in found if k not in errors]
    if not good:
        first = next(iter(errors.values()))
        raise SamplingError(f"every one of {len(found)} replications failed, the first with: {first}")
    variables = {}
    for name in found[good[0]]["ranks"]:
        values = np.array([found[k]["ranks"][name] for k in good], dtype=np.int64)
        given = model.named_vars_to_dims.get(name)
        dims = [(given[i] if given else None) or f"{name}_dim_{i}" for i in range(values.ndim - 1)]
        variables[name] = (("replication", *dims), values)
    labels = {
        dim: list(v)
        for dim, v in model.coords.items()
        if v is not None and any(dim in d for d, _ in variables.values())
    }
    counts = Counter(what for k in good for what in found[k]["wrong"])
    failures = {"error": len(errors), **counts} if errors else dict(counts)
    ranks = xarray.Dataset(variables, coords={"replication": good, **labels})
    return Calibration(ranks, levels, len(found), failures, errors)
