"""Groups of `pm.sample`'s keywords: what a person writes enters, checked groups leave."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.fisher_metric import Form
from consilience.model.keywords import naming
from consilience.record import Record, field_names
from consilience.run.plan import check_goal, whole_number
from consilience.run.remedies import REMEDIES as TABLE
from consilience.run.remedies import USUAL
from consilience.sample.arguments import one_of

G = TypeVar("G", bound=Record)


class Stop(Record):
    """When a run has enough draws, and when it ends without them: `pm.sample(stop=pm.Stop(ess=1000))`.

    ess (float or None): Effective sample size that every scalar must reach, in the bulk and in the tails; above 0. With
        None the chains only have to agree.
    rhat (float): Largest R-hat allowed, between 1 and 2. A larger estimate passes only if noise explains it and
        separate modes were looked for, and never if it exceeds this value by 0.04.
    strict (bool): True: R-hat must be below `rhat` even if noise explains the difference.
    min_draws (int): Kept draws per chain at the first check, at least 4. By default 400, or `max_draws` if that is
        smaller.
    max_draws (int): Largest number of kept draws per chain, at least 4.
    max_time (float): Seconds after the chains have begun; the run then ends with the draws it has. Without `max_draws`
        and `max_time` a run has a budget of evaluations: about as many as an ordinary machine makes in a minute, or
        five times those of tuning and the first check, whichever is larger. It ends earlier if its own forecast exceeds
        this budget, if eight times the draws brought it hardly closer to its goal, or if the draws would fill more than
        half of the free memory. With `max_time` alone the run may take that long.
    monitor (str or sequence of str): Deterministics to check in addition to the free variables. Of simplexes and
        similar variables up to 32 elements are always checked. Other elements, if not named here, may have a smaller
        effective sample size than `ess`.
    Raises SamplingError: For values out of range.
    See Tuning: How chains tune.
    See sample: Draw from the posterior of a model with the No-U-Turn Sampler.
    See Save: What is written to disk during a run.
    Notes: Where `pm.sample(draws=…)` fixes the length, the rule judges the draws and does not end the run.
    >>> pm.Stop(ess=1000).ess
    1000
    """

    ess: float | None = 400
    rhat: float = 1.01
    strict: bool = False
    min_draws: int | None = None
    max_draws: int | None = None
    max_time: float | None = None
    monitor: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        named = ("pm.Stop(ess=…)", "pm.Stop(rhat=…)", "pm.Stop(max_time=…)")
        check_goal(self.ess, self.rhat, self.max_time, named)
        _truth("pm.Stop(strict=…)", self.strict)
        for name in ("min_draws", "max_draws"):
            if (value := getattr(self, name)) is not None:
                whole_number(f"pm.Stop({name}=…)", value, 4)
        if self.min_draws is not None and self.max_draws is not None and self.min_draws > self.max_draws:
            raise SamplingError(
                f"`pm.Stop(min_draws=…)` must be at most `pm.Stop(max_draws=…)`, which is {self.max_draws}; got "
                f"{self.min_draws}."
            )


class Tuning(Record):
    """How chains tune: `pm.sample(tuning=pm.Tuning(metric="dense"))`.

    A fixed number of tuning draws is set by `pm.sample(tune=…)`, not here.

    min (int): Smallest number of tuning draws per chain when the run chooses it, at least 0.
    max (int): Largest number of tuning draws per chain when the run chooses it, at least 1.
    pool (bool): True: all chains learn one metric and step size together. False: each chain tunes alone.
    metric (Form): Form of the mass matrix: "diag", "lowrank" (a diagonal and some directions), "dense", or "auto",
        which uses as many directions as are worth their cost.
    budget (int): Largest number of evaluations of the log density that a chain may use between two checks, at least 1.
        A chain that uses more is restarted once and then left out. None: no limit.
    Raises SamplingError: For values out of range.
    See sample: Takes it as `tuning`.
    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     result = pm.sample(tuning=pm.Tuning(metric="dense", max=300), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    min: int = 50
    max: int = 1500
    pool: bool = True
    metric: Form = "auto"
    budget: int | None = None

    def __post_init__(self) -> None:
        whole_number("pm.Tuning(min=…)", self.min, 0)
        whole_number("pm.Tuning(max=…)", self.max, 1)
        _truth("pm.Tuning(pool=…)", self.pool)
        one_of("pm.Tuning(metric=…)", self.metric, ("auto", "diag", "lowrank", "dense"))
        if self.budget is not None:
            whole_number("pm.Tuning(budget=…)", self.budget, 1)


class Save(Record):
    """What a run writes to disk while it runs: `pm.sample(save=pm.Save(checkpoint="run"))`.

    checkpoint (str or Path): File for the state of the run; `pm.resume` continues from it.
    store (str or Path): File for the draws. A name that ends in ".zarr" is written during the run, one that ends in
        ".nc" at the end.
    overwrite (bool): True: files of another run may be replaced.
    deterministics ({'lazy', 'eager'}): "lazy" computes deterministics from the draws when they are read, "eager" at the
        end of the run.
    Raises SamplingError: If an argument has another value.
    Raises StorageError: During the run, if a file cannot be written.
    See Stop: When draws are good enough.
    See Tuning: How chains tune.
    See sample: Draw from the posterior of a model with the No-U-Turn Sampler.
    >>> pm.Save(checkpoint="run").checkpoint
    'run'
    """

    checkpoint: str | Path | None = None
    store: str | Path | None = None
    overwrite: bool = False
    deterministics: Literal["lazy", "eager"] = "lazy"

    def __post_init__(self) -> None:
        for name in ("checkpoint", "store"):
            if not isinstance(getattr(self, name), str | Path | None):
                raise SamplingError(f"`pm.Save({name}=…)` must be a path, got {getattr(self, name)!r}.")
        _truth("pm.Save(overwrite=…)", self.overwrite)
        one_of("pm.Save(deterministics=…)", self.deterministics, ("lazy", "eager"))


GROUPS: Final[Mapping[str, type[Record]]] = {"stop": Stop, "tuning": Tuning, "save": Save}
MODES: Final = "modes"  # are looked for before a run begins; the other remedies are those of `run.remedies`
REMEDIES: Final = (*USUAL, MODES)
KNOWN: Final = (*TABLE, MODES)

for _kind in GROUPS.values():
    _kind.__init__ = naming({})(_kind.__init__)  # type: ignore[method-assign]  # refuses other names in words

# Parts of groups that are asked for as keywords, with how they are written.
SPELLED: Final[Mapping[str, str]] = {
    part: f"{name}=pm.{kind.__name__}({part}=…)" for name, kind in GROUPS.items() for part in field_names(kind)
}


def asked(kind: type[G], given: Any) -> G:
    """The group that was given, one of its kind; None: nothing was asked for. Raises SamplingError for what is none."""
    group = kind() if given is None else given
    if not isinstance(group, kind):
        name, example = kind.__name__, SPELLED[field_names(kind)[0]]
        raise SamplingError(f"`{name.lower()}` must be made by `pm.{name}(…)`, as `{example}`, got {group!r}.")
    return group


def chosen(remedies: Any) -> tuple[str, ...]:
    """The remedies asked for; one may stand alone. Raises SamplingError for what is none, and for what is no name."""
    names = (remedies,) if isinstance(remedies, str) else remedies
    listed = f"{', '.join(map(repr, KNOWN[:-1]))} and {KNOWN[-1]!r}"
    if not isinstance(names, Sequence | set | frozenset) or not all(isinstance(name, str) for name in names):
        raise SamplingError(f"`remedies` must be names among {listed}, and () for none; got {remedies!r}.")
    for name in names:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise SamplingError(f"`remedies` may name {listed}, got {name!r}{hint}")
    return tuple(names)


def _truth(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise SamplingError(f"`{name}` must be True or False, got {value!r}.")
