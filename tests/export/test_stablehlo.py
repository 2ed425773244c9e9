"""What graphs are written as in StableHLO computes what they compute: read back, and in XLA where it is installed."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.engines.stablehlo.emit.scope import shape_of
from consilience.errors import GraphError, MissingPackageError, MissingRuleError, ParseError, ShapeError
from consilience.ir import Node, Op, tensor_input
from consilience.model.log_density import model_density
from consilience.ops import TABLE, Elementwise
from consilience.ops.log_incomplete import BETA_FUNCTIONS, GAMMA_FUNCTIONS
from tests.backends.agreement import Array, inputs_like, run_reference, same
from tests.backends.test_conformance import CASES, Case, operands, scale_of
from tests.backends.test_conformance_scalar import ACCURACY, DRAWS, DTYPES, REAL, SHAPES, dtypes_of, operand
from tests.random_models.check import built
from tests.random_models.generate import generated

Run = Callable[[str, Sequence[Array]], list[Array]]

# Ops whose every case is refused, by name.
REFUSED = {
    "Det", "DetSign", "MatrixFunction", "MatrixFunctionDerivative",
    "SampledProduct", "SolveBanded", "SolveRiccati", "SolveSylvester", "SparseCholesky", "SparseCholeskyPullback",
    "SparseProduct", "SparseTriangularSolve", "TransposedSparseProduct", "TridiagonalLU", "TridiagonalLUSolve",
    "KalmanFilter", "KalmanSlopes", "MaskPositions", "DiagonalSums", "ToeplitzInverse", "ToeplitzInverseSums",
    "ToeplitzSolve",
}  # fmt: skip
OPS = sorted({row.op for row in CASES}, key=lambda op: op.__name__)


def read_back(text: str, arrays: Sequence[Array]) -> list[Array]:
    """The text's function of some arrays, by NumPy."""
    inputs = [tensor_input(str(a.dtype), a.shape) for a in arrays]
    found: Any = pm.from_stablehlo(text)(*inputs)
    outputs = [found] if isinstance(found, Node) else list(found)
    return reference.evaluate(outputs, dict(zip(inputs, arrays, strict=True)))


def in_xla(text: str, arrays: Sequence[Array]) -> list[Array]:
    """The same by XLA, on this machine's processor."""
    import jax
    from jax._src.lib import xla_client

    with jax.enable_x64(True):
        client = jax.local_devices(backend="cpu")[0].client
        devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
        program = client.compile_and_load(text, devices, xla_client.CompileOptions())
        return [np.asarray(v) for v in program.execute([jax.device_put(a) for a in arrays])]


def checked(row: Case, dtype: str, run: Run) -> bool:
    """Whether a case has a form; if so it means the same."""
    arrays = operands(row, dtype, 1)
    if run is in_xla:  # where subnormal numbers are zero
        arrays = [np.where(abs(a) < 1e-300, 0, a).astype(a.dtype) if a.dtype.kind == "f" else a for a in arrays]
    inputs = inputs_like(arrays)
    built = row.build(*inputs)
    outputs = [built] if isinstance(built, Node) else list(built)
    try:
        text = pm.to_stablehlo(outputs, inputs)
    except MissingRuleError as error:
        if "has no form in StableHLO" not in str(error):
            raise
        return False
    wanted = run_reference(inputs, outputs, arrays)
    rtol = row.rtol if dtype == "float64" else None
    for own, value in zip(run(text, arrays), wanted, strict=True):
        same(own, value, max(rtol or 0, 1e-4 if dtype == "float32" else 1e-10), scale_of(row, arrays))
    return True


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_every_op_is_read_back_as_it_was_or_refused_by_name(op: type[Op]) -> None:
    cases = [(row, dtype) for row in CASES if row.op is op for dtype in row.dtypes]
    written = [checked(row, dtype, read_back) for row, dtype in cases]
    assert any(written) == (op.__name__ not in REFUSED)


# Functions of one number that neither StableHLO nor CHLO has.
REFUSED_FUNCTIONS = {
    "beta_binomial_sum", "beta_binomial_sum_slope_a", "beta_binomial_sum_slope_b",
    "beta_binomial_quantile", "betainc", "betainc_slope_a", "betainc_slope_b", "betainccinv",
    "betaincinv", "binomial_quantile", "cosine_integral", "dawsn", "ellipe", "ellipk", "exp1", "expi", "expn",
    "gamma", "gammainc", "gammainc_slope", "gammaincc", "gammainccinv", "gammaincinv", "hyp1f1", "hyp1f1_slope_a",
    "hyp1f1_slope_b", "hyp2f1", "hyp2f1_slope_a", "hyp2f1_slope_c", "iv", "ive",
    "ive_slope", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kv", "kve", "kve_slope", *GAMMA_FUNCTIONS,
    *BETA_FUNCTIONS, "ndtri",
    "ndtri_exp", "negative_binomial_quantile", "owens_t", "poisson_quantile", "sine_integral", "spence", "y0", "y1",
    "yv",
}  # fmt: skip


def of_function(name: str, dtype: str) -> tuple[list[Node], list[Node], list[Array]]:
    """A scalar function of operands of several shapes in one graph."""
    row = TABLE[name]
    generator = np.random.default_rng(len(name))
    dtypes = dtypes_of(row, dtype)
    groups = [[operand(row, i, d, shapes[min(i, 2)], generator) for i, d in enumerate(dtypes)] for shapes in SHAPES]
    arrays = [a for group in groups for a in group]
    inputs = inputs_like(arrays)
    outputs = [Node(Elementwise(name), *inputs[i : i + len(dtypes)]) for i in range(0, len(inputs), len(dtypes))]
    return inputs, outputs, arrays


@pytest.mark.parametrize("name", sorted(set(REAL) - set(DRAWS) - {"fold_in"}))
def test_every_scalar_function_is_read_back_as_it_was_or_refused_by_name(name: str) -> None:
    for kind in TABLE[name].accepts:
        for dtype in DTYPES[kind]:
            inputs, outputs, arrays = of_function(name, dtype)
            if name in REFUSED_FUNCTIONS:
                with pytest.raises(MissingRuleError, match=f"`{name}` has no form in StableHLO"):
                    pm.to_stablehlo(outputs, inputs)
                continue
            wanted = run_reference(inputs, outputs, arrays)
            for own, value in zip(read_back(pm.to_stablehlo(outputs, inputs), arrays), wanted, strict=True):
                same(own, value, 1e-4 if dtype == "float32" else 1e-11, scale=1.0)


@pytest.mark.parametrize("name", ["log_ndtr", "erfcx", "i0e", "i0e_slope"])
def test_functions_that_are_written_in_pieces_are_exact_on_all_of_them(name: str) -> None:
    """And at their borders, against SciPy's. In single precision, exponents of 40 have 1e-6 of rounding."""
    for dtype, rtol in (("float64", ACCURACY.get(name.replace("0e_", "ve_"), 1e-12)), ("float32", 1e-5)):
        values = np.concatenate([-np.geomspace(1e-3, 1e4, 300), np.linspace(-21, 23, 500), np.geomspace(20, 1e4, 50)])
        x = tensor_input(dtype, values.shape)
        (found,) = read_back(str(pm.to_stablehlo(Node(Elementwise(name), x), [x])), [values.astype(dtype)])
        with np.errstate(over="ignore"):
            wanted = TABLE[name].numpy(values.astype(dtype))
        normal = (wanted == 0) | (np.abs(wanted) > 1e-30)
        np.testing.assert_allclose(found[normal], wanted[normal], rtol=rtol)


@pytest.mark.parametrize("op", [op for op in OPS if op.__name__ not in REFUSED], ids=lambda op: op.__name__)
def test_xla_computes_every_op(op: type[Op]) -> None:
    pytest.importorskip("jax")
    rows = [row for row in CASES if row.op is op]
    for row in rows[:: max(1, len(rows) // 12)]:
        checked(row, row.dtypes[0], in_xla)


def test_xla_computes_every_scalar_function() -> None:
    """All in one program, of numbers inside their ranges."""
    pytest.importorskip("jax")
    inputs: list[Node] = []
    outputs: list[Node] = []
    arrays: list[Array] = []
    for name in sorted(set(REAL) - set(DRAWS) - {"fold_in"} - REFUSED_FUNCTIONS):
        for kind in TABLE[name].accepts:
            for dtype in DTYPES[kind][:1]:
                own = of_function(name, dtype)
                for every, part in zip((inputs, outputs, arrays), own, strict=True):
                    every.extend(part)  # type: ignore[arg-type]  # nodes to nodes, arrays to arrays
    wanted = run_reference(inputs, outputs, arrays)
    for own, value in zip(in_xla(str(pm.to_stablehlo(outputs, inputs)), arrays), wanted, strict=True):
        same(own, value, 1e-9, scale=1.0)


@pytest.mark.parametrize("number", range(0, 60, 6))
def test_random_models_are_read_back_as_they_were(number: int) -> None:
    """Log density and gradient, or a refusal by name."""
    program = generated(11, number).program
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = built(program, program.arrays())
    try:
        text = str(pm.to_stablehlo(model))
    except MissingRuleError as error:
        if re.search("`(Solve|Det|MaskPositions|PythonCall)` has no form", str(error)) is None:
            raise
        return
    inputs, outputs, data = model_density(model).program()
    position = np.random.default_rng(number).normal(size=shape_of(inputs[0])) * 0.3
    wanted = reference.evaluate(outputs, {inputs[0]: position, **data})
    rtol = 1e-4 if "f32>" in text else 1e-9
    for own, value in zip(read_back(text, [position]), wanted, strict=True):
        np.testing.assert_allclose(own, value, rtol=rtol, atol=rtol)


X, M = pt.vector("x"), pt.matrix("m", shape=(3, 3))
V = pt.vector("v", shape=(3,))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pm.to_stablehlo(X.sum(), [X]), ShapeError, "fixed shapes, and that of `x`.* declare inputs as in"),
        (lambda: pm.to_stablehlo(V.sum(), []), GraphError, "depend on `v`.*not among `inputs`"),
        (lambda: pm.to_stablehlo(V.sum(), [V + 1]), GraphError, "`inputs` are tensors that nothing computes"),
        (lambda: pm.to_stablehlo("v"), GraphError, "can be written as StableHLO, got 'v'"),
        (lambda: pm.to_stablehlo(V.sum(), V, name="a b"), ValueError, "name of a function"),
        (lambda: pm.to_stablehlo(pt.linalg.solve(M, V), [M, V]), MissingRuleError, "`Solve`.*say `assume_a='pos'`"),
        (lambda: pm.to_stablehlo(pm.Normal.dist(shape=3)), MissingRuleError, "random draws have no form"),
        (lambda: pm.to_stablehlo(M[V > 0].sum(), [M, V]), MissingRuleError, "`MaskPositions` has no form"),
    ],
)
def test_mistakes_are_told(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_functions_and_shared_values_are_written() -> None:
    """A compiled function; shared values are those of the moment; one tensor in place of a list."""
    kept = pm.shared(np.array([1.0, 2.0, 3.0]), name="kept")
    text = str(pm.to_stablehlo((kept * V).sum(), V))
    kept.set_value(np.zeros(3))
    np.testing.assert_allclose(read_back(text, [np.ones(3)]), [6.0])
    f = pm.function([V, M], [M @ V, V[0]])
    first, second = read_back(str(pm.to_stablehlo(f)), [np.arange(3.0), np.eye(3)])
    np.testing.assert_allclose(first, np.arange(3.0))
    assert second == 0.0


def test_bytecode_is_read_back() -> None:
    """Ours, and JAX's; without jaxlib the error says what to install."""
    if importlib.util.find_spec("jax") is None:
        with pytest.raises(MissingPackageError, match="pip install 'consilience\\[jax\\]'"):
            pm.to_stablehlo(V.sum(), V, bytecode=True)
        return
    import jax

    data = pm.to_stablehlo(pt.gammaln(V).sum(), V, bytecode=True)
    assert isinstance(data, bytes)
    np.testing.assert_allclose(pm.from_stablehlo(data)(np.full(3, 4.0)).eval(), 3 * np.log(6))
    with jax.enable_x64(True):
        exported = jax.export.export(jax.jit(lambda v: v**2))(np.ones(3))
    np.testing.assert_allclose(pm.from_stablehlo(exported.mlir_module_serialized)(np.arange(3.0)).eval(), [0, 1, 4])
    with pytest.raises(ParseError, match="no portable bytecode"):
        pm.from_stablehlo(b"nothing")


def loops() -> tuple[list[Node], list[Node], list[Array]]:
    """A loop that ends by its condition, one that reads backwards, a branch, and their derivatives."""
    a, v = pt.scalar("a"), pt.vector("w", shape=(6,))
    root = pt.while_loop(lambda x: pt.abs(x * x - a) > 1e-13, lambda x: 0.5 * (x + a / x), a, max_steps=50)
    back = pt.scan(lambda x, last: pt.tanh(last * a + x), v, [a], go_backwards=True, return_updates=False)
    branch = pm.ifelse(a > 1, back, v * a)
    cost = root * back[-1] + pt.sum(branch) + pt.sum(pt.cumprod(v))
    return [a, v], [root, back, cost, *pt.grad(cost, [a, v])], [np.array(2.0), np.linspace(0.1, 0.9, 6)]


@pytest.mark.parametrize("run", [read_back, in_xla])
def test_loops_and_their_derivatives_are_written(run: Run) -> None:
    if run is in_xla:
        pytest.importorskip("jax")
    inputs, outputs, arrays = loops()
    f = pm.function(inputs, outputs)
    wanted = f(*arrays)
    for text in (pm.to_stablehlo(outputs, inputs), pm.to_stablehlo(f)):
        for own, value in zip(run(str(text), arrays), wanted, strict=True):
            np.testing.assert_allclose(own, value, rtol=1e-11)
