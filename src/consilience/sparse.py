"""Sparse matrices in PyTensor's words: `import consilience.sparse as sparse`.

In: matrices of SciPy, tensors. Out: sparse variables, whose entries and places are ordinary tensors, and dense tensors.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence

from consilience.first_use import guard as _guard
from consilience.names import module_paths as _module_paths
from consilience.ops.sparse.coordinates import block_diag as block_diag
from consilience.ops.sparse.coordinates import csc_from_dense as csc_from_dense
from consilience.ops.sparse.coordinates import csr_from_dense as csr_from_dense
from consilience.ops.sparse.coordinates import dense_from_sparse as dense_from_sparse
from consilience.ops.sparse.coordinates import diag as diag
from consilience.ops.sparse.coordinates import hstack as hstack
from consilience.ops.sparse.coordinates import sp_sum as sp_sum
from consilience.ops.sparse.coordinates import square_diagonal as square_diagonal
from consilience.ops.sparse.coordinates import vstack as vstack
from consilience.ops.sparse.elementwise import add as add
from consilience.ops.sparse.elementwise import arcsin as arcsin
from consilience.ops.sparse.elementwise import arcsinh as arcsinh
from consilience.ops.sparse.elementwise import arctan as arctan
from consilience.ops.sparse.elementwise import arctanh as arctanh
from consilience.ops.sparse.elementwise import ceil as ceil
from consilience.ops.sparse.elementwise import col_scale as col_scale
from consilience.ops.sparse.elementwise import conjugate as conjugate
from consilience.ops.sparse.elementwise import deg2rad as deg2rad
from consilience.ops.sparse.elementwise import expm1 as expm1
from consilience.ops.sparse.elementwise import floor as floor
from consilience.ops.sparse.elementwise import log1p as log1p
from consilience.ops.sparse.elementwise import mul as mul
from consilience.ops.sparse.elementwise import multiply as multiply
from consilience.ops.sparse.elementwise import rad2deg as rad2deg
from consilience.ops.sparse.elementwise import rint as rint
from consilience.ops.sparse.elementwise import row_scale as row_scale
from consilience.ops.sparse.elementwise import sgn as sgn
from consilience.ops.sparse.elementwise import sin as sin
from consilience.ops.sparse.elementwise import sinh as sinh
from consilience.ops.sparse.elementwise import sqr as sqr
from consilience.ops.sparse.elementwise import sqrt as sqrt
from consilience.ops.sparse.elementwise import structured_abs as structured_abs
from consilience.ops.sparse.elementwise import structured_add as structured_add
from consilience.ops.sparse.elementwise import structured_exp as structured_exp
from consilience.ops.sparse.elementwise import structured_log as structured_log
from consilience.ops.sparse.elementwise import structured_maximum as structured_maximum
from consilience.ops.sparse.elementwise import structured_minimum as structured_minimum
from consilience.ops.sparse.elementwise import structured_pow as structured_pow
from consilience.ops.sparse.elementwise import structured_sigmoid as structured_sigmoid
from consilience.ops.sparse.elementwise import sub as sub
from consilience.ops.sparse.elementwise import subtract as subtract
from consilience.ops.sparse.elementwise import tan as tan
from consilience.ops.sparse.elementwise import tanh as tanh
from consilience.ops.sparse.elementwise import true_div as true_div
from consilience.ops.sparse.elementwise import trunc as trunc
from consilience.ops.sparse.factorisation import SparseFactor as SparseFactor
from consilience.ops.sparse.factorisation import cholesky as cholesky
from consilience.ops.sparse.factorisation import logdet as logdet
from consilience.ops.sparse.factorisation import solve as solve
from consilience.ops.sparse.indexing import part as part
from consilience.ops.sparse.multiplication import dot as dot
from consilience.ops.sparse.multiplication import sampling_dot as sampling_dot
from consilience.ops.sparse.multiplication import structured_dot as structured_dot
from consilience.ops.sparse.multiplication import true_dot as true_dot
from consilience.ops.sparse.multiplication import usmm as usmm
from consilience.ops.sparse.variable import SparseVariable as SparseVariable
from consilience.ops.sparse.variable import as_sparse_variable as as_sparse_variable
from consilience.tensor.dtypes import all_dtypes as all_dtypes
from consilience.tensor.dtypes import complex_dtypes as complex_dtypes
from consilience.tensor.dtypes import float_dtypes as float_dtypes
from consilience.tensor.dtypes import integer_dtypes as integer_dtypes
from consilience.tensor.sparse_construction import CSC as CSC
from consilience.tensor.sparse_construction import CSR as CSR
from consilience.tensor.sparse_construction import as_sparse_or_tensor_variable as as_sparse_or_tensor_variable
from consilience.tensor.sparse_construction import cast as cast
from consilience.tensor.sparse_construction import clean as clean
from consilience.tensor.sparse_construction import csc_dmatrix as csc_dmatrix
from consilience.tensor.sparse_construction import csc_fmatrix as csc_fmatrix
from consilience.tensor.sparse_construction import csc_matrix as csc_matrix
from consilience.tensor.sparse_construction import csm_data as csm_data
from consilience.tensor.sparse_construction import csm_indices as csm_indices
from consilience.tensor.sparse_construction import csm_indptr as csm_indptr
from consilience.tensor.sparse_construction import csm_properties as csm_properties
from consilience.tensor.sparse_construction import csm_shape as csm_shape
from consilience.tensor.sparse_construction import csr_dmatrix as csr_dmatrix
from consilience.tensor.sparse_construction import csr_fmatrix as csr_fmatrix
from consilience.tensor.sparse_construction import csr_matrix as csr_matrix
from consilience.tensor.sparse_construction import ensure_sorted_indices as ensure_sorted_indices
from consilience.tensor.sparse_construction import matrix as matrix
from consilience.tensor.sparse_construction import neg as neg
from consilience.tensor.sparse_construction import sp_ones_like as sp_ones_like
from consilience.tensor.sparse_construction import sp_zeros_like as sp_zeros_like
from consilience.tensor.sparse_construction import transpose as transpose

__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path
sparse_formats = ["csc", "csr"]
as_sparse = as_sparse_variable
matmul, power, remove0 = dot, structured_pow, clean

__all__ = sorted(
    name for name in globals() if not name.startswith("_") and name not in ("Sequence", "annotations", "part", "typing")
)

if not typing.TYPE_CHECKING:  # type checkers know by themselves what is not there

    def __getattr__(name: str) -> object:
        return _module_paths.attribute(__name__, name, __all__)


_guard(globals())
