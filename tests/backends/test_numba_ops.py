"""Every op that machine code computes has the same numbers when code of Numba calls it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from consilience import function
from consilience.backends import reference
from consilience.errors import GraphError
from consilience.ir import Node, Op
from consilience.ops import Elementwise, MaskPositions
from tests.backends.agreement import inputs_like, same
from tests.backends.test_conformance import CASES, Case, operands, over_ops, rows_of, scale_of, strided
from tests.backends.test_conformance_scalar import ACCURACY, REAL, TABLE, operand
from tests.rows import holds_for_each

numba = pytest.importorskip("numba")

from numba.np.numpy_support import as_dtype  # noqa: E402  # behind the check that it is there

FIRST = {row.op: row for row in reversed(CASES)}


def called(nodes: list[Node], outputs: list[Node], arrays: list[Any]) -> list[Any]:
    """Results of `Function.numba`, which is a compiled function of Numba, in the dtypes that Numba knows them by.

    Numbers of any width come to Python as `float` and `int`; their dtypes are those of the signature.
    """
    compiled = function(nodes, outputs, on_unused_input="ignore").numba(*arrays)
    found = compiled(*(a if a.ndim else a[()] for a in arrays))
    (signature,) = compiled.nopython_signatures
    types = [t.dtype if isinstance(t, numba.types.Array) else t for t in signature.return_type]
    return [np.asarray(v, None if np.ndim(v) else as_dtype(t)) for v, t in zip(found, types, strict=True)]


def agree(row: Case, dtype: str, symbolic: bool) -> None:
    """A row of the conformance suite."""
    arrays = operands(row, dtype, 1)
    arrays = [strided(a) for a in arrays] if symbolic else arrays
    nodes = inputs_like(arrays, symbolic=symbolic and row.symbolic)
    built = row.build(*nodes)
    outputs = [built] if isinstance(built, Node) else list(built)
    wanted = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    if row.op is MaskPositions:
        with pytest.raises(GraphError, match="depends on values, and a fixed one is needed here"):
            called(nodes, outputs, arrays)
        return
    for a, b in zip(called(nodes, outputs, arrays), wanted, strict=True):
        same(a, b, row.rtol if dtype == "float64" else None, scale_of(row, arrays))


@pytest.mark.parametrize("row", [pytest.param(row, id=op.__name__) for op, row in [*FIRST.items()][::3]])
def test_one_row_of_every_third_op(row: Case) -> None:
    """Of the conformance suite, all of which is slow: the code is the one of every caller, compiling a call is dear."""
    agree(row, row.dtypes[0], symbolic=False)


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True])
@over_ops
def test_op(op: type[Op], symbolic: bool) -> None:
    """The whole conformance suite, with fixed lengths, and with symbolic ones on strided arrays."""
    holds_for_each(rows_of(op), lambda case: agree(*case, symbolic))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REAL))
def test_function(name: str) -> None:
    """Each function of the table."""
    row = TABLE[name]
    if "float" not in row.accepts or row.result == "choice":
        pytest.skip("of no numbers, or of a choice: conformance suite")
    arrays = [operand(row, i, "float64", (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
    nodes = inputs_like(arrays)
    out = Node(Elementwise(name), *nodes)
    wanted = reference.evaluate([out], dict(zip(nodes, arrays, strict=True)))[0]
    same(called(nodes, [out], arrays)[0], wanted, ACCURACY.get(name))
