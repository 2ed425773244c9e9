"""Functions made of the gamma function and its kin: factorials, binomial coefficients, polygamma, zeta, tails.

In: real tensors, arrays, numbers. Out: expressions of rows of the scalar table. Names are PyTensor's and SciPy's.
"""

from __future__ import annotations

import functools
import math
from typing import Final

from consilience.ir import Node
from consilience.ops.axes import is_integer
from consilience.ops.dtypes import kind_of
from consilience.ops.elementwise import TensorLike, apply, cast, promote

_FAR: Final = 170.0  # gamma overflows beyond 171.6

_where = functools.partial(apply, "where")
_gamma = functools.partial(apply, "gamma")
_gammaln = functools.partial(apply, "gammaln")
_betaln = functools.partial(apply, "betaln")
_exp = functools.partial(apply, "exp")
_both = functools.partial(apply, "logical_and")


def _real(*values: TensorLike) -> list[Node]:
    """Floats of one dtype; integers as float64."""
    nodes, dtype = promote(values)
    return nodes if kind_of(dtype) == "float" else [cast(node, "float64") for node in nodes]


def _whole(x: Node) -> Node:
    return apply("eq", x, apply("floor", x))


def _alternating(n: Node) -> Node:
    """(-1) ** n, for whole n."""
    return cast(_where(_whole(0.5 * n), 1.0, -1.0), n.dtype)


def _pole(x: Node) -> Node:
    """Whether gamma has a pole there: at 0, -1, …"""
    return _both(x <= 0.0, _whole(x))


def _over_gamma(y: Node, x: Node) -> Node:
    """y / gamma(x), which is 0 at the poles of gamma."""
    pole = _pole(x)
    return _where(pole, 0.0, y / _gamma(_where(pole, 1.0, x)))


def _sign_of_gamma(x: Node) -> Node:
    return _where(x < 0.0, _alternating(apply("floor", x)), 1.0)


def _sign_of_beta(x: Node, y: Node) -> Node:
    return _sign_of_gamma(x) * _sign_of_gamma(y) * _sign_of_gamma(x + y)


def _near(*numbers: Node) -> Node:
    """Whether gamma neither overflows nor vanishes at any of them."""
    return functools.reduce(_both, [apply("abs", x) <= _FAR for x in numbers])


def zeta(x: TensorLike, q: TensorLike = 1.0) -> Node:
    """The zeta function of Hurwitz: the sum of (q + k) ** -x over k = 0, 1, …; for q = 1 that of Riemann.

    x: Greater than 1; infinite at 1, NaN below.
    q: Positive, or any number for whole x; infinite at whole numbers <= 0.
    Returns: Floats, element by element.
    See multigammaln: Logarithm of the gamma function of d dimensions.
    See polygamma: The n-th derivative of digamma at x.
    Notes: As `scipy.special.zeta`. There is no derivative in x.
    >>> pt.zeta(2.0, 1.0).eval().round(4).item()
    1.6449
    """
    return apply("zeta", *_real(x, q))


def polygamma(n: TensorLike, x: TensorLike) -> Node:
    """The n-th derivative of digamma at x, for whole n >= 0; NaN for other n. There is no derivative in n.

    n: Order of the derivative, a whole number >= 0.
    x : ...
    Returns: Floats, element by element.
    See zeta: The zeta function of Hurwitz.
    See multigammaln: Logarithm of the gamma function of d dimensions.
    >>> pt.polygamma(1, 2.5).eval().round(4).item()
    0.4904
    """
    order, at = _real(n, x)
    least = order <= 0.0
    power = 1.0 + _where(least, 1.0, order)
    above = _alternating(power) * (_gamma(power) * apply("zeta", power, at))
    value = _where(least, apply("digamma", at), above)
    return _where(_both(_whole(order), order >= 0.0), value, math.nan)


def beta(a: TensorLike, b: TensorLike) -> Node:
    """The beta function gamma(a) gamma(b) / gamma(a + b); infinite or NaN where a or b is a whole number <= 0.

    a, b (second) : ...
    Returns: Floats of the common broadcast shape.
    See binom: The binomial coefficient of real numbers.
    See poch: The rising factorial gamma(z + m) / gamma(z).
    See comb: The number of ways to take k of N things.
    >>> pt.beta(2.0, 3.0).eval().round(4).item()
    0.0833
    """
    x, y = _real(a, b)
    return _sign_of_beta(x, y) * _exp(_betaln(x, y))


def factorial(n: TensorLike) -> Node:
    """`gamma(n + 1)`, which is n! for whole n; 0 below 0, as `scipy.special.factorial`.

    n: Number, whole or not.
    Returns: Floats of the common broadcast shape.
    See beta: The beta function gamma(a) gamma(b) / gamma(a + b).
    See binom: The binomial coefficient of real numbers.
    See poch: The rising factorial gamma(z + m) / gamma(z).
    >>> pt.factorial([3, 4]).eval().tolist()
    [6.0, 24.0]
    """
    (number,) = _real(n)
    negative = number < 0.0
    return _where(negative, 0.0, _gamma(1.0 + _where(negative, 0.0, number)))


def poch(z: TensorLike, m: TensorLike) -> Node:
    """The rising factorial gamma(z + m) / gamma(z), which is z (z + 1) … (z + m - 1) for whole m.

    NaN where z + m alone is at a pole, and far below 0.

    z: Number at which the factorial begins.
    m: Number of factors.
    Returns: Floats of the common broadcast shape.
    See comb: The number of ways to take k of N things.
    See factorial: `gamma(n + 1)`.
    See beta: The beta function gamma(a) gamma(b) / gamma(a + b).
    >>> pt.poch(3.0, 2.0).eval().item()
    12.0
    """
    low, step = _real(z, m)
    high = low + step
    near, poles = _near(low, high), _both(_pole(low), _pole(high))
    rising = _over_gamma(_gamma(_where(near, high, 1.0)), _where(near, low, 1.0))
    inside = _both(near, poles)
    falling = _alternating(step) * _gamma(1.0 - _where(inside, low, 0.0))
    falling = _over_gamma(falling, 1.0 - _where(inside, high, 0.0))
    size, least = apply("abs", step), apply("minimum", low, high)
    far = _both(least > 0.0, size > 0.0)
    many, base = _where(far, size, 1.0), _where(far, least, 1.0)
    distant = _exp(apply("sign", step) * (_gammaln(many) - _betaln(base, many)))
    none = cast(_where(_both(_pole(low), high > 0.0), 0.0, math.nan), step.dtype)
    distant = _where(far, distant, _where(apply("eq", step, 0.0), 1.0, none))
    return _where(near, _where(poles, falling, rising), distant)


def binom(n: TensorLike, k: TensorLike) -> Node:
    """The binomial coefficient gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)) of real numbers; NaN for whole n < 0.

    n: Number to choose from.
    k: Number that is chosen.
    Returns: Floats of the common broadcast shape.
    See poch: The rising factorial gamma(z + m) / gamma(z).
    See comb: The number of ways to take k of N things.
    See factorial: `gamma(n + 1)`.
    >>> pt.binom(5.0, 2.0).eval().item()
    10.0
    """
    top, taken = _real(n, k)
    rest = top - taken
    near = _near(top, taken, rest)
    number, first, second = (1.0 + _where(near, x, 0.0) for x in (top, taken, rest))
    quotient = _over_gamma(_over_gamma(_gamma(number), first), second)
    first, second = (1.0 + _where(near, 0.0, x) for x in (taken, rest))
    far = _sign_of_beta(first, second) * _exp(-_betaln(first, second)) / (1.0 + _where(near, 0.0, top))
    return _where(near, quotient, far)


def comb(N: TensorLike, k: TensorLike, *, repetition: bool = False) -> Node:
    """The number of ways to take k of N things, 0 unless 0 <= k <= N; with `repetition` things may be taken again.

    N: Number of things.
    k: Number of things chosen.
    repetition: Whether things may be chosen repeatedly.
    Returns: Floats of the common broadcast shape.
    See factorial: `gamma(n + 1)`.
    See beta: The beta function gamma(a) gamma(b) / gamma(a + b).
    See binom: The binomial coefficient of real numbers.
    >>> pt.comb(5, 2).eval().item()
    10.0
    """
    number, taken = _real(N, k)
    if repetition:
        none = _both(apply("eq", number, 0.0), apply("eq", taken, 0.0))
        return _where(none, 1.0, comb(number + taken - 1.0, taken))
    valid = functools.reduce(_both, [taken <= number, number >= 0.0, taken >= 0.0])
    return _where(valid, binom(_where(valid, number, 1.0), _where(valid, taken, 0.0)), 0.0)


def gammau(k: TensorLike, x: TensorLike) -> Node:
    """The upper incomplete gamma function, not regularised: gammaincc(k, x) gamma(k).

    k: Shape, positive.
    x : ...
    Returns: Floats of the common broadcast shape.
    See gammal: The lower incomplete gamma function.
    See chi2sf: The upper tail of the chi-squared distribution.
    >>> pt.gammau(2.0, 1.5).eval().round(4).item()
    0.5578
    """
    shape, at = _real(k, x)
    return apply("gammaincc", shape, at) * _gamma(shape)


def gammal(k: TensorLike, x: TensorLike) -> Node:
    """The lower incomplete gamma function, not regularised: gammainc(k, x) gamma(k).

    k: Shape, positive.
    x : ...
    Returns: Floats of the common broadcast shape.
    See chi2sf: The upper tail of the chi-squared distribution.
    See gammau: The upper incomplete gamma function.
    >>> pt.gammal(2.0, 1.5).eval().round(4).item()
    0.4422
    """
    shape, at = _real(k, x)
    return apply("gammainc", shape, at) * _gamma(shape)


def chi2sf(x: TensorLike, k: TensorLike) -> Node:
    """The probability that a chi-squared variable with k degrees of freedom is above x.

    x : ...
    k: Degrees of freedom, positive.
    Returns: Floats of the common broadcast shape.
    See gammau: The upper incomplete gamma function.
    See gammal: The lower incomplete gamma function.
    >>> pt.chi2sf(3.0, 2.0).eval().round(4).item()
    0.2231
    """
    at, shape = _real(x, k)
    return apply("gammaincc", 0.5 * shape, 0.5 * at)


def multigammaln(a: TensorLike, d: int) -> Node:
    """Logarithm of the gamma function of d dimensions; NaN unless a > (d - 1) / 2.

    a : ...
    d: A whole number >= 1, known when the expression is written.
    Returns: Floats, element by element.
    See polygamma: The n-th derivative of digamma at x.
    See zeta: The zeta function of Hurwitz.
    >>> pt.multigammaln(3.0, 2).eval().round(4).item()
    1.5502
    """
    if not is_integer(d) or d < 1:
        raise ValueError(f"`multigammaln` needs a whole number of dimensions d >= 1, got {d!r}.")
    (at,) = _real(a)
    inside = at > 0.5 * (d - 1)
    safe = _where(inside, at, 0.5 * d)
    terms = functools.reduce(lambda x, y: x + y, [_gammaln(safe - 0.5 * j) for j in range(d)])
    return _where(inside, terms + 0.25 * d * (d - 1) * math.log(math.pi), math.nan)
