"""Functions defined by integrals, where SciPy's needs a guard or a place for two results: expn, Si and Ci.

In: float64 values. Out: what SciPy's C functions give, without their warnings. Outside: those called as they are
(`vectormath/__init__`).
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.program import f64, i64
from consilience.native.scipy_special import PREFIX
from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.incomplete import Cell, lane_by_lane
from consilience.native.vectormath.notation import Lanes
from consilience.native.vectormath.scipy_function import scipy_value

LARGE_ORDER: Final = 1e9


def _expn(n: Lanes, x: Lanes) -> Lanes:
    """E_n(x), the integral of exp(-x t) / t**n over t > 1; NaN unless n is whole and not negative."""
    result = Cell(x.constant(math.nan))
    with x.builder.if_((n.equals(n.floor()) & (n >= 0.0) & (x >= 0.0)).value):
        large = (n > LARGE_ORDER) | x.equals(math.inf)
        with x.builder.if_(large.value):
            result.set(exponential(-x) / (n + x))
        with x.builder.else_():
            result.set(scipy_value("expn", n, x))
    return result.get()


def _pair(x: Lanes) -> tuple[Lanes, Lanes]:
    """Si(x) and Ci(|x|)."""
    b = x.builder
    memory = b.stack(f64, 2)
    second = b.offset(memory, b.const(i64, 1), f64)
    b.call(PREFIX + "sici", None, x.value, memory, second)
    return x.of(b.load(f64, memory)), x.of(b.load(f64, second))


expn: Final = lane_by_lane("expn", 2, _expn)
sine_integral: Final = lane_by_lane("sine_integral", 1, lambda x: _pair(x)[0])
cosine_integral: Final = lane_by_lane("cosine_integral", 1, lambda x: _pair(x)[1])
