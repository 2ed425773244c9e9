"""Values that follow from the ones before them, along the last axis of series: loops in the words of distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from consilience.ir import Dim, Node, tensor_input
from consilience.ops.loop import fresh
from consilience.ops.scan import scan
from consilience.ops.shape import moveaxis

# (states, elements of the series) -> (next states, values of this time)
Step = Callable[[list[Node], list[Node]], tuple[Sequence[Node], Sequence[Node]]]


def along(
    step: Step, initial: Sequence[Node], series: Sequence[Node], length: Dim, *, behind: int = 0, within: int = 0
) -> tuple[tuple[Node, ...], list[Node]]:
    """The last states, and the values of all times along the last axis.

    `initial`: states before the first time; every next one has the same shape. `series`: tensors whose axis of time is
    the last, but for `behind` axes. `length`: number of times. `within`: number of axes behind that of time in the
    values.
    """
    first = [moveaxis(s, s.ndim - 1 - behind, 0) for s in series]
    states = [fresh(s) for s in initial]
    heads = [tensor_input(s.dtype, s.static_shape[1:]) for s in first]  # there may be no time
    following, values = step(states, heads)
    loop = scan(
        dict(zip(states, zip(initial, following, strict=True), strict=True)),
        dict(zip(heads, first, strict=True)),
        list(values),
        length=length,
    )
    return loop.last, [moveaxis(t, 0, t.ndim - 1 - within) for t in loop.traces]
