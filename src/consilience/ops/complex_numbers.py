"""Complex numbers: made of real ones, and taken apart. Functions of parts give of real tensors what NumPy gives."""

from __future__ import annotations

from consilience.ir import COMPLEXES, Node
from consilience.ir.arithmetic import means
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.shape import full


@means("real")
def real(x: TensorLike) -> Node:
    """The real part; a real tensor itself.

    x : ...
    Returns: Of the shape of the argument.
    See imag: The imaginary part.
    See conj: The complex conjugate.
    See complex: Real + 1j * imag.
    >>> pt.real(1 + 2j).eval().item()
    1.0
    """
    node = as_tensor(x)
    return apply("real", node) if node.dtype in COMPLEXES else node


@means("imag")
def imag(x: TensorLike) -> Node:
    """The imaginary part; zeros of the same dtype for a real tensor.

    x : ...
    Returns: Of the shape of the argument.
    See conj: The complex conjugate.
    See complex: Real + 1j * imag.
    See angle: The angle in radians.
    >>> pt.imag(1 + 2j).eval().item()
    2.0
    """
    node = as_tensor(x)
    return apply("imag", node) if node.dtype in COMPLEXES else full(node.static_shape, 0, node.dtype)


@means("conj")
def conj(x: TensorLike) -> Node:
    """The complex conjugate; a real tensor itself.

    x : ...
    Returns: Of the shape and dtype of `x`.
    See complex: Real + 1j * imag.
    See angle: The angle in radians.
    See complex_from_polar: The complex number of a size `abs` and an angle in radians.
    >>> pt.conj(1 + 2j).eval().item()
    (1-2j)
    """
    node = as_tensor(x)
    return apply("conj", node) if node.dtype in COMPLEXES else node


def angle(z: TensorLike) -> Node:
    """The angle in radians, in (-pi, pi]; 0 or pi for a real tensor.

    z: Tensor, complex where that makes sense.
    Returns: Floats of the shape of `z`.
    See complex_from_polar: The complex number of a size `abs` and an angle in radians.
    See real: The real part.
    See imag: The imaginary part.
    >>> pt.angle(1j).eval().round(4).item()
    1.5708
    """
    x = as_tensor(z)
    return apply("angle", x) if x.dtype in COMPLEXES else apply("arctan2", imag(x), x)


def complex(real: TensorLike, imag: TensorLike) -> Node:
    """Real + 1j * imag: complex64 of float32, complex128 of anything else that is real.

    real: Real parts.
    imag: Imaginary parts.
    Returns: Complex numbers of the common broadcast shape.
    See angle: The angle in radians.
    See complex_from_polar: The complex number of a size `abs` and an angle in radians.
    See real: The real part.
    >>> pt.complex(1.0, 2.0).eval().item()
    (1+2j)
    """
    return apply("complex", real, imag)


def complex_from_polar(abs: TensorLike, angle: TensorLike) -> Node:
    """The complex number of a size `abs` and an angle in radians.

    abs: Moduli.
    angle: Angles, in radians.
    Returns: Complex numbers of the common broadcast shape.
    See real: The real part.
    See imag: The imaginary part.
    See conj: The complex conjugate.
    >>> pt.complex_from_polar(2.0, 0.0).eval().item()
    (2+0j)
    """
    return complex(apply("mul", abs, apply("cos", angle)), apply("mul", abs, apply("sin", angle)))
