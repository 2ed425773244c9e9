"""The place where a function of the state changes its sign: found within a step, with derivatives.

Recorded steps, of which the last one holds the event, in; its time and the state there out, NaN if there was none.
"""

from __future__ import annotations

import consilience.tensor as pt
from consilience.ir import Node
from consilience.ode.dense_output import states_at
from consilience.ode.integration import IntegrationSteps, Method
from consilience.ode.state_function import StateFunction

HALVINGS = 52


def event_of(event: StateFunction, steps: IntegrationSteps, f: StateFunction, method: Method) -> tuple[Node, Node]:
    """Time and state of the event in the last of the steps, which have derivatives.

    The time is found by bisection of the interpolated states, which is not differentiated; a step of Newton's method
    from there changes no value, and has the derivative of the implicit function.
    """
    time = pt.stop_gradient(_bisected(event, steps, f, method))
    state = states_at(time[None], steps, f, method)[0]
    slope = f(time, state, f.parameters)
    by_state, by_time = event.linearised(time, state, event.parameters)
    rate = pt.stop_gradient(by_time + pt.sum(by_state * slope))
    level = event(time, state, event.parameters)
    delay = pt.where(pt.eq(rate, 0.0), pt.nan, (pt.stop_gradient(level) - level) / rate)
    found = time + delay, state + pt.stop_gradient(slope) * delay
    there = pt.where(steps.ended, 0.0, pt.nan)
    return found[0] + there, found[1] + there


def _bisected(event: StateFunction, steps: IntegrationSteps, f: StateFunction, method: Method) -> Node:
    """The time at which the interpolated states change the sign of the event."""
    last = steps.count - 1
    begin, h, before = steps.times[last], steps.lengths[last], steps.states[last]
    positive = event(begin, before, event.parameters) > 0

    def halve(low: Node, high: Node) -> tuple[Node, Node]:
        middle = 0.5 * (low + high)
        state = method.within(f, begin, before, h, middle, f.parameters)
        early = pt.eq(event(begin + middle * h, state, event.parameters) > 0, positive)
        return pt.where(early, middle, low), pt.where(early, high, middle)

    _, highs = pt.scan(halve, outputs_info=[0.0, 1.0], n_steps=HALVINGS, return_updates=False)
    time: Node = begin + highs[-1] * h
    return time
