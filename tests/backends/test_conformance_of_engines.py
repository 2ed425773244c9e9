"""The conformance suite on every installed backend, and as code that Numba calls.

What `test_conformance.py` and `test_conformance_scalar.py` ask of machine code is asked of each. A backend that joins
the registry is tested from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.backends import reference, registry
from consilience.errors import GraphError, LinearAlgebraError, OutOfBoundsError, ParameterError
from consilience.ir import Node, Op
from consilience.model.log_density import model_density
from consilience.ops import ArgSort, Cholesky, Elementwise, MaskPositions, SearchSorted, Sort
from consilience.ops.random import Key, draw, fold_in
from tests.backends.agreement import Array, inputs_like, lengths_of, same
from tests.backends.test_conformance import CASES, Case, operands, over_ops, rows_of, scale_of, strided
from tests.backends.test_conformance_scalar import ACCURACY, FLOATS, TABLE, operand
from tests.native.vectormath_cases import CASES as VECTORMATH
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import load
from tests.rows import holds_for_each

BACKENDS = [name for name in registry.installed() if name not in ("llvm", "reference")]
ENGINES = [*BACKENDS, *(["numba"] if find_spec("numba") else [])]
COMPILED = {"c", "numba"}  # a compiler runs for every program: most is for the slow suite

over_backends = pytest.mark.parametrize("backend", BACKENDS)
over_engines = pytest.mark.parametrize("engine", ENGINES)
over_engines_slow_if_compiled = pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=[pytest.mark.slow] if e in COMPILED else []) for e in ENGINES]
)

# XLA takes numbers below 1e-307 for zeros.
FLUSHING = {"jax"}
LESS_EXACT = {("jax", "betainc"): 1e-10}

FIRST = {row.op: (row, row.dtypes[0]) for row in reversed(CASES)}
USUAL = ["add", "exp", "log", "log1p", "sqrt", "sigmoid", "softplus", "floor", "minimum", "tanh", "true_div", "erf"]


def run(engine: str, nodes: Sequence[Node], outputs: Sequence[Node], arrays: Sequence[Array]) -> list[Array]:
    """Results of a graph as it is written."""
    if engine == "numba":
        return called_by_numba(nodes, outputs, arrays)
    return registry.backend(engine)(nodes, outputs, lengths_of(nodes, arrays)).bind()(arrays)


def called_by_numba(nodes: Sequence[Node], outputs: Sequence[Node], arrays: Sequence[Array]) -> list[Array]:
    """Results of `Function.numba`, which is a compiled function of Numba, in the dtypes that Numba knows them by.

    Numbers of any width come to Python as `float` and `int`; their dtypes are those of the signature.
    """
    import numba
    from numba.np.numpy_support import as_dtype

    compiled = function(nodes, outputs, on_unused_input="ignore").numba(*arrays)
    found = compiled(*(a if a.ndim else a[()] for a in arrays))
    (signature,) = compiled.nopython_signatures
    types = [t.dtype if isinstance(t, numba.types.Array) else t for t in signature.return_type]
    return [np.asarray(v, None if np.ndim(v) else as_dtype(t)) for v, t in zip(found, types, strict=True)]


def agree(engine: str, row: Case, dtype: str, symbolic: bool = False) -> None:
    """A row of the conformance suite, with fixed lengths, or with symbolic ones on strided arrays."""
    arrays = operands(row, dtype, 1)
    if engine in FLUSHING and row.op in (ArgSort, SearchSorted, Sort):
        arrays = [np.where(np.abs(a) < 1e-300, 0, a).astype(a.dtype) for a in arrays]
    arrays = [strided(a) for a in arrays] if symbolic else arrays
    nodes = inputs_like(arrays, symbolic=symbolic and row.symbolic)
    built = row.build(*nodes)
    outputs = [built] if isinstance(built, Node) else list(built)
    wanted = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    if engine == "numba" and row.op is MaskPositions:
        with pytest.raises(GraphError, match=r"lengths in .* must follow from the shapes of its arguments"):
            run(engine, nodes, outputs, arrays)
        return
    # In single precision XLA's factor is as far off as its columns are long: elements are differences of squares.
    differences = engine == "jax" and row.op is Cholesky and dtype == "float32"
    for found, meant in zip(run(engine, nodes, outputs, arrays), wanted, strict=True):
        scale = np.abs(meant).max(initial=0.0) if differences else scale_of(row, arrays)
        same(found, meant, row.rtol if dtype == "float64" else None, scale)


@over_engines
def test_one_row_of_every_op(engine: str) -> None:
    """The first row for each op; every third for Numba, whose code is that of every caller and dear to compile."""
    rows = [(op.__name__, case) for op, case in FIRST.items()]
    holds_for_each(rows[::3] if engine == "numba" else rows, lambda case: agree(engine, *case))


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True])
@over_engines
@over_ops
def test_op(op: type[Op], engine: str, symbolic: bool) -> None:
    """Every row."""
    holds_for_each(rows_of(op), lambda case: agree(engine, *case, symbolic))


def scalar(engine: str, names: Sequence[str]) -> None:
    """Functions of numbers inside their domain, all in one program."""
    arrays, outputs, leaves = [], [], []
    for name in names:
        row = TABLE[name]
        own = [operand(row, i, "float64", (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
        nodes = inputs_like(own)
        arrays += own
        leaves += nodes
        outputs.append(Node(Elementwise(name), *nodes))
    wanted = reference.evaluate(outputs, dict(zip(leaves, arrays, strict=True)))
    for name, found, meant in zip(names, run(engine, leaves, outputs, arrays), wanted, strict=True):
        same(found, meant, LESS_EXACT.get((engine, name), ACCURACY.get(name)))


@over_engines
def test_usual_functions(engine: str) -> None:
    """Those of nearly every model."""
    scalar(engine, USUAL)


@over_engines_slow_if_compiled
def test_function(engine: str) -> None:
    """Each function of numbers that is not tested over its whole range; conformance rows have the others."""
    names = sorted(set(FLOATS) - {case.name for case in VECTORMATH})
    holds_for_each([(name, name) for name in names], lambda name: scalar(engine, [name]))


@over_engines_slow_if_compiled
def test_function_over_its_whole_range(engine: str) -> None:
    """Where the vector math library is tested too."""

    def as_in_numpy(case: Any) -> None:
        points = [np.ravel(p).astype(float) for p in case.points]
        if engine in FLUSHING:
            points = [p[np.all([(np.abs(x) > 1e-300) | (x == 0) for x in points], axis=0)] for p in points]
        nodes = inputs_like(points)
        out = Node(Elementwise(case.name), *nodes)
        wanted = reference.evaluate([out], dict(zip(nodes, points, strict=True)))[0]
        found = run(engine, nodes, [out], points)[0]
        unknown = np.isnan(wanted) | (np.abs(wanted) < 1e-300) & (np.abs(found) < 1e-300)
        zeros = 1e-14 if case.name in ("gammaln", "digamma") else 0.0  # next to theirs
        np.testing.assert_allclose(np.where(unknown, wanted, found), wanted, rtol=3e-10, atol=zeros)

    holds_for_each([(f"{c.name} {c.unit}", c) for c in VECTORMATH if c.name in TABLE], as_in_numpy)


@over_engines
def test_draws_have_the_same_bits(engine: str) -> None:
    """Random numbers count in integers, which wrap around alike; what goes through log and cos is rounded."""
    key = Node(Key(3))
    exact = [draw("random_uniform", key, (50,)), draw("random_poisson", fold_in(key, 3), (7,), 2.5)]
    for found, meant in zip(run(engine, [], exact, []), reference.evaluate(exact, {}), strict=True):
        np.testing.assert_array_equal(found, meant)
    rounded = [draw("random_normal", key, (50,)), draw("random_exponential", key, (50,))]
    for found, meant in zip(run(engine, [], rounded, []), reference.evaluate(rounded, {}), strict=True):
        np.testing.assert_allclose(found, meant, rtol=1e-14)


@over_backends
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if i % 4 else []) for i, n in enumerate(sorted(MODELS))]
)
def test_densities_of_reference_posteriors(name: str, backend: str) -> None:
    """Value and gradient at two points."""
    build, _ = MODELS[name]
    model = build(pm, pt, load(name)["data_values"])
    density, own = model.log_density(), model_density(model, backend=backend)
    rng = np.random.default_rng(1)
    for _ in range(2):
        position = rng.uniform(-1, 1, density.dimension)
        (value, slope), (wanted, wanted_slope) = own(position), density(position)
        np.testing.assert_allclose(value, wanted, rtol=1e-10)
        np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-9 * np.abs(wanted_slope).max())


@over_backends
class TestWhereThereIsNoValue:
    """The words are those of machine code."""

    def test_an_index_outside_its_axis(self, backend: str) -> None:
        x, i = pt.vector("x"), pt.lscalar("i")
        f = function([x, i], x[i], backend=backend)
        assert f(np.arange(3.0), 2) == 2.0
        with pytest.raises(OutOfBoundsError, match="index 5 is out of bounds"):
            f(np.arange(3.0), 5)

    def test_a_matrix_that_is_not_positive_definite(self, backend: str) -> None:
        a = pt.matrix("a")
        f = function([a], pt.linalg.cholesky(a), backend=backend)
        np.testing.assert_allclose(f(4 * np.eye(2)), 2 * np.eye(2))
        with pytest.raises(LinearAlgebraError, match="not positive definite"):
            f(-np.eye(2))

    def test_a_parameter_outside_its_range(self, backend: str) -> None:
        s = pt.scalar("s")
        f = function([s], pm.logp(pm.Normal.dist(0.0, s), 1.0), backend=backend)
        assert np.isfinite(f(1.0))
        with pytest.raises(ParameterError, match="sigma"):
            f(-1.0)


@over_backends
def test_only_the_branch_that_is_taken_is_computed(backend: str) -> None:
    x = pt.scalar("x")
    f = function([x], pt.ifelse(x > 0, pt.linalg.cholesky(pt.diag(pt.stack([x, x])))[0, 0], x), backend=backend)
    assert f(4.0) == 2.0
    assert f(-4.0) == -4.0
