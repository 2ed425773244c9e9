"""What a user's functions say about one particle: distributions of its states, and of data given these.

Functions that return distributions in; graphs on stand-ins for a state, the state before, data and time out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from consilience.distributions.densities import realised_with
from consilience.distributions.mathematics import where
from consilience.distributions.random_variable import RandomVariable, random_variables
from consilience.errors import DtypeError, MissingRuleError, ModelError, ShapeError
from consilience.ir import Node, constant, substitute, tensor_input
from consilience.ir.side_tables import describe, name_of
from consilience.logprob import conditional_logp
from consilience.ops.elementwise import as_tensor
from consilience.ops.parameter_check import released
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota
from consilience.transforms.vectorize import vectorize

Nodes = dict[str, Node]
Given = Callable[..., Any]

STATE: Final = "x"  # name of the only state, where the functions give none
DATUM: Final = "y"  # and of the only variable that is observed
TAKEN: Final = frozenset({"log_weight", "ancestor", "chain", "draw", "time", "particle", "quantile"})


class Definition:
    """Graphs for one particle.

    `initial`, `transition`, `observation`: by name, the nodes that the functions gave.
    `proposal`, `initial_proposal`: by name, the nodes that the functions gave.
    `lookahead`: log of the weight by which a particle is chosen before it moves; None: its own alone.
    `state`, `before`: stand-ins for the values of the state at this time and at the one before.
    `data`, `seen`: stand-ins for what is observed at this time, and which elements of it are.
    `time`: int64 scalar: the place of this time among the data.
    `parameters`: random variables of a model on which all this depends, by name.
    `leaves`: what stands for these.
    """

    def __init__(
        self,
        initial: Given,
        transition: Given,
        observation: Given,
        proposal: Given | None,
        initial_proposal: Given | None,
        lookahead: Given | None,
    ) -> None:
        self.time = tensor_input("int64", (), "t")
        begin = _called("initial", initial)
        first = _named(begin, "initial", STATE)
        for name, node in first.items():
            if not all(isinstance(n, int) for n in node.static_shape):
                raise ShapeError(f"`initial`: the shape of the state `{name}` must be known, got {describe(node)}.")
        self.state, self.before = ({n: _stand_in(node, n) for n, node in first.items()} for _ in range(2))
        several = isinstance(begin, Mapping)
        state, before = (dict(group) if several else group[STATE] for group in (self.state, self.before))
        following = self._states("transition", _called("transition", transition, before, self.time))
        seen = _called("observation", observation, state, self.time)
        observed = _named(seen, "observation", DATUM)
        if both := set(first) & set(observed):
            raise ModelError(f"`{both.pop()}` is both a state and what is observed; choose another name.")
        self.data = {n: _stand_in(node, n) for n, node in observed.items()}
        self.seen = {n: tensor_input("bool", node.static_shape, n) for n, node in observed.items()}
        data = dict(self.data) if isinstance(seen, Mapping) else self.data[DATUM]
        groups = [first, following, observed]
        for title, function, arguments in (
            ("proposal", proposal, (before, data, self.time)),
            ("initial_proposal", initial_proposal, (data,)),
        ):
            groups.append({} if function is None else self._states(title, _called(title, function, *arguments)))
        ahead: Nodes = {}
        if lookahead is not None:
            ahead[""] = as_tensor(_called("lookahead", lookahead, before, data, self.time))
        if any(node.ndim for node in ahead.values()):
            raise ShapeError(f"`lookahead` must give one number, got {describe(ahead[''])}.")
        groups.append(ahead)
        self._fix_parameters(groups)
        self.missing_together()  # data need a density, which is said at once

    def _states(self, title: str, given: Any) -> Nodes:
        found = _named(given, title, STATE)
        if set(found) != set(self.state):
            raise ModelError(f"`{title}` gives the states {', '.join(found)}, and `initial` {', '.join(self.state)}.")
        for name, own in self.state.items():
            node = found[name]
            if node.static_shape != own.static_shape:
                raise ShapeError(
                    f"`{title}` gives `{name}` the shape {node.static_shape}, and `initial` {own.static_shape}; the "
                    "shape of a state is the same at all times."
                )
            if node.dtype != own.dtype:
                raise DtypeError(f"`{title}` gives `{name}` the type {node.dtype}, and `initial` {own.dtype}.")
        return {name: found[name] for name in self.state}

    def _fix_parameters(self, groups: Sequence[Nodes]) -> None:
        """Leaves in place of random variables of a model."""
        every = random_variables([node for group in groups for node in group.values()])
        self.parameters = {name: rv for rv in every if (name := name_of(rv)) is not None}
        self.leaves = {name: _stand_in(rv, name) for name, rv in self.parameters.items()}
        own = {rv: self.leaves[name] for name, rv in self.parameters.items()}
        flat = substitute([node for group in groups for node in group.values()], own)
        made = [{name: flat.pop(0) for name in group} for group in groups]
        self.initial, self.transition, self.observation, self.proposal, self.initial_proposal, ahead = made
        self.lookahead = ahead.get("")

    def observed_density(self) -> Node:
        """Log density of what is observed at this time; elements that are missing add nothing."""
        return _density("observation", self.observation, self.data, self.seen)

    def missing_together(self) -> dict[str, int]:
        """By name, how many of the last axes of the data are one event, which is observed or missing as a whole."""
        factors = _factors("observation", self.observation, self.data)
        return {name: self.data[name].ndim - factor.ndim for name, factor in factors.items()}


def draws(nodes: Nodes, key: Node, stream: int, count: int, known: Mapping[Node, Node]) -> list[Node]:
    """Joint draws for each of so many particles, (particle, …), of which each has random numbers of its own."""
    one = tensor_input("key", ())
    keys = fold_in(fold_in(key, stream), Node(Iota(count)))
    return vectorize(realised_with(list(nodes.values()), one), {one: keys, **known})


def log_density(title: str, nodes: Nodes, values: Nodes) -> Node:
    """Log of the joint density; NaN or -inf where parameters are out of range."""
    return _density(title, nodes, values, {})


def _density(title: str, nodes: Nodes, values: Nodes, seen: Nodes) -> Node:
    total = constant(0.0)
    for name, factor in _factors(title, nodes, values).items():
        found = factor
        if name in seen:
            mask = seen[name]
            if mask.ndim > factor.ndim:
                mask = reduce("all", mask, tuple(range(factor.ndim, mask.ndim)))
            found = where(mask, factor, 0.0)
        total = total + reduce("sum", found)
    return total


def _factors(title: str, nodes: Nodes, values: Nodes) -> Nodes:
    try:
        found = conditional_logp({node: values[name] for name, node in nodes.items()})
    except MissingRuleError as error:
        raise MissingRuleError(f"what `{title}` gives needs a density: {error}") from error
    return dict(zip(nodes, released([found[node] for node in nodes.values()]), strict=True))


def _named(given: Any, title: str, only: str) -> Nodes:
    """What a function gave, by name."""
    named = dict(given) if isinstance(given, Mapping) else {only: given}
    if not named:
        raise ModelError(f"`{title}` gives no variables.")
    found: Nodes = {}
    for name, value in named.items():
        if not isinstance(value, Node | int | float | np.ndarray | np.number):
            raise TypeError(
                f"`{title}` must return a distribution such as `pm.Normal.dist(0, 1)`, or a dictionary of some by "
                f"name; got {value!r}."
            )
        if name in TAKEN:
            raise ModelError(f"`{title}`: `{name}` has a meaning of its own in results; choose another name.")
        node = as_tensor(value)
        if isinstance(node.op, RandomVariable) and name_of(node) is not None:
            raise ModelError(
                f"`{title}` gives `{name_of(node)}`, a variable of a model; write `.dist(…)`, without a name."
            )
        found[name] = node
    return found


def _called(title: str, function: Given, *arguments: Any) -> Any:
    """With as many of the arguments as the function takes by position."""
    if not callable(function):
        raise TypeError(f"`{title}` must be a function that returns a distribution, got {function!r}.")
    taken = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in taken):
        return function(*arguments)
    needed = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if not min(1, len(arguments)) <= len(needed) <= len(arguments):
        raise TypeError(
            f"`{title}` must be a function of {'1 to ' if len(arguments) > 1 else ''}{len(arguments)} arguments, and "
            f"it takes {len(needed)}; see `pm.StateSpaceModel`."
        )
    return function(*arguments[: len(needed)])


def _stand_in(like: Node, name: str) -> Node:
    return tensor_input(like.dtype, like.static_shape, name)
