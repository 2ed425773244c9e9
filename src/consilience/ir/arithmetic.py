"""The user's notation on nodes: operators and methods.

Each entry forwards to a function that the ops register by name, so that a node can be written
with before the layer that gives the notation its meaning is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

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
    found = _meanings.get(name)
    if found is None:
        raise NotImplementedError(
            f"`{name}` of expressions is given by the public functions: `import consilience.tensor`."
        )
    return found


def known_meaning(name: str) -> Callable[..., Any] | None:
    """The same, or None while the layer that gives it is not loaded."""
    return _meanings.get(name)


def _no_number(kind: str) -> str:
    return (
        f"an expression has no value before it is computed, so it is no {kind}: compute it with `.eval()`, or use the "
        "functions of `consilience.tensor`, which take expressions (`pt.dot(frame, x)` for `frame @ x` with pandas)."
    )


class Arithmetic:
    """Operators of the tensor notation; `==` stays identity, write `pt.eq` for the comparison."""

    __slots__ = ()
    # pandas hands an operation over to operands of higher priority; a DataFrame has 4000.
    __pandas_priority__ = 5000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Operand, **settings: Any) -> Any:
        """What NumPy does for `np.exp(x)` and for an array on the left of an operator."""
        return meaning("array_ufunc")(ufunc, method, inputs, settings)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        """What NumPy does for `np.sum(x)` and its other functions."""
        return meaning("array_function")(function, types, arguments, named)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(_no_number("array"))

    def __float__(self) -> float:
        raise TypeError(_no_number("float"))

    def __int__(self) -> int:
        raise TypeError(_no_number("int"))

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

    def eval(self, inputs_to_values: Operand = None, **options: Operand) -> Any:
        """The value, given those of what it depends on: `.eval({x: 1.0})`; see `consilience.tensor.eval`."""
        return meaning("eval")(self, inputs_to_values, **options)

    def get_value(self, borrow: bool = False) -> Any:
        """The present value of a shared variable, a copy."""
        return meaning("get_value")(self)

    def set_value(self, new_value: Operand, borrow: bool = False) -> None:
        """Give a shared variable another value of its dtype and shape."""
        meaning("set_value")(self, new_value)
