"""What type checkers and editors read of the functions that `consilience.tensor` makes from tables.

In: the scalar table and the tables of inputs. Out: the texts of `elementwise.pyi` and `inputs.pyi`.
"""

from __future__ import annotations

from pathlib import Path

from consilience.ops.scalar import TABLE
from consilience.tensor import elementwise, inputs

PLACE = Path(elementwise.__file__).parent
_HEAD = '"""Written by `python tools/names.py` from the tables of {module}.py; not to be edited."""\n\n'


def _parameters(arity: int) -> str:
    if not arity:
        return "*xs: TensorLike"
    names = ["x", "y", "z"] if arity < 4 else [f"x{i}" for i in range(arity)]
    return ", ".join(f"{name}: TensorLike" for name in names[:arity]) + ", /, *"


def elementwise_stub() -> str:
    """A line for each public name of a scalar function."""
    lines = [
        f"def {name}({_parameters(TABLE[row].arity)}, name: str | None = None) -> Node: ..."
        for name, row in sorted(elementwise.ROWS.items())
    ]
    head = "from consilience.ir import Node\nfrom consilience.ops.elementwise import TensorLike\n\n"
    head += "ROWS: dict[str, str]\n\n"
    return _HEAD.format(module="elementwise") + head + "\n".join(lines) + "\n"


def inputs_stub() -> str:
    """A line for each public name of a symbolic input, and of several at once."""
    head = """from collections.abc import Sequence
from typing import Protocol

import numpy.typing as npt

from consilience.ir import Dimension, Node

Lengths = Sequence[int | Dimension | None]

class _Input(Protocol):
    def __call__(
        self, name: str | None = None, *, dtype: npt.DTypeLike | None = ..., shape: Lengths | None = None
    ) -> Node: ...

class _Inputs(Protocol):
    def __call__(self, *names: str | int | None) -> list[Node]: ...

def tensor(
    name: str | None = None, *, dtype: npt.DTypeLike | None = None, shape: Lengths = (), broadcastable: None = None
) -> Node: ...

"""
    lines = [f"{word}: _Input\n{inputs.plural(word)}: _Inputs" for word in inputs.WORDS]
    return _HEAD.format(module="inputs") + head + "\n".join(lines) + "\n"


STUBS = {PLACE / "elementwise.pyi": elementwise_stub, PLACE / "inputs.pyi": inputs_stub}
