"""JAX's functions as the shared rules call them (`emitter`): solutions, for one, with where there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from consilience.ir import numpy_dtype


def held(dtype: str) -> np.dtype[Any]:
    """As what JAX holds values of a dtype: in single precision where its double precision is switched off."""
    found: np.dtype[Any] = jax.dtypes.canonicalize_dtype(numpy_dtype(dtype))
    return found


def _diagonal(x: Any) -> Any:
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def _cholesky(x: Any) -> tuple[Any, Any]:
    low = jnp.tril(x)
    found = lax.linalg.cholesky(low + jnp.swapaxes(jnp.tril(x, -1), -1, -2), symmetrize_input=False)
    return jnp.tril(found), jnp.isnan(_diagonal(found))


def _cholesky_inverse(factor: Any) -> Any:
    half = _solve_triangular(factor, jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape))
    return jnp.matmul(jnp.swapaxes(half, -1, -2), half)


def _solve_triangular(a: Any, b: Any, lower: bool = True, transposed: bool = False) -> Any:
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transposed)


XP: Final = SimpleNamespace(
    **{n: getattr(jnp, n) for n in str.split("all broadcast_to cos diff floor log permute_dims sin sqrt where")},
    cholesky=_cholesky,
    cholesky_inverse=_cholesky_inverse,
    det=jnp.linalg.det,
    diagonal=_diagonal,
    double=lambda x: x.astype(held("float64")),
    inv=lambda x: (jnp.linalg.inv(x), jnp.linalg.slogdet(x)[0] == 0),
    positions=lambda x: x,  # integers as JAX indexes by them
    repeated_places=lambda counts, total: jnp.repeat(jnp.arange(len(counts)), counts, total_repeat_length=total),
    slogdet=jnp.linalg.slogdet,
    solve=lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.slogdet(a)[0] == 0),
    solve_triangular=_solve_triangular,
    summed_at=jax.ops.segment_sum,
    zeros=lambda shape, like: jnp.zeros(shape, like.dtype),
)
