"""Distributions of graphs: what `CustomDist(dist=)` makes, and components that are expressions of variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from consilience.distributions import context
from consilience.distributions.constraints import (
    Constraint,
    IntervalConstraint,
    Whole,
    real,
    real_vector,
    whole_vector,
)
from consilience.distributions.densities import realised_with
from consilience.distributions.distribution import Distribution, static
from consilience.distributions.mathematics import isfinite
from consilience.distributions.parameters import is_given
from consilience.distributions.random_variable import (
    RandomVariable,
    distribution_of,
    fresh_key,
    fresh_keys,
    random_variables,
)
from consilience.distributions.shapes import broadcast, same_shape, text, wanted_shape
from consilience.distributions.unnamed_parameters import UnnamedParameters
from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import FLOATS, Node, Region, Shape, close, constant, is_leaf, substitute, tensor_input, topological
from consilience.ir.arithmetic import means
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe, name_of, pass_on
from consilience.logprob.derivation import derive, direct_variables, is_measurable
from consilience.logprob.measure import Measure, refusal
from consilience.logprob.mixture import written_out
from consilience.logprob.numeric_inverse import numeric_inverses
from consilience.logprob.rearrangement import anywhere
from consilience.ops.elementwise import TensorLike, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.loop import Scan
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, reshape
from consilience.record import Record
from consilience.transforms.vectorize import vectorize


class Countable(Constraint):
    """Numbers that a discrete measure may take; which ones, its masses say."""

    discrete: ClassVar[bool] = True

    rule = "a number that it can take"

    def holds(self, value: Node) -> Node:
        return isfinite(value)


class CountableVector(Countable):
    """Vectors of such numbers."""

    event_rank: ClassVar[int] = 1

    def holds(self, value: Node) -> Node:
        return reduce("all", isfinite(value), -1)


class Generated(Record):
    """A graph of parameters and of random keys, which come last.

    `keys`, `arguments`: number of the keys, and of the parameters that the user's functions take, which come first.
    `numeric_inverse`: whether functions may be inverted numerically.
    """

    title: str
    graph: Region
    keys: int
    arguments: int
    support_point: Callable[..., TensorLike] | None
    numeric_inverse: bool


class DerivedDistribution(UnnamedParameters):
    """The distribution of the result of a graph of random variables."""

    generated: Generated = static(lambda title, name, given: given)
    mapped = real

    @classmethod
    def title_of(cls, settings: Sequence[Any]) -> str:
        generated: Generated = settings[0]
        return generated.title

    @classmethod
    def parameter_count(cls, settings: Sequence[Any]) -> int:
        generated: Generated = settings[0]
        return len(generated.graph.parameters) - generated.keys

    @classmethod
    def measure_of(cls, graph: Node) -> Measure:
        """The measure of a graph."""
        return derive(graph)

    @property
    def measure(self) -> Measure:
        """The measure of the graph; inputs stand for parameters that are random."""
        return _measure(type(self), self.generated, self.values)[0]

    def _given(self, result: Node) -> Node:
        """A formula of the measure with the parameters in it."""
        held = _measure(type(self), self.generated, self.values)[1]
        return substitute([result], held)[0] if held else result

    @property
    def bound_support(self) -> Constraint:
        measure = self.measure
        if measure.whole and measure.continues():
            return whole_vector
        if measure.discrete:
            return CountableVector() if self.event_rank else Whole() if measure.whole else Countable()
        if self.event_rank:
            return real_vector
        # No bijection to the real line keeps points of positive mass.
        if measure.atoms(constant(0.5)) is not None:
            return real
        lower, upper = (self._given(end) if isinstance(end, Node) else end for end in measure.ends)
        return IntervalConstraint(lower, upper)

    def has_atoms(self) -> bool:
        return self.measure.atomic and not self.measure.discrete

    @property
    def event_rank(self) -> int:
        return -min(self.measure.event_axes, default=0)

    def event_ranks(self) -> tuple[int, ...]:
        return tuple(value.ndim for value in self.values)

    def event_shape(self) -> Shape:
        shape = self.measure.shape
        return shape[len(shape) - self.event_rank :]

    def batch_shapes(self) -> list[Shape]:
        shape = self.measure.shape
        return [shape[: len(shape) - self.event_rank]]

    def result_dtype(self) -> str:
        return self.measure.node.dtype

    def logp(self, value: Node) -> Node:
        measure = self.measure
        rest = [axis for axis in range(-self.event_rank, 0) if axis not in measure.event_axes]
        places = [axis + sum(1 for own in measure.event_axes if own > axis) for axis in rest]
        density = self._given(measure.logp(value))
        return reduce("sum", density, places) if rest else density

    def atoms(self, value: Node) -> Node | None:
        found = self.measure.atoms(value)
        return None if found is None else self._given(found)

    def snapped(self, value: Node, error: Node) -> Node:
        return self._given(self.measure.snapped(value, error))

    def logcdf(self, value: Node) -> Node:
        return self._given(self.measure.logcdf(value))

    def logccdf(self, value: Node) -> Node:
        return self._given(self.measure.logccdf(value))

    def icdf(self, q: Node) -> Node:
        return self._given(self.measure.quantile(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        node = self.measure.node
        own, lead = node.static_shape, shape[: len(shape) - node.ndim]
        if not same_shape(own, shape[len(lead) :]):
            raise ShapeError(f"{self.title}: draws of shape {text(own)} or batches of them, not of {text(shape)}.")
        drawn_with = fresh_keys(self.values)  # parameters that are draws stay these
        if not lead:
            return self._given(realised_with([node], key, drawn_with)[0])
        one = tensor_input("key", ())
        many = vectorize(realised_with([node], one, drawn_with), {one: fold_in(key, Node(Iota(product(lead))))})
        return self._given(reshape(many[0], shape))

    def has(self, formula: str) -> bool:
        return self.measure.continues() if formula == "continued" else super().has(formula)

    def continued(self, past: Node, later: Distribution, periods: int) -> Node:
        assert isinstance(later, DerivedDistribution)
        (before, held), (after, then) = (_measure(type(d), d.generated, d.values) for d in (self, later))
        return substitute([before.continued(past, after, periods)], {**held, **then})[0]

    def along_time(self) -> list[Node]:
        found = [value for value in self.values if value.ndim or value.dtype in FLOATS]  # others count steps
        for node in topological([self.measure.node]):
            if isinstance(node.op, Scan):
                found += map(self._given, node.inputs[1:])
            elif isinstance(node.op, RandomVariable):
                found += map(self._given, distribution_of(node).along_time())
        return found

    def elements(self, index: tuple[Any, ...]) -> Node:
        """A variable of some elements, where single numbers are events."""
        own, given = self.generated, self.generated.support_point
        stand_ins = [leaf_like(value) for value in self.values]
        (graph,) = own.graph.apply(*stand_ins, *(fresh_key() for _ in range(own.keys)))

        def chosen(*parameters: Node) -> Node:
            assert given is not None
            point = as_tensor(given(*parameters))
            return getitem(point, index) if point.ndim else point

        made = _variable(
            own.title,
            getitem(graph, index),
            stand_ins[: own.arguments],
            support_point=given and chosen,
            numeric_inverse=own.numeric_inverse,
        )
        replaced = dict(zip(stand_ins, self.values, strict=True))
        return Node(made.op, made.inputs[0], *(replaced.get(value, value) for value in made.inputs[1:]))

    def support_point(self) -> Node:
        given = self.generated.support_point
        if given is None:
            return self._given(anywhere(self.measure.node))
        return as_tensor(given(*self.values[: self.generated.arguments]))


@functools.lru_cache(maxsize=1024)
def _measure(
    of: type[DerivedDistribution], generated: Generated, values: tuple[Node, ...]
) -> tuple[Measure, dict[Node, Node]]:
    """The measure of a graph in which inputs stand for random parameters, and what each of these stands for."""
    keys = [fresh_key() for _ in range(generated.keys)]
    inputs = {value: leaf_like(value) for value in values if random_variables([value])}
    (graph,) = generated.graph.apply(*(inputs.get(value, value) for value in values), *keys)
    with numeric_inverses(generated.numeric_inverse):
        return of.measure_of(graph), {own: value for value, own in inputs.items()}


def leaf_like(node: Node) -> Node:
    """An input of the type and name of a node."""
    return tensor_input(node.dtype, node.static_shape, name_of(node))


def _variable(
    title: str,
    graph: Node,
    parameters: Sequence[Node] = (),
    given: Callable[[Node], bool] = is_given,
    support_point: Callable[..., TensorLike] | None = None,
    numeric_inverse: bool = False,
) -> Node:
    """A random variable of the distribution of a graph.

    `parameters`: leaves that the user's functions take, first of all. `given`: which nodes are held fixed and become
    parameters; by default variables of the model and rows of a batch.
    """
    graph, fixed = held(graph, given)
    with numeric_inverses(numeric_inverse):
        (graph,) = written_out([cast(graph, "int64") if graph.dtype == "bool" else graph])
        derive(graph)  # errors name the user's nodes, which the region has no lines of
    direct = direct_variables(graph)
    latent = [rv for rv in random_variables([graph]) if rv not in direct]
    if latent:
        raise refusal(
            graph,
            f"it depends on {describe(latent[0])}, which would have to be integrated out",
            "make that variable outside, and give it as a parameter",
        )
    keys = fresh_keys([graph])
    leaves = [n for n in topological([graph]) if is_leaf(n) and n not in keys and n not in parameters]
    region, operands = close([graph], [*parameters, *leaves, *keys])
    values = [fixed.get(value, value) for value in operands[: len(operands) - len(keys)]]
    generated = Generated(title, region, len(keys), len(parameters), support_point, numeric_inverse)
    return DerivedDistribution.variable(values, None, None, (generated,))


def held(graph: Node, given: Callable[[Node], bool] = is_given) -> tuple[Node, dict[Node, Node]]:
    """The graph with an input in place of each node that is given, and what each input stands for."""
    inputs = {n: leaf_like(n) for n in topological([graph], stop=given) if given(n)}
    if not inputs:
        return graph, {}
    (result,) = substitute([graph], inputs)
    pass_on(graph, result)
    return result, {own: n for n, own in inputs.items()}


@means("derived_variable")
def derived_variable(graph: Node, given: Callable[[Node], bool] = is_given) -> Node:
    """A random variable that has the distribution of an expression of random variables outside any model."""
    return _variable("a derived distribution", graph, given=given)


@means("generated_variable")
def generated_variable(
    title: str,
    function: Callable[..., Any],
    parameters: Sequence[Node],
    shape: Any,
    size: Any,
    support_point: Callable[..., TensorLike] | None,
    numeric_inverse: bool,
) -> Node:
    """A random variable that has the distribution of what a function makes.

    Its parameters, variables of the model and rows of a batch are held fixed.

    `function`: (*parameters, size) -> an expression of random variables; `size` is the shape without the axes of one
    event, or None. `numeric_inverse`: as for `logp`.
    """
    stand_ins = [leaf_like(p) for p in parameters]
    if shape is not None and size is not None:
        raise TypeError(f"{title}: give `shape` (with the axes of one event) or `size` (without), not both.")
    trial, rank = None, 0
    try:
        trial = _made(title, function, stand_ins, None)
        with numeric_inverses(numeric_inverse):
            rank = -min(derive(written_out([held(trial)[0]])[0]).event_axes, default=0)
    except MissingRuleError:
        # A parameter may have axes that the variables get by `size` alone.
        if shape is None and size is None:
            size = broadcast([p.static_shape for p in parameters], title)
            if not size:
                raise
    except (TypeError, IndexError):
        # A function may read lengths from its `size`, as `n_steps=size[0]` does.
        if shape is None and size is None:
            raise
    wanted = None if size is None else wanted_shape(title, size, "size")
    full = wanted
    if shape is not None:
        full = wanted_shape(title, shape, "shape")
        wanted = full[: len(full) - rank]
    graph = trial if trial is not None and wanted is None else _made(title, function, stand_ins, wanted)
    made = _variable(title, graph, stand_ins, support_point=support_point, numeric_inverse=numeric_inverse)
    own = made.static_shape if size is None else made.static_shape[: made.ndim - rank]
    if full is not None and not same_shape(own, full):
        raise ShapeError(
            f"{title}: `dist` made {describe(graph)} where the {'size' if shape is None else 'shape'} {text(full)} was "
            "asked for; give `size=size` to the random variables that it makes."
        )
    replaced = dict(zip(stand_ins, parameters, strict=True))
    return Node(made.op, made.inputs[0], *(replaced.get(value, value) for value in made.inputs[1:]))


def _made(title: str, function: Callable[..., Any], parameters: Sequence[Node], size: Shape | None) -> Node:
    with context.closed(title):
        made = function(*parameters, size)
    if isinstance(made, Node) and is_measurable(written_out([held(made)[0]])[0]):
        return made
    raise TypeError(
        f"{title}: `dist` must return an expression of random variables such as `pm.Normal.dist(mu, size=size)`, "
        f"got {describe(made) if isinstance(made, Node) else repr(made)}."
        + (" Variables of the model are held fixed in it." if isinstance(made, Node) and is_measurable(made) else "")
    )
