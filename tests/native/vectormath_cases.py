"""What every function of the vector math library is compared with, where, and how close it must come.

In: nothing. Out: a table of exact functions in 40-digit arithmetic with test points of a fixed seed, and a
loop that runs a function over arrays. The tests state laws over this table; the benchmark prints it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

from consilience.native import jit
from consilience.native.loops import Module
from consilience.native.program import f64, i64, ptr
from consilience.native.target import Target, host
from consilience.native.vectormath import FUNCTIONS, define
from tests.native.exact_incomplete import (
    _beta_density,
    _betainc,
    _betainc_slope,
    _gammainc,
    _gammainc_slope,
    _log_betainc_odds,
    _log_gammainc,
)

Array = npt.NDArray[np.float64]
DIGITS = 40

# ---- machine code over arrays


@functools.cache
def compiled(name: str, lanes: int, target: Target | None = None) -> Callable[..., Any]:
    """void run(argument pointers..., output pointer, i64 length, i64 repetitions); length a multiple of 8."""
    target = target or host()
    arity = FUNCTIONS[name].arity
    type = f64.vector(lanes)
    module = Module()
    function = define(module, name, lanes, fused=target.fma)
    pointers = [(f"p{k}", ptr) for k in range(arity + 1)]
    b = module.function("run", [*pointers, ("length", i64), ("repetitions", i64)], None, contract=False)
    *arguments, output, length, repetitions = b.parameters
    with b.for_(0, repetitions):
        with b.for_(0, length, lanes) as i:
            values = [b.load(type, b.offset(p, i, f64)) for p in arguments]
            b.store(b.call(function, type, *values), b.offset(output, i, f64))
    b.ret()
    library = jit.load(module, ["run"], target=target, level=1)
    return library.function("run", None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64, ctypes.c_int64)


def apply(name: str, *arguments: npt.ArrayLike, lanes: int = 8, target: Target | None = None) -> Array:
    """The function on flat arrays of one length, broadcast against each other."""
    arrays = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in arguments))
    count = arrays[0].size
    padded = [np.append(a.ravel(), np.full(-count % 8, 0.5)) for a in arrays]
    result = np.empty(padded[0].size)
    addresses = [a.ctypes.data for a in (*padded, result)]
    compiled(name, lanes, target)(*addresses, result.size, 1)
    return result[:count]


# ---- exact values


@functools.cache  # asked for by several tests
def exactly(function: Callable[..., mp.mpf], *arguments: float) -> mp.mpf:
    """The function at float64 points, in 40 digits."""
    with mp.workdps(DIGITS):
        return +function(*(mp.mpf(float(a)) for a in arguments))


def _erfcx(x: mp.mpf) -> mp.mpf:
    if x < 60:
        return mp.exp(x * x) * mp.erfc(x)
    terms = [mp.mpf(1)]
    for k in range(12):
        terms.append(terms[-1] * -(2 * k + 1) / (2 * x * x))
    return mp.fsum(terms) / (x * mp.sqrt(mp.pi))


def _log_ndtr(x: mp.mpf) -> mp.mpf:
    z = x / mp.sqrt(2)
    if x < -60:
        return mp.log(_erfcx(-z) / 2) - z * z
    return mp.log(mp.erfc(-z) / 2) if x < 1 else mp.log1p(-mp.erfc(z) / 2)


def _bessel(order: int) -> Callable[[mp.mpf], mp.mpf]:
    """I_order(x) exp(-|x|); far out by its asymptotic series (DLMF 10.40.1)."""

    def scaled(x: mp.mpf) -> mp.mpf:
        size = abs(x)
        if size < 200:
            return mp.besseli(order, x) * mp.exp(-size)
        term = total = mp.mpf(1)
        for k in range(1, 40):
            term *= -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * size)
            total += term
        return total / mp.sqrt(2 * mp.pi * size) * (mp.sign(x) if order else 1)

    return scaled


def _unscaled(order: int) -> Callable[[mp.mpf], mp.mpf]:
    return lambda x: _bessel(order)(x) * mp.exp(abs(x))


def _of_first_kind(scaled: bool) -> Callable[[mp.mpf, mp.mpf], mp.mpf]:
    return lambda v, x: mp.besseli(v, x) * (mp.exp(-abs(x)) if scaled else 1)


def _of_second_kind(scaled: bool) -> Callable[[mp.mpf, mp.mpf], mp.mpf]:
    return lambda v, x: mp.besselk(v, x) * (mp.exp(x) if scaled else 1)


def _slope_of_first_kind(v: mp.mpf, x: mp.mpf) -> mp.mpf:
    with mp.workdps(60):
        return ((mp.besseli(v - 1, x) + mp.besseli(v + 1, x)) / 2 - mp.besseli(v, x)) * mp.exp(-x)


def _slope_of_i0e(x: mp.mpf) -> mp.mpf:
    if abs(x) > 200:
        u = 1 / x
        return (
            -(x ** mp.mpf(-1.5))
            / mp.sqrt(2 * mp.pi)
            * sum(
                mp.rf(mp.mpf(1) / 2, k) ** 2 / (mp.factorial(k) * 2**k) * (k + mp.mpf(1) / 2) * u**k for k in range(40)
            )
        )
    return mp.sign(x) * _slope_of_first_kind(mp.mpf(0), abs(x))


def _slope_of_second_kind(v: mp.mpf, x: mp.mpf) -> mp.mpf:
    with mp.workdps(60):
        return (mp.besselk(v, x) - (mp.besselk(v - 1, x) + mp.besselk(v + 1, x)) / 2) * mp.exp(x)


def _exponential_integral(n: mp.mpf, x: mp.mpf) -> mp.mpf:
    with mp.workdps(120):
        return mp.expint(n, x)


def _slope(function: Callable[..., mp.mpf], place: int) -> Callable[..., mp.mpf]:
    """The derivative in one argument, by a central difference in many digits."""

    def difference(*x: mp.mpf) -> mp.mpf:
        with mp.workdps(90):
            h = mp.mpf(10) ** -30
            ends = [function(*x[:place], x[place] + step, *x[place + 1 :]) for step in (h, -h)]
            return (ends[0] - ends[1]) / (2 * h)

    return difference


def _log1mexp(x: mp.mpf) -> mp.mpf:
    return mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))


def _gammaln(x: mp.mpf) -> mp.mpf:
    return mp.re(mp.loggamma(x)) if x > 0 else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.re(mp.loggamma(-x))


def _cbrt(x: mp.mpf) -> mp.mpf:
    return mp.sign(x) * mp.cbrt(abs(x))


def _pow(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    return mp.exp(y * mp.log(x)) if x > 0 else mp.mpf(x) ** int(y)


# A quantile is checked where it is: Newton's correction of the result itself is its error.


def _ndtri_error(p: mp.mpf, got: mp.mpf) -> mp.mpf:
    density = mp.exp(-got * got / 2) / mp.sqrt(2 * mp.pi)
    if got < 0:
        return (mp.erfc(-got / mp.sqrt(2)) / 2 - p) / density
    return ((1 - p) - mp.erfc(got / mp.sqrt(2)) / 2) / density


def _ndtri_exp_error(y: mp.mpf, got: mp.mpf) -> mp.mpf:
    """The difference of the logarithms over their slope, which is asymptotically -1 / got; of the smaller tail."""
    if got > 5:
        return (-mp.expm1(y) - mp.erfc(got / mp.sqrt(2)) / 2) / (mp.exp(-got * got / 2) / mp.sqrt(2 * mp.pi))
    slope = mp.sqrt(2 / mp.pi) / _erfcx(-got / mp.sqrt(2))
    return (_log_ndtr(got) - y) / slope


def _owens_t(h: mp.mpf, a: mp.mpf) -> mp.mpf:
    h, size = abs(h), abs(a)
    if size > 1:  # the wedge beyond the line of slope a
        q, r = mp.erfc(h / mp.sqrt(2)) / 2, mp.erfc(h * size / mp.sqrt(2)) / 2
        return mp.sign(a) * ((q + r) / 2 - q * r - _owens_t(h * size, 1 / size))
    end = min(size, 15 / max(h, mp.mpf("0.1")))
    part = mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), mp.linspace(0, end, 4))
    return mp.sign(a) * part / (2 * mp.pi)


def _zeta(s: mp.mpf, q: mp.mpf) -> mp.mpf:
    """The first terms, and the formula of Euler and Maclaurin for the rest."""
    start = max(-mp.floor(q), 0) + 120
    total = mp.fsum((q + k) ** -s for k in range(int(start)))
    a = q + start
    rest = a ** (1 - s) / (s - 1) + a**-s / 2
    for k in range(1, 40):
        rest += mp.bernoulli(2 * k) / mp.fac(2 * k) * mp.rf(s, 2 * k - 1) * a ** (1 - s - 2 * k)
    return total + rest


def _erfinv_error(x: mp.mpf, got: mp.mpf) -> mp.mpf:
    density = 2 / mp.sqrt(mp.pi) * mp.exp(-got * got)
    if abs(x) < 0.5:
        return (mp.erf(got) - x) / density
    return mp.sign(x) * ((1 - abs(x)) - mp.erfc(abs(got))) / density


def _gamma_quantile_error(tail: int) -> Callable[..., mp.mpf]:
    """For P (0) or Q (1)."""

    def error(a: mp.mpf, probability: mp.mpf, got: mp.mpf) -> mp.mpf:
        with mp.workdps(90):
            density = mp.exp((a - 1) * mp.log(got) - got - mp.loggamma(a))
            return (_gammainc(a, got)[tail] - probability) / density

    return error


def _betaincinv_error(a: mp.mpf, b: mp.mpf, p: mp.mpf, got: mp.mpf) -> mp.mpf:
    if got == 1:  # right if the quantile is not below the number before
        return mp.mpf(_betainc(a, b, 1 - mp.mpf(2) ** -53) > p)
    return (_betainc(a, b, got) - p) / _beta_density(a, b, got)


def _betainccinv_error(a: mp.mpf, b: mp.mpf, q: mp.mpf, got: mp.mpf) -> mp.mpf:
    if got == 1:
        return mp.mpf(_betainc(b, a, mp.mpf(2) ** -53) < q)
    if q > 0.5:
        return _betaincinv_error(a, b, 1 - q, got)
    return (_betainc(b, a, 1 - got) - q) / _beta_density(a, b, got)


def _count_error(tails: Callable[..., tuple[mp.mpf, mp.mpf]]) -> Callable[..., mp.mpf]:
    """0 for the smallest count whose probability reaches q, else 1; what rounding leaves open may go either way.

    tails   of parameters and a count k: P(X <= k) and P(X > k)
    """

    def error(*arguments: mp.mpf) -> mp.mpf:
        *parameters, q, got = arguments

        def excess(k: mp.mpf) -> mp.mpf:
            if k < 0:
                return mp.mpf(-1)
            below, beyond = tails(*parameters, k)
            with mp.workdps(400):
                return (below - q) / q if q <= 0.5 else ((1 - q) - beyond) / (1 - q + mp.mpf(2) ** -54)

        slack = mp.mpf(2) ** -40 if q <= 0.5 else mp.mpf(2) ** -40 + mp.mpf(2) ** -53 / (1 - q)
        return mp.mpf(int(got != mp.floor(got) or excess(got) < -slack or excess(got - 1) > slack))

    return error


def _poisson_tails(mu: mp.mpf, k: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    beyond, below = _gammainc(k + 1, mu)
    return below, beyond


def _binomial_tails(n: mp.mpf, p: mp.mpf, k: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    if k >= n:
        return mp.mpf(1), mp.mpf(0)
    return _betainc(n - k, k + 1, 1 - p), _betainc(k + 1, n - k, p)


def _urn_tails(a: mp.mpf, b: mp.mpf, n: mp.mpf, k: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """The sum of all masses, by the ratios of neighbours."""
    term, masses = mp.mpf(1), [mp.mpf(1)]
    for j in range(int(n)):
        term *= (n - j) * (j + a) / ((j + 1) * (n - j - 1 + b))
        masses.append(term)
    total, split = mp.fsum(masses), int(k) + 1
    return mp.fsum(masses[:split]) / total, mp.fsum(masses[split:]) / total


def _urn_sum(a: mp.mpf, b: mp.mpf, n: mp.mpf, k: mp.mpf) -> mp.mpf:
    """The sum of the masses up to that of k, over that."""
    term = sum = mp.mpf(1)
    for j in range(int(k), 0, -1):
        term *= j * (n - j + b) / ((n - j + 1) * (j - 1 + a))
        sum += term
    return sum


def _urn_slope(shape: int, a: mp.mpf, b: mp.mpf, n: mp.mpf, k: mp.mpf) -> mp.mpf:
    """By differences, in twice as many digits."""
    with mp.workdps(2 * mp.mp.dps):
        step = mp.mpf(10) ** (-mp.mp.dps // 3)
        up, down = (_urn_sum(a + s, b, n, k) if shape == 0 else _urn_sum(a, b + s, n, k) for s in (step, -step))
        return (up - down) / (2 * step)


def _urns(count: int = 24) -> tuple[Array, Array, Array, Array]:
    """Shapes, numbers of trials, and counts."""
    rng = _generator()
    a, b = 10.0 ** rng.uniform(-2, 3, count), 10.0 ** rng.uniform(-2, 3, count)
    n = rng.integers(1, 300, count).astype(float)
    return a, b, n, np.floor(n * rng.beta(a, b))


def _negative_binomial_tails(mu: mp.mpf, alpha: mp.mpf, k: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    p = alpha / (mu + alpha)
    return _betainc(alpha, k + 1, p), _betainc(k + 1, alpha, 1 - p)


# ---- points


def _generator() -> np.random.Generator:
    return np.random.default_rng(20261121)


def uniform(low: float, high: float, count: int = 600) -> Array:
    return _generator().uniform(low, high, count)


def powers(low: float, high: float, count: int = 600) -> Array:
    """10**u with u uniform: all magnitudes."""
    return np.asarray(10.0 ** uniform(low, high, count))


def signed(x: Array) -> Array:
    return x * np.where(np.arange(x.size) % 2, -1.0, 1.0)


def join(*parts: Array) -> Array:
    return np.concatenate(parts)


SMALL = signed(powers(-300, 0))
SUBNORMAL = signed(np.array([5e-324, 1.5e-323, 1e-310, 2.2250738585072009e-308]))
ALL_POSITIVE = join(powers(-323, 308), powers(-3, 3), 1 + signed(powers(-15, -1)), uniform(0.5, 2.0))
ANGLES = join(uniform(-10, 10), uniform(-1e5, 1e5), SMALL, signed(powers(5, 308)), SUBNORMAL)
UNIT_INTERVAL = join(uniform(-1, 1), SMALL, signed(1 - powers(-16, -0.1)), SUBNORMAL)
LINE = join(uniform(-3, 3), SMALL, uniform(-20, 20), SUBNORMAL)


# ---- the table


@dataclass(frozen=True)
class Case:
    """`exact` at `points`: the result is at most `bound` units in the last place away.

    unit   "ulp": of the exact value as a float64; "mixed": 2**-52 times the greater of 1 and the exact
           value, for functions with zeros between the float64 numbers; "relative": 2**-52 times the value
    error  the signed error of a result, for inverse functions; then `exact` is not needed
    """

    name: str
    bound: float
    points: tuple[Array, ...]
    exact: Callable[..., mp.mpf] | None = None
    unit: str = "ulp"
    error: Callable[..., mp.mpf] | None = None

    def errors(self, lanes: int = 8, target: Target | None = None, every: int = 1) -> Array:
        """Error of each point in the case's unit; infinite where a finite value was missed."""
        points = tuple(p[::every] for p in self.points)
        got = apply(self.name, *points, lanes=lanes, target=target)
        return np.array([self._one(g, *x) for g, *x in zip(got, *points, strict=True)])

    def _one(self, got: float, *x: float) -> float:
        if not np.isfinite(got):
            exact = np.nan if self.exact is None else float(exactly(self.exact, *x))
            return 0.0 if got == exact else np.inf
        with mp.workdps(DIGITS):
            if self.exact is not None:
                value = exactly(self.exact, *x)
                difference = abs(mp.mpf(float(got)) - value)
            else:
                assert self.error is not None
                value = mp.mpf(float(got))
                difference = abs(self.error(*(mp.mpf(float(a)) for a in x), value))
            if self.unit == "ulp":
                unit = mp.mpf(float(np.spacing(min(abs(float(value)), np.finfo(float).max))))
            elif self.unit == "mixed":
                unit = mp.mpf(2) ** -52 * max(1, abs(value))
            else:
                unit = mp.mpf(2) ** -52 * max(abs(value), mp.mpf(2) ** -1022)
            return float(difference / unit)


def _gamma_points(low: float, high: float, count: int = 60) -> tuple[Array, Array]:
    """Shapes of all sizes, and arguments from the centre of the distribution to far in both tails."""
    rng = _generator()
    a = 10.0 ** rng.uniform(low, high, count)
    spread = a + np.sqrt(a) * rng.normal(0.0, 4.0, count)
    x = np.where(np.arange(count) % 2 & (spread > 0), spread, a * 10.0 ** rng.uniform(-0.5, 0.5, count))
    return a, np.where((a < 1) & (np.arange(count) % 3 == 0), 10.0 ** rng.uniform(-6, 1.5, count), x)


def _beta_points(low: float, high: float, count: int = 60) -> tuple[Array, Array, Array]:
    rng = _generator()
    a, b = 10.0 ** rng.uniform(low, high, count), 10.0 ** rng.uniform(low, high, count)
    mean = a / (a + b)
    near = mean + np.sqrt(mean * (1 - mean) / (a + b)) * rng.normal(0.0, 3.0, count)
    far = 10.0 ** rng.uniform(-8, 0, count)
    choice = np.arange(count) % 3
    x = np.select([choice == 0, choice == 1], [np.clip(near, 1e-6, 1 - 1e-6), far], rng.uniform(0, 1, count))
    return a, b, x


def _probabilities(rng: np.random.Generator, count: int) -> Array:
    """In the middle, and towards both ends as far as float64 goes."""
    kinds = [rng.uniform(0, 1, count), 10.0 ** rng.uniform(-300, 0, count), 1 - 10.0 ** rng.uniform(-15.9, -0.3, count)]
    return np.asarray(np.choose(np.arange(count) % 3, kinds))


def _gamma_probabilities(low: float, high: float, count: int = 30) -> tuple[Array, Array]:
    """Shapes and probabilities whose quantile is a normal float64."""
    rng = _generator()
    a, p = 10.0 ** rng.uniform(low, high, count), _probabilities(rng, count)
    return a, np.where(np.log(p) < -600.0 * a, np.exp(-600.0 * a * rng.uniform(0, 1, count)), p)


def _beta_probabilities(low: float, high: float, count: int = 24) -> tuple[Array, Array, Array]:
    """The same for two shapes."""
    a, p = _gamma_probabilities(low, high, count)
    return a, np.random.default_rng(6).permutation(a), p


def _trials(low: float, high: float) -> tuple[Array, Array, Array]:
    """Whole numbers of trials, success probabilities, probabilities."""
    n, p = _gamma_probabilities(low, high)
    return np.ceil(n), np.random.default_rng(5).uniform(0, 1, n.size), p


def _second(order: int, scaled: bool) -> Callable[[mp.mpf], mp.mpf]:
    return lambda x: _of_second_kind(scaled)(mp.mpf(order), x)


def _dawson(x: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _orders(largest: float = 3000.0) -> tuple[Array, Array]:
    """Whole orders, ordinary, small and large ones, and arguments such that no result leaves float64."""
    rng = _generator()
    v = join(rng.uniform(0, 5, 40), rng.integers(0, 20, 6).astype(float), rng.uniform(5, 60, 40))
    v = join(v, 10.0 ** rng.uniform(-8, 0, 10))
    return v, np.minimum(10.0 ** rng.uniform(-3.0, 3.5, v.size) + 0.01 * v**1.5, largest)


def _whole_orders() -> tuple[Array, Array]:
    rng = _generator()
    return rng.integers(0, 60, 60).astype(float), np.minimum(10.0 ** rng.uniform(-5, 2.8, 60), 600.0)


def _kummer_points() -> tuple[Array, Array, Array]:
    """0 < a < b, as in characteristic functions of beta variables."""
    rng = _generator()
    a = rng.uniform(0, 20, 50)
    return a, a + rng.uniform(0, 20, 50), rng.uniform(-100, 100, 50)


def _gauss_points() -> tuple[Array, Array, Array, Array]:
    """Positive parameters; below 0 with c > b, where all terms of the transformed series are positive."""
    rng = _generator()
    a, b = rng.uniform(0, 30, 60), rng.uniform(0, 30, 60)
    z = np.where(np.arange(60) % 2, rng.uniform(0, 0.97, 60), -(10.0 ** rng.uniform(-3, 2, 60)))
    return a, b, np.where(z < 0, np.maximum(a, b), 0.1) + rng.uniform(0, 30, 60), z


def _far_gamma_points(low: float, high: float, count: int = 15) -> tuple[Array, Array]:
    """The same, and arguments at which the probability underflows."""
    a, x = _gamma_points(low, high, count)
    far = _generator().uniform(0.5, 30.0, count)
    return a, np.select([np.arange(count) % 3 == 0, np.arange(count) % 3 == 1], [x * np.exp(-far), x * far], x)


def _far_beta_points(low: float, high: float, count: int = 12) -> tuple[Array, Array, Array]:
    """Shapes and log odds from the mean to far in both tails."""
    a, b, _ = _beta_points(low, high, count)
    scale = np.where(np.arange(count) % 2, 1 / np.sqrt(np.minimum(a, b) + 0.1), 80.0)
    return a, b, np.log(a / b) + scale * _generator().normal(0.0, 2.0, count)


def _several(points: Callable[[float, float], tuple[Array, ...]], *ranges: tuple[float, float]) -> tuple[Array, ...]:
    return tuple(map(np.concatenate, zip(*(points(*r) for r in ranges), strict=True)))


_RNG = _generator()
_POW = join(powers(-300, 300), powers(-1, 1), 1 + signed(powers(-12, -1)))
_POW_EXPONENT = _RNG.uniform(-1.0, 1.0, _POW.size) * np.minimum(700.0 / np.abs(np.log(_POW)), 1e17)
_WHOLE = _RNG.integers(-20, 20, 200).astype(float)
_PLANE = (signed(powers(-3, 3)), signed(powers(-3, 3)[::-1].copy()))
_WIDE = (signed(powers(-300, 300)), np.roll(signed(powers(-300, 300)[::-1].copy()), 1))
_SHAPES = ((-6.0, 0.0), (-1.0, 1.0), (0.0, 2.2), (2.0, 4.0))
ONE_DIGIT_LESS = 1e-12 * 2.0**52
_FAR_GAMMA = _several(_far_gamma_points, (-3.0, 0.0), (-1.0, 1.0), (0.0, 2.2), (2.0, 4.0))
_FAR_BETA = _several(_far_beta_points, (-2.0, 1.0), (0.0, 2.0), (1.0, 3.0))


def _with_slopes(function: Callable[..., mp.mpf], names: str) -> list[tuple[str, Callable[..., mp.mpf]]]:
    slopes = [(f"_slope_{name}", _slope(function, place)) for place, name in enumerate(names)]
    return [("", function), *slopes]


CASES = [
    Case("exp", 1.5, (join(uniform(-745.1, 709.78), LINE, uniform(-745.1, -708, 200)),), mp.exp),
    Case(
        "exp2",
        1.5,
        (join(uniform(-1074, 1023.9), LINE, np.arange(-1074.0, 1024.0, 7.0)),),
        lambda x: mp.mpf(2) ** x,
    ),
    Case("expm1", 2.0, (join(uniform(-45, 709.78), LINE, uniform(-0.5, 0.5)),), mp.expm1),
    Case("log", 1.0, (ALL_POSITIVE,), mp.log),
    Case("log1p", 1.5, (join(powers(-323, 308), uniform(-1, 2), SMALL, -1 + powers(-16, -1)),), mp.log1p),
    Case("log2", 1.0, (ALL_POSITIVE,), lambda x: mp.log(x, 2)),
    Case("log10", 1.0, (ALL_POSITIVE,), mp.log10),
    Case(
        "log1mexp",
        2.5,
        (-join(powers(-300, 2.8), uniform(0, 2), uniform(0, 744), np.abs(SUBNORMAL)),),
        _log1mexp,
    ),
    Case("sin", 1.0, (ANGLES,), mp.sin),
    Case("cos", 1.0, (ANGLES,), mp.cos),
    Case("tan", 2.0, (ANGLES,), mp.tan),
    Case("arcsin", 2.5, (UNIT_INTERVAL,), mp.asin),
    Case("arccos", 1.5, (UNIT_INTERVAL,), mp.acos),
    Case("arctan", 1.5, (join(LINE, signed(powers(-300, 300)), uniform(-1, 1)),), mp.atan),
    Case("arctan2", 2.5, tuple(map(join, _PLANE, _WIDE)), mp.atan2),
    Case("sinh", 2.5, (join(uniform(-710.4, 710.4), LINE),), mp.sinh),
    Case("cosh", 1.5, (join(uniform(-710.4, 710.4), LINE),), mp.cosh),
    Case("tanh", 3.0, (LINE,), mp.tanh),
    Case("arcsinh", 2.0, (join(signed(powers(-300, 308)), LINE, signed(powers(-3, 3))),), mp.asinh),
    Case("arccosh", 2.5, (join(1 + powers(-15, 8), powers(8, 308), uniform(1, 5)),), mp.acosh),
    Case("arctanh", 2.0, (UNIT_INTERVAL,), mp.atanh),
    Case("pow", 1.5, (join(_POW, -powers(-3, 3, 200)), join(_POW_EXPONENT, _WHOLE)), _pow),
    Case("cbrt", 1.0, (join(signed(ALL_POSITIVE), SUBNORMAL),), _cbrt),
    Case("erf", 1.5, (join(uniform(-6, 6), LINE, uniform(-1.5, 1.5)),), mp.erf),
    Case("erfc", 3.5, (join(uniform(-6, 26.5), LINE[LINE < 26], uniform(-1.5, 1.5)),), mp.erfc),
    Case("erfcx", 3.0, (join(uniform(-26.6, 27), SMALL, uniform(-1.5, 1.5), powers(0, 300)),), _erfcx),
    Case("i0e", 4.0, (join(uniform(-8, 8), LINE, uniform(-40, 40), signed(powers(-300, 300))),), _bessel(0)),
    Case("i1e", 4.0, (join(uniform(-8, 8), LINE, uniform(-40, 40), signed(powers(-300, 300))),), _bessel(1)),
    Case("i0", 4.0, (join(uniform(-8, 8, 200), uniform(-40, 40, 100), uniform(-713, 713, 100)),), _unscaled(0)),
    Case("i1", 4.0, (join(uniform(-8, 8, 200), uniform(-40, 40, 100), uniform(-713, 713, 100)),), _unscaled(1)),
    Case("ive", ONE_DIGIT_LESS, _orders(), _of_first_kind(True), "relative"),
    Case("i0e_slope", 200.0, (join(uniform(-8, 8, 100), uniform(-100, 100, 100), powers(1, 300, 60)),), _slope_of_i0e),
    Case("iv", ONE_DIGIT_LESS, _orders(600.0), _of_first_kind(False), "relative"),
    Case("kve", ONE_DIGIT_LESS, _orders(), _of_second_kind(True), "relative"),
    Case("kv", ONE_DIGIT_LESS, _orders(600.0), _of_second_kind(False), "relative"),
    Case("ive_slope", ONE_DIGIT_LESS, _orders(), _slope_of_first_kind, "relative"),
    Case("kve_slope", ONE_DIGIT_LESS, _orders(), _slope_of_second_kind, "relative"),
    *(Case(f"k{n}", 8.0, (join(uniform(0, 8, 60), powers(-300, 2.8, 60)),), _second(n, False)) for n in (0, 1)),
    *(Case(f"k{n}e", 8.0, (join(uniform(0, 8, 60), powers(-300, 4, 60)),), _second(n, True)) for n in (0, 1)),
    Case("j0", 8.0, (join(uniform(-30, 30, 300), SMALL[::3]),), lambda x: mp.besselj(0, x), "mixed"),
    Case("j0", ONE_DIGIT_LESS, (powers(1, 8, 60),), lambda x: mp.besselj(0, x), "relative"),
    Case("j1", 8.0, (join(uniform(-30, 30, 300), SMALL[::3]),), lambda x: mp.besselj(1, x), "mixed"),
    Case("j1", ONE_DIGIT_LESS, (powers(1, 8, 60),), lambda x: mp.besselj(1, x), "relative"),
    Case("y0", 8.0, (uniform(0.1, 30, 100),), lambda x: mp.bessely(0, x), "mixed"),
    Case("y1", 8.0, (uniform(0.1, 30, 100),), lambda x: mp.bessely(1, x), "mixed"),
    Case("jv", ONE_DIGIT_LESS, _orders(100.0), mp.besselj, "mixed"),
    Case("yv", ONE_DIGIT_LESS, _orders(100.0), mp.bessely, "mixed"),
    Case("exp1", 8.0, (join(uniform(0, 10, 300), powers(-300, 2.8, 300)),), mp.e1),
    Case("expi", 200.0, (join(uniform(-10, 10, 300), uniform(-700, 700, 300), SMALL[::3]),), mp.ei, "mixed"),
    Case("expn", 100.0, _whole_orders(), _exponential_integral, "relative"),
    Case("sine_integral", 4.0, (join(uniform(-30, 30, 300), SMALL[::3], uniform(-1e4, 1e4, 100)),), mp.si),
    Case("cosine_integral", 20.0, (join(uniform(0, 30, 300), powers(-300, 4, 300)),), mp.ci, "mixed"),
    Case("dawsn", ONE_DIGIT_LESS, (join(uniform(-6, 6, 300), signed(powers(-300, 1.5, 300))),), _dawson),
    Case("spence", 40.0, (join(uniform(0, 3, 200), powers(-20, 0, 100)),), lambda x: mp.polylog(2, 1 - x), "mixed"),
    Case("ellipk", 4.0, (join(uniform(-1, 1, 200), -powers(-5, 8, 100), 1 - powers(-15, 0, 100)),), mp.ellipk),
    Case("ellipe", 4.0, (join(uniform(-1, 1, 200), -powers(-5, 8, 100), 1 - powers(-15, 0, 100)),), mp.ellipe),
    Case("hyp1f1", ONE_DIGIT_LESS, _kummer_points(), mp.hyp1f1, "relative"),
    Case("hyp1f1_slope_a", ONE_DIGIT_LESS, _kummer_points(), _slope(mp.hyp1f1, 0), "relative"),
    Case("hyp1f1_slope_b", ONE_DIGIT_LESS, _kummer_points(), _slope(mp.hyp1f1, 1), "relative"),
    Case("hyp2f1", ONE_DIGIT_LESS, _gauss_points(), mp.hyp2f1, "relative"),
    Case("hyp2f1_slope_a", ONE_DIGIT_LESS, _gauss_points(), _slope(mp.hyp2f1, 0), "relative"),
    Case("hyp2f1_slope_c", ONE_DIGIT_LESS, _gauss_points(), _slope(mp.hyp2f1, 2), "relative"),
    Case("erfinv", 4.0, (UNIT_INTERVAL,), error=_erfinv_error),
    Case(
        "ndtri",
        4.0,
        (join(uniform(0, 1), powers(-323, 0), 1 - powers(-15.9, -1), 0.5 + signed(powers(-15, -1))),),
        error=_ndtri_error,
    ),
    Case(
        "log_ndtr",
        4.0,
        (join(uniform(-40, 9), uniform(-2, 2), -powers(0, 10), uniform(0, 37), SMALL),),
        _log_ndtr,
    ),
    Case(
        "gammaln",
        5.0,
        (
            join(
                powers(-300, 1),
                uniform(0, 10),
                powers(0, 305),
                1 + signed(powers(-15, -1)),
                2 + signed(powers(-15, -1)),
            ),
        ),
        _gammaln,
    ),
    Case("gammaln", 20.0, (-join(uniform(0, 10), uniform(0, 170), powers(-300, 0, 100)),), _gammaln, "mixed"),
    Case(
        "gamma",
        5.0,
        (join(uniform(0, 10), uniform(0, 171.6), powers(-300, 0, 100), -uniform(0, 10), -uniform(0, 170, 300)),),
        mp.gamma,
    ),
    Case(
        "betaln",
        10.0,
        (join(powers(-6, 8), powers(-300, 0, 100)), join(powers(-6, 8)[::-1], powers(-3, 3, 100))),
        lambda a, b: _gammaln(a) + _gammaln(b) - _gammaln(a + b),
        "mixed",
    ),
    Case(
        "zeta",
        4.0,
        (join(uniform(1, 20, 40), 1 + powers(-10, 0, 20)), join(powers(-5, 5, 40), uniform(0, 30, 20))),
        _zeta,
        "relative",
    ),
    Case(
        "zeta",
        40.0,
        (np.floor(uniform(2, 100, 60)), join(powers(-3, 2, 30), -uniform(0, 20, 30))),
        _zeta,
        "relative",
    ),
    Case(
        "ndtri_exp",
        4.0,
        (-join(powers(-300, 290), powers(-3, 4)),),
        unit="mixed",
        error=_ndtri_exp_error,
    ),
    Case(
        "owens_t",
        8.0,
        (uniform(-7, 7, 120), signed(powers(-3, 3, 120))),
        _owens_t,
        "relative",
    ),
    Case("lgamma", 5.0, (uniform(0, 20, 200),), _gammaln),
    Case(
        "digamma",
        4.0,
        (join(powers(-300, 1), uniform(0, 10), powers(0, 300), 1.4616321449683622 + signed(powers(-15, -1))),),
        mp.digamma,
    ),
    Case("digamma", 20.0, (-join(uniform(0, 10), uniform(0, 170), powers(-300, 0, 100)),), mp.digamma, "mixed"),
    Case("trigamma", 4.0, (join(powers(-150, 1), uniform(0, 10), powers(0, 10)),), lambda x: mp.psi(1, x)),
    Case(
        "trigamma",
        20.0,
        (-join(uniform(0, 10), uniform(0, 170), powers(-100, 0, 100)),),
        lambda x: mp.psi(1, x),
    ),
    Case(
        "gammainc",
        ONE_DIGIT_LESS,
        _several(_gamma_points, *_SHAPES),
        lambda a, x: _gammainc(a, x)[0],
        "relative",
    ),
    Case(
        "gammaincc",
        ONE_DIGIT_LESS,
        _several(_gamma_points, *_SHAPES),
        lambda a, x: _gammainc(a, x)[1],
        "relative",
    ),
    Case("betainc", ONE_DIGIT_LESS, _several(_beta_points, (-2, 1), (0, 2), (1, 4)), _betainc, "relative"),
    Case(
        "gammainc_slope",
        ONE_DIGIT_LESS,
        _several(partial(_gamma_points, count=12), *_SHAPES[:3], (2.0, 2.5)),
        _gammainc_slope,
        "relative",
    ),
    Case(
        "betainc_slope_a",
        ONE_DIGIT_LESS,
        _several(partial(_beta_points, count=9), (-6, 0), (-2, 1), (0, 2), (1, 2.7)),
        _betainc_slope,
        "relative",
    ),
    Case(
        "betainc_slope_b",
        ONE_DIGIT_LESS,
        _several(partial(_beta_points, count=9), (-6, 0), (-2, 1), (0, 2), (1, 2.7)),
        lambda a, b, x: -_betainc_slope(b, a, 1 - x),
        "relative",
    ),
    *(
        Case(name + suffix, ONE_DIGIT_LESS, _FAR_GAMMA, function, "relative")
        for name, tail in (("log_gammainc", 0), ("log_gammaincc", 1))
        for suffix, function in _with_slopes(lambda *x, tail=tail: _log_gammainc(*x)[tail], "ax")
    ),
    *(
        Case(f"log_betainc_odds{suffix}", ONE_DIGIT_LESS, _FAR_BETA, function, "relative")
        for suffix, function in _with_slopes(_log_betainc_odds, "abw")
    ),
    Case(
        "gammaincinv",
        ONE_DIGIT_LESS,
        _several(_gamma_probabilities, (-3.0, -1.0), (-1.0, 1.0), (1.0, 3.0), (3.0, 5.0)),
        unit="relative",
        error=_gamma_quantile_error(0),
    ),
    Case(
        "gammainccinv",
        ONE_DIGIT_LESS,
        _several(_gamma_probabilities, (-1.0, 1.0), (1.0, 3.0), (3.0, 5.0)),
        unit="relative",
        error=_gamma_quantile_error(1),
    ),
    Case(
        "betaincinv",
        ONE_DIGIT_LESS,
        _several(_beta_probabilities, (-3.0, -1.0), (-1.0, 1.0), (0.0, 3.0), (3.0, 5.0)),
        unit="relative",
        error=_betaincinv_error,
    ),
    Case(
        "betainccinv",
        ONE_DIGIT_LESS,
        _several(_beta_probabilities, (-1.0, 1.0), (0.0, 3.0), (3.0, 5.0)),
        unit="relative",
        error=_betainccinv_error,
    ),
    Case("beta_binomial_sum", ONE_DIGIT_LESS, _urns(), _urn_sum, unit="relative"),
    Case("beta_binomial_sum_slope_a", ONE_DIGIT_LESS, _urns(), partial(_urn_slope, 0), unit="relative"),
    Case("beta_binomial_sum_slope_b", ONE_DIGIT_LESS, _urns(), partial(_urn_slope, 1), unit="relative"),
    Case(
        "beta_binomial_quantile",
        0.0,
        (*_urns()[:3], _probabilities(_generator(), 24)),
        unit="mixed",
        error=_count_error(_urn_tails),
    ),
    Case(
        "poisson_quantile",
        0.0,
        _several(_gamma_probabilities, (-2.0, 1.0), (1.0, 4.0)),
        unit="mixed",
        error=_count_error(_poisson_tails),
    ),
    Case("binomial_quantile", 0.0, _several(_trials, (0.0, 4.0)), unit="mixed", error=_count_error(_binomial_tails)),
    Case(
        "negative_binomial_quantile",
        0.0,
        _several(_beta_probabilities, (-1.0, 1.0), (0.0, 3.0)),
        unit="mixed",
        error=_count_error(_negative_binomial_tails),
    ),
]
