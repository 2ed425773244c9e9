"""Cholesky factors of small matrices, and solutions of small systems, eight of them side by side.

In: matrices of at most eight rows, one after the other. Out: what LAPACK gives, up to rounding, without its calls.
"""

from __future__ import annotations

from consilience.native.mathematics import divide, sqrt
from consilience.native.routines import SMALL
from consilience.native.typed_python import Array, f64, i64, native, simd, stack

SIDES = 8


@native
def small_cholesky(x: Array[f64], factor: Array[f64], count: i64, n: i64) -> i64:
    """Lower factors of `count` matrices, perhaps where these lie; 1 if all are positive definite."""
    good = 1
    for number in range(count):
        own = number * n * n
        for j in range(n):
            pivot = x[own + j * n + j]
            for k in range(j):
                pivot -= factor[own + j * n + k] * factor[own + j * n + k]
            if not pivot > 0.0:
                good = 0
            root = sqrt(pivot)
            scale = divide(1.0, root)
            factor[own + j * n + j] = root
            for i in range(j + 1, n):
                y = x[own + i * n + j]
                for k in range(j):
                    y -= factor[own + i * n + k] * factor[own + j * n + k]
                factor[own + i * n + j] = y * scale
                factor[own + j * n + i] = 0.0
    return good


@native(inline=True)
def exchange(x: Array[f64], first: i64, second: i64, chosen: Array[f64], place: i64, wanted: f64) -> None:
    """Exchange two elements of those of eight matrices for which `wanted` is chosen."""
    for m in simd(SIDES):
        p = x[first + m]
        q = x[second + m]
        x[first + m] = q if chosen[place + m] == wanted else p
        x[second + m] = p if chosen[place + m] == wanted else q


@native
def eliminate(a: Array[f64], pivots: Array[f64], inverse: Array[f64], n: i64) -> i64:
    """L, whose diagonal is 1, and U of eight matrices with partial pivoting; 1 if no pivot is 0.

    pivots    the row exchanged with every row
    inverse   of the diagonal of U
    """
    size = stack(f64, SIDES)
    least = 1.0
    for j in range(n):
        top = SIDES * j
        own = SIDES * (j * n + j)
        row = f64(j)
        for m in simd(SIDES):
            size[m] = abs(a[own + m])
            pivots[top + m] = row
        for i in range(j + 1, n):
            below = SIDES * (i * n + j)
            row = f64(i)
            for m in simd(SIDES):
                larger = abs(a[below + m])
                pivots[top + m] = row if larger > size[m] else pivots[top + m]
                size[m] = larger if larger > size[m] else size[m]
        for i in range(j + 1, n):
            for k in range(n):
                exchange(a, SIDES * (j * n + k), SIDES * (i * n + k), pivots, top, f64(i))
        for m in simd(SIDES):
            least = min(least, abs(a[own + m]))
            inverse[top + m] = divide(1.0, a[own + m])
        for i in range(j + 1, n):
            below = SIDES * (i * n + j)
            for m in simd(SIDES):
                a[below + m] = a[below + m] * inverse[top + m]
            for k in range(j + 1, n):
                here = SIDES * (i * n + k)
                above = SIDES * (j * n + k)
                for m in simd(SIDES):
                    a[here + m] = a[here + m] - a[below + m] * a[above + m]
    return 1 if least > 0.0 else 0


@native
def substitute(a: Array[f64], pivots: Array[f64], inverse: Array[f64], y: Array[f64], n: i64) -> None:
    """Solutions of eight systems in the place of their right sides, from what `eliminate` gives."""
    for j in range(n):
        for i in range(j + 1, n):
            exchange(y, SIDES * j, SIDES * i, pivots, SIDES * j, f64(i))
    for i in range(n):
        here = SIDES * i
        for k in range(i):
            there = SIDES * k
            factor = SIDES * (i * n + k)
            for m in simd(SIDES):
                y[here + m] = y[here + m] - a[factor + m] * y[there + m]
    for step in range(n):
        i = n - 1 - step
        here = SIDES * i
        for k in range(i + 1, n):
            there = SIDES * k
            factor = SIDES * (i * n + k)
            for m in simd(SIDES):
                y[here + m] = y[here + m] - a[factor + m] * y[there + m]
        for m in simd(SIDES):
            y[here + m] = y[here + m] * inverse[here + m]


@native
def small_solve(x: Array[f64], right: Array[f64], found: Array[f64], count: i64, n: i64, columns: i64) -> i64:
    """Solutions of `count` systems with so many right sides each; 1 if no pivot is 0."""
    a = stack(f64, SIDES * SMALL * SMALL)
    pivots = stack(f64, SIDES * SMALL)
    inverse = stack(f64, SIDES * SMALL)
    y = stack(f64, SIDES * SMALL)
    good = 1
    first = 0
    while first < count:
        for m in range(SIDES):
            own = min(first + m, count - 1) * n * n  # behind the last matrix the last one again
            for i in range(n * n):
                a[SIDES * i + m] = x[own + i]
        if eliminate(a, pivots, inverse, n) == 0:
            good = 0
        for c in range(columns):
            for m in range(SIDES):
                own = min(first + m, count - 1) * n * columns + c
                for i in range(n):
                    y[SIDES * i + m] = right[own + i * columns]
            substitute(a, pivots, inverse, y, n)
            for m in range(min(SIDES, count - first)):
                own = (first + m) * n * columns + c
                for i in range(n):
                    found[own + i * columns] = y[SIDES * i + m]
        first += SIDES
    return good
