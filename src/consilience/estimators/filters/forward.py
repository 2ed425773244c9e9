"""The particle filter as one graph: a loop over time that chooses, moves and weighs all particles.

A definition in; estimates, and particles with weights and ancestors, of all times out. Sources: N. Gordon, D. Salmond,
A. Smith (1993), "Novel approach to nonlinear/non-Gaussian Bayesian state estimation"; M. Pitt, N. Shephard (1999),
"Filtering via simulation: auxiliary particle filters".
"""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.distributions.mathematics import where
from consilience.estimators.filters.definition import Definition, Nodes, draws, log_density
from consilience.estimators.filters.resampling import SCHEMES, effective_size, relative
from consilience.ir import Node, constant, substitute, tensor_input
from consilience.ops.control import ifelse
from consilience.ops.elementwise import apply, cast
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce
from consilience.ops.scan import scan
from consilience.ops.shape import Iota, concatenate, expand_dims
from consilience.record import Record
from consilience.transforms.vectorize import vectorize

AT_TIMES: Final = ("log_increment", "ess", "resampled", "undefined")


class Settings(Record):
    """How a filter works.

    `particles`: how many there are. `resampling`: one of `resampling.SCHEMES`. `threshold`: share of the particles
    below which the effective number calls for choosing anew.
    """

    particles: int
    resampling: str
    threshold: float


class FilterGraph:
    """A filter over `length` times.

    `continued`: whether it goes on from particles at the time before the first of these.
    `key`, `data`, `seen`: inputs: a random key, and by name what is observed, with time as first axis.
    `first`, `before`: further inputs if it is continued: the number of times before, the last states and log weights.
    `states`: by name, particles (time, particle, …).
    `log_weight`: logs of weights, whose sum is 1 at each time, (time, particle).
    `ancestor`: int64: the particle of the time before that each comes from, (time, particle).
    `means`, `deviations`: by name, weighted (time, …).
    `stats`: by name in AT_TIMES: log densities of what is observed given what was before, effective numbers of
        particles, whether particles were chosen anew, how many weights had no value; each (time,).
    """

    def __init__(self, definition: Definition, settings: Settings, length: int, continued: bool = False) -> None:
        own, names, count = definition, list(definition.state), settings.particles
        self._own, self._settings, self._count = own, settings, count
        self.key, self.first = tensor_input("key", (), "seed"), tensor_input("int64", (), "first")
        self.data, self.seen = (
            {n: tensor_input(leaf.dtype, (length, *leaf.static_shape), n) for n, leaf in leaves.items()}
            for leaves in (own.data, own.seen)
        )
        leaves = {leaf: self.data[n] for n, leaf in own.data.items()}
        leaves |= {leaf: self.seen[n] for n, leaf in own.seen.items()}
        held = {n: tensor_input(s.dtype, (count, *s.static_shape), n) for n, s in own.state.items()}
        logs = tensor_input("float64", (count,), "log_weight")
        following = self._step(fold_in(self.key, own.time), held, logs)
        if continued:
            self.before = [
                tensor_input(leaf.dtype, leaf.static_shape, leaf.name or "") for leaf in (*held.values(), logs)
            ]
            begins: list[Node] = []
            initial, start = self.before, self.first
        else:
            self.before = []
            uniform = constant(np.full(count, -np.log(count)))
            at_first = {leaf: whole[0] for leaf, whole in leaves.items()}
            begins = substitute(self._step(fold_in(self.key, 0), None, uniform), {**at_first, own.time: constant(0)})
            leaves = {leaf: whole[1:] for leaf, whole in leaves.items()}
            initial, start, length = begins[: len(names) + 1], constant(1), length - 1
        carried = dict(zip([*held.values(), logs], zip(initial, following[: len(names) + 1], strict=True), strict=True))
        loop = scan(carried, {own.time: Node(Iota(length)) + start, **leaves}, following, length=length)
        traces = list(loop.traces)
        if begins:
            traces = [concatenate([expand_dims(a, 0), b], 0) for a, b in zip(begins, traces, strict=True)]
        self.states: Nodes = dict(zip(names, traces, strict=False))
        rest = traces[len(names) :]
        self.log_weight, self.ancestor = rest[:2]
        self.stats: Nodes = dict(zip(AT_TIMES, rest[2:], strict=False))
        spreads = rest[2 + len(AT_TIMES) :]
        self.means: Nodes = dict(zip(names, spreads[: len(names)], strict=True))
        self.deviations: Nodes = dict(zip(names, spreads[len(names) :], strict=True))

    def _step(self, key: Node, before: Nodes | None, logs: Node) -> list[Node]:
        """One time: states, logs of weights, ancestors, statistics, means and deviations."""
        own, count = self._own, self._count
        themselves = Node(Iota(count))
        resampled, ancestor = constant(False), themselves
        if before is None:
            chosen: dict[Node, Node] = {}
            source, target, titles = own.initial_proposal, own.initial, ("initial_proposal", "initial")
        else:
            ahead: Node = logs
            if own.lookahead is not None:
                (look,) = vectorize([own.lookahead], {own.before[n]: values for n, values in before.items()})
                ahead = logs + where(apply("isnan", look), -np.inf, look)
            weights = relative(ahead)
            resampled = effective_size(weights) < self._settings.threshold * count
            scheme = SCHEMES[self._settings.resampling]
            found = ifelse(resampled, scheme(weights, fold_in(key, 0)), themselves)
            assert isinstance(found, Node)
            ancestor = found
            even: Node = constant(-np.log(count))
            if own.lookahead is not None:
                even = reduce("logsumexp", ahead) + even - (ahead - logs)[ancestor]
            logs = where(resampled, even, logs)
            chosen = {own.before[n]: values[ancestor] for n, values in before.items()}
            source, target, titles = own.proposal, own.transition, ("proposal", "transition")
        moved = draws(source or target, key, 1, count, chosen)
        weight = own.observed_density()
        if source:
            weight = weight + log_density(titles[1], target, own.state) - log_density(titles[0], source, own.state)
        (gained,) = vectorize([weight], {**chosen, **dict(zip(own.state.values(), moved, strict=True))})
        undefined = apply("isnan", gained)
        logs = logs + where(undefined, -np.inf, gained)
        increment = reduce("logsumexp", logs)
        logs = where(increment > -np.inf, logs - increment, -np.log(count))
        relatives = relative(logs)
        shares = relatives / reduce("sum", relatives)
        means = [reduce("sum", _beside(shares, x) * x, 0) for x in moved]
        distances = [cast(x, "float64") - m for x, m in zip(moved, means, strict=True)]
        deviations = [apply("sqrt", reduce("sum", _beside(shares, d) * d * d, 0)) for d in distances]
        lost = reduce("sum", cast(undefined, "int64"))
        stats = [increment, effective_size(relatives), resampled, lost]
        return [*moved, logs, ancestor, *stats, *means, *deviations]


def _beside(shares: Node, values: Node) -> Node:
    """Shares with the axes that values have besides that of particles."""
    return expand_dims(shares, tuple(range(1, values.ndim))) if values.ndim > 1 else shares
