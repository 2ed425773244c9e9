"""Rows of data drawn at random: whole data in, expressions with as many rows as a batch has out.

Every evaluation of a compiled function draws other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from consilience.backends import reference
from consilience.backends.shapes import Lengths
from consilience.distributions.random_variable import ROWS, is_rows, random_variables
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, constant, substitute, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import set_name
from consilience.lower.specialise import specialise
from consilience.model.data import given_data
from consilience.ops import cast
from consilience.ops.index import getitem
from consilience.ops.shape import length_of
from consilience.record import Record
from consilience.rewrite.rules import simplify


def Minibatch(variable: Any, *variables: Any, batch_size: int) -> Any:
    """Random rows of one or several arrays, the same rows of all; drawn with replacement at every evaluation.

    Give `total_size=` to the distribution that observes the batch. The log density is then right on average, but it
    differs between evaluations, so `pm.sample` refuses it. Use it with `pm.fit`.

    variable, *variables: Arrays or `pm.Data` with first axes of one length.
    batch_size: Number of rows.
    Returns: An expression, or a list of them for several arrays.
    Raises ModelError: For random variables and for batches longer than the data.
    Raises ShapeError: For first axes of different lengths.
    See observe: A model in which variables have data.
    See do: A model in which variables have been set from outside.
    See Data: Data under a name that can be exchanged later with `set_data`.
    >>> import consilience as pm
    >>> import numpy as np
    >>> pm.Minibatch(np.arange(100.0), batch_size=10).eval().shape
    (10,)
    """
    from consilience.distributions.whole_intervals import DiscreteUniform

    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ModelError(f"`batch_size` must be a whole number > 0, got {batch_size!r}.")
    tensors = [
        v if isinstance(v, Node) else constant(given_data("minibatch", v).numbers()) for v in (variable, *variables)
    ]
    for tensor in tensors:
        if random_variables([tensor]):
            raise ModelError("`Minibatch` takes rows of data; got an expression of random variables.")
        if not tensor.ndim:
            raise ShapeError("`Minibatch` takes rows of data; got a scalar.")
    length = tensors[0].static_shape[0]
    for tensor in tensors[1:]:
        other = tensor.static_shape[0]
        if isinstance(other, int) and isinstance(length, int) and other != length:
            raise ShapeError(f"`Minibatch` needs as many rows of each; got {length} and {other}.")
    if isinstance(length, int):
        check_length(batch_size, length)
    rows = DiscreteUniform.dist(0, length_of(length) - 1, shape=batch_size)
    set_name(rows, ROWS)
    batches = [getitem(tensor, rows) for tensor in tensors]
    for number, batch in enumerate(batches):
        set_name(batch, f"minibatch.{number}")
    return batches if variables else batches[0]


def has_batches(outputs: Iterable[Node]) -> bool:
    """Whether expressions depend on rows drawn at random."""
    return any(is_rows(node) for node in random_variables(list(outputs)))


def check_length(batch: int, data: int) -> None:
    """Raise ModelError for a batch that is longer than the data."""
    if batch > data:
        raise ModelError(
            f"a batch of {batch} rows of data that have {data} costs more than all data and is less exact; use a "
            "smaller `batch_size`, or the data themselves."
        )


class Batch(Record):
    """Rows drawn at random.

    `node`: the variable that draws them. `length`: how many. `data`: length of the data they are drawn from.
    """

    node: Node
    length: int
    data: int


def batches_of(outputs: Iterable[Node], lengths: Lengths) -> list[Batch]:
    """All batches that expressions depend on, at these lengths.

    Raises ModelError where one is longer than the data. Raises ShapeError where its data have several lengths.
    """
    outputs = list(outputs)
    found = [node for node in random_variables(outputs) if is_rows(node)]
    result = []
    for node in found:
        (last,), _ = specialise(simplify([node.inputs[2]]), lengths)
        (value,) = reference.evaluate([last], {})
        batch = Batch(node, int(node.static_shape[0]), int(value) + 1)
        check_length(batch.length, batch.data)
        for taking in (n for n in topological(outputs) if node in n.inputs[1:]):
            rows = dims.substitute(taking.inputs[0].static_shape[0], lengths)
            if rows != batch.data:
                raise ShapeError(f"`Minibatch` needs as many rows of each; got {batch.data} and {rows}.")
        result.append(batch)
    return result


def chosen_by(outputs: list[Node], batches: Iterable[Batch], vector: Node) -> list[Node]:
    """Expressions in which the batches have rows that are given, one batch after the other, as floats."""
    replacements, start = {}, 0
    for batch in batches:
        replacements[batch.node] = cast(vector[start : start + batch.length], batch.node.dtype)
        start += batch.length
    return substitute(outputs, replacements)
