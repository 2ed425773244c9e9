"""What C calls things: identifiers, numbers of a type, declarations of functions.

Symbols, types and signatures of loop programs in, C's text out. Statements and expressions are `text`'s.
"""

from __future__ import annotations

import math
import re
from typing import Final

from consilience.backends.c.inline_functions import Helpers
from consilience.native.program import LoopFunction, Signature, Type

_KEYWORDS: Final = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main asm catch class delete friend namespace new operator private protected public template this throw try typename
using virtual
"""
# What <math.h> and <string.h> declare that a parameter or a function could be called, and this file's own macros.
_HEADERS: Final = """
acos asin atan atan2 cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmod hypot lgamma log log10
log1p log2 nearbyint pow round sin sinh sqrt tan tanh tgamma trunc signgam gamma j0 j1 jn y0 y1 yn index
F64 F32 I64 I32 I16 I8 I1 PTR
"""
RESERVED: Final = frozenset(_KEYWORDS.split())
HEADER_NAMES: Final = frozenset(_HEADERS.split())


def identifier(symbol: str) -> str:
    """A symbol as C may call it."""
    name = re.sub(r"\W", "_", symbol)
    return f"{name}_" if name in RESERVED else name


def signature_of(helpers: Helpers, name: str, signature: Signature) -> str:
    """The declaration of a function, without parameters' names."""
    result, parameters = signature
    return f"{helpers.name(result)} {name}({', '.join(map(helpers.name, parameters)) or 'void'})"


def prototype(helpers: Helpers, function: LoopFunction, export: bool) -> str:
    """What stands before a function's body; `export` says that other files call it."""
    names = parameter_names(function)
    parameters = ", ".join(
        f"{helpers.name(p.type)}{' restrict' if own in function.noalias else ''} {name}".replace("* ", "*")
        for own, name, p in zip(function.parameter_names, names, function.parameters, strict=True)
    )
    storage = "" if export else "static "
    if function.inline and not export:
        storage = "ALWAYS_INLINE static inline "
    elif function.shared or function.rare:
        storage = f"NEVER_INLINE {storage}"
    return f"{storage}{helpers.name(function.result)} {identifier(function.name)}({parameters or 'void'})"


def parameter_names(function: LoopFunction) -> list[str]:
    """Names of a function's parameters in C, none of them a word of C or of the header."""
    return [f"{n}_" if n in HEADER_NAMES or n in RESERVED else identifier(n) for n in function.parameter_names]


def number_text(type: Type, number: float) -> str:
    """A number of one type in C."""
    if type.floating:
        suffix = "f" if type.kind == "f32" else ""
        if math.isnan(number):
            return "NAN"
        if math.isinf(number):
            return "INFINITY" if number > 0 else "-INFINITY"
        return f"{float(number)!r}{suffix}"
    whole = int(number)
    if type.kind == "ptr":
        return "NULL" if whole == 0 else f"(char *)(intptr_t)INT64_C({whole})"
    if type.kind == "i1":
        return "true" if whole else "false"
    if whole == -(2**63):
        return "INT64_MIN"
    return str(whole) if abs(whole) < 2**15 else f"INT{max(32, type.bits)}_C({whole})"
