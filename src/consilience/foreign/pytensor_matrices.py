"""PyTensor's linear algebra, of matrices and of batches of them: an op with its operands in, tensors of ours out."""

from __future__ import annotations

from typing import Any, Final

import consilience.tensor as pt
from consilience.engines.reader.rules import Rule, Rules
from consilience.errors import MissingRuleError
from consilience.foreign.pytensor_graph import RULES, Translation, known, of_constants
from consilience.ops.sparse.coordinates import dense_from_sparse
from consilience.ops.sparse.multiplication import dot as sparse_dot
from consilience.ops.sparse.variable import SparseVariable


@RULES("Dot", "StructuredDot", "TrueDot")
def _dot(t: Translation, apply: Any) -> Any:
    a, b = t.arguments(apply)
    return (sparse_dot if isinstance(a, SparseVariable) or isinstance(b, SparseVariable) else pt.dot)(a, b)


@RULES("DenseFromSparse")
def _dense(t: Translation, apply: Any) -> Any:
    return dense_from_sparse(t(apply.inputs[0]))


def _blockwise_dot(t: Translation, apply: Any) -> Any:
    ranks = tuple(part.count(",") + 1 if part else 0 for part in _inputs_of(apply.op.signature))
    functions: dict[tuple[int, ...], Any] = {(2, 2): pt.matmul, (2, 1): pt.matvec, (1, 2): pt.vecmat, (1, 1): pt.vecdot}
    return functions[ranks](*t.arguments(apply))


def _inputs_of(signature: str) -> list[str]:
    """The operands of a signature such as `(m,k),(k)->(m)`, without parentheses."""
    return signature.split("->")[0].strip("()").split("),(")


def _solve_triangular(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    a, b = t.arguments(apply)
    return pt.linalg.solve_triangular(
        a, b, lower=op.lower, unit_diagonal=getattr(op, "unit_diagonal", False), b_ndim=op.b_ndim
    )


def _cholesky(t: Translation, apply: Any) -> Any:
    factor = pt.linalg.cholesky(t(apply.inputs[0]))
    return factor if apply.op.core_op.lower else pt.matrix_transpose(factor)


def _solve(t: Translation, apply: Any) -> Any:
    a, b = t.arguments(apply)
    return pt.linalg.solve(a, b, b_ndim=apply.op.core_op.b_ndim)


def _cholesky_solve(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    factor, b = t.arguments(apply)
    return pt.linalg.cho_solve((factor, op.lower), b, b_ndim=op.b_ndim)


def _convolution(function: Rule) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        x, kernel, full = t.arguments(apply)
        whole = known(full)
        if whole is None:
            raise MissingRuleError("PyTensor's convolution in a mode that data decide has no translation.")
        return function(x, kernel, "full" if whole.all() else "valid")

    return rule


def _eigh(t: Translation, apply: Any) -> Any:
    a, b = (*t.arguments(apply), None)[:2]
    op = getattr(apply.op, "core_op", apply.op)  # PyTensor 2 has it for one matrix, with `UPLO`
    return list(pt.linalg.eigh(a, b, lower=op.lower if hasattr(op, "lower") else op.UPLO == "L"))


def _svd(t: Translation, apply: Any) -> Any:
    op = apply.op.core_op
    found = pt.linalg.svd(t(apply.inputs[0]), full_matrices=op.full_matrices, compute_uv=op.compute_uv)
    return list(found) if op.compute_uv else found


def _of_operands(function: Rule) -> Rule:
    def rule(t: Translation, apply: Any) -> Any:
        found = function(*t.arguments(apply))
        return list(found) if isinstance(found, tuple | list) else found

    return rule


MATRICES: Final = Rules(
    Dot=_blockwise_dot, Cholesky=_cholesky, SolveTriangular=_solve_triangular, Solve=_solve,
    CholeskySolve=_cholesky_solve, Eigh=_eigh, SVD=_svd,
)  # fmt: skip
MATRICES.rows({"Convolve1d": "signal.convolve1d", "Convolve2d": "signal.convolve2d"}, _convolution)
MATRICES.rows(
    {
        "MatrixInverse": "linalg.inv", "Det": "linalg.det", "SLogDet": "linalg.slogdet", "Expm": "linalg.expm",
        "BlockDiagonal": "linalg.block_diag", "MatrixPinv": "linalg.pinv", "SolveSylvester": "linalg.solve_sylvester",
    },
    _of_operands,
)  # fmt: skip
RULES.update((name, MATRICES[name]) for name in ("SolveSylvester", "Convolve1d", "Convolve2d", "Eigh"))


@RULES("Blockwise")
def _blockwise(t: Translation, apply: Any) -> Any:
    rule: Rule = MATRICES.get(type(apply.op.core_op).__name__, of_constants)
    return rule(t, apply)


@RULES("OpFromGraph")
def _from_graph(t: Translation, apply: Any) -> Any:
    graph = apply.op.fgraph
    return t.inlined(graph.inputs, graph.outputs, t.arguments(apply))
