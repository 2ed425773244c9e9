"""Laws of order: what is sorted, selected, searched and counted is what NumPy says, whatever the numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience.tensor as pt
from consilience.errors import DtypeError, OutOfBoundsError, ParameterError, ShapeError
from consilience.ir import Node, topological
from consilience.ops import MatMul
from tests.transforms.laws import check_derivatives

Array = npt.NDArray[Any]
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
DTYPES = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"
)  # fmt: skip
LENGTHS = (1, 2, 12, 13, 64, 65, 2999, 3000, 5000)


def orders(length: int, rng: np.random.Generator) -> dict[str, Array]:
    """Arrays that sorting by digits might stumble over."""
    drawn = rng.normal(size=length)
    high = rng.integers(0, 4, length).astype("float64") * 1e300
    return {
        "drawn": drawn,
        "ascending": np.sort(drawn),
        "descending": np.sort(drawn)[::-1],
        "equal": np.full(length, 3.0),
        "few values": rng.choice([-1.0, 0.0, 2.5], length),
        "equal leading digits": 1.0 + rng.integers(0, 50 * length, length) * 2.0**-52,
        "far apart": np.where(rng.random(length) < 0.1, high, drawn),
        "zeros": rng.choice([-0.0, 0.0, -1.0, 1e-320], length),
        "missing": np.where(rng.random(length) < 0.3, np.nan, drawn),
        "infinite": rng.choice([np.inf, -np.inf, 1.0, np.nan], length),
        "organ pipe": np.abs(np.arange(length) - length // 2).astype("float64"),
    }


def of_type(array: Array, dtype: str) -> Array:
    """The numbers in another dtype."""
    with np.errstate(all="ignore"):
        if dtype.startswith("float"):
            return array.astype(dtype)
        return np.nan_to_num(array * 50, posinf=100, neginf=-100).clip(-1e6, 1e6).astype("int64").astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorting_is_numpys_for_all_orders_of_elements(dtype: str) -> None:
    """Bit by bit, in machine code."""
    x = pt.vector("x", dtype=dtype)
    f = pt.function([x], [pt.sort(x), pt.argsort(x), pt.sort(x, descending=True)])
    for length in LENGTHS if dtype in ("float64", "int64") else (200, 5000):
        for name, array in orders(length, np.random.default_rng(length)).items():
            given_ = of_type(array, dtype)
            ascending, order, descending = f(given_)
            wanted = np.sort(given_, kind="stable")
            assert bits(ascending) == bits(wanted), (name, length)
            assert np.array_equal(order, np.argsort(given_, kind="stable")), (name, length)
            stable = given_[np.lexsort((np.arange(length), *descending_keys(given_)))]
            assert bits(descending) == bits(stable), (name, length)


def bits(array: Array) -> bytes:
    """All bits, but of NaN, which may be any."""
    return np.where(np.isnan(array), np.nan, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


def descending_keys(array: Array) -> tuple[Array, ...]:
    """Keys of `lexsort` for descending order, NaN first."""
    if array.dtype.kind == "f":
        return -np.where(np.isnan(array), 0, array), ~np.isnan(array)
    return (-array.astype(object),) if array.dtype == "uint64" else (-array.astype("int64"),)


@given(st.data())
@EXAMPLES
def test_few_places_of_a_sorted_axis_are_selected(data: st.DataObject) -> None:
    """What is found without sorting is what sorting puts there."""
    length = data.draw(st.sampled_from((1, 5, 12, 13, 40, 65, 3100)))
    array = data.draw(st.sampled_from(list(orders(length, np.random.default_rng(length)).values())))
    places = data.draw(st.lists(st.integers(-length, length - 1), min_size=1, max_size=4))
    x = pt.vector("x", shape=(length,))
    found = pt.function([x], pt.sort(x)[np.array(places)])(array)
    np.testing.assert_array_equal(found, np.sort(array)[places])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint64", "int8", "bool"])
def test_the_first_and_the_last_of_sorted_lines_are_those_of_sorting(dtype: str) -> None:
    """NaN comes last: it is the first of lines of nothing else alone."""
    special = [np.nan, np.inf, -np.inf, 0.0, -1.5]
    numbers = special if dtype.startswith("float") else [0, 1, 127]
    rng = np.random.default_rng(0)
    x = pt.tensor("x", dtype=dtype, shape=(None, None))
    f = pt.function([x], [pt.sort(x, 1)[:, 0], pt.sort(x, 1)[:, -1], pt.sort(x, 0)[0], pt.sort(x, 1)[0, 0]])
    for rows, length in itertools.product((1, 3), (1, 2, 7, 40)):
        for few in (1, 2, len(numbers)):
            array = rng.choice(np.array(numbers[:few]), (rows, length)).astype(dtype)
            lines = np.sort(array, 1)
            wanted = lines[:, 0], lines[:, -1], np.sort(array, 0)[0], lines[0, 0]
            for one, other in zip(f(array), wanted, strict=True):
                np.testing.assert_array_equal(one, other)


METHODS = (
    "linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_are_numpys_at_all_probabilities(method: str) -> None:
    """Twelfths and their neighbours meet every change of place; of 1 to 7 elements, and of infinite ones."""
    x, q = pt.vector("x"), pt.vector("q")
    f = pt.function([x, q], pt.quantile(x, q, method=method))
    levels = np.linspace(0, 1, 61)
    rng = np.random.default_rng(3)
    for length in (1, 2, 3, 4, 6, 7, 12, 60):
        array = rng.normal(size=length)
        np.testing.assert_allclose(f(array, levels), np.quantile(array, levels, method=method), rtol=1e-13, atol=1e-15)
    assert np.isnan(f(np.array([1.0, np.nan, 2.0]), levels)).all()


def test_places_of_batches_are_those_of_their_vectors() -> None:
    """`searchsorted` under `vmap` with one vector or one for each batch position."""
    rng = np.random.default_rng(0)
    vectors, values = np.sort(rng.integers(0, 9, (4, 6)), 1), rng.integers(-1, 10, (4, 3))
    for side in ("left", "right"):
        both = pt.vmap(lambda x, v, s=side: pt.searchsorted(x, v, s))(pt.constant(vectors), pt.constant(values))
        wanted = [np.searchsorted(x, v, side) for x, v in zip(vectors, values, strict=True)]
        np.testing.assert_array_equal(both.eval(), wanted)
        common = pt.vmap(lambda v, s=side: pt.searchsorted(vectors[0], v, s))(pt.constant(values))
        np.testing.assert_array_equal(common.eval(), np.searchsorted(vectors[0], values, side))


SMOOTH: dict[str, Callable[[Any], Node]] = {
    "sort": lambda x: pt.sort(x, 0) ** 3,
    "descending": lambda x: pt.sort(x, descending=True) ** 3,
    "median": lambda x: pt.median(x**2, 0),
    "quantile": lambda x: pt.quantile(x**2, [0.3, 0.55], 1),
    "topk": lambda x: pt.topk(x, 2) ** 2,
    "partition": lambda x: pt.partition(x, 1)[..., 1] ** 2,
    "interp": lambda x: pt.interp(x[0], np.arange(-3.0, 3.0), pt.sin(x).ravel()[:6]) ** 2,
    "reflected": lambda x: pt.pad(x, (3, 2), "reflect", reflect_type="odd") ** 2,
    "ramp": lambda x: pt.pad(x, 2, "linear_ramp") ** 2,
    "weights of a histogram": lambda x: pt.histogram(np.arange(12), 3, weights=x.ravel() ** 2)[0],
    "correlations": lambda x: pt.corrcoef(x),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives_are_limits_of_differences(name: str) -> None:
    point = np.random.default_rng(11).normal(size=(3, 4))
    weights = np.linspace(0.5, 1.5, 12).reshape(3, 4)
    check_derivatives(SMOOTH[name], [point], symbolic=name not in ("weights of a histogram", "interp"))
    check_derivatives(
        lambda x: (pt.grad((pt.sin(SMOOTH[name](x))).sum(), x) * weights).sum(), [point], rtol=1e-5, step=1e-4
    )


def test_a_ratio_of_counts_and_widths_integrates_to_one() -> None:
    x = np.random.default_rng(2).normal(size=500)
    density, edges = (found.eval() for found in pt.histogram(x, 13, density=True))
    assert (density * np.diff(edges)).sum() == pytest.approx(1)


@pytest.mark.parametrize("bins", [1, 3, 10, 37])
def test_elements_on_the_ends_of_intervals_are_counted_as_numpy_counts_them(bins: int) -> None:
    """Whole numbers and tenths lie on ends, whose last digits decide."""
    x = pt.vector("x")
    f = pt.function([x], list(pt.histogram(x, bins)))
    rng = np.random.default_rng(bins)
    for _ in range(20):
        low = rng.integers(-5, 5)
        array = np.concatenate([[low, low + rng.integers(1, 9)], (low * 10 + rng.integers(0, 10, 30)) / 10])
        for found, wanted in zip(f(array), np.histogram(array, bins), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_nothing_and_one_element_have_an_order() -> None:
    """Empty vectors and vectors of length 1, with lengths known before and in the call."""
    for length in (0, 1):
        array = np.arange(length, dtype="float64") + 2
        for shape in ((length,), (None,)):
            x = pt.vector("x", shape=shape)
            outputs = [
                pt.sort(x), pt.argsort(x), pt.unique(x), pt.searchsorted(x, [1.0, 2.0]), *pt.histogram(x, 2),
                pt.digitize([3.0], x), pt.diff(x), pt.sort(x, descending=True), pt.bincount(pt.cast(x, "int64")),
            ]  # fmt: skip
            wanted = [
                array, np.arange(length), array, np.searchsorted(array, [1.0, 2.0]), *np.histogram(array, 2),
                np.digitize([3.0], array), np.diff(array), array, np.bincount(array.astype("int64")),
            ]  # fmt: skip
            for found, meant in zip(pt.function([x], outputs)(array), wanted, strict=True):
                np.testing.assert_array_equal(found, meant)


V, M = np.arange(5.0), np.arange(6.0).reshape(2, 3)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sort, axis": (lambda: pt.sort(V, 1), ShapeError, "axis"),
    "sort, kind": (lambda: pt.sort(V, kind="bubble"), ValueError, "bubble"),
    "sort, complex": (lambda: pt.sort(V * 1j), DtypeError, "no order"),
    "searchsorted, side": (lambda: pt.searchsorted(V, V, "middle"), ValueError, "middle"),
    "searchsorted, rank": (lambda: pt.searchsorted(M, V), ShapeError, "vector"),
    "partition": (lambda: pt.partition(V, 5), OutOfBoundsError, "kth=5"),
    "topk": (lambda: pt.topk(V, 6), ShapeError, "6"),
    "topk, none": (lambda: pt.topk(V, 0), ShapeError, "kth"),
    "median of nothing": (lambda: pt.median(np.zeros((0, 3)), 0), ShapeError, "no elements"),
    "quantile, method": (lambda: pt.quantile(V, 0.5, method="best"), ValueError, "best"),
    "quantile, probability": (lambda: pt.quantile(V, 1.5), ParameterError, "1.5"),
    "percentile, probability": (lambda: pt.percentile(V, [50, 101]), ParameterError, "probabilities"),
    "quantile, complex": (lambda: pt.quantile(V * 1j, 0.5), DtypeError, "real"),
    "digitize": (lambda: pt.digitize(V, [0.0, 2.0, 1.0]).eval(), AssertionError, "ascend or descend"),
    "histogram, ends": (lambda: pt.histogram(V, [0.0, 2.0, 1.0])[0].eval(), AssertionError, "ascend"),
    "histogram, NaN": (lambda: pt.histogram([1.0, np.nan])[0].eval(), AssertionError, "NaN"),
    "histogram, word": (lambda: pt.histogram(V, "auto"), ValueError, "auto"),
    "histogram, none": (lambda: pt.histogram(V, 0), ShapeError, "bins=0"),
    "bincount, floats": (lambda: pt.bincount(V), ShapeError, "integers"),
    "bincount, negative": (lambda: pt.bincount(np.array([1, -1])).eval(), OutOfBoundsError, "index"),
    "interp, ranks": (lambda: pt.interp(V, M, V), ShapeError, "`xp`"),
    "interp of nothing": (lambda: pt.interp(V, [], []), ShapeError, "at least one"),
    "one-hot, class": (lambda: pt.to_one_hot(np.array([0, 3]), 3).eval(), OutOfBoundsError, "index"),
    "one-hot, negative": (lambda: pt.to_one_hot(np.array([0, -1]), 3).eval(), OutOfBoundsError, "index"),
    "one-hot, floats": (lambda: pt.to_one_hot(V, 5), DtypeError, "integers"),
    "rows, floats": (lambda: pt.permute_row_elements(M, V), DtypeError, "integer"),
    "choose, negative": (lambda: pt.choose(np.array([0, -1]), [[1, 2], [3, 4]]).eval(), OutOfBoundsError, "index"),
    "choose, floats": (lambda: pt.choose([0.5], [[1], [2]]), DtypeError, "integers"),
    "unravel": (lambda: pt.unravel_index(np.array([12]), (3, 4))[0].eval(), AssertionError, "outside"),
    "ravel": (lambda: pt.ravel_multi_index(([3], [0]), (3, 4)).eval(), AssertionError, "outside"),
    "pad, mode": (lambda: pt.pad(V, 1, "mirror"), ValueError, "mirror"),
    "pad, negative": (lambda: pt.pad(V, -1), ValueError, ">= 0"),
    "pad of nothing": (lambda: pt.pad(np.zeros((0, 2)), 1, "edge"), ShapeError, "empty axis 0"),
    "pad, length": (lambda: pt.pad(V, 1, "mean", stat_length=0), ValueError, "stat_length"),
    "pack, axes": (lambda: pt.pack(M, M, keep_axes=1), ValueError, "0, 1"),
    "pack, rank": (lambda: pt.pack(M, V, keep_axes=(0, -1)), ShapeError, "tensor 1"),
    "unpack": (lambda: pt.unpack(M, [(2,), (1,)]), ShapeError, "one axis"),
    "einsum, letter": (lambda: pt.einsum("ij,jk", M, M), ShapeError, "'j'"),
    "einsum, repeated": (lambda: pt.einsum("ii", M), ShapeError, "'i' stands for lengths 2 and 3"),
    "einsum, repeated, in the call": (lambda: pt.einsum("ii", pt.matrix("m")).eval({"m": M}), ShapeError, "letter 'i'"),
    "einsum, number": (lambda: pt.einsum("ij,jk", M), ShapeError, "for 2 tensors"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_say_what_was_needed(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        call()


def test_probabilities_outside_fail_in_the_call() -> None:
    q = pt.vector("q")
    f = pt.function([q], pt.quantile(V, q))
    with pytest.raises(AssertionError, match=r"\[0, 1\]"):
        f([0.5, 1.2])


def test_products_of_many_tensors_take_the_cheapest_order() -> None:
    """A vector at the end of a chain makes all products those of matrices with a vector."""
    a, b = (pt.matrix(name, shape=(50, 50)) for name in "ab")
    v = pt.vector("v", shape=(50,))
    product = pt.einsum("ij,jk,kl,l->i", a, b, a, v)
    assert all(
        1 in node.static_shape or node.ndim < 2 for node in topological([product]) if isinstance(node.op, MatMul)
    )
    x = np.random.default_rng(0).normal(size=(50, 50))
    found = pt.function([a, b, v], product)(x, x, x[0])
    np.testing.assert_allclose(found, x @ (x @ (x @ x[0])))
