"""Functions with lengths that are computed: these are computed first, then the rest is compiled for them.

A backend's `compile`, a graph and the values of the lengths known from shapes in, a callable of arrays out. Every
stage knows the lengths that the stages before it computed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.registry import Compile, Executable
from consilience.backends.shapes import Lengths, bind_computed
from consilience.ir import Node, computed_atoms, constant, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.lengths import source_of
from consilience.ir.side_tables import without_sources
from consilience.ir.traversal import substitute as exchanged
from consilience.lower.specialise import specialise
from consilience.ops import MaskPositions

Array: TypeAlias = npt.NDArray[Any]

# Programs kept per stage: one per combination of computed lengths seen lately.
KEPT_LENGTHS = 16


def computed_lengths(outputs: Sequence[Node]) -> dict[dims.Atom, Node]:
    """The computed lengths of a graph and the int64 scalars they are the values of, in the order of computation."""
    return {atom: source_of(atom) for atom in computed_atoms(outputs)}


def compiled(
    compile: Compile,
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    lengths: Lengths,
    computed: Mapping[dims.Atom, Node],
    check: Callable[[Lengths], None],
) -> Executable:
    """The graph as a callable of arrays.

    compile    of a backend
    lengths    those known
    computed   the others, with what computes them, as `computed_lengths` gives them
    check      refuses lengths that do not fit together, called whenever more of them are known
    """
    if not computed:
        return compile(inputs, outputs, lengths)
    return _Staged(compile, inputs, outputs, lengths, computed, check)


class _Staged:
    """One stage, and for all values it has computed lately the stages behind it."""

    def __init__(
        self,
        compile: Compile,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        lengths: Lengths,
        computed: Mapping[dims.Atom, Node],
        check: Callable[[Lengths], None],
    ) -> None:
        self._compile = compile
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        self._lengths = lengths
        self._check = check
        later = {atom for atom, source in computed.items() if _unknown([source], lengths)}
        self._later = {atom: source for atom, source in computed.items() if atom in later}
        # Positions are found once: computed again in other machine code, a comparison might come out differently.
        self._masks = [
            node
            for node in topological([*self._outputs, *computed.values()])
            if isinstance(node.op, MaskPositions) and not _unknown(node.inputs, lengths)
        ]
        counts = set(map(_count, self._masks))
        self._scalars = {a: source for a, source in computed.items() if a not in later and a not in counts}
        masks = [node.inputs[0] for node in self._masks]
        self._first = compile(self._inputs, [*self._scalars.values(), *masks], lengths)
        self._rests: OrderedDict[tuple[int, ...], Executable] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        found = self._first(arrays)
        numbers = [int(number) for number in found[: len(self._scalars)]]
        positions = [np.flatnonzero(mask).astype("int64") for mask in found[len(self._scalars) :]]
        values = (*numbers, *map(len, positions))
        with self._lock:
            rest = self._rests.get(values)
            if rest is not None:
                self._rests.move_to_end(values)
        if rest is None:
            rest = self._rest(numbers, [len(p) for p in positions])
            with self._lock:
                self._rests[values] = rest
                while len(self._rests) > KEPT_LENGTHS:
                    self._rests.popitem(last=False)
        return rest([*arrays, *positions])

    def _rest(self, numbers: Sequence[int], counts: Sequence[int]) -> Executable:
        """The remaining stages for some values of the lengths of this one."""
        lengths = dict(self._lengths)
        for atom, number in zip(self._scalars, numbers, strict=True):
            bind_computed(atom, number, lengths)
        scalars = self._scalars.values()
        known: dict[Node, Node] = {s: constant(n, "int64") for s, n in zip(scalars, numbers, strict=True)}
        placed = []
        for node, count in zip(self._masks, counts, strict=True):
            bind_computed(_count(node), count, lengths)
            known[node] = tensor_input("int64", (count,), "mask positions")
            placed.append(known[node])
        self._check(lengths)
        with without_sources():
            _, memo = specialise([*self._outputs, *self._later.values(), *known, *self._inputs], lengths)
            whole = [memo[node] for node in (*self._outputs, *self._later.values())]
            # Lengths keep the symbols under which the obligations know them.
            found = exchanged(whole, {memo[a]: b for a, b in known.items()})
        inputs = [*(memo[node] for node in self._inputs), *placed]
        outputs = found[: len(self._outputs)]
        later = dict(zip(self._later, found[len(outputs) :], strict=True))
        return compiled(self._compile, inputs, outputs, lengths, later, self._check)


def _count(positions: Node) -> dims.Atom:
    """The number of true entries, as a length."""
    atom = dims.as_atom(positions.static_shape[0])
    assert atom is not None
    return atom


def _unknown(nodes: Iterable[Node], lengths: Lengths) -> bool:
    """Whether lengths of a graph are still to be computed."""
    return any(atom not in lengths for atom in computed_atoms(nodes))
