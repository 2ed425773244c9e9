"""Draws on their way to the disk while a run goes on: events enter, appended groups leave."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.errors import ConsilienceWarning, StorageError
from consilience.run import DrawsMade, Event, Restarted

if TYPE_CHECKING:
    import xarray

    from consilience.sample.work import Work
    from consilience.storage.zarr_store import ZarrStore


class Storing:
    """A listener that appends draws to a store. What cannot be written is kept in memory, and said at the end."""

    def __init__(self, work: Work, store: ZarrStore) -> None:
        self.work = work
        self.store = store
        self.fault: StorageError | None = None

    @classmethod
    def create(cls, work: Work, path: str | Path, overwrite: bool) -> Storing:
        """A store for a new run; raises StorageError if it cannot be made."""
        from consilience.storage.zarr_store import ZarrStore

        model, setting = work.model, work.running.supervisor.course.setting
        store = ZarrStore.create(
            path,
            chains=setting.chains,
            coords=model.coords,
            dims=model.named_vars_to_dims,
            attributes={"status": "running", "seed": work.running.supervisor.seed},
            overwrite=overwrite,
        )
        return cls(work, store)

    @classmethod
    def reopen(cls, work: Work, path: str | Path) -> Storing:
        """The store of a run that goes on, with the draws that its checkpoint has."""
        from consilience.storage.zarr_store import ZarrStore

        sampling = work.running.supervisor.course.sampling
        return cls(work, ZarrStore.reopen(path, 0 if sampling is None else sampling.count))

    def __call__(self, event: Event) -> None:
        if self.fault is not None:
            return
        try:
            if isinstance(event, DrawsMade):
                self.store.append({"posterior": self.work.named(event.draws), "sample_stats": dict(event.statistics)})
            elif isinstance(event, Restarted):
                self.store.forget()
        except StorageError as fault:
            self.fault = fault

    def finish(self, tree: xarray.DataTree, stacklevel: int) -> None:
        """Write what is known at the end, or say why the store is not complete."""
        try:
            if self.fault is None:
                static = {
                    name: {str(n): a.to_numpy() for n, a in tree.children[name].data_vars.items()}
                    for name in ("observed_data", "constant_data")
                    if name in tree.children
                }
                self.store.finish(
                    static, {str(name): value for name, value in tree.children["posterior"].attrs.items()}
                )
                return
        except StorageError as fault:
            self.fault = fault
        warnings.warn(
            f"the store holds only the first {self.store.draws} draws of each chain: {self.fault} All draws are in the "
            "result; write it with `result.to_zarr` or `result.to_netcdf`.",
            ConsilienceWarning,
            stacklevel=stacklevel + 1,
        )
