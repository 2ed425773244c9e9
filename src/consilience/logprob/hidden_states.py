"""States of a loop that nobody sees: drawn in a step from finitely many whole numbers, carried, and not returned.

The density of the series sums over all their paths, by the forward algorithm (Baum et al. 1970), in logarithms.
"""

from __future__ import annotations

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
"""How many states are summed."""


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

    def refuse_others(self, nexts: Sequence[Node]) -> None:
        """Refuse what a loop carries beside it, and that depends on it."""
        for following in nexts:
            if not {self.carried, self.before, self.after, self.drawn}.isdisjoint(topological([following])):
                raise refusal(
                    self.drawn,
                    "it is summed out, and another value that the loop carries depends on it as well, so that every "
                    "path of states would have a value of its own",
                    "return it from the step",
                )

    def table(self, density: Node) -> Node:
        """A log density for all values before and behind a step, shape (before, after)."""
        (density,) = substitute([density], {self.carried: self.before})
        read = set(topological([density]))
        numbers = constant(np.array(self.values, self.drawn.dtype))
        for leaf in (self.after, self.before):
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
        numbers = constant(np.array(self.values))
        start = where(equal(numbers, cast(self.initial, "int64")), 0.0, -np.inf)
        state = fresh(start)
        heads = [tensor_input(table.dtype, table.static_shape[1:]) for table in moving]
        terms = [*fixed, *heads]
        arrived = reduce("logsumexp", sum(terms[1:], terms[0] + expand_dims(state, 1)), 0)
        loop = closed({state: (start, arrived)}, dict(zip(heads, moving, strict=True)), [arrived], length=length)
        return loop.last[0]


def hidden_state(carried: Mapping[Node, tuple[Node, Node]], returned: Collection[Node]) -> HiddenState | None:
    """The one carried state that is drawn, has finitely many values, and is not returned; None if there is none."""
    found = []
    for leaf, (initial, following) in carried.items():
        values = _values(following)
        if values is not None and following not in returned:
            before, after = (tensor_input(following.dtype, ()) for _ in range(2))
            found.append(HiddenState(leaf, following, initial, values, before, after))
    if len(found) != 1:
        return None
    known = constant_value(found[0].initial)
    if known is not None and int(known) not in found[0].values:
        return None
    return found[0]


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
