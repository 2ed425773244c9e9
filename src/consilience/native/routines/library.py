"""Routines as machine code, under the names that generated code calls.

In: a symbol `consilience_routine_<name>`. Out: a library with it, compiled when first asked for.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from consilience.native import jit
from consilience.native.jit import Library
from consilience.native.mathematics import LIBRARY
from consilience.native.routines import sorting
from consilience.native.typed_python import NativeFunction
from consilience.native.typed_python.translate import translate
from consilience.native.typed_python.translations import written

PREFIX: Final = "consilience_routine_"
ROUTINES: Final[dict[str, NativeFunction[..., Any]]] = {
    function.name: function
    for function in (
        sorting.argsort, sorting.below, sorting.next_key, sorting.places_left_of_floats,
        sorting.places_left_of_integers, sorting.places_right_of_floats, sorting.places_right_of_integers,
        sorting.select, sorting.sort_keys,
    )
}  # fmt: skip


@functools.cache
def library(symbol: str) -> Library | None:
    """The library of one symbol, or None if there is no such routine."""
    function = ROUTINES.get(symbol.removeprefix(PREFIX))
    if function is None:
        return None
    exported = {symbol: function}
    return jit.load(written(exported, lambda: translate(exported)), exported, LIBRARY)
