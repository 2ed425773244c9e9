"""Bijections between a set and unconstrained space, as graphs.

`forward` leads from the set to all of R^n, `backward` returns. Which set needs which is `registry`'s part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from consilience.ir import Node, Shape
from consilience.ops.reduce import reduce
from consilience.record import Record


class Transform(Record):
    """A bijection. `name` marks transformed variables (`sigma_log__`), `event_rank` is one event's rank."""

    name: ClassVar[str] = ""
    event_rank: ClassVar[int] = 0

    def forward(self, value: Node) -> Node:
        """The unconstrained image of a value in the set."""
        raise NotImplementedError

    def backward(self, unconstrained: Node) -> Node:
        """The value in the set."""
        raise NotImplementedError

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        """log |d backward / d unconstrained|, one number per event."""
        raise NotImplementedError

    def unconstrained_shape(self, shape: Shape) -> Shape:
        """Shape of the unconstrained image of values of a shape."""
        return shape

    def rank(self) -> int:
        """Rank of one event of the bijection."""
        return self.event_rank

    def unconstrained_rank(self) -> int:
        """Rank of the unconstrained image of one event."""
        return self.rank()


class Chain(Transform):
    """Bijections one after the other; `steps[0]` is nearest to the constrained value."""

    steps: tuple[Transform, ...]

    def __init__(self, steps: Sequence[Transform]) -> None:
        object.__setattr__(self, "steps", tuple(steps))

    @property
    def label(self) -> str:
        """Names of the steps."""
        return "_".join(label(step) for step in self.steps)

    def rank(self) -> int:
        lost = 0  # axes that earlier steps take away
        ranks = []
        for step in self.steps:
            ranks.append(step.rank() + lost)
            lost += step.rank() - step.unconstrained_rank()
        return max(ranks)

    def unconstrained_rank(self) -> int:
        return self.rank() - sum(step.rank() - step.unconstrained_rank() for step in self.steps)

    def forward(self, value: Node) -> Node:
        for step in self.steps:
            value = step.forward(value)
        return value

    def backward(self, unconstrained: Node) -> Node:
        for step in reversed(self.steps):
            unconstrained = step.backward(unconstrained)
        return unconstrained

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        total: Node | None = None
        rank = self.unconstrained_rank()
        for step in reversed(self.steps):
            own = step.log_jacobian_determinant(unconstrained)
            surplus = rank - step.unconstrained_rank()
            rank += step.rank() - step.unconstrained_rank()
            if surplus:
                own = reduce("sum", own, tuple(range(-surplus, 0)))
            total = own if total is None else total + own
            unconstrained = step.backward(unconstrained)
        assert total is not None
        return total

    def unconstrained_shape(self, shape: Shape) -> Shape:
        for step in self.steps:
            shape = step.unconstrained_shape(shape)
        return shape


def chain(first: Transform, *further: Transform) -> Transform:
    """`first` maps the constrained value, the others what it gives, in order."""
    steps: list[Transform] = []
    for step in (first, *further):
        steps += step.steps if isinstance(step, Chain) else [step]
    return steps[0] if len(steps) == 1 else Chain(tuple(steps))


def label(transform: Transform) -> str:
    """The transform's name in names of value variables."""
    return transform.label if isinstance(transform, Chain) else transform.name
