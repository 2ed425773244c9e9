"""States of linear Gaussian state spaces, given a series: filtered, smoothed and drawn, residuals, and what follows.

In: a bound `LinearGaussianStateSpace` and a series. Out: expressions. Draws of states are the mean of a drawn path of
the prior, and of what the data say of the difference (Durbin and Koopman 2002, Biometrika 89).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.distributions.recursion import along
from consilience.distributions.shapes import spread
from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ops import Item, apply
from consilience.ops.elementwise import cast
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul, matrix_transpose
from consilience.ops.shape import expand_dims, reshape, squeeze
from consilience.ops.state_space import KalmanSlopes, kept

ORDINARY = 1.0
RANKS = {"a0": 1, "P0": 2, "T": 2, "Z": 2, "H": 2, "Q": 2, "c": 1, "d": 1}
"""Of each matrix of a space at one time."""


def times(matrix: Node, vector: Node) -> Node:
    """The product for every batch position."""
    return squeeze(matmul(matrix, expand_dims(vector, vector.ndim)), -1)


class Filtered:
    """What the filter found, read from what it keeps.

    space (LinearGaussianStateSpace): A bound distribution.
    y (TensorVariable): A series or a batch of them; NaN is missing.
    """

    def __init__(self, space: Any, y: Node) -> None:
        self.space, self.node = space, space.filtering(y, with_steps=True)
        *self.batch, times, p = self.node.inputs[0].static_shape
        self.n = space.a0.static_shape[-1]
        self.inner: Dim = self.node.inputs[6].static_shape[-1]
        self.shape: tuple[Dim, Dim] = (times, p)

    def _read(self, name: str, *shape: Dim) -> Node:
        """An array of what was kept."""
        start: Dim = 0
        op: Any = self.node.op
        for key, length in kept(*self.shape, self.inner, op.diffuse).items():
            if key == name:
                found = getitem(Node(Item(1), self.node), (Ellipsis, slice(start, start + length)))
                return reshape(found, (*self.batch, *shape))
            start = start + length
        raise KeyError(name)

    @property
    def _width(self) -> Dim:
        return (self.inner + 7) // 8 * 8

    def means(self) -> Node:
        """Means of the states given the series up to their time, shape (..., times, n)."""
        return self._read("means", self.shape[0], self._width)[..., : self.n]

    def last_covariance(self) -> Node:
        """Covariance of the last state given the series, shape (..., n, n)."""
        return self._read("end", self.inner, self._width)[..., : self.n, : self.n]

    def residuals(self) -> Node:
        """One-step residuals in units of their standard deviations, shape (..., times, p); NaN where there is none.

        Within a time, each is given the observations of that time before it, so that all are independent.
        """
        kinds, v, f = (self._read(name, *self.shape) for name in ("kinds", "v", "f"))
        usual = apply("eq", kinds, ORDINARY)
        scale = apply("sqrt", apply("where", usual, f, 1.0))
        return apply("where", usual, apply("true_div", v, scale), np.nan)

    def smoothed(self) -> Node:
        """Means of the states given the whole series, shape (..., times, n)."""
        op: Any = self.node.op
        slopes = KalmanSlopes(op.moving, op.diffuse, (), False)
        made = Node(slopes, *self.node.inputs, Node(Item(1), self.node))
        T, Q, c, start, variance, free = (self.node.inputs[k] for k in (3, 4, 5, 6, 7, 8))
        first = start + times(variance, Node(Item(6), made)) + free * Node(Item(8), made)
        pushes = c + times(Q, Node(Item(5), made))
        width = self.inner
        series = [pushes]
        if T.static_shape[-3] != 1:
            series.append(reshape(T, (*T.static_shape[:-2], width * width)))
        first = spread(first, (*self.batch, width))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            own = reshape(heads[1], (*heads[1].static_shape[:-1], width, width)) if len(heads) > 1 else T[..., 0, :, :]
            moved = spread(times(own, states[0]) + heads[0], (*self.batch, width))
            return [moved], [states[0]]

        _, (found,) = along(step, [first], series, self.shape[0], behind=1, within=1)
        return found[..., : self.n]


def drawn_states(space: Any, y: Node, key: Node) -> Node:
    """A draw of all states given a series, shape (..., times, n)."""
    states, errors = space.drawn_parts(key, y.static_shape, centred=True)
    seen = times(space.timed("Z"), states) + errors
    found: Node = states + Filtered(space, cast(y, "float64") - seen).smoothed()
    return found


def following(space: Any, y: Node, periods: Dim, future: Mapping[str, Any]) -> Node:
    """The distribution of the series that goes on behind a series; `future` has the matrices that vary in time."""
    given = {name: future.get(name, space.by_name()[name]) for name in ("T", "Z", "H", "Q", "c", "d")}
    for name in space.varying:
        length = given[name].static_shape[-1 - RANKS[name]] if name in future else 0
        if isinstance(length, int) and isinstance(periods, int) and length != periods:
            raise ShapeError(
                f"the matrix `{name}` varies in time, and its values for the {periods} periods that follow are not "
                f"known: make the numbers along time `pm.Data`, and give the later ones, `exog={{name: values}}`."
            )
    found = Filtered(space, y)
    last = {name: getitem(x, (Ellipsis, -1, *(slice(None),) * RANKS[name])) if name in space.varying else x
            for name, x in space.by_name().items()}  # fmt: skip
    T = last["T"]
    mean = times(T, found.means()[..., -1, :]) + last["c"]
    covariance = matmul(matmul(T, found.last_covariance()), matrix_transpose(T)) + last["Q"]
    made: Node = type(space).dist(a0=mean, P0=covariance, **given, varying=space.varying, steps=periods - 1, shape=None)
    return made


def impulse_responses(space: Any, periods: int, shock: Node) -> Node:
    """What a shock to the states moves of the states, from its own time on: shape (..., periods, n)."""
    T = space.T

    def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
        return [spread(times(T, states[0]), states[0].static_shape)], [states[0]]

    _, (found,) = along(step, [shock], [], periods, behind=1, within=1)
    return found
