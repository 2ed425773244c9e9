"""Draws without rejection on whole vectors: random bits, keys, uniform, exponential and normal numbers.

In: a module and a number of lanes. Out: functions in it that give lane by lane what typed Python gives: the
same bits for words and uniforms; normals and exponentials to the last bits, through the vector math library.
Outside: draws with rejection loops, which go lane by lane (`library`).
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.loops import Builder, Module
from consilience.native.program import Type, Value, f64, i64, ptr
from consilience.native.random.continuous import QUARTER, TWO_PI
from consilience.native.random.philox import (
    DRAWS,
    HALF_STEP,
    KEYS,
    MASK,
    MULTIPLIER_0,
    MULTIPLIER_1,
    WEYL_0,
    WEYL_1,
)

ROUNDS: Final = 10
ONE_BITS: Final = 0x3FF0000000000000  # the pattern of 1.0: adding 52 random bits gives a number in [1, 2)


def write(module: Module, name: str, symbol: str, lanes: int) -> None:
    """Add draw `name` (a key of `VECTORS`) on `lanes` lanes to `module`, under `symbol`."""
    whole = i64.vector(lanes)
    result = whole if name in ("random_bits", "random_fold_in") else f64.vector(lanes)
    b = module.function(symbol, [("key", whole), ("counter", whole)], result, contract=False, pure=True)
    b.ret(VECTORS[name](b, *b.parameters))


def write_fill(module: Module, name: str, symbol: str, lanes: int) -> None:
    """Add to `module`, under `symbol`, what fills memory as `random_normals` or `random_uniforms` does."""
    parameters = [("key", i64), ("counter", i64), ("out", ptr), ("n", i64)]
    b = module.function(symbol, parameters, None, contract=False)
    key, counter, out, n = b.parameters
    one, zero, size = b.const(i64, 1), b.const(i64, 0), b.const(i64, 2 * lanes)
    skipped = b.and_(counter, one)  # a fill that begins with a second number leaves out the first
    end = b.add(n, skipped)
    group = b.stack(f64, 2 * lanes)
    with b.for_(0, end, 2 * lanes) as begin:
        block = b.splat(b.add(b.ashr(counter, one), b.ashr(begin, one)), lanes)
        block = b.add(block, b.iota(block.type)) if lanes > 1 else block
        pair = PAIRS[name](b, b.splat(key, lanes), block)
        for half, numbers in enumerate(_in_turn(b, *pair)):
            b.store(numbers, b.offset(group, b.const(i64, half * lanes), f64))
        rest = b.sub(end, begin)
        last = b.select(b.cmp("lt", rest, size), rest, size)
        first = b.select(b.cmp("lt", begin, skipped), skipped, zero)
        with b.for_(first, last) as k:
            place = b.sub(b.add(begin, k), skipped)
            b.store(b.load(f64, b.offset(group, k, f64)), b.offset(out, place, f64))
    b.ret()


def _in_turn(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """x0 y0 x1 y1 ... in two vectors."""
    lanes = x.type.lanes
    if lanes == 1:
        return x, y
    order = [k // 2 + lanes * (k % 2) for k in range(2 * lanes)]
    return b.shuffle(x, y, order[:lanes]), b.shuffle(x, y, order[lanes:])


def _philox(b: Builder, key: Value, counter: Value, last: int) -> tuple[Value, Value, Value, Value]:
    """The four words of block 0 of `counter`; see `philox.philox`."""
    whole = key.type
    mask, half = b.const(whole, MASK), b.const(whole, 32)
    words = [
        b.variable(word)
        for word in (
            b.and_(counter, mask), b.lshr(counter, half), b.const(whole, 0), b.const(whole, last)
        )
    ]  # fmt: skip
    keys = [b.variable(b.and_(key, mask)), b.variable(b.lshr(key, half))]
    with b.for_(0, ROUNDS):
        c0, c1, c2, c3 = (b.get(word) for word in words)
        k0, k1 = (b.get(part) for part in keys)
        # Masked directly before: the machine then multiplies 32 bits by 32 bits.
        product_0 = b.mul(b.and_(c0, mask), b.const(whole, MULTIPLIER_0))
        product_1 = b.mul(b.and_(c2, mask), b.const(whole, MULTIPLIER_1))
        b.set(words[0], b.xor(b.xor(b.lshr(product_1, half), c1), k0))
        b.set(words[1], b.and_(product_1, mask))
        b.set(words[2], b.xor(b.xor(b.lshr(product_0, half), c3), k1))
        b.set(words[3], b.and_(product_0, mask))
        b.set(keys[0], b.and_(b.add(k0, b.const(whole, WEYL_0)), mask))
        b.set(keys[1], b.and_(b.add(k1, b.const(whole, WEYL_1)), mask))
    first, second, third, fourth = (b.get(word) for word in words)
    return first, second, third, fourth


def _unit_interval(b: Builder, low: Value, high: Value) -> Value:
    """See `philox.unit_interval`; both ways are exact. No conversion: not every machine has it on vectors."""
    whole: Type = low.type
    bits = b.or_(b.shl(high, b.const(whole, 20)), b.lshr(low, b.const(whole, 12)))
    number = b.bitcast(b.or_(bits, b.const(whole, ONE_BITS)), f64.vector(whole.lanes))
    return b.sub(number, b.const(number.type, 1.0 - HALF_STEP))


def _together(b: Builder, low: Value, high: Value) -> Value:
    return b.or_(b.shl(high, b.const(high.type, 32)), low)


def _bits(b: Builder, key: Value, counter: Value) -> Value:
    low, high, _, _ = _philox(b, key, counter, DRAWS)
    return _together(b, low, high)


def _fold_in(b: Builder, key: Value, data: Value) -> Value:
    low, high, _, _ = _philox(b, key, data, KEYS)
    return _together(b, low, high)


def _uniform(b: Builder, key: Value, counter: Value) -> Value:
    low, high, _, _ = _philox(b, key, counter, DRAWS)
    return _unit_interval(b, low, high)


def _exponential(b: Builder, key: Value, counter: Value) -> Value:
    return b.neg(b.math("log", _uniform(b, key, counter)))


def _normal(b: Builder, key: Value, counter: Value) -> Value:
    one = b.const(counter.type, 1)
    first, second = _normal_pairs(b, key, b.ashr(counter, one))
    return b.select(b.cmp("ne", b.and_(counter, one), b.const(counter.type, 0)), second, first)


def _uniform_pairs(b: Builder, key: Value, block: Value) -> tuple[Value, Value]:
    """Two uniform numbers of each block; see `philox.uniforms`."""
    words = _philox(b, key, block, DRAWS)
    return _unit_interval(b, *words[:2]), _unit_interval(b, *words[2:])


def _normal_pairs(b: Builder, key: Value, block: Value) -> tuple[Value, Value]:
    """Two normals of each block; see `continuous.normal_pair`."""
    u, v = _uniform_pairs(b, key, block)
    radius = b.sqrt(b.mul(b.const(u.type, -2.0), b.math("log", u)))
    cosine, sine = _circle(b, v)
    return b.mul(radius, cosine), b.mul(radius, sine)


def _circle(b: Builder, turn: Value) -> tuple[Value, Value]:
    """Cosine and sine of 2 pi turn for 0 <= turn < 1; see `continuous.cosine_of_turn`.

    The general cosine is five times as long, because it has to reduce angles of any size. Taylor's series do for the
    eighth of a turn that is left here.
    """

    def number(x: float) -> Value:
        return b.const(turn.type, x)

    def one_of(x: float, y: float) -> Value:
        return b.or_(b.cmp("eq", quarter, number(x)), b.cmp("eq", quarter, number(y)))

    quarter = b.floor(b.add(b.mul(number(4.0), turn), number(0.5)))
    angle = b.mul(number(TWO_PI), b.sub(turn, b.mul(number(QUARTER), quarter)))
    square = b.mul(angle, angle)
    sine = b.mul(angle, _series(b, square, 1))
    cosine = _series(b, square, 0)
    odd = one_of(1.0, 3.0)
    across, along = b.select(odd, sine, cosine), b.select(odd, cosine, sine)
    return b.select(one_of(1.0, 2.0), b.neg(across), across), b.select(one_of(2.0, 3.0), b.neg(along), along)


def _series(b: Builder, square: Value, first: int) -> Value:
    """Sum of (-1)**k square**k / (2 k + first)! up to the degree that |square| <= (pi / 4)**2 needs."""
    terms = [(-1.0) ** k / math.factorial(2 * k + first) for k in range(8)]
    total = b.const(square.type, terms[-1])
    for term in reversed(terms[:-1]):
        total = b.add(b.mul(total, square), b.const(square.type, term))
    return total


VECTORS: Final = {
    "random_bits": _bits,
    "random_exponential": _exponential,
    "random_fold_in": _fold_in,
    "random_normal": _normal,
    "random_uniform": _uniform,
}
PAIRS: Final = {"random_normals": _normal_pairs, "random_uniforms": _uniform_pairs}
