"""Draws: graphs in which random variables have become functions of keys, and their values.

Random variables in, ancestral samples out. Keys of different variables are independent; one key gives one
draw of the whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.contexts import random_slot
from consilience.backends.function import Function, function
from consilience.backends.modes import Mode, mode_named
from consilience.backends.request import In, Outputs
from consilience.distributions.densities import realised_with, undefined
from consilience.distributions.seeds import seed_from
from consilience.errors import ArgumentError, GraphError, ShapeError, warn
from consilience.ir import Input, Node, tensor_input, topological
from consilience.ir.arithmetic import plain
from consilience.ir.lengths import sources_of
from consilience.ir.side_tables import describe
from consilience.names.absent import elsewhere
from consilience.ops.random import fold_in
from consilience.ops.shape import Iota, broadcast_to
from consilience.transforms.vectorize import vectorize


def draw(
    vars: Node | Sequence[Node],
    draws: int = 1,
    random_seed: Any = None,
    *,
    mode: Any = None,
    backend: str | None = None,
    compile_kwargs: Any = None,
) -> Any:
    """Draw from random variables outside a model fit, or from expressions of them.

    vars: Variables to draw. Several variables are drawn jointly.
    draws: Number of draws. For more than one, results have a leading axis of this length.
    random_seed (int, sequence of int or Generator): Seed: an integer, integers, or a random generator of NumPy; a fresh
        seed by default.
    mode (str or Mode): Accepted for compatibility with PyMC; has no effect.
    backend: Accepted for compatibility with PyMC; has no effect.
    compile_kwargs: Accepted for compatibility with PyMC; has no effect.
    Returns: An array, or a list of arrays for several variables.
    See sample_prior_predictive: Draw all variables from the prior.
    See logp: Log density (or log mass) at a value.
    >>> pm.draw(pm.Normal.dist(0.0, 1.0), draws=3, random_seed=1).shape
    (3,)
    """
    del backend
    for named in (mode, compile_kwargs.get("mode") if isinstance(compile_kwargs, Mapping) else None):
        if named is not None:
            mode_named(named)  # without effect, and a name that nobody knows is a slip
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise ArgumentError(f"`draws` must be a whole number, at least 1, got {draws!r}.")
    if told := elsewhere(vars):
        raise TypeError(told)
    vars = plain(vars)
    outputs = [vars] if isinstance(vars, Node) else [plain(one) for one in vars]
    seed = _seed(random_seed)
    key = tensor_input("key", (), "seed")
    graph = realised_with(outputs, key)
    _check_closed(graph, key)
    if draws > 1 and key in topological(sources_of(graph)):
        return _one_by_one(key, graph, draws, seed, isinstance(vars, Node))
    if draws > 1:
        many = fold_in(key, Node(Iota(draws)))
        stand_in = tensor_input("key", ())
        graph = vectorize(realised_with(outputs, stand_in), {stand_in: many})
        # Constants, of which one value serves for all.
        graph = [broadcast_to(g, (draws, *o.static_shape)) for g, o in zip(graph, outputs, strict=True)]
    call = function([key], graph, name="draw", on_unused_input="ignore")
    results: list[npt.NDArray[Any]] = call(np.int64(seed))
    _warn_of_undefined(outputs, results)
    return results[0] if isinstance(vars, Node) else results


def _warn_of_undefined(nodes: Sequence[Node], results: Sequence[npt.NDArray[Any]]) -> None:
    found = [describe(n) for n, values in zip(nodes, results, strict=True) if undefined(n, values).any()]
    if found:
        warn(f"draws are NaN, or -1 for whole numbers: {', '.join(found)}. A parameter left its range.")


def _one_by_one(key: Node, graph: Sequence[Node], draws: int, seed: int, single: bool) -> Any:
    """Draws of a graph whose lengths are random, which no batch can hold: as many calls."""
    keys = function([key], fold_in(key, Node(Iota(draws))))(np.int64(seed))
    call = function([key], list(graph), name="draw", on_unused_input="ignore")
    found = list(zip(*(call(own) for own in keys), strict=True))
    for output, values in zip(graph, found, strict=True):
        if len({value.shape for value in values}) > 1:
            raise ShapeError(
                f"draws of {describe(output)} have different shapes, {values[0].shape} and others, and make no array; "
                "take one draw at a time, or draw what has one shape."
            )
    results = [np.stack(values) for values in found]
    return results[0] if single else results


def compile(
    inputs: Sequence[Node | In],
    outputs: Outputs,
    random_seed: int | np.random.Generator | None = None,
    mode: Mode | str | None = None,
    **options: Any,
) -> Function:
    """As `function`, with random variables that are no inputs drawn anew at every call."""
    return function(inputs, outputs, mode=mode, random_key=random_slot(_seed(random_seed)), **options)


def _seed(given: Any) -> int:
    return seed_from(given)


def _check_closed(graph: Sequence[Node], key: Node) -> None:
    for node in topological(graph):
        if isinstance(node.op, Input) and node is not key:
            raise GraphError(
                f"`draw` needs every input to be random or constant, but the graph depends on {describe(node)}."
            )
