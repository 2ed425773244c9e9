"""Fourier transforms and correlations in NumPy: rows of the table of meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import means
from consilience.backends.shapes import Lengths, static_shape
from consilience.ir import Node
from consilience.lower.fourier import PackReal, Products, SmoothFourier, UnpackReal
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier

Array = npt.NDArray[Any]


def _complex(x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.complex128)[..., 0]


def _pairs(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


def _transform(x: Array, inverse: bool) -> Array:
    if not x.size:
        return x.copy()
    return _pairs(np.fft.ifft(_complex(x), norm="forward") if inverse else np.fft.fft(_complex(x)))


@means(FourierTransform)
def _fourier(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    assert isinstance(node.op, FourierTransform)
    return _transform(inputs[0], node.op.inverse)


@means(SmoothFourier)
def _smooth(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    assert isinstance(node.op, SmoothFourier)
    return _transform(inputs[0], node.op.inverse)


@means(RealFourier)
def _real(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    if not inputs[0].size:
        return np.zeros((*inputs[0].shape[:-1], inputs[0].shape[-1] // 2 + 1, 2))
    return _pairs(np.fft.rfft(inputs[0]))


@means(InverseRealFourier)
def _inverse_real(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    shape = static_shape(node.static_shape, lengths)
    if 0 in shape:
        return np.zeros(shape)
    found: Array = np.fft.irfft(_complex(inputs[0]), shape[-1], norm="forward")
    return found


@means(UnpackReal)
def _unpack(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    numbers = _transform(inputs[0], True) / inputs[0].shape[-2]
    return _pairs(np.fft.rfft(numbers.reshape(*numbers.shape[:-2], -1)))


@means(PackReal)
def _pack(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    *batch, count, _ = inputs[0].shape
    numbers = np.fft.irfft(_complex(inputs[0]), 2 * (count - 1), norm="forward")
    found: Array = _transform(numbers.reshape(*batch, count - 1, 2), False) / (count - 1)
    return found


@means(Products)
@means(Correlate)
def _correlate(node: Node, lengths: Lengths, *inputs: Array) -> Array:
    x, h = inputs
    shape = static_shape(node.static_shape, lengths)
    if 0 in h.shape or 0 in shape:
        return np.zeros(shape)
    windows = np.lib.stride_tricks.sliding_window_view(x, h.shape[-2:], (-2, -1))
    found: Array = np.einsum("...ijkl,...kl->...ij", windows, h)
    return found
