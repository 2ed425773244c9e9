"""A Rosenbrock method of order 5(4) for stiff equations, L-stable: one factorisation per step and no iteration.

A right-hand side with its Jacobian and a step in; the state behind the step, the estimated error and states within the
step out.
"""

from __future__ import annotations

from typing import Final

import consilience.tensor as pt
from consilience.ir import Node
from consilience.ode.elimination import solver
from consilience.ode.state_function import StateFunction
from consilience.record import Record

Parameters = tuple[Node, ...]


class Rosenbrock(Record):
    """A stiffly accurate Rosenbrock method: (1 - gamma h J) u_i = gamma h (f_i + h d_i df/dt) + gamma sum_j C_ij u_j.

    `gamma`: diagonal coefficient.
    `nodes`: times of the stages, in steps.
    `stages`: coefficients a_ij of earlier u_j in the state of a stage; the last row, with one for the last u, gives the
        state behind the step.
    `couplings`: coefficients C_ij.
    `by_time`: coefficients d_i.
    `interpolation`: rows of coefficients of all u_i, see `within`.
    `order`: of the state behind the step.
    """

    gamma: float
    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    couplings: tuple[tuple[float, ...], ...]
    by_time: tuple[float, ...]
    interpolation: tuple[tuple[float, ...], ...]
    order: int

    def attempt(
        self, f: StateFunction, t: Node, y: Node, h: Node, first: Node, parameters: Parameters
    ) -> tuple[Node, Node, Node]:
        """State and derivative behind a step of length h, and the error; `first` is the derivative before it."""
        increments = self._increments(f, t, y, h, first, parameters)
        state = _sum(y, (*self.stages[-1], 1.0), increments)
        return state, f(t + h, state, parameters), increments[-1]

    def advance(self, f: StateFunction, t: Node, y: Node, h: Node, parameters: Parameters) -> Node:
        """The state behind a step of length h."""
        increments = self._increments(f, t, y, h, f(t, y, parameters), parameters)
        return _sum(y, (*self.stages[-1], 1.0), increments)

    def within(self, f: StateFunction, t: Node, y: Node, h: Node, s: Node, parameters: Parameters) -> Node:
        """The state at t + s h, 0 <= s <= 1: linear between the ends, plus s (1 - s) times a polynomial."""
        increments = self._increments(f, t, y, h, f(t, y, parameters), parameters)
        behind = _sum(y, (*self.stages[-1], 1.0), increments)
        curved = pt.zeros_like(y)
        for row in reversed(self.interpolation):
            curved = _sum(s * curved, row, increments)
        return (1 - s) * y + s * (behind + (1 - s) * curved)

    def _increments(
        self, f: StateFunction, t: Node, y: Node, h: Node, first: Node, parameters: Parameters
    ) -> list[Node]:
        """The increments u_i of all stages."""
        jacobian, by_time = f.linearised(t, y, parameters)
        scale = self.gamma * h
        solve = solver(pt.eye(y.shape[0]) - scale * jacobian)
        found: list[Node] = []
        for node, stage, coupling, slope in zip(self.nodes, self.stages, self.couplings, self.by_time, strict=True):
            derivative = f(t + node * h, _sum(y, stage, found), parameters) if found else first
            right = scale * (derivative + (slope * h) * by_time if slope else derivative)
            found.append(solve(_sum(right, tuple(self.gamma * c for c in coupling), found)))
        return found


def _sum(start: Node, weights: tuple[float, ...], terms: list[Node]) -> Node:
    for weight, term in zip(weights, terms, strict=True):
        start = start + (term if weight == 1.0 else weight * term) if weight else start
    return start


_LAST = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)

# G. Steinebach: Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks (2023).
RODAS5P: Final = Rosenbrock(
    gamma=0.21193756319429014,
    nodes=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
    stages=(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _LAST,
        (*_LAST, 1.0),
        (*_LAST, 1.0, 1.0),
    ),
    couplings=(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (
            30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
            -28.087943162872662,
        ),
        (
            37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
            -54.66780262877968, -9.48861652309627,
        ),
    ),
    by_time=(
        0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069,
        0.0, 0.0, 0.0,
    ),
    interpolation=(
        (
            25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
            1.1241088310450404, 0.4272876194431874, -0.17202221070155493,
        ),
        (
            -9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
            15.98066361424651, -6.789040303419874, -6.710236069923372,
        ),
        (
            11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
            -59.78993625266729, -0.15582684282751913, 4.883087185713722,
        ),
    ),
    order=5,
)  # fmt: skip
