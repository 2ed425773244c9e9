"""Keywords of the public functions: PyTensor's, NumPy's for the same things, and an answer to every other one.

In: functions whose parameters bear PyTensor's names. Out: the same functions, taking NumPy's keywords too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from types import FunctionType
from typing import Any, Final, cast

from consilience.first_use import WRAPPER, guarded, telling

# Words for one thing in PyTensor, NumPy and SciPy. A keyword stands for the first free parameter of its groups.
_SYNONYMS: Final = tuple(
    frozenset(words.split())
    for words in (
        "x a input m v arr ary arry array A y model prototype value c t tensor X n N M",
        "l x1 a x left",
        "r x2 b y right",
        "tensor_list tensors arrays tup values",
        "newshape shape",
        "min a_min low",
        "max a_max high",
        "m M",
        "cond condition",
        "ift x",
        "iff y",
        "k offset",
        "axis axes dim",
        "keepdims keepdim",
        "reps repeats",
        "ddof correction",
        "fill_value value",
        "lower lower_triangular",
        "func function",
        "dims shape",
        "val value",
    )
)
_TAKES_ANY: Final = 0x08  # the flag of code that has a parameter **keywords


def published(thing: Any, module: str, name: str) -> Any:
    """A function of a module as users get it, with synonyms of its keywords; any other thing as it is."""
    taking = accept(thing)
    if taking is not thing and taking.__module__ == thing.__module__:  # where pickle finds it
        taking.__module__, taking.__qualname__ = module, name
    return taking


def accept(function: Any) -> Any:
    """A function that also takes synonyms of its keywords and refuses others by naming the nearest; else the thing."""
    if isinstance(function, FunctionType) and function.__code__.co_filename == WRAPPER:
        function = cast(Any, function).__wrapped__  # another package has shown it first
    plain = isinstance(function, FunctionType) and not function.__code__.co_flags & _TAKES_ANY
    return _accepting(function) if plain else guarded(function)


@functools.cache
def _accepting(function: FunctionType) -> Callable[..., Any]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    own = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    known = frozenset(own)

    def translated(count: int, keywords: dict[str, Any]) -> dict[str, Any]:
        if keywords.keys() <= known:
            return keywords
        return _translated(function.__name__, own, frozenset(positional[:count]), keywords)

    return telling(function, translated=translated)


def translates(word: str, own: Collection[str]) -> bool:
    """Whether a keyword stands for one of the parameters `own`."""
    return any(word in group and not group.isdisjoint(own) for group in _SYNONYMS)


def _translated(name: str, own: tuple[str, ...], taken: frozenset[str], keywords: Mapping[str, Any]) -> dict[str, Any]:
    result = {word: value for word, value in keywords.items() if word in own}
    for word, value in keywords.items():
        if word in own:
            continue
        groups = [group for group in _SYNONYMS if word in group]
        free = [p for group in groups for p in own if p in group and p not in taken and p not in result]
        if not free:
            near = get_close_matches(word, own, 1)
            hint = f"; did you mean `{near[0]}`?" if near else "."
            listed = ", ".join(own) if own else "no keywords"
            raise TypeError(f"`{name}` does not take the keyword `{word}`{hint} It takes {listed}.")
        result[free[0]] = value
    return result
