"""What is asked of a run of a model and of its result, in one record; and as plain values, which a checkpoint keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.record import as_plain, field_names
from consilience.run import RunPlan
from consilience.sample.coordinates import ChainCoordinates

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
    store        where the draws are written to
    coordinates  that chains move in
    """

    names: tuple[str, ...] = ()
    monitor: tuple[str, ...] = ()
    checks: bool = True
    extras: tuple[str, ...] = ()
    lazily: bool = True
    modes: bool = False
    noise: float = 0.0
    store: str | None = None
    coordinates: ChainCoordinates = ChainCoordinates()

    @property
    def of_the_run(self) -> dict[str, Any]:
        """What its draws depend on, as numbers and text."""
        plain: dict[str, Any] = json.loads(json.dumps({name: as_plain(getattr(self, name)) for name in RUN}))
        return plain

    @property
    def of_the_result(self) -> dict[str, Any]:
        """The rest, as plain values, the coordinates among them one by one."""
        rest = {name: value for name, value in as_plain(self).items() if name not in RUN}
        coordinates = rest.pop("coordinates")
        return {**rest, **coordinates}


RUN = field_names(RunPlan)


def plan_from(run: Mapping[str, Any], result: Mapping[str, Any]) -> ModelPlan:
    """A plan as a checkpoint has it: `of_the_run` and `of_the_result`."""
    saved = {**run, **result, "rule": StoppingRule(**run["rule"])}
    lists = {name: tuple(value) for name, value in saved.items() if isinstance(value, list)}
    if not all(isinstance(word, str) for words in lists.values() for word in words):
        raise TypeError("the names of variables are no text")
    made = {**saved, **lists}
    coordinates = ChainCoordinates(**{name: made.pop(name) for name in field_names(ChainCoordinates) if name in made})
    return ModelPlan(**made, coordinates=coordinates)
