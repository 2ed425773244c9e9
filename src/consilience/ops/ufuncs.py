"""NumPy's elementwise functions and operators on expressions.

A ufunc and its operands in, an expression out: what `np.exp(x)` means, or an array on the left of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from consilience.ir import Node
from consilience.ir.arithmetic import meaning
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.scalar import TABLE
from consilience.ops.shape import expand_dims

# Rows of the scalar table that NumPy and SciPy call otherwise.
OTHERWISE: Final = {
    "absolute": "abs", "divide": "true_div", "equal": "eq", "expit": "sigmoid", "fabs": "abs",
    "floor_divide": "floor_div", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "multiply": "mul", "negative": "neg", "not_equal": "neq", "psi": "digamma", "remainder": "mod", "rint": "round",
    "subtract": "sub", "true_divide": "true_div", "degrees": "rad2deg", "radians": "deg2rad",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
NOTATION: Final = {"matmul": "matmul", "power": "pow", "float_power": "float power", "positive": "positive"}
REDUCTIONS: Final = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
CUMULATIONS: Final = {"add": "sum", "multiply": "prod"}


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[TensorLike], settings: Mapping[str, Any]) -> Any:
    """The meaning of NumPy's `ufunc` on operands of which one is an expression.

    `method`: "__call__", "reduce", "accumulate" or "outer", of those functions that have them here. `settings`: `dtype`
    converts the result; `axis` and `keepdims` of reductions. Others are refused.
    """
    name = ufunc.__name__
    if settings.get("out") is not None:
        raise TypeError(
            f"`np.{name}` cannot write an expression into an array: its numbers are not known yet. "
            "For `a += x` write `a = a + x`."
        )
    known = {"dtype", "out", "casting", "order", "subok"}
    result = None
    if method == "__call__":
        result = _applied(name, inputs)
    elif method == "outer" and len(inputs) == 2:
        left, right = (as_tensor(value) for value in inputs)
        stretched = expand_dims(left, tuple(range(left.ndim, left.ndim + right.ndim))) if right.ndim else left
        result = _applied(name, [stretched, right])
    elif method == "reduce" and name in REDUCTIONS:
        known |= {"axis", "keepdims"}
        x = as_tensor(inputs[0])
        result = reduce(REDUCTIONS[name], x, settings.get("axis", 0), bool(settings.get("keepdims", False)))
    elif method == "accumulate" and name in CUMULATIONS:
        known |= {"axis"}
        result = cumulative(CUMULATIONS[name], as_tensor(inputs[0]), settings.get("axis", 0))
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise TypeError(f"`np.{name}` of an expression has no `{unknown[0]}`; use `pt.where` to choose elements.")
    if result is None:
        called = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
        raise TypeError(f"`{called}` has no meaning on expressions; compute them first, with `.eval()`.")
    dtype = settings.get("dtype")
    return result if dtype is None else cast(result, np.dtype(dtype).name)


def _applied(name: str, values: Sequence[TensorLike]) -> Node | None:
    row = OTHERWISE.get(name, name)
    if row in TABLE:
        return apply(row, *values)
    if name not in NOTATION:
        return None
    result: Node = meaning(NOTATION[name])(*values)
    return result
