"""A model's variables along dimensions that got other labels, and observed ones beside data of another length.

Named variables, present lengths and draws of some of them in; the same expressions for these lengths out. What counts
elements by their place, or ties those along such a dimension together, is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from consilience.backends.shapes import Lengths
from consilience.distributions.mathematics import where
from consilience.distributions.random_variable import RandomVariable, batch_part
from consilience.distributions.shapes import broadcast
from consilience.errors import ConsilienceError, ModelError, ShapeError
from consilience.ir import (
    Dim,
    Dimension,
    Node,
    Shape,
    Shared,
    TensorType,
    TupleType,
    rebuild,
    symbol,
    tensor_input,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.model.variables import ModelVariables
from consilience.ops.assertion import Require
from consilience.ops.elementwise import Cast, Elementwise
from consilience.ops.index import FULL, Gather, Index, NewAxis
from consilience.ops.linalg import MatMul
from consilience.ops.reduce import Reduce, Softmax
from consilience.ops.shape import BroadcastTo, Concatenate, ExpandDims, Squeeze, Transpose
from consilience.record import Record, replace

Array = npt.NDArray[Any]

# They work element by element along every axis that they keep, whatever its length.
CARRYING = (Elementwise, Cast, ExpandDims, Squeeze, Transpose, MatMul, Concatenate, Require, BroadcastTo)


class Partly(Record):
    """Which elements of a variable have draws.

    `there`: in the shape of the variable. `axes`: those along which some have none.
    """

    there: Array
    axes: tuple[int, ...]


class Extended(Record):
    """Expressions for other lengths.

    `outputs`: what was asked for. `leaves`: inputs for the draws of each given variable. `there`: inputs that tell
    which elements of the others have draws, by name. `lengths`: of all symbols.
    """

    outputs: list[Node]
    leaves: list[Node]
    there: dict[str, Node]
    lengths: Lengths


def extended(
    model: ModelVariables,
    outputs: Sequence[Node],
    lengths: Lengths,
    given: Sequence[str],
    partly: Mapping[str, Partly],
) -> Extended:
    """The outputs, with leaves for the given variables."""
    return _Extension(model, lengths, given, partly).of(outputs)


class _Extension:
    def __init__(
        self, model: ModelVariables, lengths: Lengths, given: Sequence[str], partly: Mapping[str, Partly]
    ) -> None:
        self.model, self.given, self.partly = model, given, partly
        self.resized = model.coordinates.moved()
        self.symbols: dict[str, Dim] = {}
        self.lengths: Lengths = {**lengths}
        for dim in self.resized:
            own = model.coordinates.length(dim)
            self.symbols[dim] = symbol(dim) if isinstance(own, int) else own
            for atom in dims.atoms(self.symbols[dim]):
                self.lengths.setdefault(atom, model.coordinates.current_length(dim))
        self.dim_of: dict[Dim, str] = {own: dim for dim, own in self.symbols.items()}
        self.names = {node: name for name, node in model.named.items()}
        self.observed = {v.node for v in model.observed}
        self.made: dict[Node, Node] = {}
        self.there: dict[str, Node] = {}

    def of(self, outputs: Sequence[Node]) -> Extended:
        leaves = {}
        for name in self.given:
            node = self.model.named[name]
            leaves[name] = tensor_input(node.dtype, self.shape(name, node.static_shape), name)
            if name in self.partly:
                self.there[name] = tensor_input("bool", leaves[name].static_shape, f"there {name}")
            else:
                self.made[node] = leaves[name]
        # What the draws lack is drawn given the others, so that a variable waits for its parents.
        for node in topological(outputs, stop=self.made.__contains__):
            if node not in self.made:
                self.made[node] = self._in_place_of(node, leaves)
        return Extended([self.made[n] for n in outputs], list(leaves.values()), self.there, self.lengths)

    def shape(self, name: str, own: Shape) -> Shape:
        """The shape of a variable with the symbols of its dimensions that have other labels."""
        axes = self.model.dims_of.get(name, (None,) * len(own))
        return tuple(
            self.symbols[dim] if dim in self.symbols and isinstance(length, int) else length
            for dim, length in zip(axes, own, strict=True)
        )

    def _in_place_of(self, node: Node, leaves: Mapping[str, Node]) -> Node:
        inputs = tuple(self.made[operand] for operand in node.inputs)
        name = self.names.get(node)
        random = isinstance(node.op, RandomVariable)
        if name is None or not random:
            return node if inputs == node.inputs else self._carried(node, inputs)
        assert isinstance(node.op, RandomVariable)
        shape = self.shape(name, node.static_shape)
        if node in self.observed:
            shape = self._beside_parameters(name, node.op, inputs, shape)
        if name in self.partly:
            drawn = self._resized(name, node, inputs, shape, self.partly[name].axes)
            return where(self.there[name], leaves[name], drawn)
        moved = [axis for axis, (a, b) in enumerate(zip(shape, node.static_shape, strict=True)) if a != b]
        if moved:
            return self._resized(name, node, inputs, shape, moved)
        return node if inputs == node.inputs else self._carried(node, inputs)

    def _resized(self, name: str, node: Node, inputs: tuple[Node, ...], shape: Shape, moved: Iterable[int]) -> Node:
        """A random variable of another shape, of which elements along the axes `moved` are drawn."""
        op = node.op
        assert isinstance(op, RandomVariable)
        tied = [axis for axis in moved if axis >= len(shape) - op.bind(inputs).event_rank]
        if tied:
            dim = self.model.dims_of.get(name, (None,) * len(shape))[tied[0]]
            raise ModelError(
                f"`{name}` ({op!r}) is one event along `{dim}`: its elements sum to a number, follow each other or are "
                f"correlated, so values for new labels are no draws of their own beside the known ones. Keep the "
                f"labels of `{dim}`, or give it elements that are independent given their parameters."
            )
        if not op.bind(inputs).can_draw():
            raise ModelError(f"`{name}` cannot be drawn for new labels: {op!r} is improper or has no random generator.")
        made = Node(replace(op, shape=shape), *inputs)
        self._check_places(made, node)
        return made

    def _beside_parameters(self, name: str, op: RandomVariable, inputs: tuple[Node, ...], shape: Shape) -> Shape:
        """The shape of an observed variable, as long as its parameters where these have another length by now."""
        bound = op.bind(inputs)
        wanted = broadcast(bound.batch_shapes(), f"`{name}`")
        own = batch_part(shape, bound)
        found = list(shape)
        axes = self.model.dims_of.get(name, (None,) * len(shape))
        for place in range(-min(len(wanted), len(own)), 0):
            axis, length = len(own) + place, wanted[place]
            if isinstance(length, int) or not _differ(length, own[axis], self.lengths):
                continue
            if axes[axis] is not None:
                raise ShapeError(
                    f"`{name}` has length {dims.substitute(own[axis], self.lengths)!r} along `{axes[axis]}`, but its "
                    f"parameters have {dims.substitute(length, self.lengths)!r}; set all data along it, with its "
                    f"labels: `pm.set_data(…, coords={{{axes[axis]!r}: …}})`."
                )
            found[axis] = length
        return tuple(found)

    def _carried(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """An expression of variables that have other lengths now."""
        op = node.op
        for before, after in zip(node.inputs, inputs, strict=True):
            moved = self._moved(before, after)
            if not moved:
                continue
            if isinstance(op, Index) and before is node.inputs[0]:
                self._check_index(node, op, moved)
            elif isinstance(op, Reduce | Softmax):
                over = [moved[axis] for axis in op.axes if axis in moved]
                if any(self.resized[dim] != self.model.coordinates.current_length(dim) for dim in over):
                    self._refuse(node, over[0], "it takes all elements together, as a sum or a mean")
            elif isinstance(op, Concatenate) and op.axis in moved:
                self._refuse(node, moved[op.axis], "it joins other elements to them")
            elif not isinstance(op, (*CARRYING, Index, RandomVariable)):
                self._refuse(node, next(iter(moved.values())), f"`{op!r}` is not known to work element by element")
            if isinstance(op, BroadcastTo):
                lead = len(op.shape) - after.ndim
                shape = tuple(
                    after.static_shape[axis - lead] if axis - lead in moved else length
                    for axis, length in enumerate(op.shape)
                )
                op = replace(op, shape=shape)
        try:
            made = rebuild(node, inputs) if op is node.op else Node(op, *inputs)
        except ConsilienceError as error:
            raise ShapeError(f"{self._where(node)} has no value for the present data and labels: {error}") from None
        self._check_places(made, node)
        return made

    def _moved(self, before: Node, after: Node) -> dict[int, str]:
        """Axes along dimensions that have other labels."""
        moved: dict[int, str] = {}
        for one, other in zip(_types(before), _types(after), strict=True):
            if len(one.shape) == len(other.shape):
                pairs = enumerate(zip(one.shape, other.shape, strict=True))
                moved |= {
                    axis: self.dim_of[b]
                    for axis, (a, b) in pairs
                    if isinstance(b, Dimension) and a != b and b in self.dim_of
                }
        return moved

    def _check_index(self, node: Node, op: Index, moved: Mapping[int, str]) -> None:
        arrays = iter(node.inputs[1:])
        axis = 0
        for entry in op.specification:
            if isinstance(entry, NewAxis):
                continue
            array = next(arrays) if isinstance(entry, Gather) else None
            data = array is not None and any(isinstance(n.op, Shared) for n in topological([array]))
            if axis in moved and entry != FULL and not data:
                fixed = not isinstance(entry, Gather) and getattr(entry, "position", -1) < 0
                if fixed or not self.model.coordinates.keeps_places(moved[axis]):
                    self._refuse(node, moved[axis], "it takes elements by place; make the index `pm.Data`")
            axis += 1

    def _check_places(self, made: Node, before: Node) -> None:
        """Refuse numbers that stand beside elements of a dimension that has other labels."""
        for pair in made.op.shape_constraints(*made.inputs) if self.resized else ():
            for one, other in ((pair.left, pair.right), (pair.right, pair.left)):
                dim = self.dim_of.get(one)
                if dim is None or not isinstance(other, int):
                    continue
                if not self.model.coordinates.keeps_places(dim) or _differ(one, other, self.lengths):
                    raise ShapeError(
                        f"{self._where(before)} has {other} elements along `{dim}`, one for each label at its "
                        f"declaration, and `{dim}` has other labels now. Give variables `dims={dim!r}`, and make "
                        f"numbers data: `pm.Data(…, dims={dim!r})`."
                    )

    def _where(self, node: Node) -> str:
        """The named variable in which an expression stands."""
        for name, candidate in self.model.named.items():
            if node in set(topological([candidate])):
                return f"`{name}`"
        return describe(node)

    def _refuse(self, node: Node, dim: str, why: str) -> None:
        raise ModelError(f"{self._where(node)} cannot be computed for other labels of `{dim}`: {why}.")


def _types(node: Node) -> tuple[TensorType, ...]:
    """Of an op with several results, such as a loop, all of them."""
    return node.type.items if isinstance(node.type, TupleType) else (node.tensor_type,)


def _differ(one: Dim, other: Dim, lengths: Lengths) -> bool:
    a, b = dims.substitute(one, lengths), dims.substitute(other, lengths)
    return isinstance(a, int) and isinstance(b, int) and a != b


def check_fit(model: ModelVariables, lengths: Lengths) -> None:
    """Raise ShapeError where labels or data have other lengths than the variables that a density needs."""
    moved = model.coordinates.moved()
    for name, axes in model.dims_of.items() if moved else ():
        for dim, length in zip(axes, model.named[name].static_shape, strict=True):
            now = None if dim not in moved else model.coordinates.current_length(dim)
            if isinstance(length, int) and now not in (None, length):
                raise ShapeError(
                    f"the dimension `{dim}` has {now} labels, but `{name}` was declared with {length}. Predictions "
                    "extend it; a fit needs a model of its own."
                )
    for variable in model.observed:
        op = variable.node.op
        assert isinstance(op, RandomVariable)
        bound = op.bind(variable.node.inputs)
        own, wanted = batch_part(op.shape, bound), broadcast(bound.batch_shapes(), f"`{variable.name}`")
        for length, other in zip(reversed(wanted), reversed(own), strict=False):
            if not isinstance(length, int) and _differ(length, other, lengths):
                raise ShapeError(
                    f"`{variable.name}` is observed at {dims.substitute(other, lengths)!r} places, but its parameters "
                    f"have {dims.substitute(length, lengths)!r} by the present data (`{length!r}`). Set its data, too: "
                    f"`observed=pm.Data(…)`. Only predictions need none: `pm.sample_posterior_predictive`."
                )
