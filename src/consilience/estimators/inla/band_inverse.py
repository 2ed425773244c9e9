"""The inverse of a banded matrix inside the band only, from its Cholesky factor, in time proportional to its length."""

from __future__ import annotations

from consilience.native.typed_python import Array, f64, i64, native


@native
def invert_band(factor: Array[f64], inverse: Array[f64], length: i64, width: i64) -> None:
    """Entries of (L L')^-1 where L has its band.

    `factor`, `inverse`: entry (j + d, j) of L and of the inverse at j (width + 1) + d, f64[length (width + 1)].

    Source: Takahashi, Fagan and Chin (1973), Formation of a sparse bus impedance matrix.
    """
    step = width + 1
    for back in range(length):
        j = length - 1 - back
        below = min(width, back)
        scale = 1.0 / factor[j * step]
        for up in range(below + 1):
            i = j + below - up
            sum = 0.0
            for e in range(1, below + 1):
                k = j + e
                sum += factor[j * step + e] * (inverse[i * step + k - i] if k >= i else inverse[k * step + i - k])
            inverse[j * step + i - j] = scale * ((scale if i == j else 0.0) - sum)
