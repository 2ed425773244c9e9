"""The table of scalar functions: one row each, with its NumPy meaning.

Rows say what a function is. What a layer above knows of it (formula, derivative, machine code, bounds, ...) is a
`Column`, kept by that layer under the same names; docs/reference/tables.md shows all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.errors import MissingRuleError
from consilience.ops import count_quantile, count_sums, incomplete_slopes, log_incomplete, special_functions
from consilience.ops.log_beta import betaln
from consilience.record import Record

Array = npt.NDArray[Any]
Interval = tuple[float, float]
Linear = Literal["together", "each"] | tuple[tuple[int, ...], ...]
REAL: Interval = (-np.inf, np.inf)


class ScalarFunction(Record):
    """One scalar function of `arity` arguments (0: any number from two on).

    `numpy`: the meaning, on arrays of one dtype. `result`: "same": dtype of the promoted arguments; "float": at least
    float; "part": that of the parts of a complex argument; "complex"; "bool"; "float64"; "int64". `accepts`: which
    promoted argument dtypes make sense: any of "float", "int", "bool", "complex", "key". `domain`: per argument the
    interval where the value is a finite real; used to draw test points. `linear`: groups of arguments
    in which it is linear together, given the others; "together" or "each" for all of them. `monotone`: for each
    argument, on the domain, "+" where the value never falls if it rises, "-" where it never rises, "v" where it does
    so below 0 and from there on never falls, "0" where nothing is known. `parity`: "even" or "odd" in all arguments at
    once; an odd function has a pole or is 0 at 0. `flat`: constant between jumps in the first argument. `zero`: groups
    of arguments as in `linear`: where all of a group are 0, the value is, whatever finite numbers the others are; what
    is linear or picked needs no word. `picks`: arguments of which the value is one.
    """

    name: str
    arity: int
    numpy: Callable[..., Array]
    result: str = "float"
    accepts: tuple[str, ...] = ("float",)
    domain: tuple[Interval, ...] = (REAL,)
    linear: Linear = ()
    monotone: str = ""
    parity: str = ""
    flat: bool = False
    zero: Linear = ()
    picks: tuple[int, ...] = ()

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The groups of `linear` for `count` arguments."""
        return _groups(self.linear, count)

    def zero_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The groups of `zero`, `linear` and `picks` for `count` arguments."""
        groups = *_groups(self.zero, count), *_groups(self.linear, count), *([self.picks] if self.picks else [])
        return tuple(dict.fromkeys(groups))

    def monotone_in(self, count: int) -> tuple[int, ...]:
        """For each of `count` arguments 1, -1 or 0 for "+", "-" or another sign of `monotone`."""
        signs = self.monotone if self.arity else self.monotone * count
        return tuple((sign == "+") - (sign == "-") for sign in signs or "0" * count)


def _groups(which: Linear, count: int) -> tuple[tuple[int, ...], ...]:
    if which == "together":
        return (tuple(range(count)),)
    return tuple((place,) for place in range(count)) if which == "each" else which


class _Table(dict[str, ScalarFunction]):
    def __missing__(self, name: str) -> ScalarFunction:
        near = get_close_matches(name, self, 1)
        raise MissingRuleError(
            f"there is no scalar function `{name}`"
            + (f"; did you mean `{near[0]}`?" if near else ".")
            + " A function is a row of `consilience.ops.scalar` or of `consilience.ops.formulas`."
        )


TABLE: Final = _Table()


def row(
    name: str,
    arity: int,
    numpy: Callable[..., Any],
    result: str = "float",
    accepts: tuple[str, ...] = ("float",),
    domain: tuple[Interval, ...] | None = None,
    linear: Linear = (),
    **traits: Any,
) -> None:
    """Add a function to the table; `traits` are the other fields of its row."""
    intervals = domain if domain is not None else (REAL,) * max(arity, 2 if arity == 0 else 1)
    TABLE[name] = ScalarFunction(name, arity, numpy, result, accepts, intervals, linear, **traits)


_T = TypeVar("_T")
COLUMNS: Final[dict[str, Column[Any]]] = {}
"""What layers know of scalar functions, by its heading; filled as their modules are loaded."""


class Column(dict[str, _T]):
    """What one layer knows of scalar functions, by the names of their rows; a name without a row is an error."""

    def __init__(self, heading: str, cells: Mapping[str, _T] | None = None) -> None:
        super().__init__()
        COLUMNS[heading] = self
        for name, cell in (cells or {}).items():
            self[name] = cell

    def __setitem__(self, name: str, cell: _T) -> None:
        super().__setitem__(TABLE[name].name, cell)


def in_double_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of float64 arrays for those of float32 as well."""

    def call(*arguments: Any) -> Any:
        result = function(*(np.asarray(a, "float64") for a in arguments))
        narrow = all(np.asarray(a).dtype == np.float32 for a in arguments)
        return result.astype("float32") if narrow else result

    call.__name__ = function.__name__
    return call


def special(name: str) -> Callable[..., Any]:
    """A function of scipy.special, imported when first used; float32 is computed in double precision."""

    def call(*arguments: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*arguments)

    call.__name__ = name
    return in_double_precision(call)


def _n_ary(binary: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = arguments[0]
        for argument in arguments[1:]:
            result = binary(result, argument)
        return result

    return call


def _complex(re: Array, im: Array) -> Array:
    parts = np.broadcast_arrays(re, im)
    return np.stack(parts, -1).view(np.result_type(re, np.complex64))[..., 0]


NUMBER = ("float", "int")
ANY = ("float", "int", "bool", "complex")
ORDERED = ("float", "int", "bool")
FIELD = ("float", "int", "complex")
ANALYTIC = ("float", "complex")
POSITIVE: Interval = (0.0, np.inf)
UNIT: Interval = (0.0, 1.0)
SIGNED_UNIT: Interval = (-1.0, 1.0)

# Arithmetic. Sums and products take any number of arguments: associativity is a normal form, not a rule.
row("add", 0, _n_ary(np.add), "same", ANY, linear="together", monotone="+")
row("mul", 0, _n_ary(np.multiply), "same", ANY, linear="each")
row("sub", 2, np.subtract, "same", FIELD, linear="together", monotone="+-")
row("true_div", 2, np.true_divide, "float", ANALYTIC, linear=((0,),))
row("floor_div", 2, np.floor_divide, "same", NUMBER)
row("mod", 2, np.mod, "same", NUMBER)
row("fmod", 2, np.fmod, "same", NUMBER)
row("pow", 2, np.power, "float", ANALYTIC, (POSITIVE, REAL))
row("neg", 1, np.negative, "same", FIELD, linear="together", monotone="-", parity="odd")
row("abs", 1, np.abs, "same", NUMBER, monotone="v", parity="even", zero="together")
row("sign", 1, np.sign, "same", FIELD, monotone="+", parity="odd", flat=True, zero="together")
row("square", 1, np.square, "same", FIELD, monotone="v", parity="even", zero="together")
row("sqrt", 1, np.sqrt, "float", ANALYTIC, (POSITIVE,), monotone="+", zero="together")
row("cbrt", 1, np.cbrt, monotone="+", parity="odd", zero="together")
row("reciprocal", 1, np.reciprocal, "float", ANALYTIC, parity="odd")
row("minimum", 2, np.minimum, "same", ORDERED, monotone="++", picks=(0, 1))
row("maximum", 2, np.maximum, "same", ORDERED, monotone="++", picks=(0, 1))
row("fmin", 2, np.fmin, "same", NUMBER, monotone="++", picks=(0, 1))
row("fmax", 2, np.fmax, "same", NUMBER, monotone="++", picks=(0, 1))
row("floor", 1, np.floor, monotone="+", flat=True, zero="together")
row("ceil", 1, np.ceil, monotone="+", flat=True, zero="together")
row("trunc", 1, np.trunc, monotone="+", parity="odd", flat=True, zero="together")
row("round", 1, np.rint, monotone="+", parity="odd", flat=True, zero="together")
row("copysign", 2, np.copysign)
row("heaviside", 2, np.heaviside, monotone="++", flat=True)
row("hypot", 2, np.hypot, parity="even", zero="together")

# Exponentials and logarithms.
row("exp", 1, np.exp, "float", ANALYTIC, monotone="+")
row("exp2", 1, np.exp2, monotone="+")
row("expm1", 1, np.expm1, monotone="+", zero="together")
row("log", 1, np.log, "float", ANALYTIC, (POSITIVE,), monotone="+")
row("log2", 1, np.log2, "float", ANALYTIC, (POSITIVE,), monotone="+")
row("log10", 1, np.log10, "float", ANALYTIC, (POSITIVE,), monotone="+")
row("log1p", 1, np.log1p, domain=((-1.0, np.inf),), monotone="+", zero="together")
row("logaddexp", 2, np.logaddexp, monotone="++")
row("logaddexp2", 2, np.logaddexp2, monotone="++")


def _log1mexp(x: Array) -> Array:
    # Maechler (2012), "Accurately computing log(1 - exp(-|a|))": two forms meet at -log 2.
    with np.errstate(all="ignore"):
        return np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _softplus(x: Array) -> Array:
    return np.logaddexp(np.zeros((), x.dtype), x)


# Beyond it 1 + x^2 is x^2 in all digits, and x^2 is a number in float32 as well.
LARGE_SQUARE = 1e15


def _log1p_square(x: Array) -> Array:
    with np.errstate(all="ignore"):
        size = np.abs(x)
        return np.where(size > LARGE_SQUARE, 2 * np.log(size), np.log1p(np.square(x)))


row("log1p_square", 1, _log1p_square, monotone="v", parity="even", zero="together")
row("log1mexp", 1, _log1mexp, domain=((-np.inf, 0.0),), monotone="-")
row("softplus", 1, _softplus, monotone="+")
row("sigmoid", 1, special("expit"), monotone="+")
row("logit", 1, special("logit"), domain=(UNIT,), monotone="+")
row("xlogy", 2, special("xlogy"), domain=(POSITIVE, POSITIVE), zero=((0,),))
row("xlog1py", 2, special("xlog1py"), domain=(POSITIVE, (-1.0, np.inf)), zero=((0,),))

# Trigonometric and hyperbolic functions, in radians.
row("sin", 1, np.sin, "float", ANALYTIC, parity="odd", zero="together")
row("cos", 1, np.cos, "float", ANALYTIC, parity="even")
row("tan", 1, np.tan, domain=((-1.5, 1.5),), monotone="+", parity="odd", zero="together")
row("arcsin", 1, np.arcsin, domain=(SIGNED_UNIT,), monotone="+", parity="odd", zero="together")
row("arccos", 1, np.arccos, domain=(SIGNED_UNIT,), monotone="-")
row("arctan", 1, np.arctan, monotone="+", parity="odd", zero="together")
row("arctan2", 2, np.arctan2)
row("sinh", 1, np.sinh, "float", ANALYTIC, monotone="+", parity="odd", zero="together")
row("cosh", 1, np.cosh, "float", ANALYTIC, monotone="v", parity="even")
row("tanh", 1, np.tanh, monotone="+", parity="odd", zero="together")
row("arcsinh", 1, np.arcsinh, monotone="+", parity="odd", zero="together")
row("arccosh", 1, np.arccosh, domain=((1.0, np.inf),), monotone="+")
row("arctanh", 1, np.arctanh, domain=(SIGNED_UNIT,), monotone="+", parity="odd", zero="together")

# Error function, Bessel functions, gamma and beta families.
row("erf", 1, special("erf"), monotone="+", parity="odd", zero="together")
row("erfc", 1, special("erfc"), monotone="-")
row("erfcx", 1, special("erfcx"), monotone="-")
row("erfinv", 1, special("erfinv"), domain=(SIGNED_UNIT,), monotone="+", parity="odd", zero="together")
row("owens_t", 2, special("owens_t"))
row("ndtri_exp", 1, special("ndtri_exp"), domain=((-np.inf, 0.0),), monotone="+")
row("ndtri", 1, special("ndtri"), domain=(UNIT,), monotone="+")
row("log_ndtr", 1, special("log_ndtr"), monotone="+")
row("i0", 1, in_double_precision(special_functions.i0), parity="even")
row("i0e", 1, special("i0e"), parity="even")
row("i0e_slope", 1, in_double_precision(special_functions.i0e_slope))
row("i1", 1, in_double_precision(special_functions.i1), monotone="+", parity="odd", zero="together")
row("i1e", 1, special("i1e"), parity="odd", zero="together")
for _name in ("iv", "ive", "ive_slope", "kv", "kve", "kve_slope"):
    row(_name, 2, in_double_precision(special_functions.modified_bessel(_name)), domain=(REAL, POSITIVE))
for _name in ("k0", "k0e", "k1", "k1e"):
    row(_name, 1, special(_name), domain=(POSITIVE,), monotone="-")
for _name in ("j0", "j1", "y0", "y1"):
    interval = REAL if _name[0] == "j" else POSITIVE
    row(_name, 1, in_double_precision(special_functions.ordinary_bessel(_name)), domain=(interval,))
for _name in ("jv", "yv"):
    row(_name, 2, special(_name), domain=(REAL, POSITIVE))
row("gamma", 1, special("gamma"), domain=(POSITIVE,))
row("gammaln", 1, special("gammaln"), domain=(POSITIVE,))
row("digamma", 1, special("digamma"), domain=(POSITIVE,), monotone="+")


def _trigamma(x: Array) -> Array:
    import scipy.special

    return np.asarray(scipy.special.polygamma(1, x))


row("trigamma", 1, _trigamma, domain=(POSITIVE,), monotone="-")


def _zeta(s: Array, q: Array) -> Array:
    import scipy.special

    with np.errstate(all="ignore"):
        power = np.power(q, -s)  # the first term is all there is where SciPy's sum is 0 times infinity
        value = np.where((s > 1e5) & (q > 1.0), power, scipy.special.zeta(s, q))
        return np.where(np.isnan(s) | np.isnan(q) | np.isinf(s), np.nan, value)


row("zeta", 2, in_double_precision(_zeta), domain=((1.0, np.inf), POSITIVE))
row("betaln", 2, in_double_precision(betaln), domain=(POSITIVE, POSITIVE))
row("gammainc", 2, special("gammainc"), domain=(POSITIVE, POSITIVE))
row("gammaincc", 2, special("gammaincc"), domain=(POSITIVE, POSITIVE))
row("betainc", 3, special("betainc"), domain=(POSITIVE, POSITIVE, UNIT))
row("gammainc_slope", 2, in_double_precision(incomplete_slopes.gammainc_slope), domain=(POSITIVE, POSITIVE))
row("betainc_slope_a", 3, in_double_precision(incomplete_slopes.betainc_slope_a), domain=(POSITIVE, POSITIVE, UNIT))
row("betainc_slope_b", 3, in_double_precision(incomplete_slopes.betainc_slope_b), domain=(POSITIVE, POSITIVE, UNIT))
for _name, _meaning in log_incomplete.GAMMA_FUNCTIONS.items():
    row(_name, 2, in_double_precision(_meaning), domain=(POSITIVE, POSITIVE))
for _name, _of_odds in log_incomplete.BETA_FUNCTIONS.items():
    row(_name, 3, in_double_precision(_of_odds), domain=(POSITIVE, POSITIVE, REAL))
row("gammaincinv", 2, special("gammaincinv"), domain=(POSITIVE, UNIT))
row("gammainccinv", 2, special("gammainccinv"), domain=(POSITIVE, UNIT))
row("betaincinv", 3, special("betaincinv"), domain=(POSITIVE, POSITIVE, UNIT))
row("betainccinv", 3, special("betainccinv"), domain=(POSITIVE, POSITIVE, UNIT))

# Functions defined by integrals, and hypergeometric ones. Slopes in parameters are functions of their own.
row("exp1", 1, special("exp1"), domain=(POSITIVE,), monotone="-")
row("expi", 1, special("expi"))
row("expn", 2, in_double_precision(special_functions.expn), domain=(POSITIVE, POSITIVE))
row("sine_integral", 1, in_double_precision(special_functions.sine_integral), parity="odd", zero="together")
row("cosine_integral", 1, in_double_precision(special_functions.cosine_integral))
row("dawsn", 1, special("dawsn"), parity="odd", zero="together")
row("spence", 1, special("spence"), domain=(POSITIVE,), monotone="-")
row("ellipk", 1, special("ellipk"), domain=((-np.inf, 1.0),), monotone="+")
row("ellipe", 1, special("ellipe"), domain=((-np.inf, 1.0),), monotone="-")
row("hyp1f1", 3, in_double_precision(special_functions.hyp1f1), domain=(REAL, POSITIVE, REAL))
row("hyp2f1", 4, in_double_precision(special_functions.hyp2f1), domain=(REAL, REAL, POSITIVE, SIGNED_UNIT))
for _name in ("a", "b"):
    slope = in_double_precision(special_functions.hyp1f1_slope(_name))
    row(f"hyp1f1_slope_{_name}", 3, slope, domain=(REAL, POSITIVE, REAL))
for _name in ("a", "c"):
    slope = in_double_precision(special_functions.hyp2f1_slope(_name))
    row(f"hyp2f1_slope_{_name}", 4, slope, domain=(REAL, REAL, POSITIVE, SIGNED_UNIT))

# Quantiles of counts, which no closed form leads to.
row("poisson_quantile", 2, in_double_precision(count_quantile.poisson_quantile), domain=(POSITIVE, UNIT))
row("binomial_quantile", 3, in_double_precision(count_quantile.binomial_quantile), domain=(POSITIVE, UNIT, UNIT))
row(
    "negative_binomial_quantile",
    3,
    in_double_precision(count_quantile.negative_binomial_quantile),
    domain=(POSITIVE, POSITIVE, UNIT),
)

# Sums of masses over the last of them, and quantiles.
COUNTS: Interval = (0.0, 8.0)
for _name, _sum in count_sums.SUMS.items():
    row(_name, 4, in_double_precision(_sum), domain=(POSITIVE, POSITIVE, (8.0, 16.0), COUNTS))
row(
    "beta_binomial_quantile",
    4,
    in_double_precision(count_sums.beta_binomial_quantile),
    domain=(POSITIVE, POSITIVE, COUNTS, UNIT),
)

# Comparisons and logic.
row("eq", 2, np.equal, "bool", ANY)
row("neq", 2, np.not_equal, "bool", ANY)
row("lt", 2, np.less, "bool", ORDERED)
row("le", 2, np.less_equal, "bool", ORDERED)
row("gt", 2, np.greater, "bool", ORDERED)
row("ge", 2, np.greater_equal, "bool", ORDERED)
row("isnan", 1, np.isnan, "bool", ANALYTIC)
row("isinf", 1, np.isinf, "bool", ANALYTIC)
row("isfinite", 1, np.isfinite, "bool", ANALYTIC)
row("signbit", 1, np.signbit, "bool")
row("logical_and", 2, np.logical_and, "bool", ("bool",))
row("logical_or", 2, np.logical_or, "bool", ("bool",))
row("logical_xor", 2, np.logical_xor, "bool", ("bool",))
row("logical_not", 1, np.logical_not, "bool", ("bool",))
row("bitwise_and", 2, np.bitwise_and, "same", ("int", "bool"))
row("bitwise_or", 2, np.bitwise_or, "same", ("int", "bool"))
row("bitwise_xor", 2, np.bitwise_xor, "same", ("int", "bool"))
row("invert", 1, np.invert, "same", ("int", "bool"))
row("left_shift", 2, np.left_shift, "same", ("int",), ((0.0, 100.0), (0.0, 20.0)))
row("right_shift", 2, np.right_shift, "same", ("int",), ((0.0, 100.0), (0.0, 20.0)))

# Complex numbers and their parts.
row("complex", 2, _complex, "complex", linear="together")
row("modulus", 1, np.abs, "part", ("complex",))
row("real", 1, np.real, "part", ("complex",), linear="together")
row("imag", 1, np.imag, "part", ("complex",), linear="together")
row("angle", 1, np.angle, "part", ("complex",))
row("conj", 1, np.conjugate, "same", ("complex",), linear="together")

# Choice: the first argument is bool, the result has the dtype of the other two.
row("where", 3, np.where, "choice", ANY, linear=((1, 2),), monotone="0++", picks=(1, 2))

# Draws: pure functions of (key, counter, parameters). Their meaning is the typed Python of native/random.
DRAWS = (
    "random_uniform", "random_normal", "random_exponential", "random_gamma", "random_von_mises", "random_poisson",
    "random_binomial", "random_conway_maxwell_poisson",
)  # fmt: skip


def _draw(name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        # Slow and obvious: the typed Python of the draw itself, element by element.
        from consilience.native.random.library import DRAWS as routines

        routine = routines[LIBRARY_NAMES.get(name, name)]
        operands = np.broadcast_arrays(*arguments)
        values = [routine(*(v.item() for v in row)) for row in zip(*(o.flat for o in operands), strict=True)]
        return np.array(values, TABLE[name].result.replace("key", "int64")).reshape(operands[0].shape)

    call.__name__ = name
    return call


# Draws that the native library knows under another name.
LIBRARY_NAMES = {"fold_in": "random_fold_in"}
KEYS: Interval = (0.0, 1000.0)
row("fold_in", 2, _draw("fold_in"), "key", ("key",), (KEYS, KEYS))
row("random_uniform", 2, _draw("random_uniform"), "float64", ("key",), (KEYS, KEYS))
row("random_normal", 2, _draw("random_normal"), "float64", ("key",), (KEYS, KEYS))
row("random_exponential", 2, _draw("random_exponential"), "float64", ("key",), (KEYS, KEYS))
row("random_gamma", 3, _draw("random_gamma"), "float64", ("key",), (KEYS, KEYS, (0.1, 50.0)))
row("random_von_mises", 3, _draw("random_von_mises"), "float64", ("key",), (KEYS, KEYS, (0.1, 50.0)))
row("random_poisson", 3, _draw("random_poisson"), "int64", ("key",), (KEYS, KEYS, (0.1, 50.0)))
row("random_binomial", 4, _draw("random_binomial"), "int64", ("key",), (KEYS, KEYS, (0.0, 50.0), UNIT))
row(
    "random_conway_maxwell_poisson", 4, _draw("random_conway_maxwell_poisson"), "int64", ("key",),
    (KEYS, KEYS, (-5.0, 5.0), (0.5, 5.0)),
)  # fmt: skip
