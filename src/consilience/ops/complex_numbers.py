"""Complex numbers: made of real ones, and taken apart. Functions of parts give of real tensors what NumPy gives."""

from __future__ import annotations

from consilience.ir import COMPLEXES, Node
from consilience.ir.arithmetic import means
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.shape import full


@means("real")
def real(value: TensorLike) -> Node:
    """The real part; a real tensor itself."""
    x = as_tensor(value)
    return apply("real", x) if x.dtype in COMPLEXES else x


@means("imag")
def imag(value: TensorLike) -> Node:
    """The imaginary part; zeros of the same dtype for a real tensor."""
    x = as_tensor(value)
    return apply("imag", x) if x.dtype in COMPLEXES else full(x.static_shape, 0, x.dtype)


@means("conj")
def conj(value: TensorLike) -> Node:
    """The complex conjugate; a real tensor itself."""
    x = as_tensor(value)
    return apply("conj", x) if x.dtype in COMPLEXES else x


def angle(value: TensorLike) -> Node:
    """The angle in radians, in (-pi, pi]; 0 or pi for a real tensor."""
    x = as_tensor(value)
    return apply("angle", x) if x.dtype in COMPLEXES else apply("arctan2", imag(x), x)


def complex_of(real: TensorLike, imag: TensorLike) -> Node:
    """real + 1j * imag: complex64 of float32, complex128 of anything else that is real."""
    return apply("complex", real, imag)


def from_polar(size: TensorLike, angle: TensorLike) -> Node:
    """The complex number of a size and an angle in radians."""
    return complex_of(apply("mul", size, apply("cos", angle)), apply("mul", size, apply("sin", angle)))
