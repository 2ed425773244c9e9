"""Data beside the variables that they belong to: shapes, whole numbers, supports and weights; the data of the moment.

Variables and `GivenData` or values of slots in; data in the type of their variable out, or an error by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.shapes import Lengths, bind_lengths
from consilience.distributions.densities import parameter_violation, support_error, support_refusal, support_violation
from consilience.distributions.parameters import first_outside, needs_length
from consilience.distributions.random_variable import is_rows, variable_of
from consilience.errors import DtypeError, ParameterError, ShapeError, SupportError
from consilience.ir import Node, Shared, constant, is_leaf, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import name_of
from consilience.ir.types import FLOATS
from consilience.lower.specialise import specialise
from consilience.model.data import GivenData
from consilience.ops.dtypes import kind_of
from consilience.ops.elementwise import Cast, as_tensor, cast
from consilience.ops.shape import length_of
from consilience.record import replace

if TYPE_CHECKING:
    from consilience.model.variables import ModelVariables

Array = npt.NDArray[Any]


def conditioned(name: str, rv: Node, given: GivenData, check_bounds: bool) -> tuple[Node, Node, Node | None]:
    """A variable, its data, and how many observations each of them stands for where they are a batch."""
    rv = rv if check_bounds else _of_real_numbers(rv, given)
    return rv, data_of(name, rv, given), None if given.sizes is None else _weight(rv, given.sizes)


def data_of(name: str, rv: Node, given: GivenData) -> Node:
    """Data in the type of their variable, as far as they are known in its support.

    Raises ShapeError. Raises DtypeError for expressions of others than data. Raises SupportError for missing values,
    numbers that are not whole where such are needed, and others outside the support.
    """
    if isinstance(given.values, Node):
        order = topological([given.values])
        keys = {n.inputs[0] for n in order if is_rows(n)}
        if not all(isinstance(n.op, Shared) or n in keys for n in order if is_leaf(n)):
            raise DtypeError(f"`observed` of `{name}` must be data, got an expression with random or free parts.")
        check_shape(name, rv, given.shape)
        data = cast(given.values, rv.dtype)
    else:
        array = given.complete()
        if kind_of(rv.dtype) == "int" and array.dtype.kind == "f":
            check_whole(f"`observed` of `{name}`", array)
            array = array.astype("int64")
        check_shape(name, rv, array.shape)
        data = constant(array, rv.dtype)
    check_values(name, rv, data, {})
    return data


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


def _of_real_numbers(rv: Node, given: GivenData) -> Node:
    """A variable of whole numbers as one of floats, where its data are such: the formula is used between them, too."""
    data = given.values
    if kind_of(rv.dtype) != "int" or data.dtype not in FLOATS:
        return rv
    if isinstance(data, Node) or (data != np.floor(data)).any():
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


def _weight(rv: Node, sizes: tuple[Any, ...]) -> Node:
    """The size of all data over that of the batch."""
    if ... in sizes:
        place = sizes.index(...)
        sizes = (*sizes[:place], *[None] * (rv.ndim - len(sizes) + 1), *sizes[place + 1 :])
    result = constant(1.0)
    for axis, size in enumerate(sizes):
        if size is not None:
            own = length_of(rv.static_shape[axis]) if rv.ndim else constant(1)
            result = result * (cast(as_tensor(size), "float64") / cast(own, "float64"))
    return result


ONLY_ARRAYS: Final = (
    "Missing values are made variables only where the distribution gets them as an array, in `observed=`."
)


def check_values(name: str, rv: Node, data: Node, slots: Mapping[Node, Array]) -> None:
    """Raise SupportError for values outside the support, as far as constants and slots decide them."""
    floats = isinstance(data.op, Cast) and kind_of(data.dtype) == "int" and data.inputs[0].dtype in FLOATS
    given = known_values(data.inputs, slots) if floats else None
    if given is not None:
        check_whole(f"`observed` of `{name}`", given[0])
    found = known_values([support_violation(rv, data), data], slots)
    if found is not None and found[0].any():
        error = support_error(rv, f"`observed` of `{name}`", found[1], found[0])
        raise SupportError(f"{error} {ONLY_ARRAYS}") if np.isnan(found[1]).any() else error
    for rows in (n.inputs[0] for n in topological([data]) if any(map(is_rows, n.inputs[1:]))):
        known = known_values([rows], slots)
        if known is not None and known[0].dtype.kind == "f" and (lacking := np.isnan(known[0])).any():
            first = tuple(int(i) for i in np.argwhere(lacking)[0])
            raise SupportError(
                f"`observed` of `{name}`: {int(lacking.sum())} values of the `Minibatch` are NaN, the first at "
                f"{first}. Leave these rows out. {ONLY_ARRAYS}"
            )
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
            found = known_values([valid], slots)
            if found is not None and not found[0].all():
                raise ParameterError(
                    f"`{name_of(node)}`: its parameter `{parameter}` must be {constraint.rule}, "
                    "which the data violate; check the values given to `pm.Data` or `set_data`."
                )


def known_values(outputs: Sequence[Node], slots: Mapping[Node, Array]) -> list[Array] | None:
    """Values of expressions if constants, slots and their lengths decide them, else None."""
    if any(is_leaf(n) and n not in slots for n in topological(outputs)):
        return None
    lengths: Lengths = {}
    for slot, array in slots.items():
        bind_lengths(slot, array.shape, lengths)
    static, memo = specialise(outputs, lengths)
    if any(map(needs_length, topological(static))):
        return None
    return reference.evaluate(static, {memo[n]: array for n, array in slots.items() if n in memo})


def slot_values(model: ModelVariables, *, drawn: bool = False) -> tuple[list[Node], list[Array], list[int], Lengths]:
    """The model's data slots, their values, versions, and the symbolic lengths they decide.

    For what is drawn in place of the data, slots that nothing but observed values depend on decide no length that the
    others do, and are left out where they do not fit these.
    """
    found = {slot: contexts.DEFAULT.versioned(slot) for slot in model.data_slots()}
    lengths: Lengths = {}
    used = set(topological([n for name, n in model.named.items() if name not in model.data])) if drawn else found.keys()
    for slot in sorted(found, key=lambda s: s not in used):
        bound = dict(lengths)
        try:
            bind_lengths(slot, found[slot][0].shape, bound)
        except ShapeError:
            if slot in used:
                raise
            del found[slot]
        else:
            lengths |= bound
    slots, values = list(found), [array for array, _ in found.values()]
    for name, labels in model.coords.items():
        own = model.dim_length(name)
        length = dims.substitute(own, lengths)
        if labels is None or isinstance(own, int) or not isinstance(length, int):
            continue  # fixed, or of data that are constants in this model
        if length != len(labels):
            raise ShapeError(
                f"the data along the dimension `{name}` have length {length}, but it has {len(labels)} "
                "labels; set the data with `pm.set_data`, together with the labels."
            )
    return slots, values, [version for _, version in found.values()], lengths


def check_data(model: ModelVariables, slots: dict[Node, Array]) -> None:
    """Raise where parameters lie outside their range, or observed values outside their support, for known data."""
    if slots:
        check_parameters([v.node for v in model.variables], slots)
        for observed in model.observed:
            check_values(observed.name, observed.node, observed.data, slots)
