"""Draws on their way to the disk while a run goes on: events enter, appended groups leave."""

from __future__ import annotations

import contextlib
import copy
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.diagnostics.variables import held
from consilience.errors import StorageError, warn
from consilience.events import ChainLost, DrawsMade, Event, Progress, Restarted
from consilience.model.layout import known_shape
from consilience.model.model_graph import model_graph
from consilience.model.observation import slot_values
from consilience.model.signature import digest_of_model
from consilience.run.result import name_statistics
from consilience.sample.results import Array, named

if TYPE_CHECKING:
    import xarray

    from consilience.output.storage.zarr_store import ZarrStore
    from consilience.sample.model_run import ModelRun

MOST_PICTURED: Final = 150  # variables of a model's picture
MOST_NAMED: Final = 4  # coordinates at either end of a metric
FIRST_NUMBERS: Final = 1 << 17  # of draws that are shown before the first check
SELDOM, SHARE = 2.0, 0.01  # seconds between two looks at these at least, and their share of processor time


class Storing:
    """A listener that appends draws to a store. What cannot be written is kept in memory, and said at the end.

    `naming`: gives what names draws (chain, draw, coordinate); asked anew after a restart, which may change
    coordinates. `chains`: numbers of the chains in the store.
    """

    def __init__(
        self, naming: Callable[[], Callable[[Array], Mapping[str, Any]]], chains: Sequence[int], store: ZarrStore
    ) -> None:
        from consilience.output.storage.journal import Journal  # few runs have a store

        self.naming = naming
        self.named = naming()
        self.chains = list(chains)
        self.store = store
        self.fault: StorageError | None = None
        self.untold: Exception | None = None  # why the journal ends before the run
        self.journal = Journal(store.note)
        self.every = self.journal.every
        self.first: Callable[[], tuple[Mapping[str, Any], int] | None] = lambda: None  # draws before the first check
        self._due = self._may = 0.0

    @classmethod
    def create(cls, run: ModelRun, path: str | Path, overwrite: bool) -> Storing:
        """A store for a run that begins, or goes on with the draws of its checkpoint; StorageError if it can't be."""
        from consilience.output.storage.zarr_store import ZarrStore

        model = run.model
        groups = {}
        if run.drawn:
            so_far = run.so_far()
            groups = {"posterior": named(run, so_far.draws), "sample_stats": dict(so_far.statistics)}
        living = list(run.living)
        store = ZarrStore.create(
            path,
            chains=len(living),
            coords={**model.coords, "chain": living},
            dims=model.named_vars_to_dims,
            attributes={"status": "running", "seed": run.seed, "run": run.name},
            overwrite=overwrite,
            groups=groups,
            goes_on=run.name if run.resumed else None,
        )
        storing = cls(lambda: partial(named, copy.copy(run)), living, store)
        storing.journal.about, storing.journal.seen = about(run), ProcessReport(run)
        storing.first = lambda: first_draws_of(run)
        return storing

    def again(self) -> None:
        """Go on after the end, for a run that is extended."""
        if self.fault is None:
            self.store.reopen()

    def __call__(self, event: Event) -> None:
        if self.untold is None:
            try:
                self.journal(event)
            except Exception as fault:  # draws go on to be written, whatever it was
                self.untold = fault
        if self.fault is not None:
            return
        try:
            match event:
                case DrawsMade():
                    groups = {"posterior": self.named(event.draws), "sample_stats": dict(event.statistics)}
                    self.store.append(groups)
                case Progress() if not self.store.draws:
                    self._show_first()
                case Restarted():
                    self.store.restart()
                    self.named = self.naming()
                case ChainLost():
                    kept = [place for place, chain in enumerate(self.chains) if chain != event.chain]
                    self.store.keep_chains(kept)
                    self.chains = [self.chains[place] for place in kept]
        except StorageError as fault:
            self.fault = fault

    def _show_first(self) -> None:
        """Draws that no check has seen, for whoever watches; where they cannot be written nobody sees them."""
        now, begun = time.monotonic(), time.thread_time()
        if now < self._due or time.process_time() < self._may:
            return
        if (found := self.first()) is not None:
            with contextlib.suppress(OSError):
                self.store.show_first(*found)
        self._due = now + SELDOM
        self._may = time.process_time() + (time.thread_time() - begun) / SHARE

    def finish(self, tree: xarray.DataTree) -> None:
        """Write what is known at the end, or say why the store is not complete."""
        try:
            if self.fault is None:
                groups = held(tree)
                static = {
                    name: {str(n): np.asarray(a) for n, a in groups[name].data_vars.items()}
                    for name in ("observed_data", "constant_data")
                    if name in groups
                }
                self.store.finish(static, {str(name): value for name, value in groups["posterior"].attrs.items()})
                if self.untold is not None:
                    warn(f"what the store tells of the course of the run ends before the run: {self.untold}")
                return
        except StorageError as fault:
            self.fault = fault
        self.store.close()
        holds = f"the store holds only the first {self.store.draws} draws of each chain: "
        warn(
            f"{'' if self.store.lost else holds}{self.fault} All draws are in the result; write it with "
            "`result.to_zarr` or `result.to_netcdf`."
        )


def first_draws_of(run: ModelRun) -> tuple[dict[str, Mapping[str, Any]], int] | None:
    """Draws that all chains of an attempt have made before its first check, and of how many they are one; or None."""
    run = copy.copy(run)  # whose coordinates are not exchanged meanwhile
    attempt = run.attempt
    if attempt is None or attempt.count:
        return None
    draws, statistics = run.engine.under_way()
    if attempt.count or not draws or not set(attempt.chains) <= set(draws):
        return None
    made, size = draws[attempt.chains[0]].shape
    stride = max(1, -(-made * size * len(attempt.chains) // FIRST_NUMBERS))
    some = np.stack([draws[chain][::stride] for chain in attempt.chains])
    tables = np.stack([statistics[chain][:, ::stride] for chain in attempt.chains])
    if not some.size:
        return None
    columns = name_statistics(tables, run.course.chains.columns)
    return {"posterior": named(run, some), "sample_stats": dict(columns)}, stride


def about(run: ModelRun) -> dict[str, Any]:
    """What a journal says of a run besides its events: which model, of what data."""
    model, density = run.model, run.density
    _, _, _, lengths = slot_values(model)
    graph = model_graph(model) if len(model.named) <= MOST_PICTURED else None
    return {
        "model": model.str_repr(),
        "graph": graph and {"vertices": [[v.name, v.kind, v.text, v.plate] for v in graph.vertices],
                            "edges": [list(edge) for edge in graph.edges]},
        "digest": digest_of_model(density),
        "observed": {v.name: list(known_shape(v.node.static_shape, lengths, v.name)) for v in model.observed},
        "seed": run.seed,
        "sampler": type(run.kernel).__name__,
        "resumed": run.resumed,
        "checkpoint": None if run.keep is None else str(run.keep.path),
    }  # fmt: skip


class ProcessReport:
    """What a journal says of the process at each moment, and of the metric whenever it is another.

    Called, it gives `memory`, resident bytes, `threads`, of the system, and `processor`, seconds; None where the system
    does not tell. `metric` has the number of its `directions`, whether it is `whitened`, which is to say in coordinates
    that the curvature gave, and the coordinates of the `smallest` and the `largest` scales, by name.
    """

    def __init__(self, run: ModelRun) -> None:
        self.run = run
        self._told: object = None

    def __call__(self) -> dict[str, Any]:
        known: dict[str, Any] = {"processor": time.process_time(), **_of_the_process()}
        course = self.run.course
        tuner: Any = course.tuner
        while hasattr(tuner, "inner"):  # as in those of chains that jump
            tuner = tuner.inner
        scales = getattr(getattr(tuner, "stage", None), "scales", None) or getattr(tuner, "scales", None)
        if isinstance(scales, Mapping):  # by chain; empty before they have learnt
            scales = next(iter(scales.values()), None)
        if scales is not None and scales is not self._told:
            self._told = scales
            order, names = np.argsort(scales.scale), course.monitored.names
            ends = {"smallest": order[:MOST_NAMED], "largest": order[: -MOST_NAMED - 1 : -1]}
            known["metric"] = {
                "directions": scales.rank,
                "whitened": scales.whitener is not None,
                **{end: [[names[i], float(scales.scale[i])] for i in some] for end, some in ends.items()},
            }
        return known


def _of_the_process() -> dict[str, Any]:
    try:
        with open("/proc/self/statm", "rb") as told:
            memory = int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return {"memory": memory, "threads": len(os.listdir("/proc/self/task"))}
    except (OSError, ValueError, IndexError, AttributeError):  # no Linux
        return {"memory": None, "threads": None}
