"""Lengths that differ from one step of a loop to another, or from one batch position to another, as fixed ones.

A step's graph in, the same graph at greatest lengths out: of an axis the first elements count, as many as the step
says; those behind repeat the last of them, so that no formula meets a number that it would not meet anyway. What adds
up or compares elements leaves them out. What an op becomes is a row in `rules` or `loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from consilience.ir import Dim, Node
from consilience.ops.varying import loops, rules
from consilience.ops.varying.padding import Padding

__all__ = ["at_greatest_lengths", "loops", "rules"]


def at_greatest_lengths(
    wanted: Sequence[Node], leaves: Iterable[Node], greatest: Callable[[Node], Dim], among: str
) -> list[Node]:
    """The graph in which no length depends on `leaves`.

    `greatest`: of an int64 scalar that depends on leaves the greatest value, as a length. `among`: "step of a loop" or
    "batch position", for messages. Raises MissingRuleError for ops without a row, and for results that themselves have
    such a length.
    """
    padding = Padding(wanted, leaves, greatest, among)
    if not padding.atoms:
        return list(wanted)
    for node in wanted:
        odd = next((n for n in node.static_shape if padding.varies(n)), None)
        if odd is not None:
            raise padding.refused(odd, "it is the length of a result, and results have one length")
    return padding.of(wanted)
