"""Functions that are called often go to machine code without Python: with the same results, errors and references."""

from __future__ import annotations

import copy
import gc
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience import function
from consilience.backends.function import BEFORE_DIRECT, BETWEEN_DIRECT
from consilience.errors import DtypeError, LinearAlgebraError, ShapeError
from consilience.native.array_call import possible

pytestmark = pytest.mark.skipif(not possible(), reason="arrays have their fields elsewhere")


class Own(np.ndarray[Any, Any]):
    """A subclass, whose arrays are converted as anything else."""


def often(function: Any, *values: Any) -> Any:
    """A function after so many calls that it is called directly; checked by what it holds."""
    for _ in range(BEFORE_DIRECT + BETWEEN_DIRECT):
        function(*values)
    assert function._direct is not None
    return function


x, a, n = pt.dvector("x"), pt.dscalar("a"), pt.lvector("n")
ROW = np.arange(4.0)

# Arguments that go directly, and those that are converted first: x, a -> whether directly.
ARGUMENTS: dict[str, tuple[Any, Any, bool]] = {
    "arrays": (ROW, np.array(2.0), True),
    "a float": (ROW, 2.0, True),
    "a number of NumPy": (ROW, np.float64(2.0), True),
    "read only": (np.frombuffer(ROW.tobytes()), 2.0, True),
    "the same memory twice": (ROW, ROW[1:2].reshape(()), True),
    "an integer": (ROW, 2, False),
    "a list": ([0.0, 1.0, 2.0, 3.0], 2.0, False),
    "strides": (np.arange(8.0)[::2], 2.0, False),
    "backwards": (ROW[::-1], 2.0, False),
    "other bytes first": (ROW.astype(">f8"), 2.0, False),
    "not aligned": (np.frombuffer(b"." + ROW.tobytes(), np.uint8)[1:].view(np.float64), 2.0, False),
    "single precision": (ROW.astype(np.float32), 2.0, False),
    "integers": (np.arange(4), 2.0, False),
    "a subclass": (ROW.view(Own), 2.0, False),
    "another length": (np.arange(7.0), 2.0, False),
    "nothing": (np.zeros(0), 2.0, False),
    "one number again and again": (np.broadcast_to(np.float64(3.0), 4), 2.0, False),
    "half precision": (ROW.astype(np.float16), 2.0, False),
}


@pytest.mark.parametrize("several", [False, True], ids=["one result", "a list"])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_calls_of_every_kind_give_what_the_formula_says(case: str, several: bool) -> None:
    outputs = [a * x + 1.0, pt.sum(x), x > a]
    f = often(function([x, a], outputs if several else outputs[0]), ROW, 2.0)
    first, second, direct = ARGUMENTS[case]
    assert (f._direct(first, second) is not None) is direct
    found = f(first, second)
    values = np.asarray(first, float), float(second)
    expected = [values[1] * values[0] + 1.0, values[0].sum(), values[0] > values[1]]
    for one, wanted in zip(found, expected, strict=True) if several else [(found, expected[0])]:
        assert isinstance(one, np.ndarray)
        assert one.dtype == wanted.dtype
        assert one.flags.writeable
        assert one.flags.owndata
        np.testing.assert_array_equal(one, wanted)


def test_wrong_arguments_are_named_after_direct_calls_too() -> None:
    f = often(function([x, a], a * x), ROW, 2.0)
    with pytest.raises(TypeError, match="needs a value for"):
        f(ROW)
    with pytest.raises(TypeError, match="takes 2 inputs"):
        f(ROW, 2.0, 3.0)
    with pytest.raises(DtypeError, match="complex128"):
        f(ROW + 1j, 2.0)
    with pytest.raises(DtypeError, match="masked"):
        f(np.ma.masked_array(ROW, ROW > 1), 2.0)
    np.testing.assert_array_equal(f(a=3.0, x=ROW), 3.0 * ROW)


def test_failures_inside_are_explained_as_in_the_first_call() -> None:
    matrix = pt.dmatrix("matrix")
    factor = often(function([matrix], pt.linalg.cholesky(matrix)), np.eye(3))
    with pytest.raises(LinearAlgebraError, match="positive definite"):
        factor(-np.eye(3))
    element = often(function([x, n], x[n]), ROW, np.array([1]))
    with pytest.raises(IndexError):
        element(ROW, np.array([9]))
    np.testing.assert_array_equal(element(ROW, np.array([3])), [3.0])
    y = pt.dvector("y")
    total = often(function([x, y], x + y), ROW, ROW)
    with pytest.raises(ShapeError):
        total(ROW, np.ones(3))


def test_results_are_fresh_arrays_and_nothing_is_leaked() -> None:
    f = often(function([x, a], [a * x, pt.sum(x)]), ROW, 2.0)
    kept = f(ROW, 2.0)
    again = f(kept[0], 2.0)
    assert not np.shares_memory(kept[0], again[0])
    np.testing.assert_array_equal(kept[0], 2.0 * ROW)
    assert sys.getrefcount(kept[0]) == sys.getrefcount([np.zeros(4)][0]) + 1
    argument = np.arange(4.0)
    before = sys.getrefcount(argument), sys.getrefcount(None)
    for _ in range(1000):
        f(argument, 2.0)
        f(argument, 2)
    assert sys.getrefcount(argument) == before[0]
    assert abs(sys.getrefcount(None) - before[1]) < 500


def test_a_direct_call_outlives_the_function_and_frees_its_code() -> None:
    f = often(function([x], x + 1.0), ROW)
    direct = f._direct
    del f
    gc.collect()
    np.testing.assert_array_equal(direct(ROW), ROW + 1.0)


def test_shared_variables_have_their_present_values() -> None:
    slope = pt.shared(np.array(2.0), name="slope")
    f = often(function([x], slope * x), ROW)
    slope.set_value(np.array(5.0))
    np.testing.assert_array_equal(f(ROW), 5.0 * ROW)


def test_functions_with_updates_and_profiles_stay_as_they_are() -> None:
    count = pt.shared(np.array(0), name="count")
    f = function([x], x + 1.0, updates=[(count, count + 1)])
    g = function([x], x + 1.0, profile=True)
    for _ in range(200):
        f(ROW)
        g(ROW)
    assert f._direct is g._direct is None
    assert count.get_value() == g.profile.calls == 200


def test_copies_and_pickles_call_directly_in_their_turn() -> None:
    f = often(function([x], x + 1.0), ROW)
    for made in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), f.copy()):
        assert made._direct is None
        np.testing.assert_array_equal(often(made, ROW)(ROW), ROW + 1.0)


def test_threads_call_one_function_with_arrays_of_two_lengths() -> None:
    f = function([x], [pt.cumsum(pt.exp(x)), pt.sum(x)])

    def work(length: int) -> bool:
        row = np.linspace(0.0, 1.0, length)
        wanted = np.cumsum(np.exp(row))
        return all(np.allclose(f(row)[0], wanted, rtol=1e-14) for _ in range(2000))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [5, 5, 6, 6]))


def test_results_are_arguments_of_the_next_call_and_stay_what_they_were() -> None:
    """Results may be given back, several times at once, and changed between calls."""
    f = often(function([x], [x + 1.0, x * 2.0]), ROW)
    one, two = f(ROW)
    for step in range(1, 50):
        before = one.copy(), two.copy()
        next_one, next_two = f(one)
        np.testing.assert_array_equal(one, before[0])
        np.testing.assert_array_equal(two, before[1])
        np.testing.assert_array_equal(next_one, ROW + 1.0 + step)
        np.testing.assert_array_equal(next_two, 2.0 * before[0])
        two[:] = -1.0  # is nobody's but the caller's
        one, two = next_one, next_two


@pytest.mark.skipif(sys.platform == "win32", reason="signals by timers")
def test_a_call_that_is_interrupted_leaves_a_function_that_works() -> None:
    f = often(function([x], pt.sum(pt.exp(x))), ROW)
    row, seen = ROW.copy(), 0
    count = sys.getrefcount(row)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            try:
                while True:
                    f(row)
            except KeyboardInterrupt:
                seen += 1
            assert float(f(row)) == pytest.approx(np.exp(ROW).sum(), rel=1e-15)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert seen == 20
    assert sys.getrefcount(row) == count


def test_trusted_arguments_that_are_wrong_are_refused_and_not_read_beyond() -> None:
    """`trust_input` is taken, and changes nothing: the look at arguments costs next to nothing."""
    f = often(function([x], pt.sum(x), trust_input=True), ROW)
    for wrong in (
        ROW[:, None],
        "text",
        None,
        ROW.astype(complex),
        np.array([object()] * 4),
        ROW > 1.0,
        np.ma.masked_array(ROW),
    ):
        with pytest.raises((TypeError, ValueError, DtypeError, ShapeError)):
            f(wrong)
    assert float(f(np.arange(9.0))) == 36.0
    assert float(f(ROW)) == 6.0


def test_large_results_and_much_scratch_go_the_usual_way() -> None:
    many = function([x], pt.outer(x, x))
    row = np.ones(1000)
    for _ in range(BEFORE_DIRECT + 1):
        assert many(row).shape == (1000, 1000)
    assert many._direct is None
