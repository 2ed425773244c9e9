"""Expressions for batches of their inputs, with a name for every batch axis.

In: an expression and replacements of its inputs, some with further dims. Out: the expression with these dims in front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import expand_dims, moveaxis
from consilience.transforms.vectorize import vectorize_graph as _vectorized
from consilience.xtensor.named import Named
from consilience.xtensor.variable import XTensorVariable, as_xtensor


def vectorize_graph(outputs: Any, replace: Mapping[Any, Any], *, new_tensor_dims: Sequence[str] = ()) -> Any:
    """The outputs, one or a list, where inputs become tensors with further axes.

    `replace`: input -> its batched form. Of tensors with dims every dim that the input lacks is a batch axis; of plain
    ones the axes in front are. `new_tensor_dims`: names of the batch axes of plain tensors, the last of which ends just
    before the input's own. Returns: outputs with the batch axes that any replacement has in front: in the order in
    which the dims of tensors appear, behind them those of `new_tensor_dims`. Raises ShapeError where a dim of an input
    is lost, or a plain tensor has more axes than there are names.
    """
    names = list(new_tensor_dims)
    named = [(as_xtensor(old), as_xtensor(new)) for old, new in replace.items() if isinstance(old, Named)]
    further = [d for old, new in named for d in new.dims if d not in old.dims and d not in names]
    batch = [*dict.fromkeys(further), *names]
    given: dict[Node, Node] = {}
    for old, new in named:
        lost = [d for d in old.dims if d not in new.dims]
        if lost:
            raise ShapeError(f"{describe(old.values)} has the dim {lost[0]!r}, which its batched form lacks.")
        own = [d for d in batch if d in new.dims]
        node = moveaxis(new.values, [new.dims.index(d) for d in (*own, *old.dims)], list(range(len(new.dims))))
        given[old.values] = expand_dims(node, tuple(at for at, d in enumerate(batch) if d not in own))
    for plain, batched in replace.items():
        if isinstance(plain, Named):
            continue
        node = as_tensor(batched.values if isinstance(batched, Named) else batched)
        extra = node.ndim - plain.ndim
        if not 0 <= extra <= len(names):
            raise ShapeError(
                f"{describe(node)} has {extra} axes more than {describe(plain)}, and {len(names)} are named; "
                "name each in `new_tensor_dims`."
            )
        given[plain] = expand_dims(node, tuple(range(len(batch) - extra)))
    listed = outputs if isinstance(outputs, list | tuple) else [outputs]
    results: list[Any] = []
    for output in listed:
        node = _vectorized([output.values if isinstance(output, Named) else output], given)[0]
        if isinstance(output, Named):
            ahead = batch if node.ndim > len(output.dims) else []  # none where it depends on no replacement
            results.append(XTensorVariable(node, (*ahead, *output.dims)))
        else:
            results.append(node)
    return results if isinstance(outputs, list | tuple) else results[0]


load_on_use(__name__, {}, public=True)
