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
from consilience.distributions.random_variable import RandomVariable, batch_part, distribution_of, random_variables
from consilience.errors import ConsilienceError, ModelError, warn
from consilience.ir import Dim, Node, Op, Shared, TensorType, constant, rebuild, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom
from consilience.ir.lengths import replaced, with_lengths
from consilience.ir.side_tables import describe, without_sources
from consilience.model.missing import unparted
from consilience.model.observation import slot_values
from consilience.model.predictive import compiled_draws, stream_of_draws, with_seeds
from consilience.model.programs import values_of_draws
from consilience.model.variables import FreeVariable, ModelVariables, ObservedVariable
from consilience.ops.elementwise import apply, cast
from consilience.ops.index import At, Index, NewAxis, getitem
from consilience.ops.reduce import Reduce, Softmax, reduce
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
    observed = name in with_gaps(model) or any(v.node is node for v in model.observed)
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


def with_gaps(model: ModelVariables) -> dict[str, ObservedVariable]:
    """Variables of which some elements have no data, by the name of all elements, and those with data."""
    return {
        whole_name(v.name): v
        for v in model.observed
        if v.name.endswith("_observed") and f"{whole_name(v.name)}_unobserved" in model.named
    }


def observed_names(model: ModelVariables) -> list[str]:
    """Observed variables; of one with gaps the name of all its elements."""
    gaps = {v.name: name for name, v in with_gaps(model).items()}
    return [gaps.get(v.name, v.name) for v in model.observed]


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
        drawn = realised_with([*outputs, *beyond.kept.values()], stream)
        compiled = compiled_draws([*seeds, *leaves.values()], drawn, slots, lengths)
    arrays = [np.ascontiguousarray(given[n], dtype=model.named[n].dtype) for n in fixed]
    results, _ = values_of_draws(compiled.bind(values), with_seeds(seed, count, arrays), count, list(names), model)
    for what, held in zip(beyond.kept, results[len(names) :], strict=True):
        if not held.all():
            raise ModelError(
                f"{what} cannot be computed for later times: its values so far would change with them. Something in it "
                "depends on all times at once or on how many there are, as a reversal, a sort, a product over time, or "
                "a share of the length does. Make what the data so far tell numbers: compute them before the model, or "
                "as a `pm.Data` that has no later values."
            )
    made = dict(zip(names, results, strict=False))
    unknown = [name for name, array in made.items() if array.dtype.kind == "f" and np.isnan(array).any()]
    if unknown:
        warn(
            f"the forecast of {', '.join(f'`{name}`' for name in unknown)} has NaN: a parameter left its range, or a "
            "place lies outside the box of an HSGP (`L`, `c`)."
        )
    return made


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
        self.with_gaps = {model.named[name]: v.node for name, v in with_gaps(model).items()}
        self.lengthened: dict[Atom, Dim] = dict.fromkeys(horizon.symbols, horizon.past + horizon.periods)
        # Values of the past alone, and of the whole time.
        self.before: dict[Node, Node] = {}
        self.made: dict[Node, Node] = dict(later)
        # What is told of in messages -> whether its values so far stay the same.
        self.kept: dict[str, Node] = {}

    def of(self, names: Sequence[str]) -> list[Node]:
        """The values of named variables at the times of the forecast."""
        found = []
        for name in names:
            axis = time_axis(self.model, name, self.horizon, self.lengths)
            node = self.model.named[name]
            for inner in topological([node]):
                self._make(inner)
            whole = self.made[node]
            self._keep(f"`{name}`", [self.before[node]], [whole])
            known = self._known(whole.static_shape)
            if axis is None:
                moved = [i for i, n in enumerate(known) if n == self.horizon.past + self.horizon.periods]
                if len(moved) != 1:
                    raise ModelError(
                        f"`{name}` has no axis of time that could be told: give the variable "
                        f"`dims={self.horizon.dim or 'time'!r}`, and name it in `var_names` if it is to be forecast."
                    )
                (axis,) = moved
            elif known[axis] != self.horizon.past + self.horizon.periods:
                raise ModelError(
                    f"`{name}` has {known[axis]} times where the forecast has {self.horizon.past} and "
                    f"{self.horizon.periods} more: make the numbers along time that it follows from `pm.Data`, all of "
                    "them with as many times, and give the later ones in `exog`."
                )
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
        if whole is not node:
            return self._with_gaps(str(name), node, whole)
        if name is None or not isinstance(node.op, RandomVariable):
            op = self._longer(node.op)
            return node if inputs == node.inputs and op is node.op else self._carried(node, op, inputs)
        if node in self.with_gaps.values():
            return self.before[node]
        axis = time_axis(self.model, name, self.horizon, self.lengths)
        known = self.before[node]
        if axis is None:
            if name in self.leaves or node in self.observed:
                return known
            return self._drawn(name, node, inputs, None)
        if axis >= node.ndim - distribution_of(node).event_rank:
            raise ModelError(
                f"`{name}` ({node.op!r}) is one event over all times, and no series that goes on from its last values. "
                "`pm.forecast` continues loops, autoregressions, random walks, GARCH series, state spaces, and "
                "Gaussian processes at places that are `pm.Data`; for others declare the later times as a variable of "
                "the model."
            )
        return self._later(known, self._drawn(name, node, inputs, axis), axis)

    def _later(self, known: Node, whole: Node, axis: int) -> Node:
        """Values of the past, and those behind it of a variable for the whole time."""
        return _joined(known, moveaxis(moveaxis(whole, axis, 0)[self.horizon.past :], 0, axis), axis)

    def _with_gaps(self, name: str, node: Node, there: Node) -> Node:
        """A variable of independent elements, some of which have no data."""
        axis = time_axis(self.model, name, self.horizon, self.lengths)
        if axis is None:
            return self.before[node]
        whole = None if isinstance(distribution_of(there), ObservedElements) else unparted(there)
        if whole is None:
            raise ModelError(
                f"`{name}` has missing values, and {there.op!r} does not tell how it goes on from them: leave out the "
                "times without data, and give the later times as the values of `pm.Data`."
            )
        operands = (self.made.get(n, n) for n in whole.inputs)
        op = whole.op
        assert isinstance(op, RandomVariable)
        longer = Node(replace(op, shape=node.static_shape), *whole.inputs)
        return self._later(self.before[node], self._drawn(name, longer, tuple(operands), axis), axis)

    def _longer(self, op: Op) -> Op:
        """An op whose symbolic lengths along time are those of the whole time."""
        made: Op = replaced(op, self.lengthened, lambda results: with_lengths(results, self.lengthened))
        return made

    def _continued(self, node: Node, rv: Node, axis: int) -> Node:
        """A series, and its values at later times."""
        key, *operands = rv.inputs
        longer = self._longer(rv.op)
        own = distribution_of(Node(rv.op, key, *(self.before[n] for n in operands)))
        then = distribution_of(Node(longer, key, *(self.made[n] for n in operands)))
        if isinstance(own, ObservedElements) and isinstance(then, ObservedElements):
            own, then = distribution_of(own.of), distribution_of(then.of)
        self._keep(f"what `{self.names[node]}` depends on", own.along_time(), then.along_time())
        known = self.before[node]
        return _joined(known, own.continued(known, then, self.horizon.periods), axis)

    def _drawn(self, name: str, node: Node, inputs: tuple[Node, ...], axis: int | None) -> Node:
        """An independent variable for the whole time."""
        op = self._longer(node.op)
        assert isinstance(op, RandomVariable)
        bound = op.bind(inputs)
        if not bound.can_draw():
            raise ModelError(f"`{name}` cannot be drawn for later times: {op!r} has no random generator.")
        shape = list(self._known(op.shape))
        if axis is not None:
            shape[axis] = self.horizon.past + self.horizon.periods
        own = batch_part(tuple(shape), bound)
        for wanted in map(self._known, bound.batch_shapes()):
            for one, other in zip(reversed(wanted), reversed(own), strict=False):
                if isinstance(one, int) and isinstance(other, int) and one not in (1, other):
                    raise ModelError(
                        f"`{name}` has {other} elements in the whole time, and its parameters have {one}: make the "
                        'numbers they follow from `pm.Data`, and give the later ones, `exog={"name": values}`.'
                    )
        self._keep(f"what `{name}` depends on", [self.before.get(n, n) for n in node.inputs[1:]], inputs[1:])
        return Node(replace(op, shape=tuple(shape)), *inputs)

    def _keep(self, what: str, before: Sequence[Node], after: Sequence[Node]) -> None:
        """Demand that expressions for the whole time have the values so far that they have without later times."""
        for one, other in zip(before, after, strict=True):
            if one is other or not isinstance(one.type, TensorType) or one.dtype == "key":
                continue
            if isinstance(one.op, RandomVariable) and isinstance(other.op, RandomVariable):
                self._keep(what, one.inputs[1:], other.inputs[1:])
            elif not random_variables([one]):
                same = self._same(one, other)
                self.kept[what] = apply("logical_and", self.kept[what], same) if what in self.kept else same

    def _same(self, before: Node, after: Node) -> Node:
        lengths = self._known(before.static_shape)
        one = before
        other = getitem(after, tuple(slice(0, n) if isinstance(n, int) else slice(None) for n in lengths))
        if one.dtype == "bool":
            return reduce("all", apply("eq", one, other))
        one, other = (cast(n, "float64") for n in (one, other))
        size = reduce("sum", apply("abs", apply("where", apply("isfinite", one), one, 0.0))) / dims.product(lengths)
        near = apply("le", apply("abs", one - other), (1e-5 if before.dtype == "float32" else 1e-9) * size)
        unknown = apply("logical_and", apply("isnan", one), apply("isnan", other))
        return reduce("all", apply("logical_or", apply("logical_or", apply("eq", one, other), near), unknown))

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
