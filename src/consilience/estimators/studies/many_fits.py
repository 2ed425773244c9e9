"""Many posteriors: a model for each row of a table, or one model with many data sets, on the workers of any executor.

Models or a function that makes them in; a result for each, or the reason why there is none, out. A fit depends on its
name, its data and the seed of the study alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.backends import contexts
from consilience.cluster.pickles import dumps
from consilience.diagnostics.variables import attributes, held, unbuilt
from consilience.distributions.seeds import seed_from
from consilience.errors import ConsilienceWarning, ModelError, SamplingError, ShapeError, warn
from consilience.estimators.studies.many import Many
from consilience.events import Event, Progress
from consilience.model.data import with_sparse_parts
from consilience.model.log_density import model_density
from consilience.model.model import Model
from consilience.model.signature import signature
from consilience.output.storage.datatree import DimensionedArray
from consilience.output.storage.files import failure
from consilience.output.storage.plain_values import pack
from consilience.output.storage.study_file import FITS, StudyFile, bytes_at, unpacked
from consilience.sample.posterior import sample

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations
    import xarray

PLAIN: Final = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)
"""What a function holds and whose pickle is the same on another day."""


class Fits(Mapping[str, Any]):
    """Results by name: `fits["shop 7"]` is the tree of one fit, read from the folder where there is one.

    errors   why fits have no result, by name
    """

    def __init__(self, found: Mapping[str, dict[str, Any]], folder: Path | None) -> None:
        self._found, self._folder = dict(found), folder
        self.errors: dict[str, str] = {name: one["error"] for name, one in found.items() if "error" in one}

    def __getitem__(self, name: str) -> xarray.DataTree:
        if name in self.errors:
            raise SamplingError(f"the fit `{name}` failed: {self.errors[name]}")
        one = self._found[name]
        return unpacked(one["packed"] if self._folder is None else bytes_at(self._folder / FITS, one["at"]))

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._found if name not in self.errors)

    def __len__(self) -> int:
        return len(self._found) - len(self.errors)

    def __repr__(self) -> str:
        return f"<Fits: {len(self)} results, {len(self.errors)} failed>"

    def table(self) -> pd.DataFrame:
        """A row for each fit, those that failed included: status, seconds, seed, error."""
        import pandas as pd

        rows = {n: {k: one.get(k) for k in ("status", "seconds", "seed", "error")} for n, one in self._found.items()}
        table = pd.DataFrame.from_dict(rows, orient="index")
        if "seed" in table:  # of floats, where there are none of fits that failed, it would be rounded
            table["seed"] = pd.array([row["seed"] for row in rows.values()], dtype="Int64")
        return table

    def combined(self, draws: int | None = None) -> xarray.DataTree:
        """One tree whose groups have the dimension `fit`, labelled by name; fits that failed are left out.

        Groups in which shapes differ, such as data of different lengths, are left out too, but for the posterior.

        draws    the last so many of each chain, where fits have different numbers; all by default
        raises   ShapeError where shapes differ; SamplingError where there is no result
        """
        import xarray

        trees = {name: self[name] for name in self}
        if not trees:
            raise SamplingError(f"none of {len(self._found)} fits has a result; `errors` has the reasons.")
        if draws is not None:
            trees = {name: tree.isel(draw=slice(-draws, None), missing_dims="ignore") for name, tree in trees.items()}
        first = next(iter(trees.values()))
        label = xarray.Variable("fit", list(trees))
        groups = {}
        for group in first.children:
            each = [tree[group].to_dataset().drop_vars("draw", errors="ignore") for tree in trees.values()]
            if len({tuple(sorted((str(k), v) for k, v in one.sizes.items())) for one in each}) > 1:
                if group != "posterior":
                    continue
                raise ShapeError(
                    f"fits have different shapes in `{group}`: {dict(each[0].sizes)} and others; `draws=` takes "
                    "equally many draws of each, and `fits[name]` has each by itself."
                )
            whole = xarray.concat(each, "fit", combine_attrs="drop", join="outer")
            groups[str(group)] = xarray.DataTree(whole.assign_coords(fit=label))
        return xarray.DataTree(children=groups)


def sample_many(
    models: Any,
    over: Any = None,
    *,
    executor: Any = None,
    cores: int | None = None,
    store: str | Path | None = None,
    limit: float | None = None,
    retry: bool = False,
    random_seed: Any = None,
    sampler: Callable[..., Any] = sample,
    progressbar: bool = False,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
    **sampling: Any,
) -> Any:
    """Sample the posteriors of many models; a fit that fails is one without a result, and the others go on.

    models (callable or Model or mapping of str to Model): A function of a row that returns a model; one model, which is
        compiled once per worker and whose `pm.Data` are exchanged; or models by name, without `over`.
    over (mapping or DataFrame or sequence): Rows by name: a mapping, a pandas DataFrame (by its index), a groupby of
        one, or a sequence (by number). For one model a row is a mapping of new values, as `pm.set_data` takes them;
        data that it leaves out are the model's.
    executor (Executor): Where fits run: threads, a process pool, `loky`, MPI, a Dask client, `pm.cluster.ray()`;
        `cores` threads of this process by default. The draws do not depend on it.
    cores: Number of these threads.
    store: Folder for results; what it has is not computed again, and a run that was killed goes on from there. Rows
        whose data, or models, or function, changed since then are computed anew, with a warning.
    limit: Seconds that a fit may take.
    retry: Whether fits that failed on an earlier day are tried again.
    random_seed (int, sequence of int or Generator): Of the study; that of a fit depends on it and on the name of the
        fit.
    sampler (callable, default sample): Called as `sampler(model=..., random_seed=..., **sampling)`, with `cores=1` and
        `progressbar=False`.
    progressbar : ...
    callback: Called with `consilience.events.StepProgress` while the study goes on.
    blocking: False returns at once with a handle, whose `wait()` gives the result, as for `pm.sample`.
    **sampling: For the sampler: `draws`, `tune`, `chains`, `stop` and others.
    Returns (Fits): A mapping of trees by name, with `errors`, `table()` and `combined()`.
    Raises ModelError: For names that are there twice.
    Raises StorageError: Where the folder belongs to another study or another driver.
    Raises SamplingError: For workers that can't be used.
    See sample: One model.
    See loo_kfold: The same model without parts of its data.
    >>> def model_of_shop(sales):
    ...     with pm.Model() as model:
    ...         rate = pm.Gamma("rate", 2.0, 0.1)
    ...         pm.Poisson("sales", rate, observed=sales)
    ...     return model
    >>> fits = pm.sample_many(model_of_shop, {"Bern": [20, 23], "Rome": [41, 38]}, random_seed=1)
    >>> sorted(fits), dict(fits.errors)
    (['Bern', 'Rome'], {})
    """
    rows = _rows(models if over is None else over)
    if isinstance(models, Model):
        for name, row in rows.items():
            unknown = (
                [key for key in row if key not in models.data and f"{key}.shape" not in models.data]
                if isinstance(row, Mapping)
                else [type(row).__name__]
            )
            if unknown:
                raise ModelError(
                    f"row `{name}` has {unknown[0]!r}; a row has new values of the model's data, which are "
                    f"{', '.join(models.data) or 'none: write `pm.Data`'}."
                )
    study = _ManyFits(
        None if over is None else models, rows, Path(store) if store is not None else None, retry, random_seed, sampler,
        sampling, executor=executor, cores=cores, limit=limit, progressbar=progressbar, callback=callback,
    )  # fmt: skip
    return study.delivered(blocking)


class _Recipe:
    """What a worker needs for any fit; a thread has a model of its own where there is one for all."""

    def __init__(self, models: Any, seed: int, sampler: Callable[..., Any], sampling: dict[str, Any]) -> None:
        self.models, self.seed, self.sampler, self.sampling = models, seed, sampler, sampling
        self.before: dict[str, Any] = {}  # what rows exchanged, as the model has it
        self.progress: dict[str, list[Any]] = {}  # of fits under way on threads of this process, by name

    def __copy__(self) -> _Recipe:
        models = self.models.copy() if isinstance(self.models, Model) else self.models
        copied = _Recipe(models, self.seed, self.sampler, self.sampling)
        copied.progress = self.progress
        return copied

    def fit(self, item: tuple[str, Any]) -> dict[str, Any]:
        """One result as plain values."""
        name, row = item
        began = time.perf_counter()
        model = row if self.models is None else self.models
        if isinstance(self.models, Model):
            self._exchange(model, row)
        elif self.models is not None:
            model = self.models(row)
        if not isinstance(model, Model):
            raise ModelError(f"the function gave {type(model).__name__} for this row, not a model.")
        digest = hashlib.sha256(name.encode()).digest()
        seed = seed_from([self.seed, *np.frombuffer(digest, np.uint32).tolist()])
        settings = {"cores": 1, "progressbar": False, **self.sampling}
        if self.sampler is sample and "callback" not in settings:
            settings["callback"] = _Progressing(self.progress, name)
        if threading.current_thread() is threading.main_thread():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConsilienceWarning)  # `status` tells what they do
                tree = self.sampler(model=model, random_seed=seed, **settings)
        else:
            tree = self.sampler(model=model, random_seed=seed, **settings)
        told = {"status": str(attributes(tree).get("status", "")), **_figures(tree)}
        return {"packed": packed(tree), **told, "seconds": time.perf_counter() - began, "seed": seed}

    def _exchange(self, model: Model, row: Mapping[str, Any]) -> None:
        """Give a model the data of a row, and its own where a row before had others."""
        try:
            given = with_sparse_parts(row, model.data.get)
            for name in given:
                if name not in self.before:
                    self.before[name] = contexts.DEFAULT.get(model.data[name])
            model.set_all({**self.before, **given})
        except ShapeError as error:
            raise ShapeError(
                f"{error} In a study: a function of the row, in place of the model, gives each fit labels of its own."
            ) from None


class _Progressing:
    """A listener that notes where a fit is: its phase, chains, and draws of each."""

    every = 1.0

    def __init__(self, progress: dict[str, list[Any]], name: str) -> None:
        self.progress, self.name = progress, name

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress) and event.chains:
            draws = min(chain.draws for chain in event.chains)
            self.progress[self.name] = ["sampling" if draws else "tuning", len(event.chains), draws]


def _figures(tree: Any) -> dict[str, Any]:
    """What lists show of a fit, so that nobody has to open it for them."""
    known, groups = attributes(tree), held(tree)
    figures: dict[str, Any] = {n: str(known[n]) for n in ("reason", "last_check") if known.get(n)}
    if "posterior" in groups and {"chain", "draw"} <= set(groups["posterior"].sizes):
        figures |= {n: int(groups["posterior"].sizes[d]) for n, d in (("chains", "chain"), ("draws", "draw"))}
    statistics = groups["sample_stats"].data_vars if "sample_stats" in groups else {}
    if "diverging" in statistics:
        figures["divergences"] = int(np.asarray(statistics["diverging"]).sum())
    return figures


class _ManyFits(Many[Fits]):
    def __init__(
        self,
        models: Any,
        rows: dict[str, Any],
        folder: Path | None,
        retry: bool,
        random_seed: Any,
        sampler: Callable[..., Any],
        sampling: dict[str, Any],
        **settings: Any,
    ) -> None:
        super().__init__("fits", len(rows), tolerated=Exception, **settings)
        self._models = "" if models is None or folder is None else identity(models)
        self._rows, self._names, self._folder = rows, list(rows), folder
        self._under_way: dict[str, float] = {}  # since when, by name
        seed = seed_from(random_seed)
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise failure(folder, error, "nothing was computed") from error
            about = {"study": "fits", "sampling": {key: repr(value) for key, value in sorted(sampling.items())}}
            self.file = StudyFile(folder / FITS, about, None if random_seed is None else seed, seed)
            seed = self.file.seed
            known = {one["name"]: one for one in self.file.found.values() if not (retry and "error" in one)}
            there = {k: known[name] for k, name in enumerate(self._names) if name in known}
            self.done |= {k: one for k, one in there.items() if one["of"] == self._of(one["name"])}
            if changed := [one["name"] for k, one in there.items() if k not in self.done]:
                warn(
                    f"{folder} has {len(changed)} fits of other data or another model, such as `{changed[0]}`: they "
                    "are computed anew."
                )
        self._recipe = _Recipe(models, seed, sampler, sampling)

    def _of(self, name: str) -> str:
        """Digest of what a fit is of."""
        return hashlib.sha256(f"{self._models} {identity(self._rows[name])}".encode()).hexdigest()[:32]

    def shared(self) -> _Recipe:
        return self._recipe

    def function(self) -> Callable[[_Recipe, tuple[str, Any]], Mapping[str, Any]]:
        return _Recipe.fit

    def item(self, number: int) -> tuple[str, Any]:
        self._under_way[self._names[number]] = time.time()
        return self._names[number], self._rows[self._names[number]]

    def tell(self) -> None:
        if self.file is not None:
            progress = self._recipe.progress
            self.file.tell({name: [since, *progress.get(name, ())] for name, since in self._under_way.items()})
        super().tell()

    def keep(self, number: int, found: Mapping[str, Any]) -> None:
        name = self._names[number]
        began = self._under_way.pop(name, None)
        self._recipe.progress.pop(name, None)
        one = {"name": name, "began": began, **found}
        if self.file is not None:
            one["of"] = self._of(name)
            if "packed" in one:
                one["at"] = self.file.put(one.pop("packed"))
            self.file.append(len(self.file.found), one)
            self.file.found[len(self.file.found)] = one
        self.done[number] = one

    def of_all(self, found: dict[int, dict[str, Any]]) -> Fits:
        return Fits({self._names[k]: one for k, one in found.items()}, self._folder)


def identity(value: Any) -> str:
    """Digest of a model by its density and data, of a function by its source and the plain values that it holds, of
    anything else by its pickle.
    """
    if isinstance(value, Model):
        return json.dumps(signature(model_density(value)))
    if isinstance(value, FunctionType):
        known = "".join(f"\n{identity(own)}" for own in _held(value) if isinstance(own, PLAIN))
        try:
            return f"{value.__qualname__}\n{inspect.getsource(value)}{known}"
        except OSError:  # typed into a prompt
            return f"{value.__qualname__}\n{value.__code__.co_code.hex()} {value.__code__.co_consts}{known}"
    return hashlib.sha256(dumps(value, "a row")).hexdigest()


def _held(function: FunctionType) -> list[Any]:
    """Defaults of a function, and what it takes from functions around it."""
    found = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # there is none yet
            found.append(cell.cell_contents)
    return found


def _rows(over: Any) -> dict[str, Any]:
    """Rows by name; ModelError where a name is there twice."""
    if isinstance(over, Mapping):
        pairs = [(str(name), row) for name, row in over.items()]
    elif hasattr(over, "iterrows"):
        pairs = [(str(name), row) for name, row in over.iterrows()]
    elif hasattr(over, "ngroups"):
        pairs = [(str(name), group) for name, group in over]
    else:
        pairs = [(str(number), row) for number, row in enumerate(over)]
    name, times = Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 0)
    if times > 1:
        raise ModelError(f"the name `{name}` is there {times} times; fits need names of their own.")
    return dict(pairs)


def packed(tree: Any) -> bytes:
    """A result as the bytes that `unpacked` reads."""
    groups = {}
    for name, group in held(tree).items():
        labels = {k: DimensionedArray((k,), v) for k, v in group.labels.items()} if unbuilt(tree) else group.coords
        groups[str(name)] = {
            "variables": {str(k): [list(v.dims), np.asarray(v)] for k, v in group.data_vars.items()},
            "labels": {str(k): [list(v.dims), _plain(v)] for k, v in labels.items()},
            "attributes": {str(k): v for k, v in group.attrs.items()},
        }
    return pack(groups)


def _plain(labels: Any) -> Any:
    array = np.asarray(labels)
    return np.asarray([str(one) for one in array.ravel()]).reshape(array.shape) if array.dtype.hasobject else array
