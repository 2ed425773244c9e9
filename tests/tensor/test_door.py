"""The tensor door: every name the library promises is there and means what NumPy, SciPy or PyTensor mean by it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.ir import Node
from tests.backends.agreement import agree

Array = npt.NDArray[Any]

RNG = np.random.default_rng(20)
X = RNG.normal(size=(3, 4))
Y = RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(2, 3, 3))
POSITIVE = SQUARE @ SQUARE.swapaxes(1, 2) + np.eye(3)
COUNTS = RNG.integers(-9, 9, size=(3, 4))
FLAGS = X > 0

SCALAR_FUNCTIONS = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "gammaln": lambda x: scipy.special.gammaln(np.exp(x)),
    "digamma": lambda x: scipy.special.digamma(np.exp(x)),
    "trigamma": lambda x: scipy.special.polygamma(1, np.exp(x)),
    "log1mexp": lambda x: np.log1p(-np.exp(-np.exp(x))),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "sigmoid": scipy.special.expit,
    "logit": lambda x: x,
    "logaddexp": np.logaddexp,
    "xlogy": lambda x, y: scipy.special.xlogy(np.exp(x), np.exp(y)),
}
# What brings the standard normal numbers above into a function's domain.
INTO_DOMAIN: dict[str, Callable[..., Any]] = {
    "gammaln": lambda x: [pt.exp(x)],
    "digamma": lambda x: [pt.exp(x)],
    "trigamma": lambda x: [pt.exp(x)],
    "log1mexp": lambda x: [-pt.exp(x)],
    "logit": lambda x: [pt.sigmoid(x)],
    "xlogy": lambda x, y: [pt.exp(x), pt.exp(y)],
}

# Calls of the door beside NumPy's, on the same arrays.
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Array]]] = {
    "sum": (lambda x: pt.sum(x, axis=(0, 2)), lambda x: x.sum((0, 2)), [SQUARE]),
    "prod": (lambda x: pt.prod(x, axis=1), lambda x: x.prod(1), [X]),
    "mean": (lambda x: pt.mean(x, axis=-1, keepdims=True), lambda x: x.mean(-1, keepdims=True), [X]),
    "var": (lambda x: pt.var(x, axis=0, ddof=1), lambda x: x.var(0, ddof=1), [X]),
    "std": (lambda x: pt.std(x), np.std, [X]),
    "max": (lambda x: pt.max(x, axis=0), lambda x: x.max(0), [X]),
    "min": (lambda x: pt.min(x), np.min, [X]),
    "argmax": (lambda x: pt.argmax(x, axis=1), lambda x: x.argmax(1), [X]),
    "argmin": (lambda x: pt.argmin(x), np.argmin, [X]),
    "any": (lambda x: pt.any(x, axis=1), lambda x: x.any(1), [FLAGS]),
    "all": (lambda x: pt.all(x, axis=0), lambda x: x.all(0), [FLAGS]),
    "cumsum": (lambda x: pt.cumsum(x, axis=1), lambda x: x.cumsum(1), [X]),
    "cumprod": (lambda x: pt.cumprod(x), np.cumprod, [X]),
    "logsumexp": (lambda x: pt.logsumexp(x, axis=1), lambda x: scipy.special.logsumexp(x, 1), [X]),
    "softmax": (lambda x: pt.softmax(x, axis=-1), lambda x: scipy.special.softmax(x, -1), [X]),
    "log_softmax": (lambda x: pt.log_softmax(x, axis=0), lambda x: scipy.special.log_softmax(x, 0), [X]),
    "reshape": (lambda x: pt.reshape(x, (2, -1)), lambda x: x.reshape(2, -1), [X]),
    "flatten": (lambda x: pt.flatten(x, 2), lambda x: x.reshape(2, 9), [SQUARE]),
    "ravel": (pt.ravel, np.ravel, [X]),
    "transpose": (lambda x: pt.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), [SQUARE]),
    "swapaxes": (lambda x: pt.swapaxes(x, 0, 2), lambda x: x.swapaxes(0, 2), [SQUARE]),
    "moveaxis": (lambda x: pt.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), [SQUARE]),
    "expand_dims": (lambda x: pt.expand_dims(x, (0, 2)), lambda x: np.expand_dims(x, (0, 2)), [X]),
    "squeeze": (pt.squeeze, np.squeeze, [X[:, None]]),
    "broadcast_to": (lambda x: pt.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4)), [X]),
    "broadcast_arrays": (
        lambda x, y: pt.broadcast_arrays(x, y[:, None]),
        lambda x, y: list(np.broadcast_arrays(x, y[:, None])),
        [X, X[:, 0]],
    ),
    "concatenate": (
        lambda x, y: pt.concatenate([x, y], axis=-1),
        lambda x, y: np.concatenate([x, y], axis=-1),
        [X, Y],
    ),
    "stack": (lambda x, y: pt.stack([x, y], axis=1), lambda x, y: np.stack([x, y], axis=1), [X, Y]),
    "hstack": (lambda x, y: pt.hstack([x, y]), lambda x, y: np.hstack([x, y]), [X, Y]),
    "vstack": (lambda x, y: pt.vstack([x, y]), lambda x, y: np.vstack([x, y]), [X, Y[0]]),
    "split": (lambda x: pt.split(x, [1, 2, 1], axis=1), lambda x: np.split(x, [1, 3], axis=1), [X]),
    "atleast_1d": (lambda x: pt.atleast_1d(x[0, 0]), lambda x: np.atleast_1d(x[0, 0]), [X]),
    "atleast_2d": (lambda x: pt.atleast_2d(x[0]), lambda x: np.atleast_2d(x[0]), [X]),
    "repeat": (lambda x: pt.repeat(x, 3, axis=0), lambda x: np.repeat(x, 3, axis=0), [X]),
    "tile": (lambda x: pt.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), [X]),
    "full_like": (lambda x: pt.full_like(x, 2.5), lambda x: np.full_like(x, 2.5), [X]),
    "zeros_like": (pt.zeros_like, np.zeros_like, [COUNTS]),
    "ones_like": (pt.ones_like, np.ones_like, [X]),
    "dot": (lambda x, y: pt.dot(x, y.T), lambda x, y: x @ y.T, [X, Y]),
    "matmul": (lambda a, b: pt.matmul(a, b), np.matmul, [SQUARE, POSITIVE]),
    "tensordot": (lambda x, y: pt.tensordot(x, y, ((1,), (1,))), lambda x, y: np.tensordot(x, y, ((1,), (1,))), [X, Y]),
    "outer": (pt.outer, np.outer, [X, Y]),
    "where": (pt.where, np.where, [FLAGS, X, Y]),
    "switch": (pt.switch, np.where, [FLAGS, X, Y]),
    "clip": (lambda x: pt.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5), [X]),
    "eq": (pt.eq, np.equal, [COUNTS, COUNTS.T.reshape(3, 4)]),
    "lt": (pt.lt, np.less, [X, Y]),
    "logical_and": (pt.logical_and, np.logical_and, [COUNTS, COUNTS.T.reshape(3, 4)]),
    "and_": (pt.and_, np.bitwise_and, [COUNTS, COUNTS.T.reshape(3, 4)]),
    "cast": (lambda x: pt.cast(x, "int64"), lambda x: x.astype("int64"), [X]),
    "diag": (lambda x: pt.diag(x[0], 1), lambda x: np.diag(x[0], 1), [X]),
    "tril": (lambda x: pt.tril(x, -1), lambda x: np.tril(x, -1), [SQUARE]),
    "triu": (lambda x: pt.triu(x, 1), lambda x: np.triu(x, 1), [SQUARE]),
    "set_subtensor": (
        lambda x, y: pt.set_subtensor(x[1:, ::2], y[1:, 1::2]),
        lambda x, y: replaced(x, (slice(1, None), slice(None, None, 2)), y[1:, 1::2]),
        [X, Y],
    ),
    "inc_subtensor": (
        lambda x: pt.inc_subtensor(x[[0, 0, 2]], 1.0),
        lambda x: x + np.array([2.0, 0.0, 1.0])[:, None],
        [X],
    ),
    "set": (lambda x: x[x > 0].set(0.0), lambda x: np.minimum(x, 0.0), [X]),
    "set of all": (lambda x, y: x[:].set(y), lambda x, y: y, [X, Y]),
    "inc of all": (lambda x: x[...].inc(3.0), lambda x: x + 3.0, [X]),
    "inc": (lambda x: x[..., -1].inc(3.0), lambda x: x + np.array([0, 0, 0, 3.0]), [X]),
    "cholesky": (pt.linalg.cholesky, np.linalg.cholesky, [POSITIVE]),
    "solve": (pt.linalg.solve, np.linalg.solve, [SQUARE, POSITIVE]),
    "solve_triangular": (
        lambda a, b: pt.linalg.solve_triangular(a[0], b[0], lower=True),
        lambda a, b: scipy.linalg.solve_triangular(a[0], b[0], lower=True),
        [POSITIVE, SQUARE],
    ),
    "inv": (pt.linalg.inv, np.linalg.inv, [POSITIVE]),
    "det": (pt.linalg.det, np.linalg.det, [SQUARE]),
    "slogdet": (lambda a: list(pt.linalg.slogdet(a)), lambda a: list(np.linalg.slogdet(a)), [SQUARE]),
    "trace": (lambda a: pt.linalg.trace(a), lambda a: np.trace(a, axis1=1, axis2=2), [SQUARE]),
    "cond": (lambda x: pt.cond(x.sum() > 0, x, -x), lambda x: x if x.sum() > 0 else -x, [X]),
    "ifelse": (lambda x: pt.ifelse(x[0, 0] > 9, x, -x), lambda x: -x, [X]),
    "vectorize": (
        lambda x, y: pt.vectorize(pt.dot, "(n),(n)->()")(x, y),
        lambda x, y: (x * y).sum(-1),
        [X, Y],
    ),
}

# Tensors made of numbers alone.
MADE: dict[str, tuple[Callable[[], Node], Array]] = {
    "zeros": (lambda: pt.zeros((2, 3)), np.zeros((2, 3))),
    "ones": (lambda: pt.ones(4, dtype="int64"), np.ones(4, dtype="int64")),
    "full": (lambda: pt.full((2,), 7.0), np.full(2, 7.0)),
    "eye": (lambda: pt.eye(3, 4, 1), np.eye(3, 4, 1)),
    "arange": (lambda: pt.arange(2, 11, 3), np.arange(2, 11, 3)),
    "tri": (lambda: pt.tri(3, 4, 1), np.tri(3, 4, 1)),
    "constant": (lambda: pt.constant(X), X),
    "as_tensor": (lambda: pt.as_tensor([1.0, pt.constant(2.0)]), np.array([1.0, 2.0])),
    "as_tensor_variable": (lambda: pt.as_tensor_variable(X), X),
    "shared": (lambda: pt.shared(X) * 1.0, X),
}
COVERED_ELSEWHERE = {"function", "eval", "grad", "value_and_grad", "jacobian", "hessian"}


def replaced(x: Array, index: Any, values: Array) -> Array:
    """A copy with other values at `index`."""
    result = x.copy()
    result[index] = values
    return result


@pytest.mark.parametrize("name", SCALAR_FUNCTIONS)
def test_scalar_functions_mean_what_scipy_means(name: str) -> None:
    """Beyond NumPy's functions, which the scalar table covers row by row."""
    wanted = SCALAR_FUNCTIONS[name]
    arrays = [X, Y] if name in ("logaddexp", "xlogy") else [X]
    build = INTO_DOMAIN.get(name, lambda *inputs: inputs)
    agree(lambda *inputs: getattr(pt, name)(*build(*inputs)), arrays, expected=wanted, rtol=1e-10, scale=1.0)


@pytest.mark.parametrize("name", CALLS)
def test_calls_mean_what_numpy_means(name: str) -> None:
    """On both backends, values, shapes and dtypes are NumPy's."""
    build, expected, arrays = CALLS[name]
    agree(build, arrays, expected=expected, rtol=1e-10, scale=10.0)


@pytest.mark.parametrize("name", MADE)
def test_tensors_are_made_as_in_numpy(name: str) -> None:
    """Constructors give NumPy's values and dtypes."""
    make, wanted = MADE[name]
    value = make().eval()
    assert value.dtype == wanted.dtype
    np.testing.assert_array_equal(value, wanted)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
def test_triangles_and_diagonals_of_any_size(rows: int, columns: int, k: int) -> None:
    """As NumPy's for all sizes and diagonals, those outside the matrix included."""
    x = np.arange(1.0, rows * columns + 1).reshape(rows, columns)
    np.testing.assert_array_equal(pt.tri(rows, columns, k).eval(backend="reference"), np.tri(rows, columns, k))
    for name in ("tril", "triu", "diag"):
        found = getattr(pt, name)(x, k).eval(backend="reference")
        np.testing.assert_array_equal(found, getattr(np, name)(x, k))
    vector = np.arange(1.0, rows + 1)
    np.testing.assert_array_equal(pt.diag(vector, k).eval(backend="reference"), np.diag(vector, k))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_repetition_of_any_shape(shape: list[int], counts: list[int], data: st.DataObject) -> None:
    """`tile`, `repeat` and `ravel` as NumPy's, empty tensors and numbers included."""
    x = np.arange(float(np.prod(shape))).reshape(shape)
    found = [pt.tile(x, counts), pt.repeat(x, counts[0]), pt.ravel(x)]
    wanted = [np.tile(x, counts), np.repeat(x, counts[0]), np.ravel(x)]
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        found.append(pt.repeat(x, counts[0], axis))
        wanted.append(np.repeat(x, counts[0], axis))
    for one, other in zip(found, wanted, strict=True):
        value = one.eval(backend="reference")
        assert value.shape == other.shape
        np.testing.assert_array_equal(value, other)


def test_lengths_may_be_symbolic() -> None:
    """What rearranges elements works before lengths are known."""
    x = pt.matrix("x")
    parts = [pt.tril(x), pt.diag(x[0]), pt.repeat(x, 2, 1), pt.tile(x, (2, 1)), pt.flatten(x), pt.vstack([x, x[0]])]
    whole = pt.function([x], parts)
    for array in (X, X[:1], X[:, :1]):
        wanted = [
            np.tril(array),
            np.diag(array[0]),
            np.repeat(array, 2, 1),
            np.tile(array, (2, 1)),
            array.ravel(),
            np.vstack([array, array[0]]),
        ]
        for found, meant in zip(whole(array), wanted, strict=True):
            np.testing.assert_array_equal(found, meant)


def test_derivatives_at_the_door() -> None:
    """grad, value_and_grad, jacobian and hessian of a function whose derivatives are known."""
    x = pt.vector("x")
    cost = (x**3).sum()
    at = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(pt.grad(cost, x).eval({x: at}), 3 * at**2)
    value, slope = pt.function([x], list(pt.value_and_grad(cost, x)))(at)
    np.testing.assert_allclose(value, (at**3).sum())
    np.testing.assert_allclose(slope, 3 * at**2)
    np.testing.assert_allclose(pt.hessian(cost, x).eval({x: at}), np.diag(6 * at))
    np.testing.assert_allclose(pt.jacobian(x**2, x).eval({x: at}), np.diag(2 * at))


def test_both_doors_lead_to_the_same() -> None:
    """`consilience` repeats the names that users of models need."""
    for name in ("function", "grad", "hessian", "jacobian", "shared", "value_and_grad"):
        assert getattr(pm, name) is getattr(pt, name)
    assert set(pt.__all__) <= set(pm.math.__all__)


def test_listed_names_exist_and_nothing_public_is_unlisted() -> None:
    """`__all__` lists each name once, and all that is there."""
    assert len(set(pt.__all__)) == len(pt.__all__)
    there = {
        name
        for name, value in vars(pt).items()
        if not name.startswith("_") and (not inspect.ismodule(value) or name in ("linalg", "random"))
    }
    assert set(pt.__all__) == there - {"TYPE_CHECKING"}


def test_every_promised_name_is_in_one_of_the_tables() -> None:
    """The tables of this file name functions of the door, or methods of tensors."""
    methods = {"set", "set of all", "inc", "inc of all"}
    for name in {*SCALAR_FUNCTIONS, *CALLS, *MADE, *COVERED_ELSEWHERE} - methods:
        assert hasattr(pt, name) or hasattr(pt.linalg, name), name


@pytest.mark.parametrize(
    ("name", "help"),
    [("scan", "cumsum"), ("sort", "argmax"), ("einsum", "tensordot"), ("fft", "later"), ("svd", "solve")],
)
def test_what_is_missing_says_so(name: str, help: str) -> None:
    """The error names what was asked for and what is there instead."""
    with pytest.raises(AttributeError, match=rf"`{name}`.*{help}"):
        getattr(pt, name)
    assert not hasattr(pt, name)


def test_missing_linear_algebra_says_so_in_its_place() -> None:
    """The same holds for `pt.linalg`."""
    with pytest.raises(AttributeError, match=r"linalg.*`eigh`.*cholesky"):
        _ = pt.linalg.eigh


def test_no_name_is_both_there_and_missing() -> None:
    """The list of what is missing is up to date."""
    assert not set(pt.absent._REASONS) & {*vars(pt), *vars(pt.linalg)}


def test_unknown_names_are_plain_attribute_errors() -> None:
    """A name nobody knows gets no advice."""
    with pytest.raises(AttributeError, match=r"has no `nonsense`\.$"):
        _ = pt.nonsense


@pytest.mark.parametrize("name", ["tril", "triu", "diag"])
def test_matrices_are_asked_for(name: str) -> None:
    """A number is neither a matrix nor a vector."""
    with pytest.raises(ShapeError, match="matrix"):
        getattr(pt, name)(1.0)


@pytest.mark.parametrize(
    ("name", "rank", "dtype"),
    [("vector", 1, "float64"), ("imatrix", 2, "int32"), ("fscalar", 0, "float32"), ("tensor4", 4, "float64")],
)
def test_inputs_have_the_rank_and_dtype_of_their_name(name: str, rank: int, dtype: str) -> None:
    """PyTensor's names of symbolic inputs."""
    node = getattr(pt, name)("x")
    assert (node.ndim, node.dtype) == (rank, dtype)
