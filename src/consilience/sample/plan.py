"""What is asked of a run of a model and of its result, in one record; and as plain values, which a checkpoint keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.inference import Kernel
from consilience.native import target
from consilience.record import as_plain, field_names
from consilience.run import RunPlan
from consilience.sample.step_methods import title

LARGE: Final = 60  # elements of a variable that is integrated out without being named


class ModelPlan(RunPlan):
    """What is asked of a run of a model.

    names        names of the variables to keep
    monitor      deterministics to be checked besides the free variables
    checks       whether convergence is checked, and warned of
    extras       groups to add: log_likelihood, log_prior; include_transformed: values on the line as `tau_log__`
    lazily       whether deterministics are computed when they are looked at
    modes        whether separate modes are looked for
    noise        half the width of the noise around the support points that chains begin with; 0: points are given
    marginalized names of the variables that are summed or integrated out while chains move, and drawn again from draws
    summed_values how many values of such without end are summed, by name, as draws came near to where fewer would end
    centredness  of hierarchies that are partially non-centred, as numbers or lists by name; None: there are none
    fields       that move in units of their scale: the centredness and middle of each by name; None: there are none
    transported  block of variables in coordinates of their own, by `model.transport`; None: there is none
    store        where the draws are written to
    """

    names: tuple[str, ...] = ()
    monitor: tuple[str, ...] = ()
    checks: bool = True
    extras: tuple[str, ...] = ()
    lazily: bool = True
    modes: bool = False
    noise: float = 0.0
    marginalized: tuple[str, ...] = ()
    summed_values: Mapping[str, int] | None = None
    centredness: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] | None = None
    transported: Mapping[str, Any] | None = None
    store: str | None = None

    @property
    def all_centredness(self) -> dict[str, Any]:
        """Of hierarchies and of fields, by name."""
        return {**(self.centredness or {}), **{name: degree for name, (degree, _) in (self.fields or {}).items()}}

    @property
    def rewritten(self) -> tuple[str, ...]:
        """Names of variables that are written by others."""
        block = (self.transported or {}).get("names", ())
        return (*(self.centredness or ()), *(self.fields or ()), *block)

    @property
    def of_the_run(self) -> dict[str, Any]:
        """What its draws depend on, as numbers and text."""
        plain: dict[str, Any] = json.loads(json.dumps({name: as_plain(getattr(self, name)) for name in RUN}))
        return plain

    @property
    def of_the_result(self) -> dict[str, Any]:
        """The rest, as plain values."""
        return {name: value for name, value in as_plain(self).items() if name not in RUN}


RUN = field_names(RunPlan)


def plan_from(run: Mapping[str, Any], result: Mapping[str, Any]) -> ModelPlan:
    """A plan as a checkpoint has it: `of_the_run` and `of_the_result`."""
    saved = {**run, **result, "rule": StoppingRule(**run["rule"])}
    lists = {name: tuple(value) for name, value in saved.items() if isinstance(value, list)}
    if not all(isinstance(word, str) for words in lists.values() for word in words):
        raise TypeError("the names of variables are no text")
    return ModelPlan(**{**saved, **lists})


def identity(
    model_signature: Mapping[str, str], kernel: Kernel, plan: ModelPlan, chains: int, seed: int
) -> dict[str, Any]:
    """What has to be equal for a run to be resumed with the same draws."""
    return {
        **model_signature,
        "kernel": json.loads(
            json.dumps([[title(type(part)), as_plain(part)] for part in kernel.parts], default=np.ndarray.tolist)
        ),
        "options": plan.of_the_run,
        "chains": chains,
        "seed": seed,
        "version": sys.modules["consilience"].__version__,
        "vector_lanes": target.host().lanes,
    }
