"""Independent parts joined along an axis, and parts of which some are parameters of others."""

from __future__ import annotations

from collections.abc import Mapping

from consilience.distributions.random_variable import random_variables
from consilience.distributions.shapes import broadcast, spread
from consilience.ir import Node, substitute, tensor_input
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.logprob.derivation import derive, is_measurable, parents_among, rule, share_elements, together
from consilience.logprob.gaussian import linear_map
from consilience.logprob.measure import EVERYWHERE, Ends, Measure, refusal
from consilience.logprob.rearrangement import all_elements
from consilience.logprob.variables import Dirac
from consilience.ops.elementwise import as_tensor, cast, promote
from consilience.ops.index import getitem
from consilience.ops.reduce import reduce
from consilience.ops.shape import Concatenate, broadcast_to, concatenate, expand_dims, reshape
from consilience.transforms.vectorize import vectorize


class Joined(Measure):
    """Parts along an axis, each given those that it depends on."""

    def __init__(self, node: Node, parts: list[Measure]) -> None:
        assert isinstance(node.op, Concatenate)
        self.axis = node.op.axis - node.ndim
        self.parts = parts
        axes = {axis for part in parts for axis in part.event_axes}
        sources = together(node, [part.sources for part in parts])
        self.related = bool(parents_among(sources))
        super().__init__(
            node,
            sources,
            discrete=all(part.discrete for part in parts),
            atomic=any(part.atomic for part in parts),
            event_axes=tuple(sorted(axes)),
            ends=_common_ends(parts),
        )

    def _values(self, value: Node) -> list[Node]:
        full = broadcast_to(value, broadcast([self.shape, value.static_shape], "a value"))
        lead, start, found = full.ndim + self.axis, 0, []
        for part in self.parts:
            stop = start + int(part.shape[self.axis])
            found.append(getitem(full, (*[slice(None)] * lead, slice(start, stop))))
            start = stop
        return found

    def logp(self, value: Node) -> Node:
        if self.related and value.ndim > len(self.shape):
            return self._of_batch(value)
        values = self._values(value)
        results = []
        for part, own in zip(self.parts, values, strict=True):
            density = part.logp(own)
            rest = tuple(axis for axis in self.event_axes if axis not in part.event_axes)
            if rest:  # axes as they are counted without those of the part's own event
                places = [sum(1 for own_axis in part.event_axes if own_axis > axis) + axis for axis in rest]
                density = reduce("sum", density, places)
            results.append(density)
        if self.related:
            results = self._conditioned(results, values)
        if self.axis in self.event_axes:
            total = results[0]
            for result in results[1:]:
                total = total + result
            return total
        return self._joined(results)

    def _of_batch(self, value: Node) -> Node:
        """One value after the other, since each gives the parameters of parts."""
        full = broadcast_to(value, broadcast([self.shape, value.static_shape], "a value"))
        lead = full.static_shape[: full.ndim - len(self.shape)]
        one = tensor_input(full.dtype, full.static_shape[len(lead) :])
        (many,) = vectorize([self.logp(one)], {one: reshape(full, (product(lead), *one.static_shape))})
        return reshape(many, (*lead, *many.static_shape[1:]))

    def _conditioned(self, results: list[Node], values: list[Node]) -> list[Node]:
        known: dict[Node, Node] = {}
        for node, part, own in zip(self.node.inputs, self.parts, values, strict=True):
            known[node] = cast(own, node.dtype)
            for rv, at in part.origins(own).items():
                known.setdefault(rv, cast(at, rv.dtype))
        conditioned = substitute(results, known)
        left = [rv for rv in random_variables(conditioned) if rv in self.sources]
        if left:
            raise refusal(
                self.node,
                f"a part depends on {describe(left[0])}, which is no part itself",
                "give its value with `conditional_logp`",
            )
        return conditioned

    def origins(self, value: Node) -> Mapping[Node, Node]:
        pairs = zip(self.parts, self._values(value), strict=True)
        return {rv: at for part, own in pairs for rv, at in part.origins(own).items()}

    def continues(self) -> bool:
        return self.axis == -len(self.shape) and self.parts[-1].continues()

    def continued(self, past: Node, later: Measure, periods: int) -> Node:
        assert isinstance(later, Joined)
        values = self._values(past)
        made = self.parts[-1].continued(values[-1], later.parts[-1], periods)
        known: dict[Node, Node] = {}
        for parts, nodes in ((self.parts, self.node.inputs), (later.parts, later.node.inputs)):
            for node, part, own in zip(nodes[:-1], parts[:-1], values[:-1], strict=True):
                known[node] = cast(own, node.dtype)
                known |= {rv: cast(at, rv.dtype) for rv, at in part.origins(own).items()}
        return substitute([made], known)[0]

    def _joined(self, results: list[Node]) -> Node:
        axis = self.axis + sum(1 for event_axis in self.event_axes if event_axis > self.axis)
        rank = max(result.ndim for result in results)
        return concatenate([expand_dims(r, tuple(range(rank - r.ndim))) for r in promote(results)[0]], rank + axis)

    def _tails(self, value: Node, formula: str) -> Node:
        if self.related or self.event_axes:
            self.missing(formula)
        found = zip(self.parts, self._values(value), strict=True)
        return self._joined([getattr(part, formula)(own) for part, own in found])

    def logcdf(self, value: Node) -> Node:
        return self._tails(value, "logcdf")

    def logccdf(self, value: Node) -> Node:
        return self._tails(value, "logccdf")

    def quantile(self, q: Node) -> Node:
        return self._tails(q, "quantile")

    def snapped(self, value: Node, error: Node) -> Node:
        values, errors = self._values(value), self._values(error)
        parts = zip(self.parts, values, errors, strict=True)
        moved = [part.snapped(own, error_of_own) for part, own, error_of_own in parts]
        changed = any(after is not before for before, after in zip(values, moved, strict=True))
        return concatenate(moved, values[0].ndim + self.axis) if changed else value

    def atoms(self, value: Node) -> Node | None:
        if self.discrete:
            return super().atoms(value)
        values = self._values(value)
        found = [part.has_mass(own) for part, own in zip(self.parts, values, strict=True)]
        if all(atoms is None for atoms in found):
            return None
        full = [
            spread(as_tensor(False if atoms is None else atoms), own.static_shape)
            for atoms, own in zip(found, values, strict=True)
        ]
        return concatenate(full, full[0].ndim + self.axis)


def _common_ends(parts: list[Measure]) -> Ends:
    """Ends that all parts have; else none."""
    first = parts[0].ends
    return first if all(part.ends == first for part in parts) else EVERYWHERE


@rule(Concatenate)
def joined(node: Node) -> Measure | None:
    """Random parts, and parts that are not."""
    assert isinstance(node.op, Concatenate)
    if not all(isinstance(operand.static_shape[node.op.axis], int) for operand in node.inputs):
        raise refusal(node, "the length of a part along the axis is not known", "give the parts a known length")
    moved = all_elements(node)
    if moved is not None:
        return moved
    parts = [derive(o) if is_measurable(o) else Dirac(o) for o in node.inputs]
    of_normal = linear_map(node) if share_elements([part.sources for part in parts]) else None
    return Joined(node, parts) if of_normal is None else of_normal
