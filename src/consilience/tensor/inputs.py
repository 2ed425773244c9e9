"""Symbolic inputs under PyTensor's names: a letter for the dtype and a word for the rank, as in `dmatrix`.

Type checkers and editors read `inputs.pyi`, which `python tools/names.py` writes from the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy.typing as npt

from consilience.ir import Dimension, Node, tensor_input
from consilience.ir.types import DTYPES
from consilience.ops.axes import is_integer
from consilience.ops.dtypes import named

Lengths = Sequence[int | Dimension | None]

LETTERS: Final = {
    "": None, "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64", "c": "complex64",
    "z": "complex128", "bool_": "bool",
}  # fmt: skip
"""Dtypes by the letters before a word; none leaves the dtype to the call, `config.floatX` if that says nothing."""

RANKS: Final[dict[str, tuple[int | None, ...]]] = {
    "scalar": (),
    "vector": (None,),
    "row": (1, None),
    "col": (None, 1),
    "matrix": (None, None),
    **{f"tensor{rank}": (None,) * rank for rank in range(3, 8)},
}
"""Lengths by the word for a rank; None is a length known at the call."""


def tensor(
    name: str | None = None, *, dtype: npt.DTypeLike | None = None, shape: Lengths = (), broadcastable: None = None
) -> Node:
    """A function input, `config.floatX` unless `dtype` says otherwise.

    name, dtype (floatX) : ...
    shape (sequence of int or None): A length per axis, None where it is known only at the call.
    broadcastable: Taken for PyTensor's sake; say `shape`.
    Returns: An input, for `pt.function([x], ...)` and `.eval(...)`.
    See cast: `x` with another element type.
    See as_tensor: A node for any array.
    See constant: A fixed array.
    >>> pt.tensor("x", dtype="float64", shape=(None, 3)).ndim
    2
    """
    return tensor_input(named(dtype), shape, name)


def _input(word: str, own: str | None, lengths: Lengths) -> Callable[..., Node]:
    def make(name: str | None = None, *, dtype: npt.DTypeLike | None = own, shape: Lengths | None = None) -> Node:
        given = lengths if shape is None else shape
        if len(given) != len(lengths):
            raise ValueError(
                f"a shape of {len(lengths)} lengths was needed, got {tuple(given)}; use `pt.tensor` for other ranks."
            )
        return tensor(name, dtype=dtype, shape=given)

    shown = ", ".join("any" if length is None else str(length) for length in lengths)
    make.__name__ = make.__qualname__ = word
    kind = own or "`config.floatX` unless `dtype` says otherwise"
    make.__doc__ = f"""A function input of shape ({shown}), {kind}.

Parameters
----------
name : str, optional
    Name of the input, for keywords of the function and for messages.
dtype : dtype, {f"default {own!r}" if own else "optional"}
    Element type.
shape : sequence of int or None, optional
    Lengths, as many as there are axes; None where a length is known only at the call.

Returns
-------
TensorVariable
    The input, for `pt.function([{word}], ...)` and `.eval(...)`.

See Also
--------
tensor : Inputs of any rank and dtype.
{plural(word)} : Several at once.

Examples
--------
>>> import consilience.tensor as pt
>>> x = pt.{word}("x")
>>> x.name, x.ndim
('x', {len(lengths)})
"""
    return make


def _inputs(word: str, one: Callable[..., Node]) -> Callable[..., list[Node]]:
    def make(*names: Any) -> list[Node]:
        if len(names) == 1 and is_integer(names[0]):
            return [one() for _ in range(names[0].__index__())]
        listed = names[0] if len(names) == 1 and names[0] is not None else names
        return [one(name) for name in listed]

    make.__name__ = make.__qualname__ = word
    make.__doc__ = f"""Several inputs `{one.__name__}` at once.

Parameters
----------
*names : str or int
    Their names, one list of them, one word of which each letter is a name, or their number.

Returns
-------
list of TensorVariable
    The inputs, in order.

See Also
--------
{one.__name__} : One of them.

Examples
--------
>>> import consilience.tensor as pt
>>> [x.name for x in pt.{word}("x", "y")]
['x', 'y']
"""
    return make


def plural(word: str) -> str:
    """The name that makes several inputs at once."""
    return word.removesuffix("matrix") + "matrices" if word.endswith("matrix") else word + "s"


WORDS: Final = {
    letters + word: (dtype, lengths)
    for letters, dtype in LETTERS.items()
    for word, lengths in RANKS.items()
    if (dtype is None or dtype in DTYPES) and (letters != "bool_" or word == "scalar")
}
"""Dtype and lengths behind each public name."""

SINGULAR: Final = {plural(word): word for word in WORDS}
"""The name of one input behind that of several."""

__all__ = ["tensor", *WORDS, *SINGULAR]


def __getattr__(name: str) -> Callable[..., Any]:  # a function is made, with its docstring, when it is first used
    made: Callable[..., Any]
    if name in WORDS:
        made = _input(name, *WORDS[name])
    elif name in SINGULAR:
        one = SINGULAR[name]
        made = _inputs(name, globals().get(one) or __getattr__(one))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = made
    return made
