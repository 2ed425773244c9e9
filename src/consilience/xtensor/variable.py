"""`XTensorVariable`: a tensor with named dims, as users make, combine and evaluate it.

In: names, arrays, plain tensors, xarray's `DataArray`. Out: tensors with dims; `.values` is the plain tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience import tensor as pt
from consilience.ir import Dimension
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import set_name
from consilience.xtensor.arrangement import NamedArrangement
from consilience.xtensor.indexing import NamedIndexing
from consilience.xtensor.named import Named, NamedType, SomeDims, checked_dims, read
from consilience.xtensor.operators import NamedArithmetic
from consilience.xtensor.products import contracted
from consilience.xtensor.reduction import NamedReductions


class XTensorVariable(NamedArithmetic, NamedReductions, NamedArrangement, NamedIndexing):
    """A tensor with named dims: operands are aligned by name, reductions and indices speak of names.

    Every operation builds the plain graph at once; `values` is its node, for gradients and functions.

    values: Values of the axes, in order.
    dims : ...
    See as_xtensor: Makes one of an array.
    See xtensor: Makes one that is an input of functions.
    >>> x = px.as_xtensor([[1.0, 2.0], [3.0, 4.0]], dims=("city", "year"))
    >>> x.sum("year").dims, x.sum("year").eval().tolist()
    (('city',), [3.0, 7.0])
    """

    __slots__ = ()

    def dot(self, other: Any, dim: SomeDims = None) -> XTensorVariable:
        """Sum of products over dims: those that both have for None, all for `...`."""
        return XTensorVariable(*contracted([self, as_xtensor(other)], dim))

    def __matmul__(self, other: Any) -> XTensorVariable:
        return self.dot(other)

    def __rmatmul__(self, other: Any) -> XTensorVariable:
        return as_xtensor(other).dot(self)

    def eval(self, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any) -> npt.NDArray[Any]:
        """The value as an array, given those of the inputs: `.eval({x: array})`, a `DataArray` in any order of dims."""
        given = {}
        for variable, value in (inputs_to_values or {}).items():
            if isinstance(variable, Named):
                labelled = hasattr(value, "transpose") and hasattr(value, "dims")
                given[variable.values] = np.asarray(value.transpose(*variable.dims) if labelled else value)
            else:
                given[variable] = value
        found: npt.NDArray[Any] = self.values.eval(given, **options)
        return found


def xtensor(
    name: str | None = None,
    *,
    dims: str | Iterable[str],
    shape: Sequence[int | Dimension | None] | None = None,
    dtype: npt.DTypeLike | None = None,
) -> XTensorVariable:
    """A function input with named dims, `config.floatX` unless `dtype` says otherwise.

    name, dims : ...
    shape: A length per dim, None where it is known only at the call; None: no length is known.
    dtype : ...
    Returns: An input, for `px.function([x], ...)`.
    See as_xtensor: Of values.
    >>> x = px.xtensor("x", dims=("city", "year"), shape=(2, None))
    >>> x.dims
    ('city', 'year')
    """
    names = checked_dims(dims, name or "a tensor")
    lengths = (None,) * len(names) if shape is None else tuple(shape)
    return XTensorVariable(pt.tensor(name, dtype=dtype, shape=lengths), names)


@means("variable of a named type")
def _of_type(of: NamedType, name: str | None) -> XTensorVariable:
    return xtensor(name, dims=of.dims, shape=of.shape, dtype=of.dtype)


def as_xtensor(x: Any, dims: str | Iterable[str] | None = None, *, name: str | None = None) -> XTensorVariable:
    """A tensor with named dims from a plain tensor or an array with `dims`, from a `DataArray`, or from a number.

    x, dims, name : ...
    Returns: The tensor with its dims.
    Raises TypeError: Where axes have no names.
    Raises ShapeError: Where `dims` are not those of what has its own.
    See xtensor: An input of functions.
    See xtensor_constant: A constant.
    >>> px.as_xtensor([1.0, 2.0], dims="city").dims
    ('city',)
    """
    if isinstance(x, XTensorVariable) and dims is None and name is None:
        return x
    node, names = read(x, dims)
    if name is not None:
        set_name(node, name)
    return XTensorVariable(node, names)
