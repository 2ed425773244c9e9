"""Random draws: published vectors, the same bits in both worlds, and the right distributions."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from consilience.native import jit
from consilience.native.loops import Module, f64, i64, ptr
from consilience.native.random import (
    fold_in,
    philox,
    random_beta,
    random_binomial,
    random_bits,
    random_conway_maxwell_poisson,
    random_exponential,
    random_gamma,
    random_normal,
    random_normals,
    random_poisson,
    random_uniform,
    random_uniforms,
    random_von_mises,
)
from consilience.native.random import library as random_library
from consilience.native.random.library import filled_uniforms, normals
from consilience.native.random.masses import binomial_log_mass, deviance, poisson_log_mass, stirling_error
from consilience.native.random.philox import HALF_STEP, uniforms, unit_interval
from consilience.native.typed_python import NativeFunction

KEY = 20240229
DRAWS = 20_000

keys = st.integers(-(2**63), 2**63 - 1)

# The Random123 distribution's known answers for philox4x32-10: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_words(
    counter: tuple[int, int, int, int], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    assert philox(*counter, *key) == expected
    assert philox.compiled(*counter, *key) == expected


CASES: list[tuple[NativeFunction[..., Any], tuple[float, ...]]] = [
    (random_uniform, ()),
    (random_normal, ()),
    (random_exponential, ()),
    *[(random_gamma, (shape,)) for shape in (0.0, 0.02, 0.7, 1.0, 3.5, 1e4, 1e300, -1.0, math.inf, math.nan)],
    *[(random_von_mises, (kappa,)) for kappa in (0.0, 1e-300, 0.3, 20.0, 1e12, 1e300, -1.0, math.inf, math.nan)],
    *[(random_beta, shapes) for shapes in ((0.01, 0.02), (2.0, 0.5), (30.0, 40.0), (0.0, 1.0))],
    *[(random_poisson, (rate,)) for rate in (0.0, 1e-9, 0.5, 9.99, 10.0, 300.0, 1e12, 9e18)],
    *[
        (random_conway_maxwell_poisson, parameters)
        for parameters in (
            (-700.0, 1e-300),
            (-1e-3, 1e-3),
            (0.0, 1e-12),
            (2.0, 0.5),
            (5.0, 1e300),
            (1e300, 1e299),
            (1.0, 0.0),
            (1.0, math.nan),
            (math.inf, 1.0),
            (-math.inf, 1.0),
            (1.0, 1e-300),
        )
    ],
    *[(random_poisson, (rate,)) for rate in (-1.0, math.nan, 1e19, math.inf)],
    *[
        (random_binomial, case)
        for case in (
            (0, 0.5),
            (1, 0.5),
            (10, 0.0),
            (10, 1.0),
            (10, 0.3),
            (19, 0.52),
            (100, 0.5),
            (100, 0.97),
            (1000, 1e-3),
            (10**9, 0.3),
            (2**62, 0.25),
            (2**63 - 1, 1e-18),
            (-1, 0.5),
            (5, 1.5),
            (5, math.nan),
        )
    ],
]
NAMES = [f"{function.name}{parameters}" for function, parameters in CASES]


@pytest.mark.parametrize(("function", "parameters"), CASES, ids=NAMES)
def test_draws_are_the_same_bits_in_both_worlds(
    function: NativeFunction[..., Any], parameters: tuple[float, ...]
) -> None:
    for counter in (*range(60), -1, 2**40, -(2**63)):
        expected = function(KEY, counter, *parameters)
        got = function.compiled(KEY, counter, *parameters)
        assert got == expected or (got != got and expected != expected)


@settings(max_examples=50, deadline=None)
@given(keys, keys)
def test_keys_and_bits_are_the_same_in_both_worlds(key: int, data: int) -> None:
    new = fold_in(key, data)
    assert fold_in.compiled(key, data) == new
    assert -(2**63) <= new < 2**63
    assert random_bits.compiled(key, data) == random_bits(key, data) != new
    assert fold_in(key, data ^ 1) != new
    assert fold_in(key ^ 1, data) != new


def test_uniforms_cannot_reach_the_ends() -> None:
    assert unit_interval(0, 0) == HALF_STEP
    assert unit_interval(0xFFFFFFFF, 0xFFFFFFFF) == 1.0 - HALF_STEP


@pytest.mark.parametrize("first", [0, 1, 10, -3])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8])
def test_a_fill_gives_what_single_draws_give(first: int, n: int) -> None:
    out = np.full(10, -1.0)
    random_normals.compiled(KEY, first, out, n)
    assert out[:n].tolist() == [random_normal(KEY, first + i) for i in range(n)]
    assert (out[n:] == -1.0).all()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**40), 2**62), st.integers(0, 150))
@settings(max_examples=60, deadline=None)
def test_a_fill_on_vectors_gives_single_draws_and_nothing_behind_them(key: int, first: int, n: int) -> None:
    out = np.full(n + 3, -1.0)
    normals()(key, first, out, n)
    np.testing.assert_allclose(out[:n], [random_normal(key, first + i) for i in range(n)], rtol=2e-15)
    assert (out[n:] == -1.0).all()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**40), 2**62), st.integers(0, 150))
@settings(max_examples=60, deadline=None)
def test_filled_uniforms_are_both_numbers_of_each_block(key: int, first: int, n: int) -> None:
    """The same bits on vectors, one by one, and under CPython; nothing is written behind them."""
    expected = [uniforms(key, (first + i) >> 1, 0)[(first + i) & 1] for i in range(n)]
    for function in (random_uniforms, random_uniforms.compiled, filled_uniforms()):
        out = np.full(n + 3, -1.0)
        function(key, first, out, n)
        assert out.tolist() == [*expected, -1.0, -1.0, -1.0]


def test_a_fill_is_the_same_on_every_width() -> None:
    found = []
    for lanes in random_library.LANES:
        name = random_library.symbol("random_normals", lanes)
        function = jit.load(random_library.fill("random_normals", lanes), [name]).function(
            name, None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        )
        for first, n in ((0, 100), (5, 77)):
            out = np.zeros(n)
            function(KEY, first, out.ctypes.data, n)
            found.append(out)
    for k in range(2, len(found)):
        np.testing.assert_array_equal(found[k], found[k % 2])


def test_filled_normals_are_standard_normal_and_independent() -> None:
    """A million numbers: Kolmogorov-Smirnov, moments, and no correlation between neighbours."""
    x = np.empty(1_000_000)
    normals()(1, 0, x, len(x))
    assert stats.kstest(x, "norm").pvalue > 1e-3
    root = np.sqrt(len(x))
    for power, moment, variance in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]:
        assert abs((x**power).mean() - moment) < 4.0 * np.sqrt(variance) / root
    for lag in (1, 2, 8, 16, 128):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4.0 / root


# ---- distributions


def draws(function: NativeFunction[..., Any], *parameters: float, purpose: int = 0) -> npt.NDArray[np.float64]:
    key = fold_in(KEY, purpose)
    compiled = function.compiled
    return np.array([compiled(key, counter, *parameters) for counter in range(DRAWS)], np.float64)


CONTINUOUS: list[tuple[NativeFunction[..., Any], tuple[float, ...], Any]] = [
    (random_uniform, (), stats.uniform()),
    (random_normal, (), stats.norm()),
    (random_exponential, (), stats.expon()),
    (random_gamma, (0.05,), stats.gamma(0.05)),
    (random_gamma, (0.9,), stats.gamma(0.9)),
    (random_gamma, (1.0,), stats.gamma(1.0)),
    (random_gamma, (2.5,), stats.gamma(2.5)),
    (random_gamma, (1000.0,), stats.gamma(1000.0)),
    (random_von_mises, (1e-8,), stats.uniform(-math.pi, 2.0 * math.pi)),
    (random_von_mises, (0.7,), stats.vonmises(0.7)),
    (random_von_mises, (9.0,), stats.vonmises(9.0)),
    (random_von_mises, (1e20,), stats.norm(0.0, 1e-10)),
    (random_beta, (0.3, 0.6), stats.beta(0.3, 0.6)),
    (random_beta, (4.0, 2.0), stats.beta(4.0, 2.0)),
]


@pytest.mark.parametrize(("function", "parameters", "law"), CONTINUOUS, ids=[f"{f.name}{p}" for f, p, _ in CONTINUOUS])
def test_continuous_draws_follow_their_law(
    function: NativeFunction[..., Any], parameters: tuple[float, ...], law: Any
) -> None:
    sample = draws(function, *parameters, purpose=1)
    assert stats.kstest(sample, law.cdf).pvalue > 1e-3
    moments_agree(sample, law)


DISCRETE: list[tuple[NativeFunction[..., Any], tuple[float, ...], Any]] = [
    *[(random_poisson, (rate,), stats.poisson(rate)) for rate in (0.3, 4.0, 9.9, 10.0, 25.0, 1234.5, 1e7)],
    *[
        (random_binomial, (n, p), stats.binom(n, p))
        for n, p in ((5, 0.4), (20, 0.5), (21, 0.5), (40, 0.9), (300, 0.02), (300, 0.45), (10**6, 0.7))
    ],
    *[
        (random_conway_maxwell_poisson, (math.log(rate), 1.0), stats.poisson(rate))
        for rate in (0.3, 4.0, 25.0, 1234.5, 1e7)
    ],
    *[(random_conway_maxwell_poisson, (math.log(p), 1e-300), stats.geom(1.0 - p, loc=-1)) for p in (0.2, 0.999)],
]


@pytest.mark.parametrize(("function", "parameters", "law"), DISCRETE, ids=[f"{f.name}{p}" for f, p, _ in DISCRETE])
def test_discrete_draws_follow_their_law(
    function: NativeFunction[..., Any], parameters: tuple[float, ...], law: Any
) -> None:
    sample = draws(function, *parameters, purpose=2)
    moments_agree(sample, law)
    edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))  # cells with some hundreds of draws each
    cells = np.concatenate([[-np.inf], edges, [np.inf]])
    expected = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]])) * DRAWS
    observed = np.histogram(sample, np.where(np.isfinite(cells), cells + 0.5, cells))[0]
    kept = expected > 5
    statistic = float(((observed - expected)[kept] ** 2 / expected[kept]).sum())
    assert observed[~kept].sum() <= 25
    assert stats.chi2.sf(statistic, int(kept.sum()) - 1) > 1e-3


def moments_agree(sample: npt.NDArray[np.float64], law: Any) -> None:
    mean, variance, kurtosis = (float(m) for m in law.stats(moments="mvk"))
    count = len(sample)
    assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / count)
    error = variance * math.sqrt((kurtosis + 2) / count)
    assert abs(sample.var() - variance) < 5 * error


def test_neighbouring_counters_and_keys_are_uncorrelated() -> None:
    normals = draws(random_normal, purpose=3)
    uniform = draws(random_uniform, purpose=3)
    other = draws(random_uniform, purpose=4)
    limit = 5 / math.sqrt(DRAWS)
    for lag in (1, 2, 3, 7):
        assert abs(np.corrcoef(normals[:-lag], normals[lag:])[0, 1]) < limit
        assert abs(np.corrcoef(uniform[:-lag], uniform[lag:])[0, 1]) < limit
    assert abs(np.corrcoef(uniform, other)[0, 1]) < limit


def test_huge_means_keep_their_spread() -> None:
    rate = 1e15
    sample = draws(random_poisson, rate, purpose=5)
    assert abs((sample - rate).mean()) < 5 * math.sqrt(rate / DRAWS)
    assert abs((sample - rate).var() / rate - 1) < 5 * math.sqrt(2 / DRAWS)


# ---- masses


@given(st.integers(0, 400), st.floats(1e-3, 1e3))
def test_poisson_masses_agree_with_scipy(k: int, rate: float) -> None:
    expected = float(stats.poisson(rate).logpmf(k))
    assert math.isclose(poisson_log_mass(float(k), rate), expected, rel_tol=1e-12, abs_tol=1e-12)


@given(st.integers(1, 400), st.floats(0.0, 1.0), st.floats(1e-6, 0.999))
def test_binomial_masses_agree_with_scipy(n: int, part: float, p: float) -> None:
    k = round(n * part)
    expected = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    expected += k * math.log(p) + (n - k) * math.log1p(-p)
    assert math.isclose(binomial_log_mass(float(k), float(n), p), expected, rel_tol=1e-11, abs_tol=1e-11)


@given(st.integers(1, 300))
def test_stirling_error_is_what_stirling_misses(n: int) -> None:
    missed = math.lgamma(n + 1) - ((n + 0.5) * math.log(n) - n + 0.5 * math.log(2 * math.pi))
    assert math.isclose(stirling_error(float(n)), missed, abs_tol=1e-12)


@given(st.floats(0.1, 1e6), st.floats(-0.05, 0.05))
def test_deviance_does_not_cancel_near_the_mean(mean: float, relative: float) -> None:
    x = mean * (1 + relative)
    e = (x - mean) / mean
    if abs(e) < 1e-4:  # x log(x / mean) + mean - x, by its series
        expected = mean * (e * e / 2 - e**3 / 6 + e**4 / 12)
        assert math.isclose(deviance(x, mean), expected, rel_tol=1e-11, abs_tol=0.0)
    else:
        assert math.isclose(deviance(x, mean), x * math.log(x / mean) + mean - x, rel_tol=1e-6)


# ---- generated code


ROWS: list[tuple[str, tuple[float, ...]]] = [
    ("random_uniform", ()),
    ("random_bits", ()),
    ("random_fold_in", ()),
    ("random_normal", ()),
    ("random_exponential", ()),
    ("random_gamma", (1.7,)),
    ("random_beta", (0.4, 3.0)),
    ("random_poisson", (12.0,)),
    ("random_binomial", (30, 0.4)),
    ("random_conway_maxwell_poisson", (1.5, 0.7)),
]
NUMBERS = 1600


def generated(name: str, parameters: tuple[float, ...], lanes: int) -> npt.NDArray[np.float64]:
    """Draws for counters -800 to 799, made by generated code on vectors of `lanes`."""
    module = Module()
    b = module.function("f", [("out", ptr)], None)
    wide, whole = f64.vector(lanes), i64.vector(lanes)
    kinds = list(random_library.DRAWS[name].signature[0].values())[2:]
    constants = [b.const(k.register.vector(lanes), p) for k, p in zip(kinds, parameters, strict=True)]
    with b.for_(0, NUMBERS, lanes) as i:
        counter = b.add(b.splat(b.sub(i, b.const(i64, NUMBERS // 2)), lanes), b.iota(whole))
        result = random_library.result_type(name, lanes)
        drawn = b.math(name, b.const(whole, KEY), counter, *constants, result=result)
        b.store(b.cast(drawn, wide), b.offset(b.parameters[0], i, f64))
    b.ret()
    out = np.zeros(NUMBERS)
    jit.load(module, ["f"]).function("f", None, ctypes.c_void_p)(out.ctypes.data)
    return out


@pytest.mark.parametrize(("name", "parameters"), ROWS, ids=[name for name, _ in ROWS])
def test_generated_code_draws_the_same_numbers_on_every_width(name: str, parameters: tuple[float, ...]) -> None:
    found = [generated(name, parameters, lanes) for lanes in random_library.LANES]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    function = random_library.DRAWS[name]
    expected = [float(function(KEY, k - NUMBERS // 2, *parameters)) for k in range(NUMBERS)]
    if name in ("random_normal", "random_exponential"):  # logarithm, sine and cosine of two libraries
        np.testing.assert_allclose(found[0], expected, rtol=2e-15)
    else:
        np.testing.assert_array_equal(found[0], expected)
