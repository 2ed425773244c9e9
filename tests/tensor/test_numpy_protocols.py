"""NumPy's functions, arrays, pandas and xarray beside expressions: each gives an expression with NumPy's value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
import xarray as xr

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, ShapeError
from consilience.ir import Node
from consilience.ops.ufuncs import CUMULATIONS, NOTATION, OTHERWISE, REDUCTIONS

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(3, 4))
SQUARE = A @ A.T + np.eye(3)
COUNTS = RNG.integers(0, 6, size=(3, 4))
FLAGS = A > 0

FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "sum": (lambda x: np.sum(x, axis=0), [A]),
    "sum by position": (lambda x: np.sum(x, 1), [A]),
    "sum keepdims": (lambda x: np.sum(x, axis=(0, 1), keepdims=True), [A]),
    "prod": (lambda x: np.prod(x, axis=-1), [A]),
    "mean": (lambda x: np.mean(x, 0), [A]),
    "var": (lambda x: np.var(x, axis=0, ddof=1), [A]),
    "std": (lambda x: np.std(x, ddof=1), [A]),
    "max": (lambda x: np.max(x, axis=1), [A]),
    "amin": (lambda x: np.amin(x, axis=1), [A]),
    "any": (lambda x: np.any(x, axis=1), [FLAGS]),
    "all": (np.all, [FLAGS]),
    "argmax": (lambda x: np.argmax(x, axis=1), [A]),
    "argmin": (np.argmin, [A]),
    "cumsum": (lambda x: np.cumsum(x, axis=1), [A]),
    "cumprod": (np.cumprod, [A]),
    "stack": (lambda x, y: np.stack([x, y], axis=1), [A, B]),
    "concatenate": (lambda x: np.concatenate([x, B], axis=1), [A]),
    "hstack": (lambda x: np.hstack([x, B]), [A]),
    "vstack": (lambda x: np.vstack([B, x]), [A]),
    "where": (lambda x, y: np.where(x > 0, x, y), [A, B]),
    "where array": (lambda x: np.where(FLAGS, x, 0.0), [A]),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), [A]),
    "clip below": (lambda x: np.clip(x, -0.5, None), [A]),
    "clip named": (lambda x: np.clip(x, min=0.0, max=1.0), [A]),
    "clip a_max": (lambda x: np.clip(x, a_min=None, a_max=0.1), [A]),
    "round": (np.round, [A]),
    "round two": (lambda x: np.round(x, 2), [A]),
    "round tens": (lambda x: np.round(x * 100, decimals=-1), [A]),
    "dot": (lambda x: np.dot(x, B.T), [A]),
    "outer": (np.outer, [A, B]),
    "tensordot": (lambda x: np.tensordot(x, B, axes=((0,), (0,))), [A]),
    "trace": (np.trace, [SQUARE]),
    "diag": (np.diag, [A[0]]),
    "tril": (lambda x: np.tril(x, -1), [SQUARE]),
    "triu": (np.triu, [SQUARE]),
    "reshape": (lambda x: np.reshape(x, (4, 3)), [A]),
    "ravel": (np.ravel, [A]),
    "transpose": (np.transpose, [A]),
    "transpose axes": (lambda x: np.transpose(x, (1, 0)), [A]),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 1), [A]),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), [A]),
    "expand_dims": (lambda x: np.expand_dims(x, 1), [A]),
    "squeeze": (np.squeeze, [A[:1]]),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), [A]),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, B[:, :1])[1], [A]),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), [A]),
    "tile": (lambda x: np.tile(x, (1, 2)), [A]),
    "atleast_1d": (lambda x: np.atleast_1d(x[0, 0]), [A]),
    "split": (lambda x: np.split(x, [1], axis=1)[1], [A]),
    "zeros_like": (np.zeros_like, [A]),
    "ones_like": (np.ones_like, [COUNTS]),
    "full_like": (lambda x: np.full_like(x, 2.5), [A]),
    "copy": (np.copy, [A]),
    "inv": (np.linalg.inv, [SQUARE]),
    "det": (np.linalg.det, [SQUARE]),
    "cholesky": (np.linalg.cholesky, [SQUARE]),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], [SQUARE]),
    "solve": (lambda x: np.linalg.solve(x, B), [SQUARE]),
    "qr": (lambda x: np.linalg.qr(x)[1], [A]),
    "qr complete": (lambda x: np.linalg.qr(x, "complete")[1], [A]),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False)[1], [A]),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x, "U"), [SQUARE]),
    "eigh": (lambda x: np.linalg.eigh(x)[0], [SQUARE]),
    "pinv": (lambda x: np.linalg.pinv(x, rtol=0.1), [A]),
    "lstsq": (lambda x: np.linalg.lstsq(x, x[:, 0], rcond=None)[0], [A]),
    "matrix_rank": (np.linalg.matrix_rank, [A]),
    "norm nuc": (lambda x: np.linalg.norm(x, "nuc"), [A]),
    "cond": (np.linalg.cond, [A]),
    "matmul": (lambda x: np.matmul(B.T, x), [A]),
    "power": (lambda x: np.power(x, 2), [A]),
    "add reduce": (np.add.reduce, [A]),
    "maximum reduce": (lambda x: np.maximum.reduce(x, axis=1, keepdims=True), [A]),
    "multiply accumulate": (lambda x: np.multiply.accumulate(x, axis=1), [A]),
    "add outer": (lambda x: np.add.outer(x, np.array([1.0, 2.0])), [A]),
    "subtract outer": (lambda x: np.subtract.outer(np.array([1.0, 2.0]), x), [A]),
    "multiply dtype": (lambda x: np.multiply(x, 2, dtype="float32"), [A]),
    "logaddexp": (np.logaddexp, [A, B]),
    "expit": (scipy.special.expit, [A]),
    "gammaln": (lambda x: scipy.special.gammaln(np.abs(x)), [A]),
    "xlogy": (lambda x, y: scipy.special.xlogy(np.abs(x), np.abs(y)), [A, B]),
}


def value_of(build: Callable[..., Any], arrays: list[Any]) -> Any:
    """The value of an expression built from inputs like the arrays."""
    inputs = [pt.tensor(f"x{i}", dtype=a.dtype.name, shape=a.shape) for i, a in enumerate(arrays)]
    made = build(*inputs)
    assert isinstance(made, Node)
    return made.eval(dict(zip(inputs, arrays, strict=True)), on_unused_input="ignore", mode="PY")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_on_expressions_mean_what_they_mean_on_arrays(name: str) -> None:
    """Value, dtype and shape."""
    build, arrays = FUNCTIONS[name]
    found, wanted = value_of(build, arrays), np.asarray(build(*arrays))
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype == "float32" else 1e-12)


@pytest.mark.parametrize("name", sorted({*OTHERWISE, *NOTATION} - {"expit", "psi", "matmul"}))
def test_elementwise_functions_under_the_names_of_numpy(name: str) -> None:
    """Rows of the scalar table that are called otherwise there."""
    ufunc = getattr(np, name, None)
    if ufunc is None:
        pytest.skip(f"this NumPy has no {name}")
    arrays = [COUNTS, COUNTS % 3][: ufunc.nin] if "bitwise" in name else [np.abs(A) + 0.1, np.abs(B) + 0.1][: ufunc.nin]
    np.testing.assert_allclose(value_of(ufunc, arrays), ufunc(*arrays), rtol=1e-13)


def test_reductions_and_cumulations_of_elementwise_functions() -> None:
    """`np.add.reduce` and its kin go over the first axis unless told."""
    for name in REDUCTIONS:
        ufunc = getattr(np, name)
        array = FLAGS if "logical" in name else A
        np.testing.assert_allclose(value_of(ufunc.reduce, [array]), ufunc.reduce(array))
        np.testing.assert_allclose(
            value_of(lambda x, u=ufunc: u.reduce(x, axis=None), [array]), ufunc.reduce(array, None)
        )
    for name in CUMULATIONS:
        ufunc = getattr(np, name)
        np.testing.assert_allclose(value_of(ufunc.accumulate, [A]), ufunc.accumulate(A))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: np.add(x, 1.0, out=np.zeros(3)), "cannot write an expression into an array"),
        (lambda x: np.sum(x, out=np.zeros(())), "cannot write an expression into an array"),
        (lambda x: np.add(x, 1.0, where=np.array([True, False, True])), "has no `where`; use `pt.where`"),
        (lambda x: np.sum(x, where=np.array([True, False, True])), "`where` has no meaning here"),
        (lambda x: np.gcd(x, x), r"`np.gcd` has no meaning on expressions.*`\.eval\(\)`"),
        (lambda x: np.add.at(x, [0], 1.0), "`np.add.at` has no meaning"),
        (lambda x: np.add.reduceat(x, [0]), "`np.add.reduceat` has no meaning"),
        (lambda x: np.nanmedian(x), "`np.nanmedian` has no meaning on expressions"),
        (np.asarray, r"it is no array\..* compute its value with `x\.eval\(\)`"),
        (lambda x: np.array([x, x]), "it is no array"),
        (float, "it is no float"),
        (int, "it is no int"),
    ],
)
def test_what_has_no_meaning_is_refused_with_a_way_out(call: Callable[[Node], Any], why: str) -> None:
    """No object arrays, no recursion, no silence."""
    with pytest.raises(TypeError, match=why):
        call(pt.vector("x"))


def test_an_array_cannot_be_changed_by_an_expression() -> None:
    """`a += x` says to write `a = a + x`; the array is as before."""
    x, a = pt.vector("x"), np.ones(3)
    with pytest.raises(TypeError, match="write `a = a \\+ x`"):
        a += x  # type: ignore[assignment,misc]  # what is tested
    np.testing.assert_array_equal(a, np.ones(3))
    a = a + x  # type: ignore[assignment]  # what is tested
    assert isinstance(a, Node)


FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
LABELLED = xr.DataArray([1.0, 2.0, 3.0], dims="t", coords={"t": [7, 8, 9]})
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda u, v: u + v,
    "-": lambda u, v: u - v,
    "*": lambda u, v: u * v,
    "/": lambda u, v: u / v,
    "**": lambda u, v: u**v,
    ">": lambda u, v: u > v,
    "<=": lambda u, v: u <= v,
}
BESIDE = {
    "series": FRAME.a,
    "nullable series": pd.Series([1, 2, 3], dtype="Int64"),
    "index": pd.Index([1.0, 2.0, 3.0]),
    "column of a frame": FRAME[["a"]],
    "array": np.array([1.0, 2.0, 3.0]),
    "number of numpy": np.float64(3.0),
    "array of rank 0": np.array(3.0),
    "list": [1.0, 2.0, 3.0],
    "range": range(1, 4),
    "int": 2,
    "tuple": (1, 2, 3),
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", BESIDE)
def test_operators_give_expressions_whatever_stands_beside(kind: str, operator: str) -> None:
    """On either side, with the value that arrays of the same numbers have."""
    x, at, other = pt.tensor("x", shape=(3,)), np.array([0.5, 1.5, 2.5]), BESIDE[kind]
    apply = OPERATORS[operator]
    array = np.asarray(other, dtype="float64")
    for found, wanted in ((apply(x, other), apply(at, array)), (apply(other, x), apply(array, at))):
        assert isinstance(found, Node)
        np.testing.assert_allclose(found.eval({x: at}, mode="PY"), wanted)


def test_products_with_frames_and_labelled_arrays() -> None:
    """pandas and xarray keep matrix products from the left to themselves; the message of the one names the way."""
    x, at = pt.tensor("x", shape=(2,)), np.array([2.0, -1.0])
    wanted = FRAME.to_numpy() @ at
    for found in (pt.dot(FRAME, x), x @ FRAME.T, FRAME.to_numpy() @ x):
        np.testing.assert_allclose(found.eval({x: at}, mode="PY"), wanted)
    with pytest.raises(TypeError, match=r"`pm.math.dot\(frame, x\)` for `frame @ x`"):
        FRAME @ x


def test_an_array_of_xarray_times_an_expression_can_be_used_as_an_expression() -> None:
    """xarray wraps the result in labels; functions here take it by its expression."""
    x, at = pt.tensor("x", shape=(3,)), np.array([0.5, 1.5, 2.5])
    assert isinstance(x * LABELLED, Node)
    product = LABELLED * x + 1.0
    assert isinstance(product, xr.DataArray)
    wanted = np.exp(LABELLED.to_numpy() * at + 1.0)
    np.testing.assert_allclose(pt.exp(product).eval({x: at}, mode="PY"), wanted)
    np.testing.assert_allclose(np.exp(product.data).eval({x: at}, mode="PY"), wanted)


@pytest.mark.parametrize(
    ("value", "error", "why"),
    [
        (None, DtypeError, "such as None"),
        ([1.0, None], DtypeError, "such as None"),
        ("text", DtypeError, "such as .*'text'"),
        (["a", "b"], DtypeError, "code categories"),
        (object(), DtypeError, "<object object"),
        (np.datetime64("2024-01-01"), DtypeError, "dtype datetime64"),
        (pd.to_datetime(["2024-01-01"]), DtypeError, "dtype datetime64"),
        (pd.Series(["u", "v"], dtype="category"), DtypeError, "code categories"),
        (pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), DtypeError, "dtype object"),
        ([[1.0], [1.0, 2.0]], ShapeError, "equal lengths"),
    ],
)  # fmt: skip
def test_values_that_are_no_numbers_are_refused(value: Any, error: type[Exception], why: str) -> None:
    """As operands and as arguments."""
    x = pt.vector("x")
    for use in (lambda: pt.exp(value), lambda: x * value, lambda: pt.stack([x[0], pt.as_tensor(value)])):
        with pytest.raises(error, match=why):
            use()


def test_random_variables_in_a_model_written_with_numpy_and_pandas() -> None:
    """The habits of a model: functions of NumPy, columns of a frame, an array of xarray."""
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 1.0, shape=2)
        slope = pm.Normal("slope", 0.0, 1.0)
        scale = np.exp(pm.Normal("log_scale", 0.0, 1.0))
        mu = np.sum(FRAME[["a", "b"]] * beta, axis=1) + FRAME.a * slope
        pm.Normal("y", mu, scale, observed=FRAME.b)
        pm.Normal("z", LABELLED * slope, scale, observed=LABELLED)
    point = {"beta": np.array([0.1, 0.2]), "slope": -0.7, "log_scale": 0.3}
    found = model.compile_logp()(point)
    b, s = point["beta"], np.exp(0.3)
    mean = FRAME.to_numpy() @ b + FRAME.a.to_numpy() * point["slope"]
    normal = scipy.stats.norm.logpdf
    wanted = (
        normal([*b, -0.7, 0.3]).sum()
        + normal(FRAME.b.to_numpy(), mean, s).sum()
        + normal(LABELLED.to_numpy(), LABELLED.to_numpy() * point["slope"], s).sum()
    )
    assert found == pytest.approx(wanted, rel=1e-12)
