"""What a result tells of its run, be it a tree of xarray yet or not: groups of labelled arrays enter, words leave."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.variables import held
from consilience.errors import SamplingError, shown
from consilience.first_use import face
from consilience.model.keywords import naming

if TYPE_CHECKING:
    import xarray

    from consilience.model.model import Model
    from consilience.sample.model_run import ModelRun
    from consilience.sample.report import Account
    from consilience.sample.tree import Posterior

WIDTH: Final = 100
INDENT: Final = 20


class Outcome:
    """What a result knows of its run, whether it is a tree yet or not."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [f"<result of pm.sample: {self.status or 'unknown status'}>"]
        for name, group in held(self).items():
            sizes, of = dict(group.sizes), ("chain", "draw")
            drawn = " × ".join(f"{sizes.pop(d):,} {d}s" for d in of if d in sizes)
            variables = [
                f"{key} ({', '.join(own)})" if (own := [str(d) for d in array.dims if d not in of]) else str(key)
                for key, array in group.data_vars.items()
            ]
            text = shown(", ".join(variables))
            lines += textwrap.wrap(
                f"{drawn}: {text}" if drawn else text, WIDTH, initial_indent=f"  {name:<{INDENT - 2}}",
                subsequent_indent=" " * INDENT, max_lines=5, break_on_hyphens=False,
            ) or [f"  {name}"]  # fmt: skip
        return "\n".join(lines)

    def __str__(self) -> str:  # xarray's own trees have both
        return repr(self)

    def to_numpy(self, name: str, group: str = "posterior") -> npt.NDArray[Any]:
        """The values of one variable as a NumPy array, without copying them: draws are (chain, draw, …).

        Parameters
        ----------
        name : str
            Of the variable.
        group : str, default 'posterior'
            That it is in.

        Raises
        ------
        KeyError
            For what is not there.

        Examples
        --------
        >>> import consilience as pm
        >>> with pm.Model():
        ...     x = pm.Normal("x", shape=3)
        ...     result = pm.sample(
        ...         draws=50, tune=50, random_seed=1, progressbar=False, compute_convergence_checks=False
        ...     )
        >>> result.to_numpy("x").shape
        (4, 50, 3)
        """
        groups = held(self)
        if group not in groups:
            raise KeyError(f"the result has no group `{group}`; it has {', '.join(groups)}.")
        variables = groups[group].data_vars
        if name not in variables:
            raise KeyError(f"the group `{group}` has no `{name}`; it has {', '.join(map(str, variables))}.")
        return np.asarray(variables[name])

    @property
    def _attributes(self) -> Mapping[str, Any]:
        groups = held(self)
        return {str(name): value for name, value in groups["posterior"].attrs.items()} if "posterior" in groups else {}

    @property
    def status(self) -> str:
        """How the run ended.

        "converged": the rule holds and nothing speaks against the draws. "converged_with_divergences": the rule
        holds, and steps diverged in a way that may be the sign of a tail which is not entered. "not_converged",
        "chains_disagree": do not use the draws yet. "interrupted": the run was stopped.
        """
        return str(self._attributes.get("status", ""))

    @property
    def reason(self) -> str:
        """Why the run ended as it did, in words; empty where there is nothing to say."""
        return str(self._attributes.get("reason", ""))

    @property
    def advice(self) -> str:
        """What to write instead, where the run found the cause of its trouble; empty otherwise."""
        return str(self._attributes.get("advice", ""))

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

        Returns
        -------
        Account
            A string that shows itself.
        """
        from consilience.sample.report import report

        return report(cast("Posterior", self))

    @naming({"ess": "it is `target_ess=`."})
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
        """Continue the run. The result has the draws that a longer run would have given from the start.

        With `target_ess`, the run takes as long as it needs. Ctrl-C ends it and keeps the draws so far.

        Given a tree instead of a number, add its groups to this result, as ArviZ's `InferenceData.extend` does.

        Parameters
        ----------
        target_ess : float or xarray.DataTree, optional
            Effective sample size to reach, present draws included; or a tree.
        join : {'left', 'right'}, default 'left'
            For groups that both trees have, "left" keeps those of this tree and "right" takes those of the other.
        draws : int, optional
            Number of draws per chain to reach, present draws included; instead of `target_ess`.
        max_draws : int, optional
            Largest number of draws per chain, present draws included.
        max_time : float, optional
            Largest number of seconds from now on.
        progressbar : bool, optional
            Whether to show the run; as in `sample` by default.

        Raises
        ------
        SamplingError
            For a tree that was read from disk or derived from another one, because it has no run to continue.
        """
        asked: Any = target_ess
        children = getattr(asked, "children", None)
        if isinstance(children, Mapping):
            own: Any = self
            if any(limit is not None for limit in (draws, max_draws, max_time)):
                raise SamplingError(
                    "a tree is added as it is: `draws`, `max_draws` and `max_time` are for going on with the run."
                )
            if join not in ("left", "right"):
                raise SamplingError(f'`join` must be "left" or "right", got {join!r}.')
            for name, group in children.items():
                if join == "right" or name not in own:
                    own[name] = group.copy()
            return cast("Posterior", self)
        if asked is not None and not isinstance(asked, Real):
            raise SamplingError(f"`extend` takes an effective sample size or a tree, got {type(asked).__name__}.")
        run: ModelRun | None = getattr(self, "_run", None)
        if run is None:
            raise SamplingError(
                "only the result that `pm.sample` returned can be extended, not one read from disk or derived from "
                "it; sample with `save=pm.Save(checkpoint=…)` and go on with `pm.resume`."
            )
        return run.extend(cast("float | None", asked), draws, max_draws, max_time, progressbar)

    @naming({})
    def challenge(
        self,
        max_time: float = 30.0,
        *,
        random_seed: Any = None,
        progressbar: bool = True,
        model: Model | None = None,
        cores: int | None = None,
        callback: Callable[..., Any] | None = None,
        blocking: bool = True,
    ) -> Any:
        """Attack the draws with what could falsify them; see `pm.challenge`.

        Parameters
        ----------
        max_time : float, default 30.0
            Seconds.
        random_seed : int, sequence of int or Generator, optional
            As for `pm.sample`.
        progressbar : bool, default True
            Whether a line is shown.
        model : Model, optional
            Of the draws, where the result was read from disk.
        cores : int, optional
            Largest number of threads; all processors by default.
        callback : callable, optional
            Called with `consilience.events.StepProgress` between attacks.
        blocking : bool, default True
            False returns at once with a handle, whose `wait()` gives the challenge.

        Returns
        -------
        object
            A `Challenge`: `refuted`, `statement`, and a table of attacks with the smallest errors they could have seen.
        """
        attack = face("Posterior.challenge")
        return attack(
            self,
            model=model,
            max_time=max_time,
            random_seed=random_seed,
            cores=cores,
            progressbar=progressbar,
            callback=callback,
            blocking=blocking,
        )
