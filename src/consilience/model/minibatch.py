"""Rows of data drawn at random: whole data in, expressions with as many rows as a batch has out.

Every evaluation of a compiled function draws other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from consilience.distributions.random_variable import random_variables
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import name_of, set_name
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.shape import length_of

ROWS: Final = "minibatch rows"


def Minibatch(variable: Any, *variables: Any, batch_size: int) -> Any:
    """The same random rows of several arrays, drawn anew, with replacement, whenever a function is evaluated.

    Give `total_size=` to the distribution that observes them. The density is then right on average and differs from
    one evaluation to the next, which `pm.sample` refuses.

    variable, variables   arrays or `pm.Data` with first axes of one length
    batch_size            number of rows
    returns               an expression, or a list of them for several arrays
    raises                ModelError for random variables; ShapeError for first axes of different lengths
    """
    from consilience.distributions.whole_intervals import DiscreteUniform

    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ModelError(f"`batch_size` must be a whole number > 0, got {batch_size!r}.")
    tensors = [v if isinstance(v, Node) else as_tensor(v) for v in (variable, *variables)]
    for tensor in tensors:
        if random_variables([tensor]):
            raise ModelError("`Minibatch` takes rows of data; got an expression of random variables.")
        if not tensor.ndim:
            raise ShapeError("`Minibatch` takes rows of data; got a scalar.")
    length = tensors[0].static_shape[0]
    for tensor in tensors[1:]:
        if tensor.static_shape[0] != length:
            raise ShapeError(f"`Minibatch` needs as many rows of each; got {length} and {tensor.static_shape[0]}.")
    rows = DiscreteUniform.dist(0, length_of(length) - 1, shape=batch_size)
    set_name(rows, ROWS)
    batches = [getitem(tensor, rows) for tensor in tensors]
    for number, batch in enumerate(batches):
        set_name(batch, f"minibatch.{number}")
    return batches if variables else batches[0]


def has_batches(outputs: Iterable[Node]) -> bool:
    """Whether expressions depend on rows drawn at random."""
    return any(is_rows(node) for node in random_variables(list(outputs)))


def is_rows(node: Node) -> bool:
    """Whether a random variable draws the rows of a batch."""
    return name_of(node) == ROWS
