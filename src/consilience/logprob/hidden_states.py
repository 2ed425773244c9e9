"""States of a loop that nobody sees: drawn in a step from finitely many whole numbers, carried, and not returned.

The density of the series sums over all their paths, of several states over those of all combinations, by the forward
algorithm (Baum et al. 1970), in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from consilience.distributions.constraints import Whole
from consilience.distributions.densities import support_of
from consilience.distributions.mathematics import equal, where
from consilience.distributions.parameters import known_value
from consilience.distributions.random_variable import RandomVariable
from consilience.ir import Dim, Node, constant, constant_value, substitute, tensor_input, topological
from consilience.logprob.measure import refusal
from consilience.ops.elementwise import cast
from consilience.ops.loop import closed, fresh
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims
from consilience.record import Record
from consilience.transforms.vectorize import vectorize

MOST = 1000
"""How many states, or combinations of them, are summed."""


class HiddenState(Record):
    """A state that is drawn anew in each step.

    carried: Leaf for the state before a step.
    drawn: The random variable that it becomes.
    initial: The state before the first step.
    values: What it may be.
    before, after: Leaves for a value before a step, and behind it.
    """

    carried: Node
    drawn: Node
    initial: Node
    values: tuple[int, ...]
    before: Node
    after: Node


class HiddenStates(Record):
    """All of them: arrays over their values have an axis for each."""

    members: tuple[HiddenState, ...]

    @property
    def given(self) -> dict[Node, Node]:
        """Each drawn variable -> the leaf for its value."""
        return {one.drawn: one.after for one in self.members}

    @property
    def carried(self) -> tuple[Node, ...]:
        """The leaves for them before a step."""
        return tuple(one.carried for one in self.members)

    def values_of(self, place: Node) -> list[Node]:
        """The value of each, by its place among all combinations."""
        found = []
        for one in reversed(self.members):
            count = len(one.values)
            found.append(place % count + one.values[0])
            place = place // count
        return found[::-1]

    def refuse_others(self, nexts: Sequence[Node]) -> None:
        """Refuse what a loop carries beside them, and that depends on one."""
        for following in nexts:
            read = set(topological([following]))
            for one in self.members:
                if not {one.carried, one.before, one.after, one.drawn}.isdisjoint(read):
                    raise refusal(
                        one.drawn,
                        "it is summed out, and another value that the loop carries depends on it as well, so that "
                        "every path of states would have a value of its own",
                        "return it from the step",
                    )

    def table(self, density: Node) -> Node:
        """A log density for all values before and behind a step: axes of those before, then of those behind."""
        (density,) = substitute([density], {one.carried: one.before for one in self.members})
        read = set(topological([density]))
        leaves = [(one.before, one) for one in self.members] + [(one.after, one) for one in self.members]
        for leaf, one in reversed(leaves):
            numbers = constant(np.array(one.values, one.drawn.dtype))
            density = vectorize([density], {leaf: numbers})[0] if leaf in read else expand_dims(density, 0)
        return density

    def behind(
        self, densities: Sequence[Node], over: Collection[Node], mapped: Callable[[Node], Node], length: Dim
    ) -> Node:
        """Log probabilities of the states behind the last step, together with the series up to there.

        densities: Log densities of a step.
        over (collection of TensorVariable): Leaves that have values of their own at each time.
        mapped: An expression of them -> its values at all times.
        length (int): Number of steps.
        """
        fixed: list[Node] = []
        moving: list[Node] = []
        for density in densities:
            table = self.table(reduce("sum", density) if density.ndim else density)
            if set(topological([table])).isdisjoint(over):
                fixed.append(table)
            else:
                moving.append(mapped(table))
        count = len(self.members)
        axes = range(count)
        starts = [
            expand_dims(
                where(equal(constant(np.array(one.values)), cast(one.initial, "int64")), 0.0, -np.inf),
                [axis for axis in axes if axis != k],
            )
            for k, one in enumerate(self.members)
        ]
        start = sum(starts[1:], starts[0])
        state = fresh(start)
        heads = [tensor_input(table.dtype, table.static_shape[1:]) for table in moving]
        terms = [*fixed, *heads]
        before = expand_dims(state, range(count, 2 * count))
        arrived = reduce("logsumexp", sum(terms[1:], terms[0]) + before, tuple(axes))
        loop = closed({state: (start, arrived)}, dict(zip(heads, moving, strict=True)), [arrived], length=length)
        return loop.last[0]


def hidden_states(carried: Mapping[Node, tuple[Node, Node]], returned: Collection[Node]) -> HiddenStates | None:
    """The carried states that are drawn, have finitely many values, and are not returned; None if there are none."""
    found: list[HiddenState] = []
    for leaf, (initial, following) in carried.items():
        values = _values(following)
        known = constant_value(initial)
        if values is None or following in returned or any(one.drawn is following for one in found):
            continue
        if known is not None and int(known) not in values:
            continue
        before, after = (tensor_input(following.dtype, ()) for _ in range(2))
        found.append(HiddenState(leaf, following, initial, values, before, after))
    if not found or math.prod(len(one.values) for one in found) > MOST:
        return None
    return HiddenStates(tuple(found))


def _values(node: Node) -> tuple[int, ...] | None:
    """The whole numbers that a drawn one may be, where these are finitely many known ones."""
    if not isinstance(node.op, RandomVariable) or node.ndim:
        return None
    support = support_of(node)
    if not isinstance(support, Whole):
        return None
    least, most = (known_value(b) if isinstance(b, Node) else b for b in (support.lower, support.upper))
    if least is None or most is None or not 0 <= float(np.max(most)) - float(np.min(least)) < MOST:
        return None
    return tuple(range(int(np.min(least)), int(np.max(most)) + 1))
