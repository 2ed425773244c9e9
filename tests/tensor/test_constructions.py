"""How tensors, shapes and products are made and asked for in PyTensor's programs: what enters, what dtype leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience import function
from consilience.errors import AxisError, DtypeError, OutOfBoundsError, ShapeError
from consilience.ir.settings import config
from consilience.tensor import dtypes, indexed
from consilience.tensor import scalar_types as scalars

A = np.array([[0.5, 0.5, 1.0], [2.0, 3.0, 4.0]])


def test_rank_asked_for_adds_or_drops_axes_of_length_1() -> None:
    assert pt.as_tensor_variable(3, ndim=2).eval().shape == (1, 1)
    assert pt.constant(A[0], ndim=2).eval().shape == (1, 3)
    assert pt.as_tensor_variable(np.ones((1, 1, 3)), ndim=1).eval().shape == (3,)
    with pytest.raises(ShapeError, match="rank 1 was needed, got 2"):
        pt.as_tensor_variable(A, ndim=1)


@pytest.mark.parametrize("floats", ["float16", "float32", "float64"])
@pytest.mark.parametrize("nothing", [[], ()])
def test_a_list_of_nothing_is_of_floats(floats: str, nothing: Any) -> None:
    with config.change_flags(floatX=floats):
        assert pt.as_tensor_variable(nothing).dtype == floats == pt.TensorType("floatX").dtype
    assert pt.as_tensor_variable(nothing, dtype="int8").dtype == "int8"


def test_lengths_and_shapes_are_outputs_of_functions() -> None:
    """Also where a length is known beforehand, and so a number of Python."""
    x = pt.tensor("x", dtype="float64", shape=(None, 3))
    whole, first, second = function([x], [x.shape, x.shape[0], x.shape[1]])(A)
    assert (whole.tolist(), int(first), int(second)) == ([2, 3], 2, 3)
    assert int(function([], pt.ones((2, 3)).shape[1])()) == 3
    assert function([], [pt.constant(1.0).shape])()[0].shape == (0,)


def test_a_shape_may_be_one_number_in_an_array() -> None:
    assert pt.full(np.array(5), 3).eval().tolist() == [3] * 5


@pytest.mark.parametrize("k", [-2, 0, 1, 7])
def test_eye_with_a_diagonal_known_at_the_call(k: int) -> None:
    n, m, diagonal = pt.iscalars("n", "m", "k")
    found = function([n, m, diagonal], pt.eye(n, m, diagonal))(3, 4, k)
    assert (found == np.eye(3, 4, k)).all()


@pytest.mark.parametrize("offset", [-5, -4, -1, 0, 1, 4, 5])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_a_diagonal_known_at_the_call_is_filled(shape: tuple[int, int], offset: int) -> None:
    x, k = pt.dmatrix("x"), pt.iscalar("k")
    fixed = function([x], pt.fill_diagonal_offset(x, 7.0, offset))(np.zeros(shape))
    assert (function([x, k], pt.fill_diagonal_offset(x, 7.0, k))(np.zeros(shape), offset) == fixed).all()
    assert (fixed == 7.0 * np.eye(*shape, offset)).all()


def test_the_main_diagonal_of_a_cube_whose_lengths_are_known_at_the_call() -> None:
    fill = function([x := pt.dtensor3("x")], pt.fill_diagonal(x, 7.0))
    wanted = np.zeros((3, 3, 3))
    wanted[range(3), range(3), range(3)] = 7
    assert (fill(np.zeros((3, 3, 3))) == wanted).all()
    with pytest.raises(ShapeError, match="the main diagonal has equal lengths"):
        fill(np.zeros((3, 3, 2)))
    with pytest.raises(ShapeError, match="equal lengths for the main diagonal"):
        pt.fill_diagonal(np.zeros((3, 3, 2)), 7.0)


@pytest.mark.parametrize("points", [-1, 0, 1, 2, 7, 8])
def test_bartletts_window_of_a_number_known_at_the_call(points: int) -> None:
    m = pt.iscalar("m")
    np.testing.assert_allclose(pt.bartlett(m).eval({m: points}), np.bartlett(points), atol=1e-15)


@pytest.mark.parametrize("times", [0, 1, 2, 4, 5, 31])
def test_differences_taken_many_times(times: int) -> None:
    """Lengths stay one expression, however often an element is left out; nothing is left in the end."""
    values = np.random.default_rng(0).normal(size=(3, 5))
    x = pt.dmatrix("x")
    np.testing.assert_allclose(pt.diff(x, times).eval({x: values}), np.diff(values, times), rtol=1e-12)


def test_the_common_shape_of_shapes() -> None:
    n = pt.iscalar("n")
    rows, columns = pt.broadcast_shape((n, 1), (1, 4), arrays_are_shapes=True)
    assert (int(pt.as_tensor(rows).eval({n: 3})), columns) == (3, 4)


def test_tensors_of_several_ranks_are_not_joined() -> None:
    for wrong in ([], [A, A[0]]):
        with pytest.raises(ShapeError, match="tensors of one rank were needed"):
            pt.concat_with_broadcast(wrong)


def test_permutations_of_rows_are_undone() -> None:
    rows = np.array([[2, 0, 1], [1, 2, 0]], "int32")
    p = pt.imatrix("p")
    found = pt.inverse_permutation(p).eval({p: rows})
    assert found.dtype == np.int32
    assert (found == np.argsort(rows)).all()


def test_quotient_and_remainder_at_once() -> None:
    x = pt.dvector("x")
    values = np.array([5.0, -3.0, 0.5])
    for found, wanted in zip(divmod(x, 2.0), np.divmod(values, 2.0), strict=True):
        assert (found.eval({x: values}) == wanted).all()
    for found, wanted in zip(divmod(7.0, x), np.divmod(7.0, values), strict=True):
        assert (found.eval({x: values}) == wanted).all()


@pytest.mark.parametrize(
    ("product", "arguments"),
    [(pt.vecdot, (A, A)), (pt.matvec, (A, A[0])), (pt.vecmat, (A[:, 0], A)), (pt.matmul, (A, A.T))],
)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_products_are_converted_after_they_are_summed(product: Any, arguments: Any, dtype: str) -> None:
    """Elements cut off to integers beforehand would give another sum."""
    exact = product(*arguments).eval()
    found = product(*arguments, dtype=dtype).eval()
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, exact.astype(dtype))


def test_short_integers_are_multiplied_in_the_dtype_asked_for() -> None:
    big = np.full((1, 3), 100, "int8")
    assert pt.matmul(big, big.T, dtype="int64").eval().item() == 30000


def test_tensordot_over_axes_that_are_not_there_is_refused() -> None:
    with pytest.raises(ShapeError, match="tensordot over 2 axes needs as many in both"):
        pt.tensordot(A, A[0], 2)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_mean_in_integers_is_a_float(dtype: str) -> None:
    """Sums are in the dtype asked for, the division is not: 8 bits do not count 300 elements."""
    ones = np.ones(300, dtype)
    for short, total in {"int64": 300, "int8": 300 - 256, "bool": 1}.items():
        found = pt.mean(ones, dtype=short)
        assert found.dtype == "float64"
        assert found.eval() == total / 300


def test_an_axis_that_is_not_there_is_an_index_out_of_range_too() -> None:
    """As in NumPy: IndexError and ValueError."""
    for refused in (lambda: pt.swapaxes(A, 0, 2), lambda: pt.sum(A, axis=-3), lambda: pt.constant(A)[0, 0, 0]):
        with pytest.raises(AxisError) as raised:
            refused()
        assert {IndexError, ValueError} <= set(type(raised.value).__mro__)
    with pytest.raises(ShapeError, match="an axis must be known before a call, got `i`"):
        pt.sort(A, pt.iscalar("i"))


def test_promised_lengths_with_dots_between() -> None:
    x = pt.tensor3("x")
    for shape in ((2, ...), (..., 4), (2, ..., 4), (2, None, 4, ...), np.array([2, 3, 4])):
        assert pt.specify_shape(x, shape).eval({x: np.ones((2, 3, 4))}).shape == (2, 3, 4)
    assert pt.specify_shape(x, ...) is x
    for wrong in ((2, 3, ..., 4, 5), (2, 3), (2, ..., 5)):
        with pytest.raises(ShapeError):
            pt.specify_shape(x, wrong).eval({x: np.ones((2, 3, 4))})


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_choices_whose_number_is_known_at_the_call(mode: Any) -> None:
    numbers, options = np.array([[0, 1, 1], [1, 0, 1]]), np.arange(6.0).reshape(2, 3)
    a, b = pt.lmatrix("a"), pt.dmatrix("b")
    choose = function([a, b], pt.choose(a, b, mode=mode))
    for shift in (0,) if mode == "raise" else (0, 5, -3):
        assert (choose(numbers + shift, options) == np.choose(numbers + shift, options, mode=mode)).all()
    if mode == "raise":
        with pytest.raises(OutOfBoundsError):
            choose(numbers + 2, options)
    with pytest.raises(ShapeError, match="`choose` needs choices along the first axis"):
        pt.choose(a, pt.constant(1.0))


def test_shape_of_a_list() -> None:
    assert tuple(pt.shape([[1, 2, 3]])) == (1, 3)


def test_shape_by_its_name() -> None:
    assert pt.as_tensor_variable(A).reshape(shape=(3, 2), ndim=2).eval().shape == (3, 2)


@pytest.mark.parametrize("at", [0.0, -0.0, -1e-309])
def test_slope_of_log1mexp_where_it_is_steepest(at: float) -> None:
    x = pt.dscalar("x")
    assert pt.grad(pt.log1mexp(x), x).eval({x: at}) == -np.inf


class TestNamesOfModules:
    """`pytensor.tensor.type`, `pytensor.scalar` and others have names beside those of tensors."""

    def test_lists_of_dtypes_are_those_of_numpys_kinds(self) -> None:
        kinds = {"integer": "iu", "uint": "u", "int": "i", "float": "f", "complex": "c", "discrete": "biu"}
        for name, kind in {**kinds, "continuous": "fc", "all": "biufc"}.items():
            assert getattr(dtypes, f"{name}_dtypes") == [d for d in dtypes.all_dtypes if np.dtype(d).kind in kind]

    def test_scalars_are_tensors_of_rank_0(self) -> None:
        x, y = scalars.floats("xy")
        assert (x.ndim, y.dtype, scalars.int8("i").dtype, scalars.ScalarType("int8").ndim) == (0, "float64", "int8", 0)
        assert scalars.upcast("int8", "uint8", "float32") == "float32"
        assert scalars.as_scalar(np.ones((1, 1))).eval().shape == ()
        assert scalars.scalar_from_tensor(x) is x is scalars.tensor_from_scalar(x)
        for refused in (scalars.as_scalar, scalars.scalar_from_tensor):
            with pytest.raises(ShapeError):
                refused(A)

    def test_value_of_an_expression_that_no_call_decides(self) -> None:
        x = pt.vector("x")
        value = scalars.get_underlying_scalar_constant_value
        assert value(pt.ones((3, 2)) * 2) == 2
        assert value(pt.zeros_like(x)) == 0
        assert scalars.get_scalar_constant_value(pt.constant(3)) == 3
        for unknown in (x, pt.shared(1.0), pt.constant([1, 2]), None, x.shape[0]):
            with pytest.raises(scalars.NotScalarConstantError):
                value(unknown)
        with pytest.raises(scalars.NotScalarConstantError):
            scalars.get_scalar_constant_value(pt.ones(3))

    def test_elements_at_positions(self) -> None:
        """Taken, replaced, and added to as often as they are named."""
        zeros = np.zeros(4)
        assert indexed.advanced_subtensor1(A[1], [2, 0]).eval().tolist() == [4.0, 2.0]
        assert indexed.advanced_set_subtensor1(zeros, 5.0, [1]).eval().tolist() == [0, 5, 0, 0]
        assert indexed.advanced_inc_subtensor1(zeros, 1.0, [1, 1, 2]).eval().tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize("policy", ["custom", "numpy", "numpy+floatX"])
def test_tensors_are_promoted_as_numpy_does_it(policy: str) -> None:
    with config.change_flags(cast_policy=policy):
        for left in dtypes.integer_dtypes + dtypes.continuous_dtypes:
            for right in dtypes.integer_dtypes + dtypes.continuous_dtypes:
                wanted = (np.ones(1, left) * np.ones(1, right)).dtype
                assert (pt.vector(dtype=left) * pt.vector(dtype=right)).dtype == wanted
    with pytest.raises(DtypeError, match="`cast_policy` is one of custom"):
        config.cast_policy = "mine"


def test_arrays_of_python_objects_keep_expressions() -> None:
    """Wherever a tensor is taken: in functions, in operators on either side, in lists, as the value of an update."""
    a, v = pt.scalar("a"), pt.vector("v")
    row = np.array([a, 20, 20], dtype=object)
    given = {a: 2.0, v: np.ones(3)}
    for made, expected in (
        (pt.as_tensor(row), [2, 20, 20]),
        (v + row, [3, 21, 21]),
        (row + v, [3, 21, 21]),
        (pt.stack([row, v]), [[2, 20, 20], [1, 1, 1]]),
        (pt.as_tensor([row, [1, 2, a]]), [[2, 20, 20], [1, 2, 2]]),
        (pt.dot(np.array([[a, 1], [2, a]], dtype=object), [1.0, 1.0]), [3, 4]),
        (v[:].set(row), [2, 20, 20]),
        (pt.as_tensor(np.array(a, dtype=object)), 2),
        (pt.as_tensor(row * 2.0), [4, 40, 40]),
    ):
        assert function([a, v], made, on_unused_input="ignore")(*given.values()).tolist() == expected
    with pytest.raises(TypeError, match="so it is no array"):
        np.asarray(a, float)
    with pytest.raises(TypeError, match="so it is no array"):
        np.asarray(v)
    with pytest.raises(DtypeError, match="have no meaning here"):
        pt.as_tensor(np.array([1, 2], dtype=object))
