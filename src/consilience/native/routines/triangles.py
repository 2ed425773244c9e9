"""Short blocks on the diagonal of triangular matrices: what is left of factors and solutions beside products.

In: blocks of matrices in row-major order, by places and steps in memory. Out: the same memory changed. Libraries are
fast at products and slow here; four rows at a time, with all columns side by side, come near to their speed.
"""

from __future__ import annotations

from consilience.native.mathematics import divide, sqrt
from consilience.native.typed_python import Array, f64, i64, native, simd, stack

WIDTH = 128  # columns that are worked on together, so that caches hold them


@native(contract=True)
def solve_rows(
    a: Array[f64], first: i64, down: i64, right: i64, x: Array[f64], top: i64, step: i64, n: i64, columns: i64
) -> None:
    """Solutions of T X = B in the place of B, for lower triangular T of n rows.

    T[i, k] is `a[first + i down + k right]`, row i of B begins at `x[top + i step]`. Steps may be negative, so that
    upper triangles are lower ones from their end.
    """
    begin = 0
    while begin < columns:
        width = min(WIDTH, columns - begin)
        i = 0
        while i < n:
            own = first + i * (down + right)
            x0 = top + i * step + begin
            rows = min(4, n - i)
            r0 = divide(1.0, a[own])
            if rows < 4:
                for j in simd(width):
                    x[x0 + j] = x[x0 + j] * r0
                for k in range(i + 1, n):
                    c0 = a[own + (k - i) * down]
                    y = top + k * step + begin
                    for j in simd(width):
                        x[y + j] = x[y + j] - c0 * x[x0 + j]
                i += 1
            else:
                x1 = x0 + step
                x2 = x1 + step
                x3 = x2 + step
                r1 = divide(1.0, a[own + down + right])
                r2 = divide(1.0, a[own + 2 * (down + right)])
                r3 = divide(1.0, a[own + 3 * (down + right)])
                l10 = a[own + down]
                l20 = a[own + 2 * down]
                l21 = a[own + 2 * down + right]
                l30 = a[own + 3 * down]
                l31 = a[own + 3 * down + right]
                l32 = a[own + 3 * down + 2 * right]
                for j in simd(width):
                    y0 = x[x0 + j] * r0
                    y1 = (x[x1 + j] - l10 * y0) * r1
                    y2 = (x[x2 + j] - l20 * y0 - l21 * y1) * r2
                    y3 = (x[x3 + j] - l30 * y0 - l31 * y1 - l32 * y2) * r3
                    x[x0 + j] = y0
                    x[x1 + j] = y1
                    x[x2 + j] = y2
                    x[x3 + j] = y3
                k = i + 4
                while k < n:
                    c = own + (k - i) * down
                    z0 = top + k * step + begin
                    c00 = a[c]
                    c01 = a[c + right]
                    c02 = a[c + 2 * right]
                    c03 = a[c + 3 * right]
                    if k + 4 > n:
                        for j in simd(width):
                            first_two = c00 * x[x0 + j] + c01 * x[x1 + j]
                            x[z0 + j] = x[z0 + j] - first_two - c02 * x[x2 + j] - c03 * x[x3 + j]
                        k += 1
                    else:
                        z1 = z0 + step
                        z2 = z1 + step
                        z3 = z2 + step
                        c10 = a[c + down]
                        c11 = a[c + down + right]
                        c12 = a[c + down + 2 * right]
                        c13 = a[c + down + 3 * right]
                        c20 = a[c + 2 * down]
                        c21 = a[c + 2 * down + right]
                        c22 = a[c + 2 * down + 2 * right]
                        c23 = a[c + 2 * down + 3 * right]
                        c30 = a[c + 3 * down]
                        c31 = a[c + 3 * down + right]
                        c32 = a[c + 3 * down + 2 * right]
                        c33 = a[c + 3 * down + 3 * right]
                        for j in simd(width):
                            u0 = x[x0 + j]
                            u1 = x[x1 + j]
                            u2 = x[x2 + j]
                            u3 = x[x3 + j]
                            x[z0 + j] = x[z0 + j] - c00 * u0 - c01 * u1 - c02 * u2 - c03 * u3
                            x[z1 + j] = x[z1 + j] - c10 * u0 - c11 * u1 - c12 * u2 - c13 * u3
                            x[z2 + j] = x[z2 + j] - c20 * u0 - c21 * u1 - c22 * u2 - c23 * u3
                            x[z3 + j] = x[z3 + j] - c30 * u0 - c31 * u1 - c32 * u2 - c33 * u3
                        k += 4
                i += 4
        begin += WIDTH


@native(contract=True)
def upper_factor(a: Array[f64], first: i64, step: i64, n: i64) -> i64:
    """U with U' U = A, by the upper triangle of A from `a[first]`, rows `step` apart; 1 if A is positive definite."""
    good = 1
    for k in range(n):
        own = first + k * step
        if not a[own + k] > 0.0:
            good = 0
        root = sqrt(a[own + k])
        scale = divide(1.0, root)
        a[own + k] = root
        for j in simd(n - k - 1):
            a[own + k + 1 + j] = a[own + k + 1 + j] * scale
        for i in range(k + 1, n):
            factor = a[own + i]
            other = first + i * step
            start = i // 8 * 8  # whole eights, so that none is done by itself: what is below the diagonal is not read
            start = start if start > k else i
            for j in simd(n - start):
                a[other + start + j] = a[other + start + j] - factor * a[own + start + j]
    return good


@native(contract=True)
def lower_inverse(a: Array[f64], first: i64, step: i64, n: i64) -> None:
    """The inverse of a lower triangle of at most 32 rows from `a[first]` in its place, rows `step` apart."""
    own = stack(f64, 32)
    for i in range(n):
        here = first + i * step
        scale = divide(1.0, a[here + i])
        for k in range(i):
            own[k] = a[here + k] * scale
            a[here + k] = 0.0
        a[here + i] = scale
        for k in range(i):
            factor = own[k]
            other = first + k * step
            for j in simd(k + 1):
                a[here + j] = a[here + j] - factor * a[other + j]


@native
def lower_to_upper(source: Array[f64], target: Array[f64], n: i64) -> None:
    """The lower triangle of a matrix as the upper one of another, or of the same one; eight rows at a time."""
    top = 0
    while top < n:
        rows = min(8, n - top)
        for j in range(top + rows):
            if rows == 8 and j <= top:
                b = top * n + j
                a = j * n + top
                target[a] = source[b]
                target[a + 1] = source[b + n]
                target[a + 2] = source[b + 2 * n]
                target[a + 3] = source[b + 3 * n]
                target[a + 4] = source[b + 4 * n]
                target[a + 5] = source[b + 5 * n]
                target[a + 6] = source[b + 6 * n]
                target[a + 7] = source[b + 7 * n]
            else:
                for i in range(max(top, j), top + rows):
                    target[j * n + i] = source[i * n + j]
        top += 8


@native
def upper_to_lower(a: Array[f64], n: i64) -> None:
    """The upper triangle as the lower one of the same matrix, with zeros above the diagonal."""
    left = 0
    while left < n:
        columns = min(8, n - left)
        for i in range(left, n):
            for j in range(left, min(left + columns, i)):
                a[i * n + j] = a[j * n + i]
        left += 8
    for i in range(n):
        for j in simd(n - i - 1):
            a[i * n + i + 1 + j] = 0.0
