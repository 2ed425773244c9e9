"""The user's notation on nodes: operators and methods.

Each entry forwards to a function that the ops register by name, so that a node can be written
with before the layer that gives the notation its meaning is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from consilience.ir.node import Node

    Operand = Any  # a node, an array, a number

_meanings: dict[str, Callable[..., Node]] = {}
_F = TypeVar("_F", bound=Callable[..., Any])


def means(name: str) -> Callable[[_F], _F]:
    """Register the function behind an operator or method of nodes."""

    def register(function: _F) -> _F:
        _meanings[name] = function
        return function

    return register


def meaning(name: str) -> Callable[..., Any]:
    """The function registered for a notation; for lower files that need one construction of a higher one."""
    return _meanings[name]


class Arithmetic:
    """Operators of the tensor notation; `==` stays identity, write `pt.eq` for the comparison."""

    __slots__ = ()
    # NumPy arrays and scalars on the left hand the operation over to us.
    __array_ufunc__ = None

    def __add__(self, other: Operand) -> Node:
        return _meanings["add"](self, other)

    def __radd__(self, other: Operand) -> Node:
        return _meanings["add"](other, self)

    def __sub__(self, other: Operand) -> Node:
        return _meanings["sub"](self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _meanings["sub"](other, self)

    def __mul__(self, other: Operand) -> Node:
        return _meanings["mul"](self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _meanings["mul"](other, self)

    def __truediv__(self, other: Operand) -> Node:
        return _meanings["true_div"](self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _meanings["true_div"](other, self)

    def __floordiv__(self, other: Operand) -> Node:
        return _meanings["floor_div"](self, other)

    def __rfloordiv__(self, other: Operand) -> Node:
        return _meanings["floor_div"](other, self)

    def __mod__(self, other: Operand) -> Node:
        return _meanings["mod"](self, other)

    def __rmod__(self, other: Operand) -> Node:
        return _meanings["mod"](other, self)

    def __pow__(self, other: Operand) -> Node:
        return _meanings["pow"](self, other)

    def __rpow__(self, other: Operand) -> Node:
        return _meanings["pow"](other, self)

    def __matmul__(self, other: Operand) -> Node:
        return _meanings["matmul"](self, other)

    def __rmatmul__(self, other: Operand) -> Node:
        return _meanings["matmul"](other, self)

    def __neg__(self) -> Node:
        return _meanings["neg"](self)

    def __pos__(self) -> Node:
        return _meanings["positive"](self)

    def __abs__(self) -> Node:
        return _meanings["abs"](self)

    def __invert__(self) -> Node:
        return _meanings["invert"](self)

    def __and__(self, other: Operand) -> Node:
        return _meanings["bitwise_and"](self, other)

    def __rand__(self, other: Operand) -> Node:
        return _meanings["bitwise_and"](other, self)

    def __or__(self, other: Operand) -> Node:
        return _meanings["bitwise_or"](self, other)

    def __ror__(self, other: Operand) -> Node:
        return _meanings["bitwise_or"](other, self)

    def __xor__(self, other: Operand) -> Node:
        return _meanings["bitwise_xor"](self, other)

    def __rxor__(self, other: Operand) -> Node:
        return _meanings["bitwise_xor"](other, self)

    def __lt__(self, other: Operand) -> Node:
        return _meanings["lt"](self, other)

    def __le__(self, other: Operand) -> Node:
        return _meanings["le"](self, other)

    def __gt__(self, other: Operand) -> Node:
        return _meanings["gt"](self, other)

    def __ge__(self, other: Operand) -> Node:
        return _meanings["ge"](self, other)

    def __getitem__(self, index: Operand) -> Node:
        return _meanings["getitem"](self, index)

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbolic value has no truth value before it is computed; "
            "use `pt.where` or `pt.cond` to choose, `pt.and_`/`pt.or_` to combine, or `.eval()` to compute it."
        )

    def __iter__(self) -> Iterator[Node]:
        parts: Iterator[Node] = meaning("iter")(self)
        return parts

    def __len__(self) -> int:
        length: int = meaning("len")(self)
        return length

    @property
    def shape(self) -> Any:
        """Shape as a symbolic int64 vector-like tuple of scalars."""
        return _meanings["shape"](self)

    @property
    def real(self) -> Node:
        """The real part; a real tensor itself."""
        return _meanings["real"](self)

    @property
    def imag(self) -> Node:
        """The imaginary part; zeros for a real tensor."""
        return _meanings["imag"](self)

    def conj(self) -> Node:
        return _meanings["conj"](self)

    @property
    def T(self) -> Node:  # NumPy's name
        """All axes reversed."""
        return _meanings["transpose"](self)

    @property
    def mT(self) -> Node:  # NumPy's name
        """The last two axes exchanged."""
        return _meanings["matrix_transpose"](self)

    def sum(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["sum"](self, axis, keepdims)

    def prod(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["prod"](self, axis, keepdims)

    def mean(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["mean"](self, axis, keepdims)

    def var(self, axis: Operand = None, ddof: int = 0, keepdims: bool = False) -> Node:
        return _meanings["var"](self, axis, ddof, keepdims)

    def std(self, axis: Operand = None, ddof: int = 0, keepdims: bool = False) -> Node:
        return _meanings["std"](self, axis, ddof, keepdims)

    def max(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["max"](self, axis, keepdims)

    def min(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["min"](self, axis, keepdims)

    def any(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["any"](self, axis, keepdims)

    def all(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["all"](self, axis, keepdims)

    def argmax(self, axis: int | None = None) -> Node:
        return _meanings["argmax"](self, axis)

    def argmin(self, axis: int | None = None) -> Node:
        return _meanings["argmin"](self, axis)

    def cumsum(self, axis: int | None = None) -> Node:
        return _meanings["cumsum"](self, axis)

    def reshape(self, *shape: Operand) -> Node:
        return _meanings["reshape"](self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Node:
        return _meanings["reshape"](self, (-1,))

    flatten = ravel

    def transpose(self, *axes: Operand) -> Node:
        return _meanings["transpose"](self, *axes)

    def swapaxes(self, axis1: int, axis2: int) -> Node:
        return _meanings["swapaxes"](self, axis1, axis2)

    def squeeze(self, axis: Operand = None) -> Node:
        return _meanings["squeeze"](self, axis)

    def astype(self, dtype: str) -> Node:
        return _meanings["cast"](self, dtype)

    def dot(self, other: Operand) -> Node:
        return _meanings["dot"](self, other)

    def clip(self, low: Operand, high: Operand) -> Node:
        return _meanings["clip"](self, low, high)

    def set(self, values: Operand) -> Node:
        return _meanings["index_set"](self, values)

    def inc(self, values: Operand) -> Node:
        return _meanings["index_inc"](self, values)

    def eval(self, inputs: Operand = None, **options: Operand) -> Any:
        return meaning("eval")(self, inputs, **options)
