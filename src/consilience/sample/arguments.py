"""Arguments of the sampling functions: what a person writes enters, checked values leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from consilience.errors import ModelError, SamplingError
from consilience.sample import keywords

EXTRAS: Final = ("log_likelihood", "log_prior", "include_transformed")


PROGRESS_BARS: Final = (
    True, False, "combined", "split", "combined+stats", "stats+combined", "split+stats", "stats+split",
)  # fmt: skip
"""PyMC's words show what `True` shows."""


def one_of(name: str, value: Any, known: Sequence[object]) -> None:
    """SamplingError, naming the argument, unless the value is among those that are known."""
    if value not in known:
        raise SamplingError(f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}.")


def extras(idata_kwargs: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What is wanted besides the groups of the run: log_likelihood, log_prior; values of transformed variables."""
    given = {} if idata_kwargs is None else idata_kwargs
    if not isinstance(given, Mapping):
        raise SamplingError(
            f"`idata_kwargs` must be a dictionary that may hold {', '.join(map(repr, EXTRAS))}, got {given!r}."
        )
    for name in given:
        if name in ("coords", "dims"):
            raise SamplingError(f"`idata_kwargs` has no `{name}`: give them to `pm.Model(coords=…)` and to variables.")
    unknown = [name for name in given if name not in (*EXTRAS, "save_warmup")]
    if unknown:
        raise SamplingError(f"`idata_kwargs` may hold {', '.join(map(repr, EXTRAS))}, got {unknown}.")
    return tuple(name for name in EXTRAS if given.get(name))


def wanted(var_names: Sequence[str] | str | None, known: Sequence[str]) -> list[str]:
    """The names asked for, all known ones by default."""
    if var_names is None:
        return list(known)
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(known)}.")
    return list(dict.fromkeys(names))


def check_keywords(function: str, given: Mapping[str, Any], accepted: str) -> None:
    """Pass over PyMC's keywords without meaning, refuse others."""
    rest = {name: value for name, value in given.items() if name not in ("progressbar", "idata_kwargs")}
    extras(given.get("idata_kwargs"))
    one_of("progressbar", given.get("progressbar", True), PROGRESS_BARS)
    keywords.check(function, rest, (*accepted.split(), "progressbar"))
