"""Values of symbolic lengths, learnt from the shapes of actual arrays."""

from __future__ import annotations

from typing import TypeAlias

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe

Lengths: TypeAlias = dict[dims.Atom, Dim]


def static_shape(shape: tuple[Dim, ...], lengths: Lengths) -> tuple[int, ...]:
    """A shape in integers, given the values of its symbols."""
    result = tuple(dims.substitute(n, lengths) for n in shape)
    for n in result:
        if not isinstance(n, int):
            raise ShapeError(f"the length `{n!r}` is not known from the inputs of the function.")
    return tuple(int(n) for n in result)


def bind_lengths(leaf: Node, shape: tuple[int, ...], lengths: Lengths) -> None:
    """Learn the values of symbolic lengths from the shape of an input; inconsistent values raise ShapeError."""
    declared = leaf.static_shape
    if len(declared) != len(shape):
        raise ShapeError(f"{describe(leaf)} needs rank {len(declared)}, got an array of shape {shape}.")
    for axis, (length, actual) in enumerate(zip(declared, shape, strict=True)):
        atom = dims.as_symbol(length)
        if atom is not None and atom not in lengths:
            lengths[atom] = actual
        else:
            wanted = dims.substitute(length, lengths)
            if isinstance(wanted, int) and wanted != actual:
                raise ShapeError(f"axis {axis} of {describe(leaf)} needs length {wanted}, got an array of shape {shape}.")
