"""`pm.math`: PyMC's mathematical functions, which are those of `consilience.tensor` and some more.

In: tensors, arrays, numbers. Out: expressions. Everything of `consilience.tensor` is found here too.
"""

from consilience.first_use import load_on_use
from consilience.tensor import __all__ as TENSORS
from consilience.tensor.keywords import published

load_on_use(
    __name__,
    {
        "consilience.tensor": " ".join(TENSORS),
        "consilience.tensor.linalg": "cho_solve eigh logdet matrix_inverse norm",
        "tensor.pymc_math": """
            batched_diag block_diagonal cartesian expand_packed_triangular flat_outer flatten_list kron=kronecker
            kron_diag kron_dot kron_solve_lower kron_solve_upper kronecker
        """,
    },
    publish=published,
)
