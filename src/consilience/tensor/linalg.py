"""`pt.linalg`: linear algebra on the last two axes, leading axes are a batch."""

from consilience.ops.linalg import (
    cholesky,
    det,
    diagonal,
    inv,
    matrix_transpose,
    slogdet,
    solve,
    solve_triangular,
    trace,
)

__all__ = ["cholesky", "det", "diagonal", "inv", "matrix_transpose", "slogdet", "solve", "solve_triangular", "trace"]
