"""Functions whose best code is SciPy's own, called lane after lane.

In: the name of a C function of `scipy.special.cython_special`. Out: the function for vectors of any width. Outside:
where the address comes from (`native/scipy_special`).
"""

from __future__ import annotations

from consilience.native.program import i32
from consilience.native.scipy_special import PREFIX
from consilience.native.vectormath.incomplete import lane_by_lane
from consilience.native.vectormath.notation import Elementary, Lanes


def scipy_value(name: str, *arguments: Lanes) -> Lanes:
    """SciPy's function at one number each; a formula around it must be `lane_by_lane`."""
    first = arguments[0]
    b = first.builder
    operands = (*(argument.value for argument in arguments), b.const(i32, 0))
    b.module.declare(PREFIX + name, (first.value.type, tuple(v.type for v in operands)), pure=True)
    return first.of(b.call(PREFIX + name, first.value.type, *operands))


def named(name: str, arity: int) -> Elementary:
    """SciPy's function of `arity` numbers as a function of vectors."""
    return lane_by_lane(name, arity, lambda *arguments: scipy_value(name, *arguments))
