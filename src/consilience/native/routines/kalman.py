"""The Kalman filter with one observation at a time, exact where nothing is known of the first state.

In: the matrices of a linear Gaussian state space and a series, in which NaN is a missing observation. Out: the log
density, and what its derivatives need. What stays outside: correlated observations, which states hold.
Source: J. Durbin and S. J. Koopman, Time Series Analysis by State Space Methods (2012), sections 5.2, 5.3 and 6.4.

Rows of matrices in memory are `m` numbers apart: n, filled up to a multiple of eight. Where all matrices are constant
and the covariance has settled, a step moves the mean alone. Covariances are kept at the first step of every block of
steps, and made again, where derivatives need them, one block at a time.
"""

from __future__ import annotations

import math

from consilience.native.mathematics import divide, isnan, log, sqrt
from consilience.native.typed_python import Array, f64, i64, native, record, simd

SKIPPED = 0.0
ORDINARY = 1.0
DIFFUSE = 2.0
LOG_TWO_PI = 1.8378770664093453
SETTLED = 1e-11  # relative change of covariances
UNKNOWN = 1e-10  # relative variance from which an observation tells of what was not known at all
KNOWN = 1e-13  # relative variance below which an observation without noise is known before
NEVER = -math.inf
CONSISTENT = 1e-6  # deviation of such an observation, in standard deviations of the state before it


@record
class Space:
    """A state space, a series, and memory.

    y, Z, h, T, Q, c (Array): Series (times, p), what is seen (1 or times, p, n), variances (1 or times, p), transition
        (1 or times, n, n), covariance of its noise, intercepts (1 or times, n).
    a1, P1, free (Array): Mean and covariance of the first state; 1 where nothing is known of it, else 0.
    kinds, v, f, gains, means, places (Array): Of each observation: `SKIPPED`, `ORDINARY` or `DIFFUSE`, residual,
        variance, gain (m numbers). Of each time: the mean behind it, and the time whose gains it uses; behind these
        `known_times`, or the density itself where it is -inf or NaN and nothing else was kept.
    kept, kept_free, end (Array): Covariances and diffuse parts at the first step of blocks, (blocks, n, m), and the
        covariance behind the last observation.
    P, Pi, A, B, old, noise (Array): Matrices (n, m) of memory; A and B for what is computed on the way, `noise` for Q.
    a, M, Mi (Array): Vectors of m numbers.
    begins, columns, values, z_begins, z_columns, z_values (Array): Entries of T and Z that are not zero, row by row.
    times, p, n, m, block (int): Lengths; `block` in steps.
    moving_Z, moving_h, moving_T, moving_Q, moving_c, diffuse (int): Whether there is one for each time; whether `free`
        is not zero.
    known_times (int): From this time on no part of the state is diffuse.
    """

    y: Array[f64]
    Z: Array[f64]
    h: Array[f64]
    T: Array[f64]
    Q: Array[f64]
    c: Array[f64]
    a1: Array[f64]
    P1: Array[f64]
    free: Array[f64]
    kinds: Array[f64]
    v: Array[f64]
    f: Array[f64]
    gains: Array[f64]
    means: Array[f64]
    places: Array[f64]
    kept: Array[f64]
    kept_free: Array[f64]
    end: Array[f64]
    P: Array[f64]
    Pi: Array[f64]
    A: Array[f64]
    B: Array[f64]
    old: Array[f64]
    noise: Array[f64]
    a: Array[f64]
    M: Array[f64]
    Mi: Array[f64]
    begins: Array[i64]
    columns: Array[i64]
    values: Array[f64]
    z_begins: Array[i64]
    z_columns: Array[i64]
    z_values: Array[f64]
    times: i64
    p: i64
    n: i64
    m: i64
    block: i64
    moving_Z: i64
    moving_h: i64
    moving_T: i64
    moving_Q: i64
    moving_c: i64
    diffuse: i64
    known_times: i64


@native(inline=True)
def entries(x: Array[f64], rows: i64, n: i64, begins: Array[i64], columns: Array[i64], values: Array[f64]) -> None:
    """Those of a matrix that are not zero."""
    count = 0
    for i in range(rows):
        begins[i] = count
        for j in range(n):
            if x[i * n + j] != 0.0:
                columns[count] = j
                values[count] = x[i * n + j]
                count += 1
    begins[rows] = count


@native(contract=True)
def product(
    begins: Array[i64], columns: Array[i64], values: Array[f64], x: Array[f64], y: Array[f64], n: i64, m: i64
) -> None:
    """y = A x for a square matrix by its entries, two at a time behind the first of a row."""
    for i in range(n):
        row = i * m
        first = begins[i]
        count = begins[i + 1] - first
        if count == 0:
            for j in simd(m):
                y[row + j] = 0.0
            continue
        weight = values[first]
        source = columns[first] * m
        for j in simd(m):
            y[row + j] = weight * x[source + j]
        for k in range((count - 1) // 2):
            e = first + 1 + 2 * k
            weight = values[e]
            source = columns[e] * m
            other = values[e + 1]
            beside = columns[e + 1] * m
            for j in simd(m):
                y[row + j] += weight * x[source + j] + other * x[beside + j]
        if count % 2 == 0:
            weight = values[first + count - 1]
            source = columns[first + count - 1] * m
            for j in simd(m):
                y[row + j] += weight * x[source + j]


@native(contract=True)
def transposed_product(
    begins: Array[i64], columns: Array[i64], values: Array[f64], x: Array[f64], y: Array[f64], n: i64, m: i64
) -> None:
    """y = A' x."""
    for j in simd(n * m):
        y[j] = 0.0
    for i in range(n):
        source = i * m
        for e in range(begins[i], begins[i + 1]):
            weight = values[e]
            row = columns[e] * m
            for j in simd(m):
                y[row + j] += weight * x[source + j]


@native
def turn(x: Array[f64], y: Array[f64], n: i64, m: i64) -> None:
    """y = x', four rows at a time; what stands behind the rows of y stays."""
    whole = n // 4
    for k in range(whole):
        i = 4 * k
        row = i * m
        for j in range(n):
            to = j * m + i
            y[to] = x[row + j]
            y[to + 1] = x[row + m + j]
            y[to + 2] = x[row + 2 * m + j]
            y[to + 3] = x[row + 3 * m + j]
    for i in range(4 * whole, n):
        for j in range(n):
            y[j * m + i] = x[i * m + j]


@native
def mirror(x: Array[f64], n: i64, m: i64) -> None:
    """The upper triangle from the lower one: else differences of rounding stay where T has roots of size 1."""
    for k in range(n // 2):
        i = 2 * k + n % 2
        row = i * m
        for j in range(i):
            to = j * m + i
            x[to] = x[row + j]
            x[to + 1] = x[row + m + j]
        x[row + i + 1] = x[row + m + i]


@native(contract=True)
def moved_vector(s: Space, x: Array[f64], y: Array[f64]) -> None:
    """y = T x."""
    for i in range(s.n):
        total = 0.0
        for e in range(s.begins[i], s.begins[i + 1]):
            total += s.values[e] * x[s.columns[e]]
        y[i] = total


@native(contract=True)
def moved_back(s: Space, x: Array[f64], y: Array[f64]) -> None:
    """y = T' x."""
    for j in range(s.n):
        y[j] = 0.0
    for i in range(s.n):
        for e in range(s.begins[i], s.begins[i + 1]):
            y[s.columns[e]] += s.values[e] * x[i]


@native
def moved(s: Space, x: Array[f64]) -> None:
    """x = T x T'; A is then its T x."""
    product(s.begins, s.columns, s.values, x, s.A, s.n, s.m)
    turn(s.A, s.B, s.n, s.m)
    product(s.begins, s.columns, s.values, s.B, x, s.n, s.m)
    mirror(x, s.n, s.m)


@native
def pulled(s: Space, x: Array[f64]) -> None:
    """x = T' x T."""
    transposed_product(s.begins, s.columns, s.values, x, s.A, s.n, s.m)
    turn(s.A, s.B, s.n, s.m)
    transposed_product(s.begins, s.columns, s.values, s.B, x, s.n, s.m)
    mirror(x, s.n, s.m)


@native(contract=True)
def seen(s: Space, i: i64, x: Array[f64]) -> f64:
    """Z[i] x."""
    total = 0.0
    for e in range(s.z_begins[i], s.z_begins[i + 1]):
        total += s.z_values[e] * x[s.z_columns[e]]
    return total


@native(contract=True)
def across(s: Space, i: i64, x: Array[f64], y: Array[f64]) -> None:
    """y = x Z[i]' for a symmetric x."""
    for j in simd(s.m):
        y[j] = 0.0
    for e in range(s.z_begins[i], s.z_begins[i + 1]):
        weight = s.z_values[e]
        source = s.z_columns[e] * s.m
        for j in simd(s.m):
            y[j] += weight * x[source + j]


@native(contract=True)
def add_outer(x: Array[f64], u: Array[f64], v: Array[f64], weight: f64, n: i64, m: i64) -> None:
    """x += weight u v'."""
    for i in range(n):
        row = i * m
        factor = weight * u[i]
        for j in simd(m):
            x[row + j] += factor * v[j]


@native(contract=True)
def add_both(x: Array[f64], u: Array[f64], v: Array[f64], weight: f64, n: i64, m: i64) -> None:
    """x += weight (u v' + v u')."""
    for i in range(n):
        row = i * m
        first = weight * u[i]
        second = weight * v[i]
        for j in simd(m):
            x[row + j] += first * v[j] + second * u[j]


@native
def widened(x: Array[f64], y: Array[f64], n: i64, m: i64) -> None:
    """A matrix whose rows are n apart to one whose rows are m apart, with zeros behind."""
    for i in range(n):
        for j in range(n):
            y[i * m + j] = x[i * n + j]
        for j in range(n, m):
            y[i * m + j] = 0.0


@native
def read_space(s: Space, t: i64) -> None:
    """Entries of T and Z, and Q, at a time, if they are others than before."""
    if t == 0 or s.moving_T == 1:
        entries(s.T[t * s.moving_T * s.n * s.n :], s.n, s.n, s.begins, s.columns, s.values)
    if t == 0 or s.moving_Z == 1:
        entries(s.Z[t * s.moving_Z * s.p * s.n :], s.p, s.n, s.z_begins, s.z_columns, s.z_values)
    if t == 0 or s.moving_Q == 1:
        widened(s.Q[t * s.moving_Q * s.n * s.n :], s.noise, s.n, s.m)


@native(contract=True)
def forward(s: Space, t: i64) -> None:
    """P = T P T' + Q, and the diffuse part likewise."""
    moved(s, s.P)
    for j in simd(s.n * s.m):
        s.P[j] += s.noise[j]
    if t + 1 < s.known_times:
        moved(s, s.Pi)


@native
def same(s: Space, x: Array[f64], y: Array[f64]) -> i64:
    """1 if two covariances differ by little beside the standard deviations of their rows and columns."""
    for i in range(s.n):
        for j in range(i + 1):
            change = x[i * s.m + j] - y[i * s.m + j]
            if change * change > SETTLED * SETTLED * abs(x[i * s.m + i] * x[j * s.m + j]):
                return 0
    return 1


@native
def copied(x: Array[f64], y: Array[f64], count: i64) -> None:
    """y = x."""
    for j in simd(count):
        y[j] = x[j]


@native
def semidefinite(s: Space) -> i64:
    """1 if P has no eigenvalue below 0, but by rounding: that of a process that is not stationary has."""
    n = s.n
    m = s.m
    copied(s.P, s.A, n * m)
    largest = 0.0
    for k in range(n):
        largest = max(largest, s.P[k * m + k])
    for k in range(n):
        pivot = s.A[k * m + k]
        size = 1e-9 * abs(s.P[k * m + k]) + 1e-14 * largest
        if pivot < -size:
            return 0
        if pivot > size:
            for i in range(k + 1, n):
                factor = s.A[i * m + k] / pivot
                for j in range(k + 1, i + 1):
                    s.A[i * m + j] -= factor * s.A[j * m + k]
    return 1


@native
def begin(s: Space) -> None:
    """Mean and covariance of the first state."""
    n = s.n
    m = s.m
    widened(s.P1, s.P, n, m)
    for j in simd(n * m):  # what memory held there could be numbers that are slow to compute with
        s.B[j] = 0.0
    for j in range(m):
        s.a[j] = s.a1[j] if j < n else 0.0
        s.M[j] = 0.0
        s.Mi[j] = 0.0
    if s.diffuse == 1:
        for i in range(n):
            for j in range(m):
                s.Pi[i * m + j] = s.free[i] if i == j else 0.0


@native(contract=True)
def observe_diffuse(s: Space, place: i64, f: f64, fi: f64) -> None:
    """Covariances behind an observation that tells of what was not known; M = P Z' and Mi are given."""
    n = s.n
    m = s.m
    gain = s.gains[place * m :]
    scale = divide(1.0, fi)
    for j in simd(m):
        gain[j] = s.Mi[j] * scale
    add_outer(s.P, gain, gain, f, n, m)
    add_both(s.P, gain, s.M, -1.0, n, m)
    add_outer(s.Pi, gain, gain, -fi, n, m)


@native
def rest(s: Space) -> f64:
    """The greatest variance that is still diffuse."""
    largest = 0.0
    for i in range(s.n):
        largest = max(largest, s.Pi[i * s.m + i])
    return largest


@native
def given_up(s: Space, density: f64) -> f64:
    """A density of nothing, -inf or NaN: it stands in place of the time from which all is known."""
    for place in range(s.times * s.p):
        s.kinds[place] = SKIPPED
    s.places[s.times] = density
    return density


@native(contract=True)
def kalman_filter(s: Space) -> f64:
    """The log density of the series; -inf where a covariance is not semidefinite or the series is not possible."""
    n = s.n
    m = s.m
    p = s.p
    constant = s.moving_Z + s.moving_h + s.moving_T + s.moving_Q == 0
    begin(s)
    if semidefinite(s) == 0:
        return given_up(s, NEVER)
    diffuse = s.diffuse == 1
    s.known_times = s.times if diffuse else 0
    total = 0.0
    settled = -1
    constants = 0.0
    for t in range(s.times):
        read_space(s, t)
        here = t * p
        complete = 1
        for i in range(p):
            if isnan(s.y[here + i]):
                complete = 0
        if complete == 0:
            settled = -1
        if t % s.block == 0:
            copied(s.P, s.kept[(t // s.block) * n * m :], n * m)
            if diffuse:
                copied(s.Pi, s.kept_free[(t // s.block) * n * m :], n * m)
        s.places[t] = t
        if settled >= 0:
            s.places[t] = settled
            squares = 0.0
            for i in range(p):
                from_ = settled * p + i
                v = s.y[here + i] - seen(s, i, s.a)
                gain = s.gains[from_ * m :]
                s.kinds[here + i] = ORDINARY
                s.v[here + i] = v
                s.f[here + i] = s.f[from_]
                squares += v * v / s.f[from_]
                for j in simd(m):
                    s.a[j] += v * gain[j]
            total -= 0.5 * (constants + squares)
        else:
            regular = complete
            copied(s.P, s.old, n * m)
            constants = 0.0
            change = 0.0
            for i in range(p):
                place = here + i
                s.kinds[place] = SKIPPED
                if isnan(s.y[place]):
                    continue
                v = s.y[place] - seen(s, i, s.a)
                across(s, i, s.P, s.M)
                visible = seen(s, i, s.M)
                noise = s.h[(t * s.moving_h) * p + i]
                f = visible + noise
                gain = s.gains[place * m :]
                s.v[place] = v
                s.f[place] = f
                fi = 0.0
                size = 0.0
                before = 0.0
                for e in range(s.z_begins[i], s.z_begins[i + 1]):
                    k = s.z_columns[e]
                    size += s.z_values[e] * s.z_values[e]
                    before += s.z_values[e] * s.z_values[e] * s.old[k * m + k]
                if diffuse:
                    across(s, i, s.Pi, s.Mi)
                    fi = seen(s, i, s.Mi)
                if fi > UNKNOWN * size:
                    s.kinds[place] = DIFFUSE
                    regular = 0
                    observe_diffuse(s, place, f, fi)
                    total -= 0.5 * (LOG_TWO_PI + log(fi))
                    for j in simd(m):
                        s.a[j] += v * gain[j]
                    if rest(s) < UNKNOWN:
                        diffuse = False
                        s.known_times = t + 1
                elif noise == 0.0 and f <= KNOWN * before and f >= -1e-6 * before:
                    # It follows from those before it: it adds nothing, if it is what it must be.
                    regular = 0
                    bound = CONSISTENT * (sqrt(before) + abs(s.y[place])) + 1e-300
                    if not abs(v) <= bound:
                        return given_up(s, NEVER if not isnan(v) else v)
                elif f > 0.0:
                    s.kinds[place] = ORDINARY
                    scale = divide(1.0, f)
                    for j in simd(m):
                        gain[j] = s.M[j] * scale
                        s.a[j] += v * gain[j]
                    add_outer(s.P, s.M, s.M, -scale, n, m)
                    constants += LOG_TWO_PI + log(f)
                    total -= 0.5 * (LOG_TWO_PI + log(f) + v * v * scale)
                    if t > 0:
                        change = max(change, abs(f - s.f[place - p]) * scale)
                else:
                    return given_up(s, f if isnan(f) else NEVER)
            if t + 1 < s.times:
                possible = constant and regular == 1 and t > 0 and change < 1e-12 and not diffuse
                forward(s, t)
                if possible and same(s, s.P, s.old) == 1:
                    settled = t
        mean = s.means[t * m :]
        copied(s.a, mean, m)
        if t + 1 < s.times:
            moved_vector(s, mean, s.a)
            intercept = t * s.moving_c * n
            for j in range(n):
                s.a[j] += s.c[intercept + j]
    s.places[s.times] = s.known_times
    if settled >= 0 and settled < s.times - 1:
        for i in range(p):
            gain = s.gains[(settled * p + i) * m :]
            add_outer(s.P, gain, gain, -s.f[settled * p + i], n, m)
    copied(s.P, s.end, n * m)
    return total
