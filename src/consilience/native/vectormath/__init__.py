"""Vector mathematics: every elementary and special function, written once for all vector widths.

In: a target. Out: machine code under the symbols `consilience_<name>_f64x<lanes>`, C calling convention, one
object per function and width, compiled when first asked for and kept on disk. Outside: arrays, loops, dtypes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from consilience.errors import NativeError
from consilience.native import jit
from consilience.native.loops import Builder, Module
from consilience.native.own_code import load_program
from consilience.native.program import Value, f64
from consilience.native.target import LANES, Target, host
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.native.vectormath.notation import Elementary

__all__ = ["FUNCTIONS", "VectorFunction", "VectorLibrary", "define", "library", "program", "symbol", "symbols"]


class VectorFunction(Record):
    """A row of the table: the name, the number of float64 arguments, and where its instructions are written."""

    name: str
    arity: int
    file: str
    spelled: str

    @property
    def write(self) -> Elementary:
        """What writes the instructions; its file is read now."""
        written = vars(import_module(f"{__name__}.{self.file}"))
        found: Elementary | None = written.get(self.spelled)
        return found or written["named"](self.name, self.arity)


_FILES: Final = (
    ("bessel", 1, "i0 i0e i0e_slope i1 i1e"),
    ("count_quantile", 2, "poisson_quantile"),
    ("count_quantile", 3, "binomial_quantile negative_binomial_quantile"),
    ("count_sums", 4, "beta_binomial_quantile beta_binomial_sum beta_binomial_sum_slope_a beta_binomial_sum_slope_b"),
    ("error_function", 1, "erf erfc erfcx"),
    ("exponential", 1, "exp exp2 expm1"),
    ("gamma", 1, "digamma gamma gammaln lgamma=gammaln trigamma"),
    ("hyperbolic", 1, "arccosh arcsinh arctanh cosh sinh tanh"),
    ("hypergeometric", 3, "hyp1f1 hyp1f1_slope_a hyp1f1_slope_b"),
    ("hypergeometric", 4, "hyp2f1 hyp2f1_slope_a hyp2f1_slope_c"),
    ("incomplete", 2, "betaln gammainc gammaincc"),
    ("incomplete", 3, "betainc"),
    ("incomplete_slopes", 2, "gammainc_slope"),
    ("incomplete_slopes", 3, "betainc_slope_a betainc_slope_b"),
    ("integrals", 1, "cosine_integral sine_integral"),
    ("integrals", 2, "expn"),
    ("inverse_incomplete", 2, "gammainccinv gammaincinv"),
    ("inverse_incomplete", 3, "betainccinv betaincinv"),
    ("inverse_trigonometric", 1, "arccos arcsin arctan"),
    ("inverse_trigonometric", 2, "arctan2"),
    ("log_incomplete", 2, "log_gammainc log_gammainc_slope_x log_gammainc_slope_a"),
    ("log_incomplete", 2, "log_gammaincc log_gammaincc_slope_x log_gammaincc_slope_a"),
    (
        "log_incomplete",
        3,
        "log_betainc_odds log_betainc_odds_slope_w log_betainc_odds_slope_a log_betainc_odds_slope_b",
    ),
    ("logarithm", 1, "log log10 log1mexp log1p log2"),
    ("modified_bessel", 2, "iv ive ive_slope kv kve kve_slope"),
    ("normal", 1, "erfinv log_ndtr ndtri ndtri_exp"),
    ("ordinary_bessel", 1, "j0 j1 y0 y1"),
    ("owens_t", 2, "owens_t"),
    ("power", 1, "cbrt"),
    ("power", 2, "pow"),
    ("scipy_function", 1, "dawsn ellipe ellipk exp1 expi k0 k0e k1 k1e spence"),
    ("scipy_function", 2, "jv yv"),
    ("trigonometric", 1, "cos sin tan"),
    ("zeta", 2, "zeta"),
)
"""Files, numbers of arguments and names, `name=other` where the file spells it so. A file is read when one of its
functions is compiled; what is not defined there by its name comes from its `named`. `scipy_function`: where SciPy's own
code is best."""

FUNCTIONS: Final = {
    name: VectorFunction(name, arity, file, spelled or name)
    for file, arity, names in _FILES
    for name, _, spelled in (word.partition("=") for word in names.split())
}
"""All functions by name. Add a name to add a function; tests cover the table, not a list of their own."""


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
