"""What every derivative obeys, checked on a function and a point: shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference import evaluate
from consilience.ir import Node, tensor_input
from consilience.transforms.gradient import pullback, pushforward

Array = npt.NDArray[Any]
Function = Callable[..., Node | Sequence[Node]]


def inputs_like(arrays: Sequence[Array], symbolic: bool) -> list[Node]:
    """Float inputs for arrays; lengths other than 1 are symbols when `symbolic`."""
    return [
        tensor_input(str(a.dtype), [None if symbolic and n != 1 else n for n in a.shape], f"x{i}")
        for i, a in enumerate(arrays)
    ]


def listed(results: Node | Sequence[Node]) -> list[Node]:
    return [results] if isinstance(results, Node) else list(results)


def check_derivatives(
    function: Function,
    arrays: Sequence[Array],
    *,
    rtol: float = 1e-6,
    step: float = 1e-3,
    symbolic: bool = False,
    tangents: Sequence[Array] | None = None,
    seed: int = 1,
) -> None:
    """Pullback and pushforward agree with each other, with finite differences, and keep types.

    function   nodes to one node or several
    arrays     the point, one float64 array per argument
    tangents   the direction of the derivative (random when None); give one to stay on a surface
    """
    generator = np.random.default_rng(seed)
    arrays = [np.asarray(a, dtype="float64") for a in arrays]
    if tangents is None:
        tangents = [generator.uniform(-1.0, 1.0, a.shape) for a in arrays]
    nodes = inputs_like(arrays, symbolic)
    outputs = listed(function(*nodes))
    values = evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    cotangents = [np.asarray(generator.uniform(-1.0, 1.0, v.shape)) for v in values]

    given = [tensor_input(o.dtype, o.static_shape) for o in outputs]
    pulled = pullback(outputs, nodes, given)
    directions = [tensor_input(n.dtype, n.static_shape) for n in nodes]
    pushed = pushforward(outputs, nodes, directions)
    assert [p.type for p in pulled] == [n.type for n in nodes]
    assert [p.type for p in pushed] == [o.type for o in outputs]

    point = dict(zip(nodes, arrays, strict=True))
    back = evaluate(pulled, point | dict(zip(given, cotangents, strict=True)))
    forth = evaluate(pushed, point | dict(zip(directions, tangents, strict=True)))
    for array, result in zip(arrays, back, strict=True):
        assert result.shape == array.shape
    for value, result in zip(values, forth, strict=True):
        assert result.shape == value.shape

    scale = sum(float(np.sum(np.abs(u * f))) for u, f in zip(cotangents, forth, strict=True)) + 1e-300
    forwards = sum(float(np.sum(u * f)) for u, f in zip(cotangents, forth, strict=True))
    backwards = sum(float(np.sum(b * t)) for b, t in zip(back, tangents, strict=True))
    assert abs(forwards - backwards) <= 1e-9 * max(scale, 1.0), "<u, J v> differs from <J' u, v>"

    differences = directional_difference(outputs, nodes, arrays, tangents, step)
    for expected, result in zip(differences, forth, strict=True):
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol * max(1.0, _largest(expected)))


def directional_difference(
    outputs: Sequence[Node],
    nodes: Sequence[Node],
    arrays: Sequence[Array],
    tangents: Sequence[Array],
    step: float,
) -> list[Array]:
    """Central differences along a direction, extrapolated to sixth order (Richardson)."""

    def central(h: float) -> list[Array]:
        sides = []
        for sign in (1.0, -1.0):
            moved = [a + sign * h * t for a, t in zip(arrays, tangents, strict=True)]
            sides.append(evaluate(outputs, dict(zip(nodes, moved, strict=True))))
        return [(up - down) / (2.0 * h) for up, down in zip(*sides, strict=True)]

    first, second, third = central(step), central(step / 2.0), central(step / 4.0)
    result = []
    for a, b, c in zip(first, second, third, strict=True):
        once, twice = (4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0
        result.append((16.0 * twice - once) / 15.0)
    return result


def check_each_entry(function: Callable[..., Node], arrays: Sequence[Array], rtol: float = 1e-6) -> None:
    """Every entry of the pullback of ones against a difference in that entry alone."""
    nodes = inputs_like(arrays, False)
    output = function(*nodes)
    ones = np.ones(evaluate([output], dict(zip(nodes, arrays, strict=True)))[0].shape)
    seed = tensor_input("float64", ones.shape)
    point = dict(zip(nodes, arrays, strict=True))
    back = evaluate(pullback([output], nodes, [seed]), point | {seed: ones})
    for i, array in enumerate(arrays):
        expected = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            tangents = [np.zeros(a.shape) for a in arrays]
            tangents[i][place] = 1.0
            (slope,) = directional_difference([output], nodes, arrays, tangents, 1e-3)
            expected[place] = slope.sum()
        np.testing.assert_allclose(back[i], expected, rtol=rtol, atol=rtol * max(1.0, _largest(expected)))


def _largest(array: Array) -> float:
    return float(np.max(np.abs(array))) if array.size else 0.0
