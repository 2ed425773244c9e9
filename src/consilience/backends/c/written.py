"""Which values of a function are written where they are used, and which get a name.

In: a function of a loop program. Out: per value how often it is used, where variables are declared, what is dead, and
the order of evaluation kept while expressions are put together. Outside: the language that is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, cast

from consilience.native.program import For, If, LoopFunction, Return, Set, Statement, Store, Value, Variable, While
from consilience.record import Record

MEMORY: Final = "memory"
"""What loads depend on and stores change."""


class Pending(Record):
    """An expression that waits for its use: its text, how strongly it binds, and what it reads that may change."""

    text: str
    strength: int
    reads: frozenset[object]


class Uses:
    """How often the values of a function are used, counting only what has an effect.

    `counts`: uses by value; one in an inner block, or in a loop, counts twice: such values are computed outside.
    `inner`: variables that are used only in the block, or blocks inside it, that sets them first. `read`: variables
    that are read.
    """

    def __init__(self, function: LoopFunction, pure: Collection[str]) -> None:
        self.pure = pure
        self.counts: dict[Value, int] = {}
        self.read: set[Variable] = set()
        self._homes: dict[Variable, tuple[int, ...]] = {}
        self._outer: set[Variable] = set()
        self._live: set[Value] = set()
        self._sets: dict[Variable, list[Value]] = {}
        self._waiting: list[Value] = []
        self._effects(function.body)
        self._spread()
        self._count(function.body, (0,))

    def impure(self, v: Value) -> bool:
        """Whether an instruction does more than give a value."""
        return v.op == "call_pointer" or (v.op == "call" and v.detail not in self.pure)

    def declared_inside(self, variable: Variable) -> bool:
        """Whether the first assignment to a variable may declare it."""
        return variable not in self._outer

    def _effects(self, block: Sequence[Statement]) -> None:
        for s in block:
            match s:
                case Value():
                    if self.impure(s):
                        self._waiting.append(s)
                case Set():
                    self._sets.setdefault(s.variable, []).append(s.value)
                case Return():
                    self._waiting += [] if s.value is None else [s.value]
                case Store():
                    self._waiting += [s.value, s.pointer, *([] if s.mask is None else [s.mask])]
                case For():
                    self._waiting += [s.start, s.stop, s.step]
                    self._effects(s.body)
                case While():
                    self._effects(s.test)
                    self._waiting += [] if s.condition is None else [s.condition]
                    self._effects(s.body)
                case If():
                    self._waiting.append(s.condition)
                    self._effects(s.then)
                    self._effects(s.otherwise or [])

    def _spread(self) -> None:
        while self._waiting:
            v = self._waiting.pop()
            if v in self._live:
                continue
            self._live.add(v)
            self._waiting += v.args
            if v.op == "get":
                variable = cast("Variable", v.detail)
                if variable not in self.read:
                    self.read.add(variable)
                    self._waiting += self._sets.get(variable, [])

    def _count(self, block: Sequence[Statement], path: tuple[int, ...]) -> None:
        here = {s for s in block if isinstance(s, Value)}

        def used(*values: Value | None) -> None:
            for value in values:
                if value is not None:
                    self.counts[value] = self.counts.get(value, 0) + (1 if value in here else 2)

        for s in block:
            match s:
                case Value():
                    if s in self._live:
                        used(*s.args)
                        if s.op == "get":
                            self._place(cast("Variable", s.detail), path)
                case Set():
                    if s.variable in self.read:
                        used(s.value)
                        self._place(s.variable, path)
                case Return():
                    used(s.value)
                case Store():
                    used(s.value, s.pointer, s.mask)
                case For():
                    used(s.start, s.stop, s.step)
                    self._count(s.body, (*path, id(s.body)))
                case While():
                    # The test and the body are one block of a loop without end.
                    inner = (*path, id(s))
                    self._count(s.test, inner)
                    if s.condition is not None:
                        self.counts[s.condition] = self.counts.get(s.condition, 0) + (1 if s.condition in s.test else 2)
                    self._count(s.body, inner)
                case If():
                    used(s.condition)
                    self._count(s.then, (*path, id(s.then)))
                    self._count(s.otherwise or [], (*path, id(s)))

    def _place(self, variable: Variable, path: tuple[int, ...]) -> None:
        home = self._homes.setdefault(variable, path)
        if path[: len(home)] != home:
            self._outer.add(variable)
