"""Derivatives of the log density that the Kalman filter gives, by everything that it was given.

In: what `kalman` took and kept. Out: derivatives, all of them in one pass backwards. No covariance but the first of
each block is stored: the others are made again where T or Z are variable, or parts of the states diffuse. Where the
filter has settled, the second moments of what comes back settle too, and sums of outer products remain.
"""

from __future__ import annotations

from consilience.native.mathematics import divide, isnan
from consilience.native.routines.kalman import (
    DIFFUSE,
    ORDINARY,
    Space,
    across,
    add_outer,
    begin,
    copied,
    forward,
    moved_back,
    moved_vector,
    observe_diffuse,
    product,
    pulled,
    read_space,
    same,
    seen,
)
from consilience.native.typed_python import Array, f64, i64, native, record, simd


@record
class Slopes:
    """Derivatives, and memory for them.

    y, Z, h, T, Q, c, a1, P1 (Array): In the shapes of `Space`.
    start (Array): What the diffuse part of the first state is multiplied by to give its smoothed mean, n numbers.
    r, diffuse_r, w, M, Mi (Array): Vectors of m numbers.
    G, Gi, old, outer, second, of_T, of_Q (Array): Matrices (n, m); the last two hold derivatives by T and Q.
    made, made_free (Array): Covariances at the steps of a block, (block, n, m).
    inner, inner_free (Array): Covariances before each observation of a time, (p, n, m).
    with_mean, with_slope, changes (Array): Sums over settled times for each observation: (p, m), (p, m), p numbers.
    recent (Array): What came back at the last settled times, of which no products are summed yet, (4, m).
    weighted, spreads (Array): N times the gain of each observation, (p, m), and the variance of what comes back to it,
        p numbers.
    asked (Array): Columns of T by which derivatives are asked for.
    variable_T, variable_Z (int): The number of these columns, and whether derivatives by Z are asked for.
    waiting, held (int): How many vectors `recent` holds, and how many times G was equal and is not summed yet.
    """

    y: Array[f64]
    Z: Array[f64]
    h: Array[f64]
    T: Array[f64]
    Q: Array[f64]
    c: Array[f64]
    a1: Array[f64]
    P1: Array[f64]
    start: Array[f64]
    r: Array[f64]
    diffuse_r: Array[f64]
    w: Array[f64]
    M: Array[f64]
    Mi: Array[f64]
    G: Array[f64]
    Gi: Array[f64]
    old: Array[f64]
    outer: Array[f64]
    second: Array[f64]
    of_T: Array[f64]
    of_Q: Array[f64]
    made: Array[f64]
    made_free: Array[f64]
    inner: Array[f64]
    inner_free: Array[f64]
    with_mean: Array[f64]
    with_slope: Array[f64]
    changes: Array[f64]
    recent: Array[f64]
    weighted: Array[f64]
    spreads: Array[f64]
    asked: Array[i64]
    variable_T: i64
    variable_Z: i64
    waiting: i64
    held: i64


@native
def zero(x: Array[f64], count: i64) -> None:
    """x = 0."""
    for j in simd(count):
        x[j] = 0.0


@native(contract=True)
def dot(x: Array[f64], y: Array[f64], n: i64) -> f64:
    """x'y, in four sums that do not wait for each other."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    whole = n // 4
    for k in range(whole):
        j = 4 * k
        a += x[j] * y[j]
        b += x[j + 1] * y[j + 1]
        c += x[j + 2] * y[j + 2]
        d += x[j + 3] * y[j + 3]
    for j in range(4 * whole, n):
        a += x[j] * y[j]
    return (a + b) + (c + d)


@native(contract=True)
def times_vector(x: Array[f64], v: Array[f64], y: Array[f64], n: i64, m: i64) -> None:
    """y = x v for a symmetric x."""
    for j in simd(m):
        y[j] = 0.0
    for i in range(n):
        weight = v[i]
        row = i * m
        for j in simd(m):
            y[j] += weight * x[row + j]


@native
def observe_again(s: Space, place: i64, i: i64) -> None:
    """Covariances behind an observation, once more."""
    if s.kinds[place] == ORDINARY:
        gain = s.gains[place * s.m :]
        add_outer(s.P, gain, gain, -s.f[place], s.n, s.m)
    elif s.kinds[place] == DIFFUSE:
        across(s, i, s.P, s.M)
        across(s, i, s.Pi, s.Mi)
        observe_diffuse(s, place, s.f[place], seen(s, i, s.Mi))


@native
def remake(s: Space, o: Slopes, first: i64, end: i64) -> None:
    """Covariances at the steps of a block."""
    size = s.n * s.m
    copied(s.kept[(first // s.block) * size :], s.P, size)
    if first < s.known_times:
        copied(s.kept_free[(first // s.block) * size :], s.Pi, size)
    for t in range(first, end):
        copied(s.P, o.made[(t - first) * size :], size)
        if t < s.known_times:
            copied(s.Pi, o.made_free[(t - first) * size :], size)
        if t + 1 < end and i64(s.places[t]) == t:
            read_space(s, t)
            for i in range(s.p):
                observe_again(s, t * s.p + i, i)
            forward(s, t)


@native
def pass_time(s: Space, o: Slopes, t: i64) -> None:
    """Covariances before each observation of a time, and behind the last one."""
    size = s.n * s.m
    copied(o.made[(t % s.block) * size :], s.P, size)
    if t < s.known_times:
        copied(o.made_free[(t % s.block) * size :], s.Pi, size)
    for i in range(s.p):
        copied(s.P, o.inner[i * size :], size)
        if t < s.known_times:
            copied(s.Pi, o.inner_free[i * size :], size)
        observe_again(s, t * s.p + i, i)


@native(contract=True)
def add_moved(s: Space, o: Slopes, left: Array[f64], x: Array[f64], weight: f64) -> None:
    """of_T += weight left T x, in the columns that are asked for, for symmetric matrices."""
    n = s.n
    m = s.m
    if 2 * o.variable_T <= n:
        for place in range(o.variable_T):
            column = o.asked[place]
            moved_vector(s, x[column * m :], s.B)
            times_vector(left, s.B, s.A, n, m)
            for i in range(n):
                o.of_T[i * m + column] += weight * s.A[i]
    else:
        product(s.begins, s.columns, s.values, x, s.A, n, m)
        for i in range(n):
            row = i * m
            for k in range(n):
                factor = weight * left[i * m + k]
                source = k * m
                for j in simd(m):
                    o.of_T[row + j] += factor * s.A[source + j]


@native(contract=True)
def add_mean(s: Space, o: Slopes, t: i64) -> None:
    """of_T += r a', for the mean behind the observations of a time, in these columns."""
    mean = s.means[t * s.m :]
    if 2 * o.variable_T <= s.n:
        for place in range(o.variable_T):
            column = o.asked[place]
            for i in range(s.n):
                o.of_T[i * s.m + column] += o.r[i] * mean[column]
    else:
        add_outer(o.of_T, o.r, mean, 1.0, s.n, s.m)


@native
def keep_transition(s: Space, o: Slopes, t: i64) -> None:
    """The derivative by T of a time, or of all times, to where it belongs."""
    if o.variable_T > 0:
        to = o.T[t * s.moving_T * s.n * s.n :]
        for i in range(s.n):
            for j in range(s.n):
                to[i * s.n + j] = o.of_T[i * s.m + j]
        zero(o.of_T, s.n * s.m)


@native
def keep_noise(s: Space, o: Slopes, t: i64) -> None:
    """The derivative by Q of a time, or of all times, to where it belongs."""
    to = o.Q[t * s.moving_Q * s.n * s.n :]
    for i in range(s.n):
        for j in range(s.n):
            to[i * s.n + j] = o.of_Q[i * s.m + j]
    zero(o.of_Q, s.n * s.m)


@native(contract=True)
def add_entries(s: Space, i: i64, x: Array[f64], vector: Array[f64], weight: f64) -> None:
    """x += weight (vector Z[i] + Z[i]' vector')."""
    for e in range(s.z_begins[i], s.z_begins[i + 1]):
        k = s.z_columns[e]
        factor = weight * s.z_values[e]
        for j in simd(s.m):
            x[k * s.m + j] += factor * vector[j]
        for j in range(s.n):
            x[j * s.m + k] += factor * vector[j]


@native(contract=True)
def add_seen(s: Space, i: i64, x: Array[f64], weight: f64) -> None:
    """x += weight Z[i]'."""
    for e in range(s.z_begins[i], s.z_begins[i + 1]):
        x[s.z_columns[e]] += weight * s.z_values[e]


@native(contract=True)
def ordinary(s: Space, o: Slopes, t: i64, i: i64) -> None:
    """Backwards through an ordinary observation."""
    n = s.n
    m = s.m
    place = t * s.p + i
    gain = s.gains[place * m :]
    f = s.f[place]
    scale = divide(1.0, f)
    scaled = s.v[place] * scale
    times_vector(o.G, gain, o.w, n, m)
    by_gain = dot(o.r, gain, n)
    u = scaled - by_gain
    of_f = 0.5 * (u * u - scale - by_gain * by_gain) + dot(gain, o.w, n)
    v = s.v[place]
    for j in simd(m):
        o.w[j] = o.r[j] * scaled - 2.0 * o.w[j]
        s.a[j] -= v * gain[j]
    add_seen(s, i, o.w, of_f)
    o.y[place] = -u
    o.h[t * s.moving_h * s.p + i] += of_f
    if o.variable_Z == 1:
        to = o.Z[(t * s.moving_Z * s.p + i) * n :]
        times_vector(o.inner[i * n * m :], o.w, o.M, n, m)
        for j in range(n):
            to[j] += of_f * f * gain[j] + u * s.a[j] + o.M[j]
    add_entries(s, i, o.G, o.w, 0.5)
    add_seen(s, i, o.r, u)
    if t < s.known_times:
        add_seen(s, i, o.diffuse_r, -dot(gain, o.diffuse_r, n))


@native(contract=True)
def diffuse(s: Space, o: Slopes, t: i64, i: i64) -> None:
    """Backwards through an observation that told of what was not known."""
    n = s.n
    m = s.m
    place = t * s.p + i
    gain = s.gains[place * m :]
    f = s.f[place]
    v = s.v[place]
    across(s, i, o.inner[i * n * m :], s.M)
    across(s, i, o.inner_free[i * n * m :], s.Mi)
    fi = seen(s, i, s.Mi)
    scale = divide(1.0, fi)
    by_gain = dot(o.r, gain, n)
    times_vector(o.Gi, gain, o.Mi, n, m)
    of_fi = -0.5 * scale - dot(gain, o.Mi, n)
    times_vector(o.G, s.M, o.M, n, m)
    times_vector(o.G, gain, o.w, n, m)
    of_f = dot(gain, o.w, n)
    for j in range(m):
        o.Mi[j] = (o.r[j] * v + 2.0 * f * o.w[j] - 2.0 * o.M[j] - 2.0 * fi * o.Mi[j]) * scale
        o.M[j] = -2.0 * o.w[j]
        s.a[j] -= v * gain[j]
    of_fi -= dot(o.Mi, gain, n)
    add_seen(s, i, o.M, of_f)
    add_seen(s, i, o.Mi, of_fi)
    o.y[place] = by_gain
    o.h[t * s.moving_h * s.p + i] += of_f
    if o.variable_Z == 1:
        to = o.Z[(t * s.moving_Z * s.p + i) * n :]
        times_vector(o.inner[i * n * m :], o.M, o.w, n, m)
        for j in range(n):
            to[j] += of_f * s.M[j] + of_fi * s.Mi[j] - by_gain * s.a[j] + o.w[j]
        times_vector(o.inner_free[i * n * m :], o.Mi, o.w, n, m)
        for j in range(n):
            to[j] += o.w[j]
    add_entries(s, i, o.G, o.M, 0.5)
    add_entries(s, i, o.Gi, o.Mi, 0.5)
    told = (v + by_gain * f - dot(o.r, s.M, n)) * scale
    add_seen(s, i, o.diffuse_r, told - dot(gain, o.diffuse_r, n))
    add_seen(s, i, o.r, -by_gain)


@native(contract=True)
def add_recent(s: Space, o: Slopes) -> None:
    """outer += r r' for the vectors that wait."""
    m = s.m
    zero(o.recent[o.waiting * m :], (4 - o.waiting) * m)
    a = o.recent
    b = o.recent[m:]
    c = o.recent[2 * m :]
    d = o.recent[3 * m :]
    for i in range(s.n):
        row = i * m
        for j in simd(m):
            o.outer[row + j] += a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + d[i] * d[j]
    o.waiting = 0


@native(contract=True)
def settled_step(s: Space, o: Slopes, t: i64, still: i64) -> i64:
    """Backwards through a time whose gains were those of an earlier one; G holds second moments N of what comes back.

    `still` is 1 where these have settled too; what is returned is `still` for the time before.
    """
    n = s.n
    m = s.m
    p = s.p
    size = n * m
    from_ = i64(s.places[t])
    mean = s.means[t * m :]
    for j in range(n):
        o.c[t * s.moving_c * n + j] += o.r[j]
    copied(o.r, o.recent[o.waiting * m :], m)
    o.waiting += 1
    if o.waiting == 4:
        add_recent(s, o)
    if o.variable_T > 0:
        add_mean(s, o, t)
    if still == 1:
        o.held += 1
    else:
        for j in simd(size):
            o.second[j] += o.G[j]
        copied(o.G, o.old, size)
        pulled(s, o.G)
    moved_back(s, o.r, o.w)
    copied(o.w, o.r, m)
    if o.variable_Z == 1:
        copied(mean, s.a, m)
    for back in range(p):
        i = p - 1 - back
        gain = s.gains[(from_ * p + i) * m :]
        v = s.v[t * p + i]
        scale = divide(1.0, s.f[from_ * p + i])
        u = v * scale - dot(o.r, gain, n)
        weights = o.weighted[i * m :]
        if still == 0:
            times_vector(o.G, gain, weights, n, m)
            o.spreads[i] = scale + dot(gain, weights, n)
        change = u * u - o.spreads[i]
        o.y[t * p + i] = -u
        o.h[i] += 0.5 * change
        o.changes[i] += change
        if o.variable_Z == 1:
            slope = o.with_slope[i * m :]
            level = o.with_mean[i * m :]
            for j in simd(m):
                s.a[j] -= v * gain[j]
                level[j] += u * s.a[j]
                slope[j] += u * o.r[j] + weights[j]
        if still == 0:
            add_entries(s, i, o.G, weights, -1.0)
            factor = o.spreads[i]
            for e in range(s.z_begins[i], s.z_begins[i + 1]):
                add_seen(s, i, o.G[s.z_columns[e] * m :], factor * s.z_values[e])
        add_seen(s, i, o.r, u)
    return still if still == 1 else same(s, o.G, o.old)


@native(contract=True)
def leave_settled(s: Space, o: Slopes, t: i64) -> None:
    """Sums over settled times to where they belong; P is the covariance behind time t, whose gains they used."""
    n = s.n
    m = s.m
    add_recent(s, o)
    held = f64(o.held)
    for j in simd(n * m):
        o.outer[j] -= o.second[j] + held * o.G[j]
    for j in simd(n * m):
        o.of_Q[j] += 0.5 * o.outer[j]
    if o.variable_T > 0:
        add_moved(s, o, o.outer, s.P, 1.0)
    if o.variable_Z == 1:
        for i in range(s.p):
            slope = o.with_slope[i * m :]
            add_seen(s, i, slope, o.changes[i])
            times_vector(o.inner[i * n * m :], slope, o.w, n, m)
            for j in range(n):
                o.Z[i * n + j] += o.with_mean[i * m + j] + o.w[j]
    for i in range(n):
        for j in range(n):
            o.G[i * m + j] = 0.5 * (o.r[i] * o.r[j] - o.G[i * m + j])


@native(contract=True)
def enter_settled(s: Space, o: Slopes) -> None:
    """Sums of nothing, and second moments in place of G."""
    size = s.n * s.m
    zero(o.outer, size)
    zero(o.second, size)
    zero(o.with_mean, s.p * s.m)
    zero(o.with_slope, s.p * s.m)
    zero(o.changes, s.p)
    o.waiting = 0
    o.held = 0
    for i in range(s.n):
        for j in range(s.n):
            o.G[i * s.m + j] = o.r[i] * o.r[j] - 2.0 * o.G[i * s.m + j]


@native(contract=True)
def back_in_time(s: Space, o: Slopes, t: i64) -> None:
    """Backwards through the transition that follows a time; P is the covariance behind its observations."""
    n = s.n
    m = s.m
    intercept = t * s.moving_c * n
    for i in range(n):
        o.c[intercept + i] += o.r[i]
    for j in simd(n * m):
        o.of_Q[j] += o.G[j]
    if s.moving_Q == 1:
        keep_noise(s, o, t)
    if o.variable_T > 0:
        add_mean(s, o, t)
        add_moved(s, o, o.G, s.P, 2.0)
        if t + 1 < s.known_times:
            add_moved(s, o, o.Gi, s.Pi, 2.0)
        if s.moving_T == 1:
            keep_transition(s, o, t)
    pulled(s, o.G)
    moved_back(s, o.r, o.w)
    copied(o.w, o.r, m)
    if t + 1 < s.known_times:
        pulled(s, o.Gi)
        moved_back(s, o.diffuse_r, o.w)
        copied(o.w, o.diffuse_r, m)


@native
def clear(s: Space, o: Slopes) -> None:
    """Derivatives of 0, before any is known."""
    n = s.n
    p = s.p
    size = n * s.m
    later = s.times - 1
    zero(o.y, s.times * p)
    zero(o.Z, (1 + s.moving_Z * later) * p * n)
    zero(o.h, (1 + s.moving_h * later) * p)
    zero(o.T, (1 + s.moving_T * later) * n * n)
    zero(o.Q, (1 + s.moving_Q * later) * n * n)
    zero(o.c, (1 + s.moving_c * later) * n)
    zero(o.r, s.m)
    zero(o.diffuse_r, s.m)
    zero(o.w, s.m)
    zero(o.G, size)
    zero(o.Gi, size)
    zero(o.of_T, size)
    zero(o.of_Q, size)


@native
def give_up(s: Space, o: Slopes, density: f64) -> None:
    """Derivatives of a density of -inf are 0; where it is NaN, those by the first mean say so."""
    for i in range(s.n):
        o.a1[i] = density if isnan(density) else 0.0
        o.start[i] = 0.0
        for j in range(s.n):
            o.P1[i * s.n + j] = o.a1[i]


@native
def kalman_slopes(s: Space, o: Slopes) -> None:
    """All derivatives of the log density."""
    n = s.n
    m = s.m
    kept = s.places[s.times]
    clear(s, o)
    if not kept >= 0.0:
        give_up(s, o, kept)
        return
    begin(s)
    s.known_times = i64(kept)
    if s.times > 0:
        read_space(s, 0)
    settled = -1
    still = 0
    for back in range(s.times):
        t = s.times - 1 - back
        first = t - t % s.block
        asked = o.variable_T + o.variable_Z > 0 or first < s.known_times
        if asked and (back == 0 or (t + 1) % s.block == 0) and i64(s.places[t]) >= first:
            remake(s, o, first, t + 1)
        if i64(s.places[t]) != t:
            if settled < 0:
                enter_settled(s, o)
                still = 0
            settled = i64(s.places[t])
            still = settled_step(s, o, t, still)
            continue
        read_space(s, t)
        if asked:
            pass_time(s, o, t)
        if settled == t:
            leave_settled(s, o, t)
        settled = -1
        if back > 0:
            back_in_time(s, o, t)
        copied(s.means[t * m :], s.a, m)
        for behind in range(s.p):
            i = s.p - 1 - behind
            kind = s.kinds[t * s.p + i]
            if kind == ORDINARY:
                ordinary(s, o, t, i)
            elif kind == DIFFUSE:
                diffuse(s, o, t, i)
    if s.moving_T == 0:
        keep_transition(s, o, 0)
    if s.moving_Q == 0:
        keep_noise(s, o, 0)
    for i in range(n):
        o.a1[i] = o.r[i]
        o.start[i] = o.diffuse_r[i]
        for j in range(n):
            o.P1[i * n + j] = o.G[i * m + j]
