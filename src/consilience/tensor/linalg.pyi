"""Written by `python tools/names.py` from the tables of linalg.py; not to be edited."""

from consilience.tensor.products import block_diag as block_diag
from consilience.tensor.triangular_factors import cho_factor as cho_factor
from consilience.tensor.linear_systems import cho_solve as cho_solve
from consilience.tensor.linear_systems import cholesky as cholesky
from consilience.tensor.special_matrices import circulant as circulant
from consilience.tensor.singular_values import cond as cond
from consilience.ops.linalg import det as det
from consilience.ops.linalg import diagonal as diagonal
from consilience.tensor.spectra import eig as eig
from consilience.tensor.spectra import eigh as eigh
from consilience.tensor.spectra import eigvals as eigvals
from consilience.tensor.spectra import eigvalsh as eigvalsh
from consilience.tensor.matrix_functions import expm as expm
from consilience.tensor.special_matrices import hankel as hankel
from consilience.ops.linalg import inv as inv
from consilience.tensor.products import kron as kron
from consilience.tensor.triangular_factors import ldl as ldl
from consilience.tensor.linear_systems import logdet as logdet
from consilience.tensor.matrix_functions import logm as logm
from consilience.tensor.singular_values import lstsq as lstsq
from consilience.tensor.triangular_factors import lu as lu
from consilience.tensor.triangular_factors import lu_factor as lu_factor
from consilience.tensor.triangular_factors import lu_solve as lu_solve
from consilience.ops.linalg import matmul as matmul
from consilience.tensor.products import matrix_dot as matrix_dot
from consilience.tensor.linear_systems import matrix_power as matrix_power
from consilience.tensor.singular_values import matrix_rank as matrix_rank
from consilience.ops.linalg import matrix_transpose as matrix_transpose
from consilience.tensor.products import matvec as matvec
from consilience.tensor.products import multi_dot as multi_dot
from consilience.tensor.singular_values import norm as norm
from consilience.tensor.spectra import ordqz as ordqz
from consilience.ops.linalg import outer as outer
from consilience.tensor.singular_values import pinv as pinv
from consilience.tensor.triangular_factors import pivot_to_permutation as pivot_to_permutation
from consilience.tensor.triangular_factors import qr as qr
from consilience.tensor.triangular_factors import qr_full as qr_full
from consilience.tensor.spectra import qz as qz
from consilience.tensor.spectra import schur as schur
from consilience.ops.linalg import slogdet as slogdet
from consilience.tensor.linear_systems import solve as solve
from consilience.tensor.matrix_equations import solve_banded as solve_banded
from consilience.tensor.matrix_equations import solve_continuous_are as solve_continuous_are
from consilience.tensor.matrix_equations import solve_continuous_lyapunov as solve_continuous_lyapunov
from consilience.tensor.matrix_equations import solve_discrete_are as solve_discrete_are
from consilience.tensor.matrix_equations import solve_discrete_lyapunov as solve_discrete_lyapunov
from consilience.tensor.matrix_equations import solve_lyapunov as solve_lyapunov
from consilience.tensor.matrix_equations import solve_sylvester as solve_sylvester
from consilience.tensor.matrix_equations import solve_toeplitz as solve_toeplitz
from consilience.tensor.linear_systems import solve_triangular as solve_triangular
from consilience.tensor.matrix_functions import sqrtm as sqrtm
from consilience.tensor.singular_values import svd as svd
from consilience.tensor.singular_values import svdvals as svdvals
from consilience.ops.linalg import tensordot as tensordot
from consilience.tensor.linear_systems import tensorinv as tensorinv
from consilience.tensor.linear_systems import tensorsolve as tensorsolve
from consilience.tensor.special_matrices import toeplitz as toeplitz
from consilience.ops.linalg import trace as trace
from consilience.tensor.matrix_equations import tridiagonal_lu_factor as tridiagonal_lu_factor
from consilience.tensor.matrix_equations import tridiagonal_lu_solve as tridiagonal_lu_solve
from consilience.tensor.products import vecdot as vecdot
from consilience.tensor.products import vecmat as vecmat

matrix_inverse = inv

__all__: list[str]
