"""Complex values as pairs of real ones: a graph with complex nodes in, the same in real and imaginary parts out.

Machine code and derivatives know real numbers only. Complex inputs and outputs of a graph are their callers' to
replace; here are the formulas for everything between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from consilience.errors import MissingRuleError
from consilience.ir import (
    COMPLEXES,
    Constant,
    Node,
    TensorType,
    TupleType,
    constant,
    is_leaf,
    rebuild,
    tensor_input,
    topological,
)
from consilience.ir.side_tables import describe
from consilience.ops import (
    BroadcastTo,
    Cast,
    Concatenate,
    Cumulative,
    Elementwise,
    ExpandDims,
    Index,
    IndexUpdate,
    Item,
    MatMul,
    Reduce,
    Reshape,
    Squeeze,
    StopGradient,
    Transpose,
    apply,
    cast,
)
from consilience.ops.dtypes import part_of
from consilience.ops.index import getitem
from consilience.ops.loop import Scan, fresh
from consilience.ops.loop import parts as parts_of_loop
from consilience.ops.scalar import Column
from consilience.ops.scan import scan
from consilience.ops.shape import broadcast_to, concatenate, moveaxis
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix

Pair: TypeAlias = tuple[Node, Node]
# Ops that treat the parts alike.
PARTWISE = (
    BlockDiagonal, BroadcastTo, Concatenate, DiagonalMatrix, ExpandDims, Index, IndexUpdate, Reshape, Squeeze,
    StopGradient, Transpose,
)  # fmt: skip


def is_complex(node: Node) -> bool:
    """Whether a node is a complex tensor."""
    return isinstance(node.type, TensorType) and node.type.dtype in COMPLEXES


def without_complex(outputs: Sequence[Node]) -> tuple[list[Node], dict[Node, Node]]:
    """Real outputs computed without complex nodes, and the new node of every real one.

    Raises MissingRuleError for a complex leaf, or an op that has no form in pairs.
    """
    order = topological(outputs)
    if not any(map(is_complex, order)):
        return list(outputs), {}
    real: dict[Node, Node] = {}
    pairs: dict[Node, Pair] = {}
    loops: dict[Node, list[Node | Pair]] = {}
    for node in order:
        if isinstance(node.op, Scan) and any(
            t.dtype in COMPLEXES for t in node.op.body.parameters + node.op.body.result_types
        ):
            loops[node] = _loop(node, real, pairs)
        elif isinstance(node.op, Item) and node.inputs[0] in loops:
            member = loops[node.inputs[0]][node.op.position]
            if isinstance(member, tuple):
                pairs[node] = member
            else:
                real[node] = member
        elif is_complex(node):
            pairs[node] = _pair(node, real, pairs)
        elif any(i in pairs for i in node.inputs):
            real[node] = _real(node, real, pairs)
        else:
            if isinstance(node.type, TupleType) and any(t.dtype in COMPLEXES for t in node.type.items):
                raise _missing(node)
            real[node] = rebuild(node, tuple(real[i] for i in node.inputs))
    return [real[output] for output in outputs], real


def _missing(node: Node) -> MissingRuleError:
    return MissingRuleError(
        f"`{node.op!r}` of complex numbers is computed by `backend='reference'` only: {describe(node)}; "
        "write it in real and imaginary parts."
    )


def _parts(node: Node, real: dict[Node, Node], pairs: dict[Node, Pair]) -> Pair:
    return pairs[node] if node in pairs else (real[node], _zero(real[node]))


def _zero(x: Node) -> Node:
    return broadcast_to(constant(np.zeros((), x.dtype)), x.static_shape)


def _number(x: Node, value: float) -> Node:
    return constant(np.asarray(value, x.dtype))


def _pair(node: Node, real: dict[Node, Node], pairs: dict[Node, Pair]) -> Pair:
    op, part = node.op, part_of(node.dtype)
    if isinstance(op, Constant):
        return constant(op.array.real), constant(op.array.imag)
    if is_leaf(node):
        raise _missing(node)
    if isinstance(op, Cast):
        a, b = _parts(node.inputs[0], real, pairs)
        return cast(a, part), cast(b, part)
    if isinstance(op, PARTWISE):
        both = [_parts(i, real, pairs) if i in pairs else (real[i], real[i]) for i in node.inputs]
        return Node(op, *(a for a, _ in both)), Node(op, *(b for _, b in both))
    if isinstance(op, Elementwise):
        if op.function == "where":
            (condition, x, y) = node.inputs
            parts = zip(pairs[x], pairs[y], strict=True)
            first, second = (apply("where", real[condition], a, b) for a, b in parts)
            return first, second
        formula = FORMULAS.get(op.function)
        if formula is None:
            raise _missing(node)
        if op.function == "complex":
            return formula(*(real[i] for i in node.inputs))
        a, b = formula(*(pairs[i] for i in node.inputs))
        return broadcast_to(a, node.static_shape), broadcast_to(b, node.static_shape)
    if isinstance(op, MatMul):
        (a, b), (c, d) = (pairs[i] for i in node.inputs)
        return Node(op, a, c) - Node(op, b, d), Node(op, a, d) + Node(op, b, c)
    if isinstance(op, Reduce | Cumulative) and op.kind == "sum":
        a, b = pairs[node.inputs[0]]
        return Node(op, a), Node(op, b)
    if isinstance(op, Cumulative):
        return _running_product(op, pairs[node.inputs[0]])
    if isinstance(op, Reduce) and op.kind == "prod":
        return _product(node, pairs[node.inputs[0]], op.axes)
    raise _missing(node)


def _loop(node: Node, real: dict[Node, Node], pairs: dict[Node, Pair]) -> list[Node | Pair]:
    """The results of a loop that carries, reads and traces the parts of complex values."""
    of = parts_of_loop(node)
    op = of.op
    carried, heads = [_split(c) for c in of.carries], [_split(h) for h in of.heads]
    constants = [apply("complex", *pairs[c]) if c in pairs else real[c] for c in of.constants]
    written = op.body.apply(*(value for value, _ in (*carried, *heads)), *constants)
    flat = [part for result in written for part in _in_parts(result)]
    made = iter(without_complex(flat)[0])
    groups = [[next(made) for _ in _in_parts(result)] for result in written]
    states: dict[Node, tuple[Node, Node]] = {}
    for (_, leaves), initial, following in zip(carried, of.initial, groups, strict=False):
        states.update(zip(leaves, zip(_outer(initial, real, pairs), following, strict=True), strict=True))
    sequences: dict[Node, Node] = {}
    for (_, leaves), sequence in zip(heads, of.sequences, strict=True):
        sequences.update(zip(leaves, _outer(sequence, real, pairs), strict=True))
    traced = groups[op.carried : op.carried + op.traces]
    loop = scan(
        states,
        sequences,
        [part for group in traced for part in group],
        length=op.length,
        limit=real[of.limit],
        stop=groups[-1][0] if op.until else None,
        reverse=op.reverse,
        truncate=op.truncate,
    )
    found: list[Node | Pair] = [loop.steps]
    for results, sizes in ((iter(loop.last), groups[: op.carried]), (iter(loop.traces), traced)):
        for group in sizes:
            members = [next(results) for _ in group]
            found.append(members[0] if len(members) == 1 else (members[0], members[1]))
    return found


def _split(parameter: Node) -> tuple[Node, tuple[Node, ...]]:
    """A value of a body, and the leaves it is made of."""
    if not is_complex(parameter):
        leaf = fresh(parameter)
        return leaf, (leaf,)
    leaves = tuple(tensor_input(part_of(parameter.dtype), parameter.static_shape) for _ in range(2))
    return apply("complex", *leaves), leaves


def _in_parts(result: Node) -> tuple[Node, ...]:
    return (apply("real", result), apply("imag", result)) if is_complex(result) else (result,)


def _outer(node: Node, real: dict[Node, Node], pairs: dict[Node, Pair]) -> tuple[Node, ...]:
    return pairs[node] if node in pairs else (real[node],)


def _real(node: Node, real: dict[Node, Node], pairs: dict[Node, Pair]) -> Node:
    """A real value of complex ones."""
    op = node.op
    if isinstance(op, Cast) and op.dtype == "bool":
        a, b = pairs[node.inputs[0]]
        return apply("logical_or", apply("neq", a, 0), apply("neq", b, 0))
    formula = REAL_FORMULAS.get(op.function) if isinstance(op, Elementwise) else None
    if formula is None:
        raise _missing(node)
    return broadcast_to(formula(*(pairs[i] for i in node.inputs)), node.static_shape)


def _product(node: Node, x: Pair, axes: tuple[int, ...]) -> Pair:
    """The product over axes of known lengths: halves are multiplied until one element is left."""
    for axis in reversed(axes):
        length = x[0].static_shape[axis]
        if not isinstance(length, int):
            raise _missing(node)
        lead = (slice(None),) * axis
        if length == 0:
            shape = tuple(n for i, n in enumerate(x[0].static_shape) if i != axis)
            x = broadcast_to(_number(x[0], 1), shape), broadcast_to(_number(x[0], 0), shape)
            continue
        while length > 1:
            half = length // 2
            low, high = (_taken(x, (*lead, slice(i * half, (i + 1) * half))) for i in (0, 1))
            rest = _taken(x, (*lead, slice(2 * half, None)))
            made = _mul(low, high)
            x = made if length % 2 == 0 else _joined(made, rest, axis)
            length -= half
        x = _taken(x, (*lead, 0))
    return x


def _running_product(op: Cumulative, x: Pair) -> Pair:
    """One factor after the other."""
    a, b = (moveaxis(part, op.axis, 0) for part in x)
    rest = a.static_shape[1:]
    so_far, factor = ((tensor_input(a.dtype, rest), tensor_input(a.dtype, rest)) for _ in range(2))
    made = _mul(so_far, factor)
    first = (broadcast_to(_number(a, value), rest) for value in (1, 0))
    loop = scan(
        {leaf: (start, following) for leaf, start, following in zip(so_far, first, made, strict=True)},
        dict(zip(factor, (a, b), strict=True)),
        made,
        length=a.static_shape[0],
        reverse=op.reverse,
    )
    first_part, second = (moveaxis(trace, 0, op.axis) for trace in loop.traces)
    return first_part, second


def _taken(x: Pair, index: tuple[object, ...]) -> Pair:
    return getitem(x[0], index), getitem(x[1], index)


def _joined(x: Pair, y: Pair, axis: int) -> Pair:
    return concatenate([x[0], y[0]], axis), concatenate([x[1], y[1]], axis)


# ---- formulas: pairs in, a pair or a real value out


def _add(*terms: Pair) -> Pair:
    return apply("add", *(a for a, _ in terms)), apply("add", *(b for _, b in terms))


def _mul(*factors: Pair) -> Pair:
    a, b = factors[0]
    for c, d in factors[1:]:
        a, b = a * c - b * d, a * d + b * c
    return a, b


def _quotient(x: Pair, y: Pair) -> Pair:
    """Smith (1962), "Algorithm 116: complex division": no overflow of squares."""
    (a, b), (c, d) = x, y
    wide = apply("ge", apply("abs", c), apply("abs", d))
    large, small = apply("where", wide, c, d), apply("where", wide, d, c)
    ratio = apply("where", apply("eq", large, 0), small, small / large)  # both parts 0: NaN or infinity follows
    scale = large + small * ratio
    first = apply("where", wide, a + b * ratio, a * ratio + b)
    second = apply("where", wide, b - a * ratio, b * ratio - a)
    return first / scale, second / scale


def _size(x: Pair) -> Node:
    return apply("hypot", *x)


def _angle(x: Pair) -> Node:
    return apply("arctan2", x[1], x[0])


def _exp(x: Pair) -> Pair:
    a, b = x
    size = apply("exp", a)
    # exp of a real number is real, also where the exponential is infinite.
    return size * apply("cos", b), apply("where", apply("eq", b, 0), b, size * apply("sin", b))


def _log(x: Pair) -> Pair:
    """The logarithm of the size near 1 from what it is above 1."""
    size = _size(x)
    p, q = apply("abs", x[0]), apply("abs", x[1])
    high, low = apply("maximum", p, q), apply("minimum", p, q)
    near = apply("logical_and", size > _number(size, 0.7), size < _number(size, 1.4))
    one = _number(size, 1)
    above = (high - one) * (high + one) + low * low
    close = _number(size, 0.5) * apply("log1p", apply("where", near, above, _number(size, 0)))
    return apply("where", near, close, apply("log", size)), _angle(x)


def _sqrt(x: Pair) -> Pair:
    """Both parts from the larger of them, which does not cancel; the cut is along the negative axis."""
    a, b = x
    half = _number(a, 0.5)
    larger = apply("sqrt", half * apply("abs", a) + half * _size(x))
    none = apply("eq", larger, 0)
    smaller = apply("where", none, larger, half * apply("abs", b) / apply("where", none, _number(a, 1), larger))
    right = apply("ge", a, 0)
    return apply("where", right, larger, smaller), apply("copysign", apply("where", right, smaller, larger), b)


def _power(x: Pair, y: Pair) -> Pair:
    """exp(y log x); 0 ** y is 0 for y with a positive real part, x ** 0 is 1."""
    a, b = _exp(_mul(y, _log(x)))
    nothing = apply("logical_and", apply("eq", x[0], 0), apply("eq", x[1], 0))
    zero, one = _number(a, 0), _number(a, 1)
    trivial = apply("logical_and", apply("eq", y[0], 0), apply("eq", y[1], 0))
    vanishes = apply("logical_and", nothing, y[0] > zero)
    a = apply("where", trivial, one, apply("where", vanishes, zero, a))
    return a, apply("where", apply("logical_or", trivial, vanishes), zero, b)


def _sign(x: Pair) -> Pair:
    size = _size(x)
    divisor = apply("where", apply("eq", size, 0), _number(size, 1), size)
    return x[0] / divisor, x[1] / divisor


def _trigonometric(outer: tuple[str, str], inner: tuple[str, str], sign: float) -> Callable[[Pair], Pair]:
    """Functions of a sum by their addition theorem; `outer` is of the real part, `inner` of the imaginary one."""

    def formula(x: Pair) -> Pair:
        a, b = x
        first = apply(outer[0], a) * apply(inner[0], b)
        second = apply(outer[1], a) * apply(inner[1], b)
        return first, second if sign > 0 else -second

    return formula


FORMULAS: Final = Column[Callable[..., Pair]](
    "of complex numbers",
    {
        "complex": lambda re, im: (re, im),
        "add": _add,
        "mul": _mul,
        "sub": lambda x, y: (x[0] - y[0], x[1] - y[1]),
        "neg": lambda x: (-x[0], -x[1]),
        "conj": lambda x: (x[0], -x[1]),
        "square": lambda x: _mul(x, x),
        "true_div": _quotient,
        "reciprocal": lambda x: _quotient((_number(x[0], 1), _number(x[0], 0)), x),
        "exp": _exp,
        "log": _log,
        "log2": lambda x: _scaled(_log(x), 1 / math.log(2)),
        "log10": lambda x: _scaled(_log(x), 1 / math.log(10)),
        "sqrt": _sqrt,
        "pow": _power,
        "sign": _sign,
        "sin": _trigonometric(("sin", "cos"), ("cosh", "sinh"), 1),
        "cos": _trigonometric(("cos", "sin"), ("cosh", "sinh"), -1),
        "sinh": _trigonometric(("sinh", "cosh"), ("cos", "sin"), 1),
        "cosh": _trigonometric(("cosh", "sinh"), ("cos", "sin"), 1),
    },
)
REAL_FORMULAS: Final = Column[Callable[..., Node]](
    "real, of complex numbers",
    {
        "real": lambda x: x[0],
        "imag": lambda x: x[1],
        "modulus": _size,
        "angle": _angle,
        "eq": lambda x, y: apply("logical_and", apply("eq", x[0], y[0]), apply("eq", x[1], y[1])),
        "neq": lambda x, y: apply("logical_or", apply("neq", x[0], y[0]), apply("neq", x[1], y[1])),
        "isnan": lambda x: apply("logical_or", apply("isnan", x[0]), apply("isnan", x[1])),
        "isinf": lambda x: apply("logical_or", apply("isinf", x[0]), apply("isinf", x[1])),
        "isfinite": lambda x: apply("logical_and", apply("isfinite", x[0]), apply("isfinite", x[1])),
    },
)


def _scaled(x: Pair, factor: float) -> Pair:
    return x[0] * factor, x[1] * factor
