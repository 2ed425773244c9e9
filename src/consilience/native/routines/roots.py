"""Parts of square roots of triangular matrices by columns, whose diagonal may have blocks of length 2."""

from __future__ import annotations

from consilience.native.mathematics import hypot, sqrt
from consilience.native.typed_python import Array, f64, i64, native


@native
def root_of_block(t: Array[f64], u: Array[f64], j: i64, n: i64) -> i64:
    """The root of the diagonal block of T that begins at j, and what stands above it in T, written into U.

    Gives the length of the block, or 0 where an eigenvalue has no real root.
    """
    paired = j + 1 < n and t[j * n + j + 1] != 0.0
    length = 2 if paired else 1
    for k in range(j, j + length):
        for i in range(n):
            u[k * n + i] = t[k * n + i] if i < j else 0.0
    a = t[j * n + j]
    if not paired:
        if not a >= 0.0:
            return 0
        u[j * n + j] = sqrt(a)
        return 1
    low = t[j * n + j + 1]
    high = t[(j + 1) * n + j]
    if not low * high < 0.0:
        return 0
    imaginary = sqrt(abs(low)) * sqrt(abs(high))
    size = hypot(a, imaginary)
    real = sqrt(0.5 * (size + a)) if a > 0.0 else imaginary / sqrt(2.0 * (size - a))
    u[j * n + j] = real
    u[(j + 1) * n + j + 1] = real
    u[j * n + j + 1] = 0.5 * low / real
    u[(j + 1) * n + j] = 0.5 * high / real
    return 2


@native
def distance_from_identity(t: Array[f64], n: i64) -> f64:
    """The greatest sum of the absolute values of a row or column, as they stand in memory, of T - I."""
    largest = 0.0
    for k in range(n):
        total = 0.0
        for i in range(n):
            total += abs(t[k * n + i] - (1.0 if i == k else 0.0))
        largest = max(largest, total)
    return largest
