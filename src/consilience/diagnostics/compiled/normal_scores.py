"""Normal quantiles, and the table of normal scores of all ranks."""

from __future__ import annotations

from consilience.native.mathematics import log, sqrt
from consilience.native.typed_python import Array, f64, i64, native, simd, stack


@native(shared=True)
def near_median(q: Array[f64], count: i64) -> None:
    """In place: normal quantiles of the probabilities 1/2 + q, |q| <= 0.425."""
    for i in simd(count):
        r = 0.180625 - q[i] * q[i]
        above = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        above = (above * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4
        above = (above * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3
        above = (above * r + 1.3314166789178437745e2) * r + 3.3871328727963666080
        below = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        below = (below * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4
        below = (below * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2
        below = (below * r + 4.2313330701600911252e1) * r + 1.0
        q[i] = q[i] * above / below


@native(inline=True)
def towards_tail(r: f64) -> f64:
    """Minus the normal quantile of the probability exp(-r^2), 1.6 < r <= 5."""
    s = r - 1.6
    above = 7.74545014278341407640e-4 * s + 2.27238449892691845833e-2
    above = (above * s + 2.41780725177450611770e-1) * s + 1.27045825245236838258
    above = (above * s + 3.64784832476320460504) * s + 5.76949722146069140550
    above = (above * s + 4.63033784615654529590) * s + 1.42343711074968357734
    below = 1.05075007164441684324e-9 * s + 5.47593808499534494600e-4
    below = (below * s + 1.51986665636164571966e-2) * s + 1.48103976427480074590e-1
    below = (below * s + 6.89767334985100004550e-1) * s + 1.67638483018380384940
    below = (below * s + 2.05319162663775882187) * s + 1.0
    return above / below


@native(inline=True)
def far_tail(r: f64) -> f64:
    """Minus the normal quantile of the probability exp(-r^2), r > 5."""
    s = r - 5.0
    above = 2.01033439929228813265e-7 * s + 2.71155556874348757815e-5
    above = (above * s + 1.24266094738807843860e-3) * s + 2.65321895265761230930e-2
    above = (above * s + 2.96560571828504891230e-1) * s + 1.78482653991729133580
    above = (above * s + 5.46378491116411436990) * s + 6.65790464350110377720
    below = 2.04426310338993978564e-15 * s + 1.42151175831644588870e-7
    below = (below * s + 1.84631831751005468180e-5) * s + 7.86869131145613259100e-4
    below = (below * s + 1.48753612908506148525e-2) * s + 1.36929880922735805310e-1
    below = (below * s + 5.99832206555887937690e-1) * s + 1.0
    return above / below


@native
def normal_quantile(p: f64) -> f64:
    """Normal quantile of 0 < p <= 1/2, to about 1e-16 of its size.

    Source: Wichura (1988), Algorithm AS 241: The percentage points of the normal distribution, PPND16.
    """
    q = p - 0.5
    if q >= -0.425:
        place = stack(f64, 1)
        place[0] = q
        near_median(place, 1)
        return place[0]
    r = sqrt(-log(p))
    if r <= 5.0:
        return -towards_tail(r)
    return -far_tail(r)


@native
def score_table(count: i64, table: Array[f64]) -> None:
    """Normal scores of the ranks 1, 3/2, 2, ..., count; element i, of 2 count - 1, belongs to rank 1 + i/2.

    Score of rank r: the normal quantile of (r - 3/8) / (count + 1/4). Equal draws have half ranks.
    Source: Blom (1958), Statistical Estimates and Transformed Beta-Variables.
    """
    size = f64(count) + 0.25
    part = 1.0 / size
    tail = min(count - 1, i64(0.15 * size))  # from here on, within 0.425 of the median's probability
    for i in range(tail):
        table[i] = normal_quantile((0.625 + 0.5 * f64(i)) * part)
    middle = 0.5 * size
    for i in range(tail, count - 1):
        table[i] = (0.625 + 0.5 * f64(i) - middle) * part
    near_median(table[tail:], count - 1 - tail)
    for i in range(count - 1):
        table[2 * count - 2 - i] = -table[i]
    table[count - 1] = 0.0
