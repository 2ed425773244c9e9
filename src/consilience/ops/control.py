"""Lazy branches: one of two regions is computed, and what it requires of lengths is required when it is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import (
    UNSIGNED,
    Dim,
    Dimension,
    KeptAxes,
    Node,
    Op,
    Region,
    Shape,
    TensorType,
    TupleType,
    Type,
    close,
    computed_atoms,
    topological,
    with_lengths,
    with_regions,
)
from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom
from consilience.ir.lengths import source_of
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import describe, set_name
from consilience.ops.axes import all_but
from consilience.ops.elementwise import Cast, Elementwise, TensorLike, apply, as_tensor, cast, promote
from consilience.ops.reduce import Reduce
from consilience.ops.shape import LengthOf
from consilience.record import replace

# What the length is called that is 1 or 0 as a condition holds.
CONDITION = "condition"


class Item(Op):
    """One member of a tuple."""

    linear = ((0,),)
    position: int

    def result_type(self, *inputs: Node) -> TensorType:
        of = inputs[0].type
        if not isinstance(of, TupleType):
            raise GraphError(f"an item can be taken of a tuple only, got {of!r}.")
        return of.items[self.position]

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((), len(self.result_type(*inputs).shape)),)


class Cond(Op):
    """The results of one of two regions, chosen by a bool scalar; the other one is not computed.

    Inputs: the condition, then the operands of both regions, which have equal parameters and ranks of results.

    `owed`: what either region requires of lengths, checked where it is chosen. `choice`: the condition as a length, 1
    or 0, where lengths depend on it; None: results have equal lengths.
    """

    then: Region
    otherwise: Region
    owed: tuple[tuple[ShapeConstraint, ...], tuple[ShapeConstraint, ...]] = ((), ())
    choice: Dim | None = None

    def result_type(self, *inputs: Node) -> Type:
        pairs = zip(self.then.result_types, self.otherwise.result_types, strict=True)
        return TupleType(
            tuple(
                one.with_shape(tuple(self._length(a, b) for a, b in zip(one.shape, other.shape, strict=True)))
                for one, other in pairs
            )
        )

    def _length(self, then: Dim, otherwise: Dim) -> Dim:
        return then if then == otherwise or self.choice is None else otherwise + self.choice * (then - otherwise)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        if self.choice is not None:
            return ()
        return tuple(
            ShapeConstraint(a, b, "branches have equal shapes")
            for one, other in zip(self.then.result_types, self.otherwise.result_types, strict=True)
            for a, b in zip(one.shape, other.shape, strict=True)
            if a is not b and a != b
        )

    def __repr__(self) -> str:
        return f"cond({len(self.then.results)} results)"


def cond(
    condition: TensorLike, then: TensorLike | Sequence[TensorLike], otherwise: TensorLike | Sequence[TensorLike]
) -> Node | list[Node]:
    """`then` where the scalar condition holds, else `otherwise`; only the chosen one is computed.

    Both are one tensor or equally many, of equal ranks; dtypes are promoted pairwise. Where lengths differ, those of
    the result are known when the condition is; what a loop's step or a batch results in must have equal ones.

    condition : ...
    then: Value where the condition holds.
    otherwise: Value elsewhere.
    Returns: In the form of `then`.
    See switch: Computes both.
    See switch_case: One of several.
    >>> x = pt.dscalar("x")
    >>> pt.cond(x > 0, pt.sqrt(x), 0.0).eval({x: 4.0}).item()
    2.0
    """
    chosen = as_tensor(condition)
    if chosen.ndim:
        raise ShapeError(f"the condition must be a scalar, got {describe(chosen)}; use `pt.where` element by element.")
    if chosen.dtype == "key":
        raise DtypeError("a random key is no condition.")
    if chosen.dtype != "bool":
        chosen = apply("neq", chosen, 0)
    single = not isinstance(then, list | tuple)
    first: list[Any] = list(then) if isinstance(then, list | tuple) else [then]
    second: list[Any] = list(otherwise) if isinstance(otherwise, list | tuple) else [otherwise]
    if len(first) != len(second):
        raise GraphError(f"both branches need equally many results, got {len(first)} and {len(second)}.")
    pairs = [promote([a, b])[0] for a, b in zip(first, second, strict=True)]
    for a, b in pairs:
        if a.ndim != b.ndim:
            raise ShapeError(f"branches have different ranks:\n  {describe(a)}\n  {describe(b)}")
    lefts, rights = [a for a, _ in pairs], [b for _, b in pairs]
    ours, theirs = _needed(lefts, rights), _needed(rights, lefts)
    choice: Dim | None = None
    if ours or theirs or any(a.static_shape != b.static_shape for a, b in pairs):
        choice = dims.computed(cast(chosen, "int64"), CONDITION, non_negative=True)
        lefts, rights = _guarded(lefts, ours, choice, 1), _guarded(rights, theirs, choice, 0)
    results = chosen_of(chosen, lefts, rights, choice)
    return results[0] if single else results


def chosen_of(chosen: Node, lefts: Sequence[Node], rights: Sequence[Node], choice: Dim | None = None) -> list[Node]:
    """The results of one of two branches of equal dtypes and ranks, chosen by a bool scalar."""
    _, operands = close([*lefts, *rights])
    then_region, _ = close(lefts, operands)
    otherwise_region, _ = close(rights, operands)
    owed = collect(lefts), collect(rights)
    node = Node(Cond(then_region, otherwise_region, owed, choice), chosen, *operands)
    return [Node(Item(i), node) for i in range(len(lefts))]


def _needed(branch: Sequence[Node], other: Sequence[Node]) -> list[Atom]:
    """Lengths that only one branch needs and that may be below zero."""
    own = [a for a in computed_atoms(branch) if a.kind == "size" and not _counts(source_of(a))]
    elsewhere = set(computed_atoms(other)) if own else ()
    return [atom for atom in own if atom not in elsewhere]


def _guarded(branch: Sequence[Node], needed: Iterable[Atom], choice: Dim, chosen: int) -> list[Node]:
    """A branch with lengths that are 0 where it is not chosen."""
    found: dict[Atom, Dim] = {}
    for atom in needed:
        taken = apply("eq", Node(LengthOf(choice)), chosen)
        length = apply("where", taken, source_of(atom), 0)
        found[atom] = dims.computed(length, atom.name, non_negative=True)
    return with_lengths(branch, found, frozenset())


def _counts(source: Node) -> bool:
    """Whether an integer is at least zero by its form."""
    while isinstance(source.op, Cast | Reduce | LengthOf):
        if isinstance(source.op, LengthOf) or source.inputs[0].dtype in ("bool", *UNSIGNED):
            return True
        source = source.inputs[0]
    return isinstance(source.op, Elementwise) and source.op.function in ("abs", "square")


def with_equal_lengths(nodes: Sequence[Node], leaves: Iterable[Node]) -> list[Node]:
    """The graph whose branches must have equal lengths, where results would have the length of the chosen one.

    Only for a condition that depends on `leaves`; lengths of inner values may differ (`ops.varying`).
    """
    own, decided, plain = set(leaves), set[Atom](), dict[Atom, Dim]()
    for atom in computed_atoms(nodes):
        source = source_of(atom)
        if own.isdisjoint(topological([source])):
            continue
        if atom.name == CONDITION:
            decided.add(atom)
            plain[atom] = 1
        elif _is_guard(source):
            plain[atom] = dims.computed(source.inputs[1], atom.name, non_negative=True)
    if all(decided.isdisjoint(dims.atoms(length)) for node in nodes for length in node.static_shape):
        return list(nodes)

    def undecided(results: Sequence[Node]) -> list[Node]:
        memo: dict[Node, Node] = {}
        for node in topological(results, stop=own.__contains__):
            if node in own:
                memo[node] = node
                continue
            op = with_regions(node.op, undecided)
            if isinstance(op, Cond) and op.choice is not None and not decided.isdisjoint(dims.atoms(op.choice)):
                op = replace(op, choice=None)
            inputs = tuple([memo[operand] for operand in node.inputs])
            memo[node] = node if op is node.op and inputs == node.inputs else Node(op, *inputs)
        return [memo[result] for result in results]

    return with_lengths(undecided(nodes), plain, frozenset())


def _is_guard(source: Node) -> bool:
    """Whether a length is 0 where its branch is not chosen, as `_guarded` makes them."""
    return (
        source.op == Elementwise("where")
        and isinstance(source.inputs[0].op, Elementwise)
        and isinstance(source.inputs[0].inputs[0].op, LengthOf)
    )


def compatible_shapes(left: Shape, right: Shape) -> bool:
    """Whether two shapes may turn out equal; lengths that are not provably equal become shape constraints."""
    return len(left) == len(right) and all(
        a == b or isinstance(a, Dimension) or isinstance(b, Dimension) for a, b in zip(left, right, strict=True)
    )


def ifelse(
    condition: TensorLike, then: TensorLike, otherwise: TensorLike, name: str | None = None
) -> Node | list[Node]:
    """PyTensor's name for `cond`.

    condition : ...
    then: Value where the condition holds.
    otherwise: Value elsewhere.
    name: Of the result, where that is one tensor.
    Returns: In the form of `then`.
    See cond: One of two, by a scalar condition; only that one is computed.
    See switch: `ift` where `cond` holds (is not zero).
    >>> pt.ifelse(pt.as_tensor(True), pt.as_tensor(1.0), pt.as_tensor(2.0)).eval().item()
    1.0
    """
    made = cond(condition, then, otherwise)
    if name is not None and isinstance(made, Node):
        set_name(made, name)
    return made
