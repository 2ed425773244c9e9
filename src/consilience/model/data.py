"""Where data enter a model: what users give becomes numbers, expressions of data or sparse matrices, once and for all.

In: arrays, lists, tables of pandas and polars, tensors of PyTorch and JAX, masked arrays, sparse matrices, `pm.Data`,
batches. Out: `GivenData`, and slots that hold them. What a variable asks of its data is `observation`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.distributions.parameters import first_outside
from consilience.errors import ConsilienceWarning, DtypeError, ModelError, ShapeError, SupportError, warn
from consilience.ir import (
    Dimension,
    Node,
    Shape,
    constant_value,
    numpy_dtype,
    shared_slot,
)
from consilience.ir.leaves import LARGE, by_columns, is_masked, stays
from consilience.ir.types import dtype_of
from consilience.names.absent import elsewhere
from consilience.ops.dtypes import widened
from consilience.ops.sparse.variable import SparseVariable, canonical, is_scipy_sparse
from consilience.record import Record, replace

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class GivenData(Record, eq=False):
    """Data as they came in.

    `values`: an array of bool, int32, int64, float32 or float64; an expression of data and of rows of batches; or a
        sparse matrix.
    `missing`: where an array has no value: masked elements, NaN, None, pandas' NA; None where all are there.
    `masked`: whether a mask says so (default False).
    `sizes`: lengths of all data, of which these are a batch, along the first axes: whole numbers or expressions, None
        for complete axes, `...` for all that are not named; None where these are all data.
    """

    name: str
    values: Any
    missing: Mask | None = None
    masked: bool = False
    sizes: tuple[Any, ...] | None = None

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        shape: Shape = self.values.static_shape if isinstance(self.values, Node) else self.values.shape
        return shape

    def numbers(self) -> Array:
        """The values, for what has no variables in place of those that are missing: these are NaN.

        Raises DtypeError: For expressions and sparse matrices.
        Raises SupportError: For masked elements.
        """
        if isinstance(self.values, Node):
            raise DtypeError(
                f"the data `{self.name}` must be numbers, got an expression; use `pm.Deterministic` for those."
            )
        if hasattr(self.values, "tocsr"):
            raise DtypeError(
                f"the data `{self.name}` are a sparse matrix, where a dense array was needed: `.toarray()`. Operands "
                "of products may be sparse, as constants or as `pm.Data(name, A)`."
            )
        if self.masked:
            raise SupportError(
                f"`{self.name}` has masked values; arrays with missing values go to `observed=` of a distribution "
                "directly."
            )
        values: Array = self.values
        return values if self.missing is None else np.where(self.missing, np.nan, values)

    def complete(self) -> Array:
        """The values, of which none is missing.

        Raises SupportError:
        """
        if self.missing is not None and not self.masked:
            place = tuple(int(i) for i in np.argwhere(self.missing)[0])
            raise SupportError(
                f"`observed` of `{self.name}` has {int(self.missing.sum())} NaN, the first at {place}; missing values "
                "are made variables only where the distribution gets them as an array, in `observed=`."
            )
        return self.numbers()

    def with_gaps(self) -> GivenData:
        """The values with NaN for those that are missing, for distributions that know what to do with them."""
        lacking = False if self.missing is None else self.missing
        return replace(self, values=np.where(lacking, np.nan, self.values), missing=None, masked=False)

    def present(self, missing: Mask) -> GivenData:
        """Those that are not missing, along one axis."""
        return replace(self, values=self.values[~missing], missing=None, masked=False)


def given_data(name: str, value: Any, total_size: Any = None, columns: bool = False) -> GivenData:
    """Data of any kind.

    `name`: for messages.
    `total_size`: length of all data along the first axis, or a list of lengths with None, or `...`, for axes that are
        complete; None: the data are no batch.
    `columns`: whether a large matrix of few columns is copied column by column, as products read it.
    Raises DtypeError for what is neither numbers nor an expression.
    Raises ModelError for a batch with missing values, and for expressions of PyMC and PyTensor.
    """
    if isinstance(value, GivenData):
        return value
    if told := elsewhere(value):
        raise ModelError(told)
    known = constant_value(value) if isinstance(value, Node) else None
    array = value if known is None else known
    found = (
        GivenData(name, array) if isinstance(array, Node) or hasattr(array, "tocsr") else _dense(name, array, columns)
    )
    if total_size is None:
        return found
    if found.missing is not None:
        raise ModelError(f"`{name}`: data with missing values are no batch; drop `total_size`.")
    return replace(found, sizes=_sizes(found, total_size))


def _sizes(found: GivenData, total_size: Any) -> tuple[Any, ...]:
    sizes = tuple(total_size) if isinstance(total_size, list | tuple) else (total_size,)
    numbers = [size for size in sizes if size is not None and size is not ... and not isinstance(size, Node)]
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in numbers)
    if not whole or sum(size is ... for size in sizes) > 1:
        raise ModelError(f"`{found.name}`: `total_size` must be made of whole numbers > 0, got {total_size!r}.")
    rank = len(found.shape)
    if len(sizes) - (... in sizes) > max(1, rank):
        raise ShapeError(f"`{found.name}` has {rank} axes, but `total_size` has {len(sizes)}: {total_size!r}.")
    return sizes


# ---- arrays


def _dense(name: str, value: Any, columns: bool) -> GivenData:
    """An array: short and unsigned integers as int64, float16 as float32, objects by value."""
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()  # of PyTorch, on a device or with a gradient
        if hasattr(value, "to_numpy"):
            value = value.to_numpy()
        array, missing = _numbers(name, np.asarray(value))
        if array.dtype.kind == "c":
            raise DtypeError("complex numbers have no density; give their real and imaginary parts.")
        wide = widened(dtype_of(array))
        if array.dtype == "uint64" and array.size and int(array.max()) > np.iinfo(wide).max:
            raise DtypeError(f"{array.max()} does not fit {wide}; rescale or use float64.")
        array = _kept(array, np.dtype(wide), columns)
    except (DtypeError, ValueError, TypeError) as error:
        raise DtypeError(f"the data `{name}` must be an array of numbers: {error}") from None
    masked = is_masked(value) and bool(np.ma.getmaskarray(value).any())
    if masked:
        missing = np.ma.getmaskarray(value) if missing is None else missing | np.ma.getmaskarray(value)
    return GivenData(name, array, missing if missing is not None and missing.any() else None, masked)


def initial_numbers(name: str, given: Any) -> Array:
    """A starting value of a variable."""
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        raise DtypeError(f"the initial value of `{name}` must be numbers, got {given!r}.") from None


def _kept(array: Array, dtype: np.dtype[Any], columns: bool) -> Array:
    """The one copy of what may be written to; a large one that nobody can write to is used where it lies."""
    if stays(array, dtype):
        return array
    copy = by_columns(array, dtype) if columns else None
    if copy is None:
        copy = array.astype(dtype)
        copy.setflags(write=copy.nbytes < LARGE)
    return copy


def _numbers(name: str, array: Array) -> tuple[Array, Mask | None]:
    """Objects as the numbers they are, and where values are missing; DtypeError with the way to numbers for others."""
    if array.dtype == object:
        plain = [v.item() if isinstance(v, np.generic) else v for v in array.ravel()]
        missing = np.array([_is_missing(v) for v in plain], bool)
        there = [v for v, lacks in zip(plain, missing, strict=True) if not lacks]
        if all(isinstance(v, Real) or type(v).__module__ == "decimal" for v in there):
            kind = None if there and all(isinstance(v, Integral) for v in there) else float
            filled = [0 if lacks else v for v, lacks in zip(plain, missing, strict=True)]
            return np.array(filled, kind).reshape(array.shape), missing.reshape(array.shape)
    first = array.ravel()[0] if array.size else None
    if array.dtype.kind in "mM" or isinstance(first, date | timedelta):
        raise DtypeError(
            f"they are dates such as {first}. As labels give them in `coords`; as numbers, the time since a day: "
            f"`({name} - np.datetime64('2020-01-01')) / np.timedelta64(1, 'D')`."
        )
    if array.dtype.kind in "UST" or (array.dtype == object and any(isinstance(v, str) for v in array.ravel())):
        text = str(next(v for v in array.ravel() if isinstance(v, str | bytes)))
        raise DtypeError(
            f"they hold texts such as {text!r}. `codes, labels = pandas.factorize(values)` makes numbers of them: give "
            "the codes as data and as index, and the labels in `coords`."
        )
    # The least of numbers of which one is NaN is NaN: no array beside a large one, of which most are complete.
    lacking = array.dtype.kind == "f" and array.size and bool(np.isnan(np.min(array)))
    return array, np.isnan(array) if lacking else None


def _is_missing(value: Any) -> bool:
    """Whether an object stands for no value: None, what does not equal itself, and what will not say (pandas' NA)."""
    if value is None:
        return True
    differs = value != value
    return bool(differs) if isinstance(differs, bool | np.bool_) else not isinstance(differs, np.ndarray)


def labelled_axes(value: Any) -> dict[str, Any]:
    """Names of the axes of a `DataArray`, `DataFrame` or `Series`, with their labels or None."""
    if hasattr(value, "dims") and hasattr(value, "coords"):
        return {str(dim): value.coords[dim].to_numpy() if dim in value.coords else None for dim in value.dims}
    axes = [getattr(value, axis) for axis in ("index", "columns") if hasattr(value, axis)]
    names = [getattr(axis, "name", None) for axis in axes]
    if not axes or None in names:
        raise ShapeError(
            "`infer_dims_and_coords` needs a DataArray, or a DataFrame or Series whose index and columns have names; "
            f"got {type(value).__name__} with {names}. Give `dims` and `coords`."
        )
    return dict(zip(map(str, names), axes, strict=True))


def in_order_of(dims: Sequence[str | None], value: Any, labels: Mapping[str, Any], columns: Any = None) -> Any:
    """Labelled values with their axes in the order of a variable's dims, and what lies along them in that of labels.

    Positions would say something else than names. Other values, and other labels than those known, stay as they are.

    `labels`: those of dims. `columns`: those of a table's columns, where `labels` has none for them.
    """
    theirs = getattr(value, "dims", None)
    if theirs and tuple(theirs) != tuple(dims) and Counter(theirs) == Counter(dims):
        value = value.transpose(*dims)
    for axis in range(max(2, len(dims))):
        known = labels.get(dims[axis] or "") if axis < len(dims) else None
        value = _in_order_of_labels(value, axis, columns if known is None and axis == 1 else known)
    return value


def in_known_order(
    name: str, dims: Sequence[str | None], value: Any, labels: Mapping[str, Any], columns: Sequence[Any] | None
) -> Any:
    """New values of data that once had these columns, `in_order_of`; a warning where columns have other names now."""
    value = in_order_of(dims, value, labels, columns)
    new = labels_along(value, 1)
    if columns is not None and new is not None and len(new) == len(columns) and {*new} != {*columns}:
        warn(
            f"the columns of the data `{name}` were {list(columns)}, and are {list(new)} now; since the names differ, "
            "columns are taken in their order.",
            category=ConsilienceWarning,
        )
    return value


def _in_order_of_labels(value: Any, axis: int, known: Sequence[Any] | None) -> Any:
    own = labels_along(value, axis)
    if known is None or own is None or own == tuple(known) or Counter(own) != Counter(known):
        return value
    places = [own.index(label) for label in known]
    if hasattr(value, "dims"):
        return value.isel({value.dims[axis]: places})
    return value.iloc[:, places] if hasattr(value, "iloc") else value[:, places]


def labels_along(value: Any, axis: int) -> tuple[Any, ...] | None:
    """Labels that values bring along an axis: a `DataArray` those of any, a table the names of its columns."""
    if hasattr(value, "dims") and hasattr(value, "coords"):
        dim = value.dims[axis] if axis < len(value.dims) else None
        array = value.coords[dim].to_numpy() if dim in value.coords else None
        found = None if array is None else list(array) if array.dtype.kind in "mM" else array.tolist()
    else:
        found = list(value.columns) if axis == 1 and hasattr(value, "columns") else None
        if found is not None and not all(isinstance(label, str | tuple) for label in found):
            return None  # numbers that a table gives to columns without names
    return tuple(found) if found is not None and len({*found}) == len(found) else None


# ---- slots


def no_such_data(name: str, there: Mapping[str, object]) -> KeyError:
    """The error for data by a name that a model does not have."""
    said = f"it has {', '.join(there)}" if there else f"`pm.Data({name!r}, values)` inside the model declares them"
    return KeyError(f"the model has no data `{name}`; {said}.")


def data_slot(name: str, array: Array, shape: Sequence[int | Dimension | None]) -> Node:
    """A shared slot that holds the data in the default context."""
    slot = shared_slot(array.dtype.name, shape, name)
    contexts.DEFAULT.set(slot, array)
    return slot


def for_slot(name: str, slot: Node, value: Any) -> Array:
    """New values for a slot, in its dtype and with its number of axes."""
    array = given_data(name, value, columns=True).numbers()
    wanted = numpy_dtype(slot.dtype)
    if array.ndim != slot.ndim:
        raise ShapeError(f"the data `{name}` have {slot.ndim} axes, got an array of shape {array.shape}.")
    if not np.can_cast(array.dtype, wanted, "same_kind"):
        cast_array = array.astype(wanted) if np.isfinite(array).all() else None
        if cast_array is None or not (cast_array == array).all():
            wrong = ~np.isfinite(array) if cast_array is None else cast_array != array
            raise DtypeError(
                f"the data `{name}` are {slot.dtype}, got an array of {array.dtype} with the value "
                f"{first_outside(array, wrong)}; convert it, or create `pm.Data` with values of that type."
            )
        array = cast_array
    if array.dtype == wanted:
        return array  # nobody else's, or one that stays where it lies
    converted = by_columns(array, wanted)
    return array.astype(wanted) if converted is None else converted


def sparse_slots(name: str, matrix: Any, slot: Callable[[str, Array], Node]) -> SparseVariable:
    """A sparse variable of slots, which `slot` makes of the names and arrays of parts; its columns stay as many."""
    data, indices, indptr, shape = (slot(own, array) for own, array in _sparse_parts(name, matrix).items())
    columns = int(contexts.DEFAULT.get(shape)[1])
    return SparseVariable(data, indices, indptr, (indptr.static_shape[0] - 1, columns), "csr")


def with_sparse_parts(values: Mapping[str, Any], find: Callable[[str], Node | None]) -> dict[str, Any]:
    """New values of data by name, those of sparse data as their parts.

    `find`: the slot of a name. Raises ShapeError for a sparse matrix with another number of columns than the data have.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        shape = find(f"{name}.shape") if is_scipy_sparse(value) else None
        if shape is None:
            found[name] = value
            continue
        have, want = value.shape[1], int(contexts.DEFAULT.get(shape)[1])
        if have != want:
            raise ShapeError(f"the sparse data `{name}` have {want} columns, which stay; got a matrix with {have}.")
        found.update(_sparse_parts(name, value))
    return found


def _sparse_parts(name: str, matrix: Any) -> dict[str, Array]:
    """The parts of a matrix, row by row, under their names."""
    known = canonical(matrix, "csr")
    arrays = (known.data, known.indices, known.indptr, np.array(known.shape, "int64"))
    return {f"{name}.{part}": a for part, a in zip(("data", "indices", "indptr", "shape"), arrays, strict=True)}
