"""Data of a model: what comes from the user, checked and turned into constants and slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.absent import elsewhere
from consilience.backends import contexts, reference
from consilience.backends.shapes import Lengths, bind_lengths
from consilience.distributions.densities import parameter_violation, support_error, support_refusal, support_violation
from consilience.distributions.parameters import first_outside
from consilience.distributions.random_variable import variable_of
from consilience.errors import DtypeError, ModelError, ParameterError, ShapeError, SupportError
from consilience.ir import (
    Dimension,
    Node,
    Shared,
    constant,
    constant_value,
    is_leaf,
    numpy_dtype,
    shared_slot,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.leaves import is_masked
from consilience.ir.side_tables import name_of
from consilience.ir.types import FLOATS, dtype_of
from consilience.lower.specialise import specialise
from consilience.model.minibatch import is_rows
from consilience.ops import LengthOf
from consilience.ops.dtypes import kind_of, widened
from consilience.ops.elementwise import Cast, TensorLike, as_tensor, cast
from consilience.ops.shape import length_of
from consilience.record import replace

if TYPE_CHECKING:
    from consilience.model.variables import ModelVariables

Array = npt.NDArray[Any]


def as_array(name: str, value: Any) -> Array:
    """The user's data as a NumPy array: short and unsigned integers as int64, float16 as float32, objects by value."""
    if isinstance(value, Node):
        raise DtypeError(f"the data `{name}` must be numbers, got an expression; use `pm.Deterministic` for those.")
    if hasattr(value, "tocsr"):
        raise DtypeError(
            f"the data `{name}` are a sparse matrix, where a dense array was needed: `.toarray()`. Operands of "
            "products may be sparse, as constants or as `pm.Data(name, A)`."
        )
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if is_masked(value) and np.ma.getmaskarray(value).any():
        raise SupportError(
            f"`{name}` has masked values; arrays with missing values go to `observed=` of a distribution directly."
        )
    try:
        if told := elsewhere(value):
            raise DtypeError(told)
        array = _numbers(name, np.asarray(value))
        if array.dtype.kind == "c":
            raise DtypeError("complex numbers have no density; give their real and imaginary parts.")
        wide = widened(dtype_of(array))
        if array.dtype == "uint64" and array.size and int(array.max()) > np.iinfo(wide).max:
            raise DtypeError(f"{array.max()} does not fit {wide}; rescale or use float64.")
        return array.astype(wide)
    except (DtypeError, ValueError, TypeError) as error:
        raise DtypeError(f"the data `{name}` must be an array of numbers: {error}") from None


def _numbers(name: str, array: Array) -> Array:
    """Objects as the numbers they are, None as NaN; DtypeError with the way to numbers for texts and dates."""
    if array.dtype == object:
        plain = [v.item() if isinstance(v, np.generic) else np.nan if v is None else v for v in array.ravel()]
        if all(isinstance(v, Real | Decimal) for v in plain):
            whole = all(isinstance(v, Integral) for v in plain)
            return np.array(plain, None if whole else float).reshape(array.shape)
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
    return array


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


def for_slot(name: str, slot: Node, value: Any) -> Array:
    """New values for a slot, in its dtype and with its number of axes."""
    array = as_array(name, value)
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
    return array.astype(wanted)


def data_slot(name: str, array: Array, shape: Sequence[int | Dimension | None]) -> Node:
    """A shared slot that holds the data in the default context."""
    slot = shared_slot(array.dtype.name, shape, name)
    contexts.DEFAULT.set(slot, array)
    return slot


def as_data(name: str, rv: Node, observed: TensorLike) -> Node:
    """Observed values with the dtype of their variable; shapes must broadcast to the variable's."""
    if isinstance(observed, Node):
        if isinstance(observed.op, Shared):
            return _typed(name, rv, observed)
        known = constant_value(observed)
        if known is None:
            order = topological([observed])
            keys = {n.inputs[0] for n in order if is_rows(n)}
            if all(isinstance(n.op, Shared) or n in keys for n in order if is_leaf(n)):
                return _typed(name, rv, observed)
            raise DtypeError(f"`observed` of `{name}` must be data, got an expression with random or free parts.")
        array = known
    else:
        array = as_array(name, observed)
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    if missing.any():
        place = tuple(int(i) for i in np.argwhere(missing)[0])
        raise SupportError(
            f"`observed` of `{name}` has {int(missing.sum())} NaN, the first at {place}; missing values are made "
            "variables only where the distribution gets them as an array, in `observed=`."
        )
    if kind_of(rv.dtype) == "int" and array.dtype.kind == "f":
        check_whole(f"`observed` of `{name}`", array)
        array = array.astype("int64")
    check_shape(name, rv, array.shape)
    return constant(array, rv.dtype)


def _typed(name: str, rv: Node, data: Node) -> Node:
    """Data of slots in the type of their variable; whether floats are whole is seen when their values are."""
    check_shape(name, rv, data.static_shape)
    return cast(data, rv.dtype)


def check_whole(what: str, array: Array) -> None:
    """Raise SupportError for floats that are no whole numbers, where those are needed."""
    wrong = ~np.isfinite(array) | (array != np.floor(array))
    if wrong.any():
        shown = first_outside(array, wrong)
        near = np.isfinite(array).all() and np.abs(array - np.round(array)).max() < 1e-3
        raise SupportError(
            f"{what}: {int(wrong.sum())} of {array.size} values are not whole, the first is {shown}; "
            + ("round them with `np.round`" if near else "give counts, or a continuous distribution")
            + ". `pm.Model(check_bounds=False)` takes them as they are, and the formula at them."
        )


def of_real_numbers(rv: Node, observed: TensorLike) -> Node:
    """A variable of whole numbers as one of floats, where its data are such: the formula is used between them, too."""
    if kind_of(rv.dtype) != "int":
        return rv
    data = observed if isinstance(observed, Node) else np.asarray(observed)
    if data.dtype in FLOATS if isinstance(data, Node) else data.dtype.kind == "f" and (data != np.floor(data)).any():
        return Node(replace(variable_of(rv, "observed"), dtype="float64"), *rv.inputs)
    return rv


def check_shape(name: str, rv: Node, shape: Sequence[Any]) -> None:
    """Raise ShapeError where data of a shape do not fit a variable."""
    own = rv.static_shape
    fits = len(shape) == len(own) and all(
        not (isinstance(a, int) and isinstance(b, int)) or a == b for a, b in zip(shape, own, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"`observed` of `{name}` has shape {tuple(shape)}, but the variable has shape {own}; "
            "check the shapes of its parameters and data."
        )


def weight(name: str, rv: Node, total_size: Any) -> Node | None:
    """How many observations each one of a batch stands for: the size of all data over that of the batch.

    total_size   length of all data along the first axis, or a list of lengths with None, or `...`, for axes that are
                 complete; None: the data are no batch
    """
    if total_size is None:
        return None
    sizes = list(total_size) if isinstance(total_size, list | tuple) else [total_size]
    if ... in sizes:
        place = sizes.index(...)
        sizes[place : place + 1] = [None] * (rv.ndim - len(sizes) + 1)
    for size in sizes:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0
        if not whole and size is not None and not isinstance(size, Node):
            raise ModelError(f"`{name}`: `total_size` must be made of whole numbers > 0, got {total_size!r}.")
    if len(sizes) > max(1, rv.ndim):
        raise ShapeError(f"`{name}` has {rv.ndim} axes, but `total_size` has {len(sizes)}: {total_size!r}.")
    result = constant(1.0)
    for axis, size in enumerate(sizes):
        if size is not None:
            own = length_of(rv.static_shape[axis]) if rv.ndim else constant(1)
            result = result * (cast(as_tensor(size), "float64") / cast(own, "float64"))
    return result


def check_constant(name: str, rv: Node, data: Node) -> None:
    """Raise SupportError for constant data outside the support, as far as it depends on constants."""
    check_values(name, rv, data, {})


def check_values(name: str, rv: Node, data: Node, slots: Mapping[Node, Array]) -> None:
    """Raise SupportError for values outside the support, as far as constants and slots decide them."""
    floats = isinstance(data.op, Cast) and kind_of(data.dtype) == "int" and data.inputs[0].dtype in FLOATS
    given = _known(data.inputs, slots) if floats else None
    if given is not None:
        check_whole(f"`observed` of `{name}`", given[0])
    found = _known([support_violation(rv, data), data], slots)
    if found is not None and found[0].any():
        raise support_error(rv, f"`observed` of `{name}`", found[1], found[0])
    refused = None if found is None else support_refusal(rv, f"`observed` of `{name}`", found[1])
    if refused is not None:
        raise refused


def check_parameters(variables: Sequence[Node], slots: Mapping[Node, Array]) -> None:
    """Raise ParameterError for parameters outside their range, as far as slots decide them.

    What depends on constants alone was checked when the variable was made.
    """
    for node in variables:
        for parameter, constraint, valid in parameter_violation(node):
            if not any(is_leaf(n) for n in topological([valid])):
                continue
            found = _known([valid], slots)
            if found is not None and not found[0].all():
                raise ParameterError(
                    f"`{name_of(node)}`: its parameter `{parameter}` must be {constraint.rule}, "
                    "which the data violate; check the values given to `pm.Data` or `set_data`."
                )


def _known(outputs: Sequence[Node], slots: Mapping[Node, Array]) -> list[Array] | None:
    """Values of expressions if constants, slots and their lengths decide them, else None."""
    if any(is_leaf(n) and n not in slots for n in topological(outputs)):
        return None
    lengths: Lengths = {}
    for slot, array in slots.items():
        bind_lengths(slot, array.shape, lengths)
    static, memo = specialise(outputs, lengths)
    if any(isinstance(n.op, LengthOf) for n in topological(static)):
        return None
    return reference.evaluate(static, {memo[n]: array for n, array in slots.items() if n in memo})


def slot_values(model: ModelVariables) -> tuple[list[Node], list[Array], list[int], Lengths]:
    """The model's data slots, their values, versions, and the symbolic lengths they decide."""
    slots = model.data_slots()
    versioned = [contexts.DEFAULT.versioned(s) for s in slots]
    values = [array for array, _ in versioned]
    lengths: Lengths = {}
    for slot, value in zip(slots, values, strict=True):
        bind_lengths(slot, value.shape, lengths)
    for name, labels in model.coords.items():
        own = model.dim_length(name)
        length = dims.substitute(own, lengths)
        if labels is not None and length != len(labels) and not isinstance(own, int):
            raise ShapeError(
                f"the data along the dimension `{name}` have length {length}, but it has {len(labels)} "
                "labels; set the data with `pm.set_data`, together with the labels."
            )
    return slots, values, [version for _, version in versioned], lengths


def check_data(model: ModelVariables, slots: dict[Node, Array]) -> None:
    """Raise where parameters lie outside their range, or observed values outside their support, for known data."""
    if slots:
        check_parameters([v.node for v in model.variables], slots)
        for observed in model.observed:
            check_values(observed.name, observed.node, observed.data, slots)
