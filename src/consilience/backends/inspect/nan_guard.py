"""Where NaN and infinity come from: the value that first has one which reaches a result, named with the user's line.

A graph, the values of its leaves and a `NanGuardMode` in; NotFiniteError out. The graph is computed once more, by
NumPy, only when a result is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.modes import NanGuardMode
from consilience.backends.printing.infix import term
from consilience.backends.shapes import Lengths
from consilience.errors import NotFiniteError
from consilience.ir import Node, Parameter, is_leaf
from consilience.ir.side_tables import describe, name_of, source_of

Array = npt.NDArray[Any]
BIG: Final = 1e10
TESTS: Final[dict[str, Callable[[Array], Any]]] = {
    "nan": np.isnan,
    "inf": np.isinf,
    "big": lambda x: np.abs(x) > BIG,
}
WORDS: Final = {"nan": "NaN", "inf": "infinity", "big": f"a number beyond {BIG:g}"}


def guard(
    name: str,
    outputs: Sequence[Node],
    results: Sequence[Array],
    leaves: Mapping[Node, Array],
    lengths: Lengths,
    mode: NanGuardMode,
) -> None:
    """Raise NotFiniteError if a result holds what the mode calls wrong.

    `name`: of the function, for the message. `results`: values of the outputs, by machine code. `leaves`: values of all
    inputs and shared variables.
    """
    for position, (output, result) in enumerate(zip(outputs, results, strict=True)):
        kind = _fault(result, mode)
        if kind is not None:
            label = f"`{name_of(output)}`" if name_of(output) else f"result {position}"
            tracer = _Tracer(mode, f"{label} of `{name}` holds {WORDS[kind]}")
            with reference.observed(tracer):
                reference.evaluate([output], leaves, lengths)
            raise NotFiniteError(
                f"{tracer.title}, in machine code only: NumPy computes it without; find the value that differs with "
                'mode="debug".'
            )


def _fault(value: Any, mode: NanGuardMode) -> str | None:
    """The first kind of what is wrong with an array, or with one of several."""
    wanted = {"nan": mode.nan_is_error, "inf": mode.inf_is_error, "big": mode.big_is_error}
    return next((kind for kind, wrong in wanted.items() if wrong and _has(value, kind)), None)


class _Tracer:
    """Sees evaluations, inner graphs first, and raises at the first whose result is wrong for a reason inside."""

    def __init__(self, mode: NanGuardMode, title: str) -> None:
        self.mode, self.title = mode, title
        self.runs: dict[tuple[Node, ...], int] = {}

    def __call__(self, outputs: Sequence[Node], values: Mapping[Node, Any]) -> None:
        key = tuple(outputs)
        run = self.runs[key] = self.runs.get(key, 0) + 1
        for output in outputs:
            kind = _fault(values[output], self.mode)
            if kind is not None:
                path = self._path(output, values, kind)
                if not isinstance(path[-1].op, Parameter):
                    raise NotFiniteError(self._told(path, values, kind, run if self._is_inner(values) else 0))

    def _path(self, node: Node, values: Mapping[Node, Any], kind: str) -> list[Node]:
        """From a wrong value down to the first with a fault of this kind among what it depends on."""
        path = [node]
        while True:
            before = next((i for i in path[-1].inputs if i in values and _has(values[i], kind)), None)
            if before is None:
                return path
            path.append(before)

    def _is_inner(self, values: Mapping[Node, Any]) -> bool:
        return any(isinstance(node.op, Parameter) for node in values)

    def _told(self, path: Sequence[Node], values: Mapping[Node, Any], kind: str, run: int) -> str:
        lines = [f"{self.title}."]
        origin = path[-1]
        value = values[origin]
        place: tuple[int, ...] = ()
        if not isinstance(value, list | tuple):
            where = _places(np.asarray(value), kind)
            place = tuple(int(i) for i in np.argwhere(where)[0]) if where.any() else ()
            count = f"{int(where.sum())} of {where.size} elements, first at {place}" if where.ndim else "a number"
        else:
            count = "one of its results"
        if is_leaf(origin):
            what = "is given with it" if not origin.inputs and name_of(origin) else "holds it from the beginning"
            lines.append(f"  It comes from {describe(origin)}, which {what}: {count}.")
            return "\n".join(lines)
        lines.append(f"  It first appears in {term(origin)}: {count}.")
        line = "" if source_of(origin) else next((s for node in reversed(path) if (s := source_of(node))), "")
        lines.append(f"  That is {describe(origin)}" + (f", part of what was written at {line}." if line else "."))
        if run:
            lines.append(f"  It stands in the inner graph of a loop or branch, whose run {run} this is.")
        for operand in origin.inputs:
            shown = _shown(values.get(operand), place)
            if shown:
                lines.append(f"  {_called(operand)} = {shown}")
        return "\n".join(lines)


def _called(node: Node) -> str:
    return name_of(node) or term(node, 2)


def _shown(value: Any, place: tuple[int, ...]) -> str:
    """A value where the fault is; its range if it has other axes; nothing for several arrays."""
    if value is None or isinstance(value, list | tuple):
        return ""
    array = np.asarray(value)
    if array.size == 0:
        return ""
    if not array.ndim or (len(place) == array.ndim and all(i < n for i, n in zip(place, array.shape, strict=True))):
        return f"{array[place if array.ndim else ()]!s}" + (f" at {place}" if array.ndim else "")
    if array.dtype.kind in "fiu":
        return f"from {np.min(array)!s} to {np.max(array)!s}, of shape {array.shape}"
    return f"an array of shape {array.shape}"


def _has(value: Any, kind: str) -> bool:
    if isinstance(value, list | tuple):
        return any(_has(member, kind) for member in value)
    return bool(_places(np.asarray(value), kind).any())


def _places(array: Array, kind: str) -> npt.NDArray[np.bool_]:
    if array.dtype.kind not in "fc":
        return np.zeros(array.shape, bool)
    return np.asarray(TESTS[kind](array))
