"""lax's Fourier transforms: operands and parameters in, tensors out."""

from __future__ import annotations

from typing import Any

import consilience.tensor as pt
from consilience.engines.reader.lax.table import LAX


@LAX("fft")
def _fft(x: Any, *, fft_type: Any, fft_lengths: Any, **_: Any) -> Any:
    """Transforms along the last axes; inverse ones are divided by their length."""
    kind = getattr(fft_type, "name", fft_type)
    axes = tuple(range(-len(fft_lengths), 0))
    transform = {"FFT": pt.fft.fftn, "IFFT": pt.fft.ifftn, "RFFT": pt.fft.rfftn, "IRFFT": pt.fft.irfftn}[kind]
    return transform(x, tuple(fft_lengths), axes)
