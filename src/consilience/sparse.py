"""Sparse matrices in PyTensor's words: `import consilience.sparse as sparse`.

In: matrices of SciPy, tensors. Out: sparse variables, whose entries and places are ordinary tensors, and dense tensors.
"""

from collections.abc import Sequence

from consilience.first_use import load_on_use

__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path

load_on_use(
    __name__,
    {
        "ops.sparse.coordinates": """
            block_diag csc_from_dense csr_from_dense dense_from_sparse diag hstack sp_sum square_diagonal vstack
        """,
        "ops.sparse.elementwise": """
            add arcsin arcsinh arctan arctanh ceil col_scale conjugate deg2rad expm1 floor log1p mul multiply
            power=structured_pow rad2deg rint row_scale sgn sin sinh sqr sqrt structured_abs structured_add
            structured_exp structured_log structured_maximum structured_minimum structured_pow structured_sigmoid sub
            subtract tan tanh true_div trunc
        """,
        "ops.sparse.factorisation": "SparseFactor cholesky logdet solve",
        "ops.sparse.multiplication": "dot matmul=dot sampling_dot structured_dot true_dot usmm",
        "ops.sparse.variable": "SparseVariable as_sparse=as_sparse_variable as_sparse_variable",
        "tensor.dtypes": "all_dtypes complex_dtypes float_dtypes integer_dtypes",
        "tensor.sparse_construction": """
            CSC CSR as_sparse_or_tensor_variable cast clean csc_dmatrix csc_fmatrix csc_matrix csm_data csm_indices
            csm_indptr csm_properties csm_shape csr_dmatrix csr_fmatrix csr_matrix ensure_sorted_indices matrix neg
            remove0=clean sp_ones_like sp_zeros_like sparse_formats transpose
        """,
    },
    public=True,
)
