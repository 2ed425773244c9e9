"""`pt.signal`: convolutions and correlations of vectors and matrices, as PyTensor's and SciPy's.

Two tensors in, whose leading axes are a batch; sums of products at every place out, with derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.ir import COMPLEXES, Dim, Node
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS
from consilience.ops import complex_numbers
from consilience.ops.correlation import Correlate
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.index import getitem
from consilience.ops.reduce import reduce
from consilience.ops.shape import arange, broadcast_to, concatenate, expand_dims, full, length_of, squeeze
from consilience.tensor.keywords import published
from consilience.tensor.padding import pad

_MODES = ("full", "valid", "same")
_BOUNDARIES = {"wrap": "wrap", "symm": "symmetric"}


def convolve1d(in1: TensorLike, in2: TensorLike, mode: str = "full") -> Node:
    """Sums over j of in1[..., j] in2[..., i - j].

    in1, in2: (..., n) and (..., m), whose leading axes broadcast.
    mode: "full": all n + m - 1 sums, zeros standing outside; "valid": the max(n, m) - min(n, m) + 1 of them that need
        none; "same": n of the full ones, from the middle.
    Returns: As long as `mode` says: "full", "same" or "valid".
    See convolve2d: Of two matrices.
    See convolve: Convolution of two vectors.
    See correlate: Sums of in1[i + j] times the conjugate of in2[j].
    Notes: Long vectors are convolved by Fourier transforms where that is quicker, with errors of some 1e-15 of the
        greatest sum; a number that is not finite then reaches all sums, and one in in2 those at the ends in any case.
        Raises ValueError for an unknown mode, ShapeError for scalars and empty vectors.
    >>> pt.signal.convolve1d([1.0, 2.0], [1.0, 1.0]).eval().tolist()
    [1.0, 3.0, 2.0]
    """
    return _convolved(in1, in2, mode, 1, "convolve1d")


def convolve2d(
    in1: TensorLike,
    in2: TensorLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: TensorLike = 0,
    method: str = "auto",
) -> Node:
    """Sums over k and l of in1[..., k, l] in2[..., i - k, j - l].

    in1, in2: (..., n, m) and (..., p, q), whose leading axes broadcast.
    mode: As in `convolve1d`, for both axes.
    boundary: "fill": `fillvalue` stands outside of in1; "wrap": its other end; "symm": its mirror image.
    fillvalue: Value beyond the edges.
    method: Accepted; products are added up directly.
    Returns: As long as `mode` says: "full", "same" or "valid".
    See convolve: Convolution of two vectors.
    See correlate: Sums of in1[i + j] times the conjugate of in2[j].
    See convolve1d: Of two vectors.
    >>> pt.signal.convolve2d([[1.0, 2.0]], [[1.0, 1.0]]).eval().tolist()
    [[1.0, 3.0, 2.0]]
    """
    if boundary not in ("fill", *_BOUNDARIES):
        raise ValueError(f"boundary must be one of fill, wrap, symm; got {boundary!r}.")
    if method not in ("direct", "fft", "auto"):
        raise ValueError(f"method must be one of direct, fft, auto; got {method!r}.")
    _known(mode)
    x, h = _operands(in1, in2, 2, "convolve2d")
    plain = boundary == "fill" and not isinstance(fillvalue, Node) and np.array_equal(np.asarray(fillvalue), 0)
    if plain or mode == "valid":
        return _convolved(x, h, mode, 2, "convolve2d")
    rims = [(n - 1 if isinstance(n, int) else length_of(n - 1),) * 2 for n in h.static_shape[-2:]]
    widths = [(0, 0)] * (x.ndim - 2) + rims
    if boundary == "fill":
        around = pad(x, widths, "constant", constant_values=fillvalue)
    else:
        around = pad(x, widths, _BOUNDARIES[boundary])
    full_sums = _valid(around, _flipped(h, 2), 2)
    return full_sums if mode == "full" else _middle(full_sums, x, h, 2)


def convolve(in1: TensorLike, in2: TensorLike, mode: str = "full") -> Node:
    """Convolution of two vectors, or of two matrices: `convolve1d` or `convolve2d` by their rank.

    in1: First signal.
    in2: Second signal, or the weights of the filter.
    mode: "full", "valid" or "same", as in `convolve1d`.
    Returns: As long as `mode` says: "full", "same" or "valid".
    See correlate: Sums of in1[i + j] times the conjugate of in2[j].
    See convolve1d: Of two vectors.
    See convolve2d: Of two matrices.
    >>> pt.signal.convolve([1.0, 2.0], [1.0, 1.0]).eval().tolist()
    [1.0, 3.0, 2.0]
    """
    x, h = as_tensor(in1), as_tensor(in2)
    return _convolved(x, h, mode, _rank(x, h, "convolve"), "convolve")


def correlate(in1: TensorLike, in2: TensorLike, mode: str = "full") -> Node:
    """Sums of in1[i + j] times the conjugate of in2[j], of vectors or matrices, as `scipy.signal.correlate`.

    in1: First signal.
    in2: Second signal, or the weights of the filter.
    mode: As in `convolve1d`; the first of the full sums has the last element of in2 on the first one of in1.
    Returns: As long as `mode` says: "full", "same" or "valid".
    See convolve1d: Of two vectors.
    See convolve2d: Of two matrices.
    See convolve: Convolution of two vectors.
    >>> pt.signal.correlate([1.0, 2.0], [1.0, 1.0]).eval().tolist()
    [1.0, 3.0, 2.0]
    """
    x, h = as_tensor(in1), as_tensor(in2)
    rank = _rank(x, h, "correlate")
    turned = _flipped(complex_numbers.conj(h) if h.dtype in COMPLEXES else h, rank)
    return _convolved(x, turned, mode, rank, "correlate")


def _rank(x: Node, h: Node, name: str) -> int:
    if x.ndim != h.ndim or x.ndim not in (1, 2):
        raise ShapeError(f"`{name}` needs two vectors or two matrices, got {describe(x)} and {describe(h)}.")
    return x.ndim


def _known(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}; got {mode!r}.")


def _operands(in1: TensorLike, in2: TensorLike, rank: int, name: str) -> tuple[Node, Node]:
    """Both of one dtype."""
    (x, h), _ = promote([in1, in2])
    for node in (x, h):
        if node.ndim < rank:
            raise ShapeError(f"`{name}` needs tensors of rank {rank} or more, got {describe(node)}.")
        if 0 in node.static_shape[-rank:]:
            raise ShapeError(f"`{name}` needs at least one element along each axis, got {describe(node)}.")
    return x, h


def _convolved(in1: TensorLike, in2: TensorLike, mode: str, rank: int, name: str) -> Node:
    _known(mode)
    x, h = _operands(in1, in2, rank, name)
    if x.dtype in COMPLEXES:
        a, b = complex_numbers.real(x), complex_numbers.imag(x)
        c, d = complex_numbers.real(h), complex_numbers.imag(h)
        ac, bd, ad, bc = (_convolved(p, q, mode, rank, name) for p, q in ((a, c), (b, d), (a, d), (b, c)))
        return complex_numbers.complex(ac - bd, ad + bc)
    lengths = list(zip(x.static_shape[-rank:], h.static_shape[-rank:], strict=True))
    if mode == "valid":
        surplus = [n - m for n, m in lengths if isinstance(n, int) and isinstance(m, int)]
        if len(surplus) == rank:
            if min(surplus) >= 0:
                return _valid(x, _flipped(h, rank), rank)
            if max(surplus) <= 0:
                return _valid(h, _flipped(x, rank), rank)
            raise ShapeError(f"`{name}` in mode 'valid' needs one tensor that the other fits into, got {lengths}.")
        return _inner(_valid(_rimmed(x, h, rank), _flipped(h, rank), rank), lengths, rank)
    full_sums = _valid(_rimmed(x, h, rank), _flipped(h, rank), rank)
    return full_sums if mode == "full" else _middle(full_sums, x, h, rank)


def _rimmed(x: Node, h: Node, rank: int) -> Node:
    """x with zeros around, one less than h is long."""
    for axis in range(-rank, 0):
        shape = list(x.static_shape)
        shape[axis] = h.static_shape[axis] - 1
        zeros = full(shape, 0, x.dtype)
        x = concatenate([zeros, x, zeros], axis)
    return x


def _flipped(h: Node, rank: int) -> Node:
    return getitem(h, (Ellipsis, *[slice(None, None, -1)] * rank))


def _bound(length: Dim) -> Any:
    return length if isinstance(length, int) else length_of(length)


def _middle(sums: Node, x: Node, h: Node, rank: int) -> Node:
    """As many of the full sums as x has elements."""
    index: list[Any] = [Ellipsis]
    for n, m in zip(x.static_shape[-rank:], h.static_shape[-rank:], strict=True):
        first = (m - 1) // 2
        index.append(slice(_bound(first), _bound(first + n)))
    return getitem(sums, tuple(index))


def _inner(sums: Node, lengths: Sequence[tuple[Dim, Dim]], rank: int) -> Node:
    """Those of the full sums in which the shorter one lies within the longer one."""
    index: list[Any] = [Ellipsis]
    for n, m in lengths:
        a, b = (apply("minimum", length_of(n), length_of(m)), apply("maximum", length_of(n), length_of(m)))
        index.append(slice(a - 1, b))
    return getitem(sums, tuple(index))


def _valid(x: Node, h: Node, rank: int) -> Node:
    """Sums of products of h with the parts of x."""
    if x.dtype not in FLOATS:
        return _by_windows(x, h, rank)
    single = x.dtype != "float64"
    a, b = cast(x, "float64"), cast(h, "float64")
    if rank == 1:
        a, b = expand_dims(a, a.ndim - 1), expand_dims(b, b.ndim - 1)
    batch = apply("add", *(getitem(n, (Ellipsis, 0, 0)) for n in (a, b))).static_shape
    found = Node(Correlate(), *(broadcast_to(n, (*batch, *n.static_shape[-2:])) for n in (a, b)))
    found = squeeze(found, (found.ndim - 2,)) if rank == 1 else found
    return cast(found, x.dtype) if single else found


def _by_windows(x: Node, h: Node, rank: int) -> Node:
    """The same for whole numbers, without rounding."""
    places = []
    for k, axis in enumerate(range(-rank, 0)):
        n, m = length_of(x.static_shape[axis]), length_of(h.static_shape[axis])
        start, step = arange(n - m + 1), arange(m)
        grid = expand_dims(start, 1) + step
        places.append(grid if rank == 1 else expand_dims(grid, (1, 3) if k == 0 else (0, 2)))
    windows = getitem(x, (Ellipsis, *places))
    around = tuple(range(h.ndim - rank, h.ndim))
    return cast(reduce("sum", windows * expand_dims(h, around), tuple(range(-rank, 0))), x.dtype)


__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path

load_on_use(__name__, {}, publish=published)
