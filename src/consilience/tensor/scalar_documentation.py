"""Docstrings of elementwise functions, made from the scalar table when a function is first used.

In: a row of the table, and a line for it here: its meaning, an example, the value there. Out: text in numpydoc's form.
"""

from __future__ import annotations

import inspect
import math
import re
from typing import Final

from consilience.ops.scalar import REAL, TABLE

MEANINGS: Final = {
    "abs": ("Absolute value, |x|; the modulus of a complex number", "-1.5", "1.5"),
    "add": ("Sum of two or more", "1.5, 2.0", "3.5"),
    "arccos": ("Angle in [0, pi] whose cosine is x", "0.5", "1.0472"),
    "arccosh": ("Number >= 0 whose hyperbolic cosine is x", "1.5", "0.9624"),
    "arcsin": ("Angle in [-pi/2, pi/2] whose sine is x", "0.5", "0.5236"),
    "arcsinh": ("Number whose hyperbolic sine is x", "0.5", "0.4812"),
    "arctan": ("Angle in (-pi/2, pi/2) whose tangent is x", "0.5", "0.4636"),
    "arctan2": ("Angle in (-pi, pi] of the point with abscissa y and ordinate x", "1.0, 2.0", "0.4636"),
    "arctanh": ("Number whose hyperbolic tangent is x", "0.5", "0.5493"),
    "betainc": ("Regularised incomplete beta function: P(B <= z), B ~ Beta(x, y)", "2.0, 3.0, 0.4", "0.5248"),
    "betainccinv": ("Inverse of 1 - betainc(x, y, z) in z", "2.0, 3.0, 0.4", "0.4445"),
    "betaincinv": ("Inverse of betainc(x, y, z) in z: the quantile of Beta(x, y)", "2.0, 3.0, 0.4", "0.3292"),
    "betaln": ("Logarithm of the beta function, log B(x, y)", "2.0, 3.0", "-2.4849"),
    "bitwise_and": ("Bits that both have; logical and of booleans", "6, 3", "2"),
    "bitwise_or": ("Bits that one of both has; logical or of booleans", "6, 3", "7"),
    "bitwise_xor": ("Bits that only one of both has", "6, 3", "5"),
    "cbrt": ("Real cube root", "8.0", "2.0"),
    "ceil": ("Least whole number >= x", "1.2", "2.0"),
    "copysign": ("|x| with the sign of y", "1.5, -2.0", "-1.5"),
    "cos": ("Cosine of an angle in radians", "0.5", "0.8776"),
    "cosh": ("Hyperbolic cosine, (exp(x) + exp(-x)) / 2", "0.5", "1.1276"),
    "dawsn": ("Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x", "0.5", "0.4244"),
    "deg2rad": ("Degrees as radians, pi x / 180", "90.0", "1.5708"),
    "digamma": ("Derivative of the logarithm of the gamma function", "2.5", "0.7032"),
    "ellipe": ("Complete elliptic integral of the second kind, of parameter m = x", "0.5", "1.3506"),
    "ellipk": ("Complete elliptic integral of the first kind, of parameter m = x", "0.5", "1.8541"),
    "eq": ("Whether x = y", "1.0, 2.0", "False"),
    "erf": ("Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", "0.5", "0.5205"),
    "erfc": ("Complementary error function, 1 - erf(x), exact for great x", "0.5", "0.4795"),
    "erfcx": ("Scaled complementary error function, exp(x^2) erfc(x)", "0.5", "0.6157"),
    "erfinv": ("Inverse of the error function", "0.5", "0.4769"),
    "exp": ("Exponential function, e^x", "0.5", "1.6487"),
    "exp1": ("Exponential integral E1(x), of exp(-t) / t from x to infinity", "0.5", "0.5598"),
    "exp2": ("Power of two, 2^x", "0.5", "1.4142"),
    "expi": ("Exponential integral Ei(x), of exp(t) / t from -infinity to x", "0.5", "0.4542"),
    "expm1": ("`exp(x) - 1`, exact for small x", "0.5", "0.6487"),
    "expn": ("Exponential integral E_x(y) of whole order x", "2.0, 0.5", "0.3266"),
    "floor": ("Greatest whole number <= x", "1.8", "1.0"),
    "floor_div": ("Greatest whole number <= x / y", "7.0, 2.0", "3.0"),
    "fmax": ("Greater of both; where one is NaN, the other", "1.0, 2.0", "2.0"),
    "fmin": ("Lesser of both; where one is NaN, the other", "1.0, 2.0", "1.0"),
    "fmod": ("Remainder of x / y with the sign of x, as in C", "-7.0, 3.0", "-1.0"),
    "gamma": ("Gamma function; n! = gamma(n + 1)", "2.5", "1.3293"),
    "gammainc": ("Regularised lower incomplete gamma function: P(G <= y), G ~ Gamma(x, 1)", "2.0, 1.5", "0.4422"),
    "gammaincc": ("Regularised upper incomplete gamma function: P(G > y), G ~ Gamma(x, 1)", "2.0, 1.5", "0.5578"),
    "gammainccinv": ("Inverse of gammaincc(x, y) in y", "2.0, 0.4", "2.0223"),
    "gammaincinv": ("Inverse of gammainc(x, y) in y: the quantile of Gamma(x, 1)", "2.0, 0.4", "1.3764"),
    "gammaln": ("Logarithm of the absolute value of the gamma function", "2.5", "0.2847"),
    "ge": ("Whether x >= y", "1.0, 2.0", "False"),
    "gt": ("Whether x > y", "1.0, 2.0", "False"),
    "heaviside": ("Step function: 0 below 0, y at 0, 1 above", "0.5, 0.0", "1.0"),
    "hyp1f1": ("Kummer's confluent hypergeometric function 1F1(x; y; z)", "1.0, 2.0, 0.5", "1.2974"),
    "hyp2f1": ("Gauss's hypergeometric function 2F1(x1, x2; x3; x4)", "1.0, 2.0, 3.0, 0.5", "1.5452"),
    "hypot": ("Length of the hypotenuse, sqrt(x^2 + y^2), without overflow", "3.0, 4.0", "5.0"),
    "i0": ("Modified Bessel function of the first kind, order 0", "0.5", "1.0635"),
    "i0e": ("`exp(-|x|) i0(x)`", "0.5", "0.645"),
    "i1": ("Modified Bessel function of the first kind, order 1", "0.5", "0.2579"),
    "i1e": ("`exp(-|x|) i1(x)`", "0.5", "0.1564"),
    "invert": ("Complement of the bits; logical not of booleans", "6", "-7"),
    "isfinite": ("Whether x is neither infinite nor NaN", "0.5", "True"),
    "isinf": ("Whether x is infinite", "0.5", "False"),
    "isnan": ("Whether x is NaN", "0.5", "False"),
    "iv": ("Modified Bessel function of the first kind, of order x at y", "1.5, 0.5", "0.0964"),
    "ive": ("`exp(-|y|) iv(x, y)`", "1.5, 0.5", "0.0585"),
    "j0": ("Bessel function of the first kind, order 0", "0.5", "0.9385"),
    "j1": ("Bessel function of the first kind, order 1", "0.5", "0.2423"),
    "jv": ("Bessel function of the first kind, of order x at y", "1.5, 0.5", "0.0917"),
    "k0": ("Modified Bessel function of the second kind, order 0", "0.5", "0.9244"),
    "k0e": ("`exp(x) k0(x)`", "0.5", "1.5241"),
    "k1": ("Modified Bessel function of the second kind, order 1", "0.5", "1.6564"),
    "k1e": ("`exp(x) k1(x)`", "0.5", "2.731"),
    "kv": ("Modified Bessel function of the second kind, of order x at y", "1.5, 0.5", "3.2251"),
    "kve": ("`exp(y) kv(x, y)`", "1.5, 0.5", "5.3174"),
    "le": ("Whether x <= y", "1.0, 2.0", "True"),
    "left_shift": ("Bits of x moved to the left by y places, x 2^y", "3, 2", "12"),
    "log": ("Natural logarithm", "0.5", "-0.6931"),
    "log10": ("Logarithm to base 10", "0.5", "-0.301"),
    "log1mexp": ("`log(1 - exp(x))` for x < 0, exact near 0 and far from it", "-0.5", "-0.9328"),
    "log1p": ("`log(1 + x)`, exact for small x", "0.5", "0.4055"),
    "log2": ("Logarithm to base 2", "0.5", "-1.0"),
    "log_expit": ("Logarithm of the logistic function, -log(1 + exp(-x))", "0.5", "-0.4741"),
    "log_gammainc": ("Logarithm of gammainc(x, y), finite where that underflows", "2.0, 1.5", "-0.8161"),
    "log_gammaincc": ("Logarithm of gammaincc(x, y), finite where that underflows", "2.0, 1.5", "-0.5837"),
    "log_ndtr": ("Logarithm of the standard normal distribution function, finite in the far tail", "-0.5", "-1.1759"),
    "logaddexp2": ("`log2(2^x + 2^y)` without overflow", "0.5, 1.0", "1.7716"),
    "logical_and": ("Whether both are true; numbers other than 0 are", "1.0, 0.0", "False"),
    "logical_not": ("Whether x is false, or 0", "0.0", "True"),
    "logical_or": ("Whether one of both is true; numbers other than 0 are", "1.0, 0.0", "True"),
    "logical_xor": ("Whether just one of both is true; numbers other than 0 are", "1.0, 0.0", "True"),
    "logit": ("Log odds of a probability, log(x / (1 - x))", "0.3", "-0.8473"),
    "lt": ("Whether x < y", "1.0, 2.0", "True"),
    "maximum": ("Greater of both; NaN where one is", "1.0, 2.0", "2.0"),
    "minimum": ("Lesser of both; NaN where one is", "1.0, 2.0", "1.0"),
    "mod": ("Remainder of x / y with the sign of y, as in Python", "-7.0, 3.0", "2.0"),
    "mul": ("Product of two or more", "1.5, 2.0", "3.0"),
    "ndtri": ("Quantile of the standard normal distribution", "0.3", "-0.5244"),
    "ndtri_exp": ("Quantile of the standard normal distribution at exp(x), x < 0", "-0.5", "0.2703"),
    "neg": ("Number of the other sign, -x", "0.5", "-0.5"),
    "neq": ("Whether x and y differ", "1.0, 2.0", "True"),
    "owens_t": ("Owen's T: P(X > x, 0 < Y < y X) of independent standard normal variables", "0.5, 1.0", "0.1067"),
    "rad2deg": ("Radians as degrees, 180 x / pi", "0.5", "28.6479"),
    "reciprocal": ("Reciprocal, 1 / x", "4.0", "0.25"),
    "right_shift": ("Bits of x moved to the right by y places", "12, 2", "3"),
    "round": ("Nearest whole number, halves to the even one", "2.5", "2.0"),
    "sigmoid": ("Logistic function, 1 / (1 + exp(-x))", "0.5", "0.6225"),
    "sign": ("Sign: -1, 0 or 1", "-0.5", "-1.0"),
    "signbit": ("Whether the sign bit is set, as of -0.0", "-0.5", "True"),
    "sin": ("Sine of an angle in radians", "0.5", "0.4794"),
    "sinh": ("Hyperbolic sine, (exp(x) - exp(-x)) / 2", "0.5", "0.5211"),
    "softplus": ("`log(1 + exp(x))` without overflow", "0.5", "0.9741"),
    "spence": ("Spence's integral, of log(t) / (1 - t) from 1 to x", "0.5", "0.5822"),
    "sqrt": ("Square root", "2.0", "1.4142"),
    "square": ("Square, x^2", "1.5", "2.25"),
    "sub": ("Difference, x - y", "1.5, 2.0", "-0.5"),
    "tan": ("Tangent of an angle in radians", "0.5", "0.5463"),
    "tanh": ("Hyperbolic tangent", "0.5", "0.4621"),
    "trigamma": ("Second derivative of the logarithm of the gamma function", "2.5", "0.4904"),
    "true_div": ("Quotient, x / y", "3.0, 2.0", "1.5"),
    "trunc": ("Whole number next to x in the direction of 0", "-1.8", "-1.0"),
    "xlog1py": ("`x log(1 + y)`, which is 0 at x = 0", "1.5, 0.5", "0.6082"),
    "xlogy": ("`x log(y)`, which is 0 at x = 0", "1.5, 0.5", "-1.0397"),
    "y0": ("Bessel function of the second kind, order 0", "0.5", "-0.4445"),
    "y1": ("Bessel function of the second kind, order 1", "0.5", "-1.4715"),
    "yv": ("Bessel function of the second kind, of order x at y", "1.5, 0.5", "-2.5215"),
}  # fmt: skip
"""Of each row: what it is, arguments of an example, and the value there to four digits."""

_FAMILIES: Final = tuple(
    family.split()
    for family in (
        "add sub mul true_div floor_div mod fmod neg abs reciprocal",
        "square sqrt cbrt hypot",
        "exp exp2 expm1 log log2 log10 log1p log1mexp softplus logaddexp2",
        "sin cos tan arcsin arccos arctan arctan2 deg2rad rad2deg",
        "sinh cosh tanh arcsinh arccosh arctanh",
        "sigmoid logit log_expit softplus",
        "maximum minimum fmax fmin",
        "ceil floor trunc round sign copysign signbit heaviside",
        "eq neq lt le gt ge",
        "isnan isinf isfinite",
        "logical_and logical_or logical_xor logical_not",
        "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
        "gamma gammaln digamma trigamma betaln",
        "gammainc gammaincc gammaincinv gammainccinv log_gammainc log_gammaincc",
        "betainc betaincinv betainccinv betaln",
        "erf erfc erfcx erfinv dawsn owens_t",
        "ndtri ndtri_exp log_ndtr erfinv",
        "i0 i0e i1 i1e iv ive",
        "j0 j1 jv y0 y1 yv",
        "k0 k0e k1 k1e kv kve",
        "exp1 expi expn spence",
        "ellipe ellipk hyp1f1 hyp2f1",
        "xlogy xlog1py log log1p",
    )
)
"""Rows that a reader of one may look for; each is documented with the others of its first family."""

_RESULTS: Final = {
    "same": "of the dtype that the operands are promoted to",
    "float": "of the float dtype that the operands are promoted to; integers give float64",
    "part": "of the dtype of the operand, or of the parts of a complex one",
    "complex": "complex",
    "bool": "booleans",
    "float64": "float64",
    "int64": "int64",
}


def parameter_names(row: str) -> list[str]:
    """Names of the operands."""
    arity = TABLE[row].arity
    return ["x", "y", "z"][:arity] if arity < 4 else [f"x{place}" for place in range(1, arity + 1)]


def documented(name: str, row: str, package: str = "pt", alias: str = "consilience.tensor") -> str:
    """The docstring of the function of a row under one of its names, in `pt` or in `pm.dims.math`."""
    function = TABLE[row]
    meaning, given, value = MEANINGS[row]
    operands = ", ".join(parameter_names(row)) or "*xs"
    aligned = "aligned by the names of their dims" if package != "pt" else "with NumPy's broadcasting"
    lines = [f"{meaning}.", "", "Parameters", "----------", f"{operands} : TensorLike"]
    several = "An operand" if len(parameter_names(row)) == 1 else f"Operands, {aligned}"
    bounds = [f"{_end(low)} and {_end(high)}" if (low, high) != REAL else "" for low, high in function.domain]
    if len(set(bounds)) > 1:
        bounds = [f"{x} between {ends}" if ends else "" for x, ends in zip(parameter_names(row), bounds, strict=True)]
    elif bounds[0]:
        bounds = [f"values between {bounds[0]}"]
    ends = ", ".join(filter(None, bounds))
    lines += [f"    {several}. Results are finite for {ends}." if ends else f"    {several}."]
    lines += ["name : str, optional", "    Name shown when the expression is printed."]
    lines += ["", "Returns", "-------", "TensorVariable" if package == "pt" else "XTensorVariable"]
    lines += [f"    Element by element, {_RESULTS[function.result]}."]
    family = next(family for family in _FAMILIES if row in family)
    place = family.index(row)
    others = [*family[place + 1 :], *family[:place]][:4]
    lines += ["", "See Also", "--------", *(f"{other} : {MEANINGS[other][0]}." for other in others)]
    further = [dtype for dtype in ("int", "bool", "complex") if dtype in function.accepts]
    accepted = ", ".join(["float", *further] if "float" in function.accepts else further)
    dtypes = f"Dtypes: {accepted}. Operands of another dtype are promoted to one of these, or refused."
    if accepted == "bool":
        dtypes = "Operands of other dtypes are true where they are not 0."
    lines += ["", "Notes", "-----", dtypes]
    lines += ["", "Examples", "--------", f">>> import {alias} as {package.partition('.')[0]}"]
    computed = f"{package}.{name}({given})"
    plain = computed if package == "pt" else f"{computed}.values"
    rounded = "" if function.result == "bool" or "." not in given else ".round(4)"
    return "\n".join([*lines, f">>> {plain}.eval(){rounded}.item()", value])


def with_dims(name: str, plain: str) -> str:
    """The docstring of the function of `px.math` that does with names what one of `pt` does, from the latter's."""
    text = inspect.cleandoc(plain).replace("TensorVariable", "XTensorVariable")
    text = text.replace("broadcast against the first", "aligned by the names of dims").replace(", nested lists.", ".")
    if "See Also\n" not in text:  # it stands in front of notes
        below = re.search(r"^(Notes|References|Examples)\n-", text, re.MULTILINE)
        assert below is not None
        related = f"See Also\n--------\npt.{name} : Of tensors without names.\n\n"
        text = text[: below.start()] + related + text[below.start() :]
    text, _, example = text.partition(">>> import consilience.tensor as pt\n")
    called = re.sub(r"pt\.\w+\(", f"px.math.{name}(", example)
    called = re.sub(r"(?<=\()(\[.*?\])", r'px.as_xtensor(\1, dims="city")', called)
    return f"{text}>>> import consilience.xtensor as px\n{called}"


def _end(bound: float) -> str:
    return f"{bound:g}" if math.isfinite(bound) else "infinity" if bound > 0 else "-infinity"
