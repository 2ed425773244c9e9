"""Eigenvalues of many small symmetric matrices by Jacobi's rotations, eight matrices side by side.

In: matrices of at most eight rows, one after the other. Out: eigenvalues in ascending order and eigenvectors as
columns. Source: G. Golub and C. Van Loan, "Matrix Computations", section 8.5.
"""

from __future__ import annotations

from consilience.native.mathematics import divide, isfinite, sqrt
from consilience.native.routines import SMALL
from consilience.native.routines.matrices import leading
from consilience.native.typed_python import Array, f64, i64, native, simd, stack

SIDES = 8
SWEEPS = 40
NOTHING = 1e-300  # of numbers up to 1: no square root of a square is 0
DONE = 1e-17


@native(inline=True)
def rotate(x: Array[f64], first: i64, second: i64, c: Array[f64], s: Array[f64]) -> None:
    """Two elements p and q of every matrix as c p - s q and s p + c q."""
    for m in simd(SIDES):
        p = x[first + m]
        q = x[second + m]
        x[first + m] = c[m] * p - s[m] * q
        x[second + m] = s[m] * p + c[m] * q


@native(inline=True)
def place(i: i64, j: i64, n: i64) -> i64:
    """Where element (i, j) of eight symmetric matrices begins, in the upper triangle."""
    return SIDES * (min(i, j) * n + max(i, j))


@native
def diagonalise(a: Array[f64], v: Array[f64], n: i64, vectors: i64) -> None:
    """Rotate until eight matrices with elements up to 1 are diagonal; rows of v are rotated too."""
    c = stack(f64, SIDES)
    s = stack(f64, SIDES)
    for _ in range(SWEEPS):
        worst = 0.0
        for p in range(n):
            for q in range(p + 1, n):
                pq = place(p, q, n)
                for m in simd(SIDES):
                    worst = max(worst, abs(a[pq + m]))
        if not worst > DONE:
            break
        for p in range(n):
            for q in range(p + 1, n):
                pp = place(p, p, n)
                qq = place(q, q, n)
                pq = place(p, q, n)
                for m in simd(SIDES):
                    d = a[qq + m] - a[pp + m]
                    h = 2.0 * a[pq + m]
                    size = abs(d) + sqrt(d * d + h * h)
                    h = h if d >= 0.0 else -h
                    t = divide(h, size if size > NOTHING else 1.0)
                    one = divide(1.0, sqrt(t * t + 1.0))
                    c[m] = one
                    s[m] = t * one
                    a[pp + m] = a[pp + m] - t * a[pq + m]
                    a[qq + m] = a[qq + m] + t * a[pq + m]
                    a[pq + m] = 0.0
                for k in range(n):
                    if k != p and k != q:
                        rotate(a, place(k, p, n), place(k, q, n), c, s)
                    if vectors != 0:
                        rotate(v, SIDES * (p * n + k), SIDES * (q * n + k), c, s)


@native
def small_eigen(
    x: Array[f64], values: Array[f64], vectors: Array[f64], count: i64, n: i64, lower: i64, wanted: i64
) -> i64:
    """Eigenvalues, and eigenvectors where `wanted`, of `count` matrices; 1 if all read numbers are finite."""
    a = stack(f64, SIDES * SMALL * SMALL)
    v = stack(f64, SIDES * SMALL * SMALL)
    scale = stack(f64, SIDES)
    good = 1
    first = 0
    while first < count:
        for m in range(SIDES):
            own = min(first + m, count - 1) * n * n  # behind the last matrix the last one again
            largest = 0.0
            total = 0.0
            for i in range(n):
                for j in range(i, n):
                    y = x[own + j * n + i] if lower != 0 else x[own + i * n + j]
                    a[SIDES * (i * n + j) + m] = y
                    total += 0.0 * y
                    largest = max(largest, abs(y))
            if not isfinite(total):
                good = 0
                largest = 0.0
            scale[m] = largest if largest > 0.0 else 1.0
            for i in range(n):
                for j in range(i, n):
                    k = SIDES * (i * n + j) + m
                    a[k] = divide(a[k], scale[m]) if largest > 0.0 else 0.0
        for i in range(n):
            for j in range(n):
                for m in simd(SIDES):
                    v[SIDES * (i * n + j) + m] = 1.0 if i == j else 0.0
        diagonalise(a, v, n, wanted)
        for m in range(min(SIDES, count - first)):
            for i in range(n):
                mine = a[SIDES * (i * n + i) + m]
                rank = 0
                for j in range(n):
                    other = a[SIDES * (j * n + j) + m]
                    if other < mine or (other == mine and j < i):
                        rank += 1
                values[(first + m) * n + rank] = mine * scale[m]
                if wanted != 0:
                    top = leading(v, SIDES * i * n + m, n, SIDES)
                    sign = -1.0 if v[top] < 0.0 else 1.0
                    for k in range(n):
                        vectors[((first + m) * n + k) * n + rank] = sign * v[SIDES * (i * n + k) + m]
        first += SIDES
    return good
