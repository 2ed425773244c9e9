"""Discrete Fourier transforms by Stockham's algorithm, which needs no reordering.

In: complex numbers as pairs, and the powers of exp(-2 pi i / n). Out: sums x_j exp(-2 pi i j k / n), unscaled. Lengths
have no prime factor above 13. Sources: C. Van Loan (1992), "Computational Frameworks for the Fast Fourier Transform",
sections 1.7 and 2.4; for real numbers, two of which count as one complex number, section 4.3.
"""

from __future__ import annotations

from consilience.native.typed_python import Array, f64, i64, native, simd

GREATEST = 13


@native(contract=True)
def pass_of_two(x: Array[f64], y: Array[f64], n: i64, s: i64) -> None:
    """A pass of radix 2 that ends a transform, and so needs no powers. Real and imaginary parts lie n apart."""
    for q in simd(s):
        ar = x[q]
        ai = x[q + n]
        br = x[q + s]
        bi = x[q + (s + n)]
        y[q] = ar + br
        y[q + n] = ai + bi
        y[q + s] = ar - br
        y[q + (s + n)] = ai - bi


@native(contract=True)
def pass_of_three(x: Array[f64], y: Array[f64], w: Array[f64], n: i64, m: i64, s: i64) -> None:
    """A pass of radix 3; `s` transforms of length 3 m lie side by side."""
    half_root = 0.8660254037844386
    for p in range(m):
        ur = w[2 * p * s]
        ui = w[2 * p * s + 1]
        vr = w[4 * p * s]
        vi = w[4 * p * s + 1]
        a = s * p
        b = s * (p + m)
        c = s * (p + 2 * m)
        d = 3 * s * p
        for q in simd(s):
            ar = x[q + a]
            ai = x[q + (a + n)]
            sr = x[q + b] + x[q + c]
            si = x[q + (b + n)] + x[q + (c + n)]
            dr = (x[q + b] - x[q + c]) * half_root
            di = (x[q + (b + n)] - x[q + (c + n)]) * half_root
            hr = ar - 0.5 * sr
            hi = ai - 0.5 * si
            y[q + d] = ar + sr
            y[q + (d + n)] = ai + si
            y[q + (d + s)] = (hr + di) * ur - (hi - dr) * ui
            y[q + (d + s + n)] = (hr + di) * ui + (hi - dr) * ur
            y[q + (d + 2 * s)] = (hr - di) * vr - (hi + dr) * vi
            y[q + (d + 2 * s + n)] = (hr - di) * vi + (hi + dr) * vr


@native(contract=True)
def pass_of_four(x: Array[f64], y: Array[f64], w: Array[f64], n: i64, m: i64, s: i64) -> None:
    """A pass of radix 4."""
    for p in range(m):
        ur = w[2 * p * s]
        ui = w[2 * p * s + 1]
        vr = w[4 * p * s]
        vi = w[4 * p * s + 1]
        tr = w[6 * p * s]
        ti = w[6 * p * s + 1]
        a = s * p
        b = s * (p + m)
        c = s * (p + 2 * m)
        e = s * (p + 3 * m)
        d = 4 * s * p
        for q in simd(s):
            acr = x[q + a] + x[q + c]
            aci = x[q + (a + n)] + x[q + (c + n)]
            bdr = x[q + b] + x[q + e]
            bdi = x[q + (b + n)] + x[q + (e + n)]
            amr = x[q + a] - x[q + c]
            ami = x[q + (a + n)] - x[q + (c + n)]
            bmr = x[q + b] - x[q + e]
            bmi = x[q + (b + n)] - x[q + (e + n)]
            y[q + d] = acr + bdr
            y[q + (d + n)] = aci + bdi
            y[q + (d + s)] = (amr + bmi) * ur - (ami - bmr) * ui
            y[q + (d + s + n)] = (amr + bmi) * ui + (ami - bmr) * ur
            y[q + (d + 2 * s)] = (acr - bdr) * vr - (aci - bdi) * vi
            y[q + (d + 2 * s + n)] = (acr - bdr) * vi + (aci - bdi) * vr
            y[q + (d + 3 * s)] = (amr - bmi) * tr - (ami + bmr) * ti
            y[q + (d + 3 * s + n)] = (amr - bmi) * ti + (ami + bmr) * tr


@native(contract=True)
def pass_of_five(x: Array[f64], y: Array[f64], w: Array[f64], n: i64, m: i64, s: i64) -> None:
    """A pass of radix 5."""
    c1 = 0.30901699437494745
    c2 = -0.8090169943749475
    s1 = 0.9510565162951535
    s2 = 0.5877852522924731
    for p in range(m):
        ur = w[2 * p * s]
        ui = w[2 * p * s + 1]
        vr = w[4 * p * s]
        vi = w[4 * p * s + 1]
        tr = w[6 * p * s]
        ti = w[6 * p * s + 1]
        zr = w[8 * p * s]
        zi = w[8 * p * s + 1]
        a = s * p
        b = s * (p + m)
        c = s * (p + 2 * m)
        e = s * (p + 3 * m)
        f = s * (p + 4 * m)
        d = 5 * s * p
        for q in simd(s):
            ar = x[q + a]
            ai = x[q + (a + n)]
            p1r = x[q + b] + x[q + f]
            p1i = x[q + (b + n)] + x[q + (f + n)]
            m1r = x[q + b] - x[q + f]
            m1i = x[q + (b + n)] - x[q + (f + n)]
            p2r = x[q + c] + x[q + e]
            p2i = x[q + (c + n)] + x[q + (e + n)]
            m2r = x[q + c] - x[q + e]
            m2i = x[q + (c + n)] - x[q + (e + n)]
            g1r = ar + c1 * p1r + c2 * p2r
            g1i = ai + c1 * p1i + c2 * p2i
            g2r = ar + c2 * p1r + c1 * p2r
            g2i = ai + c2 * p1i + c1 * p2i
            h1r = s1 * m1r + s2 * m2r
            h1i = s1 * m1i + s2 * m2i
            h2r = s2 * m1r - s1 * m2r
            h2i = s2 * m1i - s1 * m2i
            y[q + d] = ar + p1r + p2r
            y[q + (d + n)] = ai + p1i + p2i
            y[q + (d + s)] = (g1r + h1i) * ur - (g1i - h1r) * ui
            y[q + (d + s + n)] = (g1r + h1i) * ui + (g1i - h1r) * ur
            y[q + (d + 2 * s)] = (g2r + h2i) * vr - (g2i - h2r) * vi
            y[q + (d + 2 * s + n)] = (g2r + h2i) * vi + (g2i - h2r) * vr
            y[q + (d + 3 * s)] = (g2r - h2i) * tr - (g2i + h2r) * ti
            y[q + (d + 3 * s + n)] = (g2r - h2i) * ti + (g2i + h2r) * tr
            y[q + (d + 4 * s)] = (g1r - h1i) * zr - (g1i + h1r) * zi
            y[q + (d + 4 * s + n)] = (g1r - h1i) * zi + (g1i + h1r) * zr


@native(contract=True)
def pass_of_prime(x: Array[f64], y: Array[f64], w: Array[f64], n: i64, m: i64, s: i64, radix: i64) -> None:
    """A pass of any radix, by its definition."""
    step = n // radix
    for p in range(m):
        for j in range(radix):
            d = s * (radix * p + j)
            for q in simd(s):
                y[q + d] = 0.0
                y[q + (d + n)] = 0.0
            for k in range(radix):
                turn = 2 * ((j * (k * step + p * s)) % n)
                ur = w[turn]
                ui = w[turn + 1]
                a = s * (p + k * m)
                for q in simd(s):
                    y[q + d] = y[q + d] + (x[q + a] * ur - x[q + (a + n)] * ui)
                    y[q + (d + n)] = y[q + (d + n)] + (x[q + a] * ui + x[q + (a + n)] * ur)


@native
def split_parts(x: Array[f64], y: Array[f64], n: i64, first: i64, second: i64) -> None:
    """Pairs to two rows; which part goes first tells the direction of a transform."""
    for i in range(n):
        y[first + i] = x[2 * i]
        y[second + i] = x[2 * i + 1]


@native
def join_parts(x: Array[f64], y: Array[f64], n: i64, first: i64, second: i64) -> None:
    """Two rows to pairs."""
    for i in range(n):
        y[2 * i] = x[first + i]
        y[2 * i + 1] = x[second + i]


@native
def passes(a: Array[f64], b: Array[f64], w: Array[f64], n: i64) -> i64:
    """All passes of one transform, from `a` to `b` and back; 1 if the result lies in `b`."""
    rest = n
    s = 1
    turn = 0
    while rest > 1:
        radix = 4
        if rest % 4 != 0:
            radix = 3
            while radix <= GREATEST and rest % radix != 0:
                radix += 2
            if radix > GREATEST:
                radix = 2  # the last pass
        rest = rest // radix
        source = a if turn == 0 else b
        target = b if turn == 0 else a
        if radix == 4:
            pass_of_four(source, target, w, n, rest, s)
        elif radix == 2:
            pass_of_two(source, target, n, s)
        elif radix == 3:
            pass_of_three(source, target, w, n, rest, s)
        elif radix == 5:
            pass_of_five(source, target, w, n, rest, s)
        else:
            pass_of_prime(source, target, w, n, rest, s, radix)
        s *= radix
        turn = 1 - turn
    return turn


@native
def fourier(x: Array[f64], y: Array[f64], w: Array[f64], work: Array[f64], count: i64, n: i64, inverse: i64) -> None:
    """Transforms of `count` vectors of n complex numbers; `inverse` takes the powers of exp(2 pi i / n).

    w      powers 0 to n - 1 of exp(-2 pi i / n), as pairs
    work   4 n numbers
    """
    first = n if inverse != 0 else 0
    second = n - first
    other = work[2 * n :]
    for number in range(count):
        begin = 2 * n * number
        split_parts(x[begin:], work, n, first, second)
        if passes(work, other, w, n) != 0:
            join_parts(other, y[begin:], n, first, second)
        else:
            join_parts(work, y[begin:], n, first, second)


@native
def unpack_real(z: Array[f64], y: Array[f64], w: Array[f64], count: i64, half: i64) -> None:
    """From transforms of x_0 + i x_1, x_2 + i x_3, ... those of x, of which half + 1 numbers are kept.

    w   powers of exp(-2 pi i / (2 half)), as pairs
    """
    for number in range(count):
        a = z[2 * half * number :]
        b = y[2 * (half + 1) * number :]
        for k in range(half + 1):
            low = 2 * (k if k < half else 0)
            high = 2 * (half - k if k > 0 else 0)
            sr = 0.5 * (a[low] + a[high])
            si = 0.5 * (a[low + 1] - a[high + 1])
            dr = 0.5 * (a[low] - a[high])
            di = 0.5 * (a[low + 1] + a[high + 1])
            b[2 * k] = sr + (di * w[2 * k] + dr * w[2 * k + 1])
            b[2 * k + 1] = si + (di * w[2 * k + 1] - dr * w[2 * k])
        b[2 * half + 1] = 0.0


@native
def pack_real(y: Array[f64], z: Array[f64], w: Array[f64], count: i64, half: i64) -> None:
    """What `unpack_real` undoes, times 2; imaginary parts of the first and the last number count as 0."""
    for number in range(count):
        a = y[2 * (half + 1) * number :]
        b = z[2 * half * number :]
        for k in range(half):
            low = 2 * k
            high = 2 * (half - k)
            li = a[low + 1] if k > 0 else 0.0
            hi = a[high + 1] if k > 0 else 0.0
            sr = a[low] + a[high]
            si = li - hi
            dr = a[low] - a[high]
            di = li + hi
            r = dr * w[2 * k] + di * w[2 * k + 1]
            i = di * w[2 * k] - dr * w[2 * k + 1]
            b[2 * k] = sr - i
            b[2 * k + 1] = si + r
