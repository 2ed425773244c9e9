"""One of several expressions, by an index: a tree of lazy branches.

An integer and expressions in, one expression out, of which only the chosen branch is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import DtypeError, GraphError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.control import ifelse
from consilience.ops.elementwise import TensorLike, as_tensor


def switch_case(index: TensorLike, *branches: TensorLike) -> Node:
    """The branch number `index`, counted from zero; the first or the last one for an index beyond them.

    index: Integer scalar.
    *branches: Expressions of one type; those not chosen are not computed.
    Returns: Of the common type of the branches.
    Raises GraphError: Without branches or where the index is no scalar.
    Raises DtypeError: Where it is no integer.
    See cond: One of two.
    >>> i = pt.lscalar("i")
    >>> pt.switch_case(i, 10.0, 20.0, 30.0).eval({i: 1}).item()
    20.0
    """
    chosen = as_tensor(index)
    if not branches:
        raise GraphError("`switch_case` needs at least one branch after the index, got none.")
    if chosen.ndim:
        raise GraphError(f"the index of `switch_case` must be a scalar, got {describe(chosen)}.")
    if "int" not in chosen.dtype:
        raise DtypeError(
            f"the index of `switch_case` must be an integer, got {describe(chosen)}; use .astype('int64')."
        )
    return _chosen(chosen, 0, [as_tensor(b) for b in branches])


def _chosen(index: Node, first: int, branches: Sequence[Node]) -> Node:
    """The branch by halving: as many decisions as the number of branches has binary digits."""
    if len(branches) == 1:
        return branches[0]
    half = len(branches) // 2
    lower, upper = _chosen(index, first, branches[:half]), _chosen(index, first + half, branches[half:])
    found = ifelse(index < first + half, lower, upper)
    assert isinstance(found, Node)
    return found
