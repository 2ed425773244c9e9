"""Series that a loop draws: the joint density of all steps, given the values of all of them.

With all values given no step waits for another. What a step carries of them are the values, moved by a step, so the
log densities of all steps are one map over time. A loop remains for carried states that depend on themselves: the
variance of a GARCH series, the errors of a moving average.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

from consilience.distributions.constraints import Constraint, positive_vector
from consilience.distributions.counts import Categorical
from consilience.distributions.densities import support_point
from consilience.distributions.random_variable import RandomVariable, fresh_key, random_variables
from consilience.errors import MissingRuleError
from consilience.ir import (
    Constant,
    Dim,
    Node,
    Op,
    close,
    rebuild,
    substitute,
    tensor_input,
    topological,
    with_regions,
)
from consilience.ir.dimension import product
from consilience.ir.region import regions_of
from consilience.ir.side_tables import carrying_marks, describe, name_of, pass_on, set_name, without_sources
from consilience.logprob.derivation import is_measurable
from consilience.logprob.derived import DerivedDistribution, Generated, leaf_like
from consilience.logprob.hidden_states import hidden_states
from consilience.logprob.joint import Joint, joint, typed
from consilience.logprob.measure import EVERYWHERE, Measure, refusal
from consilience.logprob.mixture import also_written_out, written_out
from consilience.logprob.numeric_inverse import inverts_numerically
from consilience.ops.control import Item
from consilience.ops.elementwise import cast, promote
from consilience.ops.index import getitem
from consilience.ops.loop import Scan, closed, fresh, parts
from consilience.ops.loop import results as results_of
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, concatenate, length_of, reshape, stack
from consilience.record import Record
from consilience.transforms.vectorize import vectorize


@also_written_out
def with_series(nodes: list[Node]) -> list[Node]:
    """The graphs with random variables in place of the series that loops draw."""
    items: dict[Node, dict[Node, int]] = {}
    for node in topological(nodes):
        if isinstance(node.op, Item) and _draws(node.inputs[0].op):
            items.setdefault(node.inputs[0], {})[node] = node.op.position
    if not items:
        return nodes
    replaced: dict[Node, Node] = {}
    for loop, found in items.items():
        (operand,) = substitute([loop], replaced)
        replaced |= zip(found, _as_variables(operand, found), strict=True)
    return substitute(nodes, replaced)


@functools.lru_cache(maxsize=1024)
def _draws(op: Op) -> bool:
    """Whether a loop draws in its steps, or in those of a loop within."""
    if not isinstance(op, Scan):
        return False
    for node in topological(op.body.results):
        if isinstance(node.op, RandomVariable) or (regions_of(node.op) and _draws(node.op)):
            return True
    return False


class DrawingStep(Record):
    """A loop, written on leaves.

    `carried`: leaf -> its value before the first step, and the next one.
    `sequences`: leaf -> the tensor whose elements along the first axis it takes.
    `elements`: what a step gives, per trace.
    """

    carried: dict[Node, tuple[Node, Node]]
    sequences: dict[Node, Node]
    elements: list[Node]

    def reached(self, nodes: Sequence[Node]) -> list[Node]:
        """The carried values on which expressions depend, through earlier steps too."""
        found: dict[Node, None] = {}
        open_nodes = list(nodes)
        while open_nodes:
            new = [n for n in topological(open_nodes) if n in self.carried and n not in found]
            found |= dict.fromkeys(new)
            open_nodes = [self.carried[leaf][1] for leaf in new]
        return [leaf for leaf in self.carried if leaf in found]

    def loop(self, nexts: Sequence[Node], elements: Sequence[Node], scan: Scan) -> tuple[list[Node], list[Node]]:
        """The last values of some carried ones, and all elements of some traces, by a loop of what they need."""
        carried = {leaf: self.carried[leaf] for leaf in (*self.reached(elements), *self.reached(nexts))}
        wanted = [*(following for _, following in carried.values()), *elements]
        read = set(topological(wanted))
        sequences = {leaf: tensor for leaf, tensor in self.sequences.items() if leaf in read}
        made = closed(carried, sequences, wanted, length=scan.length, reverse=scan.reverse, truncate=scan.truncate)
        last = dict(zip(carried, made.last, strict=True))
        return [last[leaf] for leaf in nexts], list(made.traces)


def _step(loop: Node) -> DrawingStep:
    """The loop of a node; loops that draw within its step are variables, too."""
    own = parts(loop)
    carries, heads = [fresh(n) for n in own.carries], [fresh(n) for n in own.heads]
    for leaf, initial in zip(carries, own.initial, strict=True):
        set_name(leaf, name_of(initial))
    with without_sources(), carrying_marks():
        results = written_out(own.op.body.apply(*carries, *heads, *own.constants))
    nexts, elements = results[: own.op.carried], results[own.op.carried :]
    carried = dict(zip(carries, zip(own.initial, nexts, strict=True), strict=True))
    return DrawingStep(carried, dict(zip(heads, own.sequences, strict=True)), elements)


def _as_variables(loop: Node, items: Mapping[Node, int]) -> list[Node]:
    """What stands for results of a loop: random variables for those that are random, quiet loops for others.

    `items`: each result as it was written, and its position.
    """
    scan = loop.op
    assert isinstance(scan, Scan)
    if scan.until:
        raise refusal(
            next(iter(items)),
            "its loop ends by a condition, so that its length is random",
            "write the loop with a fixed `n_steps`",
        )
    step = _step(loop)
    first = 1 + scan.carried

    def is_drawn(node: Node) -> bool:
        return any(is_measurable(n) for n in (node, *(step.carried[leaf][1] for leaf in step.reached([node]))))

    drawn: list[Node] = []
    made: dict[Node, Node] = {}
    quiet: tuple[dict[Node, Node], dict[Node, Node]] = ({}, {})
    leaves = list(step.carried)
    for item, position in items.items():
        if not position:
            made[item] = loop.inputs[0]
        elif position < first:
            if is_drawn(leaves[position - 1]):
                raise refusal(
                    item,
                    "it is what a loop carries behind its last step, and the values of the other steps would have to "
                    "be integrated out",
                    "return the values of all steps",
                )
            quiet[0][item] = leaves[position - 1]
        elif is_drawn(step.elements[position - first]):
            drawn.append(item)
        else:
            quiet[1][item] = step.elements[position - first]
    if any(quiet):
        last, traces = step.loop(list(quiet[0].values()), list(quiet[1].values()), scan)
        made |= zip((*quiet[0], *quiet[1]), (*last, *traces), strict=True)
    if drawn:
        made |= zip(drawn, _variables(loop, [items[item] - first for item in drawn], drawn), strict=True)
    return [made[item] for item in items]


def _at_support_points(nodes: Sequence[Node]) -> list[Node]:
    """The graphs with values in the supports in place of random variables, those of loops within too."""
    made: dict[Node, Node] = {}
    for node in topological(nodes):
        current = rebuild(node, tuple(made[operand] for operand in node.inputs))
        if isinstance(node.op, RandomVariable):
            current = support_point(current)
        elif regions_of(node.op):
            current = Node(with_regions(current.op, _at_support_points), *current.inputs)
        made[node] = current
    return [made[node] for node in nodes]


def _variables(loop: Node, positions: Sequence[int], written: Sequence[Node]) -> list[Node]:
    """The series of some traces as random variables: one, or parts of one where several are drawn together."""
    scan = loop.op
    assert isinstance(scan, Scan)
    operands = [n for n in dict.fromkeys(loop.inputs) if n.dtype != "key" and not isinstance(n.op, Constant)]
    inside = {n: leaf_like(n) for n in operands}
    (open_loop,) = substitute([Node(scan, *loop.inputs)], inside)
    keys = {n: fresh_key() for n in open_loop.inputs if n.dtype == "key"}
    (open_loop,) = substitute([open_loop], keys)
    traces = results_of(open_loop).traces
    chosen = [traces[i] for i in positions]
    graph = chosen[0] if len(chosen) == 1 else _packed(chosen)
    region, _ = close([graph], [*inside.values(), *keys.values()])
    name = name_of(written[0])
    generated = Generated(
        f"the series `{name}`" if name else "the series of a loop", region, len(keys), 0, None, inverts_numerically()
    )
    rv = DrawnSeries.variable(list(inside), None, None, (generated,))
    if len(chosen) == 1:
        pass_on(written[0], rv)
        return [rv]
    return [cast(part, trace.dtype) for part, trace in zip(_unpacked(rv, chosen), chosen, strict=True)]


def _packed(traces: Sequence[Node]) -> Node:
    """Several series as one matrix of a row per step."""
    return concatenate(promote([reshape(t, (t.static_shape[0], product(t.static_shape[1:]))) for t in traces])[0], 1)


def _unpacked(packed: Node, like: Sequence[Node]) -> list[Node]:
    """The series of a matrix, by their shapes."""
    found, start = [], 0
    for trace in like:
        stop = start + int(product(trace.static_shape[1:]))
        found.append(reshape(getitem(packed, (slice(None), slice(start, stop))), trace.static_shape))
        start = stop
    return found


class DrawnSeries(DerivedDistribution):
    """The distribution of the series that a loop draws."""

    @classmethod
    def measure_of(cls, graph: Node) -> Measure:
        return SeriesMeasure(graph)

    @property
    def bound_support(self) -> Constraint:
        measure = self.measure
        return positive_vector if measure.ends == (0.0, math.inf) and not measure.atomic else super().bound_support

    def support_point(self) -> Node:
        return self._given(_at_support_points([self.measure.node])[0])


class SeriesMeasure(Measure):
    """All steps of a loop: one event."""

    def __init__(self, node: Node) -> None:
        (loop,) = (n for n in topological([node]) if _draws(n.op))
        assert isinstance(loop.op, Scan)
        first = 1 + loop.op.carried
        items = [n for n in topological([node]) if isinstance(n.op, Item) and n.inputs[0] is loop]
        self.traces = items if len(items) == 1 else _in_order(node, items)
        self.scan = loop.op
        self.step = _step(loop)
        places = [n.op.position - first for n in self.traces if isinstance(n.op, Item)]
        self.elements = [self.step.elements[place] for place in places]
        self.hidden = hidden_states(self.step.carried, self.elements)
        self._densities: dict[str, tuple[Node, Node]] = {}
        steps = self._joint([tensor_input(e.dtype, e.static_shape) for e in self.elements])
        measures = [steps.measures[e] for e in self.elements]
        ends = measures[0].ends
        plain = len(measures) == 1 and all(isinstance(end, float) for end in ends)
        super().__init__(
            node,
            {node: None},
            discrete=all(m.discrete for m in measures),
            whole=all(m.whole for m in measures),
            atomic=any(m.atomic for m in measures),
            event_axes=tuple(range(-node.ndim, 0)),
            ends=ends if plain else EVERYWHERE,
        )
        self._density(node.dtype)  # what cannot be derived is refused now

    def _joint(self, values: Sequence[Node]) -> Joint:
        """The log densities of one step at values."""
        given = dict(zip(self.elements, values, strict=True))
        if self.hidden is not None:
            given |= self.hidden.given
        found = joint(given, lambda measure, value: measure.logp(value))
        _refuse_latent(found.densities, "what a loop returns depends on it")
        return found

    def logp(self, value: Node) -> Node:
        series, density = self._density(value.dtype)
        lead = value.ndim - series.ndim
        if not lead:
            return substitute([density], {series: value})[0]
        batch = value.static_shape[:lead]
        (many,) = vectorize([density], {series: reshape(value, (product(batch), *series.static_shape))})
        return reshape(many, batch)

    def _density(self, dtype: str) -> tuple[Node, Node]:
        """A leaf for the series, and the log density there."""
        if dtype not in self._densities:
            series = tensor_input(dtype, self.node.static_shape)
            with without_sources():
                self._densities[dtype] = (series, self._over_time(series))
        return self._densities[dtype]

    def _known(self, series: Node) -> tuple[Joint, _States]:
        """The factors of a step, and what the loop carries, at values of all steps."""
        whole = [series] if len(self.traces) == 1 else _unpacked(series, self.traces)
        over: dict[Node, Node] = {tensor_input(n.dtype, n.static_shape[1:]): n for n in whole}
        steps = self._joint(list(over))
        given = {e: typed(e, leaf) for e, leaf in zip(self.elements, over, strict=True)}
        over |= self.step.sequences
        if self.hidden is not None:
            given |= self.hidden.given
        return steps, _States(self.step, given, steps.origins, over)

    def continues(self) -> bool:
        return True

    def continued(self, past: Node, later: Measure, periods: int) -> Node:
        assert isinstance(later, SeriesMeasure)
        if self.scan.reverse:
            raise MissingRuleError(
                f"{describe(self.node)} begins with the last time (`go_backwards=True`), so nothing follows it."
            )
        with without_sources():
            steps, states = self._known(past)
            needed = self.step.reached(self.elements)
            hidden = self.hidden.carried if self.hidden is not None else ()
            last = {leaf: states.last(leaf) for leaf in needed if leaf not in hidden}
            if self.hidden is not None:
                weights = self._of_states(steps, states)
                drawn = Categorical.dist(logit_p=reshape(weights, (product(weights.static_shape),)))
                values = self.hidden.values_of(drawn)
                last |= {leaf: cast(value, leaf.dtype) for leaf, value in zip(hidden, values, strict=True)}
            # The two loops are one; their leaves stand in the same order.
            after = dict(zip(self.step.carried, later.step.carried, strict=True))
            carried = {after[leaf]: (last[leaf], later.step.carried[after[leaf]][1]) for leaf in needed}
            wanted = [*(following for _, following in carried.values()), *later.elements]
            read = set(topological(wanted))
            before, whole = past.static_shape[0], later.step.sequences
            heads = {leaf: _future(tensor, before, periods) for leaf, tensor in whole.items() if leaf in read}
            traces = closed(carried, heads, wanted, length=periods).traces
        return traces[0] if len(traces) == 1 else _packed(traces)

    def _of_states(self, steps: Joint, states: _States) -> Node:
        """Log probabilities of the values of hidden states behind the last step, together with the series."""
        assert self.hidden is not None
        own = self.hidden.carried
        carried = [n for n in topological(steps.densities) if n in self.step.carried and n not in own]
        self.hidden.refuse_others([states.following_of(state) for state in carried])
        states.find(carried)
        return self.hidden.behind(steps.densities, states.over, states.mapped, self.scan.length)

    def _over_time(self, series: Node) -> Node:
        steps, states = self._known(series)
        if self.hidden is not None:
            return reduce("logsumexp", self._of_states(steps, states))
        total = None
        for density in steps.densities:
            states.find([density])
            each = reduce("sum", states.mapped(density))
            total = each if total is None else total + each
        assert total is not None
        return total


def _future(sequence: Node, before: Dim, periods: int) -> Node:
    """The elements of the last steps, of a sequence for all times."""
    if isinstance(sequence.op, Iota):
        return Node(Iota(periods)) + length_of(before)
    length = sequence.static_shape[0]
    if length == before:
        raise MissingRuleError(
            f"a loop reads {describe(sequence)}, which has values for the {length} times so far and none for the next "
            f'{periods}: make its numbers `pm.Data`, and give the later ones, `exog={{"name": values}}`.'
        )
    return sequence[before : before + periods]


def _in_order(node: Node, items: Sequence[Node]) -> list[Node]:
    """The traces that a matrix is packed of, in the order of its columns."""
    found = []
    for part in node.inputs:
        found += [n for n in topological([part]) if n in items]
    return found


def _refuse_latent(nodes: Sequence[Node], why: str) -> None:
    """Refuse expressions of a step that still depend on what the step draws."""
    latent = random_variables(nodes)
    if latent:
        raise refusal(
            latent[0],
            f"{why}, and its value does not follow from what the loop returns, so it would have to be integrated out",
            "return it from the step as well, or draw it outside of the loop as a variable of the model and read it as "
            "one of the `sequences`",
        )


class _States:
    """Values that a loop carries, at all steps, where the values of what it draws are known.

    `given`: what a step gives -> its value, an expression of leaves.
    `origins`: random variables of a step -> their values.
    `over`: leaf -> its values at all steps, along a first axis.
    """

    def __init__(
        self, step: DrawingStep, given: Mapping[Node, Node], origins: Mapping[Node, Node], over: dict[Node, Node]
    ) -> None:
        self.step, self.given, self.origins, self.over = step, given, origins, over
        self.following: dict[Node, Node] = {}
        # What a state moved by steps is: the values that it follows, and what stands before the first ones.
        self.moved: dict[Node, tuple[Node, tuple[Node, ...]]] = {}

    def mapped(self, node: Node) -> Node:
        """An expression of a step, at all steps."""
        if node in self.over:
            return self.over[node]
        used = {leaf: self.over[leaf] for leaf in topological([node]) if leaf in self.over}
        return vectorize([node], used or dict(list(self.over.items())[:1]))[0]

    def last(self, state: Node) -> Node:
        """A state behind the last step."""
        following = self.following_of(state)
        self.find([following])
        return self.mapped(following)[-1]

    def find(self, nodes: Sequence[Node]) -> None:
        """Find the states that expressions depend on."""
        for group in self._groups([n for n in topological(nodes) if n in self.step.carried]):
            (state, *others) = group
            if others or state in topological([self.following_of(state)]):
                self._run(group)
            else:
                self._move(state)

    def following_of(self, state: Node) -> Node:
        """The next value of a state, an expression of leaves."""
        if state not in self.following:
            (following,) = substitute([self.step.carried[state][1]], self.given)
            (following,) = substitute([following], self.origins)
            _refuse_latent([following], "a loop draws and carries it")
            self.following[state] = following
        return self.following[state]

    def _parents(self, state: Node) -> list[Node]:
        return [n for n in topological([self.following_of(state)]) if n in self.step.carried]

    def _groups(self, wanted: Sequence[Node]) -> list[list[Node]]:
        """States that are not yet known, in groups that depend on each other, each behind those that it needs."""
        reached: dict[Node, set[Node]] = {}
        pending = list(wanted)
        while pending:
            state = pending.pop()
            if state not in reached and state not in self.over:
                reached[state] = set()
                pending += self._parents(state)
        for state in reached:
            seen, pending = reached[state], [state]
            while pending:
                for parent in self._parents(pending.pop()):
                    if parent in reached and parent not in seen:
                        seen.add(parent)
                        pending.append(parent)
        groups: list[list[Node]] = []
        for state in sorted(reached, key=lambda n: len(reached[n])):
            own = next((g for g in groups if g[0] in reached[state] and state in reached[g[0]]), None)
            if own is None:
                groups.append([state])
            else:
                own.append(state)
        return groups

    def _move(self, state: Node) -> None:
        """A state that is an expression of what is known of the step before."""
        following = self.following_of(state)
        initial = self.step.carried[state][0]
        series, before = self.moved.get(following, (None, ()))
        if series is None:
            series = self.mapped(following)
        before = (initial, *before)
        self.moved[state] = (series, before)
        joined = concatenate(promote([stack(list(before), 0), series])[0], 0)
        self.over[state] = getitem(joined, slice(0, length_of(series.static_shape[0])))

    def _run(self, group: Sequence[Node]) -> None:
        """States that depend on themselves: a loop of them."""
        nexts = [self.following_of(state) for state in group]
        read = set(topological(nexts))
        series = {leaf: tensor for leaf, tensor in self.over.items() if leaf in read}
        own = {state: fresh(state) for state in group}
        heads = {leaf: fresh(leaf) for leaf in series}
        inside = substitute(nexts, {**own, **heads})
        carried = {own[s]: (self.step.carried[s][0], following) for s, following in zip(group, inside, strict=True)}
        length = next(iter(self.over.values())).static_shape[0]
        loop = closed(
            carried,
            {heads[leaf]: tensor for leaf, tensor in series.items()},
            [*inside, *carried],
            length=length,
        )
        self.over |= zip(group, loop.traces, strict=True)
