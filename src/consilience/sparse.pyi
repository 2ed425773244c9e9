"""Written by `python tools/names.py` from the tables of sparse.py; not to be edited."""

from consilience.tensor.sparse_construction import CSC as CSC
from consilience.tensor.sparse_construction import CSR as CSR
from consilience.ops.sparse.factorisation import SparseFactor as SparseFactor
from consilience.ops.sparse.variable import SparseVariable as SparseVariable
from consilience.ops.sparse.elementwise import add as add
from consilience.tensor.dtypes import all_dtypes as all_dtypes
from consilience.ops.sparse.elementwise import arcsin as arcsin
from consilience.ops.sparse.elementwise import arcsinh as arcsinh
from consilience.ops.sparse.elementwise import arctan as arctan
from consilience.ops.sparse.elementwise import arctanh as arctanh
from consilience.tensor.sparse_construction import as_sparse_or_tensor_variable as as_sparse_or_tensor_variable
from consilience.ops.sparse.variable import as_sparse_variable as as_sparse_variable
from consilience.ops.sparse.coordinates import block_diag as block_diag
from consilience.tensor.sparse_construction import cast as cast
from consilience.ops.sparse.elementwise import ceil as ceil
from consilience.ops.sparse.factorisation import cholesky as cholesky
from consilience.tensor.sparse_construction import clean as clean
from consilience.ops.sparse.elementwise import col_scale as col_scale
from consilience.tensor.dtypes import complex_dtypes as complex_dtypes
from consilience.ops.sparse.elementwise import conjugate as conjugate
from consilience.tensor.sparse_construction import csc_dmatrix as csc_dmatrix
from consilience.tensor.sparse_construction import csc_fmatrix as csc_fmatrix
from consilience.ops.sparse.coordinates import csc_from_dense as csc_from_dense
from consilience.tensor.sparse_construction import csc_matrix as csc_matrix
from consilience.tensor.sparse_construction import csm_data as csm_data
from consilience.tensor.sparse_construction import csm_indices as csm_indices
from consilience.tensor.sparse_construction import csm_indptr as csm_indptr
from consilience.tensor.sparse_construction import csm_properties as csm_properties
from consilience.tensor.sparse_construction import csm_shape as csm_shape
from consilience.tensor.sparse_construction import csr_dmatrix as csr_dmatrix
from consilience.tensor.sparse_construction import csr_fmatrix as csr_fmatrix
from consilience.ops.sparse.coordinates import csr_from_dense as csr_from_dense
from consilience.tensor.sparse_construction import csr_matrix as csr_matrix
from consilience.ops.sparse.elementwise import deg2rad as deg2rad
from consilience.ops.sparse.coordinates import dense_from_sparse as dense_from_sparse
from consilience.ops.sparse.coordinates import diag as diag
from consilience.ops.sparse.multiplication import dot as dot
from consilience.tensor.sparse_construction import ensure_sorted_indices as ensure_sorted_indices
from consilience.ops.sparse.elementwise import expm1 as expm1
from consilience.tensor.dtypes import float_dtypes as float_dtypes
from consilience.ops.sparse.elementwise import floor as floor
from consilience.ops.sparse.coordinates import hstack as hstack
from consilience.tensor.dtypes import integer_dtypes as integer_dtypes
from consilience.ops.sparse.elementwise import log1p as log1p
from consilience.ops.sparse.factorisation import logdet as logdet
from consilience.tensor.sparse_construction import matrix as matrix
from consilience.ops.sparse.elementwise import mul as mul
from consilience.ops.sparse.elementwise import multiply as multiply
from consilience.tensor.sparse_construction import neg as neg
from consilience.ops.sparse.elementwise import rad2deg as rad2deg
from consilience.ops.sparse.elementwise import rint as rint
from consilience.ops.sparse.elementwise import row_scale as row_scale
from consilience.ops.sparse.multiplication import sampling_dot as sampling_dot
from consilience.ops.sparse.elementwise import sgn as sgn
from consilience.ops.sparse.elementwise import sin as sin
from consilience.ops.sparse.elementwise import sinh as sinh
from consilience.ops.sparse.factorisation import solve as solve
from consilience.tensor.sparse_construction import sp_ones_like as sp_ones_like
from consilience.ops.sparse.coordinates import sp_sum as sp_sum
from consilience.tensor.sparse_construction import sp_zeros_like as sp_zeros_like
from consilience.tensor.sparse_construction import sparse_formats as sparse_formats
from consilience.ops.sparse.elementwise import sqr as sqr
from consilience.ops.sparse.elementwise import sqrt as sqrt
from consilience.ops.sparse.coordinates import square_diagonal as square_diagonal
from consilience.ops.sparse.elementwise import structured_abs as structured_abs
from consilience.ops.sparse.elementwise import structured_add as structured_add
from consilience.ops.sparse.multiplication import structured_dot as structured_dot
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
from consilience.tensor.sparse_construction import transpose as transpose
from consilience.ops.sparse.elementwise import true_div as true_div
from consilience.ops.sparse.multiplication import true_dot as true_dot
from consilience.ops.sparse.elementwise import trunc as trunc
from consilience.ops.sparse.multiplication import usmm as usmm
from consilience.ops.sparse.coordinates import vstack as vstack

as_sparse = as_sparse_variable
matmul = dot
power = structured_pow
remove0 = clean

__all__: list[str]
