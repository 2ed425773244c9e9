"""Pullbacks of the scalar functions: one line of calculus per row of the scalar table.

In a row `g` is the cotangent of the result `y`; the arguments follow. Broadcasting is undone by the engine.

Conventions at kinks and ends of domains. The slope of `abs` and `sign` at 0 is 0; `maximum` and `minimum`
share a tie evenly; `hypot(0, 0)` and
`arctan2(0, 0)` have slope 0; `x ** p` has slope 0 in p at x = 0. Elsewhere rows tell the
truth: `sqrt` and `log` have slope inf at 0. What is not chosen does not count even then, be it by `where`, an index, a
triangle or as an extreme: masks stay outermost through scalar functions and reductions, and are written again behind
all that moves elements (see `mask`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TypeAlias

from consilience.errors import MissingRuleError, NullTypeGradError
from consilience.ir import Node, constant, constant_value
from consilience.ir.side_tables import describe
from consilience.ir.traversal import substitute
from consilience.ops import AlteredGradient, Assume, Cast, Elementwise, Require, StopGradient, apply, cast
from consilience.ops.formulas import FORMULAS
from consilience.ops.loop import fresh
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.scalar import DRAWS
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.mask import keep, through_mask
from consilience.transforms.gradient.table import NO_DERIVATIVE as NO_DERIVATIVE
from consilience.transforms.gradient.table import SCALAR_PULLBACKS as SCALAR_PULLBACKS
from consilience.transforms.gradient.table import no_derivative, partial_of

Slope: TypeAlias = Callable[..., Node | None]  # (g, y, *arguments) -> cotangent of one argument

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)
SQRT_PI = math.sqrt(math.pi)
SQRT_2 = math.sqrt(2.0)
SQRT_2_PI = math.sqrt(2.0 * math.pi)


@partial_of(Elementwise)
def _elementwise(node: Node, g: Node, position: int) -> Node | None:
    assert isinstance(node.op, Elementwise)
    name = node.op.function
    if name in NO_DERIVATIVE:
        return None
    if name not in SCALAR_PULLBACKS and name not in FORMULAS:
        import_module(f"{__package__}.special_functions")  # enters its rows
    row = SCALAR_PULLBACKS.get(name, _of_formula)
    return through_mask(g, lambda inner: row(node, inner, position))


def _of_formula(node: Node, g: Node, position: int) -> Node | None:
    """The derivative of what a function is written as."""
    assert isinstance(node.op, Elementwise)
    leaves = [fresh(operand) for operand in node.inputs]
    (slope,) = accumulate({FORMULAS[node.op.function](*leaves): g}, [leaves[position]])
    return None if slope is None else substitute([slope], dict(zip(leaves, node.inputs, strict=True)))[0]


@partial_of(Cast)
def _cast(node: Node, g: Node, position: int) -> Node | None:
    return through_mask(g, lambda inner: cast(inner, node.inputs[0].dtype))


@partial_of(Assume)
@partial_of(Require)
def _itself(node: Node, g: Node, position: int) -> Node | None:
    return g


@partial_of(AlteredGradient)
def _altered(node: Node, g: Node, position: int) -> Node | None:
    assert isinstance(node.op, AlteredGradient)
    numbers = node.op.numbers
    match node.op.kind:
        case "zero":
            return zeros_like(node)
        case "scale":
            return through_mask(g, lambda inner: apply("mul", inner, constant(numbers[0], g.dtype)))
        case "clip":
            low, high = (constant(number, g.dtype) for number in numbers)
            return apply("minimum", apply("maximum", g, low), high)
        case _:
            raise NullTypeGradError(
                f"the derivative of {describe(node)} was declared undefined; take none that passes it, or list it in "
                "`consider_constant`."
            )


@partial_of(Asserted)
@partial_of(ParameterCheck)
def _checked(node: Node, g: Node, position: int) -> Node | None:
    return g if position == 0 else None


no_derivative(StopGradient, "it is there to stop derivatives")


def derivative(name: str, *slopes: Slope | None) -> None:
    """Enter a row: one slope per argument, None where the function is flat almost everywhere."""

    def row(node: Node, g: Node, position: int) -> Node | None:
        slope = slopes[position]
        return None if slope is None else slope(g, node, *node.inputs)

    SCALAR_PULLBACKS[name] = row


def unknown(what: str, advice: str) -> Slope:
    """A slope that cannot be written with the functions there are."""

    def refuse(g: Node, y: Node, *arguments: Node) -> Node:
        raise MissingRuleError(f"the derivative of {what} is not known; {advice}")

    return refuse


exp = partial(apply, "exp")
log = partial(apply, "log")
sqrt = partial(apply, "sqrt")
gammaln = partial(apply, "gammaln")
where = partial(apply, "where")
eq = partial(apply, "eq")
both = partial(apply, "logical_and")
either = partial(apply, "logical_or")


# Arithmetic.


def _add(node: Node, g: Node, position: int) -> Node:
    return g


def _mul(node: Node, g: Node, position: int) -> Node:
    others = [*node.inputs[:position], *node.inputs[position + 1 :]]
    return apply("mul", g, *others)


SCALAR_PULLBACKS["add"] = _add
SCALAR_PULLBACKS["mul"] = _mul
derivative("sub", lambda g, y, a, b: g, lambda g, y, a, b: -g)
derivative("true_div", lambda g, y, a, b: g / b, lambda g, y, a, b: -g * (y / b))
derivative("mod", lambda g, y, a, b: g, lambda g, y, a, b: -g * (a // b))
derivative("fmod", lambda g, y, a, b: g, lambda g, y, a, b: -g * apply("trunc", a / b))
derivative("neg", lambda g, y, x: -g)


def _signed(g: Node, y: Node, x: Node, depth: int = 4) -> Node | None:
    """g sign(x) for y = |x|, without the sign where |x| is a factor of g; None where it is not seen to be."""
    if g is y:
        return x
    if depth and g.op == Elementwise("mul"):
        for i, factor in enumerate(g.inputs):
            found = _signed(factor, y, x, depth - 1)
            if found is not None:
                return apply("mul", *g.inputs[:i], found, *g.inputs[i + 1 :])
    if depth and g.op == Elementwise("add"):
        terms = [_signed(term, y, x, depth - 1) for term in g.inputs]
        some = [term for term in terms if term is not None]
        return apply("add", *some) if len(some) == len(terms) else None
    return None


def _of_size(g: Node, y: Node, x: Node) -> Node:
    # |x| sign(x) is x, which has a derivative at 0: square(|x|) is as smooth as square(x).
    signed = _signed(g, y, x)
    return g * apply("sign", x) if signed is None else signed


derivative("abs", _of_size)
derivative("square", lambda g, y, x: g * (2.0 * x))
derivative("sqrt", lambda g, y, x: 0.5 * g / y)
derivative("cbrt", lambda g, y, x: g / (3.0 * (y * y)))
derivative("reciprocal", lambda g, y, x: -g * (y * y))


def _base(g: Node, y: Node, a: Node, b: Node) -> Node | None:
    known = constant_value(b)
    if known is None or known.size != 1:
        # The exponent 1 in place of -1 where b = 0: 0 times it is 0 at a = 0 as well.
        return g * (b * a ** where(eq(b, 0.0), 1.0, b - 1.0))
    p = float(known.item())
    if p == 0.0:
        return None
    if p == 1.0:
        return g
    return g * (2.0 * a) if p == 2.0 else g * (p * a ** (p - 1.0))


def _exponent(g: Node, y: Node, a: Node, b: Node) -> Node:
    return g * (y * log(where(eq(a, 0.0), 1.0, a)))


derivative("pow", _base, _exponent)


def _greater(g: Node, y: Node, a: Node, b: Node) -> Node:
    return where(a >= b, where(eq(a, b), 0.5 * g, g), 0.0)


def _or_alone(g: Node, a: Node, b: Node, chosen: Node) -> Node:
    return where(either(chosen, apply("isnan", b)), where(eq(a, b), 0.5 * g, g), 0.0)


derivative("maximum", _greater, lambda g, y, a, b: _greater(g, y, b, a))
derivative("minimum", lambda g, y, a, b: _greater(g, y, b, a), _greater)
derivative(
    "fmax",
    lambda g, y, a, b: _or_alone(g, a, b, a >= b),
    lambda g, y, a, b: _or_alone(g, b, a, b >= a),
)
derivative(
    "fmin",
    lambda g, y, a, b: _or_alone(g, a, b, a <= b),
    lambda g, y, a, b: _or_alone(g, b, a, b <= a),
)
derivative("copysign", lambda g, y, a, b: g * (apply("sign", a) * apply("copysign", 1.0, b)), None)
derivative("heaviside", None, lambda g, y, x, at_zero: where(eq(x, 0.0), g, 0.0))


def _leg(g: Node, y: Node, a: Node) -> Node:
    return g * (a / where(eq(y, 0.0), 1.0, y))


derivative("hypot", lambda g, y, a, b: _leg(g, y, a), lambda g, y, a, b: _leg(g, y, b))

# Exponentials and logarithms.
derivative("exp", lambda g, y, x: g * y)
derivative("exp2", lambda g, y, x: g * (LOG_2 * y))
derivative("expm1", lambda g, y, x: g * (y + 1.0))
derivative("log", lambda g, y, x: g / x)
derivative("log2", lambda g, y, x: g / (LOG_2 * x))
derivative("log10", lambda g, y, x: g / (LOG_10 * x))
derivative("log1p", lambda g, y, x: g / (1.0 + x))


def _slope_of_log1p_square(x: Node) -> Node:
    """2 x / (1 + x^2), which is the same for x and 1 / x: the smaller of them has a square."""
    far = apply("gt", apply("abs", x), 1.0)
    smaller = where(far, apply("reciprocal", where(far, x, 1.0)), x)
    return 2.0 * smaller / (1.0 + apply("square", smaller))


derivative("log1p_square", lambda g, y, x: g * _slope_of_log1p_square(x))


def _before_overflow(name: str, x: Node, end: float) -> Node:
    """A function that overflows beyond an end: infinite there without a slope, which would be 0 times infinity."""
    far = apply("gt" if end > 0 else "lt", x, end)
    return where(far, math.inf, apply(name, where(far, end, x)))


def _share(g: Node, a: Node, b: Node, base: float) -> Node:
    """g exp(a) / (exp(a) + exp(b)), at any size of a and b. Derivatives of what has no weight do not count."""
    gap = a - b
    gap = where(both(eq(a, b), apply("isnan", gap)), 0.0, gap)
    share = apply("sigmoid", gap if base == math.e else gap * math.log(base))
    return keep(either(eq(a, -math.inf), eq(share, 0.0)), g * share, inverted=True)


derivative(
    "logaddexp",
    lambda g, y, a, b: _share(g, a, b, math.e),
    lambda g, y, a, b: _share(g, b, a, math.e),
)
derivative(
    "logaddexp2",
    lambda g, y, a, b: _share(g, a, b, 2.0),
    lambda g, y, a, b: _share(g, b, a, 2.0),
)
# -inf at 0.0 too.
derivative("log1mexp", lambda g, y, x: -g / apply("abs", _before_overflow("expm1", -x, 700.0)))
derivative("softplus", lambda g, y, x: g * apply("sigmoid", x))
derivative("sigmoid", lambda g, y, x: g * (y * (1.0 - y)))
derivative("logit", lambda g, y, x: g / (x * (1.0 - x)))
# x log(y): the slope in y is x / y, and 0 at x = y = 0.
derivative(
    "xlogy",
    lambda g, z, x, y: g * log(y),
    lambda g, z, x, y: g * (x / where(both(eq(x, 0.0), eq(y, 0.0)), 1.0, y)),
)
derivative(
    "xlog1py",
    lambda g, z, x, y: g * apply("log1p", y),
    lambda g, z, x, y: g * (x / where(both(eq(x, 0.0), eq(y, -1.0)), 1.0, 1.0 + y)),
)

# Trigonometric and hyperbolic functions.
derivative("sin", lambda g, y, x: g * apply("cos", x))
derivative("cos", lambda g, y, x: -g * apply("sin", x))
derivative("tan", lambda g, y, x: g * (1.0 + y * y))
derivative("arcsin", lambda g, y, x: g / sqrt((1.0 - x) * (1.0 + x)))
derivative("arccos", lambda g, y, x: -g / sqrt((1.0 - x) * (1.0 + x)))
derivative("arctan", lambda g, y, x: g / (1.0 + x * x))


def _turn(g: Node, a: Node, b: Node) -> Node:
    squares = a * a + b * b
    return g * (b / where(eq(squares, 0.0), 1.0, squares))


derivative("arctan2", lambda g, y, a, b: _turn(g, a, b), lambda g, y, a, b: -_turn(g, b, a))
derivative("sinh", lambda g, y, x: g * apply("cosh", x))
derivative("cosh", lambda g, y, x: g * apply("sinh", x))
derivative("tanh", lambda g, y, x: g * (1.0 - y * y))
derivative("arcsinh", lambda g, y, x: g / apply("hypot", 1.0, x))
derivative("arccosh", lambda g, y, x: g / sqrt((x - 1.0) * (x + 1.0)))
derivative("arctanh", lambda g, y, x: g / ((1.0 - x) * (1.0 + x)))


def _slope_of_erfcx(y: Node, x: Node) -> Node:
    """2 x erfcx(x) - 2 / sqrt(pi), for large x by the asymptotic series of both."""
    far = apply("gt", x, 25.0)
    z = apply("square", apply("reciprocal", where(far, x, 25.0)))
    series = z * (1.0 - z * (1.5 - z * (3.75 - z * (13.125 - z * (59.0625 - z * 324.84375)))))
    return where(far, series / -SQRT_PI, 2.0 * (where(far, 0.0, x) * y) - 2.0 / SQRT_PI)


# Error function, normal distribution. The density over the distribution function of a normal is
# sqrt(2 / pi) / erfcx(-x / sqrt(2)), without cancellation in either tail.
derivative("erf", lambda g, y, x: g * (2.0 / SQRT_PI * exp(-x * x)))
derivative("erfc", lambda g, y, x: -g * (2.0 / SQRT_PI * exp(-x * x)))
derivative("erfcx", lambda g, y, x: g * _slope_of_erfcx(y, x))
derivative("erfinv", lambda g, y, x: g * (SQRT_PI / 2.0 * exp(y * y)))
derivative("ndtri", lambda g, y, x: g * (SQRT_2_PI * exp(0.5 * (y * y))))
derivative("ndtri_exp", lambda g, y, x: g * (SQRT_2_PI / 2.0 * apply("erfcx", y / -SQRT_2)))
derivative(
    "owens_t",
    lambda g, y, h, a: g * (-0.5 / SQRT_2_PI * exp(-0.5 * (h * h)) * apply("erf", a * h / SQRT_2)),
    lambda g, y, h, a: g * (0.5 / math.pi * exp(-0.5 * (h * h) * (1.0 + a * a)) / (1.0 + a * a)),
)
derivative("log_ndtr", lambda g, y, x: g * (2.0 / SQRT_2_PI / _before_overflow("erfcx", x / -SQRT_2, -26.0)))

# Gamma and beta families. Slopes of the incomplete functions in their shapes are functions of their own.
_TWICE = "take the derivative with respect to it once only."


def _gamma_density(x: Node, shape: Node) -> Node:
    return exp(apply("xlogy", shape - 1.0, x) - x - gammaln(shape))


def _beta_density(x: Node, a: Node, b: Node) -> Node:
    log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)
    return exp(apply("xlogy", a - 1.0, x) + apply("xlog1py", b - 1.0, -x) - log_beta)


def _digamma(x: Node) -> Node:
    return apply("digamma", x)


def _digamma_over(a: Node, b: Node) -> Node:
    """digamma(a + b) - digamma(a): for b small beside a the integral of trigamma, by the rule of Gauss."""
    close = apply("abs", b) < 2e-3 * a
    step = where(close, b, 0.0)
    middle, half = a + 0.5 * step, step * (0.5 / math.sqrt(3.0))
    integral = 0.5 * step * (apply("trigamma", middle - half) + apply("trigamma", middle + half))
    return where(close, integral, _digamma(a + b) - _digamma(a))


derivative("gammaln", lambda g, y, x: g * apply("digamma", x))
derivative("digamma", lambda g, y, x: g * apply("trigamma", x))
derivative("trigamma", lambda g, y, x: g * (-2.0 * apply("zeta", 3.0, x)))
derivative("gamma", lambda g, y, x: g * (y * _digamma(x)))
derivative(
    "betaln",
    lambda g, y, a, b: -g * _digamma_over(a, b),
    lambda g, y, a, b: -g * _digamma_over(b, a),
)
derivative(
    "zeta",
    unknown("zeta with respect to its exponent", "treat the exponent as data."),
    lambda g, y, s, q: g * (-s * apply("zeta", s + 1.0, q)),
)


def _over(slope: Node, density: Node) -> Node:
    """The quotient, and 0 where the slope is, at the ends of probabilities."""
    none = eq(slope, 0.0)
    return where(none, 0.0, slope / where(none, 1.0, density))


_gamma_slope = partial(apply, "gammainc_slope")
_first_slope = partial(apply, "betainc_slope_a")
_second_slope = partial(apply, "betainc_slope_b")
derivative(
    "gammainc",
    lambda g, y, a, x: g * _gamma_slope(a, x),
    lambda g, y, a, x: g * _gamma_density(x, a),
)
derivative(
    "gammaincc",
    lambda g, y, a, x: -g * _gamma_slope(a, x),
    lambda g, y, a, x: -g * _gamma_density(x, a),
)
derivative(
    "betainc",
    lambda g, y, a, b, x: g * _first_slope(a, b, x),
    lambda g, y, a, b, x: g * _second_slope(a, b, x),
    lambda g, y, a, b, x: g * _beta_density(x, a, b),
)
# In x they have the slope of the density in the shape.
derivative(
    "gammainc_slope",
    unknown("gammainc_slope, which is that of gammainc in its shape, with respect to that shape", _TWICE),
    lambda g, y, a, x: g * (_gamma_density(x, a) * (log(x) - _digamma(a))),
)
derivative(
    "betainc_slope_a",
    unknown("betainc_slope_a, which is that of betainc in its first shape, with respect to a shape", _TWICE),
    unknown("betainc_slope_a, which is that of betainc in its first shape, with respect to a shape", _TWICE),
    lambda g, y, a, b, x: g * (_beta_density(x, a, b) * (log(x) - (_digamma(a) - _digamma(a + b)))),
)
derivative(
    "betainc_slope_b",
    unknown("betainc_slope_b, which is that of betainc in its second shape, with respect to a shape", _TWICE),
    unknown("betainc_slope_b, which is that of betainc in its second shape, with respect to a shape", _TWICE),
    lambda g, y, a, b, x: g * (_beta_density(x, a, b) * (apply("log1p", -x) - (_digamma(b) - _digamma(a + b)))),
)


def _log_density_slope(a: Node, x: Node) -> Node:
    """That of the log density of a gamma variable in its shape."""
    return log(x) - _digamma(a)


for _name in ("log_gammainc", "log_gammaincc"):
    _of_x, _of_a = (partial(apply, _name + suffix) for suffix in ("_slope_x", "_slope_a"))
    derivative(
        _name,
        lambda g, y, a, x, _of_a=_of_a: g * _of_a(a, x),
        lambda g, y, a, x, _of_x=_of_x: g * _of_x(a, x),
    )
    # They are densities over probabilities, up to the sign.
    derivative(
        f"{_name}_slope_x",
        lambda g, s, a, x, _of_a=_of_a: g * (s * (_log_density_slope(a, x) - _of_a(a, x))),
        lambda g, s, a, x: g * (s * ((a - 1.0) / x - 1.0 - s)),
    )
    derivative(
        f"{_name}_slope_a",
        unknown(f"{_name}_slope_a, which is that of {_name} in its shape, with respect to that shape", _TWICE),
        lambda g, s, a, x, _of_x=_of_x: g * (_of_x(a, x) * (_log_density_slope(a, x) - s)),
    )
_of_w, _of_a, _of_b = (partial(apply, f"log_betainc_odds_slope_{of}") for of in "wab")


def _first_log_density_slope(a: Node, b: Node, w: Node) -> Node:
    """That of the log density of a beta variable with these log odds in its first shape."""
    return _digamma_over(a, b) - apply("softplus", -w)


def _second_log_density_slope(a: Node, b: Node, w: Node) -> Node:
    return _digamma_over(b, a) - apply("softplus", w)


derivative(
    "log_betainc_odds",
    lambda g, y, a, b, w: g * _of_a(a, b, w),
    lambda g, y, a, b, w: g * _of_b(a, b, w),
    lambda g, y, a, b, w: g * _of_w(a, b, w),
)
derivative(
    "log_betainc_odds_slope_w",
    lambda g, s, a, b, w: g * (s * (_first_log_density_slope(a, b, w) - _of_a(a, b, w))),
    lambda g, s, a, b, w: g * (s * (_second_log_density_slope(a, b, w) - _of_b(a, b, w))),
    lambda g, s, a, b, w: g * (s * (a * apply("sigmoid", -w) - b * apply("sigmoid", w) - s)),
)
for _name, _slope in (("a", _first_log_density_slope), ("b", _second_log_density_slope)):
    _of = f"log_betainc_odds_slope_{_name}, which is that of log_betainc_odds in a shape,"
    _twice = unknown(f"{_of} with respect to a shape", _TWICE)
    derivative(
        f"log_betainc_odds_slope_{_name}",
        _twice,
        _twice,
        lambda g, s, a, b, w, _slope=_slope: g * (_of_w(a, b, w) * (_slope(a, b, w) - s)),
    )
# The slope of an inverse is one over the slope of the function, which is the density at the result; in a shape the
# slopes of the function in shape and argument cancel.
derivative(
    "gammaincinv",
    lambda g, x, a, p: -g * _over(_gamma_slope(a, x), _gamma_density(x, a)),
    lambda g, x, a, p: g / _gamma_density(x, a),
)
derivative(
    "gammainccinv",
    lambda g, x, a, q: -g * _over(_gamma_slope(a, x), _gamma_density(x, a)),
    lambda g, x, a, q: -g / _gamma_density(x, a),
)
for _name, _sign in (("betaincinv", 1.0), ("betainccinv", -1.0)):
    derivative(
        _name,
        lambda g, x, a, b, p: -g * _over(_first_slope(a, b, x), _beta_density(x, a, b)),
        lambda g, x, a, b, p: -g * _over(_second_slope(a, b, x), _beta_density(x, a, b)),
        lambda g, x, a, b, p, _sign=_sign: _sign * g / _beta_density(x, a, b),
    )
derivative(
    "beta_binomial_sum",
    lambda g, y, a, b, n, k: g * apply("beta_binomial_sum_slope_a", a, b, n, k),
    lambda g, y, a, b, n, k: g * apply("beta_binomial_sum_slope_b", a, b, n, k),
    None,
    None,
)
for _name in "ab":
    _of = f"beta_binomial_sum_slope_{_name}, which is that of beta_binomial_sum in a shape,"
    _twice = unknown(f"{_of} with respect to a shape", _TWICE)
    derivative(f"beta_binomial_sum_slope_{_name}", _twice, _twice, None, None)

# Choice.
derivative("where", None, lambda g, y, c, a, b: keep(c, g), lambda g, y, c, a, b: keep(c, g, inverted=True))

for _name in (
    "sign", "floor", "ceil", "trunc", "round", "floor_div",
    "poisson_quantile", "binomial_quantile", "negative_binomial_quantile", "beta_binomial_quantile",
):  # fmt: skip
    no_derivative(_name, "piecewise constant: the slope is 0 wherever there is one")
for _name in (
    "eq", "neq", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "signbit",
    "logical_and", "logical_or", "logical_xor", "logical_not",
):  # fmt: skip
    no_derivative(_name, "the result is true or false")
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"):
    no_derivative(_name, "defined for integers and bool only")
for _name in ("complex", "modulus", "real", "imag", "angle", "conj"):
    no_derivative(_name, "complex numbers are pairs of real ones before derivatives are taken (`complex_pairs`)")
no_derivative("fold_in", "the result is a random key")
for _name in DRAWS:
    no_derivative(_name, "a draw; the engine refuses derivatives with respect to its parameters")
