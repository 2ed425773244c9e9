"""`pt.fft`: discrete Fourier transforms, under NumPy's names for complex tensors and PyTensor's for pairs.

Tensors in; transforms along one or several of their axes out, with derivatives. `rfft` and `irfft` are PyTensor's: they
transform all axes but the first, and hold complex numbers as pairs; `rfftn(x, axes=[-1])` is NumPy's `rfft`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from consilience.errors import DtypeError, ShapeError
from consilience.first_use import load_on_use
from consilience.ir import COMPLEXES, Dim, Node
from consilience.ir.side_tables import describe
from consilience.ops import complex_numbers
from consilience.ops.axes import normalised_axes
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.ops.index import getitem
from consilience.ops.shape import arange, as_length, broadcast_to, concatenate, full, length_of, moveaxis, stack
from consilience.tensor.arrangement import roll, specify_shape
from consilience.tensor.keywords import published

_SINGLE = ("float16", "float32", "complex64")
_NORMS = ("backward", "ortho", "forward")


def fft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Node:
    """Sums over j of a_j exp(-2 pi i j k / n) along an axis, as a complex tensor of `a`'s shape.

    a : ...
    n: Length: `a` is cut, or zeros are added at its end; None for that of the axis.
    axis (one) : ...
    norm: What is divided by n: "backward" (or None) the inverse transform, "forward" this one; "ortho" divides both by
        the square root of n.
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See ifft: Sums over k of a_k exp(2 pi i j k / n) / n along an axis.
    See rfft: Of real tensors.
    Notes: As `numpy.fft.fft`; complex64 for float32, float16 and complex64, complex128 otherwise. Accurate to some
        1e-15 of the greatest result, in n log n steps for every n; lengths whose prime factors are at most 5 are
        quickest.
    >>> pt.fft.fft([1.0, 0.0, 0.0, 0.0]).eval().tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return fftn(a, None if n is None else (n,), (axis,), norm)


def ifft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Node:
    """Sums over k of a_k exp(2 pi i j k / n) / n along an axis: what `fft` has `a` as its result; see there.

    a : ...
    n: Length: `a` is cut, or zeros are added at its end; None for that of the axis.
    axis (one), norm : ...
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See rfft: Of real tensors.
    See fft: Sums over j of a_j exp(-2 pi i j k / n) along an axis.
    >>> pt.fft.ifft([1.0, 1.0]).eval().tolist()
    [(1+0j), 0j]
    """
    return ifftn(a, None if n is None else (n,), (axis,), norm)


def fft2(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Node:
    """`fft` along two axes, the last ones if not said; see `fftn`.

    a, s, axes, norm : ...
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See ifft2: `ifft` along two axes.
    See rfft2: `rfftn` along two axes.
    >>> pt.fft.fft2([[1.0, 0.0], [0.0, 0.0]]).eval().tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return fftn(a, s, axes, norm)


def ifft2(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Node:
    """`ifft` along two axes, the last ones if not said; see `fftn`.

    a, s, axes, norm : ...
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See rfft2: `rfftn` along two axes.
    See fft2: `fft` along two axes.
    >>> pt.fft.ifft2([[1.0, 1.0], [1.0, 1.0]]).eval().tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
    return ifftn(a, s, axes, norm)


def fftn(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Node:
    """`fft` along several axes.

    a : ...
    s: Lengths along these axes, as `n` of `fft`.
    axes: None: the last ones for which `s` tells lengths, or all.
    norm : ...
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See ifftn: `ifft` along several axes.
    See rfftn: `fftn` of a real tensor.
    >>> pt.fft.fftn([[1.0, 0.0], [0.0, 0.0]]).eval().tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return _complex_transform(a, s, axes, norm, inverse=False)


def ifftn(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Node:
    """`ifft` along several axes; see `fftn`.

    a, s, axes, norm : ...
    Returns: Complex, of the shape of `a` but for lengths that are asked for.
    See rfftn: `fftn` of a real tensor.
    See fftn: `fft` along several axes.
    >>> pt.fft.ifftn([[1.0, 1.0], [1.0, 1.0]]).eval().tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
    return _complex_transform(a, s, axes, norm, inverse=True)


def rfft2(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Node:
    """`rfftn` along two axes.

    a, s, axes, norm : ...
    Returns: Complex, n // 2 + 1 numbers along the last axis.
    See fft2: `fft` along two axes.
    See ifft2: `ifft` along two axes.
    >>> pt.fft.rfft2([[1.0, 0.0], [0.0, 0.0]]).eval().tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return rfftn(a, s, axes, norm)


def irfft2(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Node:
    """`irfftn` along two axes.

    a, s, axes, norm : ...
    Returns: Floats.
    See rfft2: `rfftn` along two axes.
    >>> pt.fft.irfft2([[1.0, 1.0], [1.0, 1.0]]).eval().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return irfftn(a, s, axes, norm)


def rfftn(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Node:
    """`fftn` of a real tensor, of which numbers 0, ..., n // 2 along the last of the axes are given.

    Raises DtypeError for a complex tensor; otherwise as `fftn`.

    a, s, axes, norm : ...
    Returns: Complex, n // 2 + 1 numbers along the last axis.
    See fftn: `fft` along several axes.
    See ifftn: `ifft` along several axes.
    >>> pt.fft.rfftn([[1.0, 0.0], [0.0, 0.0]]).eval().tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    x = as_tensor(a)
    if x.dtype in COMPLEXES:
        raise DtypeError(f"`rfftn` needs a real tensor, got {describe(x)}; `fftn` takes complex ones.")
    places, lengths = _places(x, s, axes, "rfftn")
    single = x.dtype in _SINGLE
    x = cast(x, "float64")
    for place, length in zip(places, lengths, strict=True):
        x = _fitted(x, place, length)
    sizes = [x.static_shape[place] for place in places]
    pairs = moveaxis(Node(RealFourier(), moveaxis(x, places[-1], -1)), -2, places[-1])
    for place in places[:-1]:
        pairs = _along(pairs, place, False)
    return _joined(_scaled(pairs, sizes, norm, False), single)


def irfftn(
    a: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Node:
    """The real tensor that has `a` as its `rfftn`.

    a : ...
    s: Lengths of the result; without it that along the last of the axes is 2 (m - 1) for m numbers.
    axes, norm : ...
    Returns: Floats.
    See rfftn: `fftn` of a real tensor.
    >>> pt.fft.irfftn([[1.0, 1.0], [1.0, 1.0]]).eval().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    x = as_tensor(a)
    places, lengths = _places(x, s, axes, "irfftn")
    last = lengths[-1] if s is not None else 2 * (x.static_shape[places[-1]] - 1)
    single = x.dtype in _SINGLE
    pairs = _pairs(x)
    for place, length in zip(places, [*lengths[:-1], last // 2 + 1], strict=True):
        pairs = _fitted(pairs, place, length)
    for place in places[:-1]:
        pairs = _along(pairs, place, True)
    sizes = [*(pairs.static_shape[place] for place in places[:-1]), last]
    real = _scaled(_real_along(pairs, places[-1], last), sizes, norm, True)
    return cast(real, "float32") if single else real


def rfft(inp: TensorLike, norm: str | None = None) -> Node:
    """Transforms of real tensors (m, ..., n) along all axes but the first: pairs (m, ..., n // 2 + 1, 2) of numbers.

    inp: The signal; the last axes are transformed.
    norm: None: unscaled; "ortho": divided by the square root of the number of elements of a transform; "no_norm":
        unscaled.
    Returns: Floats, the last axis of length 2 for real and imaginary parts.
    See fft: Sums over j of a_j exp(-2 pi i j k / n) along an axis.
    See ifft: Sums over k of a_k exp(2 pi i j k / n) / n along an axis.
    Notes: As PyTensor's. Raises ShapeError for a vector, which has no axis but the first.
    >>> pt.fft.rfft([[1.0, 0.0]]).eval().tolist()
    [[[1.0, 0.0], [1.0, 0.0]]]
    """
    x = _batch(inp, 2, "rfft")
    if x.dtype in COMPLEXES:
        raise DtypeError(f"`rfft` needs a real tensor, got {describe(x)}.")
    sizes = list(x.static_shape[1:])
    pairs = Node(RealFourier(), cast(x, "float64"))
    for place in range(1, x.ndim - 1):
        pairs = _along(pairs, place, False)
    found = _divided(pairs, sizes, _pytensor_norm(norm, False))
    return cast(found, "float32") if x.dtype in _SINGLE else found


def irfft(inp: TensorLike, norm: str | None = None, is_odd: bool = False) -> Node:
    """The real tensors (m, ..., n) that have the given pairs (m, ..., n // 2 + 1, 2) as their `rfft`.

    inp: The signal; the last axes are transformed.
    norm: None: divided by the number of elements of a transform; "ortho": by its square root; "no_norm": unscaled.
    is_odd: Whether n is odd.
    Returns: Floats.
    See rfftfreq: Frequencies of the numbers that `rfftn` gives.
    See rfft: Of real tensors.
    >>> pt.fft.irfft(pt.fft.rfft([[1.0, 0.0]])).eval().tolist()
    [[1.0, 0.0]]
    """
    x = _batch(inp, 3, "irfft")
    if isinstance(x.static_shape[-1], int) and x.static_shape[-1] != 2:
        raise ShapeError(f"`irfft` needs pairs of real and imaginary parts on the last axis, got {describe(x)}.")
    length = 2 * (x.static_shape[-2] - 1) + int(bool(is_odd))
    pairs = cast(specify_shape(x, (*[None] * (x.ndim - 1), 2)), "float64")
    for place in range(1, x.ndim - 2):
        pairs = _along(pairs, place, True)
    sizes = [*x.static_shape[1:-2], length]
    found = _divided(Node(InverseRealFourier(length), pairs), sizes, _pytensor_norm(norm, True))
    return cast(found, "float32") if x.dtype in _SINGLE else found


def fftfreq(n: object, d: TensorLike = 1.0) -> Node:
    """Frequencies of the numbers that `fft` gives: 0, 1, ..., -2, -1, over n d.

    n: Length of the transformed axis.
    d: Sample spacing, in the unit of time.
    Returns: A vector of floats.
    See rfftfreq: Frequencies of the numbers that `rfftn` gives.
    See fftshift: Puts the frequency 0 in the middle.
    >>> pt.fft.fftfreq(4).eval().tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    length = length_of(as_length(n))
    k = arange(length)
    wrapped = apply("where", apply("lt", k, apply("floor_div", apply("add", length, 1), 2)), k, apply("sub", k, length))
    return apply("true_div", wrapped, apply("mul", cast(length, "float64"), d))


def rfftfreq(n: object, d: TensorLike = 1.0) -> Node:
    """Frequencies of the numbers that `rfftn` gives: 0, 1, ..., n // 2, over n d.

    n: Length of the axis before it is transformed.
    d: Sample spacing, in the unit of time.
    Returns: A vector of floats.
    See rfft: Of real tensors.
    See irfft: Back to real tensors.
    >>> pt.fft.rfftfreq(4).eval().tolist()
    [0.0, 0.25, 0.5]
    """
    length = length_of(as_length(n))
    k = arange(apply("add", apply("floor_div", length, 2), 1))
    return apply("true_div", k, apply("mul", cast(length, "float64"), d))


def fftshift(x: TensorLike, axes: int | Sequence[int] | None = None) -> Node:
    """The tensor turned along axes (all for None) so that the frequency 0 comes to the middle.

    x : ...
    axes: The axes meant, negative ones counted from the end.
    Returns: Of the shape of `x`.
    See fftfreq: Frequencies of the numbers that `fft` gives.
    See rfftfreq: Frequencies of the numbers that `rfftn` gives.
    >>> pt.fft.fftshift([0.0, 1.0, -1.0]).eval().tolist()
    [-1.0, 0.0, 1.0]
    """
    return _turned(as_tensor(x), axes, lambda n: n // 2)


def ifftshift(x: TensorLike, axes: int | Sequence[int] | None = None) -> Node:
    """What `fftshift` has undone.

    x : ...
    axes: The axes meant, negative ones counted from the end.
    Returns: Of the shape of `x`.
    See fftshift: Puts the frequency 0 in the middle.
    >>> pt.fft.ifftshift([-1.0, 0.0, 1.0]).eval().tolist()
    [0.0, 1.0, -1.0]
    """
    return _turned(as_tensor(x), axes, lambda n: n - n // 2)


def _turned(x: Node, axes: int | Sequence[int] | None, shift: Any) -> Node:
    for axis in normalised_axes(axes, x.ndim):
        length = x.static_shape[axis]
        by = shift(length)
        if length == 0:
            continue
        if isinstance(by, int):
            x = roll(x, by, axis)
            continue
        index: list[Any] = [slice(None)] * x.ndim
        rest = length_of(length - by)
        first, second = list(index), list(index)
        first[axis], second[axis] = slice(rest, None), slice(None, rest)
        x = concatenate([getitem(x, tuple(first)), getitem(x, tuple(second))], axis)
    return x


def _batch(inp: TensorLike, least: int, name: str) -> Node:
    x = as_tensor(inp)
    if x.ndim < least:
        raise ShapeError(
            f"`{name}` needs a tensor of rank {least} or more, whose first axis is a batch, got {describe(x)}; "
            "x[None] has one."
        )
    return x


def _places(x: Node, s: Sequence[int] | None, axes: Sequence[int] | None, name: str) -> tuple[list[int], list[Dim]]:
    """Axes and lengths along them."""
    if not x.ndim:
        raise ShapeError(f"`{name}` needs an axis to transform, got {describe(x)}.")
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    normalised_axes(tuple(axes), x.ndim)  # refuses axes that are not there, or there twice
    places = [axis % x.ndim for axis in axes]
    if not places:
        raise ShapeError(f"`{name}` needs an axis to transform, got {describe(x)}.")
    if s is not None and len(s) != len(places):
        raise ValueError(f"`{name}` needs a length for each of its {len(places)} axes, got {tuple(s)}.")
    lengths = [x.static_shape[place] for place in places] if s is None else [as_length(n) for n in s]
    wrong = next((n for n in lengths if isinstance(n, int) and n < 1), None)
    if s is not None and wrong is not None:
        raise ValueError(f"`{name}` needs lengths of at least 1, got {wrong}.")
    return places, lengths


def _pairs(x: Node) -> Node:
    """Real and imaginary parts on a last axis."""
    if x.dtype in COMPLEXES:
        parts = [cast(complex_numbers.real(x), "float64"), cast(complex_numbers.imag(x), "float64")]
    else:
        parts = [cast(x, "float64"), broadcast_to(full((), 0.0, "float64"), x.static_shape)]
    return stack(parts, -1)


def _joined(pairs: Node, single: bool) -> Node:
    parts = [getitem(pairs, (Ellipsis, i)) for i in range(2)]
    return complex_numbers.complex(*(cast(part, "float32") if single else part for part in parts))


def _fitted(x: Node, axis: int, length: Dim) -> Node:
    """Cut to a length, or with zeros added behind."""
    have = x.static_shape[axis]
    if have is length or have == length:
        return x
    index: list[Any] = [slice(None)] * x.ndim
    index[axis] = slice(None, length if isinstance(length, int) else length_of(length))
    if not (isinstance(have, int) and isinstance(length, int) and have > length):
        more = length - have if isinstance(have, int) and isinstance(length, int) else length
        shape = [more if i == axis else n for i, n in enumerate(x.static_shape)]
        x = concatenate([x, full(shape, 0.0, x.dtype)], axis)
    return getitem(x, tuple(index))


def _along(pairs: Node, place: int, inverse: bool) -> Node:
    """Transforms along an axis of the complex tensor that the pairs stand for."""
    return moveaxis(Node(FourierTransform(inverse), moveaxis(pairs, place, -2)), -2, place)


def _real_along(pairs: Node, place: int, length: Dim) -> Node:
    return moveaxis(Node(InverseRealFourier(length), moveaxis(pairs, place, -2)), -1, place)


def _complex_transform(
    a: TensorLike, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None, inverse: bool
) -> Node:
    x = as_tensor(a)
    places, lengths = _places(x, s, axes, "ifftn" if inverse else "fftn")
    pairs = _pairs(x)
    for place, length in zip(places, lengths, strict=True):
        pairs = _along(_fitted(pairs, place, length), place, inverse)
    return _joined(_scaled(pairs, lengths, norm, inverse), x.dtype in _SINGLE)


def _scaled(x: Node, sizes: Sequence[Dim], norm: str | None, inverse: bool) -> Node:
    """Divided as NumPy's norms say."""
    kind = "backward" if norm is None else norm
    if kind not in _NORMS:
        raise ValueError(f"norm must be one of {', '.join(_NORMS)}; got {norm!r}.")
    power = 0.5 if kind == "ortho" else float((kind == "backward") == inverse)
    return _divided(x, sizes, power)


def _pytensor_norm(norm: str | None, inverse: bool) -> float:
    """The power of the number of elements that is divided by."""
    if norm not in (None, "ortho", "no_norm"):
        raise ValueError(f"norm must be None, 'ortho' or 'no_norm'; got {norm!r}.")
    return 0.5 if norm == "ortho" else float(inverse and norm is None)


def _divided(x: Node, sizes: Sequence[Dim], power: float) -> Node:
    if not power:
        return x
    size = math.prod(sizes)
    count = float(size) if isinstance(size, int) else cast(length_of(size), "float64")
    return apply("true_div", x, count if power == 1.0 else apply("sqrt", count))


load_on_use(__name__, {}, publish=published)
