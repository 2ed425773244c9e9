"""What stands for the nodes of a step at greatest lengths: numbers of elements and their bounds; the table of rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from consilience.errors import MissingRuleError
from consilience.ir import (
    Dim,
    Dimension,
    Node,
    Op,
    TensorType,
    computed_atoms,
    constant,
    rebuild,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom
from consilience.ir.lengths import lengths_in, source_of
from consilience.ir.side_tables import describe
from consilience.ops.control import Item
from consilience.ops.elementwise import Elementwise, apply
from consilience.ops.index import FULL, Gather, Index
from consilience.ops.parameter_check import Asserted
from consilience.ops.shape import (
    Iota,
    as_integer,
    length_of,
    reshape,
)

Rule: TypeAlias = "Callable[[Padding, Node, list[Node]], Node | list[Node]]"
_R = TypeVar("_R", bound=Rule)
_rules: dict[type[Op], Rule] = {}


def padded_form(*kinds: type[Op]) -> Callable[[_R], _R]:
    """Register what becomes of an op whose operands or parameters have lengths that differ."""

    def register(rule: _R) -> _R:
        _rules.update(dict.fromkeys(kinds, rule))
        return rule

    return register


class Padding:
    """One graph at greatest lengths: which lengths differ, what stands for its nodes."""

    def __init__(
        self, wanted: Iterable[Node], leaves: Iterable[Node], greatest: Callable[[Node], Dim], among: str
    ) -> None:
        self.among = among
        self.atoms: set[Atom] = set()
        self.made: dict[Node, Node] = {leaf: leaf for leaf in leaves}
        self.tuples: dict[Node, list[Node]] = {}
        # Per trace of a loop the value it ends with, so that `trace[-1]` needs no trace.
        self.ends: dict[tuple[Node, int], Node] = {}
        self._greatest = greatest
        self.bounds: dict[Dim, Dim] = {}
        own = set(self.made)
        for atom in computed_atoms(wanted):
            nodes = topological([source_of(atom)])
            if not own.isdisjoint(nodes) or any(self._holds(node.op) for node in nodes):
                self.atoms.add(atom)

    def _holds(self, op: Op) -> bool:
        return bool(self.atoms) and any(map(self.varies, lengths_in(op, set())))

    def varies(self, length: Dim) -> bool:
        """Whether a length differs."""
        return isinstance(length, Dimension) and not self.atoms.isdisjoint(dims.atoms(length))

    def refused(self, length: Dim, why: str) -> MissingRuleError:
        """The error for a length that cannot differ here."""
        atom = min(dims.atoms(length) & self.atoms, key=lambda atom: atom.serial)
        return MissingRuleError(
            f"the length `{length!r}` differs from one {self.among} to another, since it depends on "
            f"{describe(source_of(atom))}: {why}. Reduce it inside (`.sum()`, `[-1]`), or take the greatest length and "
            "`pt.where` for the elements that count."
        )

    def of(self, nodes: Sequence[Node]) -> list[Node]:
        """What stands for nodes."""
        for node in topological(nodes, stop=self.made.__contains__):
            if node in self.made:
                continue
            if isinstance(node.op, Item) and node.inputs[0] in self.tuples:
                self.made[node] = self.tuples[node.inputs[0]][node.op.position]
                continue
            inputs = [self.made[operand] for operand in node.inputs]
            shapes = (i.static_shape for i in node.inputs if isinstance(i.type, TensorType))
            if not self._holds(node.op) and not any(self.varies(n) for shape in shapes for n in shape):
                self.made[node] = rebuild(node, tuple(inputs))
                continue
            rule = _rules.get(type(node.op))
            if rule is None and not self._follows(node):
                raise self.missing(node)
            result = Node(node.op, *inputs) if rule is None else rule(self, node, inputs)
            if isinstance(result, list):
                self.tuples[node], self.made[node] = result, node
            else:
                self.made[node] = result
        return [self.made[node] for node in nodes]

    def _follows(self, node: Node) -> bool:
        """Whether the result follows all axes of its one operand, as a cast does: then it needs no form of its own."""
        kept = node.op.kept_axes(*node.inputs)
        if len(node.inputs) != 1 or len(kept) != 1 or self._holds(node.op):
            return False
        lengths = enumerate(node.inputs[0].static_shape)
        return all(n == 1 or axis in kept[0].values() for axis, n in lengths)

    def missing(self, node: Node) -> MissingRuleError:
        """The error for an op that takes no length that differs."""
        found = [n for i in node.inputs if isinstance(i.type, TensorType) for n in i.static_shape]
        length = next(n for n in (*found, *lengths_in(node.op, set())) if self.varies(n))
        return self.refused(length, f"{node.op!r} has no form for that")

    def number(self, length: Dim) -> Node:
        """A length as an int64 scalar of the step."""
        if not isinstance(length, Dimension) or not self.varies(length):
            return length_of(length)
        total: Node | None = None
        for monomial, coefficient in length.terms:
            term = functools.reduce(lambda a, b: apply("mul", a, b), map(self._atom, monomial), constant(coefficient))
            total = term if total is None else apply("add", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> Node:
        whole = dims.of_atom(atom)
        if not self.varies(whole):
            return length_of(whole)
        if atom.kind in dims.COMPUTED:
            value = self.of([source_of(atom)])[0]
            return apply("maximum", value, 0) if atom.kind == "size" else value
        if atom.kind == "slice":
            start, stop, _, of = atom.arguments
            step = int(atom.arguments[2])
            first, last = self.place(start, step, of), self.place(stop, step, of)
            span = apply("sub", last, first) if step > 0 else apply("sub", first, last)
            return apply("floor_div", apply("add", apply("maximum", span, 0), abs(step) - 1), abs(step))
        function = {"floordiv": "floor_div", "max": "maximum", "min": "minimum"}[atom.kind]
        return apply(function, *map(self.number, atom.arguments))

    def place(self, bound: Dim, step: int, of: Dim) -> Node:
        """A bound of a slice as a position, as Python's `slice.indices` has it."""
        place, length = self.number(bound), self.number(of)
        place = apply("where", apply("lt", place, 0), apply("add", place, length), place)
        low, high = (constant(0), length) if step > 0 else (constant(-1), apply("sub", length, 1))
        return apply("minimum", apply("maximum", place, low), high)

    def bound(self, length: Dim) -> Dim:
        """A length that does not differ, and is nowhere exceeded."""
        if length not in self.bounds:
            known = self._evident(length)
            self.bounds[length] = self._greatest(self.number(length)) if known is None else known
        return self.bounds[length]

    def _evident(self, length: Dim) -> Dim | None:
        """A bound that follows from the form of a length; None where none does."""
        if not isinstance(length, Dimension) or not self.varies(length):
            return length
        if length in self.bounds:
            return self.bounds[length]
        total: Dim = 0
        for monomial, coefficient in length.terms:
            wholes = [dims.of_atom(atom) for atom in monomial]
            if any(map(self.varies, wholes)):
                if (coefficient < 0 or len(wholes) > 1) and not all(map(dims.non_negative, wholes)):
                    return None
                if coefficient < 0:
                    continue
            bounds = [self._of_atom(atom) for atom in monomial]
            if None in bounds:
                return None
            total = total + coefficient * dims.product(tuple(b for b in bounds if b is not None))
        return total

    def _of_atom(self, atom: Atom) -> Dim | None:
        if not self.varies(dims.of_atom(atom)):
            return dims.of_atom(atom)
        if atom.kind in dims.COMPUTED:
            source = source_of(atom)
            if source.op != Elementwise("where"):
                return None
            either = [self._evident(as_integer(branch)) for branch in source.inputs[1:]]
            return None if either[0] is None or either[1] is None else dims.maximum(dims.maximum(*either), 0)  # type: ignore[arg-type]  # not None
        if atom.kind == "slice":
            return self._evident(atom.arguments[3])
        known = [n for n in map(self._evident, atom.arguments) if n is not None]
        if atom.kind == "min":
            return functools.reduce(dims.minimum, known) if known else None
        if len(known) < len(atom.arguments) or (atom.kind == "floordiv" and self.varies(atom.arguments[1])):
            return None
        return dims.floordiv(*known) if atom.kind == "floordiv" else functools.reduce(dims.maximum, known)

    def refit(self, x: Node, axis: int, count: Node, length: Dim) -> Node:
        """x with another greatest length of an axis, of which `count` elements are in use."""
        return taken(x, within(Node(Iota(length)), count), axis)

    def fitted(self, x: Node, axis: int, own: Dim, length: Dim) -> Node:
        """The same, where it has another one than `length`."""
        return x if x.static_shape[axis] == length else self.refit(x, axis, self.number(own), length)

    def filled(self, x: Node, own: Node, axes: Iterable[int], value: float) -> Node:
        """x with a value in the places that do not count."""
        for axis in axes:
            if self.varies(own.static_shape[axis]):
                place = Node(Iota(x.static_shape[axis]))
                counts = apply("lt", place, self.number(own.static_shape[axis]))
                shape = [1] * x.ndim
                shape[axis] = -1
                x = apply("where", reshape(counts, shape), x, constant(value).astype(x.dtype))
        return x

    def same(self, x: Node, left: Dim, right: Dim, reason: str) -> Node:
        """x, where two lengths are equal; else the computation fails."""
        if left is right or left == right:
            return x
        message = f"{reason}, but `{left!r}` and `{right!r}` differ in a {self.among}"
        return Node(Asserted(message), x, apply("eq", self.number(left), self.number(right)))

    def aligned(self, own: Sequence[Node], padded: Sequence[Node]) -> list[Node]:
        """Operands that broadcast, with equal greatest lengths."""
        made = list(padded)
        for axis in range(-max((x.ndim for x in own), default=0), 0):
            met = [k for k, x in enumerate(own) if x.ndim >= -axis and x.static_shape[axis] != 1]
            lengths = [own[k].static_shape[axis] for k in met]
            if not any(map(self.varies, lengths)):
                continue
            fixed = [n for n in lengths if not self.varies(n)]
            target = fixed[0] if fixed else functools.reduce(dims.minimum, [made[k].static_shape[axis] for k in met])
            for k, length in zip(met, lengths, strict=True):
                made[k] = self.fitted(made[k], axis % made[k].ndim, length, target)
                made[k] = self.same(made[k], lengths[0], length, "operands have equal lengths")
        return made


def taken(x: Node, positions: Node, axis: int) -> Node:
    """Elements along one axis."""
    places = [FULL if i != axis else Gather() for i in range(x.ndim)]
    return Node(Index(tuple(places)), x, positions)


def within(positions: Node, count: Node) -> Node:
    """Positions, with the last of `count` in place of those behind."""
    return apply("minimum", positions, apply("maximum", apply("sub", count, 1), 0))
