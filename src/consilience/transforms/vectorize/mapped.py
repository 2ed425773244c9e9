"""Functions of one position as functions of a batch, by the axes of their arguments: `vmap` in JAX's sense.

Arguments and results are tensors, or tuples, lists and dicts of them; the axes are given in the same form or a shorter
one. Functions whose batch axes lead and broadcast, as in NumPy, are in `signature`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, ShapeConstraint, tensor_input
from consilience.ir.side_tables import describe, without_sources
from consilience.ir.types import Shape
from consilience.ops.assertion import Require, require
from consilience.ops.axes import is_integer
from consilience.ops.control import with_equal_lengths
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import Iota, as_length, broadcast_to, moveaxis
from consilience.transforms.vectorize.engine import propagated
from consilience.transforms.vectorize.named_axes import named_axis
from consilience.transforms.vectorize.table import Operand

Axes: TypeAlias = Any  # an integer, None, or tuples, lists and dicts of them
Path: TypeAlias = str  # where a tensor stands among the arguments, as `[0]['mu']`


def vmap(
    f: Callable[..., Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: str | None = None,
    axis_size: object = None,
) -> Callable[..., Any]:
    """A function that applies `f` to every position along one axis of its arguments, all at once.

    f: Takes tensors, or tuples, lists and dicts of them, and gives such; it sees its arguments without the axis.
        Tensors that it uses without taking them are the same for all positions.
    in_axes (int or sequence of int): The axis of each positional argument, counted from the end if negative; None: the
        same for all positions. One value serves all arguments; a value in place of a tuple, list or dict serves all its
        members. Arguments by keyword are mapped over axis 0.
    out_axes (int or sequence of int): The axis of each result at which the positions stand; None: one value, which must
        not depend on them.
    axis_name: What `psum`, `pmean`, `pmax`, `pmin` and `axis_index` inside `f` call the axis of the positions.
    axis_size: Number of positions; needed where no argument is mapped.
    Returns: A function with the arguments of `f`; calls of `vmap` within each other give several axes.
    Raises ShapeError: For axes that do not exist or are of different lengths.
    Raises TypeError: For axes of another form.
    See vectorize_graph: The same for a graph.
    >>> f = pt.vmap(lambda row, shift: row.sum() + shift, in_axes=(0, None))
    >>> f(pt.as_tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0).eval().tolist()
    [13.0, 17.0]
    """

    _check_leaves(in_axes, "in_axes")
    _check_leaves(out_axes, "out_axes")

    def mapped(*arguments: Any, **keywords: Any) -> Any:
        spread = _spread(in_axes, arguments, "in_axes") if arguments else []
        spread += _spread(0, keywords, "in_axes") if keywords else []
        batches = {path: _leading(path, as_tensor(value), axis) for path, value, axis in spread if axis is not None}
        length = _length(batches, axis_size)
        replacements: dict[Node, Node] = {}
        stand_ins: dict[Path, Node] = {}
        with without_sources():
            for path, batch in batches.items():
                stand_in = tensor_input(batch.dtype, batch.static_shape[1:])
                stand_ins[path] = stand_in
                own = batch.static_shape[0]
                if own is not length and own != length:
                    one = ShapeConstraint(own, length, "`vmap` needs mapped axes of one length", f"argument{path}")
                    batch = Node(Require((one,)), batch)
                replacements[stand_in] = broadcast_to(batch, (length, *batch.static_shape[1:]))
        given = [_with_members(argument, f"[{i}]", stand_ins) for i, argument in enumerate(arguments)]
        named = {name: _with_members(argument, f"[{name!r}]", stand_ins) for name, argument in keywords.items()}
        position = tensor_input("int64", ())
        replacements[position] = Node(Iota(length))
        with named_axis(axis_name, position, length):
            results = f(*given, **named)
        placed = [(path, as_tensor(value), axis) for path, value, axis in _spread(out_axes, results, "out_axes")]
        outputs = with_equal_lengths([output for _, output, _ in placed], replacements)
        made, lead, owed = propagated(outputs, replacements)
        results_of = zip(placed, made, strict=True)
        done = {path: _placed(path, operand, axis, lead) for (path, _, axis), operand in results_of}
        done = dict(zip(done, require(list(done.values()), owed), strict=True))
        return _with_members(results, "", done)

    mapped.__doc__ = f.__doc__
    mapped.__name__ = getattr(f, "__name__", "mapped")
    return mapped


def _members(value: Any) -> Iterator[tuple[Any, Any]] | None:
    """Keys and members of a tuple, list or dict; None for a tensor."""
    if isinstance(value, Mapping):
        return iter(value.items())
    return enumerate(value) if isinstance(value, tuple | list) else None


def _spread(axes: Axes, value: Any, what: str, path: Path = "") -> list[tuple[Path, Any, int | None]]:
    """Every tensor with where it stands and its axis."""
    members = _members(value)
    if members is None:
        _check_leaf(axes, what, f" for {path or 'the result'}")
        return [(path, value, None if axes is None else operator.index(axes))]
    listed = list(members)
    own = _members(axes)
    if own is None:
        chosen = dict.fromkeys([key for key, _ in listed], axes)
    else:
        chosen = dict(own)
        if isinstance(axes, Mapping) != isinstance(value, Mapping) or set(chosen) != {key for key, _ in listed}:
            raise TypeError(
                f"`{what}` must have the form of what it is for: {len(listed)} members "
                f"({', '.join(repr(key) for key, _ in listed)}){' in ' + path if path else ''}, got {axes!r}."
            )
    return [leaf for key, member in listed for leaf in _spread(chosen[key], member, what, f"{path}[{key!r}]")]


def _check_leaf(axis: Any, what: str, place: str = "") -> None:
    if axis is not None and (isinstance(axis, bool) or not is_integer(axis)):
        raise TypeError(f"`{what}` must give a tensor an integer or None, got {axis!r}{place}.")


def _check_leaves(axes: Any, what: str) -> None:
    """Refuse what can be no axes of anything, before a function is there to be called."""
    members = _members(axes)
    if members is None:
        _check_leaf(axes, what)
        return
    for _, member in members:
        _check_leaves(member, what)


def _with_members(value: Any, path: Path, known: Mapping[Path, Any]) -> Any:
    """The same form with other tensors where some are known."""
    if _members(value) is None:
        return known.get(path, value)
    if isinstance(value, Mapping):
        return {key: _with_members(member, f"{path}[{key!r}]", known) for key, member in value.items()}
    made = [_with_members(member, f"{path}[{i}]", known) for i, member in enumerate(value)]
    if isinstance(value, tuple):
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return made


def _leading(path: Path, value: Node, axis: int) -> Node:
    if not -value.ndim <= axis < value.ndim:
        raise ShapeError(f"`in_axes` names axis {axis} of the argument{path}, which does not exist: {describe(value)}.")
    return moveaxis(value, axis, 0)


def _placed(path: Path, result: Operand, axis: int | None, batch: Shape) -> Node:
    if axis is None:
        if result.batched:
            raise ShapeError(
                f"the result{path} differs from one position to another, so `out_axes` must give it an axis, "
                f"not None: {describe(result.core)}."
            )
        return result.value
    value = result.full(batch)
    if not -value.ndim <= axis < value.ndim:
        raise ShapeError(
            f"`out_axes` names axis {axis} of the result{path}, which does not exist: with the axis of the positions "
            f"it has {value.ndim}."
        )
    return moveaxis(value, 0, axis)


def _length(batches: Mapping[Path, Node], axis_size: object) -> Dim:
    """The number of positions; a static length wins over a symbolic one."""
    lengths: list[Dim] = [] if axis_size is None else [as_length(axis_size)]
    lengths += [batch.static_shape[0] for batch in batches.values()]
    if not lengths:
        raise ShapeError("`vmap` needs an argument that is mapped, or `axis_size`: `in_axes` is None for all.")
    static = {length for length in lengths if isinstance(length, int)}
    if len(static) > 1:
        told = [f"argument{path}: {batch.static_shape[0]}" for path, batch in batches.items()]
        told += [] if axis_size is None else [f"`axis_size`: {axis_size}"]
        raise ShapeError(f"mapped axes have one length, got {', '.join(told)}.")
    return next((length for length in lengths if isinstance(length, int)), lengths[0])
