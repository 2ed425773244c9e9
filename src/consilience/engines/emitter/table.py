"""Tables of what ops mean to an engine, and its entry as a backend.

Rules in, by class of op; `registry.Compile` out. Rules that are one text for all engines of arrays stand beside this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from consilience.backends import llvm
from consilience.backends.registry import Compile, Executable
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.lower.specialise import specialise

Meaning: TypeAlias = Callable[..., Any]


class Meanings(dict[type, Meaning]):
    """Rules `(run, node, *values) -> value`, or a list of values, by class of op."""

    def __call__(self, *ops: type) -> Callable[[Meaning], Meaning]:
        """Enter a function as the rule of these ops."""

        def enter(function: Meaning) -> Meaning:
            self.update(dict.fromkeys(ops, function))
            return function

        return enter


SHARED: Final = Meanings()
"""Rules of engines of arrays. `run.xp` has the engine's functions by their names in the array API, and its factors and
sums; `run.failed(where, status)` notes that there is no value, or raises."""


def compiler(program: Callable[..., Executable]) -> Compile:
    """The entry of a backend that runs programs of static graphs, on leaves, outputs and data."""

    def compile(
        inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths, data: Sequence[Node] = (), *, level: int = 2
    ) -> Executable:
        results, memo = specialise([*outputs, *inputs, *data], lengths)
        leaves, bound = [memo[i] for i in inputs], [memo[d] for d in data]
        return llvm.staged(leaves, results[: len(outputs)], bound, level=level, origins=outputs, make=program)

    return compile
