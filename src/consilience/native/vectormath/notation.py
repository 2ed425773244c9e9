"""Formulas over all lanes at once, written as mathematics.

In: a loop builder and its values. Out: the instructions of `x * y + 1.0`, comparisons, choices, bits.
Outside: any particular function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from consilience.native.loops import Builder
from consilience.native.program import Type, Value

Number: TypeAlias = "Lanes | float | int"

ROUNDING = 6755399441055744.0
"""1.5 * 2**52. Adding it rounds to the nearest integer and leaves that integer in the low bits."""

UPPER_HALF = -(1 << 27)
"""Mask of the leading 26 bits of a significand: products of two such numbers are exact."""


class Lanes:
    """A value of the loop program with operators: float64, int64 or mask, with any number of lanes.

    Numbers on the other side of an operator become constants of the same type. `fused` says that `fma`
    rounds once; formulas that need the exact error of a product ask for it.
    """

    __slots__ = ("builder", "fused", "value")

    def __init__(self, builder: Builder, value: Value, fused: bool) -> None:
        self.builder = builder
        self.value = value
        self.fused = fused

    def of(self, value: Value) -> Lanes:
        """Another value of the same program."""
        return Lanes(self.builder, value, self.fused)

    def constant(self, number: float | int) -> Lanes:
        """`number` in every lane, in the type of this value."""
        return self.of(self.builder.const(self.value.type, number))

    def _operand(self, other: Number) -> Value:
        return other.value if isinstance(other, Lanes) else self.builder.const(self.value.type, other)

    def __add__(self, other: Number) -> Lanes:
        return self.of(self.builder.add(self.value, self._operand(other)))

    def __radd__(self, other: Number) -> Lanes:
        return self.of(self.builder.add(self._operand(other), self.value))

    def __sub__(self, other: Number) -> Lanes:
        return self.of(self.builder.sub(self.value, self._operand(other)))

    def __rsub__(self, other: Number) -> Lanes:
        return self.of(self.builder.sub(self._operand(other), self.value))

    def __mul__(self, other: Number) -> Lanes:
        return self.of(self.builder.mul(self.value, self._operand(other)))

    def __rmul__(self, other: Number) -> Lanes:
        return self.of(self.builder.mul(self._operand(other), self.value))

    def __truediv__(self, other: Number) -> Lanes:
        return self.of(self.builder.div(self.value, self._operand(other)))

    def __rtruediv__(self, other: Number) -> Lanes:
        return self.of(self.builder.div(self._operand(other), self.value))

    def __neg__(self) -> Lanes:
        return self.of(self.builder.neg(self.value))

    def __abs__(self) -> Lanes:
        return self.of(self.builder.abs(self.value))

    def __and__(self, other: Number) -> Lanes:
        return self.of(self.builder.and_(self.value, self._operand(other)))

    def __or__(self, other: Number) -> Lanes:
        return self.of(self.builder.or_(self.value, self._operand(other)))

    def __xor__(self, other: Number) -> Lanes:
        return self.of(self.builder.xor(self.value, self._operand(other)))

    def __invert__(self) -> Lanes:
        return self.of(self.builder.not_(self.value))

    def __lshift__(self, other: Number) -> Lanes:
        return self.of(self.builder.shl(self.value, self._operand(other)))

    def __rshift__(self, other: Number) -> Lanes:
        """Zeros come in from the left."""
        return self.of(self.builder.lshr(self.value, self._operand(other)))

    def _compare(self, predicate: str, other: Number) -> Lanes:
        return self.of(self.builder.cmp(predicate, self.value, self._operand(other)))

    def __lt__(self, other: Number) -> Lanes:
        return self._compare("lt", other)

    def __le__(self, other: Number) -> Lanes:
        return self._compare("le", other)

    def __gt__(self, other: Number) -> Lanes:
        return self._compare("gt", other)

    def __ge__(self, other: Number) -> Lanes:
        return self._compare("ge", other)

    def below(self, other: Number) -> Lanes:
        """Whether an integer is less than another, both read as unsigned."""
        return self._compare("ult", other)

    def equals(self, other: Number) -> Lanes:
        """Whether the numbers are equal; NaN never is."""
        return self._compare("eq", other)

    def differs(self, other: Number) -> Lanes:
        """Whether the numbers are different; NaN always is."""
        return self._compare("ne", other)

    @property
    def bits(self) -> Lanes:
        """The IEEE pattern, as int64."""
        return self.of(self.builder.bitcast(self.value, Type("i64", self.value.type.lanes)))

    @property
    def real(self) -> Lanes:
        """The float64 with this IEEE pattern."""
        return self.of(self.builder.bitcast(self.value, Type("f64", self.value.type.lanes)))

    @property
    def upper(self) -> Lanes:
        """The leading 26 bits of the significand; the product of two such numbers is exact."""
        return (self.bits & UPPER_HALF).real

    def sqrt(self) -> Lanes:
        """The square root, correctly rounded."""
        return self.of(self.builder.sqrt(self.value))

    def floor(self) -> Lanes:
        """The greatest integer that is not greater."""
        return self.of(self.builder.floor(self.value))

    def round(self) -> Lanes:
        """The nearest integer, ties to even."""
        return self.of(self.builder.round_even(self.value))

    def with_sign(self, sign: Lanes) -> Lanes:
        """This magnitude with the sign of `sign`."""
        return self.of(self.builder.copysign(self.value, sign.value))

    def any(self) -> Value:
        """Whether a mask holds in any lane, as one i1."""
        return self.builder.reduce("or", self.value)


def fma(x: Number, y: Number, z: Number) -> Lanes:
    """x * y + z, rounded once where the machine can."""
    lanes = next(v for v in (x, y, z) if isinstance(v, Lanes))
    builder, type = lanes.builder, lanes.value.type
    operands = (v.value if isinstance(v, Lanes) else builder.const(type, v) for v in (x, y, z))
    return lanes.of(builder.fma(*operands))


def choose(mask: Lanes, x: Number, y: Number) -> Lanes:
    """x in the lanes where the mask holds, y in the others."""
    builder = mask.builder
    lanes = x if isinstance(x, Lanes) else y
    type = lanes.value.type if isinstance(lanes, Lanes) else Type("f64", mask.value.type.lanes)
    chosen, other = (v.value if isinstance(v, Lanes) else builder.const(type, v) for v in (x, y))
    return mask.of(builder.select(mask.value, chosen, other))


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Sum of coefficients[k] * x**k by Estrin's scheme: the depth grows with the logarithm of the degree."""
    terms: list[Lanes | float] = list(coefficients)
    power = x
    while len(terms) > 1:
        paired: list[Lanes | float] = [fma(terms[i + 1], power, terms[i]) for i in range(0, len(terms) - 1, 2)]
        if len(terms) % 2:
            paired.append(terms[-1])
        terms = paired
        if len(terms) > 1:
            power = power * power
    (result,) = terms
    return result if isinstance(result, Lanes) else x.constant(result)


def total(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x + y rounded, and its rounding error, exactly (Knuth 1969)."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def total_ordered(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x + y rounded, and its rounding error; |x| >= |y| or x = 0 (Dekker 1971)."""
    s = x + y
    return s, y - (s - x)


def product(x: Lanes, y: Number) -> tuple[Lanes, Lanes]:
    """x * y rounded, and its rounding error.

    Exact with fused multiply-add; else the halves of Dekker (1971) are cut by a mask, which leaves an error
    of at most 2**-104 relative. Overflow and underflow of the halves are the caller's concern.
    """
    y = y if isinstance(y, Lanes) else x.constant(y)
    p = x * y
    if x.fused:
        return p, fma(x, y, -p)
    x_high, y_high = x.upper, y.upper
    x_low, y_low = x - x_high, y - y_high
    return p, (((x_high * y_high - p) + x_high * y_low) + x_low * y_high) + x_low * y_low


class Elementary(Protocol):
    """Writes one function: instructions into the builder, the value of the result out."""

    def __call__(self, builder: Builder, *arguments: Value, fused: bool = False) -> Value: ...


def elementary(formula: Callable[..., Lanes]) -> Elementary:
    """A formula over `Lanes` as a function of the builder and its values."""

    def write(builder: Builder, *arguments: Value, fused: bool = False) -> Value:
        return formula(*(Lanes(builder, argument, fused) for argument in arguments)).value

    write.__name__ = write.__qualname__ = formula.__name__
    write.__module__ = formula.__module__
    write.__doc__ = formula.__doc__
    return write
