"""Writing a loop: leaves of a step and what is made of them in, one node of a loop out.

Lengths that differ from step to step become greatest ones here; what a loop is, `ops.loop` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from consilience.errors import DtypeError, MissingRuleError, ShapeError
from consilience.ir import Dim, Node, constant, tensor_input, topological
from consilience.ir.dimension import computed
from consilience.ir.lengths import computed_atoms
from consilience.ir.lengths import substitute as exchange
from consilience.ir.side_tables import describe
from consilience.ops.control import compatible_shapes, with_equal_lengths
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.loop import Loop, closed
from consilience.ops.python_call import settled


def scan(
    carried: Mapping[Node, tuple[Node, Node]],
    sequences: Mapping[Node, Node],
    traced: Sequence[Node],
    *,
    length: Dim,
    limit: Node | None = None,
    stop: Node | None = None,
    reverse: bool = False,
    truncate: int | None = None,
    keys: Iterable[Node] = (),
    fixed: Mapping[Node, Node] | None = None,
) -> Loop:
    """The loop whose body is written on leaves of its own.

    `carried`: leaf -> its initial and its next value.
    `sequences`: leaf -> the tensor whose elements along the first axis it takes.
    `traced`: expressions of one step, of which all steps are wanted.
    `length`: of sequences and traces.
    `limit`: number of steps at most; `length` if not given.
    `stop`: bool scalar: the loop ends after this step.
    `keys`: random keys that every step has of its own: from key and step.
    `fixed`: leaf -> the tensor it stands for in all steps.

    What depends on no leaf is computed before the loop. Raises ShapeError and DtypeError where a carried value changes
    its type, or a sequence has another length.
    """
    for leaf, (initial, following) in carried.items():
        _check_carried(leaf, initial, following)
    for sequence in sequences.values():
        if not compatible_shapes(sequence.static_shape[:1], (length,)):
            raise ShapeError(
                f"a sequence of a loop of {length} steps needs that length along its first axis, got "
                f"{describe(sequence)}; cut it (`x[:n]`)."
            )
    leaves = [*carried, *sequences]

    def greatest(count: Node) -> Dim:
        return _greatest(count, carried, sequences, length, limit)

    wanted = [following for _, following in carried.values()] + list(traced) + ([] if stop is None else [stop])
    kept = [(a, b) for n, (_, to) in carried.items() for a, b in zip(n.static_shape, to.static_shape, strict=True)]
    wanted = settled(with_equal_lengths(wanted, leaves), kept)
    if computed_atoms(wanted):
        from consilience.ops.varying import at_greatest_lengths  # few loops need it

        wanted = at_greatest_lengths(wanted, leaves, greatest, "step of a loop")
    if fixed:
        wanted = exchange(wanted, fixed)
    return closed(
        carried,
        sequences,
        wanted,
        length=length,
        limit=limit,
        until=stop is not None,
        reverse=reverse,
        truncate=truncate,
        keys=keys,
    )


def _check_carried(leaf: Node, initial: Node, following: Node) -> None:
    if following.dtype != leaf.dtype:
        raise DtypeError(
            f"a loop carries {describe(initial)} of dtype {leaf.dtype} and makes {describe(following)} of dtype "
            f"{following.dtype} of it; carried values keep their dtype: convert one of them with `.astype(...)`."
        )
    if not compatible_shapes(leaf.static_shape, following.static_shape):
        raise ShapeError(
            f"a loop carries {describe(initial)} of shape {leaf.static_shape} and makes {describe(following)} of it; "
            "carried values keep their shape: give the initial value the shape of the next ones."
        )


def _greatest(
    count: Node, carried: Mapping[Node, object], sequences: Mapping[Node, Node], length: Dim, limit: Node | None
) -> Dim:
    """The greatest of an integer over all steps, as a length: a loop of its own tells it."""
    met = set(topological([count]))
    if not met.isdisjoint(carried):
        raise MissingRuleError(
            f"a length in the step of a loop depends on what the loop carries: it is {describe(count)}, and its "
            "greatest value is not known before the loop. Give a bound (`pt.minimum(n, 10)`), or let the length depend "
            "on sequences alone."
        )
    most = tensor_input("int64", ())
    own = {leaf: sequence for leaf, sequence in sequences.items() if leaf in met}
    loop = scan({most: (constant(0), apply("maximum", most, count))}, own, [], length=length, limit=limit)
    return computed(loop.last[0], "greatest length", non_negative=True)


def step_limit(value: object) -> Node:
    """A number of steps as int64 scalar."""
    node = as_tensor(value)  # type: ignore[arg-type]  # checked below
    if node.ndim or node.dtype not in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"):
        raise DtypeError(f"a number of steps is an integer, got {describe(node)}.")
    return node if node.dtype == "int64" else node.astype("int64")
