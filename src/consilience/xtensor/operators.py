"""Operators and elementwise methods of tensors with named dims.

In: operands with dims, numbers. Out: tensors whose dims are all of theirs, in the order of first occurrence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from consilience import tensor as pt
from consilience.ir import Node
from consilience.xtensor.named import Named, apart


class NamedArithmetic(Named):
    """Operators, aligned by name; `==` stays identity, write `px.math.eq` for the comparison."""

    __slots__ = ()

    def _elementwise(self, function: Callable[..., Node], *operands: Any) -> Self:
        nodes, dims = apart(operands)
        return self._with(function(*nodes), dims)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """What NumPy does for `np.exp(x)` and for a number of NumPy's on the left of an operator."""
        if method != "__call__" or settings or not hasattr(pt, ufunc.__name__):
            return NotImplemented
        if any(isinstance(value, np.ndarray) and value.ndim for value in inputs):
            raise TypeError(
                f"an array has no dims to meet those of {self!r}: give them with `px.as_xtensor(…, dims=…)`; with a "
                "`DataArray`, write the tensor on the left."
            )
        return self._elementwise(getattr(pt, ufunc.__name__), *inputs)

    def __add__(self, other: Any) -> Self:
        return self._elementwise(operator.add, self, other)

    def __radd__(self, other: Any) -> Self:
        return self._elementwise(operator.add, other, self)

    def __sub__(self, other: Any) -> Self:
        return self._elementwise(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._elementwise(operator.sub, other, self)

    def __mul__(self, other: Any) -> Self:
        return self._elementwise(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._elementwise(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._elementwise(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._elementwise(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Self:
        return self._elementwise(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._elementwise(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Self:
        return self._elementwise(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Self:
        return self._elementwise(operator.mod, other, self)

    def __pow__(self, other: Any) -> Self:
        return self._elementwise(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Self:
        return self._elementwise(operator.pow, other, self)

    def __and__(self, other: Any) -> Self:
        return self._elementwise(operator.and_, self, other)

    def __rand__(self, other: Any) -> Self:
        return self._elementwise(operator.and_, other, self)

    def __or__(self, other: Any) -> Self:
        return self._elementwise(operator.or_, self, other)

    def __ror__(self, other: Any) -> Self:
        return self._elementwise(operator.or_, other, self)

    def __xor__(self, other: Any) -> Self:
        return self._elementwise(operator.xor, self, other)

    def __rxor__(self, other: Any) -> Self:
        return self._elementwise(operator.xor, other, self)

    def __lt__(self, other: Any) -> Self:
        return self._elementwise(operator.lt, self, other)

    def __le__(self, other: Any) -> Self:
        return self._elementwise(operator.le, self, other)

    def __gt__(self, other: Any) -> Self:
        return self._elementwise(operator.gt, self, other)

    def __ge__(self, other: Any) -> Self:
        return self._elementwise(operator.ge, self, other)

    def __neg__(self) -> Self:
        return self._with(-self.values, self.dims)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._with(abs(self.values), self.dims)

    def __invert__(self) -> Self:
        return self._with(~self.values, self.dims)

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """The same numbers as another element type."""
        return self._with(pt.cast(self.values, dtype), self.dims)

    def clip(self, min: Any = None, max: Any = None) -> Self:
        """Elements brought between two bounds, which may have dims; None for no bound."""
        result = self
        if min is not None:
            result = self._elementwise(pt.maximum, result, min)
        if max is not None:
            result = self._elementwise(pt.minimum, result, max)
        return result

    def where(self, cond: Any, other: Any = float("nan")) -> Self:
        """The elements where a condition holds, `other` elsewhere."""
        nodes, dims = apart([self, cond, other])
        return self._with(pt.where(nodes[1], nodes[0], nodes[2]), dims)

    def fillna(self, value: Any) -> Self:
        """The elements, `value` where they are NaN."""
        nodes, dims = apart([self, value])
        return self._with(pt.where(pt.isnan(nodes[0]), nodes[1], nodes[0]), dims)

    def isnull(self) -> Self:
        """Whether elements are NaN."""
        return self._with(pt.isnan(self.values), self.dims)

    def round(self) -> Self:
        """Nearest whole numbers, halves to the even one."""
        return self._with(pt.round(self.values), self.dims)

    def conj(self) -> Self:
        """The complex conjugate."""
        return self._with(self.values.conj(), self.dims)

    @property
    def real(self) -> Self:
        """The real part."""
        return self._with(self.values.real, self.dims)

    @property
    def imag(self) -> Self:
        """The imaginary part."""
        return self._with(self.values.imag, self.dims)
