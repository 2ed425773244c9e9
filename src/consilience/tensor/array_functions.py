"""NumPy's functions on expressions: `np.sum(x)` means `pt.sum(x)`.

A function of NumPy and its arguments in, what the function of the same name here makes of them out.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.ir import Node
from consilience.ir.arithmetic import means
from consilience.ops import index, reductions
from consilience.ops.elementwise import as_tensor
from consilience.ops.notation import clip, round_to
from consilience.tensor.triangular_factors import qr

# Functions of NumPy whose namesakes here take other arguments, and some that have none.
OWN: dict[str, Callable[..., Any]] = {
    "amax": reductions.max,
    "amin": reductions.min,
    "clip": lambda a, a_min=None, a_max=None, *, min=None, max=None: clip(
        a, a_min if min is None else min, a_max if max is None else max
    ),
    "copy": as_tensor,
    "qr": lambda a, mode="reduced": qr(a, mode),
    "ndim": lambda a: as_tensor(a).ndim,
    "round": lambda a, decimals=0: round_to(a, decimals=decimals),
    "shape": lambda a: as_tensor(a).shape,
    "split": index.split,
}


@means("array_function")
def array_function(
    function: Callable[..., Any], types: Collection[type], arguments: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """The meaning of a function of NumPy on arguments of which one is an expression.

    Raises TypeError where there is no such function here, or one of its arguments has no meaning.
    """
    if not all(issubclass(kind, Node | np.ndarray) for kind in types):
        return NotImplemented
    name = function.__name__
    own = OWN.get(name) or _namesake(function)
    positional, keywords = _translated(name, function, own, arguments, named)
    return own(*positional, **keywords)


def _namesake(function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function of the same name."""
    place, name = str(function.__module__), function.__name__
    home = "consilience.tensor.linalg" if place.startswith("numpy.linalg") else "consilience.tensor"
    try:
        found: Callable[..., Any] = getattr(sys.modules[home], name)
    except AttributeError as error:
        raise TypeError(
            f"`np.{name}` has no meaning on expressions ({error.args[0].rstrip('.')}); "
            "compute them first, with `.eval()`."
        ) from None
    return found


def _translated(
    name: str,
    function: Callable[..., Any],
    own: Callable[..., Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """NumPy's arguments as those of the function here; what NumPy takes by default is left out."""
    ours = inspect.signature(own)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    theirs = inspect.signature(function)
    bound = theirs.bind(*arguments, **named)
    places = list(theirs.parameters)
    for key, value in bound.arguments.items():
        parameter = theirs.parameters[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.default is parameter.empty:
            positional.append(value)
        elif value is parameter.default:
            continue
        elif key in ours.parameters:
            keywords[key] = value
        elif places.index(key) == len(positional) and not keywords:
            positional.append(value)
        else:
            raise _refused(name, key, ours)
    try:
        ours.bind(*positional, **keywords)
    except TypeError:
        key = next(reversed(bound.arguments))
        raise _refused(name, key, ours) from None
    return positional, keywords


def _refused(name: str, key: str, ours: inspect.Signature) -> TypeError:
    if key == "out":
        return TypeError(f"`np.{name}` cannot write an expression into an array: its numbers are not known yet.")
    return TypeError(f"`np.{name}` of an expression takes {', '.join(ours.parameters)}; `{key}` has no meaning here.")
