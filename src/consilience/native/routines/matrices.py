"""Parts of factorisations around LAPACK's routines: finite numbers, transposes, signs of vectors, orders of pivots.

In: matrices as arrays of their rows one after the other. Out: the same memory changed, or other memory filled.
"""

from __future__ import annotations

from consilience.native.mathematics import isfinite, sqrt
from consilience.native.routines import NEARLY
from consilience.native.typed_python import Array, f64, i32, i64, native, simd


@native
def all_finite(x: Array[f64], count: i64) -> i64:
    """1 if `count` numbers are finite."""
    total = 0.0
    for i in simd(count):
        total += 0.0 * x[i]
    return 1 if isfinite(total) else 0


@native
def triangle_finite(x: Array[f64], n: i64, lower: i64) -> i64:
    """1 if the numbers in one triangle of a square matrix are finite."""
    total = 0.0
    for i in range(n):
        start = i * n if lower != 0 else i * n + i
        for j in simd(i + 1 if lower != 0 else n - i):
            total += 0.0 * x[start + j]
    return 1 if isfinite(total) else 0


@native
def mirror_lower(source: Array[f64], target: Array[f64], n: i64) -> None:
    """The symmetric matrix of a lower triangle."""
    for i in range(n):
        for j in range(i + 1):
            target[i * n + j] = source[i * n + j]
            target[j * n + i] = source[i * n + j]


@native
def transpose(source: Array[f64], target: Array[f64], rows: i64, columns: i64) -> None:
    """target[j, i] = source[i, j], eight rows at a time: a line of memory at either end."""
    top = 0
    while top + 8 <= rows:
        for j in range(columns):
            a = j * rows + top
            b = top * columns + j
            target[a] = source[b]
            target[a + 1] = source[b + columns]
            target[a + 2] = source[b + 2 * columns]
            target[a + 3] = source[b + 3 * columns]
            target[a + 4] = source[b + 4 * columns]
            target[a + 5] = source[b + 5 * columns]
            target[a + 6] = source[b + 6 * columns]
            target[a + 7] = source[b + 7 * columns]
        top += 8
    for i in range(top, rows):
        for j in range(columns):
            target[j * rows + i] = source[i * columns + j]


@native
def leading(x: Array[f64], start: i64, count: i64, step: i64) -> i64:
    """Place of the first of `count` elements that is about as large as the largest."""
    largest = 0.0
    for k in range(count):
        largest = max(largest, abs(x[start + k * step]))
    for k in range(count):
        if abs(x[start + k * step]) >= NEARLY * largest:
            return start + k * step
    return start


@native
def orient_rows(x: Array[f64], count: i64, length: i64) -> None:
    """Turn `count` rows so that the leading element of each is positive."""
    for i in range(count):
        if x[leading(x, i * length, length, 1)] < 0.0:
            for j in range(length):
                x[i * length + j] = -x[i * length + j]


@native
def orient_factors(u: Array[f64], v: Array[f64], count: i64, step: i64, rows: i64, columns: i64) -> None:
    """Turn columns of U (rows x step) and rows of V' (of length `columns`) together, as `orient_rows` does columns."""
    for i in range(count):
        if u[leading(u, i, rows, step)] < 0.0:
            for k in range(rows):
                u[k * step + i] = -u[k * step + i]
            for k in range(columns):
                v[i * columns + k] = -v[i * columns + k]


@native
def upper_rows(source: Array[f64], target: Array[f64], rows: i64, columns: i64, step: i64) -> None:
    """The upper triangle of a matrix whose columns lie `step` apart, in rows, with zeros below it."""
    for i in range(rows):
        for j in range(columns):
            target[i * columns + j] = source[j * step + i] if i <= j else 0.0


@native
def identity(x: Array[f64], n: i64) -> None:
    """The unit matrix."""
    for i in range(n):
        for j in range(n):
            x[i * n + j] = 1.0 if i == j else 0.0


@native
def eigenvectors(packed: Array[f64], imaginary: Array[f64], re: Array[f64], im: Array[f64], n: i64) -> None:
    """Real and imaginary parts of eigenvectors, as columns.

    packed      row k is a vector, or rows k and k + 1 are the parts of two conjugate ones, as `dgeev` gives them
    imaginary   parts of the eigenvalues: not 0 for such pairs
    """
    k = 0
    while k < n:
        pair = imaginary[k] != 0.0 and k + 1 < n
        largest = 0.0
        for i in range(n):
            a = packed[k * n + i]
            b = packed[(k + 1) * n + i] if pair else 0.0
            largest = max(largest, a * a + b * b)
        first = 0
        found = 0
        for i in range(n):
            a = packed[k * n + i]
            b = packed[(k + 1) * n + i] if pair else 0.0
            if found == 0 and a * a + b * b >= NEARLY * NEARLY * largest:
                first = i
                found = 1
        c = packed[k * n + first]
        s = packed[(k + 1) * n + first] if pair else 0.0
        size = sqrt(c * c + s * s)
        c = c / size if size > 0.0 else 1.0
        s = s / size if size > 0.0 else 0.0
        for i in range(n):  # times c - i s
            a = packed[k * n + i]
            b = packed[(k + 1) * n + i] if pair else 0.0
            x = a * c + b * s
            y = b * c - a * s if i != first else 0.0
            re[i * n + k] = x
            im[i * n + k] = y
            if pair:
                re[i * n + k + 1] = x
                im[i * n + k + 1] = -y
        k += 2 if pair else 1


@native
def join_complex(source: Array[f64], target: Array[f64], n: i64) -> None:
    """A real square matrix as a complex one whose columns lie one after the other."""
    for i in range(n):
        for j in range(n):
            target[2 * (j * n + i)] = source[i * n + j]
            target[2 * (j * n + i) + 1] = 0.0


@native
def split_complex(source: Array[f64], re: Array[f64], im: Array[f64], n: i64) -> None:
    """Real and imaginary parts, in rows, of a complex square matrix whose columns lie one after the other."""
    for i in range(n):
        for j in range(n):
            re[i * n + j] = source[2 * (j * n + i)]
            im[i * n + j] = source[2 * (j * n + i) + 1]


@native
def count_from_zero(numbers: Array[i32], count: i64) -> None:
    """One less of every number."""
    for i in range(count):
        numbers[i] = i64(numbers[i]) - 1


@native
def column_numbers(numbers: Array[i32], order: Array[i64], count: i64) -> None:
    """Numbers from 1 as numbers from 0; all in order where they are 0, which says that nothing was found."""
    for i in range(count):
        order[i] = i64(numbers[i]) - 1 if i64(numbers[i]) > 0 else i


@native
def permutation(pivots: Array[i32], order: Array[i64], count: i64, length: i64, inverse: i64) -> None:
    """Exchanges of rows one after the other as positions of `length` rows."""
    for i in range(length):
        order[i] = i
    for step in range(count):
        i = count - 1 - step if inverse != 0 else step
        j = i64(pivots[i])
        if 0 <= j < length:
            k = order[i]
            order[i] = order[j]
            order[j] = k


@native
def unpack_ldl(
    packed: Array[f64], pivots: Array[i32], factor: Array[f64], blocks: Array[f64], order: Array[i64], n: i64
) -> None:
    """The factors that `dsytrf` gives for a lower triangle: L with its rows in place, D, and what makes L triangular.

    packed   column k of L and D in row k
    pivots   from 1; negative in pairs for blocks of length 2
    """
    for i in range(n):
        order[i] = i
        for j in range(n):
            factor[i * n + j] = 1.0 if i == j else 0.0
            blocks[i * n + j] = 0.0
    k = 0
    while k < n:
        pair = i64(pivots[k]) < 0 and k + 1 < n
        width = 2 if pair else 1
        for j in range(k, k + width):
            for i in range(k + width, n):
                factor[i * n + j] = packed[j * n + i]
            blocks[j * n + j] = packed[j * n + j]
        if pair:
            blocks[k * n + k + 1] = packed[k * n + k + 1]
            blocks[(k + 1) * n + k] = packed[k * n + k + 1]
        row = k + width - 1
        other = abs(i64(pivots[row])) - 1
        number = order[row]
        order[row] = order[other]
        order[other] = number
        k += width
    row = n - 1
    while row >= 0:  # every exchange reaches the columns of its step and those behind
        first = row - 1 if i64(pivots[row]) < 0 and row > 0 else row
        other = abs(i64(pivots[row])) - 1
        for j in range(first, n):
            x = factor[row * n + j]
            factor[row * n + j] = factor[other * n + j]
            factor[other * n + j] = x
        row = first - 1
