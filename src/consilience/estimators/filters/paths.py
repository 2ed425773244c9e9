"""Paths of states: backwards through the particles of a filter, and forwards into times without data.

Particles with weights, or states, in; draws of whole paths out. Source: S. Godsill, A. Doucet, M. West (2004), "Monte
Carlo smoothing for nonlinear time series".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.estimators.filters.definition import Definition, Nodes, draws, log_density
from consilience.estimators.filters.resampling import places, relative
from consilience.ir import Node, substitute, tensor_input
from consilience.ops.random import draw, fold_in
from consilience.ops.scan import scan
from consilience.ops.shape import Iota, concatenate, expand_dims
from consilience.transforms.vectorize import vectorize

Whole = npt.NDArray[np.int64]


class BackwardGraph:
    """Draws of paths given all data, by backward simulation: each state given the one that follows it.

    `key`, `states`, `log_weight`: inputs: a random key; particles by name (time, particle, …) and logs of their
    weights. `paths`: by name, (draws, time, …).
    """

    def __init__(self, definition: Definition, particles: int, length: int, count: int) -> None:
        own = definition
        self.key = tensor_input("key", (), "seed")
        self.log_weight = tensor_input("float64", (length, particles), "log_weight")
        self.states = {n: tensor_input(s.dtype, (length, particles, *s.static_shape), n) for n, s in own.state.items()}
        last = places(relative(self.log_weight[-1]), draw("random_uniform", fold_in(self.key, 0), (count,)))
        ends = [s[-1][last] for s in self.states.values()]
        held = {n: tensor_input(s.dtype, (count, *s.static_shape), n) for n, s in own.state.items()}
        here = {n: tensor_input(s.dtype, (particles, *s.static_shape), n) for n, s in own.state.items()}
        logs, share = tensor_input("float64", (particles,), "log_weight"), tensor_input("float64", (), "share")
        onwards = {own.before[n]: values for n, values in here.items()}
        (transition,) = vectorize([log_density("transition", own.transition, own.state)], onwards)
        place = places(relative(logs + transition), share)
        shares = draw("random_uniform", fold_in(self.key, own.time), (count,))
        (chosen,) = vectorize([place], {share: shares, **{own.state[n]: values for n, values in held.items()}})
        before = [values[chosen] for values in here.values()]
        carried = dict(zip(held.values(), zip(ends, before, strict=True), strict=True))
        sequences = {here[n]: s[:-1][::-1] for n, s in self.states.items()}
        sequences |= {logs: self.log_weight[:-1][::-1], own.time: (Node(Iota(length - 1)) + 1)[::-1]}
        loop = scan(carried, sequences, before, length=length - 1)
        traces = [concatenate([b[::-1], expand_dims(a, 0)], 0) for a, b in zip(ends, loop.traces, strict=True)]
        self.paths: Nodes = dict(zip(own.state, [_draws_first(t) for t in traces], strict=True))


class ForwardGraph:
    """Draws of states and of what is observed, from states on or from the very beginning.

    `key`, `states`: inputs: a random key; states by name (draws, …) at the time before `first`, unless that is 0.
    `paths`, `values`: states and what is observed, by name, (draws, steps, …).
    """

    def __init__(self, definition: Definition, count: int, first: int, steps: int) -> None:
        own = definition
        self.key = tensor_input("key", (), "seed")
        self.states: Nodes = {}

        def observed(key: Node, states: list[Node]) -> list[Node]:
            known = dict(zip(own.state.values(), states, strict=True))
            return draws(own.observation, key, 2, count, known)

        begins, heads = [], []
        start, length = first, steps
        if first == 0:
            key = fold_in(self.key, 0)
            begins = draws(own.initial, key, 1, count, {})
            heads = [*begins, *observed(key, begins)]
            heads = substitute(heads, {own.time: Node(Iota(1))[0]})
            begins, start, length = heads[: len(begins)], 1, steps - 1
        else:
            self.states = {n: tensor_input(s.dtype, (count, *s.static_shape), n) for n, s in own.state.items()}
            begins = list(self.states.values())
        held = {n: tensor_input(s.dtype, (count, *s.static_shape), n) for n, s in own.state.items()}
        key = fold_in(self.key, own.time)
        onwards = {own.before[n]: values for n, values in held.items()}
        moved = draws(own.transition, key, 1, count, onwards)
        following = [*moved, *observed(key, moved)]
        carried = dict(zip(held.values(), zip(begins, moved, strict=True), strict=True))
        loop = scan(carried, {own.time: Node(Iota(length)) + start}, following, length=length)
        traces = list(loop.traces)
        if heads:
            traces = [concatenate([expand_dims(a, 0), b], 0) for a, b in zip(heads, traces, strict=True)]
        every = [_draws_first(t) for t in traces]
        self.paths: Nodes = dict(zip(own.state, every, strict=False))
        self.values: Nodes = dict(zip(own.observation, every[len(own.state) :], strict=True))


def genealogy(ancestor: Whole, last: Whole) -> Whole:
    """Particles (draws, time) from which the given ones at the last time come; ancestors are (time, particle)."""
    lines = np.empty((len(last), len(ancestor)), np.int64)
    lines[:, -1] = last
    for time in range(len(ancestor) - 1, 0, -1):
        lines[:, time - 1] = ancestor[time][lines[:, time]]
    return lines


def _draws_first(trace: Node) -> Node:
    """(time, draws, …) as (draws, time, …)."""
    return trace.transpose(1, 0, *range(2, trace.ndim))
