"""Small C functions that instructions without a sign in C are written as, each made when it is first asked for.

In: the name of an operation and its types. Out: the name of a `static inline` function, and the text of all that were
asked for. Vectors are GCC's and Clang's: `f64x8` is eight float64, a mask of any width eight int64 that are 0 or -1.
"""

from __future__ import annotations

from typing import Final

from consilience.native.program import Type

SCALARS: Final = {
    "f64": "double", "f32": "float", "i64": "int64_t", "i32": "int32_t", "i16": "int16_t", "i8": "int8_t",
    "i1": "bool", "ptr": "char *", "void": "void",
}  # fmt: skip
BYTES: Final = {64: "i64", 32: "i32", 16: "i16", 8: "i8"}

HEAD: Final = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((may_alias))
#define ALWAYS_INLINE __attribute__((always_inline, unused))
#define NEVER_INLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))
#define ALIGNED_64 __attribute__((aligned(64)))
#else
#define MAY_ALIAS
#define ALWAYS_INLINE
#define NEVER_INLINE
#define UNUSED
#define ALIGNED_64 _Alignas(64)
#endif

typedef double MAY_ALIAS memory_f64;
typedef float MAY_ALIAS memory_f32;
typedef int64_t MAY_ALIAS memory_i64;
typedef int32_t MAY_ALIAS memory_i32;
typedef int16_t MAY_ALIAS memory_i16;
typedef int8_t memory_i8;
typedef uint8_t memory_i1;
typedef char *MAY_ALIAS memory_ptr;

/* Element i of an array of float64, and so on, that begins at the address p. */
#define F64(p, i) (((memory_f64 *)(p))[i])
#define F32(p, i) (((memory_f32 *)(p))[i])
#define I64(p, i) (((memory_i64 *)(p))[i])
#define I32(p, i) (((memory_i32 *)(p))[i])
#define I16(p, i) (((memory_i16 *)(p))[i])
#define I8(p, i) (((memory_i8 *)(p))[i])
#define I1(p, i) (((memory_i1 *)(p))[i])
#define PTR(p, i) (((memory_ptr *)(p))[i])
"""

VECTORS: Final = """\

#if !defined(__GNUC__)
#error "this file holds vectors of GCC and Clang; write it with vectors=1 for other compilers"
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
"""


class Helpers:
    """The helpers of one file."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def text(self) -> str:
        """Everything that stands above the functions of a program."""
        vectors = VECTORS if self._types else ""
        return HEAD + vectors + "".join(self._types.values()) + "\n" + "".join(self._texts.values())

    def name(self, type: Type) -> str:
        """A type in C."""
        if type.lanes == 1:
            return SCALARS[type.kind]
        kind = "i64" if type.kind in ("i1", "ptr") else type.kind
        return self.vector(kind, type.lanes)

    def vector(self, kind: str, lanes: int) -> str:
        """A vector of f64, f32, i64, i32, i16, i8 or the unsigned u64, u32, u16, u8."""
        name = f"{kind}x{lanes}"
        if name not in self._types:
            signed = kind.replace("u", "i")
            bits = int(kind[1:])
            element = SCALARS[signed] if kind[0] != "u" else f"u{SCALARS[signed]}"
            self._types[name] = (
                f"typedef {element} {name} __attribute__((vector_size({bits // 8 * lanes})));\n"
                f"typedef {element} memory_{name} "
                f"__attribute__((vector_size({bits // 8 * lanes}), aligned({bits // 8}), may_alias));\n"
            )
        return name

    def define(self, name: str, text: str) -> str:
        """A helper by its name; `text` is its definition."""
        self._texts.setdefault(name, text)
        return name

    def function(self, name: str, result: str, parameters: str, body: str) -> str:
        """A helper of one or more statements."""
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        return self.define(name, f"ALWAYS_INLINE static inline {result} {name}({parameters})\n{{\n{lines}}}\n")

    # ---- numbers

    def minimum(self, type: Type, sign: str) -> str:
        """The smaller (`<`) or larger (`>`) of two numbers; NaN when one is NaN."""
        name = f"{'min' if sign == '<' else 'max'}_{type}"
        t = self.name(type)
        if type.lanes == 1:
            missing = "x != x || " if type.floating else ""
            return self.function(name, t, f"{t} x, {t} y", f"return {missing}x {sign} y ? x : y;")
        better = self.mask(type, f"x {sign} y")
        missing = f" | {self.mask(type, 'x != x')}" if type.floating else ""
        return self.function(name, t, f"{t} x, {t} y", f"return {self.select(type)}({better}{missing}, x, y);")

    def magnitude(self, type: Type) -> str:
        """The absolute value of integers, and of vectors."""
        t, name = self.name(type), f"abs_{type}"
        if type.lanes == 1:
            u = "uint64_t" if type.bits == 64 else "uint32_t"
            return self.function(name, t, f"{t} x", f"return x < 0 ? ({t})(0 - ({u})x) : x;")
        if not type.floating:
            return self.function(
                name, t, f"{t} x", f"return {self.select(type)}({self.mask(type, 'x < 0')}, ({t})-x, x);"
            )
        i = self.vector(BYTES[type.bits], type.lanes)
        largest = "INT64_MAX" if type.bits == 64 else "INT32_MAX"
        return self.function(name, t, f"{t} x", f"return ({t})(({i})x & {largest});")

    def copysign(self, type: Type) -> str:
        """The sign of a vector on another."""
        t, i = self.name(type), self.vector(BYTES[type.bits], type.lanes)
        largest = "INT64_MAX" if type.bits == 64 else "INT32_MAX"
        return self.function(
            f"copysign_{type}", t, f"{t} x, {t} y", f"return ({t})((({i})x & {largest}) | (({i})y & ~{largest}));"
        )

    def lanewise(self, function: str, type: Type, arity: int = 1) -> str:
        """A function of the C library lane by lane; compilers make one instruction of it where there is one."""
        t, name = self.name(type), f"{function}_{type}"
        suffix = "f" if type.kind == "f32" else ""
        letters = "xyz"[:arity]
        fast = _instruction(function, type)
        parameters = ", ".join(f"{t} {letter}" for letter in letters)
        operands = ", ".join(f"{letter}[i]" for letter in letters)
        body = (
            f"{t} result;\nfor (int i = 0; i < {type.lanes}; i++)\n"
            f"    result[i] = {function}{suffix}({operands});\nreturn result;"
        )
        return self._fast(name, t, parameters, fast, body)

    def _fast(self, name: str, result: str, parameters: str, fast: tuple[str, str] | None, body: str) -> str:
        """A helper of a statement that processors with a feature know, and of others for the rest."""
        if fast is None:
            return self.function(name, result, parameters, body)
        feature, statement = fast
        rest = "".join(f"    {line}\n" for line in body.splitlines())
        head = f"ALWAYS_INLINE static inline {result} {name}({parameters})"
        choice = f"#if {feature} && !defined(__clang__)\n    {statement}\n#else\n{rest}#endif"
        return self.define(name, f"{head}\n{{\n{choice}\n}}\n")

    # ---- conversion

    def saturated(self, source: Type, type: Type, signed: bool) -> str:
        """Float to integer: the nearest bound for what lies outside, 0 for NaN."""
        name = f"{'' if signed else 'u'}{type}_of_{source}"
        t, s = self.name(type), self.name(source)
        if type.lanes > 1:
            one = self.saturated(source.element, type.element, signed)
            return self.function(
                name, t, f"{s} x",
                f"{t} result;\nfor (int i = 0; i < {type.lanes}; i++)\n    result[i] = {one}(x[i]);\nreturn result;",
            )  # fmt: skip
        bits = type.bits
        low, high = (f"INT{bits}_MIN", f"INT{bits}_MAX") if signed else ("0", f"UINT{bits}_MAX")
        least = float(-(2 ** (bits - 1))) if signed else 0.0
        most = float(2 ** (bits - 1 if signed else bits))
        via = t if signed else f"u{t}"
        return self.function(
            name, t, f"{s} x",
            # Of what lies next to 0 apart: GCC's -fno-trapping-math takes (double)(int64_t)x for trunc(x), which is -0.
            f"if (!(x <= -1.0 || x >= 1.0))\n    return 0;\nif (x < {least!r})\n    return {low};\n"
            f"return x >= {most!r} ? ({t}){high} : ({t})({via})x;",
        )  # fmt: skip

    def bits(self, source: Type, type: Type) -> str:
        """The same bits as another scalar type."""
        t, s = self.name(type), self.name(source)
        return self.function(
            f"{type}_bits_of_{source}", t, f"{s} x", f"{t} result;\nmemcpy(&result, &x, sizeof result);\nreturn result;"
        )

    # ---- lanes

    def mask(self, type: Type, comparison: str) -> str:
        """A comparison of vectors of `type` as a mask."""
        mask = self.vector("i64", type.lanes)
        if type.bits == 64 or type.kind == "i1":
            return f"({mask})({comparison})"
        return f"__builtin_convertvector(({self.vector(BYTES[type.bits], type.lanes)})({comparison}), {mask})"

    def select(self, type: Type) -> str:
        """Lanes of two vectors chosen by a mask."""
        t, m = self.name(type), self.vector("i64", type.lanes)
        name = f"select_{type}"
        if type.kind in ("i1", "i64", "ptr"):
            return self.function(name, t, f"{m} mask, {t} x, {t} y", "return (x & mask) | (y & ~mask);")
        i = self.vector(BYTES[type.bits], type.lanes)
        own = "mask" if i == m else f"__builtin_convertvector(mask, {i})"
        fast = None
        if (type.kind, type.lanes) == ("f64", 8):
            call = f"__builtin_ia32_blendmpd_512_mask(y, x, __builtin_ia32_cvtq2mask512({_foreign('mask', 8)}))"
            fast = "defined(__AVX512DQ__)", f"return {call};"
        return self._fast(
            name, t, f"{m} mask, {t} x, {t} y", fast,
            f"{i} chosen = {own};\nreturn ({t})((({i})x & chosen) | (({i})y & ~chosen));",
        )  # fmt: skip

    def splat(self, type: Type) -> str:
        """A number in all lanes."""
        t = self.name(type)
        x = "-(int64_t)x" if type.kind == "i1" else "(int64_t)(intptr_t)x" if type.kind == "ptr" else "x"
        if x != "x":
            body = f"int64_t lane = {x};\nreturn ({t}){{{', '.join(['lane'] * type.lanes)}}};"
        else:
            body = f"return ({t}){{{', '.join(['x'] * type.lanes)}}};"
        return self.function(f"splat_{type}", t, f"{self.name(type.element)} x", body)

    def insert(self, type: Type) -> str:
        """A vector with one lane replaced."""
        t = self.name(type)
        x = "-(int64_t)x" if type.kind == "i1" else "(int64_t)(intptr_t)x" if type.kind == "ptr" else "x"
        return self.function(
            f"insert_{type}", t, f"{t} v, {self.name(type.element)} x, int64_t i", f"v[i] = {x};\nreturn v;"
        )

    def reduce(self, operation: str, type: Type) -> str:
        """All lanes combined: halves first, pairs last."""
        name = f"reduce_{operation}_{type}"
        t, e = self.name(type), self.name(type.element)
        lines = []
        half = type.lanes
        lines.append(f"{self.name(Type('i64' if type.kind == 'i1' else type.kind).element)} lane[{type.lanes}];")
        lines.append(f"for (int i = 0; i < {type.lanes}; i++)\n    lane[i] = x[i];")
        element = Type("i64") if type.kind == "i1" else type.element
        combined = self._combined(operation, element)
        while half > 1:
            half //= 2
            if half > 1:
                lines.append(f"for (int i = 0; i < {half}; i++)")
                lines.append(f"    lane[i] = {combined.format('lane[i]', f'lane[i + {half}]')};")
            else:
                lines.append(f"return {combined.format('lane[0]', 'lane[1]')}{' != 0' if type.kind == 'i1' else ''};")
        return self._fast(name, e, f"{t} x", self._halves(operation, type), "\n".join(lines))

    def _halves(self, operation: str, type: Type) -> tuple[str, str] | None:
        """Sums and products of floats, half of a vector with the other."""
        if not (type.floating and operation in ("add", "mul")):
            return None
        sign = "+" if operation == "add" else "*"
        lanes, vector, statements = type.lanes, "x", []
        while lanes > 2:
            lanes //= 2
            parts = [
                f"__builtin_shufflevector({vector}, {vector}, {', '.join(str(first + i) for i in range(lanes))})"
                for first in (0, lanes)
            ]
            statements.append(f"const {self.vector(type.kind, lanes)} x{lanes} = {f' {sign} '.join(parts)};")
            vector = f"x{lanes}"
        return "__GNUC__ >= 12", "\n    ".join([*statements, f"return {vector}[0] {sign} {vector}[1];"])

    def _combined(self, operation: str, type: Type) -> str:
        t = self.name(type)
        u = f"u{t}" if type.integer else ""
        match operation:
            case "min" | "max":
                return f"{self.minimum(type, '<' if operation == 'min' else '>')}({{0}}, {{1}})"
            case "umin" | "umax":
                sign = "<" if operation == "umin" else ">"
                return f"({u}){{0}} {sign} ({u}){{1}} ? {{0}} : {{1}}"
            case "and" | "or":
                return f"({t})({{0}} {'&' if operation == 'and' else '|'} {{1}})"
        sign = "+" if operation == "add" else "*"
        if type.floating:
            return f"{{0}} {sign} {{1}}"
        wide = "uint64_t" if type.bits == 64 else "uint32_t"
        return f"({t})(({wide}){{0}} {sign} ({wide}){{1}})"

    # ---- memory

    def load(self, type: Type) -> str:
        """Consecutive lanes."""
        t = self.name(type)
        if type.kind == "i1":
            mask, byte = self.vector("i64", type.lanes), self.vector("i8", type.lanes)
            body = f"return ({mask})(__builtin_convertvector(*(const memory_{byte} *)p, {mask}) != 0);"
        else:
            body = f"return *(const memory_{t} *)p;"
        return self.function(f"load_{type}", t, "const char *p", body)

    def store(self, type: Type) -> str:
        """Consecutive lanes."""
        t = self.name(type)
        if type.kind == "i1":
            byte = self.vector("i8", type.lanes)
            body = f"*(memory_{byte} *)p = __builtin_convertvector(-x, {byte});"
        else:
            body = f"*(memory_{t} *)p = x;"
        return self.function(f"store_{type}", "void", f"char *p, {t} x", body)

    def masked_load(self, type: Type) -> str:
        """Lanes whose mask is true; of the others nothing is read."""
        t, m = self.name(type), self.vector("i64", type.lanes)
        lane = "-(int64_t)(I1(p, i) != 0)" if type.kind == "i1" else f"{type.kind.upper()}(p, i)"
        fast = None
        if (type.kind, type.lanes) == ("f64", 8):
            call = "__builtin_ia32_loadupd512_mask((const double *)p, other, __builtin_ia32_cvtq2mask512({}))"
            fast = "defined(__AVX512DQ__)", f"return {call.format(_foreign('mask', 8))};"
        elif (type.kind, type.lanes) == ("f64", 4):
            call = f"__builtin_ia32_maskloadpd256((const {t} *)p, {_foreign('mask', 4)})"
            fast = "defined(__AVX__)", f"return {self.select(type)}(mask, {call}, other);"
        return self._fast(
            f"load_some_{type}", t, f"char *p, {m} mask, {t} other", fast,
            f"for (int i = 0; i < {type.lanes}; i++)\n    if (mask[i])\n        other[i] = {lane};\nreturn other;",
        )  # fmt: skip

    def masked_store(self, type: Type) -> str:
        """Lanes whose mask is true."""
        t, m = self.name(type), self.vector("i64", type.lanes)
        lane = "x[i] != 0" if type.kind == "i1" else "x[i]"
        fast = None
        if (type.kind, type.lanes) == ("f64", 8):
            call = "__builtin_ia32_storeupd512_mask((double *)p, x, __builtin_ia32_cvtq2mask512({}))"
            fast = "defined(__AVX512DQ__)", f"{call.format(_foreign('mask', 8))};"
        elif (type.kind, type.lanes) == ("f64", 4):
            fast = "defined(__AVX__)", f"__builtin_ia32_maskstorepd256(({t} *)p, {_foreign('mask', 4)}, x);"
        return self._fast(
            f"store_some_{type}", "void", f"char *p, {m} mask, {t} x", fast,
            f"for (int i = 0; i < {type.lanes}; i++)\n    if (mask[i])\n"
            f"        {type.kind.upper()}(p, i) = {lane};",
        )  # fmt: skip

    def gather(self, type: Type) -> str:
        """Lane i reads element index[i]."""
        t, m = self.name(type), self.vector("i64", type.lanes)
        lane = "-(int64_t)(I1(p, index[i]) != 0)" if type.kind == "i1" else f"{type.kind.upper()}(p, index[i])"
        return self.function(
            f"gather_{type}", t, f"char *p, {m} index",
            f"{t} result;\nfor (int i = 0; i < {type.lanes}; i++)\n    result[i] = {lane};\nreturn result;",
        )  # fmt: skip


def _foreign(value: str, lanes: int) -> str:
    """A vector of int64 as the instructions' own type: `long long`."""
    return f"(long long __attribute__((vector_size({8 * lanes})))){value}"


def _instruction(function: str, type: Type) -> tuple[str, str] | None:
    """The condition and the statement of an instruction that does all lanes at once, as GCC names it."""
    if type.kind != "f64" or type.lanes not in (2, 4, 8):
        return None
    width = {2: "128", 4: "256", 8: "512"}[type.lanes]
    plain = "" if type.lanes == 2 else width
    rounding = {"round_even": 8, "nearbyint": 8, "floor": 9, "ceil": 10, "trunc": 11}
    if function == "fma":
        if type.lanes == 8:
            return "defined(__AVX512F__)", "return __builtin_ia32_vfmaddpd512_mask(x, y, z, -1, 4);"
        return "defined(__FMA__)", f"return __builtin_ia32_vfmaddpd{plain}(x, y, z);"
    if function in rounding:
        if type.lanes == 8:
            call = f"return __builtin_ia32_rndscalepd_mask(x, {rounding[function]}, x, -1, 4);"
            return "defined(__AVX512F__)", call
        feature = "__SSE4_1__" if type.lanes == 2 else "__AVX__"
        return f"defined({feature})", f"return __builtin_ia32_roundpd{plain}(x, {rounding[function]});"
    if function == "sqrt" and type.lanes == 8:
        return "defined(__AVX512F__)", "return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4);"
    if function == "sqrt":
        feature = "__SSE2__" if type.lanes == 2 else "__AVX__"
        return f"defined({feature})", f"return __builtin_ia32_sqrtpd{plain}(x);"
    return None
