"""The result of a run as a tree of labelled arrays that knows how the run ended and can be continued."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import xarray

from consilience.errors import SamplingError
from consilience.faces import face

if TYPE_CHECKING:
    from consilience.model.model import Model
    from consilience.sample.report import Account
    from consilience.sample.work import Work


class Posterior(xarray.DataTree):  # type: ignore[no-untyped-call]  # xarray's own __init_subclass__
    """What `pm.sample` gives: an `xarray.DataTree` with groups posterior, sample_stats, observed_data, …

    Besides what every tree has it knows the end of its run; trees made from it, or read from disk, know what is
    in the attributes of their group `posterior`.
    """

    __slots__ = ("_work",)

    @classmethod
    def of(cls, groups: Mapping[str, xarray.DataTree], work: Work | None) -> Posterior:
        """A tree of these groups, with the run they come from."""
        result = cls(children=groups)
        object.__setattr__(result, "_work", work)
        return result

    def __getstate__(self) -> Any:
        # Compiled code and threads do not leave the process; a copy elsewhere knows what its attributes say.
        state = object.__getstate__(self)
        if isinstance(state, tuple):
            contents, slots = state
            return contents, {name: value for name, value in slots.items() if name != "_work"}
        return state

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
                older = import_module("consilience.older_names").today("result", name)  # loaded by mistakes alone
                if older is None:
                    raise
                raise AttributeError(f"the result has no `{name}`: {older}.", name=name, obj=self) from None

    @property
    def _attributes(self) -> Mapping[str, Any]:
        found = self.children["posterior"].attrs if "posterior" in self.children else {}
        return {str(name): value for name, value in found.items()}

    @property
    def status(self) -> str:
        """How the run ended.

        "converged": the rule holds and nothing speaks against the draws. "converged_with_divergences": the rule
        holds, and steps diverged in a way that may be the sign of a tail which is not entered. "not_converged",
        "chains_disagree": the draws should not be trusted as they are. "interrupted": the run was stopped.
        """
        return str(self._attributes.get("status", ""))

    @property
    def reason(self) -> str:
        """Why the run ended as it did, in words; empty where there is nothing to say."""
        return str(self._attributes.get("reason", ""))

    @property
    def worst(self) -> str:
        """Name of the first scalar found for which the rule does not hold; empty if there is none."""
        return str(self._attributes.get("worst", ""))

    @property
    def regions(self) -> dict[str, Any]:
        """The separate regions of the posterior that the run knew of; empty where none were looked for.

        `statement` says in words what was done and what may be concluded. `regions` lists them by falling mass:
        `mass` and `starting_points` are the shares of either that each has (mass None where it is not known, and
        `uncertain` where two ways to tell it differ), `log_density` that of its highest point, `place` the coordinates,
        on the unconstrained scale, that tell it from others. With 95 % probability, less than the share `unmet` of the
        starting points of its `ascents` lead to regions that were not found.
        """
        return dict(json.loads(self._attributes.get("regions", "{}")))

    def report(self) -> Account:
        """A readable account of the run: see `pm.report`, which tells the same of a result read from a store.

        returns   a string that shows itself
        """
        from consilience.sample.report import report

        return report(self)

    def extend(
        self,
        target_ess: float | xarray.DataTree | None = None,
        join: Literal["left", "right"] = "left",
        *,
        draws: int | None = None,
        max_draws: int | None = None,
        max_time: float | None = None,
        progressbar: bool | None = None,
    ) -> Posterior:
        """Go on with the run: the result is the one a longer run would have given from the start.

        Up to a number of effective draws it takes as long as it takes; Ctrl-C ends it with the draws there are.

        Given a tree in place of a number, add its groups to this result, as ArviZ's `InferenceData.extend` does.

        target_ess   effective draws to ask for now, those there are included; or a tree
        join         of groups that both trees have: "left" keeps those of this one, "right" takes those of the other
        draws        in its place: a number of draws per chain, those there are included
        max_draws    at most so many draws per chain, those there are included
        max_time     at most so many seconds from now on
        progressbar  whether to show the run; as in `sample` by default
        raises       SamplingError for a tree that was read from disk or derived from another one, which knows
                     its run no more
        """
        if isinstance(target_ess, xarray.DataTree):
            if any(limit is not None for limit in (draws, max_draws, max_time)):
                raise SamplingError(
                    "a tree is added as it is: `draws`, `max_draws` and `max_time` are for going on with the run."
                )
            if join not in ("left", "right"):
                raise SamplingError(f'`join` must be "left" or "right", got {join!r}.')
            for name, group in target_ess.children.items():
                if join == "right" or name not in self.children:
                    self[name] = group.copy()
            return self
        asked: Any = target_ess
        if asked is not None and not isinstance(asked, Real):
            raise SamplingError(f"`extend` takes a number of effective draws or a tree, got {type(asked).__name__}.")
        work: Work | None = getattr(self, "_work", None)
        if work is None:
            raise SamplingError(
                "only the result that `pm.sample` returned can be extended, not one read from disk or derived from "
                "it; sample with `save=pm.Save(checkpoint=…)` and go on with `pm.resume`."
            )
        return work.extend(target_ess, draws, max_draws, max_time, progressbar)

    def challenge(
        self,
        max_time: float = 30.0,
        *,
        random_seed: Any = None,
        progressbar: bool = True,
        model: Model | None = None,
        **settings: Any,
    ) -> Any:
        """Attack the draws with what could falsify them; see `pm.challenge`.

        max_time      seconds
        random_seed   as for `pm.sample`
        progressbar   whether a line is shown
        model         of the draws, where the result was read from disk
        settings      `cores`, `callback`, `blocking` of `pm.challenge`
        returns       a `Challenge`: `refuted`, `statement`, and a table of attacks with the smallest errors they could
                      have seen
        """
        attack = face("Posterior.challenge")
        return attack(
            self, model=model, max_time=max_time, random_seed=random_seed, progressbar=progressbar, **settings
        )
