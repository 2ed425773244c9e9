"""Adaptive integration: as many steps as the tolerance needs, recorded one by one.

A right-hand side, a method and tolerances in; the times, states and lengths of all steps out. Nothing here is
differentiated.
"""

from __future__ import annotations

from typing import Protocol

import consilience.tensor as pt
from consilience.ir import Node, tensor_input
from consilience.ode.state_function import StateFunction
from consilience.ops.scan import scan
from consilience.record import Record

SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
NOT_FINITE = 0.1
MOST_REJECTIONS = 30
ROUNDING = 10 * 2.0**-52


class Method(Protocol):
    """A method of one step, with an error estimate and interpolation."""

    @property
    def order(self) -> int:
        """Order of the state behind a step."""

    def attempt(
        self, f: StateFunction, t: Node, y: Node, h: Node, first: Node, parameters: tuple[Node, ...]
    ) -> tuple[Node, Node, Node]:
        """State and derivative behind a step of length h, and the error; `first` is the derivative before it."""

    def advance(self, f: StateFunction, t: Node, y: Node, h: Node, parameters: tuple[Node, ...]) -> Node:
        """The state behind a step of length h."""

    def within(self, f: StateFunction, t: Node, y: Node, h: Node, s: Node, parameters: tuple[Node, ...]) -> Node:
        """The state at t + s h, 0 <= s <= 1."""


class Tolerance(Record):
    """An error e of a step to y is accepted if the root mean square of e / (absolute + relative |y|) is at most 1.

    `relative`: a number. `absolute`: a number, or one for every element of the state.
    """

    relative: float
    absolute: Node

    def square(self, error: Node, before: Node, behind: Node) -> Node:
        """The mean square of the error of a step, in units of what is tolerated."""
        scale = self.absolute + self.relative * pt.maximum(abs(before), abs(behind))
        return pt.mean(pt.sqr(error / scale))


class IntegrationSteps(Record, eq=False):
    """All attempts at a step, in order; places behind the last attempt are zero.

    `times`: time before each attempt, shape (max_steps,).
    `states`: state before each attempt, shape (max_steps, n).
    `lengths`: length of the step, 0 if it was rejected.
    `count`: number of attempts.
    `refused`: number of those whose error was not tolerated.
    `reached`: time behind the last step.
    `finite`: whether the last attempt gave a finite error.
    `failed`: whether the step became too small.
    `ended`: whether an event happened in the last step.
    """

    times: Node
    states: Node
    lengths: Node
    count: Node
    refused: Node
    reached: Node
    finite: Node
    failed: Node
    ended: Node


def integrate(
    f: StateFunction,
    method: Method,
    start: Node,
    initial: Node,
    end: Node,
    tolerance: Tolerance,
    max_steps: int,
    event: StateFunction | None = None,
) -> IntegrationSteps:
    """Steps from `start`, where the state is `initial`, to `end`.

    A step whose error is not tolerated, or not finite, is tried again with a shorter length. It is given up after
    MOST_REJECTIONS attempts, or when its length is lost in the rounding of the time. The step in which the value of
    `event` changes its sign is the last one.
    """
    own = f.parameters
    t, h = tensor_input("float64", ()), tensor_input("float64", ())
    y, first = (tensor_input("float64", initial.static_shape) for _ in range(2))
    rejections, refused = tensor_input("int64", ()), tensor_input("int64", ())
    finite, stopped, ended = (tensor_input("bool", ()) for _ in range(3))
    level = tensor_input("float64", ())
    last = t + h >= end
    length = pt.where(last, end - t, h)
    behind, slope, error = method.attempt(f, t, y, length, first, own)
    square = tolerance.square(error, y, behind)
    good = pt.isfinite(square + pt.sum(slope))
    accepted = good & (square <= 1.0)
    factor = SAFETY * pt.exp(-0.5 / method.order * pt.log(pt.maximum(square, 1e-20)))
    factor = pt.where(good, pt.clip(factor, SMALLEST, LARGEST), NOT_FINITE)
    following = length * pt.where(accepted & (rejections > 0), pt.minimum(factor, 1.0), factor)
    time = pt.where(accepted, pt.where(last, end, t + h), t)
    again = pt.where(accepted, 0, rejections + 1)
    arrived = accepted & last
    lost = ~arrived & (~(following > ROUNDING * abs(time)) | (again > MOST_REJECTIONS))
    crossed, levels = pt.as_tensor(False), {}
    if event is not None:
        reached_level = event(time, behind, event.parameters)
        crossed = accepted & (((level < 0) & (reached_level >= 0)) | ((level > 0) & (reached_level <= 0)))
        first_level = event(start, initial, event.parameters)
        levels = {level: (first_level, pt.where(accepted, reached_level, level))}
    derivative = f(start, initial, own)
    loop = scan(
        {
            t: (start, time),
            y: (initial, pt.where(accepted, behind, y)),
            first: (derivative, pt.where(accepted, slope, first)),
            h: (_first_length(f, method, start, initial, derivative, end, tolerance), following),
            rejections: (pt.as_tensor(0), again),
            refused: (pt.as_tensor(0), refused + pt.where(accepted, 0, 1)),
            finite: (pt.as_tensor(True), good),
            stopped: (pt.as_tensor(False), lost),
            ended: (pt.as_tensor(False), crossed),
            **levels,
        },
        {},
        [t, y, pt.where(accepted, length, 0.0)],
        length=max_steps,
        stop=arrived | lost | crossed,
    )
    times, states, lengths = loop.traces
    reached, refused_in_all, (at_last, given_up, at_event) = loop.last[0], loop.last[5], loop.last[6:9]
    return IntegrationSteps(times, states, lengths, loop.steps, refused_in_all, reached, at_last, given_up, at_event)


def _first_length(
    f: StateFunction, method: Method, start: Node, y: Node, slope: Node, end: Node, tolerance: Tolerance
) -> Node:
    """E. Hairer, S. P. Norsett, G. Wanner: Solving ordinary differential equations I (1993), II.4."""
    zero = pt.zeros_like(y)
    d0, d1 = (pt.sqrt(tolerance.square(x, y, zero)) for x in (y, slope))
    trial = pt.minimum(pt.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1), end - start)
    after = f(start + trial, y + trial * slope, f.parameters)
    d2 = pt.sqrt(tolerance.square(after - slope, y, zero)) / trial
    steep = pt.maximum(d1, d2)
    fitted = pt.where(steep <= 1e-15, pt.maximum(1e-6, 1e-3 * trial), (0.01 / steep) ** (1.0 / (method.order + 1)))
    return pt.where(pt.isfinite(fitted), pt.minimum(100 * trial, fitted), trial)
