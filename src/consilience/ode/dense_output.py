"""States at given times from recorded steps, by the interpolation that belongs to the method.

Steps and times in; one state for every time out, NaN where the integration did not arrive.
"""

from __future__ import annotations

import numpy as np

import consilience.tensor as pt
from consilience.ir import Node, tensor_input
from consilience.ode.integration import IntegrationSteps, Method
from consilience.ode.state_function import StateFunction
from consilience.ops.scan import scan


def states_at(times: Node, steps: IntegrationSteps, f: StateFunction, method: Method) -> Node:
    """The states at a vector of times, one row for each; the stages of the steps they lie in are computed again."""

    def state(time: Node, begin: Node, h: Node, before: Node) -> Node:
        return method.within(f, begin, before, h, pt.where(h > 0, (time - begin) / h, 0.0), f.parameters)

    place = _place(times, steps)
    found = pt.scan(
        state,
        sequences=[times, steps.times[place], steps.lengths[place], steps.states[place]],
        return_updates=False,
    )
    known = (times >= steps.times[0]) & (times <= steps.reached)
    return pt.where(known[:, None], found, pt.nan)


def _place(times: Node, steps: IntegrationSteps) -> Node:
    """For each time the number of the accepted step in which, or at whose end, it lies; found by bisection."""
    low, high = (tensor_input("int64", times.static_shape) for _ in range(2))
    begins, lengths = pt.stop_gradient(steps.times), pt.stop_gradient(steps.lengths)
    middle = (low + high) // 2
    later = begins[middle] + lengths[middle] < times
    first = pt.zeros_like(times, dtype="int64")
    powers = 2 ** np.arange(int(steps.times.static_shape[0]).bit_length())
    loop = scan(
        {
            low: (first, pt.where(later, pt.minimum(middle + 1, high), low)),
            high: (first + steps.count - 1, pt.where(later, high, middle)),
        },
        {},
        [],
        length=len(powers),
        limit=pt.sum(steps.count > powers),
    )
    return loop.last[0]
