"""What is known of the distribution of a node: density, tails, quantiles, as graphs of a value.

Derived by the rules of this package; a subclass per mathematical case.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import Bound, is_infinite
from consilience.distributions.mathematics import (
    less,
    log1mexp,
    logical_and,
    near,
    round_even,
    where,
)
from consilience.distributions.tails import log_difference
from consilience.errors import MissingRuleError
from consilience.ir import FLOATS, Node, Shape, constant
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import apply

# Random variables from which a node gets its randomness, with the flat positions of the elements that it uses; None
# stands for all of them.
Sources: TypeAlias = Mapping[Node, "npt.NDArray[np.int64] | None"]
Ends: TypeAlias = tuple[Bound, Bound]
# Relative error of a value that a few roundings leave.
ROUNDING: Final = 1e-14
EVERYWHERE: Final[Ends] = (-math.inf, math.inf)


class Measure(ABC):
    """The distribution of a node, given the parents of the random variables it is made of.

    Elements along axes other than `event_axes` are independent; `logp` has one number for each of them. A value
    broadcasts against the node's shape.
    """

    def __init__(
        self,
        node: Node,
        sources: Sources,
        *,
        discrete: bool = False,
        whole: bool = False,
        atomic: bool = False,
        event_axes: tuple[int, ...] = (),
        ends: Ends = EVERYWHERE,
    ) -> None:
        """The parts that every case has.

        `discrete`: all values have masses.
        `whole`: they are whole numbers, as those of integer nodes are.
        `atomic`: some values have masses.
        `event_axes`: axes of one event, counted from the end (negative, ascending).
        `ends`: numbers between which all values lie.
        """
        self.node = node
        self.sources = sources
        self.discrete = discrete
        self.atomic = atomic or discrete
        self.whole = whole or (discrete and node.dtype not in FLOATS)
        self.event_axes = event_axes
        self.ends = ends

    @property
    def shape(self) -> Shape:
        """Shape of the node."""
        return self.node.static_shape

    @abstractmethod
    def logp(self, value: Node) -> Node:
        """Log density, or log mass where the value is an atom; -inf outside the support."""

    def logcdf(self, value: Node) -> Node:
        """log P(X <= value)."""
        self.missing("logcdf")

    def logccdf(self, value: Node) -> Node:
        """log P(X > value)."""
        return log1mexp(self.logcdf(value))

    def quantile(self, q: Node) -> Node:
        """The least value x with P(X <= x) >= q, for 0 <= q <= 1."""
        self.missing("icdf")

    def atoms(self, value: Node) -> Node | None:
        """Where a value is a point of positive mass; None if nowhere. Of a discrete measure: everywhere."""
        return constant(np.asarray(True)) if self.discrete else None

    def has_mass(self, value: Node) -> Node | None:
        """Where a value has a mass greater than 0; None if nowhere."""
        return apply("gt", self.logp(value), -math.inf) if self.discrete else self.atoms(value)

    def snapped(self, value: Node, error: Node) -> Node:
        """An atom in place of a value that differs from it by no more than the error that an inverse function left."""
        return near(value, round_even(value), error) if self.whole else value

    def origins(self, value: Node) -> Mapping[Node, Node]:
        """Values of random variables that follow from a value of the node."""
        return {}

    def continues(self) -> bool:
        """Whether it is a series, of which the next values can be told: time is its first axis."""
        return False

    def continued(self, past: Node, later: Measure, periods: int) -> Node:
        """The next values of a series; parameters as those of `Distribution.continued`."""
        del past, later, periods
        raise MissingRuleError(f"{describe(self.node)} is no series that could be continued.")

    def missing(self, formula: str) -> NoReturn:
        """Raise MissingRuleError: this case has no such formula."""
        raise MissingRuleError(
            f"no `{formula}` follows for {describe(self.node)}: there is no formula for it. Use `logp`, or draws of it."
        )

    # ---- what follows

    def log_below(self, value: Node) -> Node:
        """log P(X < value)."""
        atoms, reached = self.atoms(value), self.logcdf(value)
        if atoms is None:
            return reached
        return where(atoms, log_difference(reached, self.logp(value)), reached)

    def log_from(self, value: Node) -> Node:
        """log P(X >= value)."""
        atoms, beyond = self.atoms(value), self.logccdf(value)
        if atoms is None:
            return beyond
        return where(atoms, apply("logaddexp", beyond, self.logp(value)), beyond)

    def log_between(self, lower: Node, upper: Node, *, lower_included: bool, upper_included: bool) -> Node:
        """log P(lower < X < upper), with each end or without; from the nearer tail."""
        to_upper = self.logcdf(upper) if upper_included else self.log_below(upper)
        to_lower = self.log_below(lower) if lower_included else self.logcdf(lower)
        from_lower = self.log_from(lower) if lower_included else self.logccdf(lower)
        from_upper = self.logccdf(upper) if upper_included else self.log_from(upper)
        low = less(to_upper, from_lower)
        return log_difference(where(low, to_upper, from_lower), where(low, to_lower, from_upper))


def between(value: Node, ends: Ends) -> Node | None:
    """Whether a value lies between the ends, both included; None for infinite ends."""
    lower, upper = ends
    conditions = []
    if not is_infinite(lower):
        conditions.append(apply("ge", value, number(lower)))
    if not is_infinite(upper):
        conditions.append(apply("le", value, number(upper)))
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else logical_and(*conditions)


def number(bound: Bound) -> Any:
    """A bound that is no name."""
    assert not isinstance(bound, str)
    return bound


def refusal(node: Node, why: str, instead: str) -> MissingRuleError:
    """The error that names the node which stops a derivation, the reason, and what would help."""
    return MissingRuleError(f"no density follows for {describe(node)}: {why}. {instead[0].upper()}{instead[1:]}.")
