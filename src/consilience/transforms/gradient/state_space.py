"""Pullbacks of linear Gaussian state spaces: one pass backwards makes all of them, and a loop the second ones."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node, constant, tensor_input
from consilience.ir.lengths import substitute
from consilience.ops import Item
from consilience.ops.elementwise import apply
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul
from consilience.ops.reduce import reduce
from consilience.ops.scan import scan
from consilience.ops.shape import expand_dims, eye, full, moveaxis, reshape, squeeze
from consilience.ops.state_space import OPERANDS, KalmanFilter, KalmanSlopes, kept
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.linalg import symmetric
from consilience.transforms.gradient.table import Cotangents, pullback_of

ORDINARY, DIFFUSE, LOG_TWO_PI = 1.0, 2.0, 1.8378770664093453


@pullback_of(KalmanFilter)
def _filter(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    op, (density, stored) = node.op, g
    assert isinstance(op, KalmanFilter)
    if stored is not None:
        raise MissingRuleError(
            "derivatives of filtered states and residuals of `LinearGaussianStateSpace` are not known, those of its "
            "log density and of smoothed states are."
        )
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
    """Derivatives of the slopes along `g`: of a loop over times, which takes the turns that the filter took."""
    op = node.op
    assert isinstance(op, KalmanSlopes)
    if op.diffuse and g[8] is not None:
        raise MissingRuleError("derivatives of smoothed diffuse states of `LinearGaussianStateSpace` are not known.")
    ways = dict(zip(OPERANDS, g[:8], strict=True))
    if not op.by_Z:
        ways["Z"] = None
    if op.columns is not None and ways["T"] is not None:
        size = node.inputs[6].static_shape[-1]
        asked = constant([float(k in op.columns) for k in range(int(size))])
        ways["T"] = ways["T"] * asked if op.columns else None
    along = {name: way for name, way in ways.items() if way is not None}
    if not along:
        return [None] * 10
    leaves = {name: tensor_input(x.dtype, x.static_shape) for name, x in zip(OPERANDS, node.inputs, strict=False)}
    density = _loop(op, leaves, node.inputs[8], node.inputs[9])
    total = reduce("sum", density, None) if density.ndim else density
    first = accumulate({total: constant(1.0)}, [leaves[name] for name in along])
    slopes = {slope: way for slope, way in zip(first, along.values(), strict=True) if slope is not None}
    asked_for = [name for name, yes in zip(OPERANDS, wanted, strict=False) if yes]
    second = accumulate(slopes, [leaves[name] for name in asked_for])
    made = [zeros_like(leaves[name]) if x is None else x for name, x in zip(asked_for, second, strict=True)]
    places = dict(zip(leaves.values(), node.inputs, strict=False))
    found = dict(zip(asked_for, substitute(made, places), strict=True))
    return [*(found.get(name) for name in OPERANDS), None, None]


def _loop(op: KalmanSlopes, x: dict[str, Node], free: Node, stored: Node) -> Node:
    """The log density as a loop over times, observation by observation, with the turns that the filter took."""
    *batch, times, p = x["y"].static_shape
    n = x["a1"].static_shape[-1]
    assert isinstance(p, int)
    length = kept(times, p, n, op.diffuse)["kinds"]
    kinds = reshape(getitem(stored, (Ellipsis, slice(0, length))), (*batch, times, p))
    ordinary, diffuse = (apply("eq", kinds, kind) for kind in (ORDINARY, DIFFUSE))
    y = apply("where", apply("gt", kinds, 0.0), x["y"], 0.0)
    series = {"y": y, "ordinary": ordinary} | ({"diffuse": diffuse} if op.diffuse else {})
    x = x | {"P1": symmetric(x["P1"]), "Q": symmetric(x["Q"])}
    series |= {name: x[name] for name in op.moving}
    by_time = {name: moveaxis(s, len(batch), 0) for name, s in series.items()}
    heads = {name: _leaf(s[0]) for name, s in by_time.items()}
    now = heads | {name: getitem(x[name], (*(slice(None),) * len(batch), 0)) for name in "ZhTQc" if name not in heads}
    start = {"a": x["a1"], "P": x["P1"], "total": full(tuple(batch), 0.0)}
    if op.diffuse:
        start["free"] = expand_dims(free, 1) * eye(n) + zeros_like(x["P1"])
    states = {name: _leaf(s) for name, s in start.items()}
    following = dict(states)
    for i in range(p):
        following = _observed(now, following, i)
    T = now["T"]
    following["a"] = _times(T, following["a"]) + now["c"]
    following["P"] = matmul(matmul(T, following["P"]), T.mT) + now["Q"]
    if op.diffuse:
        following["free"] = matmul(matmul(T, following["free"]), T.mT)
    loop = scan(
        {states[name]: (start[name], following[name]) for name in start},
        {heads[name]: s for name, s in by_time.items()},
        [],
        length=times,
    )
    return loop.last[list(start).index("total")]


def _observed(now: dict[str, Node], state: dict[str, Node], i: int) -> dict[str, Node]:
    """Mean, covariances and log density behind observation i of a time."""
    z, h, y, ordinary = now["Z"][..., i, :], now["h"][..., i], now["y"][..., i], now["ordinary"][..., i]
    a, P, total = state["a"], state["P"], state["total"]
    seen = _times(P, z)
    v = y - reduce("sum", z * a, -1)
    f = reduce("sum", z * seen, -1) + h
    scale = apply("where", ordinary, f, 1.0)
    told = LOG_TWO_PI + apply("log", scale) + v * v / scale
    gain = apply("where", expand_dims(ordinary, ordinary.ndim), seen / _column(scale), 0.0)
    found = {"P": P - _outer(gain, seen), "total": total - apply("where", ordinary, 0.5 * told, 0.0)}
    if "free" in state:
        told_first, free = now["diffuse"][..., i], state["free"]
        open_ = _times(free, z)
        variance = apply("where", told_first, reduce("sum", z * open_, -1), 1.0)
        first = apply("where", expand_dims(told_first, told_first.ndim), open_ / _column(variance), 0.0)
        both = _outer(first, seen)
        found["P"] = found["P"] + _outer(first, first) * _column(_column(f)) - both - both.mT
        found["free"] = free - _outer(first, open_)
        found["total"] = found["total"] - apply(
            "where", told_first, 0.5 * (LOG_TWO_PI + apply("log", variance)), 0.0
        )  # fmt: skip
        gain = gain + first
    return found | {"a": a + gain * _column(v)}


def _leaf(like: Node) -> Node:
    return tensor_input(like.dtype, like.static_shape)


def _column(x: Node) -> Node:
    return expand_dims(x, x.ndim)


def _outer(u: Node, v: Node) -> Node:
    return expand_dims(u, u.ndim) * expand_dims(v, v.ndim - 1)


def _times(matrix: Node, vector: Node) -> Node:
    return squeeze(matmul(matrix, expand_dims(vector, vector.ndim)), -1)
