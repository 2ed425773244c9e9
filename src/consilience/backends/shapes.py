"""Values of symbolic lengths, learnt from the shapes of actual arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, ShapeConstraint, TupleType
from consilience.ir import dimension as dims
from consilience.ir.lengths import source_of
from consilience.ir.side_tables import describe

# Bytes of the widest element times this number fit a signed 64-bit integer.
LARGEST_SIZE = 2**60 - 1

Lengths: TypeAlias = dict[dims.Atom, Dim]


def static_shape(shape: tuple[Dim, ...], lengths: Lengths) -> tuple[int, ...]:
    """A shape in integers, given the values of its symbols."""
    result = tuple(dims.substitute(n, lengths) for n in shape)
    for n in result:
        if not isinstance(n, int):
            raise ShapeError(f"the length `{n!r}` is not known from the inputs of the function.")
    lengths_now = tuple(int(n) for n in result)
    if math.prod(lengths_now) > LARGEST_SIZE:
        raise ShapeError(f"an array of shape {lengths_now} has more elements than can be addressed.")
    return lengths_now


def check_sizes(sizes: Mapping[Dim, Node], lengths: Lengths) -> None:
    """Refuse values whose bytes cannot be counted in 63 bits.

    `sizes`: number of elements, with the first node that has as many.
    """
    for size, node in sizes.items():
        actual = dims.substitute(size, lengths)
        if isinstance(actual, int) and actual > LARGEST_SIZE:
            raise ShapeError(f"{describe(node)} has {actual} elements, more than can be addressed.")


def check_shape_constraints(constraints: Iterable[ShapeConstraint], lengths: Lengths) -> None:
    """Raise ShapeError where lengths that must agree do not, with both expressions and the user's line."""
    for must in constraints:
        left = dims.substitute(must.left, lengths)
        right = dims.substitute(must.right, lengths)
        if isinstance(left, int) and isinstance(right, int) and left != right:
            stretched = " A length 1 is stretched only when it is static: index with `None` to add such an axis."
            raise ShapeError(
                f"{must.reason}, but `{must.left!r}` is {left} and `{must.right!r}` is {right}, in "
                f"{must.where}.{stretched if 1 in (left, right) else ''}"
            )


def sizes_of(order: Iterable[Node]) -> dict[Dim, Node]:
    """Every number of elements that is symbolic or large, for `check_sizes`."""
    found: dict[Dim, Node] = {}
    for node in order:
        for of in node.type.items if isinstance(node.type, TupleType) else (node.type,):
            size = of.size
            if not isinstance(size, int) or size > LARGEST_SIZE:
                found.setdefault(size, node)
    return found


def bind_computed(atom: dims.Atom, value: int, lengths: Lengths) -> None:
    """Learn a computed integer; a length below zero raises ShapeError."""
    if atom.kind == "size" and value < 0:
        raise ShapeError(f"a length must be >= 0, got {value} from {describe(source_of(atom))}.")
    lengths[atom] = value


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
                raise ShapeError(
                    f"axis {axis} of {describe(leaf)} needs length {wanted}, got an array of shape {shape}."
                )
