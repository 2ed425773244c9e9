"""What PyTensor has and this library does not have yet: names, and what serves meanwhile.

In: a name. Out: the sentence for whoever asks for it. Outside: everything that is there.
"""

from __future__ import annotations

from typing import Final

_GROUPS: Final = {
    "loops come later; `pt.cumsum`, `pt.cumprod`, `pt.vectorize` and `pt.cond` are there": """
        scan map reduce foldl foldr
    """,
    "sorting comes later; `pt.max`, `pt.min`, `pt.argmax` and `pt.argmin` are there": """
        sort argsort argpartition partition topk median percentile quantile searchsorted unique bincount
    """,
    "Fourier transforms come later": "fft rfft irfft",
    "sparse matrices come later; index arrays and `.inc` do what sums by group need": "sparse",
    "convolutions come later; `pt.matmul` and slices are there": "convolve convolve1d convolve2d signal nnet",
    """the rest of linear algebra comes later; `pt.linalg` has cholesky, solve, solve_triangular, inv, det,
    slogdet, trace and diagonal""": """
        block_diag eig eigh eigvalsh expm kron lstsq lu matrix_dot matrix_power norm pinv qr qr_full svd
        solve_discrete_are solve_discrete_lyapunov solve_lyapunov cho_solve cho_factor nlinalg slinalg
    """,
    "Einstein sums come later; `pt.tensordot`, `pt.matmul` and `pt.outer` are there": """
        einsum batched_dot batched_tensordot
    """,
    """more special functions come later; gammaln, digamma, trigamma, gammainc, betainc and their inverses, erf,
    erfinv, ndtri and their kin are there""": """
        polygamma tri_gamma iv ive i0 i1 j0 j1 jv kv kve kn hyp2f1 betaln owens_t factorial beta gamma chi2sf
    """,
    "random numbers have a door of their own, `pt.random`, with explicit keys": "RandomStream random_stream",
    "shapes are static where memory is decided; use integers or `x.shape[i]`": "specify_shape specify_broadcastable",
}
_REASONS: Final = {name: " ".join(reason.split()) for reason, names in _GROUPS.items() for name in names.split()}


def reason(door: str, name: str) -> str:
    """Why `name` is not found behind `door`, and what is there in its place."""
    known = _REASONS.get(name)
    return f"module {door!r} has no `{name}`" + (f": {known}." if known else ".")
