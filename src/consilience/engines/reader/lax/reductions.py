"""lax's operations along whole axes: operands and parameters in, tensors out."""

from __future__ import annotations

from typing import Any

import consilience.tensor as pt
from consilience.engines.reader.axes import along
from consilience.engines.reader.lax.table import LAX
from consilience.engines.reader.rules import Rule


def _reduction(function: Rule) -> Rule:
    return lambda x, *, axes, **_: function(x, axis=tuple(int(i) for i in axes)) if axes else x


def _place(function: Rule) -> Rule:
    return lambda x, *, axes, **_: function(x, axis=int(axes[0]))


def _cumulative(function: Rule) -> Rule:
    return lambda x, *, axis, reverse, **_: along(x, axis, reverse, lambda v: function(v, axis=axis))


LAX.rows(
    {
        "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_and": "all",
        "reduce_or": "any",
    },
    _reduction,
)  # fmt: skip
LAX.rows("argmax argmin", _place)
LAX.rows("cumsum cumprod", _cumulative)


def _running(binary: Rule) -> Rule:
    """The greatest, the least or the log of the sum of exponentials so far."""

    def run(v: Any, axis: int) -> Any:
        front = pt.moveaxis(v, axis, 0)
        if front.static_shape[0] == 0:
            return v
        rest = pt.scan(lambda one, last: binary(one, last), front[1:], [front[0]], return_updates=False)
        return pt.moveaxis(pt.concatenate([front[:1], rest], axis=0), 0, axis)

    return _cumulative(run)


LAX.rows({"cummax": "maximum", "cummin": "minimum", "cumlogsumexp": "logaddexp"}, _running)
