"""Complex numbers: machine code computes with pairs of real ones and gives what NumPy gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.ir import COMPLEXES, Node, parse, text, topological
from consilience.transforms.complex_pairs import FORMULAS, REAL_FORMULAS, is_complex, without_complex
from tests.dtypes.numbers import DTYPES, Array, computed, values

TOLERANCE = {"complex64": 2e-6, "complex128": 2e-14, "float32": 2e-6, "float64": 2e-14}


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Normal parts; some numbers are real, imaginary, zero, of size 1."""
    generator = np.random.default_rng(seed)
    size = int(np.prod(shape))
    found = generator.normal(size=size) + 1j * generator.normal(size=size)
    special = np.array([0, 1, -1, 1j, -2.5j, 3, -0.5, np.exp(0.3j), np.exp(-2j) * (1 + 1e-6)])
    found[: len(special)] = special[:size]
    generator.shuffle(found)
    return found.reshape(shape).astype(dtype)


def agree(name: str, found: Array, wanted: Array, scale: float = 1.0) -> None:
    """Equal dtype, shape, and values relative to the size of the number and to 1."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
    if wanted.dtype.kind in "fc":
        tolerance = TOLERANCE[wanted.dtype.name] * scale
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(found, wanted, name)


def compare(inputs: list[Node], outputs: dict[str, Node], arrays: list[Array], wanted: dict[str, Any]) -> None:
    """Both backends give NumPy's values."""
    for name, results in computed(inputs, outputs, arrays).items():
        for found in results:
            agree(name, found, np.asarray(wanted[name]), scale=20.0)


UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "square": np.square, "sqrt": np.sqrt, "exp": np.exp, "conj": np.conj,
    "real": np.real, "imag": np.imag, "angle": np.angle, "sign": np.sign, "sin": np.sin, "cos": np.cos,
    "sinh": np.sinh, "cosh": np.cosh, "isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf,
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "cumsum": np.cumsum, "var": np.var, "std": np.std,
    "any": np.any, "all": np.all,
}  # fmt: skip
NOT_AT_ZERO: dict[str, Callable[..., Any]] = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "reciprocal": np.reciprocal,
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal, "neq": np.not_equal,
}  # fmt: skip


@pytest.mark.parametrize("dtype", COMPLEXES)
@pytest.mark.parametrize("shape", [(300,), (5, 7), (1,), ()])
def test_functions_of_complex_numbers_are_those_of_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    """Elementwise functions, parts, sums and products."""
    # A product of 300 normal numbers would overflow in single precision.
    array = numbers(dtype, shape)
    x = pt.tensor(dtype=dtype, shape=(None,) * array.ndim)
    with np.errstate(all="ignore"):
        outputs = {name: getattr(pt, name)(x) for name in UNARY}
        compare([x], outputs, [array], {name: function(array) for name, function in UNARY.items()})
        array = np.where(array == 0, 1 + 1j, array).astype(dtype)
        outputs = {name: getattr(pt, name)(x) for name in NOT_AT_ZERO}
        compare([x], outputs, [array], {name: function(array) for name, function in NOT_AT_ZERO.items()})


@pytest.mark.parametrize(("left", "right"), [*itertools.product(COMPLEXES, (*COMPLEXES, *DTYPES))])
def test_complex_numbers_with_every_dtype(left: str, right: str) -> None:
    """On either side, with NumPy's promotion."""
    a = numbers(left, (20,))
    b = numbers(right, (20,), 1) if right in COMPLEXES else values(right, 20)
    if right not in COMPLEXES:
        b = np.nan_to_num(b, posinf=2, neginf=-3).clip(0, 3).astype(right)
    x, y = pt.tensor(dtype=left, shape=(None,)), pt.tensor(dtype=right, shape=(None,))
    y = pt.tensor(dtype=right, shape=x.static_shape)
    outputs = {name: getattr(pt, name)(x, y) for name in BINARY}
    wanted = {name: function(a, b) for name, function in BINARY.items()}
    outputs |= {
        "turned": y - x,
        "quotient": y / (x + 3),
        "where": pt.where(pt.abs(x) > 1, x, y),
        "cast": y.astype(left),
    }
    wanted |= {
        "turned": b - a, "quotient": b / (a + 3), "where": np.where(np.abs(a) > 1, a, b), "cast": b.astype(left),
    }  # fmt: skip
    compare([x, y], outputs, [a, b], wanted)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, 0.5, 1 - 2j])
def test_powers(exponent: complex) -> None:
    """Whole ones are products; others go through the logarithm."""
    array = numbers("complex128", (50,))
    array = np.where(array == 0, 2j, array)
    x = pt.zvector()
    compare([x], {"power": x**exponent}, [array], {"power": array**exponent})


def test_powers_of_zero() -> None:
    """0 ** y is 0 for a positive real part, x ** 0 is 1."""
    x, y = pt.zvector(), pt.zvector()
    a, b = np.array([0, 0, 2, 0j]), np.array([1 + 1j, 0, 0, 2])
    compare([x, y], {"power": x**y}, [a, b], {"power": np.array([0, 1, 1, 0j])})


def test_quotients_do_not_overflow() -> None:
    """Where the squares of the parts would; division by zero gives infinities or NaN, as NumPy."""
    a = np.array([1 + 1j, 1e200 + 1e200j, 1e-200 + 1e-200j, 3 - 4j, 1e300j])
    b = np.array([1e200 + 1e200j, 2e200 + 1e199j, 1e-200 + 3e-200j, 1e-3j, 1e300])
    x, y = pt.zvector(), pt.zvector()
    compare([x, y], {"quotient": x / y}, [a, b], {"quotient": a / b})
    with np.errstate(all="ignore"):
        assert not np.isfinite((x / y).eval({x: a, y: np.zeros(5, complex)})).any()


def test_roots_and_logarithms_keep_their_digits() -> None:
    """Relative to each part: near the cut, near size 1, for sizes whose squares overflow."""
    array = np.array([-1 + 1e-12j, -1 - 1e-12j, 1 + 1e-9j, 1e-9 + 1j, 1e200 + 1e180j, -1e-200 + 1e-210j, 4, -4, 1j])
    x = pt.zvector()
    for ours, numpys in ((pt.sqrt, np.sqrt), (pt.log, np.log)):
        found, wanted = ours(x).eval({x: array}), numpys(array)
        np.testing.assert_allclose(found.real, wanted.real, rtol=1e-13)
        np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-13)


@pytest.mark.parametrize("dtype", COMPLEXES)
def test_elements_move_and_multiply(dtype: str) -> None:
    """Indexing, shapes, joins, updates, products of matrices and vectors, reductions over one axis."""
    a, b = numbers(dtype, (4, 6)), numbers(dtype, (6, 3), 1)
    x, y = pt.tensor(dtype=dtype, shape=(4, 6)), pt.tensor(dtype=dtype, shape=(6, 3))
    places = np.array([3, 0, 0])
    changed, added = a.copy(), a.copy()
    changed[1] = a[2] * 2
    np.add.at(added, places, a[1:])
    flipped = a[np.abs(a[:, 0]) > 0.5]
    outputs = {
        "slice": x[1:, ::-2], "gather": x[places], "transpose": x.T, "reshape": x.reshape((3, 8)),
        "join": pt.concatenate([x, x]),
        "stack": pt.stack([x[0], x[1]], axis=1), "mask": x[pt.abs(x[:, 0]) > 0.5],
        "set": x[1].set(x[2] * 2),
        "inc": x[places].inc(x[1:]),
        "matmul": x @ y, "vector": x @ y[:, 0], "dot": pt.dot(x[0], y[:, 1]), "outer": pt.outer(x[0], y[0]),
        "sum": x.sum(axis=0), "prod": x.prod(axis=1), "mean": x.mean(axis=(0, 1)),
        "zeros": x + pt.zeros_like(x),
        "conj": x.conj(),
        "parts": pt.complex(x.real, x.imag), "polar": pt.complex_from_polar(pt.abs(x), pt.angle(x)),
        "cond": pt.where(x.real[0, 0] > 0, x, -x),
    }  # fmt: skip
    wanted = {
        "slice": a[1:, ::-2], "gather": a[places], "transpose": a.T, "reshape": a.reshape(3, 8),
        "join": np.concatenate([a, a]),
        "stack": np.stack([a[0], a[1]], axis=1), "mask": flipped, "set": changed, "inc": added,
        "matmul": a @ b, "vector": a @ b[:, 0], "dot": np.dot(a[0], b[:, 1]), "outer": np.outer(a[0], b[0]),
        "sum": a.sum(0), "prod": a.prod(1), "mean": a.mean((0, 1)), "zeros": a, "conj": a.conj(),
        "parts": a, "polar": a, "cond": np.where(a.real[0, 0] > 0, a, -a),
    }  # fmt: skip
    compare([x, y], outputs, [a, b], wanted)


def test_constants_slots_and_python_numbers() -> None:
    """1j is weak: beside float32 it makes complex64."""
    a = numbers("complex128", (5,))
    x, y = pt.vector(), pt.fvector()
    slot = pt.shared(a)
    r = np.arange(5.0)
    wanted = {"made": r + 1j * r, "slot": a * r, "constant": a + r, "single": r.astype("float32") * 1j}
    outputs = {"made": x + 1j * x, "slot": slot * x, "constant": pt.as_tensor(a) + x, "single": y * 1j}
    compare([x, y], outputs, [r, r.astype("float32")], wanted)
    every_second = np.arange(10.0) + 1j
    z = pt.zvector()
    np.testing.assert_array_equal((z * 2).eval({z: every_second[::2]}), every_second[::2] * 2)


def test_empty_arrays() -> None:
    """The sum of none is 0, the product 1."""
    z = pt.zvector()
    none = np.zeros(0, complex)
    compare([z], {"sum": z.sum(), "prod": z.prod(), "same": z * 2}, [none], {"sum": 0j, "prod": 1 + 0j, "same": none})


def test_gradients_of_real_values_pass_through_complex_ones() -> None:
    """Against differences of the value: a spectrum, a phase, a modulus."""
    t = pt.vector("t")
    frequencies = np.array([0.3, 1.1, 2.0])
    waves = pt.exp(1j * t[:, None] * frequencies)
    cost = pt.abs(waves.sum(axis=0) + 0.5).sum() + pt.angle(waves[0, 0] * (2 + 1j)) + pt.log(waves + 3).real.sum()
    slope = pt.grad(cost, t)
    function = pt.function([t], [cost, slope])
    at = np.array([0.2, -0.4, 1.3])
    step = 1e-6
    for i in range(3):
        e = np.eye(3)[i] * step
        difference = (function(at + e)[0] - function(at - e)[0]) / (2 * step)
        # Differences of numbers of size 10 with this step: rounding 1e-15 * 10 / 1e-6, curvature 1e-12.
        np.testing.assert_allclose(function(at)[1][i], difference, atol=1e-7)


def test_complex_numbers_inside_models() -> None:
    """A density over a modulus has the gradient of the same density in real numbers."""
    data = np.array([1.0, 2.0])

    def slope(size: Callable[[Node, Node], Node]) -> Any:
        with pm.Model() as model:
            a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
            pm.Normal("y", size(a, b), 1, observed=data)
        return pm.model.model_density(model)([0.3, -0.7])

    value, gradient = slope(lambda a, b: pt.abs(a + 1j * b))
    wanted, wanted_gradient = slope(lambda a, b: pt.sqrt(a * a + b * b))
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-13)


@pytest.mark.parametrize(
    "make",
    [
        lambda z: z < z, lambda z: pt.maximum(z, 0), lambda z: z.max(), lambda z: z.astype("float64"),
        lambda z: z.argmax(), lambda z: pt.gammaln(z), lambda z: pt.cholesky(z[:, None] * z), lambda z: z // 2,
        lambda z: pt.grad(pt.abs(z).sum(), z), lambda z: pt.complex(z, 1.0), lambda z: pt.vector()[z],
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(make: Callable[[Node], Node]) -> None:
    """Orders, casts to real, special functions, factorisations, derivatives by complex numbers."""
    with pytest.raises(DtypeError, match="complex"):
        make(pt.zvector("z", shape=(3,)))


def test_programs_with_complex_numbers_are_written_and_read() -> None:
    """Constants bit for bit."""
    z = pt.zvector("z", shape=(2,))
    program = text([z * (1 + 2j) + np.array([1j, np.nan - 0.0j])])
    inputs, outputs = parse(program)
    assert text(outputs, inputs) == program


def test_pairs_hold_no_complex_node() -> None:
    """Every row of both tables of formulas is one of the scalar table that accepts complex numbers."""
    from consilience.ops.scalar import TABLE

    known = {name for name, row in TABLE.items() if "complex" in row.accepts or row.result == "complex"}
    assert known == {*FORMULAS, *REAL_FORMULAS, "where"}
    x = pt.vector()
    (real,), _ = without_complex([pt.abs(pt.exp(1j * x) * (x + 2j)).sum()])
    assert not any(map(is_complex, topological([real])))
