"""Explicit Runge-Kutta pairs of order 5(4) with interpolation of order 4.

A right-hand side and a step in; the state behind the step, the estimated error and states within the step out.
"""

from __future__ import annotations

from typing import Final

import consilience.tensor as pt
from consilience.ir import Node
from consilience.ode.state_function import StateFunction
from consilience.record import Record

Parameters = tuple[Node, ...]


class ExplicitPair(Record):
    """An explicit method whose last stage is the derivative behind the step.

    `nodes`: times of the stages, in steps.
    `stages`: coefficients of the earlier stages, per stage; those of the last give the state behind the step.
    `error`: coefficients of all stages in the difference between the two methods of the pair.
    `interpolation`: per stage the coefficients of s, s^2, … of its weight at s steps.
    `order`: of the state behind the step.
    """

    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    error: tuple[float, ...]
    interpolation: tuple[tuple[float, ...], ...]
    order: int

    def attempt(
        self, f: StateFunction, t: Node, y: Node, h: Node, first: Node, parameters: Parameters
    ) -> tuple[Node, Node, Node]:
        """State and derivative behind a step of length h, and the error; `first` is the derivative before it."""
        slopes, state = self._slopes(f, t, y, h, first, parameters, len(self.nodes))
        return state, slopes[-1], _moved(None, h, self.error, slopes)

    def advance(self, f: StateFunction, t: Node, y: Node, h: Node, parameters: Parameters) -> Node:
        """The state behind a step of length h."""
        slopes, _ = self._slopes(f, t, y, h, f(t, y, parameters), parameters, len(self.nodes) - 1)
        return _moved(y, h, self.stages[-1], slopes)

    def within(self, f: StateFunction, t: Node, y: Node, h: Node, s: Node, parameters: Parameters) -> Node:
        """The state at t + s h, 0 <= s <= 1."""
        slopes, _ = self._slopes(f, t, y, h, f(t, y, parameters), parameters, len(self.nodes))
        total = pt.zeros_like(y)
        for row, slope in zip(self.interpolation, slopes, strict=True):
            if any(row):
                total = total + _polynomial(row, s) * slope
        return y + h * total

    def _slopes(
        self, f: StateFunction, t: Node, y: Node, h: Node, first: Node, parameters: Parameters, count: int
    ) -> tuple[list[Node], Node]:
        """The derivatives of `count` stages, and the state of the last one."""
        slopes, state = [first], y
        for node, row in zip(self.nodes[1:count], self.stages[1:count], strict=True):
            state = _moved(y, h, row, slopes)
            slopes.append(f(t + node * h, state, parameters))
        return slopes, state


def _moved(y: Node | None, h: Node, weights: tuple[float, ...], slopes: list[Node]) -> Node:
    """y + h times the weighted sum of slopes; the last slope, which is known last, is added last."""
    *earlier, (weight, slope) = [(w, k) for w, k in zip(weights, slopes, strict=True) if w]
    state = y
    if earlier:
        total = earlier[0][0] * earlier[0][1]
        for w, k in earlier[1:]:
            total = total + w * k
        state = h * total if y is None else y + h * total
    return (h * weight) * slope if state is None else state + (h * weight) * slope


def _polynomial(coefficients: tuple[float, ...], s: Node) -> Node:
    """Sum of c_i s^i, i from 1."""
    value = coefficients[-1] * s
    for c in reversed(coefficients[:-1]):
        value = (value + c) * s
    return value


# J. R. Dormand, P. J. Prince: A family of embedded Runge-Kutta formulae (1980); the interpolation is that of
# L. F. Shampine: Some practical Runge-Kutta formulas (1986).
DORMAND_PRINCE: Final = ExplicitPair(
    nodes=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    stages=(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    error=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
    interpolation=(
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ),
    order=5,
)

# Ch. Tsitouras: Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption (2011).
TSITOURAS: Final = ExplicitPair(
    nodes=(0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    stages=(
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        (
            0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
            2.324710524099774,
        ),
    ),
    error=(
        -0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
        0.5823571654525552, -0.45808210592918697, 1 / 66,
    ),
    interpolation=(
        (1.0, -2.763706197274826, 2.9132554618219126, -1.0530884977290216),
        (0.0, 0.1317, -0.2234, 0.1017),
        (0.0, 3.9302962368947516, -5.941033872131505, 2.490627285651253),
        (0.0, -12.411077166933676, 30.33818863028232, -16.548102889244902),
        (0.0, 37.50931341651104, -88.1789048947664, 47.37952196281928),
        (0.0, -27.896526289197286, 65.09189467479366, -34.8706578614966),
        (0.0, 1.5, -4.0, 2.5),
    ),
    order=5,
)  # fmt: skip
