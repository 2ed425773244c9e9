"""Where the second derivatives of a model's log density can have entries, from its graph alone.

A density in; pairs of unconstrained coordinates that act together, and coordinates that act together with too many
others, out. No derivative is taken: sets of coordinates are carried from node to node, and every operation that is not
linear adds the pairs of the sets that meet in it (Walther, 2008, "Computing sparse Hessians with automatic
differentiation", ACM TOMS 34(1)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.analysis.coordinate_sets import MOST_ENTRIES, Integers, Pairs, Sets, Table
from consilience.analysis.separability import kept_axes
from consilience.backends.reference import evaluate, numpy_index
from consilience.errors import MissingRuleError
from consilience.ir import COMPLEXES, FLOATS, Node, TensorType, TupleType, computed_atoms, substitute, topological
from consilience.ir.leaves import is_leaf
from consilience.ir.lengths import source_of
from consilience.lower.specialise import specialise
from consilience.ops.assertion import Assume, Require
from consilience.ops.call import FunctionCall
from consilience.ops.control import Cond, Item
from consilience.ops.elementwise import AlteredGradient, Cast, Elementwise, StopGradient
from consilience.ops.index import Index, IndexUpdate
from consilience.ops.linalg import MatMul
from consilience.ops.loop import Scan, fresh, parts
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import Cumulative
from consilience.ops.scalar import TABLE
from consilience.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct
from consilience.record import Record
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import vectorize

if TYPE_CHECKING:
    from scipy import sparse

Array: TypeAlias = npt.NDArray[Any]
MOST_STEPS: Final = 6  # of a loop, after which the sets of what it carries should stay
MOST_SUMS: Final = 32  # long sums that enter functions


class CurvaturePattern(Record, eq=False):
    """Where the symmetric matrix of a log density's second derivatives can have entries.

    `shared`: int64[k], sorted: coordinates that act together with too many others, such as hyperparameters and common
    coefficients; their rows and columns may be full. `pairs`: scipy.sparse.csr_matrix, bool (dimension, dimension),
    symmetric with a full diagonal: of the other coordinates; rows and columns of shared ones hold their diagonal only.
    `sums`: scipy.sparse.csr_matrix, float64 (m, dimension): vectors a of which the matrix also has multiples of a a',
    from functions of one long sum, such as the sum of an intrinsic field; 0 in shared coordinates.
    """

    shared: Integers
    pairs: sparse.csr_matrix
    sums: sparse.csr_matrix


class WrittenDensity(Protocol):
    """A log density as a graph."""

    dimension: int

    def program(self) -> tuple[list[Node], list[Node], dict[Node, Array]]:
        """Inputs, of which the position is the first; the log density and its gradient; data."""


def curvature_pattern(density: WrittenDensity, most: int = 64) -> CurvaturePattern | None:
    """The pattern for the present data; None where over half of the coordinates act together with too many others.

    Entries may be in the pattern that are zero; none that is not zero is missing. Derivatives across a jump or a kink
    count as zero but for those of `abs`, `minimum` and `maximum`.

    `most`: others that a coordinate may act together with before it is set aside as shared.
    """
    inputs, outputs, data = density.program()
    position, logp = inputs[0], outputs[:1]
    sources = {atom: source_of(atom) for atom in computed_atoms(logp)}
    if position in topological(sources.values()):  # lengths change with the position
        return None
    lengths = {atom: int(evaluate([source], data)[0]) for atom, source in sources.items()}
    found = Pairs(density.dimension, most)
    _Propagation(found, position, data).run(specialise(logp, lengths)[0])
    shared, pairs, sums = found.matrices()
    return None if 2 * len(shared) > density.dimension else CurvaturePattern(shared, pairs, sums)


def pattern_of(output: Node, position: Node, most: int = 64) -> CurvaturePattern | None:
    """The same for any scalar function of one vector; None, too, where lengths or places are no constants."""
    (dimension,) = position.static_shape
    order = topological([output])
    if not isinstance(dimension, int) or not all(
        all(isinstance(n, int) for n in node.static_shape) for node in order if isinstance(node.type, TensorType)
    ):
        return None
    found = Pairs(dimension, most)
    _Propagation(found, position, {}).run([output])
    shared, pairs, sums = found.matrices()
    return None if 2 * len(shared) > dimension else CurvaturePattern(shared, pairs, sums)


# What is known of a node: nothing of it changes; its value changes but no derivative passes; sets. Tuples: of members.
KNOWN: Final = "known"
MOVED: Final = "moved"
State: TypeAlias = Any
Applied: TypeAlias = Any  # a node, whose op is of the class that the table of rules says


class _Propagation:
    """Sets of the values of a graph, from its leaves to its outputs.

    `pairs`: takes what acts together. `position`: the leaf whose elements are the coordinates. `data`: values of other
    leaves.
    """

    def __init__(self, pairs: Pairs, position: Node, data: Mapping[Node, Array]) -> None:
        self.pairs, self.position, self.data = pairs, position, data
        count = np.arange(pairs.dimension + 1)
        self.states: dict[Node, State] = dict.fromkeys(data, KNOWN)
        self.states[position] = Sets(count[:-1], pairs.table_of(count[:-1], count), True)
        self._values: dict[Node, Array] = {}

    def run(self, outputs: Sequence[Node]) -> list[State]:
        """The states of nodes, with those of all that they are made of."""
        states = self.states
        for node in topological(outputs, stop=states.__contains__):
            if node not in states:
                states[node] = self._state(node, [states[operand] for operand in node.inputs])
        return [states[output] for output in outputs]

    def _state(self, node: Node, inputs: list[State]) -> State:
        if is_leaf(node):
            return MOVED
        if all(state is KNOWN for state in inputs):
            return KNOWN
        if isinstance(node.op, Item):
            return inputs[0] if isinstance(inputs[0], str) else inputs[0][node.op.position]
        inputs = [MOVED if isinstance(s, Sets) and not self.pairs.live(s.table).nnz else s for s in inputs]
        if not any(isinstance(state, Sets) for state in inputs):
            return MOVED
        if not isinstance(node.type, TensorType):
            rule = _RULES.get(type(node.op))
            return rule(self, node, inputs) if rule is not None else self._by_axes(node, inputs)
        if node.dtype not in FLOATS and node.dtype not in COMPLEXES:
            return MOVED
        found = _RULES.get(type(node.op), _Propagation._by_axes)(self, node, inputs)
        return self.pairs.compact(found) if isinstance(found, Sets) else found

    def value(self, node: Node) -> Array:
        """The array of a known node."""
        if node not in self._values:
            (self._values[node],) = evaluate([node], self.data)
        return self._values[node]

    def _by_axes(self, node: Node, inputs: list[State]) -> State:
        """What is not looked into: all that lies along the axes that an op mixes, together unless it is linear."""
        result = node.type if isinstance(node.type, TensorType) else None
        batch = node.static_shape if result else (1,) * max((a + 1 for k in kept_axes(node) for a in k), default=0)
        parts: list[Sets] = []
        at: set[int] = set()
        for place, (sets, kept) in enumerate(zip(inputs, kept_axes(node), strict=True)):
            if isinstance(sets, Sets):
                at.add(place)
                left = self.pairs.over(sets, [a for a in range(sets.ids.ndim) if a not in kept.values()])
                order = sorted(kept.values())
                ids = np.transpose(left.ids, [order.index(kept[axis]) for axis in sorted(kept)])
                apart = tuple(axis for axis in range(len(batch)) if axis not in kept)
                parts.append(Sets(np.expand_dims(ids, apart), left.table, sets.linear))
        picked = at <= {*node.op.picks_of(len(inputs))}
        linear = any(at <= {*group} for group in node.op.linear_in(len(inputs)))
        known = linear and all(state is KNOWN for i, state in enumerate(inputs) if i not in at)
        found = self.pairs.union(parts, known and all(part.linear for part in parts))
        if not (linear or picked):
            self.pairs.curved(found)
        shapes: list[Any] = [item.shape for item in node.type.items] if isinstance(node.type, TupleType) else [batch]
        each = [
            Sets(
                np.broadcast_to(found.ids.reshape(found.ids.shape + (1,) * (len(shape) - found.ids.ndim)), shape),
                found.table,
                found.linear,
            )
            for shape in shapes
        ]
        return each[0] if result else each

    # Element by element.

    def _elementwise(self, node: Applied, inputs: list[State]) -> State:
        function = node.op.function
        if TABLE[function].flat:  # derivatives are 0 where they exist
            return MOVED
        pairs = self.pairs
        at = [i for i, state in enumerate(inputs) if isinstance(state, Sets) and (i or function != "where")]
        if not at:
            return MOVED
        parts = [inputs[i] for i in at]
        rest = all(state is KNOWN for i, state in enumerate(inputs) if i not in at)
        if function == "where" and inputs[0] is KNOWN:
            chosen = self.value(node.inputs[0])
            parts = [_masked(p, chosen if i == 1 else ~chosen) for i, p in zip(at, parts, strict=True)]
        if function != "mul" and any({*at} <= {*group} for group in node.op.linear_in(len(inputs))):
            result = pairs.union(parts, rest and all(p.linear for p in parts))
        elif function == "mul" and len({node.inputs[i] for i in at}) == len(at):
            for i, state in enumerate(inputs):
                if state is KNOWN:
                    parts[0] = _masked(parts[0], self.value(node.inputs[i]) != 0)
            for i, part in enumerate(parts):
                for other in parts[:i]:
                    pairs.product(other, part)
            result = pairs.union(parts, rest and len(parts) == 1 and parts[0].linear)
        elif function == "true_div" and len(at) == 2:
            pairs.product(*parts)
            pairs.curved(parts[1])
            result = pairs.union(parts, False)
        else:
            result = pairs.union(parts, False)
            same = len({node.inputs[i] for i in at}) == 1
            pairs.curved(self._without_sums(node.inputs[at[0]], parts[0]) if same else result)
        return Sets(np.broadcast_to(result.ids, node.static_shape), result.table, result.linear)

    def _without_sums(self, node: Node, sets: Sets) -> Sets:
        """What enters a function, without its few elements that are linear in very many coordinates.

        The second derivatives of these are a number times a a' for the vector a of their coefficients.
        """
        if not sets.linear:
            return sets
        long = self.pairs.sizes(sets) > self.pairs.most + 1
        if not 0 < np.count_nonzero(long) <= MOST_SUMS - len(self.pairs.sums):
            return sets
        for place in np.argwhere(long):
            element = node[tuple(int(i) for i in place)] if node.ndim else node
            (slope,) = gradient(element, [self.position])
            (vector,) = evaluate([slope], {**self.data, self.position: np.zeros(self.pairs.dimension)})
            self.pairs.sums[vector.tobytes()] = vector
        return Sets(np.where(long, -1, sets.ids), sets.table)

    def _itself(self, node: Applied, inputs: list[State]) -> State:
        return MOVED if inputs[0] is KNOWN else inputs[0]

    def _altered(self, node: Applied, inputs: list[State]) -> State:
        return Sets(inputs[0].ids, inputs[0].table)

    # Arrangement.

    def _arranged(self, node: Applied, inputs: list[State]) -> State:
        sets, op = inputs[0], node.op
        match op:
            case Transpose():
                ids = np.transpose(sets.ids, op.axes)
            case BroadcastTo():
                ids = np.broadcast_to(sets.ids, node.static_shape)
            case _:
                ids = sets.ids.reshape(node.static_shape)
        return Sets(ids, sets.table, sets.linear)

    def _concatenated(self, node: Applied, inputs: list[State]) -> State:
        ids, table, linear = self._joined(node.inputs, inputs)
        return Sets(np.concatenate(ids, node.op.axis), table, linear)

    def _joined(self, nodes: Sequence[Applied], states: Sequence[State]) -> tuple[list[Integers], Table, bool]:
        """The ids of values in one table, and whether all are linear."""
        parts = [s for s in states if isinstance(s, Sets)]
        ids, table = self.pairs.joined(parts)
        found = iter(ids)
        every = [
            next(found) if isinstance(s, Sets) else np.broadcast_to(np.int64(-1), n.static_shape)
            for n, s in zip(nodes, states, strict=True)
        ]
        return every, table, all(p.linear for p in parts)

    def _place(self, node: Applied, first: int, inputs: list[State]) -> Any:
        """What NumPy indexes with; None where the places are not known."""
        if any(state is not KNOWN for state in inputs[first:]):
            return None
        return numpy_index(node.op.specification, [self.value(n) for n in node.inputs[first:]], {})

    def _indexed(self, node: Applied, inputs: list[State]) -> State:
        sets, place = inputs[0], self._place(node, 1, inputs)
        if not isinstance(sets, Sets):
            return MOVED
        if place is None:
            return self.pairs.whole([sets], node.static_shape)
        return Sets(np.asarray(sets.ids[place]), sets.table, sets.linear)

    def _updated(self, node: Applied, inputs: list[State]) -> State:
        place = self._place(node, 2, inputs)
        parts = [s for s in inputs[:2] if isinstance(s, Sets)]
        if place is None:
            return self.pairs.whole(parts, node.static_shape)
        (own, values), table, linear = self._joined(node.inputs[:2], inputs[:2])
        if node.op.mode == "set":
            ids = own.copy()
            ids[place] = values
            return Sets(ids, table, linear)
        numbers = np.arange(own.size).reshape(own.shape)
        flat = np.concatenate([own.ravel(), values.ravel()])
        places = np.concatenate([numbers.ravel(), np.broadcast_to(numbers[place], values.shape).ravel()])
        return self._spread(flat, places, table, own.shape, linear)

    def _spread(self, ids: Integers, places: Integers, table: Table, shape: tuple[int, ...], linear: bool) -> Sets:
        """The value whose element `places[i]` takes in the set `ids[i]`."""
        found = self.pairs.combined(Sets(ids, table), np.arange(len(ids)), places, shape)
        return Sets(found.ids, found.table, linear)

    # Sums.

    def _along(self, sets: Sets, axes: Sequence[int]) -> Sets:
        """Every element with all along the axes."""
        found = self.pairs.over(sets, axes)
        return Sets(np.broadcast_to(np.expand_dims(found.ids, tuple(axes)), sets.ids.shape), found.table)

    def _cumulated(self, node: Applied, inputs: list[State]) -> State:
        sets, op = inputs[0], node.op
        shape = sets.ids.shape
        length = shape[op.axis]
        if sets.ids.size * length <= MOST_ENTRIES:
            numbers = np.moveaxis(np.arange(sets.ids.size).reshape(shape), op.axis, -1).reshape(-1, length)
            later, earlier = np.tril_indices(length)
            if op.reverse:
                later, earlier = earlier, later
            found = self.pairs.combined(sets, numbers[:, earlier].ravel(), numbers[:, later].ravel(), shape)
        else:
            found = self._along(sets, (op.axis,))
        if op.kind == "prod":
            self.pairs.curved(found)
        return Sets(found.ids, found.table, op.kind == "sum" and sets.linear)

    # Products of matrices.

    def _matmul(self, node: Applied, inputs: list[State]) -> State:
        pairs = self.pairs
        a, b = inputs
        if not (isinstance(a, Sets) and isinstance(b, Sets)):
            return self._multiplied(node, a if isinstance(a, Sets) else b, isinstance(b, Sets))
        left = a.ids[None] if a.ids.ndim == 1 else a.ids
        right = b.ids[:, None] if b.ids.ndim == 1 else b.ids
        rows, columns = Sets(left, a.table), Sets(right, b.table)
        n, m = left.ndim, right.ndim
        pairs.product(pairs.over(rows, (n - 2,)), pairs.over(columns, (m - 1,)))
        across, down = pairs.over(rows, (n - 1,)), pairs.over(columns, (m - 2,))
        parts = [Sets(across.ids[..., None], across.table), Sets(down.ids[..., None, :], down.table)]
        found = pairs.union(parts, False)
        return Sets(found.ids.reshape(node.static_shape), found.table)

    def _multiplied(self, node: Applied, sets: Sets, right: bool) -> Sets:
        """A product with a matrix that does not depend on the coordinates."""
        other = node.inputs[1 - right]
        linear = sets.linear and self.states[other] is KNOWN
        ids = sets.ids
        axis = max(ids.ndim - 2, 0) if right else ids.ndim - 1
        moved = np.moveaxis(ids, axis, 0)
        small = not other.inputs or int(np.prod(other.static_shape)) <= MOST_ENTRIES  # others would be computed anew
        if small and other.ndim <= 2 and self.states[other] is KNOWN:
            mask = self.value(other) != 0
            mask = np.atleast_2d(mask if right or mask.ndim == 1 else mask.T)
            size = int(np.prod(moved.shape[1:]))
            if not mask.all() and np.count_nonzero(mask) * size <= MOST_ENTRIES:
                rows, elements = (place[:, None] * size + np.arange(size) for place in np.nonzero(mask))
                flat = Sets(np.ascontiguousarray(moved).reshape(-1), sets.table)
                found = self.pairs.combined(flat, elements.ravel(), rows.ravel(), (len(mask), *moved.shape[1:]))
                result = found.ids[0] if other.ndim == 1 else np.moveaxis(found.ids, 0, axis)
                return Sets(result, found.table, linear)
        found = self.pairs.over(sets, (axis,))
        result = found.ids if other.ndim == 1 else np.expand_dims(found.ids, axis)
        return Sets(np.broadcast_to(result, node.static_shape), found.table, linear)

    def _sparse_product(self, node: Applied, inputs: list[State]) -> State:
        entries, columns, begins, x = inputs
        if not (columns is KNOWN and begins is KNOWN):
            return self._by_axes(node, inputs)
        sources, targets = self._lines(node.inputs[1], node.inputs[2])
        if isinstance(node.op, TransposedSparseProduct):
            sources, targets = targets, sources
        if isinstance(entries, Sets) and isinstance(x, Sets):
            other = self.pairs.over(x, (1,))
            self.pairs.product(entries, Sets(other.ids[sources], other.table))
        (own, values), table, linear = self._joined((node.inputs[0], node.inputs[3]), (entries, x))
        width = values.shape[1]
        places = (targets[:, None] * width + np.arange(width)).ravel()
        taken = [values[sources].ravel()]
        if isinstance(entries, Sets):
            taken.append(np.repeat(own, width))
        linear = linear and not isinstance(entries, Sets) and entries is KNOWN
        return self._spread(np.concatenate(taken), np.tile(places, len(taken)), table, tuple(node.static_shape), linear)

    def _sampled_product(self, node: Applied, inputs: list[State]) -> State:
        u, v, columns, begins = inputs
        if not (columns is KNOWN and begins is KNOWN):
            return self._by_axes(node, inputs)
        right, left = self._lines(node.inputs[2], node.inputs[3])
        parts = [Sets(s.ids[p], s.table) for s, p in ((u, left), (v, right)) if isinstance(s, Sets)]
        if len(parts) == 2:
            self.pairs.product(*parts)
        return self.pairs.over(self.pairs.union(parts, False), (1,))

    def _lines(self, columns: Node, begins: Node) -> tuple[Integers, Integers]:
        """Columns and rows of the entries of a sparse matrix."""
        starts = self.value(begins)
        return self.value(columns).astype(np.int64), np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    # Regions.

    def _call(self, node: Applied, inputs: list[State]) -> State:
        op = node.op
        if op.pullback is not None:
            return self._by_axes(node, inputs)
        return self.run(op.body.apply(*node.inputs))

    def _scanned(self, node: Applied, inputs: list[State]) -> State:
        """Without anything carried, all steps at once; else one step, with the sets of all steps, until they stay."""
        loop = parts(node)
        op: Any = loop.op
        results = substitute(op.body.results, dict(zip(loop.fixed, loop.constants, strict=True)))
        if op.sequences and not op.carried and not op.until:
            try:
                return [MOVED, *self.run(vectorize(results, dict(zip(loop.heads, loop.sequences, strict=True))))]
            except MissingRuleError:  # an op that has no batched form
                return self._by_axes(node, inputs)
        outside = [*loop.initial, *loop.sequences]
        states = [Sets(s.ids, s.table) if isinstance(s, Sets) else MOVED for s in inputs[1 : 1 + len(outside)]]
        states[op.carried :] = [self.pairs.over(s, (0,)) if isinstance(s, Sets) else s for s in states[op.carried :]]
        for _ in range(MOST_STEPS):
            leaves = [fresh(inside) for inside in (*loop.carries, *loop.heads)]
            self.states.update(zip(leaves, states, strict=True))
            replaced = dict(zip((*loop.carries, *loop.heads), leaves, strict=True))
            found = self.run(substitute(results, replaced))
            before = states[: op.carried]
            after = [self._either(pair) for pair in zip(before, found, strict=False)]
            states[: op.carried] = after
            if self._extents(before) == self._extents(after):
                break
        else:
            return self._by_axes(node, inputs)
        traces = [
            Sets(np.broadcast_to(s.ids, (op.length, *s.ids.shape)), s.table) if isinstance(s, Sets) else MOVED
            for s in found[op.carried : op.carried + op.traces]
        ]
        return [MOVED, *after, *traces]

    def _extents(self, states: Sequence[State]) -> list[int]:
        return [int(self.pairs.sizes(s).sum()) if isinstance(s, Sets) else 0 for s in states]

    def _either(self, states: Sequence[State]) -> State:
        """What a value depends on that is one of several."""
        sets = [s for s in states if isinstance(s, Sets)]
        return self.pairs.union(sets, False) if sets else MOVED

    def _cond(self, node: Applied, inputs: list[State]) -> State:
        both = [self.run(region.apply(*node.inputs[1:])) for region in (node.op.then, node.op.otherwise)]
        return [self._either(states) for states in zip(*both, strict=True)]


def _masked(sets: Sets, mask: Array) -> Sets:
    """The sets of elements for which the mask holds; of others there are none."""
    return sets if mask.all() else Sets(np.where(mask, sets.ids, -1), sets.table, sets.linear)


_RULES: Final[dict[type, Callable[[_Propagation, Node, list[State]], State]]] = {
    Elementwise: _Propagation._elementwise,
    **dict.fromkeys((Cast, Assume, Require, ParameterCheck, Asserted), _Propagation._itself),
    **dict.fromkeys((StopGradient, AlteredGradient), _Propagation._altered),
    **dict.fromkeys((Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo), _Propagation._arranged),
    Concatenate: _Propagation._concatenated,
    Index: _Propagation._indexed,
    IndexUpdate: _Propagation._updated,
    Cumulative: _Propagation._cumulated,
    MatMul: _Propagation._matmul,
    **dict.fromkeys((SparseProduct, TransposedSparseProduct), _Propagation._sparse_product),
    SampledProduct: _Propagation._sampled_product,
    FunctionCall: _Propagation._call,
    Cond: _Propagation._cond,
    Scan: _Propagation._scanned,
}
