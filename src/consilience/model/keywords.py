"""Keywords that PyMC's functions take and ours do not: those without meaning here pass, others are refused.

A function's name, what it was given besides its own arguments, and tables of keywords in; nothing out.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection, Mapping
from types import FunctionType
from typing import Any, Final, TypeVar, cast

from consilience.backends.modes import mode_named
from consilience.errors import ArgumentError, ConsilienceWarning, warn

# Settings of PyTensor's compilation that have no meaning here.
COMPILATION: Final[Mapping[str, str | None]] = {
    "accept_inplace": None,
    "allow_input_downcast": None,
    "mode": None,
    "name": None,
    "on_unused_input": None,
    "profile": None,
    "random_seed": None,
    "strict": None,
    "trust_input": None,
}

_F = TypeVar("_F", bound=Callable[..., Any])
_told: set[tuple[str, str]] = set()


def take(
    function: str,
    given: Mapping[str, Any],
    ignored: Mapping[str, str | None],
    accepted: Collection[str] = (),
    absent: Mapping[str, str] | None = None,
    spelled: Mapping[str, str] | None = None,
) -> None:
    """Pass over keywords without meaning; refuse the others.

    `ignored`: keywords that have no effect, each with the sentence that says so, once per process; None: nothing need
        be said.
    `accepted`: the function's own keywords, for the proposal.
    `absent`: keywords that PyMC has and we have not, each with what to use in their place.
    `spelled`: further words that may be meant, with how they are written.
    Raises TypeError for every other keyword, with the nearest one.
    """
    for name, value in given.items():
        if name == "compile_kwargs" and value is not None and name in ignored:
            check_compile_kwargs(value)
        elif name == "mode" and value is not None and name in ignored:
            mode_named(value)  # without effect, and a name that nobody knows is a slip
        elif name in ignored:
            sentence = ignored[name]
            if sentence is not None and value is not None:
                say_once(function, name, f"`{function}`: `{name}` has no effect: {sentence}")
        elif absent is not None and name in absent:
            raise TypeError(f"`{function}`: PyMC's `{name}` does not exist here; {absent[name]}")
        else:
            words = {word: word for word in (*accepted, *ignored)} | dict(spelled or {})
            near = difflib.get_close_matches(name, words, n=1, cutoff=0.6)
            hint = f"; did you mean `{words[near[0]]}`?" if near else f"; its arguments are {', '.join(accepted)}."
            raise TypeError(f"`{function}` has no argument `{name}`{hint}")


def own_arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of a function's parameters, without `*` and `**`, whatever it is wrapped in."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = cast(FunctionType, function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def say_once(function: str, name: str, sentence: str, category: type[Warning] = ConsilienceWarning) -> None:
    """Warn of a keyword of a function, the first time in this process."""
    if (function, name) not in _told:
        _told.add((function, name))
        warn(sentence, category)


def naming(absent: Mapping[str, str]) -> Callable[[_F], _F]:
    """A function or `__init__` that refuses keywords it has not, with the nearest one or what `absent` says of them."""

    def decorate(function: _F) -> _F:
        own = own_arguments(function)
        spoken = tuple(name for name in own if name != "self")

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if not keywords.keys() <= set(own):
                made = function.__name__ == "__init__"
                title = type(arguments[0]).__name__ if made else function.__name__
                given = {name: value for name, value in keywords.items() if name not in own}
                for name in absent.keys() & given.keys():
                    raise TypeError(f"`{title}` has no argument `{name}`: {absent[name]}")
                take(title, given, {}, spoken)
            return function(*arguments, **keywords)

        return cast(_F, call)

    return decorate


def check_compile_kwargs(given: Mapping[str, Any] | None, function: str = "compile_kwargs") -> None:
    """Refuse what is no setting of PyTensor's compilation."""
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError(
            f"`{function}` must be a dictionary of settings such as {{'mode': 'FAST_RUN'}}, got {given!r}."
        )
    take(function, given or {}, COMPILATION, tuple(COMPILATION), {})
