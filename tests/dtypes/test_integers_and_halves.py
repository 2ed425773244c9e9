"""Every dtype with every other one: result dtypes and values of NumPy, from machine code and from the reference."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, OutOfBoundsError, RangeError
from consilience.ir import Node
from consilience.ops.order import argsort
from tests.dtypes.numbers import (
    DTYPES,
    FLOATS,
    INTEGERS,
    SIZES,
    UNSIGNED,
    Array,
    check,
    computed,
    values,
)

Function = Callable[..., Any]
PAIRS = list(itertools.product(DTYPES, DTYPES))

# Our name and NumPy's function.
BINARY: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "true_div": np.true_divide, "floor_div": np.floor_divide,
    "mod": np.mod, "fmod": np.fmod, "minimum": np.minimum, "maximum": np.maximum, "fmin": np.fmin, "fmax": np.fmax,
    "eq": np.equal, "neq": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift, "right_shift": np.right_shift, "logical_and": np.logical_and,
    "arctan2": np.arctan2, "copysign": np.copysign, "hypot": np.hypot,
}  # fmt: skip
UNARY: dict[str, Function] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.round, "invert": np.invert, "logical_not": np.logical_not, "isnan": np.isnan,
    "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit, "sqrt": np.sqrt, "exp": np.exp,
    "log1p": np.log1p, "tanh": np.tanh, "sin": np.sin, "arctan": np.arctan, "rad2deg": np.rad2deg,
}  # fmt: skip
REDUCTIONS: dict[str, Function] = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all, "mean": np.mean,
    "argmax": np.argmax, "argmin": np.argmin, "cumsum": np.cumsum, "cumprod": np.cumprod,
}  # fmt: skip
# A truth value is no number of 8 bits: functions of floats take it as float64, where NumPy takes float16.
OF_BOOLS = ("arctan2", "copysign", "hypot", "sqrt", "exp", "log1p", "tanh", "sin", "arctan", "rad2deg", "round")


def of_numpy(function: Function, *arrays: Any) -> Array | None:
    """NumPy's value, or None where it refuses the dtypes."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*arrays))
            if found.dtype == "float16" and all(a.dtype != "float16" for a in arrays):  # float32 for integers of 8 bits
                found = np.asarray(function(*(a.astype("float32") for a in arrays)))
            return found
    except TypeError:
        return None


def compare(inputs: list[Node], outputs: dict[str, Node], arrays: list[Array], wanted: dict[str, Array]) -> None:
    """Both backends give NumPy's values."""
    for name, results in computed(inputs, outputs, arrays).items():
        for backend, found in zip(("llvm", "reference"), results, strict=True):
            check(f"{name} of {', '.join(str(a.dtype) for a in arrays)} by {backend}", found, wanted[name])


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_functions_of_two_dtypes_are_those_of_numpy(left: str, right: str) -> None:
    """Promotion, wrapping around, division by zero, shifts beyond the width, unsigned comparisons."""
    size = 300 if left in INTEGERS and right in INTEGERS else SIZES[PAIRS.index((left, right)) % len(SIZES)]
    arrays = [values(left, size, "left"), values(right, size, "right")]
    x, y = (pt.tensor(dtype=d, shape=(None,)) for d in (left, right))
    y = pt.tensor(dtype=right, shape=x.static_shape)
    outputs: dict[str, Node] = {}
    wanted: dict[str, Array] = {}
    for name, function in BINARY.items():
        known = of_numpy(function, *arrays)
        if known is None or (left == right == "bool" and name in OF_BOOLS):
            continue
        outputs[name], wanted[name] = getattr(pt, name)(x, y), known
    outputs["where"], wanted["where"] = pt.where(x > 0, x, y), np.where(arrays[0] > 0, *arrays)
    outputs["concatenate"], wanted["concatenate"] = pt.concatenate([x, y]), np.concatenate(arrays)
    compare([x, y], outputs, arrays, wanted)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_dtype_are_those_of_numpy(dtype: str, size: int) -> None:
    """Also of the least integer, whose absolute value wraps around; every second element of an array too."""
    array = values(dtype, size)
    x = pt.tensor(dtype=dtype, shape=(None,))
    outputs: dict[str, Node] = {}
    wanted: dict[str, Array] = {}
    for name, function in UNARY.items():
        known = of_numpy(function, array)
        if known is None or (dtype == "bool" and name in OF_BOOLS):
            continue
        outputs[name], wanted[name] = getattr(pt, name)(x), known
        outputs[f"{name} of every second"] = getattr(pt, name)(x[::-2])
        wanted[f"{name} of every second"] = known[::-2]
    compare([x], outputs, [array], wanted)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_are_those_of_numpy(source: str, size: int) -> None:
    """Integers wrap around; what leaves the range of an integer saturates; NaN becomes the least number."""
    array = values(source, size)
    x = pt.tensor(dtype=source, shape=(None,))
    outputs, wanted = {}, {}
    for target in DTYPES:
        outputs[target] = x.astype(target)
        with np.errstate(all="ignore"):
            known = array.astype(target)
            if source in FLOATS and target in INTEGERS:
                limits = np.iinfo(target)
                inside = np.isfinite(array) & (array > float(limits.min) - 1) & (array < float(limits.max))
                least, most = np.array([limits.min, limits.max], target)
                known = np.where(inside, known, np.where(array > 0, most, least))  # NaN is not greater than 0
        wanted[target] = known
    compare([x], outputs, [array], wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_those_of_numpy(dtype: str) -> None:
    """Over all axes, rows, columns; sums in 64 bits, those of float16 in float32 rounded once."""
    shapes = [(300,), (5, 7), (1,), (3, 0)]
    for shape in shapes:
        array = values(dtype, int(np.prod(shape))).reshape(shape)
        if dtype in FLOATS:
            array = np.nan_to_num(array, nan=0.5, posinf=3.0, neginf=-2.0).clip(-3, 3).astype(dtype)
        x = pt.tensor(dtype=dtype, shape=(None,) * array.ndim)
        outputs: dict[str, Node] = {}
        wanted: dict[str, Array] = {}
        for name, function in REDUCTIONS.items():
            if array.size == 0 and name in ("mean", "argmax", "argmin", "max", "min"):
                continue  # of none there is no greatest
            for axis in (None, *range(array.ndim)):
                wide = array.astype("float32") if dtype == "float16" else array
                with np.errstate(all="ignore"):
                    known = np.asarray(function(wide, axis=axis))
                if dtype == "float16" and known.dtype.kind == "f":
                    with np.errstate(all="ignore"):
                        known = known.astype("float16")
                made = getattr(pt, name)(x, axis=axis)
                outputs[f"{name} over {axis}"], wanted[f"{name} over {axis}"] = made, known
        for name, results in computed([x], outputs, [array]).items():
            for found in results:
                if dtype in FLOATS and wanted[name].dtype.kind == "f":
                    assert found.dtype == wanted[name].dtype
                    # Up to 300 rounded additions of numbers up to 3 that partly cancel.
                    last, inner = (float(np.finfo(d).eps) for d in (dtype, "float32" if dtype == "float16" else dtype))
                    known = wanted[name].astype("float64")
                    np.testing.assert_allclose(found.astype("float64"), known, 400 * last, 900 * inner)
                else:
                    check(f"{name} of {dtype}{shape}", found, wanted[name])


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_are_those_of_numpy(dtype: str) -> None:
    """Ties by position, NaN last; the greatest integers without sign too."""
    array = values(dtype, 60)
    x = pt.tensor(dtype=dtype, shape=(None,))
    compare([x], {"order": argsort(x)}, [array], {"order": np.argsort(array, kind="stable")})


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integer_matrices_wrap_around(dtype: str) -> None:
    """In the dtype of the factors, as np.matmul."""
    a, b = values(dtype, 35, "a").reshape(5, 7), values(dtype, 21, "b").reshape(7, 3)
    x, y = pt.tensor(dtype=dtype, shape=(5, 7)), pt.tensor(dtype=dtype, shape=(7, 3))
    outputs = {"matrix": x @ y, "vector": x @ y[:, 0], "row": y[:, 0] @ y, "inner": pt.dot(x[0], y[:, 1])}
    wanted = {"matrix": a @ b, "vector": a @ b[:, 0], "row": b[:, 0] @ b, "inner": np.dot(a[0], b[:, 1])}
    compare([x, y], outputs, [a, b], {k: np.asarray(v) for k, v in wanted.items()})


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5])
def test_whole_powers_wrap_around(dtype: str, exponent: int) -> None:
    """In the dtype of the base."""
    array = values(dtype, 40)
    x = pt.tensor(dtype=dtype, shape=(None,))
    with np.errstate(all="ignore"):
        compare([x], {"power": x**exponent}, [array], {"power": array**exponent})


@pytest.mark.parametrize(("left", "right"), [pair for pair in PAIRS if set(pair) <= {*INTEGERS, "bool"}])
def test_integers_to_the_power_of_integers_are_integers(left: str, right: str) -> None:
    """In NumPy's dtype, wrapping around; of exponents from 64 on, -1, 0 and 1 have powers, and nothing else."""
    base = np.array([0, 1, 1, 2, 3, 5, 7, 0]).astype(left)
    exponent = np.array([0, 100, 63, 5, 20, 21, 11, 70]).astype(right)
    x, y = (pt.tensor(dtype=d, shape=(8,)) for d in (left, right))
    wanted = np.power(base, exponent)
    compare(
        [x, y],
        {"power": x**y, "function": pt.power(x, y)},
        [base, exponent],
        dict.fromkeys(("power", "function"), wanted),
    )
    lost = pm.function([x, y], x**y)(np.full(8, 3).astype(left), np.full(8, 101).astype(right))
    if wanted.dtype.kind != "f" and right != "bool":
        np.testing.assert_array_equal(lost, left == "bool")


def test_negative_exponents_of_integers_are_refused_unless_they_are_constants() -> None:
    """As by NumPy, with what to do; a constant one gives floats, as in Python."""
    x, y = pt.lvector("x"), pt.lvector("y")
    np.testing.assert_array_equal(pm.function([x], x**-2)([2, 4]), [0.25, 0.0625])
    for mode in (None, "reference"):
        with pytest.raises(AssertionError, match="no negative integer powers; make one of both a float"):
            pm.function([x, y], x**y, mode=mode)([2, 4], [1, -1])
    assert pt.float_power(x, y).dtype == np.float_power(x, y).dtype == "float64"


@pytest.mark.parametrize(("left", "right"), [("int64", "int64"), ("uint8", "uint8"), ("int32", "int64")])
def test_shifts_have_operators(left: str, right: str) -> None:
    """Of two tensors, and of a tensor and a number on either side."""
    a, b = np.array([1, 5, 7], left), np.array([0, 2, 3], right)
    x, y = pt.tensor(dtype=left, shape=(3,)), pt.tensor(dtype=right, shape=(3,))
    outputs = {"left": x << y, "right": x >> y, "number": x << 2, "of": 64 >> y}
    compare([x, y], outputs, [a, b], {"left": a << b, "right": a >> b, "number": a << 2, "of": 64 >> b})


def test_bools_have_no_opposite_numbers_and_no_differences() -> None:
    """NumPy refuses them, too; with an integer they are numbers."""
    x = pt.bvector("x") > 0
    with pytest.raises(DtypeError, match=r"`~x` is the opposite"):
        -x  # noqa: B018
    for difference in (lambda: x - x, lambda: True - x, lambda: np.subtract(x, np.array([True]))):
        with pytest.raises(DtypeError, match=r"`x \^ y` says where both differ"):
            difference()
    assert (1 - x).dtype == "int64"


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_move_without_change(dtype: str) -> None:
    """Indexing, joining, turning, repeating, setting; NaN stays NaN."""
    array = values(dtype, 24).reshape(4, 6)
    x = pt.tensor(dtype=dtype, shape=(None, None))
    places = np.array([3, 0, 0, 2])
    turned = array.copy()
    turned[1] = array[2]
    outputs = {
        "slice": x[1:, ::-2], "gather": x[places], "turned": x.T, "repeated": x[:, None, :] + pt.zeros((), dtype),
        "join": pt.concatenate([x.T, x.T], axis=1), "mask": x[pt.eq(x[:, 0], x[0, 0])],
        "set": x[1].set(x[2]), "flat": x.ravel(),
    }  # fmt: skip
    wanted = {
        "slice": array[1:, ::-2], "gather": array[places], "turned": array.T,
        "repeated": array[:, None, :] + np.zeros((), dtype),
        "join": np.concatenate([array.T, array.T], axis=1), "mask": array[array[:, 0] == array[0, 0]], "set": turned,
        "flat": array.ravel(),
    }  # fmt: skip
    compare([x], outputs, [array], wanted)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16"])
def test_adding_at_places_repeated(dtype: str) -> None:
    """np.add.at, wrapping around; float16 is rounded once."""
    places = np.array([0, 1, 0, 2, 0])
    array, more = values(dtype, 3), values(dtype, 5, "more")
    if dtype == "float16":
        array, more = array.clip(-9, 9), np.nan_to_num(more).clip(-9, 9)
    x, y = pt.tensor(dtype=dtype, shape=(3,)), pt.tensor(dtype=dtype, shape=(5,))
    wanted = array.astype("float32") if dtype == "float16" else array.copy()
    np.add.at(wanted, places, more)
    compare([x, y], {"inc": x[places].inc(y)}, [array, more], {"inc": wanted.astype(dtype)})


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arrays_of_any_integer_are_indices(dtype: str) -> None:
    """Also symbolic ones; outside the axis they are refused when run."""
    x, i = pt.vector("x"), pt.tensor("i", dtype=dtype, shape=(None,))
    array, places = np.arange(10.0), np.array([9, 0, 3, 3], dtype)
    compare([x, i], {"gather": x[i]}, [array, places], {"gather": array[places]})
    np.testing.assert_array_equal(x[places].eval({x: array}), array[places])
    with pytest.raises(OutOfBoundsError):
        x[i].eval({x: array, i: np.array([10], dtype)})
    if dtype not in UNSIGNED:
        np.testing.assert_array_equal(x[i].eval({x: array, i: np.array([-1], dtype)}), [9.0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0, 1, -1, 300, 70_000, 2**40, 1.5, True])
def test_python_numbers_are_weak(dtype: str, number: float) -> None:
    """They take the dtype beside them; integers that do not fit are refused, but compare as numbers."""
    array = values(dtype, 20)
    x = pt.tensor(dtype=dtype, shape=(None,))
    for function in (operator.add, operator.mul, operator.lt, operator.ge, pt.eq, pt.neq):
        meaning = {pt.eq: np.equal, pt.neq: np.not_equal}.get(function, function)
        for left in (False, True):
            try:
                with np.errstate(all="ignore"):
                    wanted = np.asarray(meaning(number, array) if left else meaning(array, number))
            except OverflowError:
                with pytest.raises(RangeError, match="out of bounds"):
                    function(number, x) if left else function(x, number)
                continue
            made = function(number, x) if left else function(x, number)
            check(f"{number} and {dtype}", made.eval({x: array}), wanted)


@given(
    st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.sampled_from(sorted(BINARY)), st.data(),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_extreme_integers_by_chance(left: str, right: str, name: str, data: st.DataObject) -> None:
    """Any pair of integers, drawn towards the ends of the ranges."""

    def drawn(dtype: str) -> Array:
        limits = np.iinfo(dtype)
        near = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, *([-1] if limits.min else [])]
        one = st.sampled_from(near) | st.integers(int(limits.min), int(limits.max))
        return np.array(data.draw(st.lists(one, min_size=4, max_size=4)), dtype)

    arrays = [drawn(left), drawn(right)]
    known = of_numpy(BINARY[name], *arrays)
    if known is None:
        return
    x, y = (pt.tensor(dtype=d, shape=(4,)) for d in (left, right))
    compare([x, y], {name: getattr(pt, name)(x, y)}, arrays, {name: known})


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64", "float16"])
def test_functions_that_numpy_lacks_take_float64(dtype: str) -> None:
    """As SciPy's do: three digits are too few for a log-gamma function."""
    array = np.array([1, 2, 5, 100], dtype)
    x = pt.tensor(dtype=dtype, shape=(None,))
    made = pt.gammaln(x)
    assert made.dtype == scipy.special.gammaln(array).dtype
    np.testing.assert_allclose(made.eval({x: array}), scipy.special.gammaln(array), rtol=1e-6)


def test_integers_of_8_bits_are_taken_as_float32() -> None:
    """By functions of floats, as PyTensor does it; in NumPy's float16 exp(12) is infinite."""
    array = np.array([-9, 12, 88], "int8")
    x = pt.tensor(dtype="int8", shape=(None,))
    found = pt.exp(x).eval({x: array})
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.exp(array.astype("float64")), rtol=1e-6)


def test_truth_values_are_taken_as_float64() -> None:
    """By functions of floats, where NumPy takes float16."""
    x = pt.tensor(dtype="bool", shape=(None,))
    assert {pt.exp(x).dtype, pt.arctan2(x, x).dtype, pt.round(x).dtype} == {"float64"}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16"])
def test_matrices_of_short_numbers_are_factored_as_floats(dtype: str) -> None:
    """Integers as float64, float16 as float32."""
    array = np.array([[4, 1], [1, 3]], dtype)
    found = pt.cholesky(pt.constant(array)).eval()
    assert found.dtype == ("float32" if dtype == "float16" else "float64")
    np.testing.assert_allclose(found, np.linalg.cholesky(array.astype("float64")), rtol=1e-6)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_inputs_take_integers_that_fit(dtype: str) -> None:
    """Numbers of Python, and arrays of dtypes that fit; what does not fit is refused, not wrapped around."""
    limits = np.iinfo(dtype)
    x = pt.tensor("x", dtype=dtype, shape=(None,))
    function = pt.function([x], x * 1)
    for given_values in ([0, 1, 100], [int(limits.max)], [int(limits.min)], np.array([7], dtype)):
        found = function(given_values)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.asarray(given_values).astype(dtype))
    for number in (int(limits.max) + 1, int(limits.min) - 1):
        if -(2**63) <= number < 2**64:
            with pytest.raises(DtypeError, match=f"`x`.*needs {dtype}"):
                function([number])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_limits_and_elements_beyond_the_range(dtype: str) -> None:
    """`clip` takes any whole limits, as np.clip; an element that does not fit cannot be set."""
    array = values(dtype, 20)
    x = pt.tensor(dtype=dtype, shape=(None,))
    for low, high in ((-(2**70), 2**70), (-1000, 5), (1, 10**6)):
        if dtype not in UNSIGNED or low > 0 or low < -(2**63):
            np.testing.assert_array_equal(x.clip(low, high).eval({x: array}), array.clip(low, high))
    with pytest.raises(RangeError, match="out of bounds"):
        x[0].set(2**70)


def test_unknown_dtypes_are_refused_by_name() -> None:
    """With what there is."""
    for make in (lambda: pt.vector(dtype="float8"), lambda: pt.vector().astype("S1"), lambda: pt.tensor(dtype="M8[D]")):
        with pytest.raises(DtypeError, match="uint8"):
            make()
    assert pt.vector().astype(np.uint8).dtype == pt.vector().astype(np.dtype("uint8")).dtype == "uint8"
    assert pt.vector().astype(int).dtype == "int64"
