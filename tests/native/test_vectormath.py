"""Laws of the vector math library: accuracy, special values, one meaning at every width and target."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.special

from consilience.errors import NativeError
from consilience.native import jit
from consilience.native.loops import Module
from consilience.native.program import f64
from consilience.native.target import CROSS, LANES, Target, host, runs_here
from consilience.native.vectormath import FUNCTIONS, define, library, symbol
from consilience.ops import TABLE, count_quantile, count_sums, incomplete_slopes, log_beta
from tests.native.vectormath_cases import CASES, Case, apply
from tests.rows import slow_after

WITHOUT_FMA = Target(host().triple, "x86-64-v2", "", 2, False)
EXTREMES = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e308,
        -1e308,
        5e-324,
        -5e-324,
        1e-310,
        -1e-310,
        800.0,
        -800.0,
        1e5,
        -1e5,
        2.0**53,
        -(2.0**53),
        1e20,
        -1e20,
        170.5,
        -170.5,
        1e-20,
        -1e-20,
    ]
)


def label(case: Case) -> str:
    return f"{case.name}-{case.unit}"


def bits(x: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Bit patterns, with one pattern for all NaN."""
    return np.where(np.isnan(x), np.nan, x).view(np.int64)


@pytest.mark.parametrize("every", slow_after(1, [5, 1]))
@pytest.mark.parametrize("case", CASES, ids=label)
def test_result_is_within_its_bound_of_the_exact_value(case: Case, every: int) -> None:
    """In units of the last place, against 40-digit arithmetic, over the whole range; all points when slow."""
    errors = case.errors(every=every)
    worst = int(np.argmax(errors))
    assert errors[worst] <= case.bound, f"{errors[worst]:.2f} at {[float(p[::every][worst]) for p in case.points]}"


@pytest.mark.skipif(not runs_here(WITHOUT_FMA), reason="the processor is no x86-64")
@pytest.mark.parametrize("case", CASES, ids=label)
def test_without_fused_multiply_add_at_most_one_unit_is_lost(case: Case) -> None:
    """The hi/lo splits carry enough bits where every product is rounded."""
    errors = case.errors(lanes=2, target=WITHOUT_FMA, every=5)
    worst = int(np.argmax(errors))
    assert errors[worst] <= case.bound + 1, f"{errors[worst]:.2f} at {[float(p[::5][worst]) for p in case.points]}"


def test_every_function_has_a_case() -> None:
    """A row of the table that nothing compares with its exact value is not allowed."""
    assert {case.name for case in CASES} == set(FUNCTIONS)


def mixture(case: Case) -> list[npt.NDArray[np.float64]]:
    """Ordinary points with extreme ones between them, so that vectors mix usual and rare branches."""
    rng = np.random.default_rng(7)
    columns = []
    for points in case.points:
        sample = rng.choice(points, 200)
        sample[rng.random(200) < 0.15] = rng.choice(EXTREMES)
        columns.append(np.concatenate([sample, rng.choice(EXTREMES, 56)]))
    return columns


@pytest.mark.parametrize("case", CASES, ids=label)
def test_every_width_gives_the_same_bits(case: Case) -> None:
    """A result depends on its own lane only: neither on the width nor on what its neighbours hold."""
    arguments = mixture(case)
    single = apply(case.name, *arguments, lanes=1)
    for lanes in LANES[1:]:
        np.testing.assert_array_equal(bits(apply(case.name, *arguments, lanes=lanes)), bits(single))
    order = np.random.default_rng(8).permutation(single.size)
    shuffled = apply(case.name, *(a[order] for a in arguments))
    np.testing.assert_array_equal(bits(shuffled), bits(single[order]))


@pytest.mark.skipif(not runs_here(WITHOUT_FMA), reason="the processor is no x86-64")
@pytest.mark.parametrize("case", CASES, ids=label)
def test_every_width_gives_the_same_bits_without_fused_multiply_add(case: Case) -> None:
    """The same with rounded products."""
    arguments = mixture(case)
    two, four = (apply(case.name, *arguments, lanes=lanes, target=WITHOUT_FMA) for lanes in (2, 4))
    np.testing.assert_array_equal(bits(two), bits(four))


PARAMETERS = EXTREMES[
    (np.abs(EXTREMES) < 1e6) & ((np.abs(EXTREMES) > 1e-300) | (EXTREMES == 0)) | ~np.isfinite(EXTREMES)
]
"""For families with parameters, without sizes at which SciPy itself gives NaN for finite probabilities."""


def at_an_end(shape: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Shapes next to 0 and infinite ones."""
    return (np.abs(shape) < 1e-10) | np.isinf(shape)


BETTER = {
    "owens_t": lambda h, a: (a == 0) & np.signbit(a),  # as odd
    "gammaln": lambda x: (np.abs(x) < 1e-306) & (x != 0),  # SciPy overflows; log|gamma(5e-324)| is 744.4
    "lgamma": lambda x: (np.abs(x) < 1e-306) & (x != 0),
    # So many masses take the sums in NumPy too long.
    "beta_binomial_quantile": lambda a, b, n, q: (np.abs(n) > 1e3) & np.isfinite(n),
    "erfinv": lambda x: (x == 0) & np.signbit(x),  # SciPy's erfinv(-0.0) is 0.0; an odd function keeps the sign
    "i1": lambda x: np.abs(x) < 1e-323,  # as odd, and SciPy rounds half of the least number up
    "i1e": lambda x: (x == 0) & np.signbit(x),
    "hyp2f1": lambda a, b, c, z: np.abs(c) == 1e-20,  # SciPy takes it for the pole at 0
    "iv": lambda v, x: np.abs(x) == 5e-324,
    # SciPy's range of results is smaller: I and K of these are 1e-309 and 1e306.
    "ive": lambda v, x: (np.abs(x) == 5e-324) | ((v == 170.5) & (x == 2)),
    **dict.fromkeys(("ive_slope", "kv", "kve", "kve_slope"), lambda v, x: (np.abs(v) == 170.5) & (x == 2)),
    # Next to the shapes 0 and infinity SciPy's answer changes from one probability to the next.
    "gammaincinv": lambda a, p: at_an_end(a),
    "gammainccinv": lambda a, q: at_an_end(a),
    **dict.fromkeys(
        ("log_betainc_odds_slope_a", "log_betainc_odds_slope_b"), lambda a, b, w: at_an_end(a) | at_an_end(b)
    ),
    "betaincinv": lambda a, b, p: at_an_end(a) | at_an_end(b),
    "betainccinv": lambda a, b, q: at_an_end(a) | at_an_end(b),
}

MEANING = {
    # Completed where SciPy's range ends, so the table's own meaning: its values are compared with mpmath.
    **{name: TABLE[name].numpy for name in FUNCTIONS if name in TABLE},
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "arccos": np.arccos,
    "arcsin": np.arcsin,
    "arctan": np.arctan,
    "arctan2": np.arctan2,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "betainc": scipy.special.betainc,
    "betainc_slope_a": incomplete_slopes.betainc_slope_a,
    "betainc_slope_b": incomplete_slopes.betainc_slope_b,
    "gammainc_slope": incomplete_slopes.gammainc_slope,
    "betainccinv": scipy.special.betainccinv,
    "betaincinv": scipy.special.betaincinv,
    **count_sums.SUMS,
    "beta_binomial_quantile": count_sums.beta_binomial_quantile,
    "binomial_quantile": count_quantile.binomial_quantile,
    "negative_binomial_quantile": count_quantile.negative_binomial_quantile,
    "poisson_quantile": count_quantile.poisson_quantile,
    "digamma": scipy.special.digamma,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfcx": scipy.special.erfcx,
    "erfinv": scipy.special.erfinv,
    "gammainc": scipy.special.gammainc,
    "gammaincc": scipy.special.gammaincc,
    "gammainccinv": scipy.special.gammainccinv,
    "gammaincinv": scipy.special.gammaincinv,
    "gamma": scipy.special.gamma,
    "gammaln": scipy.special.gammaln,
    "betaln": log_beta.betaln,
    "ndtri_exp": scipy.special.ndtri_exp,
    "owens_t": scipy.special.owens_t,
    "zeta": TABLE["zeta"].numpy,
    "i0e": scipy.special.i0e,
    "i1e": scipy.special.i1e,
    "lgamma": scipy.special.gammaln,
    "log_ndtr": scipy.special.log_ndtr,
    "ndtri": scipy.special.ndtri,
    "log1mexp": lambda x: np.where(x > -0.6931, np.log(-np.expm1(x)), np.log1p(-np.exp(x))),
    "trigamma": lambda x: scipy.special.polygamma(1, x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_extreme_arguments_mean_what_numpy_and_scipy_say(name: str) -> None:
    """NaN, infinities and zeros come back where NumPy or SciPy gives them, with the same sign."""
    families = ("betainc", "beta_binomial", "gammainc", "log_betainc", "log_gammainc")
    families = (*families, "zeta", "betaln")
    values = PARAMETERS if name.startswith(families) or name.endswith("_quantile") else EXTREMES
    if name.startswith("hyp"):
        values = PARAMETERS[np.abs(PARAMETERS) < 100.0]
    grid = np.array(list(itertools.product(values, repeat=FUNCTIONS[name].arity))).T
    if name in BETTER:
        grid = grid[:, ~BETTER[name](*grid)]
    got = apply(name, *grid)
    with np.errstate(all="ignore"):
        expected = np.asarray(MEANING[name](*grid), np.float64)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    special = np.isinf(expected) | (expected == 0)
    np.testing.assert_array_equal(bits(got[special]), bits(expected[special]))


def test_quantiles_at_the_ends_are_the_ends_of_the_support() -> None:
    """Whatever the shape; a beta variable with an infinite shape has all its mass at one end."""
    shapes = np.array([1e-300, 1e-3, 1.0, 1e5, 1e300])
    for zero, one, lower, upper in ((0.0, 1.0, "gammaincinv", "betaincinv"), (1.0, 0.0, "gammainccinv", "betainccinv")):
        np.testing.assert_array_equal(apply(lower, shapes, zero), 0.0)
        np.testing.assert_array_equal(apply(lower, shapes, one), np.inf)
        np.testing.assert_array_equal(apply(upper, shapes, shapes[::-1], zero), 0.0)
        np.testing.assert_array_equal(apply(upper, shapes, shapes[::-1], one), 1.0)
        np.testing.assert_array_equal(apply(upper, shapes, np.inf, 0.3), 0.0)
        np.testing.assert_array_equal(apply(upper, np.inf, shapes, 0.3), 1.0)
    for outside in (-0.1, -5e-324, 1.0 + 2.0**-52, np.inf, np.nan):
        for name in ("gammaincinv", "gammainccinv"):
            assert np.isnan(apply(name, shapes, outside)).all()
        for name in ("betaincinv", "betainccinv"):
            assert np.isnan(apply(name, shapes, shapes[::-1], outside)).all()


@pytest.mark.parametrize("name", ["gammaincinv", "gammainccinv", "betaincinv", "betainccinv"])
def test_quantiles_are_monotone_in_the_probability(name: str) -> None:
    """Over all magnitudes of both tails, and where one tail takes over from the other."""
    tails = 10.0 ** np.linspace(-300.0, -1.0, 300)
    middle = np.concatenate([np.linspace(0.1, 0.9, 161), 0.5 + np.linspace(-1e-9, 1e-9, 41)])
    probabilities = np.unique(np.concatenate([tails, middle, 1.0 - 10.0 ** np.linspace(-15.9, -1.0, 150)]))
    shapes = np.array([1e-3, 0.03, 0.5, 1.0, 2.5, 40.0, 1e3, 1e5])
    sign = -1.0 if "cc" in name else 1.0
    for pair in itertools.product(shapes, repeat=FUNCTIONS[name].arity - 1):
        result = sign * apply(name, *pair, probabilities)
        slack = 1e-12 * np.abs(result[:-1])
        assert (np.diff(result) >= -slack).all(), pair


@pytest.mark.parametrize("base", [2.0, 10.0])
def test_logarithms_of_powers_of_their_base_are_whole(base: float) -> None:
    """log2(2**k) = k and log10(10**k) = k, exactly."""
    k = np.arange(-1074, 1024) if base == 2.0 else np.arange(0, 23)
    np.testing.assert_array_equal(apply(f"log{base:.0f}", base ** k.astype(float)), k)


def test_powers_of_two_are_exact() -> None:
    """exp2(k) = 2**k, subnormal numbers included."""
    k = np.arange(-1074.0, 1024.0)
    np.testing.assert_array_equal(apply("exp2", k), np.ldexp(1.0, k.astype(int)))


@pytest.mark.parametrize("name", [case.name for case in CASES if case.name in ("sin", "tan", "sinh", "tanh", "erf")])
def test_odd_functions_are_odd_to_the_bit(name: str) -> None:
    """f(-x) = -f(x)."""
    x = np.concatenate([EXTREMES, next(case for case in CASES if case.name == name).points[0]])
    np.testing.assert_array_equal(bits(apply(name, -x)), bits(-apply(name, x)))


# Without fma, and another machine; the widths between are left to the slow tests.
QUICK_TARGETS = ("x86-64-v2", "neoverse-v2")


@pytest.mark.parametrize(
    "target",
    [pytest.param(t, id=name, marks=[] if name in QUICK_TARGETS else pytest.mark.slow) for name, t in CROSS.items()],
)
def test_whole_library_lowers_for_every_target(target: Target) -> None:
    """At the target's own width and for scalars; no call of the C library's fma where it is missing."""
    module = Module()
    for name in FUNCTIONS:
        for lanes in (1, target.lanes):
            define(module, name, lanes, fused=target.fma)
    image = jit.compile_object(module, target, level=1)
    assert len(image) > 10_000
    assert b"\0fma\0" not in image


@pytest.mark.parametrize("name", ["exp", "log1p", "gammaln"])
def test_generated_code_reaches_the_library_by_name(name: str) -> None:
    """`Builder.math` of a kernel is resolved to the library's address, at the width of its operands."""
    module = Module()
    b = module.function("kernel", [("x", f64.vector(4))], f64.vector(4))
    b.ret(b.math(name, *b.parameters))
    assert jit.load(module, ["kernel"]).address("kernel")
    assert library().address(symbol(name, 4))


def test_inlined_function_keeps_its_bits() -> None:
    """A kernel that allows contraction does not change the rounding of a function inlined into it."""
    x = np.linspace(-3.0, 3.0, 64)
    module = Module()
    function = define(module, "expm1", 1, fused=host().fma, inline=True)
    b = module.function("kernel", [("x", f64)], f64)
    b.ret(b.mul(b.call(function, f64, *b.parameters), b.const(f64, 1.0)))
    kernel = jit.load(module, ["kernel"]).function("kernel", ctypes.c_double, ctypes.c_double)
    np.testing.assert_array_equal([kernel(v) for v in x], apply("expm1", x))


def test_scalar_function_can_be_called_from_python() -> None:
    """The library's own handle gives a callable that keeps its code."""
    log_ndtr = library().function(symbol("log_ndtr", 1), ctypes.c_double, ctypes.c_double)
    assert log_ndtr(-3.0) == apply("log_ndtr", [-3.0])[0]


def test_unknown_symbol_is_named_with_what_there_is() -> None:
    """The error lists the names that exist."""
    with pytest.raises(NativeError, match="log_ndtr"):
        library().address("consilience_logarithm_f64x8")


def test_incomplete_functions_are_probabilities() -> None:
    """Never an ULP above 1 or below 0, where a logarithm would be NaN; parameters from 1e-317 to 1e10."""
    rng = np.random.default_rng(0)
    a, b, x = (np.exp(rng.uniform(-730.0, 23.0, 20_000)) for _ in range(3))
    x[::3] = a[::3] * np.exp(rng.normal(size=len(a[::3])))
    for found in (apply("gammainc", a, x), apply("gammaincc", a, x), apply("betainc", a, b, rng.random(len(a)))):
        assert ((found >= 0.0) & (found <= 1.0)).all()


@pytest.mark.parametrize(("name", "reference"), [("log1p", np.log1p), ("arcsinh", np.arcsinh), ("arccosh", np.arccosh)])
def test_logarithms_reach_the_greatest_numbers(
    name: str, reference: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> None:
    """The exponent 1024 of the mantissa's form is none of a float64."""
    x = np.append(np.ldexp(1.0 + np.random.default_rng(0).random(50), 1023), np.finfo(float).max)
    np.testing.assert_allclose(apply(name, x), reference(x), rtol=1e-15)
