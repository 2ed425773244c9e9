"""From the draws of a run on the unconstrained space to a tree of named arrays with all that is known of the run."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from consilience.ir.dimension import is_computed
from consilience.model.log_density import ModelDensity
from consilience.native import target
from consilience.native.threads import NativeThreads
from consilience.output.storage.datatree import labelled
from consilience.output.storage.deferred import Deferred
from consilience.record import as_plain
from consilience.run import Run
from consilience.run.threads.thread_pool import usable_cores
from consilience.sample.data import constant_data, observed_data
from consilience.sample.outcome import Result

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior
    from consilience.sample.work import Work

Array = npt.NDArray[Any]

LARGE = 1 << 23  # numbers, 64 MiB, of which no second copy is made
FEWEST_ROWS = 2000  # per thread: below it starting one takes longer than the work


def tree(work: Work, run: Run) -> Posterior:
    """The draws and all that is known of the run."""
    began = time.perf_counter()
    posterior = named(work, run.draws, work.plan.lazily)
    about = attributes(work, run, time.perf_counter() - began)
    model = work.model
    groups = {
        "posterior": posterior,
        "sample_stats": run.statistics,
        "observed_data": observed_data(model),
        "constant_data": constant_data(model),
    }
    if work.plan.keep_tuning and run.warmup_draws.shape[1]:
        groups |= {
            "warmup_posterior": named(work, run.warmup_draws, work.plan.lazily),
            "warmup_sample_stats": run.warmup_statistics,
        }
    coords = {**model.coords, "chain": list(run.chains)}
    # For type checkers it is what it says it is.
    return cast("Posterior", Result(labelled(groups, coords, model.named_vars_to_dims, about), work))


def named(work: Work, draws: Array, lazily: bool = False) -> dict[str, Any]:
    """Draws (chain, draw, coordinate) as named arrays (chain, draw, …).

    Of very many numbers there is one copy: variables without a transform are parts of them that cannot be written to.

    lazily   deterministics of known shape are computed when they are looked at
    """
    chains, count, dimension = draws.shape
    density, names = work.density, work.plan.names

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
    kept = {name: arrays[name] for name in work.plan.names}
    if "include_transformed" in work.plan.extras:
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
    threads = min(usable_cores(), len(rows) // FEWEST_ROWS)
    if threads < 2:
        return function(rows)
    first, *rest = np.array_split(rows, threads)
    with NativeThreads(threads) as pool:
        futures = [pool.submit(function, part) for part in rest]
        return np.concatenate([function(first), *(future.result() for future in futures)])


def attributes(work: Work, run: Run, expand_seconds: float) -> dict[str, object]:
    """What explains the run and lets it be repeated."""
    density = work.density
    spent = max(sum(run.chain_seconds), 1e-12)
    tuning = run.seconds * min(1.0, run.tuning_seconds / spent)
    # A density that was compiled before cost nothing now.
    build = 0.0
    if work.compile_seconds >= density.compile_seconds:
        build = min(density.graph_seconds, work.compile_seconds)
    return {
        "status": run.verdict.status,
        "reason": run.verdict.reason,
        "worst": run.verdict.worst,
        "gradients": sum(run.evaluations) + run.tuner_evaluations,
        "gradients_warmup": run.tuning_evaluations,
        "tuning_steps": run.tuned,
        "retuned": int("divergences" in run.restarts),
        "restarts": json.dumps(run.restarts),
        "marginalized": json.dumps(work.plan.marginalized),
        "centredness": json.dumps(work.plan.all_centredness),
        "diverged_before": json.dumps(_diverged_before(run)),
        "notes": json.dumps([*run.notes, *run.moves]),
        "regions": json.dumps(_regions(work)),
        "warmup_windows": json.dumps([as_plain(w) for w in run.windows]),
        "last_check": json.dumps(None if run.check is None else as_plain(run.check)),
        "metric_rank": run.rank,
        "step_size": [t.step_size for t in run.tuning],
        "seed": run.seed,
        "superchains": run.superchains,
        "sampler": type(work.kernel).__name__,
        "settings": repr(work.kernel),
        "options": json.dumps(work.plan.of_the_run),
        "vector_lanes": target.host().lanes,
        "interrupted": int(run.interrupted),
        "sampling_time": run.seconds,
        "time_build": build,
        "time_compile": work.compile_seconds - build + work.running.waited_seconds,
        "time_warmup": tuning,
        "time_sampling": run.seconds - tuning,
        "time_checks": run.check_seconds,
        "time_deterministics": expand_seconds,
    }


def _diverged_before(run: Run) -> dict[str, int] | None:
    """Divergences for which draws were given up, and how many draws; None where there are none."""
    seen = run.diverged
    return None if seen is None else {"divergences": seen.divergences, "draws": seen.draws}


def _regions(work: Work) -> dict[str, Any]:
    """What is known of separate regions; empty where none were looked for."""
    known = work.running.supervisor.course.monitored.regions
    return {} if known is None else known()
