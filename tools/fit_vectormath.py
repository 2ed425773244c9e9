"""Fit the coefficients of the vector math library.

In: definitions of smooth functions on short intervals, in 60-digit arithmetic. Out: the text of
`src/consilience/native/vectormath/coefficients.py`, and the error of each fit on the terminal.

    python tools/fit_vectormath.py            # fits all, writes the module
    python tools/fit_vectormath.py EXP LOG    # fits some and prints their errors, writes nothing

A polynomial interpolates at Chebyshev points, which is within a factor of two or three of the best one. A
rational function solves the linearised interpolation problem p(x) - f(x) q(x) = 0 there, with q(0) = 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """Approximate `function` on [low, high] by offset + p (degree `degree`), or p / q with `below` that of q.

    An offset is added by the formula that uses the fit, as a last and exact term.
    """

    name: str
    meaning: str
    function: Function
    low: mp.mpf
    high: mp.mpf
    degree: int
    below: int = 0
    offset: float = 0.0


def chebyshev_points(low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def solve(fit: Fit) -> tuple[list[float], list[float]]:
    """Coefficients from the constant term upwards, rounded to float64: those of p, and those of q."""
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    n, m = fit.degree + 1, fit.below
    points = chebyshev_points(low, high, n + m)
    matrix, right = mp.matrix(n + m, n + m), mp.matrix(n + m, 1)
    for i, x in enumerate(points):
        value = fit.function(x) - fit.offset
        for k in range(n):
            matrix[i, k] = x**k
        for k in range(m):
            matrix[i, n + k] = -value * x ** (k + 1)
        right[i] = value
    solution = mp.lu_solve(matrix, right)
    coefficients = [float(c) for c in solution]
    return coefficients[:n], [1.0, *coefficients[n:]] if m else []


def value(coefficients: list[float], x: mp.mpf) -> mp.mpf:
    return mp.polyval([mp.mpf(c) for c in reversed(coefficients)], x)


def error(fit: Fit, p: list[float], q: list[float], count: int = 401) -> mp.mpf:
    """Greatest relative error, of the coefficients as rounded."""
    worst = mp.mpf(0)
    for x in chebyshev_points(mp.mpf(fit.low), mp.mpf(fit.high), count):
        exact = fit.function(x)
        got = fit.offset + value(p, x) / (value(q, x) if q else 1)
        worst = max(worst, abs(got - exact) / max(abs(exact), mp.mpf(10) ** -30))
    return worst


def removable(function: Function, order: int) -> Function:
    """(function(x) - its Taylor polynomial below `order`) / x**order, free of cancellation near 0."""
    head = mp.taylor(function, 0, order + 24)

    def quotient(x: mp.mpf) -> mp.mpf:
        if abs(x) < mp.mpf("0.01"):
            return mp.polyval(list(reversed(head[order:])), x)
        return (function(x) - mp.polyval(list(reversed(head[:order])), x)) / x**order

    return quotient


def in_square(function: Function, order: int) -> Function:
    """For an odd or even function: the remainder from x**order on, divided by it, as function of x**2."""
    quotient = removable(function, order)
    return lambda z: quotient(mp.sqrt(z))


LOG2 = mp.log(2)
ROOT = mp.sqrt(2)
QUARTER = mp.tan(mp.pi / 8)


FITS: list[Fit] = []


def fit(
    name: str,
    meaning: str,
    function: Function,
    low: object,
    high: object,
    degree: int,
    below: int = 0,
    offset: float = 0.0,
) -> None:
    FITS.append(Fit(name, meaning, function, mp.mpf(low), mp.mpf(high), degree, below, offset))


fit("EXP", "(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2", removable(mp.exp, 2), -0.34675, 0.34675, 9)
fit("LOG", "(log(1 + f) - f + f**2 / 2) / f**3, 1 + f from sqrt(1/2) to sqrt(2)",
    removable(mp.log1p, 3), 1 / ROOT - 1, ROOT - 1, 19)  # fmt: skip
fit("LOG_ODD", "(log((1 + s) / (1 - s)) - 2 s - 2/3 s**3) / s**5 in s**2",
    in_square(lambda s: mp.log((1 + s) / (1 - s)), 5), 0, mp.mpf("0.02945"), 6)  # fmt: skip
fit("SINE", "(sin(x) - x) / x**3 in x**2, |x| <= pi / 4", in_square(mp.sin, 3), 0, (mp.pi / 4) ** 2 + 0.001, 5)
fit("COSINE", "(cos(x) - 1 + x**2 / 2) / x**4 in x**2, |x| <= pi / 4",
    in_square(mp.cos, 4), 0, (mp.pi / 4) ** 2 + 0.001, 5)  # fmt: skip
fit("ARCTAN", "(arctan(x) - x) / x**3 in x**2, |x| <= tan(pi / 8)",
    in_square(mp.atan, 3), 0, QUARTER**2 + 0.0005, 11)  # fmt: skip
fit("ARCSIN", "(arcsin(x) - x) / x**3 in x**2, |x| <= 1 / 2", in_square(mp.asin, 3), 0, 0.25, 12)
fit("CUBE_ROOT", "x**(1/3), 1 <= x <= 2", mp.cbrt, 1, 2, 6)


def erfcx(x: mp.mpf) -> mp.mpf:
    """exp(x**2) erfc(x), x >= 0; by its asymptotic series where the direct product would be slow."""
    if x < 100:
        return mp.exp(x * x) * mp.erfc(x)
    terms = [mp.mpf(1)]
    for k in range(14):
        terms.append(terms[-1] * -(2 * k + 1) / (2 * x * x))
    return mp.fsum(terms) / (x * mp.sqrt(mp.pi))


def upper_tail_quantile(s: mp.mpf) -> mp.mpf:
    """x > 0 where a standard normal exceeds x with probability exp(-s**2 / 2); s > 1.5."""
    x = mp.sqrt(s * s - mp.log(2 * mp.pi * s * s)) if s > 3 else s - mp.mpf("0.6")
    for _ in range(100):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        step = (mp.log(tail) + s * s / 2) * tail * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
        x += step
        if abs(step) < mp.mpf(10) ** -45:
            return x
    raise ArithmeticError(f"Newton's method for the normal quantile does not converge at s = {s}")


def from_ratio(function: Function, pivot: float) -> Function:
    """`function` of x as a function of t = (x - pivot) / (x + pivot)."""
    return lambda t: function(pivot * (1 + t) / (1 - t)) if t < 1 else function(mp.mpf(10) ** 30)


def ratio(x: float, pivot: float) -> mp.mpf:
    return (mp.mpf(x) - pivot) / (mp.mpf(x) + pivot)


def shifted(function: Function, center: object) -> Function:
    return lambda t: function(mp.mpf(center) + t)


fit("ERF", "erf(x) / x - 1 in x**2, |x| <= 1",
    lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), mp.mpf(10) ** -40, 1, 12, offset=1.0)  # fmt: skip
fit("ERFCX", "(1 + 2 x) erfcx(x) - 5/4 in (x - 3.5) / (x + 3.5), x >= 0",
    from_ratio(lambda x: (1 + 2 * x) * erfcx(x), 3.5), -1, 1, 23, offset=1.25)  # fmt: skip


def central_quantile(z: mp.mpf) -> mp.mpf:
    """ndtri(1/2 + q) / q for z = q**2."""
    q = mp.sqrt(z)
    return mp.sqrt(2) * mp.erfinv(2 * q) / q if z > mp.mpf(10) ** -30 else mp.sqrt(2 * mp.pi)


fit("NORMAL_CENTRE", "ndtri(1/2 + q) / q in q**2 - 0.07, |q| <= 0.4", shifted(central_quantile, 0.07),
    -0.07, mp.mpf(0.4) ** 2 - mp.mpf(0.07), 24)  # fmt: skip
fit("NORMAL_TAIL", "s + ndtri(exp(-s**2 / 2)) in (s - 3) / (s + 3), 2.14 <= s <= 8.5",
    from_ratio(lambda s: s - upper_tail_quantile(s), 3), ratio(2.14, 3), ratio(8.5, 3), 20)  # fmt: skip
fit("NORMAL_FAR_TAIL", "s + ndtri(exp(-s**2 / 2)) in (s - 16) / (s + 16), 8.5 <= s <= 38.7",
    from_ratio(lambda s: s - upper_tail_quantile(s), 16), ratio(8.5, 16), ratio(38.7, 16), 20)  # fmt: skip


def gammaln_quotient(t: mp.mpf) -> mp.mpf:
    """log(gamma(2 + t)) / (t (1 + t)), |t| <= 1/2."""
    return (1 - mp.euler) if abs(t) < mp.mpf(10) ** -25 else mp.loggamma(2 + t) / (t * (1 + t))


DIGAMMA_ROOT = mp.findroot(mp.digamma, mp.mpf("1.4616"))


def digamma_quotient(t: mp.mpf) -> mp.mpf:
    """digamma(x) / (x - its root), x = 1.5 + t."""
    x = mp.mpf(1.5) + t
    distance = x - DIGAMMA_ROOT
    return mp.psi(1, x) if abs(distance) < mp.mpf(10) ** -25 else mp.digamma(x) / distance


def stirling(z: mp.mpf) -> mp.mpf:
    """x (log gamma(x) - its leading terms) in z = x**-2."""
    if z < mp.mpf(10) ** -12:
        return mp.mpf(1) / 12 - z / 360
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def stirling_derivative(z: mp.mpf) -> mp.mpf:
    """(log x - 1 / (2 x) - digamma(x)) x**2 in z = x**-2."""
    if z < mp.mpf(10) ** -12:
        return mp.mpf(1) / 12 - z / 120
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z


def stirling_second_derivative(z: mp.mpf) -> mp.mpf:
    """(trigamma(x) - 1 / x - 1 / (2 x**2)) x**3 in z = x**-2."""
    if z < mp.mpf(10) ** -12:
        return mp.mpf(1) / 6 - z / 30
    x = 1 / mp.sqrt(z)
    return (mp.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3


fit("GAMMALN", "log(gamma(2 + t)) / (t (1 + t)), |t| <= 1/2", gammaln_quotient, -0.5, 0.5, 17)
fit("STIRLING", "x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2) in x**-2, x >= 6.5",
    stirling, 0, 1 / mp.mpf(6.5) ** 2, 6)  # fmt: skip
fit("DIGAMMA", "digamma(x) / (x - root) in x - 1.5, 1 <= x <= 2", digamma_quotient, -0.5, 0.5, 21)
fit("DIGAMMA_STIRLING", "(log(x) - 1 / (2 x) - digamma(x)) x**2 in x**-2, x >= 6",
    stirling_derivative, 0, 1 / mp.mpf(36), 7)  # fmt: skip
fit("TRIGAMMA_STIRLING", "(trigamma(x) - 1 / x - 1 / (2 x**2)) x**3 in x**-2, x >= 6",
    stirling_second_derivative, 0, 1 / mp.mpf(36), 7)  # fmt: skip


def bessel_far(order: int) -> Function:
    """(sqrt(x) exp(-x) I_order(x) - 1 / sqrt(2 pi)) x in t = 16 / x - 1."""

    def scaled(t: mp.mpf) -> mp.mpf:
        z = (t + 1) / 2
        if z > mp.mpf("1e-2"):
            x = 8 / z
            return (mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x) - 1 / mp.sqrt(2 * mp.pi)) * x
        # DLMF 10.40.1.
        mu, term, total = 4 * order * order, mp.mpf(1), mp.mpf(0)
        for k in range(1, 24):
            term *= -(mu - (2 * k - 1) ** 2) / mp.mpf(64 * k) * (z if k > 1 else 1)
            total += term
        return 8 * total / mp.sqrt(2 * mp.pi)

    return scaled


fit("BESSEL_I0", "I_0(x) - 1 over x**2 / 4, in x**2 / 4, 0 <= x <= 8",
    lambda t: (mp.besseli(0, 2 * mp.sqrt(t)) - 1) / t, 0, 16, 21)  # fmt: skip
fit("BESSEL_I1", "2 I_1(x) / x - 1 over x**2 / 4, in x**2 / 4, 0 <= x <= 8",
    lambda t: (mp.besseli(1, 2 * mp.sqrt(t)) / mp.sqrt(t) - 1) / t, 0, 16, 21)  # fmt: skip
for _order in (0, 1):
    fit(f"BESSEL_I{_order}_FAR", f"(sqrt(x) exp(-x) I_{_order}(x) - 1 / sqrt(2 pi)) x in 16 / x - 1, x >= 8",
        bessel_far(_order), -1, 1, 25)  # fmt: skip


def temme(rows: int, degrees: list[int]) -> list[list[mp.mpf]]:
    """Taylor coefficients in eta of c_k(eta), k < rows (Temme 1979).

    With eta**2 / 2 = mu - log(1 + mu): c_0 = 1 / mu - 1 / eta, c_k = (c_(k-1)' + gamma_k eta / mu) / eta,
    where gamma_k makes the quotient regular.
    """
    order = max(degrees) + 2 * rows + 4
    # mu = sum a_n eta**n from the differential equation mu mu' = eta (1 + mu).
    a = [mp.mpf(0), mp.mpf(1)]
    for n in range(2, order + 3):
        convolution = sum((k * a[k] * a[n + 1 - k] for k in range(2, n)), mp.mpf(0))
        a.append((a[n - 1] - convolution) / (n + 1))
    # eta / mu = 1 / (a_1 + a_2 eta + ...).
    inverse = [mp.mpf(1)]
    for n in range(1, order + 1):
        inverse.append(-sum((a[k + 1] * inverse[n - k] for k in range(1, n + 1)), mp.mpf(0)))
    series = inverse[1:]
    result = [series]
    for _ in range(1, rows):
        derivative = [n * series[n] for n in range(1, len(series))]
        gamma = -derivative[0]
        total = [derivative[n] + gamma * inverse[n] for n in range(len(derivative))]
        series = total[1:]
        result.append(series)
    return [row[: degree + 1] for row, degree in zip(result, degrees, strict=True)]


def main(arguments: list[str]) -> None:
    chosen = [f for f in FITS if not arguments or f.name in arguments]
    lines = []
    for f in chosen:
        p, q = solve(f)
        print(f"{f.name:24s} {f.degree:2d}/{f.below:<2d} {mp.nstr(error(f, p, q), 3)}", flush=True)
        lines.append("")
        lines.append(f"# {f.meaning}")
        for suffix, numbers in (("", p), ("_BELOW", q)):
            if numbers:
                lines.append(f"{f.name}{suffix} = (")
                lines.extend(f"    {number!r}," for number in numbers)
                lines.append(")")
    if not arguments:
        lines.append("")
        lines.append("# Taylor coefficients in eta of the factors of a**-k in Temme's expansion, k = 0, 1, ...")
        lines.append("TEMME = (")
        for row in temme(6, [18, 16, 14, 12, 10, 8]):
            lines.append("    (")
            lines.extend(f"        {float(number)!r}," for number in row)
            lines.append("    ),")
        lines.append(")")
        head = (
            '"""Coefficients of approximations, from the constant term upwards.\n\n'
            'Written by tools/fit_vectormath.py; change the definitions there, not the numbers here.\n"""\n'
        )
        place = Path(__file__).resolve().parent.parent / "src/consilience/native/vectormath/coefficients.py"
        place.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
