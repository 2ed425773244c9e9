"""The vocabulary in which densities are written: functions of tensors, numbers and arrays.

Each name is a row of the scalar table or an op; nothing here knows of probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.ops.scalar import TABLE

PI: Final = math.pi
EULER_GAMMA: Final = 0.5772156649015329
LOG_2: Final = math.log(2.0)
LOG_PI: Final = math.log(math.pi)
LOG_SQRT_2_PI: Final = 0.5 * math.log(2.0 * math.pi)
SQRT_2: Final = math.sqrt(2.0)


def _row(name: str) -> Callable[..., Node]:
    def call(*arguments: TensorLike) -> Node:
        return apply(name, *arguments)

    call.__name__ = call.__qualname__ = TABLE[name].name
    return call


absolute = _row("abs")
arcsin = _row("arcsin")
arcsinh = _row("arcsinh")
arctan = _row("arctan")
cos = _row("cos")
digamma = _row("digamma")
erf = _row("erf")
erfc = _row("erfc")
erfcx = _row("erfcx")
erfinv = _row("erfinv")
exp = _row("exp")
expm1 = _row("expm1")
floor = _row("floor")
gammaln = _row("gammaln")
i0e = _row("i0e")
i1e = _row("i1e")
isfinite = _row("isfinite")
isnan = _row("isnan")
log = _row("log")
log1mexp = _row("log1mexp")
log1p = _row("log1p")
log1p_square = _row("log1p_square")
log_ndtr = _row("log_ndtr")
logit = _row("logit")
ndtri = _row("ndtri")
reciprocal = _row("reciprocal")
round_even = _row("round")
sigmoid = _row("sigmoid")
sin = _row("sin")
sinh = _row("sinh")
softplus = _row("softplus")
sqrt = _row("sqrt")
square = _row("square")
tan = _row("tan")
tanh = _row("tanh")
trigamma = _row("trigamma")
arctan2 = _row("arctan2")
equal = _row("eq")
gammainc = _row("gammainc")
gammaincc = _row("gammaincc")
gammainccinv = _row("gammainccinv")
gammaincinv = _row("gammaincinv")
greater = _row("gt")
greater_equal = _row("ge")
hypot = _row("hypot")
less = _row("lt")
less_equal = _row("le")
log_gammainc = _row("log_gammainc")
log_gammaincc = _row("log_gammaincc")
logaddexp = _row("logaddexp")
logical_and = _row("logical_and")
logical_or = _row("logical_or")
maximum = _row("maximum")
minimum = _row("minimum")
poisson_quantile = _row("poisson_quantile")
xlog1py = _row("xlog1py")
xlogy = _row("xlogy")
betainc = _row("betainc")
betainccinv = _row("betainccinv")
betaincinv = _row("betaincinv")
binomial_quantile = _row("binomial_quantile")
log_betainc_odds = _row("log_betainc_odds")
negative_binomial_quantile = _row("negative_binomial_quantile")
where = _row("where")
beta_binomial_quantile = _row("beta_binomial_quantile")
beta_binomial_sum = _row("beta_binomial_sum")


def near(value: Node, point: Node, error: Node) -> Node:
    """The point where a value is near it, else the value."""
    return where(less_equal(absolute(value - point), minimum(error, 0.25)), point, value)


def zero_of(*values: Node) -> Node:
    """0, but NaN where one of the values is NaN or infinite: for formulas of which a part does not depend on them."""
    result = 0.0 * values[0]
    for value in values[1:]:
        result = result + 0.0 * value
    return result


def log_factorial(n: TensorLike) -> Node:
    """log n!"""
    return gammaln(apply("add", n, 1.0))


# From here on the series of the ratio of gammas holds to the last digit.
_FAR: Final = 100.0


def log_half_step_of_gamma(x: Node) -> Node:
    """log(Gamma(x + 1/2) / Gamma(x)) for x > 0, without cancellation of the logarithms of large x."""
    # Tricomi and Erdelyi (1951): what is left out is below 2e-19 at the border.
    large = greater(x, _FAR)
    inverse = reciprocal(where(large, x, _FAR))
    series = 0.5 * log(x) - inverse * (1.0 / 8.0 - square(inverse) * (1.0 / 192.0 - square(inverse) / 640.0))
    near = where(large, _FAR, x)
    return where(large, series, gammaln(near + 0.5) - gammaln(near))
