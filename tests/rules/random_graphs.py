"""Random expressions over inputs of several shapes, for laws that hold of every graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.ir import Node, constant, tensor_input
from consilience.ops import apply, as_tensor, getitem, reduce
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, reshape, squeeze, transpose

Choose = Callable[[int], int]

UNARY = (
    "exp",
    "log",
    "neg",
    "square",
    "sqrt",
    "abs",
    "reciprocal",
    "log1p",
    "expm1",
    "softplus",
    "sigmoid",
    "tanh",
)
BINARY = ("add", "sub", "mul", "true_div", "maximum", "minimum", "add", "sub", "mul", "true_div")
NUMBERS = (0.0, 1.0, -1.0, 2.0, -0.5, 3.0, 0.25)


def leaves() -> dict[str, Node]:
    """Fresh inputs of distinct sizes."""
    shapes = {"s": (), "r": (), "v": (4,), "w": (4,), "row": (1, 4), "column": (3, 1), "m": (3, 4)}
    return {name: tensor_input("float64", shape, name) for name, shape in shapes.items()}


def random_graph(choose: Choose, inputs: dict[str, Node], steps: int) -> Node:
    """An expression of some steps; `choose(n)` gives a number below n."""
    pool = list(inputs.values())
    for _ in range(steps):
        made = _step(choose, pool)
        if made is not None:
            pool.append(made)
    return pool[-1]


def _step(choose: Choose, pool: list[Node]) -> Node | None:
    # Later values are chosen more often, so that expressions become deep.
    def pick() -> Node:
        return pool[-1 - min(choose(len(pool)), choose(len(pool)), choose(6))]

    kind, x = choose(12), pick()
    if kind < 3:
        return apply(UNARY[choose(len(UNARY))], x)
    if kind < 7:
        y: Any = NUMBERS[choose(len(NUMBERS))] if choose(4) == 0 else pick()
        pair = (x, y) if choose(2) else (y, x)
        return _fitting(BINARY[choose(len(BINARY))], *pair)
    if kind == 7 and x.ndim:
        return reduce(("sum", "max", "prod", "logsumexp", "sum", "sum")[choose(6)], x, choose(x.ndim), bool(choose(2)))
    if kind == 8:
        return _view(choose, x)
    if kind == 9 and x.ndim:
        return _part(choose, x)
    if kind == 10:
        condition = apply("gt", pick(), 0.0)
        return _fitting("where", condition, x, pick())
    if kind == 11 and x.ndim:
        y = pick()
        axis = choose(x.ndim)
        fits = y.ndim == x.ndim and all(
            a == b for i, (a, b) in enumerate(zip(x.static_shape, y.static_shape, strict=True)) if i != axis
        )
        return concatenate([x, y], axis) if fits else None
    return None


def _fitting(function: str, *operands: Any) -> Node | None:
    shapes = [as_tensor(o).static_shape for o in operands]
    try:
        np.broadcast_shapes(*shapes)  # type: ignore[arg-type]  # all lengths are integers
    except ValueError:
        return None
    return apply(function, *operands)


def _view(choose: Choose, x: Node) -> Node | None:
    kind = choose(5)
    if kind == 0 and x.ndim < 3:
        return expand_dims(x, choose(x.ndim + 1))
    if kind == 1 and 1 in x.static_shape:
        return squeeze(x, x.static_shape.index(1))
    if kind == 2 and x.ndim > 1:
        return transpose(x)
    if kind == 3 and x.ndim < 3 and x.tensor_type.size != 0:
        return broadcast_to(x, (2, *x.static_shape) if choose(2) else tuple(5 if n == 1 else n for n in x.static_shape))
    return reshape(x, (-1,)) if kind == 4 else None


def _part(choose: Choose, x: Node) -> Node | None:
    axis = choose(x.ndim)
    length = x.static_shape[axis]
    assert isinstance(length, int)
    if not length:
        return None
    lead = (slice(None),) * axis
    kind = choose(4)
    if kind == 0:
        return getitem(x, (*lead, choose(length)))
    if kind == 1:
        return getitem(x, (*lead, constant([choose(length) for _ in range(3)])))
    start, stop = sorted((choose(length), choose(length) + 1))
    taken = getitem(x, (*lead, slice(start, stop)))
    if kind == 2:
        return taken if taken.tensor_type.size else None
    if taken is x:
        return None
    values = NUMBERS[choose(len(NUMBERS))]
    return taken.set(values) if choose(2) else taken.inc(values)
