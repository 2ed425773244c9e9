"""Sums and extremes over the positions of a batch, written inside the function that `vmap` applies to each of them.

In: a tensor of one position and the name that `vmap` gave to the axis. Out: one that is the same for all positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from consilience.errors import GraphError
from consilience.ir import Dim, Node
from consilience.ops.collective import Collective
from consilience.ops.elementwise import TensorLike, as_tensor, cast
from consilience.ops.shape import length_of

AxisName: TypeAlias = str | Sequence[str]  # one axis, or several of which all positions together are meant

_NAMED: ContextVar[dict[str, tuple[Node, Dim]]] = ContextVar("named axes", default={})  # noqa: B039  # never changed


@contextmanager
def named_axis(name: str | None, position: Node, length: Dim) -> Iterator[None]:
    """Functions called inside know the axis by its name; the innermost axis of a name counts."""
    token = _NAMED.set(_NAMED.get() if name is None else {**_NAMED.get(), name: (position, length)})
    try:
        yield
    finally:
        _NAMED.reset(token)


def _axis(name: str) -> tuple[Node, Dim]:
    known = _NAMED.get()
    if name not in known:
        here = ", ".join(repr(other) for other in known) or "none"
        raise GraphError(
            f"no axis is called {name!r} here (there are: {here}); it is named by `pt.vmap(f, axis_name={name!r})` "
            "while that calls f."
        )
    return known[name]


def _over(kind: str, x: TensorLike, axis_name: AxisName) -> Node:
    node = as_tensor(x)
    if kind == "sum" and node.dtype == "bool":
        node = cast(node, "int64")
    for name in [axis_name] if isinstance(axis_name, str) else axis_name:
        node = Node(Collective(kind), node, _axis(name)[0])
    return node


def psum(x: TensorLike, axis_name: AxisName) -> Node:
    """Sum of x over all positions of the named axis, or axes; `psum(1, name)` is their number.

    Derivatives taken inside the function are those of the sum of all positions' results, as in JAX.

    x, axis_name : ...
    Returns: The same at all positions.
    See pmean: Mean over the positions of a named axis.
    See vmap: Names an axis.
    >>> f = pt.vmap(lambda x: x / pt.psum(x, "i"), axis_name="i")
    >>> f(pt.as_tensor([1.0, 1.0, 2.0])).eval().tolist()
    [0.25, 0.25, 0.5]
    """
    return _over("sum", x, axis_name)


def pmean(x: TensorLike, axis_name: AxisName) -> Node:
    """Mean of x over all positions of the named axis, or axes.

    x, axis_name : ...
    Returns: The same at all positions.
    See psum: Sum over the positions of a named axis.
    >>> f = pt.vmap(lambda x: x - pt.pmean(x, "i"), axis_name="i")
    >>> f(pt.as_tensor([1.0, 2.0, 6.0])).eval().tolist()
    [-2.0, -1.0, 3.0]
    """
    node = psum(x, axis_name)
    for name in [axis_name] if isinstance(axis_name, str) else axis_name:
        node = node / length_of(_axis(name)[1])
    return node


def pmax(x: TensorLike, axis_name: AxisName) -> Node:
    """Greatest x of all positions of the named axis, or axes; in derivatives positions that tie share evenly.

    x, axis_name : ...
    Returns: The same at all positions.
    See pmin: Least.
    See psum: Sum over the positions of a named axis.
    >>> f = pt.vmap(lambda x: x / pt.pmax(x, "i"), axis_name="i")
    >>> f(pt.as_tensor([1.0, 2.0, 4.0])).eval().tolist()
    [0.25, 0.5, 1.0]
    """
    return _over("max", x, axis_name)


def pmin(x: TensorLike, axis_name: AxisName) -> Node:
    """Least x of all positions of the named axis, or axes; in derivatives positions that tie share evenly.

    x, axis_name : ...
    Returns: The same at all positions.
    See pmax: Greatest of the positions of a named axis.
    See psum: Sum over the positions of a named axis.
    >>> f = pt.vmap(lambda x: x - pt.pmin(x, "i"), axis_name="i")
    >>> f(pt.as_tensor([1.0, 2.0, 4.0])).eval().tolist()
    [0.0, 1.0, 3.0]
    """
    return _over("min", x, axis_name)


def axis_index(axis_name: str) -> Node:
    """The number of the position along the named axis, an int64 scalar that counts from 0.

    axis_name: Name that `vmap` was given for the axis.
    Returns: An int64 scalar, of each position its own.
    See vmap: Names an axis.
    See psum: A sum over it.
    >>> f = pt.vmap(lambda x: x * pt.axis_index("i"), axis_name="i")
    >>> f(pt.as_tensor([5.0, 5.0, 5.0])).eval().tolist()
    [0.0, 5.0, 10.0]
    """
    return _axis(axis_name)[0]
