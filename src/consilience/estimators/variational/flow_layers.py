"""Layers of a normalising flow: invertible maps of vectors with parameters, and logs of their Jacobian determinants.

Rows of coordinates and parameters in, as expressions; moved rows and one log determinant per row out. Which layers
follow each other is in `flow`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from consilience.estimators.approximations.target import Floats
from consilience.ir import Node, constant
from consilience.ops.elementwise import apply
from consilience.ops.linalg import matmul
from consilience.ops.reduce import reduce
from consilience.ops.shape import reshape
from consilience.record import Record

ONE: Final = float(np.log(math.e - 1.0))  # softplus of it is 1
TINY: Final = 1e-12  # added to squares whose root is taken
FLATTEST: Final = 2.0  # greatest log of a scale that a network gives
SMALL: Final = 0.1  # deviation of parameters that would stay at a saddle if they began at 0
FEWEST_HIDDEN: Final = 16  # units of a network's hidden layer

Moved = tuple[Node, Node]
Parts = tuple[Node, ...]


class Layer(Record, eq=False):
    """One kind of map.

    `shapes`: of its parameters, from the dimension. `begin`: these at the start, from the dimension, random numbers and
    the place of the layer: near the identity. `move`: rows (rows, dimension), parameters and the place to the moved
    rows and log determinants (rows,). `fewest`: coordinates that it needs.
    """

    shapes: Callable[[int], list[tuple[int, ...]]]
    begin: Callable[[int, np.random.Generator, int], list[Any]]
    move: Callable[[Node, Parts, int], Moved]
    fewest: int = 1

    def count(self, dimension: int) -> int:
        """Number of parameters."""
        return sum(int(np.prod(s)) for s in self.shapes(dimension))


def _zeros(z: Node) -> Node:
    return constant(np.zeros(z.static_shape[0]))


def _total(x: Node) -> Node:
    return reduce("sum", x, (-1,))


def _column(x: Node) -> Node:
    return reshape(x, (*x.static_shape, 1))


def _dimension(z: Node) -> int:
    return int(z.static_shape[1])


def _loc(z: Node, parts: Parts, place: int) -> Moved:
    return z + parts[0], _zeros(z)


def _scale(z: Node, parts: Parts, place: int) -> Moved:
    return z * apply("exp", parts[0]), _zeros(z) + reduce("sum", parts[0], (0,))


def _householder(z: Node, parts: Parts, place: int) -> Moved:
    (v,) = parts
    along = _total(z * v) / (reduce("sum", v * v, (0,)) + TINY)
    return z - 2.0 * _column(along) * v, _zeros(z)


def _planar(z: Node, parts: Parts, place: int) -> Moved:
    """z + u tanh(w'z + b), with w'u > -1 by adding a multiple of w to u."""
    u, w, b = parts
    product = reduce("sum", u * w, (0,))
    allowed = apply("softplus", product + ONE) - 1.0
    u = u + (allowed - product) / (reduce("sum", w * w, (0,)) + TINY) * w
    bent = apply("tanh", _total(z * w) + b)
    return z + _column(bent) * u, apply("log", 1.0 + (1.0 - bent * bent) * allowed)


def _radial(z: Node, parts: Parts, place: int) -> Moved:
    """z + beta / (alpha + r) (z - centre), r the distance, with beta > -alpha."""
    centre, a, b = parts
    alpha = apply("exp", a)
    beta = alpha * (apply("softplus", b + ONE) - 1.0)
    apart = z - centre
    near = 1.0 / (alpha + apply("sqrt", _total(apart * apart) + TINY))
    across = 1.0 + beta * near
    along = 1.0 + alpha * beta * near * near
    return z + _column(beta * near) * apart, (_dimension(z) - 1.0) * apply("log", across) + apply("log", along)


def _hidden(dimension: int) -> int:
    return max(FEWEST_HIDDEN, 2 * dimension)


def _network_shapes(n: int) -> list[tuple[int, ...]]:
    h = _hidden(n)
    return [(n, h), (h,), (h, n), (n,), (h, n), (n,), (n, n)]


def _network_begin(n: int, generator: np.random.Generator, place: int) -> list[Floats]:
    shapes = _network_shapes(n)
    first = [generator.standard_normal(shapes[0]) / np.sqrt(n), generator.standard_normal(shapes[1])]
    return [*first, *(np.zeros(s) for s in shapes[2:])]


def _network(z: Node, parts: Parts, inner: Any, outer: Any, direct: Any) -> Moved:
    """Logs of scales and shifts: one hidden layer of tanh, and a linear map past it; masks say what reads what."""
    weights, bias, shifts, shift, scales, scale, linear = parts
    units = apply("tanh", matmul(z, weights * constant(inner)) + bias)
    moved = matmul(units, shifts * constant(outer)) + shift + matmul(z, linear * constant(direct))
    wide = matmul(units, scales * constant(outer)) + scale
    return FLATTEST * apply("tanh", wide / FLATTEST), moved


def _coupling(z: Node, parts: Parts, place: int) -> Moved:
    """One half of the coordinates is scaled and shifted by functions of the other half; layers in pairs swap them."""
    n = _dimension(z)
    order = np.arange(n) if place < 2 else np.random.Generator(np.random.Philox(place // 2)).permutation(n)
    fixed = np.zeros(n)
    fixed[order[: n // 2] if place % 2 == 0 else order[n // 2 :]] = 1.0
    h = _hidden(n)
    free = 1.0 - fixed
    wide, shift = _network(z, parts, np.outer(fixed, np.ones(h)), np.outer(np.ones(h), free), np.outer(fixed, free))
    wide = wide * constant(free)
    return z * apply("exp", wide) + shift * constant(free), _total(wide)


def _autoregressive(z: Node, parts: Parts, place: int) -> Moved:
    """Every coordinate is scaled and shifted by functions of those before it; the order turns round between layers."""
    n = _dimension(z)
    rank = np.arange(n) if place % 2 == 0 else np.arange(n)[::-1]
    unit = np.arange(_hidden(n)) % max(1, n - 1)  # reads coordinates up to this rank
    inner, outer = rank[:, None] <= unit, unit[:, None] < rank
    wide, shift = _network(z, parts, inner * 1.0, outer * 1.0, (rank[:, None] < rank) * 1.0)
    return z * apply("exp", wide) + shift, _total(wide)


def _vector(n: int) -> list[tuple[int, ...]]:
    return [(n,)]


LAYERS: Final[dict[str, Layer]] = {
    "loc": Layer(_vector, lambda n, g, k: [np.zeros(n)], _loc),
    "scale": Layer(_vector, lambda n, g, k: [np.zeros(n)], _scale),
    "hh": Layer(_vector, lambda n, g, k: [g.standard_normal(n)], _householder),
    "planar": Layer(
        lambda n: [(n,), (n,), ()],
        lambda n, g, k: [SMALL * g.standard_normal(n), g.standard_normal(n) / np.sqrt(n), g.standard_normal()],
        _planar,
    ),
    "radial": Layer(
        lambda n: [(n,), (), ()],
        lambda n, g, k: [g.standard_normal(n), 0.0, SMALL * g.standard_normal()],
        _radial,
    ),
    "coupling": Layer(_network_shapes, _network_begin, _coupling, fewest=2),
    "iaf": Layer(_network_shapes, _network_begin, _autoregressive),
}
