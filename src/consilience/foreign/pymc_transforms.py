"""PyMC's transforms of free variables: one in, ours of the same formula out.

By the name of the class. DEFAULT stands for the one that the variable's support has here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from consilience.distributions import context, transforms
from consilience.errors import MissingRuleError
from consilience.foreign.pymc_distributions import bound
from consilience.foreign.pytensor_graph import Translation


def _interval(t: Translation, transform: Any, rv: Any) -> Any:
    named_axes = not hasattr(transform, "args_fn")
    found = (transform.lower, transform.upper) if named_axes else transform.args_fn(*rv.owner.inputs)
    ends = [_end(t, end) for end in found]
    return None if ends == [None, None] else transforms.Interval(*ends)


def _end(t: Translation, end: Any) -> Any:
    """A bound of PyMC as a tensor or a number; None where there is none."""
    if hasattr(end, "owner"):
        return bound(t.tensor(end))
    return None if end is None or np.isinf(end) else float(end)


def _chain(t: Translation, transform: Any, rv: Any) -> Any:
    found = [translated(t, step, rv) for step in transform.transform_list]
    return transforms.chain(*found)


def _zero_sum(t: Translation, transform: Any, rv: Any) -> Any:
    if hasattr(transform, "dims"):
        return transforms.ZeroSumTransform(_axes(rv, transform.dims))
    return transforms.ZeroSumTransform(tuple(int(a) for a in transform.zerosum_axes))


def _simplex(t: Translation, transform: Any, rv: Any) -> Any:
    name = getattr(transform, "core_dim", None)
    if name is not None and _axes(rv, [name]) != (-1,):
        raise MissingRuleError(
            f"PyMC's transform `SimplexTransform` along `{name}`, which is not the last of the dims {rv.type.dims} of "
            f"`{rv.name}`, has no translation; put `{name}` last."
        )
    return transforms.simplex


def _axes(rv: Any, names: Any) -> tuple[int, ...]:
    """The axes with these names, counted from the last."""
    dims = rv.type.dims
    return tuple(dims.index(name) - len(dims) for name in names)


def _always(found: Any) -> Callable[[Translation, Any, Any], Any]:
    return lambda t, transform, rv: found


ROWS: Final[dict[str, Callable[[Translation, Any, Any], Any]]] = {
    "ChainedTransform": _chain,
    "Chain": _chain,
    "CholeskyCorrTransform": _always(transforms.cholesky_corr),
    "CholeskyCovPacked": _always(transforms.cholesky_cov_packed),
    "CholeskyCovTransform": _always(context.DEFAULT),
    "CircularTransform": _always(transforms.circular),
    "Interval": _interval,
    "IntervalTransform": _interval,
    "LogExpM1": _always(transforms.log_exp_m1),
    "LogOddsTransform": _always(transforms.log_odds),
    "LogTransform": _always(transforms.log),
    "Ordered": _always(transforms.ordered),
    "SimplexTransform": _simplex,
    "SumTo1": _always(transforms.sum_to_1),
    "ZeroSumTransform": _zero_sum,
}


def translated(t: Translation, transform: Any, rv: Any) -> Any:
    """Our transform for that of a random variable of PyMC; None for none.

    Raises MissingRuleError for a class that has no row, such as one of the user's own.
    """
    if transform is None:
        return None
    row = ROWS.get(type(transform).__name__)
    if row is None:
        raise MissingRuleError(
            f"PyMC's transform `{type(transform).__name__}` of `{rv.name}` has no translation; write that variable "
            "here."
        )
    return row(t, transform, rv)
