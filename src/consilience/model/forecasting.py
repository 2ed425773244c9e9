"""A model beyond the times of its data: series go on from their last values, all else is computed for the whole time.

Draws of the free variables and later data in, draws of named variables at later times out. How a series goes on, its
distribution declares (`Distribution.continued`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from consilience.backends.shapes import Lengths
from consilience.distributions.densities import realised_with
from consilience.distributions.partly_observed import ObservedElements
from consilience.distributions.random_variable import RandomVariable, batch_part, distribution_of
from consilience.distributions.shapes import broadcast
from consilience.errors import ConsilienceError, ModelError
from consilience.ir import Dim, Node, Op, Shared, TensorType, constant, rebuild, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom
from consilience.ir.lengths import replaced, with_lengths
from consilience.ir.side_tables import describe, without_sources
from consilience.model.observation import slot_values
from consilience.model.predictive import compiled_draws, stream_of_draws, with_seeds
from consilience.model.programs import values_of_draws
from consilience.model.variables import FreeVariable, ModelVariables, ObservedVariable
from consilience.ops.elementwise import cast
from consilience.ops.index import At, Index, NewAxis
from consilience.ops.reduce import Reduce, Softmax
from consilience.ops.shape import BroadcastTo, concatenate, moveaxis
from consilience.record import Record, replace

Array = npt.NDArray[Any]


class Horizon(Record):
    """The times of a forecast.

    `dim`: the dimension of time, where variables have one.
    `past`: number of times with data.
    `periods`: number of times behind them.
    `symbols`: lengths of data along time, as far as they are symbolic.
    """

    dim: str | None
    past: int
    periods: int
    symbols: frozenset[Atom] = frozenset()

    def lies_along(self, length: Dim) -> bool:
        """Whether an axis of this length is one of time, as lengths of data tell."""
        return dims.as_symbol(length) in self.symbols


def time_axis(model: ModelVariables, name: str, horizon: Horizon, lengths: Lengths) -> int | None:
    """The axis of time of a named variable; None where it has none.

    It is that of the dimension of time; without one that of a series, or the first axis that is as long as the data.
    """
    node = model.named[name]
    axes = model.dims_of.get(name)
    if axes is not None and horizon.dim is not None:
        return axes.index(horizon.dim) if horizon.dim in axes else None
    shape = [dims.substitute(n, lengths) for n in node.static_shape]
    own = series_of(model).get(node)
    if own is not None:
        return axis_of(own) if shape[axis_of(own)] == horizon.past else None
    following = [axis for axis, length in enumerate(node.static_shape) if horizon.lies_along(length)]
    if following:
        return following[0]
    observed = any(v.node is node for v in model.observed)
    return shape.index(horizon.past) if observed and horizon.past in shape else None


def series_of(model: ModelVariables) -> dict[Node, Node]:
    """Named series that can go on, each with its random variable: of one with gaps that of all its elements."""
    found: dict[Node, Node] = {}
    variables: list[FreeVariable | ObservedVariable] = [*model.observed, *model.free]
    for variable in variables:
        node = rv = variable.node
        bound = distribution_of(rv)
        if isinstance(bound, ObservedElements):
            node, rv = model.named[whole_name(variable.name)], bound.of
            bound = distribution_of(rv)
        if bound.event_rank and bound.has("continued"):
            found[node] = rv
    return found


def axis_of(series: Node) -> int:
    """The axis of time of a series."""
    return series.ndim - distribution_of(series).event_rank


def whole_name(name: str) -> str:
    """The name of a variable with gaps, by that of its elements with data."""
    return name.removesuffix("_observed")


def observed_names(model: ModelVariables) -> list[str]:
    """Observed variables; of one with gaps the name of all its elements."""
    gaps = {v.name for v in model.observed if isinstance(distribution_of(v.node), ObservedElements)}
    return [whole_name(v.name) if v.name in gaps else v.name for v in model.observed]


def forecast(
    model: ModelVariables,
    names: Sequence[str],
    given: Mapping[str, Array],
    count: int,
    seed: int,
    horizon: Horizon,
    later: Mapping[str, Array],
) -> dict[str, Array]:
    """Draws of named variables at the times of a forecast, an array (count, …) for each.

    given (mapping of str to ndarray): Draws of the free variables: arrays (count, …).
    later (mapping of str to ndarray): Data for the whole time, past and future, by name.
    Raises ModelError: Where an expression has no meaning for later times.
    """
    slots, values, _, lengths = slot_values(model)
    fixed = list(given)
    with without_sources():
        leaves = {n: tensor_input(model.named[n].dtype, given[n].shape[1:], n) for n in fixed}
        whole = {model.data[n]: constant(array, model.data[n].dtype) for n, array in later.items()}
        beyond = _Beyond(model, horizon, leaves, whole, lengths)
        outputs = beyond.of(names)
        seeds, stream = stream_of_draws()
        drawn = realised_with(outputs, stream)
        compiled = compiled_draws([*seeds, *leaves.values()], drawn, slots, lengths)
    arrays = [np.ascontiguousarray(given[n], dtype=model.named[n].dtype) for n in fixed]
    results, _ = values_of_draws(compiled.bind(values), with_seeds(seed, count, arrays), count, list(names), model)
    return dict(zip(names, results, strict=True))


class _Beyond:
    """Expressions of a model for the whole time.

    `leaves`: inputs for draws of the free variables.
    `later`: data -> those of the whole time.
    """

    def __init__(
        self,
        model: ModelVariables,
        horizon: Horizon,
        leaves: Mapping[str, Node],
        later: Mapping[Node, Node],
        lengths: Lengths,
    ) -> None:
        self.model, self.horizon, self.leaves, self.lengths = model, horizon, leaves, lengths
        self.names = {node: name for name, node in model.named.items()}
        self.observed = {v.node: v for v in model.observed}
        self.series = series_of(model)
        self.with_gaps = {
            model.named[whole_name(v.name)]: v.node
            for v in model.observed
            if isinstance(distribution_of(v.node), ObservedElements)
        }
        self.lengthened: dict[Atom, Dim] = dict.fromkeys(horizon.symbols, horizon.past + horizon.periods)
        # Values of the past alone, and of the whole time.
        self.before: dict[Node, Node] = {}
        self.made: dict[Node, Node] = dict(later)

    def of(self, names: Sequence[str]) -> list[Node]:
        """The values of named variables at the times of the forecast."""
        found = []
        for name in names:
            axis = time_axis(self.model, name, self.horizon, self.lengths)
            node = self.model.named[name]
            for inner in topological([node]):
                self._make(inner)
            whole = self.made[node]
            known = self._known(whole.static_shape)
            if axis is None:
                moved = [i for i, n in enumerate(known) if n == self.horizon.past + self.horizon.periods]
                if len(moved) != 1:
                    raise ModelError(
                        f"`{name}` has no axis of time that could be told: give the variable "
                        f"`dims={self.horizon.dim or 'time'!r}`, and name it in `var_names` if it is to be forecast."
                    )
                (axis,) = moved
            found.append(moveaxis(moveaxis(whole, axis, 0)[self.horizon.past :], 0, axis))
        return found

    def _make(self, node: Node) -> None:
        if node in self.before:
            return
        name = self.names.get(node)
        if name is not None and name in self.leaves:
            self.before[node] = self.leaves[name]
        elif node in self.observed:
            self.before[node] = self.observed[node].data
        else:
            self.before[node] = rebuild(node, tuple(self.before[n] for n in node.inputs))
        if node in self.made:
            return
        inputs = tuple(self.made[n] for n in node.inputs)
        self.made[node] = self._beyond(node, name, inputs)

    def _beyond(self, node: Node, name: str | None, inputs: tuple[Node, ...]) -> Node:
        if isinstance(node.op, Shared):
            self._check_data(node, name)
            return node
        whole = self.with_gaps.get(node, node)
        if node in self.series and name is not None:
            axis = time_axis(self.model, name, self.horizon, self.lengths)
            if axis is not None:
                return self._continued(node, whole, axis)
        if name is None or not isinstance(node.op, RandomVariable):
            op = replaced(node.op, self.lengthened, lambda results: with_lengths(results, self.lengthened))
            return node if inputs == node.inputs and op is node.op else self._carried(node, op, inputs)
        if whole is not node or isinstance(distribution_of(node), ObservedElements):
            return self.before[node]
        axis = time_axis(self.model, name, self.horizon, self.lengths)
        known = self.before[node]
        if axis is None:
            if name in self.leaves:
                return self.leaves[name]
            return self._drawn(name, node, inputs, None)
        if axis >= node.ndim - distribution_of(node).event_rank:
            raise ModelError(
                f"`{name}` ({node.op!r}) is one event over all times, and no series that goes on from its last values. "
                "`pm.forecast` continues loops, autoregressions, random walks, GARCH series, state spaces, and "
                "Gaussian processes at places that are `pm.Data`; for others declare the later times as a variable of "
                "the model."
            )
        whole = self._drawn(name, node, inputs, axis)
        return _joined(known, moveaxis(moveaxis(whole, axis, 0)[self.horizon.past :], 0, axis), axis)

    def _continued(self, node: Node, rv: Node, axis: int) -> Node:
        """A series, and its values at later times."""
        key, *operands = rv.inputs
        own, then = (distribution_of(Node(rv.op, key, *(at[n] for n in operands))) for at in (self.before, self.made))
        if isinstance(own, ObservedElements) and isinstance(then, ObservedElements):
            own, then = distribution_of(own.of), distribution_of(then.of)
        known = self.before[node]
        return _joined(known, own.continued(known, then, self.horizon.periods), axis)

    def _drawn(self, name: str, node: Node, inputs: tuple[Node, ...], axis: int | None) -> Node:
        """An independent variable for the whole time."""
        op = node.op
        assert isinstance(op, RandomVariable)
        if not op.distribution.can_draw():
            raise ModelError(f"`{name}` cannot be drawn for later times: {op!r} has no random generator.")
        bound = op.bind(inputs)
        shape = list(self._known(op.shape))
        if axis is not None:
            shape[axis] = self.horizon.past + self.horizon.periods
        wanted = self._known(broadcast(bound.batch_shapes(), f"`{name}`"))
        own = batch_part(tuple(shape), bound)
        for one, other in zip(reversed(wanted), reversed(own), strict=False):
            if isinstance(one, int) and isinstance(other, int) and one not in (1, other):
                raise ModelError(
                    f"`{name}` has {other} elements in the whole time, and its parameters have {one}: make the numbers "
                    'they follow from `pm.Data`, and give the later ones, `exog={"name": values}`.'
                )
        return Node(replace(op, shape=tuple(shape)), *inputs)

    def _check_data(self, node: Node, name: str | None) -> None:
        """Refuse data along time of which the later ones are not given, unless they are what is forecast."""
        axes = self.model.dims_of.get(name, ()) if name else ()
        read = any(node in topological([v.node]) for v in self.model.variables)
        if self.horizon.dim is not None and self.horizon.dim in axes and read:
            raise ModelError(
                f"the forecast needs `{name}` for {self.horizon.periods} more times along `{self.horizon.dim}`: "
                f"`pm.forecast(…, exog={{{name!r}: values}})`."
            )

    def _carried(self, node: Node, op: Op, inputs: tuple[Node, ...]) -> Node:
        """An expression of values for the whole time; the lengths of `op` are those of the whole time."""
        for before, after in zip(node.inputs, inputs, strict=True):
            moved = self._moved(before, after)
            if not moved:
                continue
            if isinstance(op, Index) and before is node.inputs[0]:
                self._check_index(node, op, moved)
            elif isinstance(op, Reduce | Softmax) and any(axis in moved for axis in op.axes):
                self._refuse(node, "it takes all times together, as a sum or a mean")
            if isinstance(op, BroadcastTo):
                lead = len(op.shape) - after.ndim
                shape = [after.static_shape[i - lead] if i - lead in moved else n for i, n in enumerate(op.shape)]
                op = replace(op, shape=tuple(shape))
        try:
            if op is node.op:
                return rebuild(node, inputs)
            known = op.settled()
            return Node(op, *inputs) if known is None else known
        except ConsilienceError as error:
            self._refuse(node, f"{error} Make numbers along time `pm.Data`, and give the later ones in `exog`")

    def _moved(self, before: Node, after: Node) -> list[int]:
        """Axes that have another length now."""
        if not isinstance(before.type, TensorType) or before.ndim != after.ndim:
            return []
        pairs = zip(self._known(before.static_shape), self._known(after.static_shape), strict=True)
        return [axis for axis, (a, b) in enumerate(pairs) if a != b]

    def _known(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(dims.substitute(n, self.lengths) for n in shape)

    def _check_index(self, node: Node, op: Index, moved: Sequence[int]) -> None:
        entries = [entry for entry in op.specification if not isinstance(entry, NewAxis)]
        for axis, entry in enumerate(entries):
            if axis in moved and isinstance(entry, At) and entry.position < 0:
                self._refuse(node, "it takes a value by its place from the end")

    def _refuse(self, node: Node, why: str) -> NoReturn:
        where = next((f"`{n}`" for n, c in self.model.named.items() if node in set(topological([c]))), describe(node))
        raise ModelError(f"{where} cannot be computed for later times: {why}.")


def _joined(known: Node, later: Node, axis: int) -> Node:
    """Values of the past and of the times behind it."""
    return concatenate([known, cast(later, known.dtype)], axis)
