"""JAX's functions as the shared rules call them (`emitter`)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.numpy import all as all
from jax.numpy import broadcast_to as broadcast_to
from jax.numpy import cos as cos
from jax.numpy import diff as diff
from jax.numpy import floor as floor
from jax.numpy import log as log
from jax.numpy import permute_dims as permute_dims
from jax.numpy import sin as sin
from jax.numpy import sqrt as sqrt
from jax.numpy import where as where
from jax.numpy.linalg import det as det
from jax.numpy.linalg import slogdet as slogdet


def double(x: Any) -> Any:
    """In float64."""
    return x.astype("float64")


def zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Zeros of the dtype of an array."""
    return jnp.zeros(shape, like.dtype)


def positions(x: Any) -> Any:
    """Integers as JAX indexes by them."""
    return x


def repeated_places(counts: Any, total: int) -> Any:
    """Each place as often as its count says."""
    return jnp.repeat(jnp.arange(len(counts)), counts, total_repeat_length=total)


def summed_at(rows: Any, places: Any, length: int) -> Any:
    """Rows summed by their places."""
    return jax.ops.segment_sum(rows, places, length)


def diagonal(x: Any) -> Any:
    """Of each matrix."""
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def cholesky(x: Any) -> tuple[Any, Any]:
    """The lower factor of a symmetric matrix given by its lower triangle, and where there is none."""
    low = jnp.tril(x)
    found = lax.linalg.cholesky(low + jnp.swapaxes(jnp.tril(x, -1), -1, -2), symmetrize_input=False)
    return jnp.tril(found), jnp.isnan(diagonal(found))


def cholesky_inverse(factor: Any) -> Any:
    """The inverse of the matrix with this lower factor."""
    eye = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    half = solve_triangular(factor, eye, True, False)
    return jnp.matmul(jnp.swapaxes(half, -1, -2), half)


def solve_triangular(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """x of a x = b, or of the transpose of a."""
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transposed)


def solve(a: Any, b: Any) -> tuple[Any, Any]:
    """x of a x = b, and where there is none."""
    return jnp.linalg.solve(a, b), slogdet(a)[0] == 0


def inv(x: Any) -> tuple[Any, Any]:
    """The inverse, and where there is none."""
    return jnp.linalg.inv(x), slogdet(x)[0] == 0
