"""`px.random`: random variables with named dims, by the names of `pt.random`.

In: parameters with dims, numbers, lengths of further dims. Out: random variables whose axes are the further dims, the
dims of the parameters and those of one event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from consilience.first_use import guarded as _guarded
from consilience.first_use import load_on_use as _load_on_use
from consilience.ir.arithmetic import means
from consilience.ops.shape import length_of
from consilience.tensor import random as without_names
from consilience.tensor.random import rng as rng
from consilience.tensor.random import shared_rng as shared_rng
from consilience.xtensor.named import Named, arranged, checked_dims, common_lengths, of_lengths, union
from consilience.xtensor.variable import XTensorVariable, as_xtensor

# How many dims parameters have for one event, and how many of these the event has.
_EVENTS: Final = {"categorical": (1, 0), "dirichlet": (1, 1), "multinomial": (1, 1), "multivariate_normal": (2, 1)}

# What makes several elements of one event without saying how many dims it has, and what draws nothing.
_WITHOUT_DIMS: Final = {"choice", "fold_in", "multivariate_hypergeometric", "permutation", "shuffle", "split"}

__all__ = sorted({*without_names.__all__} - _WITHOUT_DIMS)


def _public(name: str) -> Callable[..., Any]:
    plain: Callable[..., Any] = getattr(without_names, name)

    def function(
        *parameters: Any,
        core_dims: str | Sequence[str] | None = None,
        extra_dims: Mapping[str, Any] | None = None,
        rng: Any = None,
        return_next_rng: bool = False,
        **named: Any,
    ) -> Any:
        needed, of_event = _EVENTS.get(name, (0, 0))
        core = checked_dims(core_dims or (), name)
        if len(core) != needed:
            raise ValueError(f"`{name}` needs {needed} `core_dims`, the dims of one event, got {core}.")
        words = list(named)
        operands = [as_xtensor(p) for p in (*parameters, *named.values())]
        if of_event and needed == 2 and core[0] not in operands[0].dims:
            core = core[::-1]  # the first is that of the mean
        lengths = common_lengths(operands)
        batch = [dim for dim in union(o.dims for o in operands) if dim not in core]
        extra = dict(extra_dims or {})
        repeated = [dim for dim in extra if dim in lengths]
        if repeated:
            raise ValueError(f"parameters of `{name}` have the dim `{repeated[0]}` already; `extra_dims` are others.")
        nodes = [
            arranged(of_lengths(o, lengths), o.dims, (*batch, *(dim for dim in core if dim in o.dims)))
            for o in operands
        ]
        size = [*extra.values(), *(length_of(lengths[dim]) for dim in batch)]
        given = dict(zip(words, nodes[len(parameters) :], strict=True)) | ({"size": tuple(size)} if size else {})
        found = plain(*nodes[: len(parameters)], rng=rng, return_next_rng=return_next_rng, **given)
        dims = (*extra, *batch, *core[:of_event])
        if return_next_rng:
            return found[0], XTensorVariable(found[1], dims)
        return XTensorVariable(found, dims)

    function.__name__ = function.__qualname__ = name
    written = import_module("consilience.tensor.random_documentation")
    shown = function.__dict__["__signature__"] = written.signature(plain, named=True)
    function.__doc__ = written.documented(name, shown, named=True)
    return function


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    found = globals()[name] = _guarded(_public(name))
    return found


@means("random variable with named dims")
def _named(name: str, parameters: Sequence[Any], keywords: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function for parameters of which some have names; None for others."""
    mentioned = not keywords.keys().isdisjoint({"core_dims", "extra_dims"})
    any_named = any(isinstance(p, Named) for p in (*parameters, *keywords.values()))
    return __getattr__(name) if mentioned or any_named else None


_load_on_use(__name__, {}, public=True)
