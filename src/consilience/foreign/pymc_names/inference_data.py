"""Results as ArviZ's `InferenceData` for libraries on PyMC 5, which ArviZ below 1 goes with.

In: a function of results that are trees. Out: the same of `InferenceData`. Outside: how results come about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any, Final

_NAMES: Final = """
    compute_deterministics compute_log_likelihood compute_log_prior predictions_to_inference_data sample
    sample_posterior_predictive sample_prior_predictive sample_smc to_inference_data
"""
FUNCTIONS: Final = frozenset(_NAMES.split())
"""Public functions that take or give results."""


@functools.cache
def expected() -> bool:
    """Whether the ArviZ that is installed has `InferenceData`: it is below version 1."""
    try:
        return metadata.version("arviz").startswith("0.")
    except metadata.PackageNotFoundError:
        return False


@functools.cache
def taking(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes and gives `InferenceData`; what it adds to a tree is added to what was given."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        import xarray

        kind = import_module("arviz").InferenceData
        trees: list[tuple[Any, Any]] = []

        def tree(thing: Any) -> Any:
            if not isinstance(thing, kind):
                return thing
            trees.append((thing, thing.to_datatree()))
            return trees[-1][1]

        found = function(*map(tree, arguments), **{name: tree(value) for name, value in keywords.items()})
        for given, used in trees:
            changed = {name: group for name, group in used.children.items() if name not in given.groups()}
            if changed:
                given.extend(kind.from_datatree(xarray.DataTree(children={n: g.copy() for n, g in changed.items()})))
            if found is used:
                return given
        return kind.from_datatree(found) if isinstance(found, xarray.DataTree) else found

    vars(call)["of_trees"] = function
    return call
