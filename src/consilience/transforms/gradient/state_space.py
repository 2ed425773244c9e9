"""Pullbacks of linear Gaussian state spaces: one pass backwards makes all of them."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ops import Item
from consilience.ops.elementwise import apply
from consilience.ops.shape import expand_dims
from consilience.ops.state_space import KalmanFilter, KalmanSlopes
from consilience.transforms.gradient.table import Cotangents, pullback_of


@pullback_of(KalmanFilter)
def _filter(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    op, (density, _) = node.op, g
    assert isinstance(op, KalmanFilter)
    if density is None:
        return [None] * 9
    slopes = KalmanSlopes(op.moving, op.diffuse, op.columns if wanted[3] else (), wanted[1])
    made = Node(slopes, *node.inputs, Node(Item(1), node))
    found: list[Node | None] = []
    for k, x in enumerate(node.inputs[:8]):
        own = range(density.ndim, x.ndim)
        found.append(apply("mul", Node(Item(k), made), expand_dims(density, own)) if wanted[k] else None)
    return [*found, None]


@pullback_of(KalmanSlopes)
def _slopes(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    raise MissingRuleError(
        "second derivatives of `LinearGaussianStateSpace` are not there yet: use methods that need first derivatives "
        "only (`pm.sample`, `pm.find_MAP`, `pm.fit`), or differences of the gradient."
    )
