"""`pt.linalg`: linear algebra on the last two axes, leading axes are a batch."""

import sys
from typing import TYPE_CHECKING

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
from consilience.tensor import absent

if not TYPE_CHECKING:  # type checkers know by themselves what is not there

    def __getattr__(name: str) -> object:
        raise AttributeError(absent.reason(__name__, name), name=name, obj=sys.modules[__name__])


__all__ = ["cholesky", "det", "diagonal", "inv", "matrix_transpose", "slogdet", "solve", "solve_triangular", "trace"]
