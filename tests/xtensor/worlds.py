"""One text, two meanings: expressions of named dims evaluated by xarray, and by this library.

In: a text over `x`, `y`, `z` and positions `i`, `j`. Out: the values and dims of both.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import consilience.xtensor as px
from consilience.xtensor import XTensorVariable

LENGTHS = {"a": 2, "b": 3, "c": 4, "p": 5}
FUNCTIONS = ("abs", "cos", "exp", "isnan", "log1p", "maximum", "minimum", "sign", "sin", "sqrt", "square", "tanh")


def arrays(seed: int, orders: Mapping[str, Sequence[str]]) -> dict[str, xr.DataArray]:
    """Normal numbers with the given dims by name, and positions: `i` along p for dim a, `j` along p for dim b."""
    rng = np.random.default_rng(seed)
    made = {
        n: xr.DataArray(rng.normal(size=[LENGTHS[d] for d in dims]), dims=tuple(dims)) for n, dims in orders.items()
    }
    made["i"] = xr.DataArray(rng.integers(-2, 2, LENGTHS["p"]), dims="p")
    made["j"] = xr.DataArray(rng.integers(0, 3, LENGTHS["p"]), dims="p")
    return made


def _xarray_words() -> dict[str, Any]:
    def dot(*operands: xr.DataArray, dim: Any = None) -> Any:
        return xr.dot(*operands, dim=dim, optimize=False)

    def stack(x: xr.DataArray, new: str, dims: Sequence[str]) -> xr.DataArray:
        return x.stack({new: dims}, create_index=False)

    return {name: getattr(np, name) for name in FUNCTIONS} | {
        "concat": functools.partial(xr.concat, coords="minimal", compat="override", join="outer"),
        "dot": dot,
        "stack": stack,
        "where": xr.where,
    }


def _own_words() -> dict[str, Any]:
    def stack(x: XTensorVariable, new: str, dims: Sequence[str]) -> XTensorVariable:
        return x.stack({new: dims})

    words = {name: getattr(px.math, name) for name in FUNCTIONS}
    return words | {"concat": px.concat, "dot": px.dot, "stack": stack, "where": px.where}


XARRAY, OWN = _xarray_words(), _own_words()


def by_xarray(text: str, values: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """What xarray makes of a text."""
    with np.errstate(all="ignore"):
        return xr.DataArray(eval(text, dict(XARRAY), dict(values)))


def inputs(values: Mapping[str, xr.DataArray], static: bool) -> dict[str, XTensorVariable]:
    """A symbolic input for each array, of static or of unknown lengths."""
    return {
        name: px.xtensor(name, dims=value.dims, shape=value.shape if static else None, dtype=value.dtype)
        for name, value in values.items()
    }


def written(text: str, symbols: Mapping[str, XTensorVariable]) -> XTensorVariable:
    """What this library makes of a text."""
    return px.as_xtensor(eval(text, dict(OWN), dict(symbols)))


def evaluated(made: XTensorVariable, symbols: Mapping[str, Any], values: Mapping[str, Any], backend: str) -> Any:
    """The value of an expression of the symbols."""
    given = {symbols[name]: values[name] for name in symbols}
    return made.eval(given, backend=backend, on_unused_input="ignore")


def compare(text: str, values: Mapping[str, xr.DataArray], static: bool, backend: str = "reference") -> None:
    """Both worlds give the same dims, in the same order, and the same numbers."""
    wanted = by_xarray(text, values)
    symbols = inputs(values, static)
    made = written(text, symbols)
    assert made.dims == wanted.dims, text
    found = evaluated(made, symbols, values, backend)
    assert found.dtype == wanted.dtype, text
    np.testing.assert_allclose(found, wanted.values, rtol=1e-9, atol=1e-12, err_msg=text)
