"""Fourier transforms in transforms of lengths with small prime factors, and correlations by routines or transforms.

In: a node at lengths that are known. Out: its value in the steps below, with tables of powers, and their code. Sources:
L. Bluestein (1970), "A linear filtering approach to the computation of discrete Fourier transform"; `routines.fourier`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from consilience.ir import Node, Op, TensorType, constant
from consilience.lower.expand import expands
from consilience.lower.fortran import Argument
from consilience.lower.routines import routine
from consilience.lower.views import static
from consilience.native.loops import Builder, Value, i64
from consilience.native.routines.fourier import GREATEST
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.ops.index import getitem
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, full, reshape, squeeze, stack

# Products of a correlation that cost as much as one step of the transforms in its place, of which there are n log n.
DEAR = 40


class SmoothFourier(Op):
    """`FourierTransform` of a length without prime factors above 13; the second input are `_powers`."""

    inverse: bool

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


class UnpackReal(Op):
    """From the transform of pairs of neighbours, (..., m, 2), that of the 2 m real numbers, (..., m + 1, 2)."""

    def result_type(self, *inputs: Node) -> TensorType:
        *batch, half, _ = inputs[0].static_shape
        return TensorType("float64", (*batch, half + 1, 2))


class PackReal(Op):
    """What has the unpacked pairs (..., m + 1, 2) as its `UnpackReal`, times 2: (..., m, 2)."""

    def result_type(self, *inputs: Node) -> TensorType:
        *batch, count, _ = inputs[0].static_shape
        return TensorType("float64", (*batch, count - 1, 2))


class Products(Op):
    """`Correlate` by its sums of products."""

    def result_type(self, *inputs: Node) -> TensorType:
        return Node(Correlate(), *inputs).tensor_type


def _powers(n: int, count: int | None = None) -> Node:
    """Powers 0, 1, ... of exp(-2 pi i / n), as pairs."""
    angles = 2.0 * np.pi * (np.arange(n if count is None else count) / n)
    return constant(np.stack([np.cos(angles), -np.sin(angles)], -1))


def _zeros(like: Node, count: int) -> Node:
    """So many pairs of zeros in a batch."""
    return full((*like.static_shape[:-2], count, 2), 0.0, "float64")


def _smooth(n: int) -> bool:
    for factor in range(2, GREATEST + 1):
        while n % factor == 0:
            n //= factor
    return n == 1


def _fast_length(least: int) -> int:
    """The least length without prime factors above 5."""
    found = 1 << (least - 1).bit_length()
    five = 1
    while five < found:
        three = five
        while three < found:
            found = min(found, three << max((-(-least // three) - 1).bit_length(), 0))
            three *= 3
        five *= 5
    return found


@expands(FourierTransform)
def expand_fourier(node: Node) -> Node:
    """One step for lengths with small prime factors, a cyclic convolution for others."""
    op, (x,) = node.op, node.inputs
    assert isinstance(op, FourierTransform)
    n = static(x.static_shape)[-2]
    if 0 in x.static_shape or n == 1:
        return x
    return Node(SmoothFourier(op.inverse), x, _powers(n)) if _smooth(n) else _bluestein(x, n, op.inverse)


def _product(x: Node, real: Node, imaginary: Node) -> Node:
    """Pairs times complex numbers."""
    re, im = getitem(x, (Ellipsis, 0)), getitem(x, (Ellipsis, 1))
    return stack([re * real - im * imaginary, re * imaginary + im * real], -1)


def _bluestein(x: Node, n: int, inverse: bool) -> Node:
    """x_j c_j convolved with 1 / c, times c, for c_j = exp(-pi i j^2 / n)."""
    squares = np.array([j * j % (2 * n) for j in range(n)])  # exact in Python's integers
    chirp = np.exp((1j if inverse else -1j) * np.pi * squares / n)
    size = _fast_length(2 * n - 1)
    kernel = np.zeros(size, complex)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp.conj()[:0:-1]
    spectrum = np.fft.fft(kernel) / size
    first = _product(x, constant(chirp.real), constant(chirp.imag))
    padded = concatenate([first, _zeros(x, size - n)], -2)
    there = Node(SmoothFourier(False), padded, _powers(size))
    there = _product(there, constant(spectrum.real), constant(spectrum.imag))
    back = Node(SmoothFourier(True), there, _powers(size))
    return _product(getitem(back, (Ellipsis, slice(n), slice(None))), constant(chirp.real), constant(chirp.imag))


@expands(RealFourier)
def expand_real_fourier(node: Node) -> Node:
    """Even lengths as complex numbers of half the length, odd ones with imaginary parts 0."""
    (x,) = node.inputs
    *batch, n = static(x.static_shape)
    if 0 in x.static_shape:
        return full(node.static_shape, 0.0, "float64")
    if n % 2:
        pairs = stack([x, broadcast_to(full((), 0.0, "float64"), x.static_shape)], -1)
        return getitem(Node(FourierTransform(), pairs), (Ellipsis, slice(n // 2 + 1), slice(None)))
    return Node(UnpackReal(), Node(FourierTransform(), reshape(x, (*batch, n // 2, 2))), _powers(n, n // 2 + 1))


@expands(InverseRealFourier)
def expand_inverse_real_fourier(node: Node) -> Node:
    """The other way round."""
    (y,) = node.inputs
    *batch, n = static(node.static_shape)
    if 0 in node.static_shape:
        return full(node.static_shape, 0.0, "float64")
    if n % 2 == 0:
        packed = Node(PackReal(), y, _powers(n, n // 2 + 1))
        return reshape(Node(FourierTransform(True), packed), (*batch, n))
    first = _product(getitem(y, (Ellipsis, slice(1), slice(None))), constant(1.0), constant(0.0))
    real = stack([getitem(first, (Ellipsis, 0)), broadcast_to(full((), 0.0, "float64"), first.static_shape[:-1])], -1)
    rest = getitem(y, (Ellipsis, slice(1, None), slice(None)))
    mirrored = getitem(rest, (Ellipsis, slice(None, None, -1), slice(None))) * constant(np.array([1.0, -1.0]))
    whole = Node(FourierTransform(True), concatenate([real, rest, mirrored], -2))
    return getitem(whole, (Ellipsis, 0))


@expands(Correlate)
def expand_correlation(node: Node) -> Node:
    """Long vectors by their transforms, where the products would cost more."""
    x, h = node.inputs
    *batch, height, width = static(x.static_shape)
    columns = static(h.static_shape)[-1]
    if 0 in node.static_shape or 0 in h.static_shape:
        return full(node.static_shape, 0.0, "float64")
    size = _fast_length(width)
    if height > 1 or columns * (width - columns + 1) < DEAR * size * math.log2(size + 1):
        return Node(Products(), x, h)
    padded = [_padded(a, size) for a in (x, h)]
    a, b = (Node(RealFourier(), squeeze(p, (p.ndim - 2,))) for p in padded)
    product = _product(a, getitem(b, (Ellipsis, 0)), -getitem(b, (Ellipsis, 1)))
    found = Node(InverseRealFourier(size), product) / float(size)
    return expand_dims(getitem(found, (Ellipsis, slice(width - columns + 1))), (len(batch),))


def _padded(x: Node, size: int) -> Node:
    zeros = full((*x.static_shape[:-1], size - x.static_shape[-1]), 0.0, "float64")
    return concatenate([x, zeros], -1)


# ---- code


def _call(b: Builder, name: str, pointers: Sequence[Value], *numbers: int) -> None:
    b.call(f"consilience_routine_{name}", None, *pointers, *(b.const(i64, number) for number in numbers))


def _lengths(node: Node) -> tuple[int, int]:
    """Vectors of the batch of the first operand, and pairs in each."""
    *batch, n, _ = static(node.inputs[0].static_shape)
    return math.prod(batch), n


@routine(SmoothFourier, lambda node: [("float64", 4 * _lengths(node)[1])])
def _fourier(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, powers), (y, work) = sources, targets
    assert isinstance(node.op, SmoothFourier)
    pointers = [a.pointer for a in (x, y, powers, work)]
    _call(b, "fourier", pointers, *_lengths(node), int(node.op.inverse))


@routine(UnpackReal)
def _unpack(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, powers), (y,) = sources, targets
    _call(b, "unpack_real", [x.pointer, y.pointer, powers.pointer], *_lengths(node))


@routine(PackReal)
def _pack(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, powers), (y,) = sources, targets
    count, n = _lengths(node)
    _call(b, "pack_real", [x.pointer, y.pointer, powers.pointer], count, n - 1)


@routine(Products)
def _products(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, h), (y,) = sources, targets
    *batch, height, width = x.view.shape
    _call(b, "correlate", [x.pointer, h.pointer, y.pointer], math.prod(batch), height, width, *h.view.shape[-2:])
