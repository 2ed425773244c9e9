"""Vector mathematics: every elementary and special function, written once for all vector widths.

In: a target. Out: machine code under the symbols `consilience_<name>_f64x<lanes>`, C calling convention, one
object per function and width, compiled when first asked for and kept on disk. Outside: arrays, loops, dtypes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

from consilience.errors import NativeError
from consilience.native import jit
from consilience.native.loops import Builder, Module
from consilience.native.own_code import load_program
from consilience.native.program import Value, f64
from consilience.native.target import LANES, Target, host
from consilience.native.vectormath import (
    bessel,
    count_quantile,
    count_sums,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    hypergeometric,
    incomplete,
    incomplete_slopes,
    integrals,
    inverse_incomplete,
    inverse_trigonometric,
    log_incomplete,
    logarithm,
    modified_bessel,
    normal,
    ordinary_bessel,
    owens_t,
    power,
    trigonometric,
    zeta,
)
from consilience.native.vectormath.notation import Elementary
from consilience.native.vectormath.scipy_function import scipy_function
from consilience.record import Record

__all__ = ["FUNCTIONS", "VectorFunction", "VectorLibrary", "define", "library", "program", "symbol", "symbols"]


class VectorFunction(Record):
    """A row of the table: the name, the number of float64 arguments, and what writes the instructions."""

    name: str
    arity: int
    write: Elementary


def _row(name: str, write: Elementary, arity: int = 1) -> tuple[str, VectorFunction]:
    return name, VectorFunction(name, arity, write)


SCIPYS: Final = {
    1: "dawsn ellipe ellipk exp1 expi k0 k0e k1 k1e spence",
    2: "jv yv",
}
"""Functions of which SciPy's own code is best, by their number of arguments."""

FUNCTIONS: Final[dict[str, VectorFunction]] = dict(
    [
        _row("arccos", inverse_trigonometric.arccos),
        _row("arccosh", hyperbolic.arccosh),
        _row("arcsin", inverse_trigonometric.arcsin),
        _row("arcsinh", hyperbolic.arcsinh),
        _row("arctan", inverse_trigonometric.arctan),
        _row("arctan2", inverse_trigonometric.arctan2, 2),
        _row("arctanh", hyperbolic.arctanh),
        *(_row(name, function, 4) for name, function in count_sums.SUMS.items()),
        _row("beta_binomial_quantile", count_sums.beta_binomial_quantile, 4),
        _row("betainc", incomplete.betainc, 3),
        _row("betainc_slope_a", incomplete_slopes.betainc_slope_a, 3),
        _row("betainc_slope_b", incomplete_slopes.betainc_slope_b, 3),
        _row("betainccinv", inverse_incomplete.betainccinv, 3),
        _row("betaincinv", inverse_incomplete.betaincinv, 3),
        _row("betaln", incomplete.betaln, 2),
        _row("binomial_quantile", count_quantile.binomial_quantile, 3),
        _row("cbrt", power.cbrt),
        _row("cos", trigonometric.cos),
        _row("cosine_integral", integrals.cosine_integral),
        _row("cosh", hyperbolic.cosh),
        _row("digamma", gamma.digamma),
        _row("erf", error_function.erf),
        _row("erfc", error_function.erfc),
        _row("erfcx", error_function.erfcx),
        _row("erfinv", normal.erfinv),
        _row("exp", exponential.exp),
        _row("exp2", exponential.exp2),
        _row("expm1", exponential.expm1),
        _row("expn", integrals.expn, 2),
        _row("gamma", gamma.gamma),
        _row("gammainc", incomplete.gammainc, 2),
        _row("gammainc_slope", incomplete_slopes.gammainc_slope, 2),
        _row("gammaincc", incomplete.gammaincc, 2),
        _row("gammainccinv", inverse_incomplete.gammainccinv, 2),
        _row("gammaincinv", inverse_incomplete.gammaincinv, 2),
        _row("gammaln", gamma.gammaln),
        _row("hyp1f1", hypergeometric.hyp1f1, 3),
        _row("hyp1f1_slope_a", hypergeometric.hyp1f1_slope_a, 3),
        _row("hyp1f1_slope_b", hypergeometric.hyp1f1_slope_b, 3),
        _row("hyp2f1", hypergeometric.hyp2f1, 4),
        _row("hyp2f1_slope_a", hypergeometric.hyp2f1_slope_a, 4),
        _row("hyp2f1_slope_c", hypergeometric.hyp2f1_slope_c, 4),
        _row("i0", bessel.i0),
        _row("i0e", bessel.i0e),
        _row("i0e_slope", bessel.i0e_slope),
        _row("i1", bessel.i1),
        _row("i1e", bessel.i1e),
        _row("iv", modified_bessel.iv, 2),
        _row("ive", modified_bessel.ive, 2),
        _row("ive_slope", modified_bessel.ive_slope, 2),
        _row("j0", ordinary_bessel.j0),
        _row("j1", ordinary_bessel.j1),
        _row("kv", modified_bessel.kv, 2),
        _row("kve", modified_bessel.kve, 2),
        _row("kve_slope", modified_bessel.kve_slope, 2),
        _row("lgamma", gamma.gammaln),  # C's name
        _row("log", logarithm.log),
        _row("log10", logarithm.log10),
        _row("log1mexp", logarithm.log1mexp),
        _row("log1p", logarithm.log1p),
        _row("log2", logarithm.log2),
        *(_row(name, *row) for name, row in log_incomplete.FUNCTIONS.items()),
        _row("log_ndtr", normal.log_ndtr),
        _row("ndtri", normal.ndtri),
        _row("ndtri_exp", normal.ndtri_exp),
        _row("negative_binomial_quantile", count_quantile.negative_binomial_quantile, 3),
        _row("owens_t", owens_t.owens_t, 2),
        _row("poisson_quantile", count_quantile.poisson_quantile, 2),
        _row("pow", power.pow, 2),
        _row("sin", trigonometric.sin),
        _row("sine_integral", integrals.sine_integral),
        _row("sinh", hyperbolic.sinh),
        _row("tan", trigonometric.tan),
        _row("tanh", hyperbolic.tanh),
        _row("trigamma", gamma.trigamma),
        _row("y0", ordinary_bessel.y0),
        _row("y1", ordinary_bessel.y1),
        *(_row(name, scipy_function(name, arity), arity) for arity, names in SCIPYS.items() for name in names.split()),
        _row("zeta", zeta.zeta, 2),
    ]
)
"""All functions by name. Add a row to add a function; tests cover the table, not a list of their own."""


LEVEL: Final = 1
"""Of the code generator: what is vectors already gains nothing from 2, which compiles longer."""


def symbol(name: str, lanes: int) -> str:
    """The symbol under which generated code calls function `name` on vectors of `lanes` float64."""
    return f"consilience_{name}_f64x{lanes}"


_SYMBOLS: Final = {symbol(name, lanes): (name, lanes) for name in FUNCTIONS for lanes in LANES}


def symbols() -> tuple[str, ...]:
    """All symbols of the library, for 1, 2, 4 and 8 lanes."""
    return tuple(_SYMBOLS)


def define(module: Module, name: str, lanes: int, fused: bool = False, *, inline: bool = False) -> str:
    """Add function `name` for `lanes` to a module and give its symbol.

    `fused` says that the target has fused multiply-add (never wrong to leave out). With `inline` the
    function is internal and always inlined: for long loops around one or two cheap functions.

    Its instructions keep their own rounding wherever they are inlined: sums and products are never
    contracted, so every width gives the same bits.
    """
    function = FUNCTIONS[name]
    type = f64.vector(lanes)
    parameters = [(f"x{k}", type) for k in range(function.arity)]
    builder: Builder = module.function(
        symbol(name, lanes), parameters, type, export=not inline, contract=False, pure=True, inline=inline
    )
    result: Value = function.write(builder, *builder.parameters, fused=fused)
    builder.ret(result)
    return builder.function.name


def program(symbol: str, fused: bool = False) -> Module | None:
    """The loop program that defines one symbol of the library, or None if there is no such function."""
    if symbol not in _SYMBOLS:
        return None
    module = Module()
    define(module, *_SYMBOLS[symbol], fused=fused)
    return module


class VectorLibrary:
    """The library for one target: each function is compiled, or found on disk, when it is first asked for."""

    __slots__ = ("__weakref__", "_loaded", "_target", "exports")

    def __init__(self, target: Target) -> None:
        self.exports = symbols()
        self._target = target
        self._loaded: dict[str, jit.Library] = {}

    def address(self, name: str) -> int:
        """Where the function with the symbol `name` starts."""
        return self._library(name).address(name)

    def function(
        self, name: str, restype: type[ctypes._CDataType] | None, *argtypes: type[ctypes._CDataType]
    ) -> Callable[..., Any]:
        """The function with the symbol `name` as a callable, for scalars; types are those of ctypes."""
        return self._library(name).function(name, restype, *argtypes)

    def prepare(self, names: Iterable[str]) -> None:
        """Compile the functions with these symbols now rather than when they are first used."""
        for name in names:
            self._library(name)

    def _library(self, name: str) -> jit.Library:
        known = self._loaded.get(name)
        if known is None:
            if name not in _SYMBOLS:
                raise NativeError(
                    f"the vector math library has no {name!r}; it has consilience_<name>_f64x<lanes> for "
                    f"lanes {', '.join(map(str, LANES))} and the names {', '.join(FUNCTIONS)}"
                )
            known = self._loaded[name] = load_program(
                [name], lambda: self._program(name), level=LEVEL, target=self._target
            )
        return known

    def _program(self, name: str) -> Module:
        module = program(name, self._target.fma)
        assert module is not None
        return module


@functools.cache
def library(target: Target | None = None) -> VectorLibrary:
    """The vector math library for `target`, by default this machine; loaded as long as the process runs."""
    return VectorLibrary(target or host())
