"""Forms that lose digits or overflow, replaced by functions that do not.

The left sides stand in the normal form of the algebra rules and of this table itself: 1 - exp(x) has
become -expm1(x) before a logarithm looks at it.
"""

from __future__ import annotations

import math
from math import inf

from consilience.ir import FLOATS, Constant, Node, Shared, constant
from consilience.ops import BroadcastTo, ExpandDims, Index, Reduce, Softmax, apply
from consilience.ops.index import At
from consilience.ops.shape import Iota, expand_dims
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import Term, at_least, given, non_negative, non_positive, probability
from consilience.rewrite.rule import Rule, rewrites, rule
from consilience.rewrite.rules.notation import (
    FINITE,
    erf,
    erfc,
    exp,
    expm1,
    less,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    logit,
    reciprocal,
    sigmoid,
    softplus,
    sqrt,
    square,
    where,
    x,
    xlog1py,
    xlogy,
    y,
)
from consilience.rewrite.rules.operands import function_of, is_number, value_of

# Sums of more exponentials are left: `logsumexp` over an axis is the form for many.
MOST_TERMS = 4

EXPONENTIALS = (
    rule("exp - 1", exp(x) - 1, expm1(x)),
    rule("1 - exp", 1 - exp(x), -expm1(x)),
    rule("expm1 + 1", expm1(x) + 1, exp(x)),
    rule("-1 - expm1", -expm1(x) - 1, -exp(x)),
    rule("exp of log", exp(log(x)), x, given(non_negative(x))),
    rule("exp of log1p", exp(log1p(x)), 1 + x, given(at_least(x, -1))),
    rule("expm1 of log1p", expm1(log1p(x)), x, given(at_least(x, -1))),
    rule("exp of softplus", exp(softplus(x)), 1 + exp(x)),
    rule("exp of -softplus", exp(-softplus(x)), sigmoid(-x)),
    rule("exp of log1mexp", exp(log1mexp(x)), -expm1(x), given(non_positive(x))),
)

LOGARITHMS = (
    rule("log of exp", log(exp(x)), x),
    rule("log of expm1 + ...", log1p(expm1(x)), x),
    rule("log of 1 + x", log(1 + x), log1p(x)),
    rule("log of -expm1", log(-expm1(x)), log1mexp(x)),
    rule("log1p of -exp", log1p(-exp(x)), log1mexp(x)),
    rule("log1p of exp", log1p(exp(x)), softplus(x)),
    rule("log1p of exp²", log1p(square(exp(x))), softplus(2 * x)),
    rule("log of a sum of exponentials", log(exp(x) + exp(y)), logaddexp(x, y)),
    rule("log of sigmoid", log(sigmoid(x)), -softplus(-x)),
    rule("log1p of -sigmoid", log1p(-sigmoid(x)), -softplus(x)),
    rule("log1mexp of log of 1 - exp", log1mexp(log1mexp(x)), x, given(non_positive(x))),
    rule("log1mexp of log of sigmoid", log1mexp(-softplus(x)), -softplus(-x)),
    rule("logaddexp with 0", logaddexp(x, 0), softplus(x)),
)

SIGMOIDS = (
    rule("1 / (1 + exp)", 1 / (1 + exp(x)), sigmoid(-x)),
    rule("exp / (1 + exp)", exp(x) / (1 + exp(x)), sigmoid(x), domain={x: FINITE}),
    rule("exp * sigmoid", exp(x) * sigmoid(-x), sigmoid(x), domain={x: FINITE}),
    rule("exp(-x) * sigmoid", exp(-x) * sigmoid(x), sigmoid(-x), domain={x: FINITE}),
    rule("1 - sigmoid", 1 - sigmoid(x), sigmoid(-x)),
    rule("sigmoid - 1", sigmoid(x) - 1, -sigmoid(-x)),
    rule("odds of sigmoid", sigmoid(x) / sigmoid(-x), exp(x)),
    rule("odds of sigmoid of -x", sigmoid(-x) / sigmoid(x), exp(-x)),
    rule("logit of sigmoid", logit(sigmoid(x)), x),
    rule("sigmoid of logit", sigmoid(logit(x)), x, given(probability(x))),
    rule("xlogy of sigmoid", xlogy(y, sigmoid(x)), -(y * softplus(-x)), domain={x: (-700.0, 1e300), y: FINITE}),
    rule("xlog1py of -sigmoid", xlog1py(y, -sigmoid(x)), -(y * softplus(x)), domain={x: (-1e300, 15.0), y: FINITE}),
    rule("xlogy of exp", xlogy(y, exp(x)), y * x, domain={x: (-700.0, 700.0), y: FINITE}),
    rule("softplus of log", softplus(log(x)), log1p(x), given(non_negative(x))),
)

LOG_2 = math.log(2.0)
SQRT_2 = math.sqrt(2.0)
TAIL = -0.5  # below it 1 + erf(x) has lost digits


def _log1p_of_erf(x: Term) -> Term:
    """log(1 + erf(x)): near 0 it is -log(1 - erf(x) / (1 + erf(x))), which keeps the digits of small x."""
    near = where(less(x, TAIL), 0.0, x)
    return where(less(x, TAIL), LOG_2 + log_ndtr(SQRT_2 * x), -log1p(-erf(near) / erfc(-near)))


ERROR_FUNCTIONS = (
    rule("1 - erf", 1 - erf(x), erfc(x)),
    rule("erf - 1", erf(x) - 1, -erfc(x)),
    rule("1 + erf", 1 + erf(x), erfc(-x)),
    rule("1 - erfc", 1 - erfc(x), erf(x)),
    rule("erfc - 1", erfc(x) - 1, -erf(x)),
    rule("2 - erfc", 2 - erfc(x), erfc(-x)),
    rule("1/2 + erf / 2", 0.5 + 0.5 * erf(x), 0.5 * erfc(-x), domain={x: (-2.0, inf)}),
    rule("1/2 - erf / 2", 0.5 + -0.5 * erf(x), 0.5 * erfc(x), domain={x: (-inf, 2.0)}),
    rule("1 - erfc / 2", 1 + -0.5 * erfc(x), 0.5 * erfc(-x), domain={x: (-2.0, inf)}),
    rule("log of erfc", log(erfc(x)), LOG_2 + log_ndtr(-SQRT_2 * x)),
    rule("log1p of -erfc / 2", log1p(-0.5 * erfc(x)), log_ndtr(SQRT_2 * x), domain={x: (-2.0, inf)}),
    rule("log1p of erf", log1p(erf(x)), _log1p_of_erf(x), domain={x: (-2.0, inf)}),
    rule("log1p of -erf", log1p(-erf(x)), _log1p_of_erf(-x), domain={x: (-inf, 2.0)}),
    rule("xlogy of erfc / 2", xlogy(y, 0.5 * erfc(x)), y * log_ndtr(-SQRT_2 * x), domain={x: (-26.0, 26.0), y: FINITE}),
    rule(
        "xlog1py of -erfc / 2",
        xlog1py(y, -0.5 * erfc(x)),
        y * log_ndtr(SQRT_2 * x),
        domain={x: (-2.0, 26.0), y: FINITE},
    ),
)


@rewrites(
    "log",
    name="log of a sum over exp",
    operands=[Reduce],
    examples=[lambda t: t.log(t.exp(t.matrix).sum(axis=1)), lambda t: t.log(t.exp(t.vector).sum())],
)
def log_of_sum_of_exponentials(node: Node, facts: Facts) -> Node | None:
    """log(sum(exp(x))) is logsumexp(x)."""
    total = node.inputs[0]
    if not isinstance(total.op, Reduce) or total.op.kind != "sum" or function_of(total.inputs[0]) != "exp":
        return None
    return Node(Reduce("logsumexp", total.op.axes), total.inputs[0].inputs[0])


def _exponential(term: Node, facts: Facts) -> bool:
    """Whether a term is a product of factors > 0 one of which is an exponential, so that its log is better.

    Weights that are given may be 0. Where a factor that is computed vanishes, such as a square, the derivative of its
    logarithm does not exist, though that of the term does.
    """
    if function_of(term) in ("mul", "true_div"):
        found = any(_exponential(f, facts) for f in term.inputs)
        return found and all(facts.positive(f) or (facts.non_negative(f) and _given(f)) for f in term.inputs)
    if function_of(term) == "square":
        return function_of(term.inputs[0]) == "exp"
    return function_of(term) == "exp"


def _given(x: Node) -> bool:
    """Whether x is a constant or data, of which no derivative is taken."""
    while isinstance(x.op, ExpandDims | BroadcastTo):
        x = x.inputs[0]
    return isinstance(x.op, Constant | Shared)


@rewrites(
    "log",
    name="log of weighted exponentials",
    operands=[Reduce, "add"],
    examples=[
        lambda t: t.log((t.positive_vector * t.exp(t.vector)).sum()),
        lambda t: t.log(t.positive * t.exp(t.x) + 2.0 * t.exp(t.y)),
        lambda t: t.log(2.0 + t.exp(t.x)),
    ],
)
def log_of_weighted(node: Node, facts: Facts) -> Node | None:
    """log(Σ wᵢ exp(xᵢ)) is logsumexp(log(w) + x) for weights >= 0."""
    total = node.inputs[0]
    if isinstance(total.op, Reduce):
        if total.op.kind != "sum" or not _exponential(total.inputs[0], facts):
            return None
        return Node(Reduce("logsumexp", total.op.axes), apply("log", total.inputs[0]))
    if function_of(total) != "add" or len(total.inputs) > MOST_TERMS:
        return None
    terms = total.inputs
    at_hand = [is_number(t) and float(value_of(t)) > 0 for t in terms]
    if sum(at_hand) == len(terms) or not all(n or _exponential(t, facts) for n, t in zip(at_hand, terms, strict=True)):
        return None
    result = apply("log", terms[0])
    for term in terms[1:]:
        result = apply("logaddexp", result, apply("log", term))
    return result


@rewrites(
    "log1p",
    name="log1p of weighted exponentials",
    operands=["mul", "true_div"],
    examples=[lambda t: t.log1p(0.04 * t.exp(t.x)), lambda t: t.log1p(t.positive * t.exp(t.x) ** 2)],
)
def log1p_of_weighted(node: Node, facts: Facts) -> Node | None:
    """log(1 + w exp(x)) is softplus(log(w) + x) for w >= 0."""
    product = node.inputs[0]
    return apply("softplus", apply("log", product)) if _exponential(product, facts) else None


@rewrites(
    "log1p_square",
    name="log1p_square of weighted exponentials",
    operands=["exp", "mul", "true_div"],
    examples=[lambda t: t.log1p_square(t.exp(t.x)), lambda t: t.log1p_square(t.positive * t.exp(t.x))],
)
def log1p_square_of_weighted(node: Node, facts: Facts) -> Node | None:
    """log(1 + w^2 exp(2 x)) is softplus(2 (log(w) + x)) for w >= 0."""
    product = node.inputs[0]
    return apply("softplus", 2.0 * apply("log", product)) if _exponential(product, facts) else None


@rewrites(
    "true_div",
    "mul",
    name="exp over its sum",
    operands=["exp"],
    examples=[
        lambda t: t.exp(t.assumed_matrix) / t.exp(t.assumed_matrix).sum(axis=1, keepdims=True),
        lambda t: t.exp(t.assumed) / t.exp(t.assumed).sum(),
    ],
)
def softmax(node: Node, facts: Facts) -> Node | None:
    """exp(x) / sum(exp(x)) is softmax(x), which does not overflow; an infinite x is outside."""
    for place, top in enumerate(node.inputs):
        if function_of(top) != "exp" or (place and function_of(node) == "true_div"):
            continue
        for other in node.inputs:
            if function_of(node) == "mul":
                if function_of(other) != "reciprocal" and not isinstance(other.op, ExpandDims):
                    continue
                bottom = _argument(other, "reciprocal")
            else:
                bottom = other
            reduced = None if bottom is None else _reduced_in_place(bottom, "sum")
            if reduced is None or reduced[0] is not top:
                continue
            result = Node(Softmax(reduced[1]), top.inputs[0])
            rest = [i for i in node.inputs if i is not top and i is not other]
            return apply("mul", result, *rest) if rest else result
    return None


def _reduced_in_place(node: Node, kind: str) -> tuple[Node, tuple[int, ...]] | None:
    """x and the axes of a reduction of x that broadcasts against x with every axis in its place."""
    inner = node.inputs[0] if isinstance(node.op, ExpandDims) else node
    if not isinstance(inner.op, Reduce) or inner.op.kind != kind:
        return None
    axes = inner.op.axes
    in_place = axes == tuple(range(len(axes))) if node is inner else expand_dims(inner, axes) is node
    return (inner.inputs[0], axes) if in_place else None


def _argument(node: Node, function: str) -> Node | None:
    """y of f(y), the new axes of a node put on y."""
    if function_of(node) == function:
        return node.inputs[0]
    if isinstance(node.op, ExpandDims) and function_of(node.inputs[0]) == function:
        return expand_dims(node.inputs[0].inputs[0], node.op.axes)
    return None


@rewrites(
    "exp",
    "log",
    name="exp and log of softmax",
    operands=[Softmax],
    examples=[lambda t: t.exp(t.log_softmax(t.assumed_matrix, 1)), lambda t: t.log(t.softmax(t.vector))],
)
def of_softmax(node: Node, facts: Facts) -> Node | None:
    """log(softmax(x)) is log_softmax(x), exp(log_softmax(x)) is softmax(x); an infinite x is outside."""
    (inner,) = node.inputs
    wanted = function_of(node) == "log"
    if not isinstance(inner.op, Softmax) or inner.op.logarithm is wanted:
        return None
    return Node(Softmax(inner.op.axes, wanted), *inner.inputs)


@rewrites(
    "xlogy",
    name="xlogy of softmax",
    operands=[Softmax, Index, BroadcastTo, ExpandDims],
    examples=[
        lambda t: t.xlogy(t.x, t.softmax(t.vector)),
        lambda t: t.xlogy(t.x, t.softmax(t.vector)[0]),
    ],
)
def xlogy_of_softmax(node: Node, facts: Facts) -> Node | None:
    """y log(softmax(x)) is y log_softmax(x), which is finite where softmax is 0; an infinite x is outside."""
    weight, inner = node.inputs
    found = _log_of_softmax(inner)
    return None if found is None else apply("mul", weight, found)


def _log_of_softmax(inner: Node) -> Node | None:
    """The logarithm of a softmax, or of elements of one."""
    path = []
    while isinstance(inner.op, Index | BroadcastTo | ExpandDims):
        path.append(inner)
        inner = inner.inputs[0]
    if not isinstance(inner.op, Softmax) or inner.op.logarithm:
        return None
    result = Node(Softmax(inner.op.axes, logarithm=True), *inner.inputs)
    for taken in reversed(path):
        result = Node(taken.op, result, *taken.inputs[1:])
    return result


@rewrites(
    "log",
    name="log of elements of softmax",
    operands=[Index, BroadcastTo, ExpandDims],
    examples=[
        lambda t: t.log(t.softmax(t.vector)[0]),
        lambda t: t.log(t.softmax(t.assumed_matrix, 1)[t.places, t.places]),
        lambda t: t.log(t.softmax(t.vector)[t.places])[:, None],
    ],
)
def of_elements_of_softmax(node: Node, facts: Facts) -> Node | None:
    """log(softmax(x)[i]) is log_softmax(x)[i], which is finite where softmax is 0; an infinite x is outside."""
    return _log_of_softmax(node.inputs[0])


@rewrites(
    "log1p",
    "xlog1py",
    name="log of 1 - an element of softmax",
    operands=["neg"],
    examples=[
        lambda t: t.xlog1py(t.x, -t.softmax(t.vector)[0]),
        lambda t: t.log1p(-t.softmax(t.vector)[0]),
        lambda t: t.log1p(-t.softmax(t.assumed_matrix, 1)[:, 1]),
    ],
)
def of_the_rest_of_softmax(node: Node, facts: Facts) -> Node | None:
    """log(1 - softmax(x)[i]) is the logarithm of the sum of the others, finite where softmax(x)[i] is 1."""
    *weight, minus = node.inputs
    part = minus.inputs[0] if function_of(minus) == "neg" else node
    if not isinstance(part.op, Index) or not isinstance(part.inputs[0].op, Softmax):
        return None
    whole = part.inputs[0]
    assert isinstance(whole.op, Softmax)
    entries = list(part.op.specification)
    if whole.op.logarithm or len(whole.op.axes) > 1 or len(entries) != whole.ndim:
        return None
    (axis,) = whole.op.axes
    entry = entries.pop(axis)
    if not isinstance(entry, At) or entry.position < 0 or whole.static_shape[axis] == 1:
        return None
    own = apply("eq", Node(Iota(whole.static_shape[axis])), entry.position)
    own = expand_dims(own, range(1, whole.ndim - axis))
    rest = apply("where", own, -math.inf, Node(Softmax(whole.op.axes, logarithm=True), *whole.inputs))
    total = Node(Reduce("logsumexp", whole.op.axes), rest)
    result = Node(Index(tuple(entries)), total, *part.inputs[1:]) if entries else total
    return apply("mul", *weight, result) if weight else result


@rewrites(
    "add",
    name="x - logsumexp(x)",
    operands=["neg", ExpandDims],
    examples=[
        lambda t: t.matrix - t.logsumexp(t.matrix, 1, keepdims=True),
        lambda t: t.vector - t.logsumexp(t.vector, 0),
    ],
)
def log_softmax(node: Node, facts: Facts) -> Node | None:
    """x - logsumexp(x) is log_softmax(x), where no large numbers cancel."""
    for taken in node.inputs:
        inner = _argument(taken, "neg")
        reduced = None if inner is None else _reduced_in_place(inner, "logsumexp")
        if reduced is None or reduced[0] not in node.inputs:
            continue
        rest = list(node.inputs)
        rest.remove(reduced[0])
        rest.remove(taken)
        result = Node(Softmax(reduced[1], logarithm=True), reduced[0])
        return apply("add", result, *rest) if rest else result
    return None


@rewrites(
    "log",
    name="log of a product",
    operands=["mul", "true_div"],
    examples=[
        lambda t: t.log(t.exp(t.x) * t.positive),
        lambda t: t.log(t.positive * 3.0),
        lambda t: t.log(t.positive / t.exp(t.x)),
    ],
)
def log_of_product(node: Node, facts: Facts) -> Node | None:
    """The logarithm of a product of positive factors is a sum, for factors whose logarithm is at hand.

    At hand are numbers, exponentials, powers, sigmoids and factors smaller than the product. The others
    stay together, so that no logarithm is added.
    """
    inner = node.inputs[0]
    function = function_of(inner)
    if function not in ("mul", "true_div"):
        return None
    if not all(facts.non_negative(i) for i in inner.inputs):
        return None
    terms: list[Node] = []
    hard: list[Node] = []
    for place, factor in enumerate(inner.inputs):
        easy = _log_at_hand(factor) or factor.static_shape != inner.static_shape
        if not easy and function == "mul":
            hard.append(factor)
            continue
        hard += [] if easy else [factor]
        term = apply("log", factor)
        terms.append(apply("neg", term) if place and function == "true_div" else term)
    if len(hard) == len(inner.inputs):
        return None
    if hard and function == "mul":
        terms.append(apply("log", hard[0] if len(hard) == 1 else apply("mul", *hard)))
    return apply("add", *terms) if len(terms) > 1 else terms[0]


def _log_at_hand(factor: Node) -> bool:
    if is_number(factor):
        return float(value_of(factor)) > 0
    return function_of(factor) in ("exp", "sigmoid", "sqrt", "square", "pow", "reciprocal") or (
        isinstance(factor.op, Reduce) and factor.op.kind == "prod"
    )


@rewrites(
    "log",
    name="log of a power",
    operands=["pow", "square"],
    examples=[lambda t: t.log(t.positive**2.5), lambda t: t.log(t.x**2), lambda t: t.log(t.positive**2)],
)
def log_of_power(node: Node, facts: Facts) -> Node | None:
    """log(x ** a) is a log(x) for x > 0; log(x ** 2) is 2 log|x|."""
    inner = node.inputs[0]
    base = inner.inputs[0]
    if function_of(inner) == "square":
        known = facts.non_negative(base)
        return apply("mul", 2.0, apply("log", base if known else apply("abs", base)))
    if function_of(inner) == "pow" and facts.positive(base):
        return apply("mul", inner.inputs[1], apply("log", base))
    return None


@rewrites(
    "log",
    name="log of a product over axes",
    operands=[Reduce, "abs"],
    examples=[
        lambda t: t.log(t.positive_vector.prod()),
        lambda t: t.log(t.matrix.prod(axis=1)),
        lambda t: t.log(t.abs(t.matrix.prod(axis=1))),
    ],
)
def log_of_prod(node: Node, facts: Facts) -> Node | None:
    """The logarithm of a product is the sum of the logarithms, which neither overflow nor underflow."""
    inner = node.inputs[0]
    unsigned = function_of(inner) == "abs"
    if unsigned:
        inner = inner.inputs[0]
    if not isinstance(inner.op, Reduce) or inner.op.kind != "prod" or inner.dtype not in FLOATS:
        return None
    (x,), total = inner.inputs, Reduce("sum", inner.op.axes)
    if unsigned or facts.non_negative(x):
        return Node(total, apply("log", apply("abs", x) if unsigned else x))
    sign = Node(inner.op, apply("sign", x))
    return apply(
        "where", apply("lt", sign, 0.0), constant(math.nan, x.dtype), Node(total, apply("log", apply("abs", x)))
    )


ROOTS = (
    rule("log of sqrt", log(sqrt(x)), 0.5 * log(x)),
    rule("log of reciprocal", log(reciprocal(x)), -log(x), domain={x: (0, inf)}),
)

RULES: tuple[Rule, ...] = (
    *EXPONENTIALS,
    *LOGARITHMS,
    *SIGMOIDS,
    *ERROR_FUNCTIONS,
    log_of_sum_of_exponentials,
    log_of_weighted,
    log1p_of_weighted,
    log1p_square_of_weighted,
    softmax,
    of_softmax,
    xlogy_of_softmax,
    of_elements_of_softmax,
    of_the_rest_of_softmax,
    log_softmax,
    log_of_product,
    log_of_power,
    log_of_prod,
    *ROOTS,
)
