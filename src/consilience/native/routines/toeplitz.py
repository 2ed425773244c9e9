"""Inverses of symmetric Toeplitz matrices by the recursion of Levinson and Durbin, in n^2 steps.

In: a first column. Out: what `ops.matrix_equations.ToeplitzInverse` says. Source: G. Golub and C. Van Loan, Matrix
Computations (2013), section 4.7.
"""

from __future__ import annotations

from consilience.native.mathematics import divide
from consilience.native.typed_python import Array, f64, i64, native, simd


@native(contract=True)
def toeplitz_inverse(c: Array[f64], y: Array[f64], work: Array[f64], n: i64) -> i64:
    """The two rows of y; 1 if the matrix is positive definite.

    work    2 n numbers: c, and the coefficients that predict an element from those before it, both backwards
    """
    good = 1
    left = y[n:]
    back = work[n:]
    for i in range(n):
        work[i] = c[n - 1 - i]
        y[i] = 0.0
        back[i] = 0.0
    y[0] = 1.0
    back[n - 1] = 1.0
    variance = c[0]
    left[0] = variance
    if not variance > 0.0:
        good = 0
    for m in range(1, n):
        start = n - 1 - m
        total = 0.0
        for i in simd(m):
            total += y[i] * work[start + i]
        k = divide(-total, variance)
        for i in simd(m + 1):
            p = y[i]
            q = back[start + i]
            y[i] = p + k * q
            back[start + i] = q + k * p
        variance = variance * (1.0 - k * k)
        left[m] = variance
        if not variance > 0.0:
            good = 0
    scale = divide(1.0, variance)
    for i in range(n):
        y[i] = y[i] * scale
    return good
