"""Every public function means what NumPy's means: values, dtypes and derivatives, whatever the shape and dtype."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import GraphError, MissingRuleError
from consilience.ir import Node
from consilience.tensor import inputs
from consilience.transforms.gradient import gradient
from tests.backends.agreement import inputs_like, run_llvm, run_reference, same
from tests.rows import over_rows
from tests.tensor.table import ALIASES, ELSEWHERE, FUNCTIONS, Row

Array = npt.NDArray[Any]
CASES = [(name, row) for name, rows in FUNCTIONS.items() for row in rows]
EVERY_CASE = over_rows("name, row", CASES, lambda name, row: f"{name}:{row.text}")


def lengths(rng: np.random.Generator) -> dict[str, int]:
    """Distinct lengths, so that axes cannot be confused."""
    return dict(zip("nmpqr", rng.permutation([2, 3, 4, 5, 6]).tolist(), strict=True))


def generator(row: Row, salt: int = 0) -> np.random.Generator:
    """Random numbers that depend on the row alone."""
    return np.random.default_rng([zlib.crc32(row.text.encode()), salt])


def as_list(results: Any) -> list[Any]:
    """One result or several as a list."""
    return list(results) if isinstance(results, list | tuple) else [results]


def expected(row: Row, arrays: Sequence[Array]) -> list[Array]:
    """NumPy's results."""
    return row.results(*arrays)


def built(row: Row, nodes: Sequence[Node]) -> list[Node]:
    """Our expressions."""
    return as_list(row.ours(*nodes))


def check(
    row: Row,
    dtype: str,
    sizes: dict[str, int],
    run: Callable[..., list[Array]],
    symbolic: bool = False,
    salt: int = 0,
) -> None:
    """Our results are NumPy's, in shape, dtype and value."""
    arrays = row.arrays(dtype, sizes, generator(row, salt))
    nodes = inputs_like(arrays, symbolic=symbolic)
    try:
        wanted = expected(row, arrays)
    except TypeError:
        with pytest.raises((GraphError, TypeError)):
            built(row, nodes)
        return
    outputs = built(row, nodes)
    assert len(outputs) == len(wanted)
    for output, found, meant in zip(outputs, run(nodes, outputs, arrays), wanted, strict=True):
        assert output.dtype == str(found.dtype)
        same(found, meant, TOLERANCE[dtype], 10.0)


TOLERANCE = {"float64": 1e-10, "float32": 3e-5, "int64": 1e-10, "int32": 1e-10, "bool": 1e-10}

# Arguments for which a function has no derivative yet, by their places.
NO_DERIVATIVE = dict.fromkeys(["iv", "ive", "jv", "kn", "kv", "kve", "yv", "expn", "zeta"], (0,))


@EVERY_CASE
def test_values_and_dtypes_are_numpys(name: str, row: Row) -> None:
    """For every dtype, on lengths all distinct, all one and, where that means something, zero."""
    sizes = [lengths(generator(row)), dict.fromkeys("nmpqr", 1)]
    if "full" not in row.remarks and any("n" in word for word in row.shapes):
        sizes.append(lengths(generator(row)) | {"n": 0})
    for dtype in row.dtypes:
        for own in sizes:
            check(row, dtype, own, run_reference)


@EVERY_CASE
def test_compiled_code_with_symbolic_lengths_agrees(name: str, row: Row) -> None:
    """The same of machine code, where lengths are known at the call only."""
    check(row, row.dtypes[0], lengths(generator(row, 1)), run_llvm, symbolic="static" not in row.remarks)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), [pytest.param(*case, id=f"{case[0]}:{case[1].text}") for case in CASES])
def test_compiled_code_agrees_for_many_lengths(name: str, row: Row) -> None:
    """Machine code for every dtype, lengths known before or at the call, among them 1 and 0."""
    for salt in range(3, 9):
        rng = generator(row, salt)
        sizes = dict(zip("nmpqr", rng.integers(1 if "full" in row.remarks else 0, 20, 5).tolist(), strict=True))
        for dtype in row.dtypes:
            for symbolic in {False, "static" not in row.remarks}:
                check(row, dtype, sizes, run_llvm, symbolic, salt)


@over_rows(
    "name, row",
    [case for case in CASES if "f" in case[1].kinds and "flat" not in case[1].remarks],
    lambda name, row: f"{name}:{row.text}",
)
def test_derivatives_are_limits_of_differences(name: str, row: Row) -> None:
    """Along a random direction, for a random weighted sum of all results."""
    for salt in range(2, 20):
        rng = generator(row, salt)
        arrays = row.arrays("float64", lengths(rng), rng)
        moving = [
            i for i, array in enumerate(arrays) if array.dtype == np.float64 and i not in NO_DERIVATIVE.get(name, ())
        ]
        directions = [rng.normal(size=array.shape) if i in moving else 0 for i, array in enumerate(arrays)]
        weights = [rng.normal(size=array.shape) for array in expected(row, arrays)]
        nodes = inputs_like(arrays)
        outputs = [(i, output) for i, output in enumerate(built(row, nodes)) if output.dtype == "float64"]
        difference = _difference(row, arrays, directions, weights, 1e-4)
        if difference == pytest.approx(_difference(row, arrays, directions, weights, 5e-5), rel=1e-7, abs=1e-7):
            break  # smooth here, as far as NumPy's function tells
    else:
        pytest.fail("no point found where the function is smooth")
    total = pt.add(*[pt.sum(output * weights[i]) for i, output in outputs], 0.0)
    slopes = run_reference(nodes, gradient(total, [nodes[i] for i in moving]), arrays)
    found = sum(float(np.sum(slope * directions[i])) for i, slope in zip(moving, slopes, strict=True))
    assert found == pytest.approx(difference, rel=1e-6, abs=1e-6)


def _difference(
    row: Row, arrays: Sequence[Array], directions: Sequence[Any], weights: Sequence[Array], h: float
) -> float:
    """The derivative of NumPy's weighted results along a direction, by central differences of fourth order."""

    def at(step: float) -> float:
        moved = [a + step * d if np.ndim(d) or d else a for a, d in zip(arrays, directions, strict=True)]
        results = expected(row, moved)
        return sum(
            float(np.sum(result * weight))
            for result, weight in zip(results, weights, strict=True)
            if result.dtype == np.float64
        )

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize("name", NO_DERIVATIVE)
def test_derivatives_that_are_not_there_say_so(name: str) -> None:
    """An argument without a derivative is refused by name."""
    row = FUNCTIONS[name][0]
    nodes = inputs_like(row.arrays("float64", lengths(generator(row)), generator(row)))
    for place in NO_DERIVATIVE[name]:
        with pytest.raises(MissingRuleError, match="is not known"):
            gradient(pt.sum(row.ours(*nodes)), [nodes[place]])


def test_every_public_function_has_a_row_or_a_reason() -> None:
    """No public name of the namespaces is left out, and none is listed that is not there."""
    places = (pt, pt.linalg, pt.special, pt.fft, pt.signal, pt.interpolate, pm.math)
    here = {name for place in places for name in place.__all__}
    families = {"tensor", *inputs.WORDS, *map(inputs.plural, inputs.WORDS)}
    listed = {name.rpartition(".")[2] for name in FUNCTIONS}
    assert not here - families - listed - set(ELSEWHERE) - set(ALIASES)
    assert not {*listed, *ELSEWHERE, *ALIASES} - here


def test_other_names_lead_to_the_same_function() -> None:
    """Aliases are aliases."""
    for name, of in ALIASES.items():
        places = [place for place in (pt, pt.linalg, pm.math) if name in place.__all__]
        for place in places:
            assert getattr(place, name) is getattr(place, of)


def test_numbers_are_numpys() -> None:
    """The constants of mathematics."""
    for name in ("e", "pi", "euler_gamma", "inf", "newaxis"):
        assert getattr(pt, name) == getattr(np, name)
    assert np.isnan(pt.nan)


def test_answers_about_shapes() -> None:
    """What is asked of shapes before anything is computed."""
    x = pt.tensor("x", shape=(3, None))
    assert pt.is_flat(x[0])
    assert not pt.is_flat(x)
    assert pt.get_vector_length(x[:, 0]) == 3
    assert x[pt.slice_at_axis(slice(1, None), 0)] is x[1:]
    assert x[pt.slice_at_axis(slice(1, None), -1)] is x[..., 1:]


@pytest.mark.parametrize("word", inputs.WORDS)
def test_inputs_have_the_dtype_and_shape_of_their_name(word: str) -> None:
    """PyTensor's names of symbolic inputs, one and several at once."""
    dtype, shape = inputs.WORDS[word]
    one = getattr(pt, word)("x")
    assert (one.name, one.dtype, one.ndim) == ("x", dtype or "float64", len(shape))
    assert one.broadcastable == tuple(length == 1 for length in shape)
    several = getattr(pt, inputs.plural(word))
    assert [node.name for node in several("a", "b")] == ["a", "b"]
    assert [node.dtype for node in several(3)] == [one.dtype] * 3
    if dtype is None:
        assert getattr(pt, word)(dtype=np.float32).dtype == "float32"
