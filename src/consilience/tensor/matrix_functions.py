"""Functions of square matrices under SciPy's names: exponential, logarithm, square root.

They work on the last two axes; leading axes are a batch. They are computed in float64 and rounded to the dtype of
float32 matrices. Complex matrices are refused.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, cast
from consilience.ops.factorisations import real_matrix
from consilience.ops.matrix_functions import MatrixFunction


def expm(A: TensorLike) -> Node:
    """The exponential of square matrices, by Pade approximants with scaling and squaring.

    A : ...
    Returns: Square matrices of the same shape.
    See logm: The principal logarithm of square matrices.
    See sqrtm: The principal square root of square matrices.
    See matrix_power: A square matrix times itself n times.
    >>> pt.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).eval().round(4).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _function("expm", A)


def logm(A: TensorLike) -> Node:
    """The principal logarithm of square matrices: its exponential is A.

    It is real, so A must have no eigenvalue on the negative half of the real line or at 0: else LinearAlgebraError.

    A : ...
    Returns: Square matrices of the same shape.
    See sqrtm: The principal square root of square matrices.
    See matrix_power: A square matrix times itself n times.
    See expm: The exponential of square matrices.
    >>> pt.linalg.logm([[1.0, 1.0], [0.0, 1.0]]).eval().round(4).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _function("logm", A)


def sqrtm(A: TensorLike) -> Node:
    """The principal square root of square matrices: its product with itself is A.

    It is real, so A must have no eigenvalue on the negative half of the real line: else LinearAlgebraError. Rounding
    may bring eigenvalues that are 0 there; the derivative exists where none is 0.

    A : ...
    Returns: Square matrices of the same shape.
    See matrix_power: A square matrix times itself n times.
    See expm: The exponential of square matrices.
    See logm: The principal logarithm of square matrices.
    >>> pt.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).eval().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return _function("sqrtm", A)


def _function(kind: str, value: TensorLike) -> Node:
    x, dtype = real_matrix(value, kind)
    return cast(Node(MatrixFunction(kind), x), dtype)
