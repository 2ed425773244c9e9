"""From the draws of a run on the unconstrained space to named arrays with all that is known of the run.

xarray and pandas take longer to load than a small model takes to sample. So a result holds arrays, and becomes an
`xarray.DataTree` for whatever only a tree has.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.measurement import usable_processors
from consilience.errors import MissingPackageError
from consilience.ir.dimension import is_computed
from consilience.model.log_density import ModelDensity
from consilience.native import blas, target
from consilience.native.threads import NativeThreads
from consilience.output.storage.datatree import LabelledArrays, labelled
from consilience.output.storage.deferred import Deferred
from consilience.record import as_plain
from consilience.run import RunResult
from consilience.sample.data import constant_data, observed_data
from consilience.sample.outcome import Outcome

if TYPE_CHECKING:
    from consilience.sample.model_run import ModelRun
    from consilience.sample.tree import Posterior

Array = npt.NDArray[Any]

LARGE = 1 << 23  # numbers, 64 MiB, of which no second copy is made
BUILDING: Final = threading.RLock()  # of trees, each once
FEWEST_ROWS = 2000  # per thread: below it starting one takes longer than the work


class Result(Outcome):
    """The labelled arrays of a run, and the tree that they become: for everybody else an `xarray.DataTree`.

    `isinstance` takes it for one, and whatever is not said here, the tree says: its attributes and operators, those
    that are set or deleted too. From then on the tree alone holds the arrays.
    """

    __slots__ = ("__weakref__", "_groups", "_run", "_tree")

    _groups: Mapping[str, LabelledArrays]
    _tree: Posterior | None
    _run: ModelRun | None

    def __init__(
        self, groups: Mapping[str, LabelledArrays], run: ModelRun | None = None, tree: Posterior | None = None
    ) -> None:
        for name, value in (("_groups", groups), ("_run", run), ("_tree", tree)):
            object.__setattr__(self, name, value)

    @classmethod
    def around(cls, tree: Posterior) -> Result:
        """The result that is this tree."""
        return cls({}, getattr(tree, "_run", None), tree)

    @property
    def unbuilt(self) -> Mapping[str, LabelledArrays] | None:
        """The groups by name as long as there is no tree of them."""
        return self._groups if self._tree is None else None

    def built(self) -> Posterior:
        """The tree.

        Raises
        ------
        MissingPackageError
            Without xarray.
        """
        with BUILDING:
            if self._tree is None:
                object.__setattr__(self, "_tree", of_trees().of(self._groups, self._run))
                object.__setattr__(self, "_groups", {})
            assert self._tree is not None
            return self._tree

    @property  # type: ignore[misc]  # what `isinstance` goes by, next to the type itself
    def __class__(self) -> type:
        # Who holds the class of trees has loaded xarray; everybody else shall not load it by asking.
        return of_trees() if "xarray" in sys.modules else Result

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.built(), name)
        return self if found is self._tree else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.built(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.built(), name)

    def __dir__(self) -> list[str]:
        return dir(self.built())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Result.around, (self.built(),)

    def to_zarr(self, store: Any, mode: str = "w-", *rest: Any, **settings: Any) -> Any:
        """Write the result as a zarr store: see `xarray.DataTree.to_zarr`.

        A new directory without settings, and as long as there is no tree, is written without xarray and zarr.
        """
        new = isinstance(store, str | os.PathLike) and mode in ("w", "w-") and not rest and not settings
        if self.unbuilt is not None and new and "://" not in str(store):
            path = Path(store)
            if not path.exists() and path.suffix != ".zip":
                from consilience.output.storage.zarr_store import write_store

                return write_store(path, self.unbuilt)
        whole: Any = self.built()
        if new and importlib.util.find_spec("zarr") is not None:
            from zarr.codecs import Crc32cCodec, ZstdCodec

            codecs = {"compressors": [ZstdCodec(), Crc32cCodec()]}
            settings["encoding"] = {n.path: dict.fromkeys(n.dataset.variables, codecs) for n in whole.subtree}
        return whole.to_zarr(store, mode, *rest, **settings)

    def to_netcdf(self, filepath: Any = None, mode: str = "w", *rest: Any, **settings: Any) -> Any:
        """Write the result as a netCDF file: see `xarray.DataTree.to_netcdf`.

        Without settings the numbers of a file have checksums, and it appears under its name when it is complete.
        """
        if isinstance(filepath, str | os.PathLike) and mode == "w" and not rest and not settings:
            from consilience.output.storage.netcdf import write_netcdf

            return write_netcdf(self.built(), filepath, overwrite=True, locking=False)
        return self.built().to_netcdf(filepath, mode, *rest, **settings)

    def copy(self, *, inherit: bool = True, deep: bool = False) -> Result:
        """See `xarray.DataTree.copy`."""
        return Result.around(self.built().copy(inherit=inherit, deep=deep))

    def __copy__(self) -> Result:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Result:
        return Result.around(self.built().__deepcopy__(memo))

    __hash__ = None  # type: ignore[assignment]  # as trees, which are compared element by element
    __reversed__ = None


@functools.cache
def of_trees() -> type[Posterior]:
    """The class of trees, which is told that results are such, as far as types are asked.

    Raises MissingPackageError without xarray.
    """
    try:
        import xarray

        from consilience.sample.tree import Posterior
    except ImportError as error:
        raise MissingPackageError.of(error.name or "xarray", "pip install 'xarray>=2025.9'", error) from error
    xarray.DataTree.register(Result)
    return Posterior


def _of_tree(name: str) -> Any:
    def method(self: Result, *arguments: Any) -> Any:
        found = getattr(self.built(), name)(*arguments)
        return self if found is self._tree else found

    return method


def _of_groups(name: str) -> Any:
    def method(self: Result, *arguments: Any) -> Any:
        return getattr(self.built() if self.unbuilt is None else self.unbuilt, name)(*arguments)

    return method


# Python looks these up in the type alone. What asks for names of groups builds no tree.
OPERATORS: Final = (
    "abs add and array bool delitem enter eq exit floordiv ge getitem gt invert le lshift lt mod mul ne neg or pos pow "
    "radd rand rfloordiv rmod rmul ror rpow rshift rsub rtruediv rxor setitem sub truediv xor"
)
for _name in OPERATORS.split():
    setattr(Result, f"__{_name}__", _of_tree(f"__{_name}__"))
for _name in ("contains", "iter", "len"):
    setattr(Result, f"__{_name}__", _of_groups(f"__{_name}__"))
Mapping.register(Result)


def tree(run: ModelRun, result: RunResult) -> Posterior:
    """The draws and all that is known of the run."""
    began = time.perf_counter()
    posterior = named(run, result.draws, run.plan.lazily)
    about = attributes(run, result, time.perf_counter() - began)
    model = run.model
    groups = {
        "posterior": posterior,
        "sample_stats": result.statistics,
        "observed_data": observed_data(model),
        "constant_data": constant_data(model),
    }
    if run.plan.keep_tuning and result.warmup_draws.shape[1]:
        groups |= {
            "warmup_posterior": named(run, result.warmup_draws, run.plan.lazily),
            "warmup_sample_stats": result.warmup_statistics,
        }
    coords = {**model.coords, "chain": list(result.chains)}
    # For type checkers it is what it says it is.
    return cast("Posterior", Result(labelled(groups, coords, model.named_vars_to_dims, about), run))


def named(run: ModelRun, draws: Array, lazily: bool = False) -> dict[str, Any]:
    """Draws (chain, draw, coordinate) as named arrays (chain, draw, …).

    Of very many numbers there is one copy: variables without a transform are parts of them that cannot be written to.

    `lazily`: deterministics of known shape are computed when they are looked at.
    """
    chains, count, dimension = draws.shape
    density, names = run.density, run.plan.names

    def rows() -> Array:
        return np.ascontiguousarray(draws).reshape(chains * count, dimension)

    def expanded(wanted: bool | Sequence[str]) -> dict[str, Any]:
        found = density.expand(rows(), wanted) if wanted != [] else {}
        return {name: values.reshape(chains, count, *values.shape[1:]) for name, values in found.items()}

    large, derived = draws.size > LARGE, [name for name in names if name in density.derived]
    if large:
        arrays: dict[str, Any] = parts(density, draws)
        moved = [v.name for v in density.model.free if v.name in names and v.name not in arrays]
        if draws.flags.c_contiguous:
            arrays |= expanded(moved) | (expanded(derived) if not lazily else {})
        else:  # they are on the disk
            arrays, lazily = arrays | {name: deferred(density, draws, name) for name in moved}, True
    else:
        arrays = expanded(bool(derived) and not lazily)
    if lazily:
        several = {v.name for v in density.model.marginalized}  # which take one pass together
        lengths = {name: density.derived[name].static_shape for name in derived}
        found = expanded([name for name in derived if name in several or any(map(is_computed, lengths[name]))])
        arrays |= found | {name: deferred(density, draws, name) for name in derived if name not in found}
    kept = {name: arrays[name] for name in run.plan.names}
    if "include_transformed" in run.plan.extras:
        owners = {s.key: s.variable.name for s in density.layout.stretches}
        for key, values in density.layout.transformed(rows()).items():
            if owners[key] in kept:
                kept[key] = values.reshape(chains, count, *values.shape[1:])
    return kept


def parts(density: ModelDensity, draws: Array) -> dict[str, Array]:
    """Variables whose values are their coordinates, as views of draws (chain, draw, coordinate)."""
    found = {}
    for s in density.layout.stretches:
        if s.variable.sampled is None and s.variable.node.dtype == draws.dtype:
            found[s.variable.name] = own = draws[:, :, s.slice].reshape(*draws.shape[:2], *s.shape)
            own.flags.writeable = False
    return found


def deferred(density: ModelDensity, draws: Array, name: str) -> Deferred:
    """A deterministic of draws (chain, draw, coordinate), to be computed when it is looked at."""
    shape, dtype = density.shape_of(name)

    def compute(chains: Array, places: Array) -> Array:
        values = np.empty((len(chains), len(places), *shape), dtype)
        size = max(1, LARGE // max(1, len(chains) * max(draws.shape[2], math.prod(shape))))
        for here in (slice(begin, begin + size) for begin in range(0, len(places), size)):
            some = draws[np.ix_(chains, places[here])]
            found = in_parallel(lambda part: density.expand(part, [name])[name], some.reshape(-1, some.shape[2]))
            values[:, here] = found.reshape(*some.shape[:2], *shape)
        return values

    return Deferred((*draws.shape[:2], *shape), dtype, compute)


def in_parallel(function: Callable[[Array], Array], rows: Array) -> Array:
    """`function` of consecutive parts of the rows, its results joined. It has to release the interpreter's lock."""
    threads = min(usable_processors(), len(rows) // FEWEST_ROWS)
    if threads < 2:
        return function(rows)
    first, *rest = np.array_split(rows, threads)
    with NativeThreads(threads) as pool:
        futures = [pool.submit(function, part) for part in rest]
        return np.concatenate([function(first), *(future.result() for future in futures)])


def _without_data(run: ModelRun) -> list[str]:
    """What to say of a model that knows nothing of any data."""
    informed = run.model.observed or run.model.named_potentials
    return [] if informed else ["no variable has `observed` data, so these are draws from the prior"]


def attributes(run: ModelRun, result: RunResult, expand_seconds: float) -> dict[str, object]:
    """What explains the run and lets it be repeated."""
    density = run.density
    spent = max(sum(result.chain_seconds), 1e-12)
    tuning = result.seconds * min(1.0, result.tuning_seconds / spent)
    # A density that was compiled before cost nothing now.
    build = 0.0
    if run.compile_seconds >= density.compile_seconds:
        build = min(density.graph_seconds, run.compile_seconds)
    return {
        "status": result.verdict.status,
        "reason": result.verdict.reason,
        "worst": result.verdict.worst,
        "advice": result.verdict.advice,
        "gradients": sum(result.evaluations) + result.tuner_evaluations,
        "gradients_warmup": result.tuning_evaluations,
        "tuning_steps": result.tuned,
        "retuned": int("divergences" in result.restarts),
        "restarts": json.dumps(result.restarts),
        "marginalized": json.dumps(run.plan.coordinates.marginalized),
        "integrated": json.dumps(density.integrated),
        "centredness": json.dumps(run.plan.coordinates.all_centredness),
        "heavy_tails": json.dumps(list(run.plan.coordinates.heavy or ())),
        "transported": json.dumps(run.plan.coordinates.kinds_of_factors),
        "diverged_before": json.dumps(_diverged_before(result)),
        "notes": json.dumps([*_without_data(run), *result.notes, *result.moves, *run.course.refusals]),
        "regions": json.dumps(_regions(run)),
        "warmup_windows": json.dumps([as_plain(w) for w in result.windows]),
        "last_check": json.dumps(None if result.check is None else as_plain(result.check)),
        "metric_rank": result.rank,
        "step_size": [t.step_size for t in result.tuning],
        "seed": result.seed,
        "superchains": result.superchains,
        "sampler": type(run.kernel).__name__,
        "settings": repr(run.kernel),
        "options": json.dumps(run.plan.of_the_run),
        "vector_lanes": target.host().lanes,
        "processor": target.host().cpu,
        "blas": blas.kernel(),
        **({"rows_on_shards": json.dumps(density.elsewhere)} if density.elsewhere else {}),
        "interrupted": int(result.interrupted),
        "sampling_time": result.seconds,
        "time_build": build,
        "time_compile": run.compile_seconds - build + run.waited_seconds,
        "time_warmup": tuning,
        "time_sampling": result.seconds - tuning,
        "time_checks": result.check_seconds,
        "time_deterministics": expand_seconds,
    }


def _diverged_before(result: RunResult) -> dict[str, int] | None:
    """Divergences for which draws were given up, and how many draws; None where there are none."""
    seen = result.diverged
    return None if seen is None else {"divergences": seen.divergences, "draws": seen.draws}


def _regions(run: ModelRun) -> dict[str, Any]:
    """What is known of separate regions; empty where none were looked for."""
    known = run.monitored.regions
    return {} if known is None else known()
