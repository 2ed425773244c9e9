"""What graphs are written as in StableHLO computes what they compute: read back, and in XLA where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.backends import reference
from consilience.errors import MissingRuleError
from consilience.ir import Node, Op, tensor_input
from consilience.ops import TABLE, Elementwise
from consilience.ops.factorisations import LeastSquares
from tests.backends.agreement import Array, inputs_like, run_reference, same
from tests.backends.test_conformance import CASES, Case, operands, scale_of
from tests.backends.test_conformance_scalar import REAL

Run = Callable[[str, Sequence[Array]], list[Array]]

# Ops whose every case is refused, by name.
REFUSED = {
    "Det", "DetSign", "InverseRealFourier", "MatrixFunction", "MatrixFunctionDerivative", "RealFourier",
    "SampledProduct", "SolveBanded", "SolveRiccati", "SolveSylvester", "SparseCholesky", "SparseCholeskyPullback",
    "SparseProduct", "SparseTriangularSolve", "TransposedSparseProduct", "TridiagonalLU", "TridiagonalLUSolve",
    "MaskPositions",
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
    inputs = inputs_like(arrays)
    built = row.build(*inputs)
    outputs = [built] if isinstance(built, Node) else list(built)
    try:
        text = pm.to_stablehlo(outputs, inputs)
    except MissingRuleError as error:
        assert "has no form in StableHLO" in str(error)
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
