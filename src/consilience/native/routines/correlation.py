"""Sums of products of a small matrix with the parts of a large one that it may lie on.

In: two batches of matrices. Out: one sum per place, added up over four columns of the small matrix at a time.
"""

from __future__ import annotations

from consilience.native.typed_python import Array, f64, i64, native, simd


@native(contract=True)
def correlate(
    x: Array[f64], h: Array[f64], y: Array[f64], count: i64, height: i64, width: i64, rows: i64, columns: i64
) -> None:
    """y[i, j] = sum over k, m of x[i + k, j + m] h[k, m] for `count` pairs of matrices."""
    across = width - columns + 1
    down = height - rows + 1
    for number in range(count):
        a = x[number * height * width :]
        b = h[number * rows * columns :]
        c = y[number * down * across :]
        for i in range(down):
            target = i * across
            for j in simd(across):
                c[j + target] = 0.0
            for k in range(rows):
                line = (i + k) * width
                own = k * columns
                m = 0
                while m + 4 <= columns:
                    h0 = b[own + m]
                    h1 = b[own + m + 1]
                    h2 = b[own + m + 2]
                    h3 = b[own + m + 3]
                    p = line + m
                    for j in simd(across):
                        c[j + target] = (
                            c[j + target]
                            + h0 * a[j + p]
                            + h1 * a[j + (p + 1)]
                            + h2 * a[j + (p + 2)]
                            + h3 * a[j + (p + 3)]
                        )
                    m += 4
                while m < columns:
                    h0 = b[own + m]
                    p = line + m
                    for j in simd(across):
                        c[j + target] = c[j + target] + h0 * a[j + p]
                    m += 1
