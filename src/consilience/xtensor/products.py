"""Sums of products over dims.

In: tensors with named dims, and the dims to sum over. Out: a matrix product of the plain tensors.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.tensor.einstein import einsum
from consilience.xtensor.named import Dims, Named, SomeDims, checked_dims, common_lengths, of_lengths, union


def contracted(operands: Sequence[Named], dim: SomeDims = None) -> tuple[Node, Dims]:
    """Values and dims of the sum of products: over the dims that several have for None, over all for `...`."""
    dims = union(x.dims for x in operands)
    if dim is None:
        gone: Dims = tuple(name for name in dims if sum(name in x.dims for x in operands) > 1)
    else:
        gone = dims if dim is Ellipsis else checked_dims(dim, "the sum")
    unknown = [name for name in gone if name not in dims]
    if unknown:
        raise ShapeError(f"there is no dim `{unknown[0]}` to sum over; the tensors have {dims!r}.")
    lengths = common_lengths(operands)
    letter = dict(zip(dims, string.ascii_letters, strict=False))
    words = ["".join(letter[name] for name in x.dims) for x in operands]
    rest = tuple(name for name in dims if name not in gone)
    subscripts = f"{','.join(words)}->{''.join(letter[name] for name in rest)}"
    return einsum(subscripts, *(of_lengths(x, lengths) for x in operands)), rest
