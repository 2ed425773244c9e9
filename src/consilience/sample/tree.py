"""The result of a run as a tree of labelled arrays, once somebody has asked for one: see `sample.results`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import xarray

from consilience.errors import StorageError
from consilience.output.storage.datatree import LabelledArrays, nodes, storable_tree
from consilience.sample.outcome import Outcome

if TYPE_CHECKING:
    from consilience.sample.model_run import ModelRun


class Posterior(Outcome, xarray.DataTree):  # type: ignore[no-untyped-call]  # xarray's own __init_subclass__
    """What `pm.sample` gives: an `xarray.DataTree` with groups posterior, sample_stats, observed_data, …

    Besides what every tree has it knows the end of its run; trees made from it, or read from disk, know what is
    in the attributes of their group `posterior`.
    """

    __slots__ = ("_run",)

    @classmethod
    def of(cls, groups: Mapping[str, LabelledArrays], run: ModelRun | None) -> Posterior:
        """A tree of these groups, with the run they come from."""
        result = cls(children=nodes(groups))
        object.__setattr__(result, "_run", run)
        return result

    def __repr__(self) -> str:  # type: ignore[override]  # xarray's has a parameter that nobody gives
        flat = not self.data_vars and not any(group.children for group in self.children.values())
        return super().__repr__() if flat else xarray.DataTree.__repr__(self)

    def __getstate__(self) -> Any:
        # Compiled code and threads do not leave the process; a copy elsewhere knows what its attributes say.
        state = object.__getstate__(self)
        if isinstance(state, tuple):
            contents, slots = state
            return contents, {name: value for name, value in slots.items() if name != "_run"}
        return state

    def to_netcdf(self, filepath: Any = None, *rest: Any, **settings: Any) -> Any:
        """Write the result as a netCDF file: see `xarray.DataTree.to_netcdf`. Labels of other kinds become text.

        Raises
        ------
        StorageError
            Where a directory has the name.
        """
        if isinstance(filepath, str | os.PathLike) and os.path.isdir(filepath):
            raise StorageError(f"`to_netcdf`: {str(filepath)!r} is a directory; name a file, such as 'result.nc'.")
        return storable_tree(self).to_netcdf(filepath, *rest, **settings)

    def to_zarr(self, store: Any, *rest: Any, **settings: Any) -> Any:
        """Write the result as a zarr store: see `xarray.DataTree.to_zarr`. Labels of other kinds become text."""
        return storable_tree(self).to_zarr(store, *rest, **settings)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise TypeError(
                f"a result is indexed by groups and names, got {key!r}; `result.isel(draw=slice(100, None))` has draws."
            )
        try:
            return super().__getitem__(key)
        except KeyError:
            groups = [name for name, group in self.children.items() if key in group.data_vars]
            hint = f"it is `result.{groups[0]}[{key!r}]`" if groups else f"it has {', '.join(self.children)}"
            raise KeyError(f"the result has no group `{key}`; {hint}.") from None

    if not TYPE_CHECKING:  # type checkers know by themselves what is not there

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name.startswith("_"):  # asked of a tree that is being copied or unpickled, which has no groups yet
                    raise
                older = import_module("consilience.names.older_names").today("result", name)  # loaded by mistakes alone
                group = next((key for key, group in self.children.items() if name in group.data_vars), None)
                if older is None and group is not None:
                    older = f"it is `result.{group}[{name!r}]`"
                if older is None:
                    raise
                raise AttributeError(f"the result has no `{name}`: {older}.", name=name, obj=self) from None
