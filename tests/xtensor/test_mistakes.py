"""Mistakes with named dims: the message names the dim, what there is, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
import consilience.tensor as pt
import consilience.xtensor as px
from consilience.errors import ConsilienceWarning, ModelError, OutOfBoundsError, ShapeError

X = px.xtensor("x", dims=("a", "b"), shape=(2, 3))
Y = px.xtensor("y", dims=("b", "c"), shape=(4, 5))
ONE = px.xtensor("one", dims="b", shape=(1,))

MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: X + Y, ShapeError, r"the dim `b` has two lengths, 3 in x .* and 4 in y"),
    (lambda: X + ONE, ShapeError, r"the dim `b` has two lengths, 3 in x .* and 1 in one"),
    (lambda: X.dot(Y), ShapeError, r"the dim `b` has two lengths"),
    (lambda: px.concat([X, X.isel(a=0).expand_dims("a").isel(b=[0])], "a"), ShapeError, r"the dim `b` has two lengths"),
    (lambda: X.sum("c"), ShapeError, r"there is no dim `c`; `x` has `a`, `b`"),
    (lambda: X.sum(["a", "a"]), ShapeError, r"`a` occurs twice"),
    (lambda: X.isel(c=0), ShapeError, r"there is no dim `c`"),
    (lambda: X.isel(a=5), OutOfBoundsError, r"index 5 is outside axis 0 of length 2"),
    (lambda: X.rename(c="d"), ShapeError, r"there is no dim `c`"),
    (lambda: X.rename(a="b"), ShapeError, r"`b` occurs twice"),
    (lambda: X.transpose("a"), ShapeError, r"needs all dims \('a', 'b'\) once, or `...` for the rest"),
    (lambda: X.transpose(..., "a", ...), ShapeError, r"one `...` only"),
    (lambda: X.squeeze("a"), ShapeError, r"the dim `a` has length 2"),
    (lambda: X.expand_dims("a"), ShapeError, r"the dim `a` exists already"),
    (lambda: X.stack(a=("a", "b")).unstack(a={"a": 2, "b": 4}), ShapeError, r"length 6, which is not the product"),
    (lambda: px.dot(X, X, dim="q"), ShapeError, r"there is no dim `q` to sum over"),
    (lambda: X.set(0.0), ShapeError, r"belong after an index"),
    (lambda: X.isel(a=0).set(X), ShapeError, r"the value has the dim `a`"),
    (lambda: X.isel(a=0).set(ONE), ShapeError, r"length 1 along `b`, the indexed part 3"),
    (lambda: X[0, 0, 0], ShapeError, r"too many indices: 3"),
    (lambda: X[None], ShapeError, r"expand_dims\(name\)"),
    (lambda: X.isel(a=np.zeros((2, 2), int)), ShapeError, r"positions along `a` of rank 2 need dims"),
    (lambda: X.isel(b=[True, False]), ShapeError, r"the mask has length 2 along `b`, .* 3"),
    (
        lambda: X.isel(b=px.as_xtensor([True, False, True], "q")),
        ShapeError,
        r"a mask along `b` must be a vector along it",
    ),
    (lambda: list(px.xtensor("z", dims="a")), TypeError, r"static first length"),
    (lambda: X.sel(a="left"), ModelError, r"`sel` reads the coords of the model"),
    (lambda: px.xtensor("z", dims=("a", "a")), ShapeError, r"of z .*`a` occurs twice"),
    (lambda: px.xtensor("z", dims=("a", 1)), TypeError, r"dims are names"),  # type: ignore[arg-type]  # that is the mistake
    (lambda: px.as_xtensor(np.zeros(3)), TypeError, r"dims .*are not known"),
    (lambda: px.as_xtensor(np.zeros(3), dims=("a", "b")), ShapeError, r"rank 1 needs 1 dims"),
    (lambda: px.as_xtensor(X, dims=("b", "a")), ShapeError, r"\('a', 'b'\), not \('b', 'a'\)"),
    (lambda: X + np.zeros(3), TypeError, r"give them with `px.as_xtensor"),
    (lambda: X + pt.vector("v"), TypeError, r"the dims of `v` .* are not known"),
    (lambda: np.zeros(3) * X, TypeError, r"give them with `px.as_xtensor"),
    (lambda: pt.exp(X), TypeError, r"take `.values` to drop the names"),
    (lambda: bool(X.sum() > 0), TypeError, r"no truth value"),
    (lambda: px.linalg.solve(X, Y, dims=("a", "c")), ShapeError, r"`solve` needs two dims of a"),
    (lambda: px.linalg.cholesky(X, dims=("a",)), ShapeError, r"matrices have two dims"),
    (lambda: X.stack({"s": ("a",)}, t=("b",)), TypeError, r"a dictionary or keywords, not both"),
    (lambda: px.signal.convolve1d(X, Y, dims=("a", "a")), ValueError, r"two different names, one of each tensor"),
    (lambda: px.signal.convolve1d(X, Y, dims=("a", "b")), ShapeError, r"dim 'a' and without 'b' is needed, .*'a', 'b'"),
    (lambda: px.signal.convolve1d(X, px.xtensor("w", dims="l"), "some", dims=("a", "l")), ValueError, r"full, valid"),
    (lambda: setattr(X, "dims", ("c", "d")), AttributeError, r"is frozen"),
]


@pytest.mark.parametrize(("mistake", "kind", "message"), MISTAKES, ids=[m[2][:40] for m in MISTAKES])
def test_a_mistake_is_told_when_it_is_written(mistake: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        mistake()


@pytest.mark.parametrize("length", [1, 4])
def test_lengths_that_differ_at_run_time_are_told_by_dim(length: int) -> None:
    """Length 1 does not stretch along a dim that both have."""
    x, y = px.xtensor("x", dims=("a", "b")), px.xtensor("y", dims="b")
    made = (x * y).sum()
    with pytest.raises(ShapeError, match="the dim `b` has one length in all operands"):
        made.eval({x: np.ones((2, 3)), y: np.ones(length)})
    assert made.eval({x: np.ones((2, 3)), y: np.ones(3)}) == 6.0


def test_a_static_length_of_one_must_be_one_elsewhere_at_run_time() -> None:
    x, one = px.xtensor("x", dims="b"), px.xtensor("one", dims="b", shape=(1,))
    made = x + one
    assert made.eval({x: np.ones(1), one: np.ones(1)}) == [2.0]
    with pytest.raises(ShapeError, match="the dim `b` has one length"):
        made.eval({x: np.ones(3), one: np.ones(1)})


@pytest.mark.parametrize("call", [lambda x, **k: x.isel(q=0, **k), lambda x, **k: x.transpose("q", ..., **k)])
def test_unknown_dims_are_passed_over_on_request(call: Callable[..., Any]) -> None:
    assert call(X, missing_dims="ignore").dims == X.dims
    with pytest.warns(ConsilienceWarning, match="there is no dim"):
        call(X, missing_dims="warn")


def test_mistakes_with_dims_of_models_are_told() -> None:
    with pm.Model(coords={"a": ["u", "v"], "b": [1, 2, 3], "k": [0, 1]}):
        mu = pm.dims.Normal("mu", dims="b")
        vector = px.as_xtensor([0.5, 0.5], "k")
        cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
            (
                lambda: pm.dims.Normal("y", mu, dims="a"),
                ShapeError,
                r"a parameter has the dim `b`, which dims=\('a',\) lacks",
            ),
            (lambda: pm.dims.Normal("y", [0.0, 1.0]), TypeError, r"mu must have dims"),
            (
                lambda: pm.dims.Normal("y", px.as_xtensor([0.0, 1.0], "b"), dims="b"),
                ShapeError,
                r"`b` has length 3, .* has 2",
            ),
            (lambda: pm.dims.Normal("y", 0, dims="q"), ModelError, r"the dimension `q`"),
            (lambda: pm.dims.Normal("y", 0, shape=3), TypeError, r"give `dims` in place of `shape`"),
            (lambda: pm.dims.Normal("y", 0, dims="a", core_dims="a"), TypeError, r"takes no `core_dims`"),
            (lambda: pm.dims.Categorical("y", vector), TypeError, r"needs `core_dims`"),
            (lambda: pm.dims.Categorical("y", vector, core_dims="b"), ShapeError, r"one value of p is a vector"),
            (lambda: pm.dims.Normal("y", mu, observed=np.zeros(3)), TypeError, r"dims .*are not known"),
            (lambda: pm.dims.Normal("y", mu, observed=xr.DataArray([0.0, 1.0], dims="a")), ShapeError, r"lack `b`"),
            (lambda: pm.dims.Data("d", np.zeros(3)), TypeError, r"are not known"),
            (lambda: pm.dims.Deterministic("d", mu, dims="a"), ShapeError, r"there is no dim `a`"),
            (lambda: mu.sel(b=7), OutOfBoundsError, r"the dim `b` has no label 7; it has 1, 2, 3"),
            (lambda: pm.dims.LKJCholeskyCov, AttributeError, r"LKJCholeskyCov"),
        ]
        for mistake, kind, message in cases:
            with pytest.raises(kind) as told:
                mistake()
            assert re.search(message, str(told.value)), str(told.value)
