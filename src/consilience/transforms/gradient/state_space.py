"""Pullbacks of linear Gaussian state spaces: one pass backwards makes all of them, and a loop the second ones."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Dim, Node, constant, tensor_input
from consilience.ir.lengths import substitute
from consilience.ops import Item
from consilience.ops.elementwise import apply
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul
from consilience.ops.reduce import reduce
from consilience.ops.scan import scan
from consilience.ops.shape import expand_dims, eye, full, moveaxis, reshape, squeeze, stack
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
        return _of_what_is_kept(node, density, stored, wanted)
    if density is None:
        return [None] * 9
    slopes = KalmanSlopes(op.moving, op.diffuse, op.columns if wanted[3] else (), wanted[1])
    made = Node(slopes, *node.inputs, Node(Item(1), node))
    found: list[Node | None] = []
    for k, x in enumerate(node.inputs[:8]):
        own = range(density.ndim, x.ndim)
        found.append(apply("mul", Node(Item(k), made), expand_dims(density, own)) if wanted[k] else None)
    return [*found, None]


def _of_what_is_kept(node: Node, density: Node | None, stored: Node, wanted: Sequence[bool]) -> Cotangents:
    """Filtered means, errors and their variances, and the last covariance: derivatives of a loop that gives them."""
    op: KalmanFilter = node.op
    leaves = {name: tensor_input(x.dtype, x.static_shape) for name, x in zip(OPERANDS, node.inputs, strict=False)}
    made = _loop(op, leaves, node.inputs[8], Node(Item(1), node))
    given = {made[name]: _part(op, node.inputs, stored, name) for name in ("v", "f", "means", "end")}
    if density is not None:
        given[made["total"]] = density
    asked_for = [name for name, yes in zip(OPERANDS, wanted, strict=False) if yes]
    found = accumulate(given, [leaves[name] for name in asked_for])
    known = {name: x for name, x in zip(asked_for, found, strict=True) if x is not None}
    made_of = substitute([*known.values()], dict(zip(leaves.values(), node.inputs, strict=False)))
    by_name = dict(zip(known, made_of, strict=True))
    return [*(by_name.get(name) for name in OPERANDS), None]


def _part(op: KalmanFilter | KalmanSlopes, operands: Sequence[Node], stored: Node, name: str) -> Node:
    """An array of what the filter kept, without the columns that fill it up."""
    *batch, times, p = operands[0].static_shape
    n = operands[6].static_shape[-1]
    start: Dim = 0
    for key, length in kept(times, p, n, op.diffuse).items():
        if key == name:
            break
        start = start + length
    found = getitem(stored, (Ellipsis, slice(start, start + length)))
    rows = {"means": times, "end": n}.get(name)
    if rows is None:
        return reshape(found, (*batch, times, p))
    return reshape(found, (*batch, rows, (n + 7) // 8 * 8))[..., :n]


@pullback_of(KalmanSlopes)
def _slopes(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    """Derivatives of the slopes along `g`: of a loop over times, which takes the turns that the filter took."""
    op = node.op
    assert isinstance(op, KalmanSlopes)
    free_way = g[8] if op.diffuse else None
    ways = dict(zip(OPERANDS, g[:8], strict=True))
    if not op.by_Z:
        ways["Z"] = None
    if op.columns is not None and ways["T"] is not None:
        size = node.inputs[6].static_shape[-1]
        asked = constant([float(k in op.columns) for k in range(int(size))])
        ways["T"] = ways["T"] * asked if op.columns else None
    along = {name: way for name, way in ways.items() if way is not None}
    if not along and free_way is None:
        return [None] * 10
    leaves = {name: tensor_input(x.dtype, x.static_shape) for name, x in zip(OPERANDS, node.inputs, strict=False)}
    made = _loop(op, leaves, node.inputs[8], node.inputs[9])
    density = made["total"]
    total = reduce("sum", density, None) if density.ndim else density
    first = accumulate({total: constant(1.0)}, [leaves[name] for name in along])
    slopes = {slope: way for slope, way in zip(first, along.values(), strict=True) if slope is not None}
    if free_way is not None:
        slopes[_of_first(op, leaves, made)] = free_way
    asked_for = [name for name, yes in zip(OPERANDS, wanted, strict=False) if yes]
    second = accumulate(slopes, [leaves[name] for name in asked_for])
    whole = [zeros_like(leaves[name]) if x is None else x for name, x in zip(asked_for, second, strict=True)]
    places = dict(zip(leaves.values(), node.inputs, strict=False))
    found = dict(zip(asked_for, substitute(whole, places), strict=True))
    return [*(found.get(name) for name in OPERANDS), None, None]


def _loop(op: KalmanFilter | KalmanSlopes, x: dict[str, Node], free: Node, stored: Node) -> dict[str, Node]:
    """The filter as a loop over times, observation by observation, with the turns that it took.

    Returns the log density `total`, errors `v` and their variances `f` of all observations, means behind each time, and
    the last covariance, `end`; and what smoothing needs: covariances `M` of states and observations, and of diffuse
    states their diffuse parts `Mi` and `fi`, whether observations were `ordinary` or `diffuse`, and `Z` and `T`.
    """
    batch, times, p = x["y"].static_shape[:-2], *x["y"].static_shape[-2:]
    n = x["a1"].static_shape[-1]
    assert isinstance(p, int)
    kinds = _part(op, [x[name] for name in OPERANDS], stored, "kinds")
    ordinary, diffuse = (apply("eq", kinds, kind) for kind in (ORDINARY, DIFFUSE))
    y = apply("where", apply("gt", kinds, 0.0), x["y"], 0.0)
    series = {"y": y, "ordinary": ordinary} | ({"diffuse": diffuse} if op.diffuse else {})
    x = x | {"P1": symmetric(x["P1"]), "Q": symmetric(x["Q"])}
    series |= {name: x[name] for name in op.moving}
    by_time = {name: moveaxis(s, len(batch), 0) for name, s in series.items()}
    heads = {name: _leaf(s[0]) for name, s in by_time.items()}
    now = heads | {name: getitem(x[name], (*(slice(None),) * len(batch), 0)) for name in "ZhTQc" if name not in heads}
    start = {"a": x["a1"], "P": x["P1"], "total": full(tuple(batch), 0.0), "end": x["P1"]}
    if op.diffuse:
        start["free"] = expand_dims(free, 1) * eye(n) + zeros_like(x["P1"])
    states = {name: _leaf(s) for name, s in start.items()}
    following = dict(states)
    each: list[dict[str, Node]] = []
    for i in range(p):
        following, found = _observed(now, following, i)
        each.append(found)
    T = now["T"]
    following["end"] = following["P"]
    traced = {name: stack([found[name] for found in each], len(batch)) for name in each[0]}
    traced["means"] = following["a"]
    following["a"] = _times(T, following["a"]) + now["c"]
    following["P"] = matmul(matmul(T, following["P"]), T.mT) + now["Q"]
    if op.diffuse:
        following["free"] = matmul(matmul(T, following["free"]), T.mT)
    loop = scan(
        {states[name]: (start[name], following[name]) for name in start},
        {heads[name]: s for name, s in by_time.items()},
        list(traced.values()),
        length=times,
    )
    found = {name: moveaxis(x, 0, len(batch)) for name, x in zip(traced, loop.traces, strict=True)}
    found |= {name: series[name] for name in ("ordinary", "diffuse") if name in series}
    return found | {name: loop.last[list(start).index(name)] for name in ("total", "end")}


def _of_first(op: KalmanSlopes, x: dict[str, Node], made: dict[str, Node]) -> Node:
    """What the diffuse part of the first state is multiplied by to give its smoothed mean.

    The pass backwards of Durbin and Koopman (2012, sections 5.3 and 6.4), with r = r0 + r1 / k for a diffuse variance k.
    """
    *batch, times, p = x["y"].static_shape
    series = {name: made[name] for name in ("v", "f", "fi", "M", "Mi", "ordinary", "diffuse")}
    series |= {name: x[name] for name in op.moving if name in "ZT"}
    by_time = {name: moveaxis(s, len(batch), 0) for name, s in series.items()}
    heads = {name: _leaf(s[0]) for name, s in by_time.items()}
    now = heads | {name: getitem(x[name], (*(slice(None),) * len(batch), 0)) for name in "ZT" if name not in heads}
    start = zeros_like(x["a1"])
    before = [_leaf(start), _leaf(start)]
    r0, r1 = (_times(now["T"].mT, r) for r in before)
    for i in reversed(range(p)):
        z, M, Mi = now["Z"][..., i, :], now["M"][..., i, :], now["Mi"][..., i, :]
        v, f, fi = (_column(now[name][..., i]) for name in ("v", "f", "fi"))
        ordinary, diffuse = (_column(now[name][..., i]) for name in ("ordinary", "diffuse"))
        usual, unknown = apply("where", ordinary, f, 1.0), apply("where", diffuse, fi, 1.0)
        gain = apply("where", ordinary, M / usual, apply("where", diffuse, Mi / unknown, 0.0))
        lesser = apply("where", diffuse, M / unknown - Mi * f / (unknown * unknown), 0.0)
        first = apply("where", diffuse, v / unknown, 0.0) - _column(reduce("sum", lesser * r0, -1))
        r1 = r1 + z * (first - _column(reduce("sum", gain * r1, -1)))
        r0 = r0 + z * (apply("where", ordinary, v / usual, 0.0) - _column(reduce("sum", gain * r0, -1)))
    loop = scan(
        {before[0]: (start, r0), before[1]: (start, r1)},
        {heads[name]: s for name, s in by_time.items()},
        [],
        length=times,
        reverse=True,
    )
    return loop.last[1]


def _observed(now: dict[str, Node], state: dict[str, Node], i: int) -> tuple[dict[str, Node], dict[str, Node]]:
    """Mean, covariances and log density behind observation i of a time; and its error, with what belongs to that."""
    z, h, y, ordinary = now["Z"][..., i, :], now["h"][..., i], now["y"][..., i], now["ordinary"][..., i]
    a, P, total = state["a"], state["P"], state["total"]
    seen = _times(P, z)
    v = y - reduce("sum", z * a, -1)
    f = reduce("sum", z * seen, -1) + h
    scale = apply("where", ordinary, f, 1.0)
    told = LOG_TWO_PI + apply("log", scale) + v * v / scale
    gain = apply("where", expand_dims(ordinary, ordinary.ndim), seen / _column(scale), 0.0)
    own = {"v": v, "f": f, "M": seen}
    found = {"P": P - _outer(gain, seen), "total": total - apply("where", ordinary, 0.5 * told, 0.0)}
    if "free" in state:
        told_first, free = now["diffuse"][..., i], state["free"]
        open_ = _times(free, z)
        own |= {"Mi": open_, "fi": reduce("sum", z * open_, -1)}
        variance = apply("where", told_first, own["fi"], 1.0)
        first = apply("where", expand_dims(told_first, told_first.ndim), open_ / _column(variance), 0.0)
        both = _outer(first, seen)
        found["P"] = found["P"] + _outer(first, first) * _column(_column(f)) - both - both.mT
        found["free"] = free - _outer(first, open_)
        found["total"] = found["total"] - apply(
            "where", told_first, 0.5 * (LOG_TWO_PI + apply("log", variance)), 0.0
        )  # fmt: skip
        gain = gain + first
    return found | {"a": a + gain * _column(v)}, own


def _leaf(like: Node) -> Node:
    return tensor_input(like.dtype, like.static_shape)


def _column(x: Node) -> Node:
    return expand_dims(x, x.ndim)


def _outer(u: Node, v: Node) -> Node:
    return expand_dims(u, u.ndim) * expand_dims(v, v.ndim - 1)


def _times(matrix: Node, vector: Node) -> Node:
    return squeeze(matmul(matrix, expand_dims(vector, vector.ndim)), -1)
