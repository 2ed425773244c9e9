"""`pt.linalg`: linear algebra on the last two axes, leading axes are a batch; PyTensor's, SciPy's and NumPy's names.

A matrix without a factorisation or inverse makes the function raise LinearAlgebraError. Words about memory and checks
(`overwrite_a`, `overwrite_b`, `check_finite`) are taken and change nothing: the compiler decides about memory.
"""

from collections.abc import Sequence

from consilience.first_use import load_on_use
from consilience.tensor.keywords import published

__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path

load_on_use(
    __name__,
    {
        "consilience.ops.linalg": """
            det diagonal inv matmul matrix_inverse=inv matrix_transpose outer slogdet tensordot trace
        """,
        "linear_systems": "cho_solve cholesky logdet matrix_power solve solve_triangular tensorinv tensorsolve",
        "matrix_equations": """
            solve_banded solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov
            solve_lyapunov solve_sylvester solve_toeplitz tridiagonal_lu_factor tridiagonal_lu_solve
        """,
        "matrix_functions": "expm logm sqrtm",
        "products": "block_diag kron matrix_dot matvec multi_dot vecdot vecmat",
        "singular_values": "cond lstsq matrix_rank norm pinv svd svdvals",
        "special_matrices": "circulant hankel toeplitz",
        "spectra": "eig eigh eigvals eigvalsh ordqz qz schur",
        "triangular_factors": "cho_factor ldl lu lu_factor lu_solve pivot_to_permutation qr qr_full",
    },
    publish=published,
)
