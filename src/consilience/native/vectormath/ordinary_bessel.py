"""Bessel functions of the orders 0 and 1: j0, j1, y0, y1.

In: float64 values. Out: SciPy's values, beyond 50 those of its functions of any order: the others there take the sine
of an angle that is rounded, and lose as many digits as the argument has before its point.
"""

from __future__ import annotations

from typing import Final

from consilience.native.vectormath.incomplete import Cell, lane_by_lane
from consilience.native.vectormath.notation import Elementary, Lanes, choose
from consilience.native.vectormath.scipy_function import scipy_value

FAR: Final = 50.0


def _of_order(name: str, general: str, order: float) -> Elementary:
    def formula(x: Lanes) -> Lanes:
        size = abs(x)
        result = Cell(x)
        with x.builder.if_((size > FAR).value):
            argument = size if general == "jv" else x
            value = scipy_value(general, x.constant(order), argument)
            odd = order == 1.0 and general == "jv"
            result.set(choose(x < 0.0, -value, value) if odd else value)
        with x.builder.else_():
            result.set(scipy_value(name, x))
        return result.get()

    return lane_by_lane(name, 1, formula)


j0: Final = _of_order("j0", "jv", 0.0)
j1: Final = _of_order("j1", "jv", 1.0)
y0: Final = _of_order("y0", "yv", 0.0)
y1: Final = _of_order("y1", "yv", 1.0)
