"""What is asked of a result besides its draws; a checkpoint keeps it, so that a resumed run gives the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consilience.record import Record


class ResultOptions(Record):
    """What a result holds, and what is looked at on the way to it.

    names        names of the variables to keep
    monitor      deterministics to be checked besides the free variables
    checks       whether convergence is checked, and warned of
    extras       groups to add: log_likelihood, log_prior; include_transformed: values on the line as `tau_log__`
    lazily       whether deterministics are computed when they are looked at
    modes        whether separate modes were looked for
    noncenter    whether hierarchies may be written in less centred coordinates
    centredness  of those that were, as numbers or lists by name
    store        where the draws are written to
    """

    names: tuple[str, ...]
    monitor: tuple[str, ...] = ()
    checks: bool = True
    extras: tuple[str, ...] = ()
    lazily: bool = True
    modes: bool = False
    noncenter: bool = False
    centredness: Mapping[str, Any] | None = None
    store: str | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> ResultOptions:
        """The options that a checkpoint holds as numbers, text and lists."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in plain.items()}
        return cls(**values)
