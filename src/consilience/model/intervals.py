"""Continuous variables that act through comparisons, as the intervals between the numbers they are compared with.

A model and names enter, an equal model leaves in which a whole number, the interval, acts in the place of each. Its
probabilities are the masses that the variable's distribution has there. Within an interval the variable follows its own
distribution; where nothing depends on it, that is all, and otherwise the share of the interval's mass below it moves
with the chains, along which nothing jumps. Sums over the intervals are those of any discrete variable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import Bound, IntervalConstraint
from consilience.distributions.context import DEFAULT
from consilience.distributions.counts import Categorical
from consilience.distributions.densities import support_of
from consilience.distributions.mathematics import greater, where
from consilience.distributions.parameters import known_value
from consilience.distributions.random_variable import distribution_of, fresh_key
from consilience.distributions.real_line import Uniform
from consilience.distributions.truncation import Truncated, log_probability
from consilience.errors import ConsilienceError
from consilience.ir import FLOATS, Node, constant, substitute, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import set_name
from consilience.logprob.functions import icdf
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.observation import known_values, slot_values
from consilience.model.programs import kept
from consilience.model.terms import terms_of
from consilience.model.variables import FreeVariable
from consilience.ops.elementwise import COMPARISONS, STEPS, Cast, Elementwise, is_step
from consilience.ops.index import Index, getitem
from consilience.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose, moveaxis
from consilience.transforms.vectorize import vectorize

MOST: Final = 100_000  # intervals that are looked at; sums over so many are refused by their price
FEWER: Final = 2_000  # of variables that act smoothly, too
LOOKS, PLACES = 3, 12  # points at which a jump is looked for, and edges at each of them
NEGLIGIBLE: Final = 1e-6  # nats, and of a log density: what rounding makes of no jump
CARRIED: Final = (ExpandDims, BroadcastTo, Reshape, Squeeze, Transpose)


def stepwise(model: Model) -> Mapping[str, npt.NDArray[np.float64]]:
    """Where the density jumps along each continuous variable that it depends on by jumps alone, ascending, by name.

    Variables whose distribution has no quantile function are left out: within an interval they could not be drawn.

    >>> import consilience as pm
    >>> from consilience.model.intervals import stepwise
    >>> with pm.Model() as model:
    ...     tau = pm.Uniform("tau", 0, 10)
    ...     y = pm.Normal("y", pm.math.where(tau > [1.0, 4.0, 8.0], 0, pm.Normal("shift")), 1, observed=[0, 2.1, 1.8])
    >>> stepwise(model)["tau"].tolist()
    [1.0, 4.0, 8.0]
    """
    return kept(model.cache, "stepwise", tuple(slot_values(model)[2]), lambda: _stepwise(model))


def _stepwise(model: Model) -> dict[str, npt.NDArray[np.float64]]:
    outputs = [v.node for v in model.free + model.marginalized] + [v.node for v in model.observed]
    random = set(outputs)
    outputs += [n for v in model.observed for n in (v.data, v.weight) if n is not None]
    outputs += model.named_potentials.values()
    order = topological(outputs)
    conditions = {node for node in order if is_step(node)}
    found: dict[str, npt.NDArray[np.float64]] = {}
    ends = set(outputs)
    for variable in model.free:
        if not _has_quantiles(variable):
            continue
        own: list[Node] = []
        reached = {variable.node}
        for node in order:
            if reached.isdisjoint(node.inputs):
                continue
            if node in conditions and random.isdisjoint(_parents(node, variable.node)):
                own.append(node)
            else:
                reached.add(node)
        if own and reached & ends == {variable.node}:
            edges = [_edges(model, node, variable) for node in own]
            known = [each for each in edges if each is not None]
            if len(known) == len(own):
                found[variable.name] = np.unique(np.concatenate(known))
    return {name: edges for name, edges in found.items() if 0 < len(edges) <= MOST}


def jumping(model: Model) -> Mapping[str, npt.NDArray[np.float64]]:
    """Where the density jumps along each continuous variable that acts both smoothly and by comparisons, by name.

    Not of those along which it has kinks alone, as where two lines meet, and not of those whose jumps move with other
    variables.

    >>> import consilience as pm
    >>> from consilience.model.intervals import jumping
    >>> with pm.Model() as model:
    ...     tau, slope = pm.Uniform("tau", 0, 10), pm.Normal("slope")
    ...     after = pm.math.where(tau > [1.0, 4.0, 8.0], 0, 1 + slope * tau)
    ...     y = pm.Normal("y", after, 1, observed=[0, 2.1, 1.8])
    >>> jumping(model)["tau"].tolist()
    [1.0, 4.0, 8.0]
    """
    return kept(model.cache, "jumping", tuple(slot_values(model)[2]), lambda: _jumping(model))


def _jumping(model: Model) -> dict[str, npt.NDArray[np.float64]]:
    random = _random(model)
    ends = [*random, *(n for v in model.observed for n in (v.data, v.weight) if n is not None)]
    ends += model.named_potentials.values()
    order = topological(ends)
    found: dict[str, npt.NDArray[np.float64]] = {}
    alone = stepwise(model)
    for variable in model.free:
        if variable.name in alone or not _has_quantiles(variable):
            continue
        leaf, own, tied = variable.node, list[Node](), False
        reached = {leaf}
        for node in order:
            if node in random or reached.isdisjoint(node.inputs):
                continue
            if not is_step(node):
                reached.add(node)
            elif random.keys().isdisjoint(_parents(node, leaf)):
                own.append(node)
            else:
                tied = True
        edges = [] if tied else [_edges(model, node, variable) for node in own]
        known = [each for each in edges if each is not None]
        if own and len(known) == len(own):
            places = np.unique(np.concatenate(known))
            if 0 < len(places) <= FEWER and _jumps(model, variable.name, places):
                found[variable.name] = places
    return found


def _random(model: Model) -> dict[Node, None]:
    """All random variables."""
    return dict.fromkeys([*(v.node for v in model.free + model.marginalized), *(v.node for v in model.observed)])


def _jumps(model: Model, name: str, edges: npt.NDArray[np.float64]) -> bool:
    """Whether the density differs by a number between both sides of an edge: not where it has a kink, or ends.

    The variable is at the edge both times, and comparisons see one interval or the next.
    """
    if model.marginalized:
        return False
    try:
        made, (interval, within) = _in_intervals(model, name, edges, acts=True)
        terms = terms_of(made, jacobian=False)
        index = next(i for i, v in enumerate(made.free) if v.name == interval)
        share = next(i for i, v in enumerate(made.free) if v.name == within)
        others = [term for i, term in enumerate(terms.priors) if i != index] + terms.likelihoods + terms.potentials
        fixed = tensor_input("float64", terms.constrained[share].static_shape)
        outputs = substitute([terms.priors[index], *others], {terms.constrained[share]: fixed})
        slots, arrays, _, lengths = slot_values(model)
        given = dict(zip(slots, arrays, strict=True))
        rng = np.random.default_rng(0)
        count = len(_apart(edges))
        for _ in range(LOOKS):
            shapes = [[dims.substitute(n, lengths) for n in value.static_shape] for value in terms.values]
            given |= {v: rng.normal(size=shape) for v, shape in zip(terms.values, shapes, strict=True)}
            size = shapes[index]
            for k in np.unique(np.linspace(0, count - 1, min(count, PLACES)).astype(int)):
                levels = []
                for place, end in ((k, 1.0), (k + 1, 0.0)):
                    point = {terms.values[index]: np.full(size, float(place)), fixed: np.full(size, end)}
                    values = known_values(outputs, given | point)
                    mass, *rest = values or [np.array(-np.inf)]
                    levels.append(sum(float(np.sum(v)) for v in rest) if np.isfinite(mass).all() else np.nan)
                change = abs(levels[1] - levels[0])
                if NEGLIGIBLE * (1.0 + abs(levels[0])) < change < np.inf:
                    return True
    except (ConsilienceError, ArithmeticError, ValueError):  # as it is, the model says what is wrong with it
        return False
    return False


def _has_quantiles(variable: FreeVariable) -> bool:
    """Whether masses of intervals are known, and draws within them; and the prior is that of the distribution alone."""
    if not variable.continuous or not variable.inside:
        return False
    own = distribution_of(variable.node)
    return own.event_rank == 0 and own.has("logcdf") and own.has("icdf")


def _parents(node: Node, variable: Node) -> set[Node]:
    """What a condition depends on besides the variable."""
    return set(topological([node], stop=lambda n: n is variable)) - {variable}


def _edges(model: Model, condition: Node, variable: FreeVariable) -> npt.NDArray[np.float64] | None:
    """Where along the variable a condition changes; None where it is not affine in it, or its numbers are not known."""
    leaf = variable.node
    sides = [side for side in condition.inputs if leaf in set(topological([side], stop=lambda n: n is leaf))]
    if not all(_is_affine(side, leaf) for side in sides):
        return None
    compared = isinstance(condition.op, Elementwise) and condition.op.function in COMPARISONS
    if compared and len(sides) == 1 and _is_carried(sides[0], leaf):  # the numbers themselves: nothing is rounded
        (other,) = (side for side in condition.inputs if side is not sides[0])
        values = _numbers(model, [other])
        return None if values is None else _finite(values[0])
    difference = condition.inputs[0] - condition.inputs[1] if compared else condition.inputs[0]
    at = [substitute([difference], {leaf: constant(np.full(leaf.static_shape, x, leaf.dtype))})[0] for x in (0, 1, 2)]
    values = _numbers(model, at)
    if values is None:
        return None
    start, one, two = (np.asarray(v, float).ravel() for v in values)
    slope = one - start
    if not np.allclose(two - one, slope, rtol=1e-9, atol=1e-12 * np.max(np.abs(start), initial=1.0)):
        return None  # digits are lost: the numbers are too far away
    start, slope = start[slope != 0], slope[slope != 0]
    offset = 0.0 if compared else STEPS.get(getattr(condition.op, "function", "trunc"), 1.0)
    if offset == 0.0:
        return _finite(-start / slope)
    return _of_whole_numbers(variable, start, slope, offset)


def _of_whole_numbers(
    variable: FreeVariable, start: npt.NDArray[np.float64], slope: npt.NDArray[np.float64], offset: float
) -> npt.NDArray[np.float64] | None:
    """Where start + slope x is a whole number, or half-way between two, within the support; None if it has no end."""
    support = support_of(variable.node)
    if not isinstance(support, IntervalConstraint):
        return None
    low, high = (_known_end(end) for end in (support.lower, support.upper))
    if not np.isfinite(high - low):
        return None
    found = []
    for a, b in np.unique(np.stack([start, slope], 1), axis=0):
        least, greatest = sorted((a + b * low, a + b * high))
        if greatest - least > MOST:
            return None
        whole = np.arange(np.ceil(least - offset), np.floor(greatest - offset) + 1.0) + offset
        found.append((whole - a) / b)
    return _finite(np.concatenate(found)) if found else np.zeros(0)


def _known_end(bound: Bound) -> float:
    """An end of a support, infinite where it is no number."""
    known = known_value(bound) if isinstance(bound, Node) else bound
    return float(known) if isinstance(known, float) or (known is not None and np.ndim(known) == 0) else np.inf


def _numbers(model: Model, nodes: Sequence[Node]) -> list[npt.NDArray[np.float64]] | None:
    slots, arrays, _, _ = slot_values(model)
    return known_values(nodes, dict(zip(slots, arrays, strict=True)))


def _finite(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    values = np.asarray(values, float).ravel()
    return values[np.isfinite(values)]


def _is_carried(node: Node, leaf: Node) -> bool:
    """Whether elements of the leaf are only moved and repeated."""
    while node is not leaf:
        if not isinstance(node.op, (*CARRIED, Index)) or leaf in topological(node.inputs[1:]):
            return False
        node = node.inputs[0]
    return True


def _is_affine(node: Node, leaf: Node) -> bool:
    """Whether each element is an affine function of one element of the leaf."""
    if node is leaf:
        return True
    acting = [operand for operand in node.inputs if leaf in set(topological([operand], stop=lambda n: n is leaf))]
    if isinstance(node.op, (*CARRIED, Index)) or (isinstance(node.op, Cast) and node.dtype in FLOATS):
        return acting == [node.inputs[0]] and _is_affine(acting[0], leaf)
    function = node.op.function if isinstance(node.op, Elementwise) else ""
    if function not in ("add", "sub", "neg", "mul", "true_div"):
        return False
    if len(acting) > 1 and (leaf.ndim or function in ("mul", "true_div")):
        return False
    return not (function == "true_div" and acting != [node.inputs[0]]) and all(_is_affine(n, leaf) for n in acting)


def in_intervals(model: Model, names: Collection[str]) -> tuple[Model, list[str]]:
    """The model with intervals in place of continuous variables, and the names of these intervals.

    Variables that act by jumps alone are free in it as before, with the bounds of their interval; only deterministics
    depend on them. Others are deterministics of the interval and a free variable, the share of its mass below them.

    Raises ConsilienceError where an interval's mass, or a draw in it, does not follow from the distribution.
    """
    alone = stepwise(model)
    both = {} if all(name in alone for name in names) else jumping(model)
    made, added = model, list[str]()
    for name in names:
        acts = name not in alone
        made, titles = _in_intervals(made, name, both[name] if acts else alone[name], acts)
        added.append(titles[0])
    return made, added


def _in_intervals(model: Model, name: str, edges: npt.NDArray[np.float64], acts: bool) -> tuple[Model, tuple[str, ...]]:
    """The names are those of the interval, and of the share where the variable `acts` by itself, too."""
    leaf = model.named[name]
    edges = _apart(edges)
    between = 0.5 * edges[1:] + 0.5 * edges[:-1]
    reach = 1.0 + np.abs(edges[[0, -1]])
    points = constant(np.concatenate([edges[:1] - reach[0], between, edges[-1:] + reach[1]]), leaf.dtype)
    bounds = [np.append(-np.inf, edges), np.append(edges, np.inf)]
    prior = Node(leaf.op, fresh_key(), *leaf.inputs[1:])
    interval = Categorical.dist(logit_p=_log_masses(prior, bounds), shape=leaf.static_shape)
    lower, upper = (getitem(constant(ends), (interval,)) for ends in bounds)
    share = Uniform.dist(0.0, 1.0, shape=leaf.static_shape)
    if acts:  # where an interval has no mass any number will do
        some = greater(log_probability(prior, lower, upper), -np.inf)
        lower, upper = where(some, lower, -np.inf), where(some, upper, np.inf)
    inside = Truncated.dist(prior, lower=lower, upper=upper, shape=leaf.static_shape)
    graphs = {name: icdf(inside, share) if acts else inside}
    acting = getitem(points, (interval,))
    others = [own for own in model.named if own != name]
    nodes = [model.named[own] for own in others]
    random = _random(model)
    random.pop(leaf)
    steps = [
        node
        for node in topological(nodes)
        if is_step(node) and leaf in set(topological([node], stop=random.__contains__))
    ]
    replaced = dict(zip(steps, substitute(steps, {leaf: acting}), strict=True))
    changed = zip(others, nodes, substitute(nodes, replaced), strict=True)
    graphs |= {own: new for own, old, new in changed if new is not old}
    rebuilt = Rebuilt(model, graphs, set())
    made = rebuilt.model({name: "named_deterministics"} if acts else {})
    # Bounds of other variables may depend on what acts: it comes in its place.
    at = next(i for i, v in enumerate(model.free) if v.name == name) if acts else len(made.free)
    added = {f"{name}_interval__": interval} | ({f"{name}_within__": share} if acts else {})
    for title, own in added.items():
        (node,) = substitute([own], rebuilt.known)
        set_name(node, title)
        made.named[title] = node
        made.free.insert(at, made.free_variable(title, node, None if own is interval else DEFAULT, None))
        at += 1
    return made, tuple(added)


def _apart(edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The edges without those so close to the one before that no number lies between them."""
    between = 0.5 * edges[1:] + 0.5 * edges[:-1]
    apart = (edges[:-1] < between) & (between < edges[1:])
    return np.concatenate([edges[:1], edges[1:][apart]])


def _log_masses(prior: Node, bounds: Sequence[npt.NDArray[np.float64]]) -> Node:
    """Log probabilities of the intervals, one axis more than the variable; the last one."""
    shape = prior.static_shape
    ends = [tensor_input("float64", shape) for _ in bounds]
    mass = log_probability(prior, *ends)
    rows = [constant(each.reshape(-1, *(1,) * len(shape)) + np.zeros((1, *shape))) for each in bounds]
    (table,) = vectorize([mass], dict(zip(ends, rows, strict=True)))
    return moveaxis(table, 0, -1)
