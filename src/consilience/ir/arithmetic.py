"""The user's notation on nodes: operators and methods.

Each entry forwards to a function that the ops register by name, so that a node can be written
with before the layer that gives the notation its meaning is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np

from consilience.first_use import face
from consilience.names import absent

if TYPE_CHECKING:
    from consilience.ir.node import Node

    Operand = Any  # a node, an array, a number

_F = TypeVar("_F", bound=Callable[..., Any])


class _Meanings(dict[str, Callable[..., "Node"]]):
    """Functions by notation; those of layers that are not loaded come with them, when an expression first asks."""

    def __missing__(self, name: str) -> Callable[..., Node]:
        face("meanings of operators")
        if name not in self:
            raise KeyError(name)
        return self[name]


_meanings: Final = _Meanings()


def means(name: str) -> Callable[[_F], _F]:
    """Register the function behind an operator or method of nodes."""

    def register(function: _F) -> _F:
        _meanings[name] = function
        return function

    return register


def meaning(name: str) -> Callable[..., Any]:
    """The function registered for a notation; for lower files that need one construction of a higher one."""
    return _meanings[name]


def known_meaning(name: str) -> Callable[..., Any] | None:
    """The same, or None while the layer that gives it is not loaded."""
    return _meanings.get(name)


def _no_number(kind: str) -> str:
    return (
        f"an expression has no value before it is computed, so it is no {kind}. Use the functions of `pm.math`, which "
        "take expressions (`pm.math.exp(x)` for `math.exp(x)`, `pm.math.dot(frame, x)` for `frame @ x` with pandas or "
        "with a sparse matrix of SciPy), or compute its value with `x.eval()`."
    )


def _answers(other: object) -> bool:
    """Whether an operand asks to be given the operator itself: in NumPy's way, as sparse matrices, or as named dims."""
    return getattr(type(other), "__array_ufunc__", True) is None or _has_dims(other)


def _has_dims(other: object) -> bool:
    """Whether an operand is a tensor with named dims, which takes numbers without dims on its left."""
    return getattr(type(other), "answers_operators", False)


def plain(value: Any) -> Any:
    """A tensor without its named dims; anything else as it is."""
    return value.values if _has_dims(value) else value


def without_dims(values: Any) -> Any:
    """Tensors in a list, tuple or dict, or a single one, without their named dims."""
    if isinstance(values, dict):
        return {name: plain(value) for name, value in values.items()}
    return [plain(value) for value in values] if isinstance(values, list | tuple) else plain(values)


def like(given: Any, node: Node) -> Any:
    """A tensor with the named dims of what was given, if that has any."""
    return given.__class__(node, given.dims) if _has_dims(given) else node


def _method(function: str) -> Callable[..., Node]:
    def call(self: Node) -> Node:
        return _meanings[function](self)

    call.__name__ = function
    call.__doc__ = f"Elementwise `{function}`."
    return call


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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """What `np.array([x, 1, 2])` takes as an element: an array of Python objects keeps a scalar expression."""
        of: Any = self
        if of.ndim or (dtype is not None and np.dtype(dtype).kind != "O"):
            raise TypeError(_no_number("array"))
        held = np.empty((), object)
        held.fill(self)
        return held

    def __float__(self) -> float:
        raise TypeError(_no_number("float"))

    def __int__(self) -> int:
        raise TypeError(
            "an expression has no value before it is computed, so it is no int: compute it with `.eval()`, or stay "
            'with expressions: `x.astype("int64")` drops the decimals, `pt.arange(n)` counts, `pt.zeros(n)` and its '
            "like take a length, `pt.scan(…, n_steps=n)` repeats a step."
        )

    def __format__(self, form: str) -> str:
        if form:
            raise TypeError(_no_number(f"number to be written by {form!r}"))
        return str(self)

    def __setitem__(self, place: Any, value: Any) -> NoReturn:
        of = getattr(self, "name", None) or "x"
        raise TypeError(
            f"a tensor is an expression, which nothing is written into: `{of} = {of}[…].set(value)` is one with other "
            f"elements there, `{of}[…].inc(value)` one to which they are added."
        )

    def __add__(self, other: Operand) -> Node:
        return NotImplemented if _answers(other) else _meanings["add"](self, other)

    def __radd__(self, other: Operand) -> Node:
        return _meanings["add"](other, self)

    def __sub__(self, other: Operand) -> Node:
        return NotImplemented if _answers(other) else _meanings["sub"](self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _meanings["sub"](other, self)

    def __mul__(self, other: Operand) -> Node:
        return NotImplemented if _answers(other) else _meanings["mul"](self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _meanings["mul"](other, self)

    def __truediv__(self, other: Operand) -> Node:
        return NotImplemented if _has_dims(other) else _meanings["true_div"](self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _meanings["true_div"](other, self)

    def __floordiv__(self, other: Operand) -> Node:
        return NotImplemented if _has_dims(other) else _meanings["floor_div"](self, other)

    def __rfloordiv__(self, other: Operand) -> Node:
        return _meanings["floor_div"](other, self)

    def __mod__(self, other: Operand) -> Node:
        return NotImplemented if _has_dims(other) else _meanings["mod"](self, other)

    def __rmod__(self, other: Operand) -> Node:
        return _meanings["mod"](other, self)

    def __divmod__(self, other: Operand) -> tuple[Node, Node]:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> tuple[Node, Node]:
        return other // self, other % self

    def __pow__(self, other: Operand) -> Node:
        return NotImplemented if _has_dims(other) else _meanings["pow"](self, other)

    def __rpow__(self, other: Operand) -> Node:
        return _meanings["pow"](other, self)

    def __matmul__(self, other: Operand) -> Node:
        return NotImplemented if _answers(other) else _meanings["matmul"](self, other)

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

    def __lshift__(self, other: Operand) -> Node:
        return _meanings["left_shift"](self, other)

    def __rlshift__(self, other: Operand) -> Node:
        return _meanings["left_shift"](other, self)

    def __rshift__(self, other: Operand) -> Node:
        return _meanings["right_shift"](self, other)

    def __rrshift__(self, other: Operand) -> Node:
        return _meanings["right_shift"](other, self)

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

    if not TYPE_CHECKING:  # type checkers know by themselves what is not there

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and getattr(object.__getattribute__(self, "type"), "dtype", None) == "key":
                face("meanings of random keys")  # loaded when first needed, as distributions are
                return meaning("method of a random key")(self, name)
            there = [] if name.startswith("_") else [n for n in dir(type(self)) if not n.startswith("_")]
            raise AttributeError(absent.reason("a tensor", name, there), name=name, obj=self)

    @property
    def owner(self) -> Any:
        """The op behind this value, with its inputs and outputs (`consilience.graph.Apply`); None for inputs."""
        return meaning("owner")(self)

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

    conjugate = conj

    @property
    def T(self) -> Node:  # NumPy's name
        """All axes reversed."""
        return _meanings["transpose"](self)

    @property
    def mT(self) -> Node:  # NumPy's name
        """The last two axes exchanged."""
        return _meanings["matrix_transpose"](self)

    @property
    def size(self) -> Any:
        """Number of elements: an integer where static, else an int64 scalar."""
        return _meanings["size"](self)

    def sum(
        self, axis: Operand = None, dtype: Operand = None, keepdims: bool = False, acc_dtype: Operand = None
    ) -> Node:
        return _meanings["sum"](self, axis, dtype, keepdims, acc_dtype)

    def prod(
        self, axis: Operand = None, dtype: Operand = None, keepdims: bool = False, acc_dtype: Operand = None
    ) -> Node:
        return _meanings["prod"](self, axis, dtype, keepdims, acc_dtype)

    def mean(
        self, axis: Operand = None, dtype: Operand = None, keepdims: bool = False, acc_dtype: Operand = None
    ) -> Node:
        return _meanings["mean"](self, axis, dtype, keepdims, acc_dtype)

    def var(self, axis: Operand = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Node:
        return _meanings["var"](self, axis, ddof, keepdims, corrected)

    def std(self, axis: Operand = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Node:
        return _meanings["std"](self, axis, ddof, keepdims, corrected)

    def max(self, axis: Operand = None, keepdims: bool = False, initial: Operand = None) -> Node:
        return _meanings["max"](self, axis, keepdims, initial)

    def min(self, axis: Operand = None, keepdims: bool = False, initial: Operand = None) -> Node:
        return _meanings["min"](self, axis, keepdims, initial)

    def ptp(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["ptp"](self, axis, keepdims)

    def any(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["any"](self, axis, keepdims)

    def all(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["all"](self, axis, keepdims)

    def argmax(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["argmax"](self, axis, keepdims)

    def argmin(self, axis: Operand = None, keepdims: bool = False) -> Node:
        return _meanings["argmin"](self, axis, keepdims)

    def cumsum(self, axis: int | None = None) -> Node:
        return _meanings["cumsum"](self, axis)

    def cumprod(self, axis: int | None = None) -> Node:
        return _meanings["cumprod"](self, axis)

    def reshape(self, *lengths: Operand, ndim: int | None = None, shape: Operand = None) -> Node:
        if shape is not None:
            lengths = (shape,)
        return _meanings["reshape"](self, lengths[0] if len(lengths) == 1 else lengths, ndim=ndim)

    def ravel(self) -> Node:
        return _meanings["reshape"](self, (-1,))

    def flatten(self, ndim: int = 1) -> Node:
        return _meanings["flatten"](self, ndim)

    def transpose(self, *axes: Operand) -> Node:
        return _meanings["transpose"](self, *axes)

    def dimshuffle(self, *pattern: Operand) -> Node:
        """Axes in the order of `pattern`; "x" is a new axis of length 1, an axis left out must have length 1."""
        return _meanings["dimshuffle"](self, *pattern)

    def swapaxes(self, axis1: int, axis2: int) -> Node:
        return _meanings["swapaxes"](self, axis1, axis2)

    def squeeze(self, axis: Operand = None) -> Node:
        return _meanings["squeeze"](self, axis)

    def repeat(self, repeats: Operand, axis: int | None = None) -> Node:
        return _meanings["repeat"](self, repeats, axis)

    def sort(self, axis: int | None = -1, kind: Operand = None, order: None = None) -> Node:
        return _meanings["sort"](self, axis, kind, order)

    def nonzero(self, return_matrix: bool = False) -> Any:
        """Positions of the elements that are not zero: a vector per axis, as the rows of a matrix if asked."""
        positions = meaning("nonzero")(self)
        return _meanings["stack"](positions) if return_matrix else positions

    def argsort(self, axis: int | None = -1, kind: Operand = None, order: None = None) -> Node:
        return _meanings["argsort"](self, axis, kind, order)

    def searchsorted(self, v: Operand, side: str = "left", sorter: Operand = None) -> Node:
        return _meanings["searchsorted"](self, v, side, sorter)

    def take(self, indices: Operand, axis: int | None = None, mode: str = "raise") -> Node:
        return _meanings["take"](self, indices, axis, mode)

    def choose(self, choices: Operand, mode: str = "raise") -> Node:
        """For each element the element of the choice of that number."""
        return _meanings["choose"](self, choices, mode)

    def compress(self, a: Operand, axis: int | None = None) -> Node:
        """The parts of a along an axis where this vector is true."""
        return _meanings["compress"](self, a, axis)

    def nonzero_values(self) -> Node:
        """The elements that are not zero, in row-major order."""
        return _meanings["nonzero_values"](self)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
        return _meanings["diagonal"](self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
        return _meanings["trace"](self, offset, axis1, axis2)

    def astype(self, dtype: Operand) -> Node:
        return _meanings["cast"](self, dtype)

    def copy(self, name: str | None = None) -> Node:
        """The tensor itself, which never changes, under another name if one is given."""
        return _meanings["copy"](self, name)

    def fill(self, value: Operand) -> Node:
        """A tensor of this shape and dtype whose elements all are `value`."""
        return _meanings["full_like"](self, value)

    def zeros_like(self, dtype: Operand = None) -> Node:
        return _meanings["full_like"](self, 0, dtype)

    def ones_like(self, dtype: Operand = None) -> Node:
        return _meanings["full_like"](self, 1, dtype)

    def dot(self, right: Operand) -> Node:
        return _meanings["dot"](self, right)

    def clip(self, min: Operand = None, max: Operand = None, *, a_min: Operand = None, a_max: Operand = None) -> Node:
        return _meanings["clip"](self, a_min if min is None else min, a_max if max is None else max)

    def round(self, mode: Operand = None) -> Node:
        return _meanings["round to"](self, mode)

    def set(self, y: Operand) -> Node:
        return _meanings["index_set"](self, y)

    def inc(self, y: Operand, ignore_duplicates: bool = False) -> Node:
        return _meanings["index_inc"](self, y, ignore_duplicates)

    def eval(self, inputs_to_values: Operand = None, **options: Operand) -> Any:
        """The value, given those of what it depends on: `.eval({x: 1.0})`; see `consilience.tensor.eval`."""
        return meaning("eval")(self, inputs_to_values, **options)

    def dprint(self, **options: Operand) -> Any:
        """Write what the value depends on as a tree; see `consilience.backends.printing.debugprint`."""
        return meaning("dprint")(self, **options)

    def str_repr(self, formatting: str = "plain", include_params: bool = True) -> str:
        """A variable of a model in words: `y ~ Normal(f(a, b), sigma)`; `formatting` "plain" or "latex"."""
        face("words of variables")  # loaded when first needed, as models are
        return str(meaning("str_repr")(self, formatting, include_params))

    def clone(self, *, name: str | None = None) -> Node:
        """An input of the same dtype, lengths and name (or another one), to be replaced or given later."""
        node: Node = meaning("clone")(self, name)
        return node

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The present value of a shared variable: a copy or, with `borrow`, the read-only array it holds until set."""
        return meaning("get_value")(self, borrow)

    def set_value(self, new_value: Operand = None, borrow: bool = False, *, seed: Operand = None) -> None:
        """Give a shared variable another value of its dtype and shape; a random key also by its `seed`."""
        meaning("set_value")(self, new_value, seed)

    # Functions of every element.
    arccos = _method("arccos")
    arccosh = _method("arccosh")
    arcsin = _method("arcsin")
    arcsinh = _method("arcsinh")
    arctan = _method("arctan")
    arctanh = _method("arctanh")
    ceil = _method("ceil")
    cos = _method("cos")
    cosh = _method("cosh")
    deg2rad = _method("deg2rad")
    exp = _method("exp")
    exp2 = _method("exp2")
    expm1 = _method("expm1")
    floor = _method("floor")
    log = _method("log")
    log10 = _method("log10")
    log1p = _method("log1p")
    log2 = _method("log2")
    rad2deg = _method("rad2deg")
    sin = _method("sin")
    sinh = _method("sinh")
    sqrt = _method("sqrt")
    tan = _method("tan")
    tanh = _method("tanh")
    trunc = _method("trunc")
