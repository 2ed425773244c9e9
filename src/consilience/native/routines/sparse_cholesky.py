"""Cholesky factors of sparse matrices whose pattern is known, column by column.

A lower triangle comes in and goes out as its entries column by column, the diagonal first; `rows` are their rows and
`begins` tells where columns begin. For each row, `lines` (with beginnings of its own) are the places of its entries
left of the diagonal, and `columns` their columns.
"""

from __future__ import annotations

from consilience.native.mathematics import sqrt
from consilience.native.typed_python import Array, f64, i32, i64, native


@native
def sparse_cholesky(
    values: Array[f64],
    rows: Array[i32],
    begins: Array[i32],
    line_begins: Array[i32],
    lines: Array[i32],
    columns: Array[i32],
    factor: Array[f64],
    column: Array[f64],
    count: i64,
) -> i64:
    """The factor of a matrix with `count` columns; 0 where it is not positive definite. `column` is memory."""
    for j in range(count):
        first = i64(begins[j])
        last = i64(begins[j + 1])
        for p in range(first, last):
            column[i64(rows[p])] = values[p]
        for q in range(i64(line_begins[j]), i64(line_begins[j + 1])):
            start = i64(lines[q])
            weight = factor[start]
            for p in range(start, i64(begins[i64(columns[q]) + 1])):
                column[i64(rows[p])] -= weight * factor[p]
        pivot = column[j]
        if not pivot > 0.0:
            return 0
        root = sqrt(pivot)
        factor[first] = root
        for p in range(first + 1, last):
            factor[p] = column[i64(rows[p])] / root
    return 1


@native
def sparse_cholesky_pullback(
    factor: Array[f64],
    cotangent: Array[f64],
    rows: Array[i32],
    begins: Array[i32],
    line_begins: Array[i32],
    lines: Array[i32],
    columns: Array[i32],
    result: Array[f64],
    column: Array[f64],
    count: i64,
) -> None:
    """The cotangent of the values from that of the factor, which is overwritten: the steps above in reverse."""
    for back in range(count):
        j = count - 1 - back
        first = i64(begins[j])
        last = i64(begins[j + 1])
        root = factor[first]
        own = cotangent[first]
        for p in range(first + 1, last):
            slope = cotangent[p] / root
            own -= slope * factor[p]
            result[p] = slope
            column[i64(rows[p])] = slope
        result[first] = 0.5 * own / root
        column[j] = result[first]
        for q in range(i64(line_begins[j]), i64(line_begins[j + 1])):
            start = i64(lines[q])
            weight = factor[start]
            total = 0.0
            for p in range(start, i64(begins[i64(columns[q]) + 1])):
                slope = column[i64(rows[p])]
                total += slope * factor[p]
                cotangent[p] -= slope * weight
            cotangent[start] -= total


@native
def sparse_lower_solve(
    factor: Array[f64], rows: Array[i32], begins: Array[i32], solution: Array[f64], count: i64, width: i64
) -> None:
    """L y = b for a matrix b of `count` rows and `width` columns, which y overwrites."""
    for j in range(count):
        first = i64(begins[j])
        for c in range(width):
            value = solution[j * width + c] / factor[first]
            solution[j * width + c] = value
            for p in range(first + 1, i64(begins[j + 1])):
                solution[i64(rows[p]) * width + c] -= factor[p] * value


@native
def sparse_upper_solve(
    factor: Array[f64], rows: Array[i32], begins: Array[i32], solution: Array[f64], count: i64, width: i64
) -> None:
    """L' y = b, in the same way."""
    for back in range(count):
        j = count - 1 - back
        first = i64(begins[j])
        for c in range(width):
            total = solution[j * width + c]
            for p in range(first + 1, i64(begins[j + 1])):
                total -= factor[p] * solution[i64(rows[p]) * width + c]
            solution[j * width + c] = total / factor[first]
