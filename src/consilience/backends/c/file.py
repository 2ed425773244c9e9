"""One C file of loop programs: helpers, declarations, and the functions that its exports reach.

In: modules of loop programs and the names to export. Out: the text of the file, and the symbols that it takes from
outside. Outside: where those are found, and compilers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from consilience.backends.c.inline_functions import Helpers
from consilience.backends.c.names import identifier, prototype, signature_of
from consilience.backends.c.text import function_text
from consilience.native import vectormath
from consilience.native.loops import Module
from consilience.native.mathematics import LIBRARY
from consilience.native.program import For, If, LoopFunction, Signature, Statement, Value, While
from consilience.native.random import library as random
from consilience.native.routines import library as routines

LINK = "consilience_link"
STANDARD = frozenset((*LIBRARY, "memcpy", "memset"))
"""What the headers of the C library declare."""


def program_of(symbol: str, fused: bool) -> Module | None:
    """The loop program that defines a symbol of this package's libraries: draws, routines, vector mathematics."""
    if symbol.startswith("consilience_random_"):
        return random.program(symbol)
    if symbol.startswith(routines.PREFIX):
        return routines.program(symbol)
    return vectormath.program(symbol, fused) if symbol.startswith("consilience_") else None


class CFile:
    """The functions that some exports reach.

    `functions`: by name, those of which the exports are made included. `outside`: symbols that the file calls and does
    not define, with their signatures. `standard`: symbols of the C library that it calls, with their signatures.
    `pure`: names of functions that only give a value.
    """

    def __init__(self, modules: Sequence[Module], exports: Collection[str], fused: bool) -> None:
        self.exports = exports
        self._fused = fused
        known: dict[str, LoopFunction] = {}
        self.pure: set[str] = set()
        self.standard: dict[str, Signature] = {}
        declared: dict[str, Signature] = {}
        for module in modules:
            for name, function in module.functions.items():
                known.setdefault(name, function)
            declared |= module.imports
            self.pure |= module.pure_imports
        self.pure |= {name for name, function in known.items() if function.pure}
        self.functions: dict[str, LoopFunction] = {}
        self.outside: dict[str, Signature] = {}
        waiting = [*reversed(list(exports))]
        while waiting:
            name = waiting.pop()
            if name in self.functions or name in self.outside:
                continue
            found = known.get(name)
            if found is None and name in STANDARD:
                self.standard[name] = declared[name]
                continue
            if found is None:
                self.outside[name] = declared[name]
            else:
                self.functions[name] = found
                waiting += reversed(list(dict.fromkeys(_called(found.body))))

    def text(self, outside: Callable[[str], str], remark: Iterable[str] = ()) -> str:
        """The file.

        `outside`: the declaration of a symbol from outside, given as `double exp(double)`. `remark`: lines of a comment
        that stands above.
        """
        helpers = Helpers()
        bodies = [function_text(helpers, f, self.pure, self._fused, self._storage(f)) for f in self._inner_first()]
        heads = [f"{prototype(helpers, f, self._storage(f))};\n" for f in self.functions.values()]
        others = [outside(signature_of(helpers, identifier(n), s)) for n, s in self.outside.items()]
        above = "".join(f" * {line}\n" for line in remark)
        comment = f"/*\n{above} */\n" if above else ""
        return "\n".join(filter(None, [comment + helpers.text(), "".join(others), "".join(heads), *bodies]))

    def _storage(self, function: LoopFunction) -> bool:
        return function.name in self.exports

    def _inner_first(self) -> list[LoopFunction]:
        """What is called stands above where it is called, as far as that goes."""
        return list(reversed(self.functions.values()))


def whole_program(modules: Sequence[Module], exports: Collection[str], fused: bool) -> CFile:
    """A file with what its exports reach, the functions of this package's libraries included."""
    modules = list(modules)
    while True:
        file = CFile(modules, exports, fused)
        found = [program for symbol in file.outside if (program := program_of(symbol, fused)) is not None]
        if not found:
            return file
        modules += found


def _called(block: Sequence[Statement]) -> Iterable[str]:
    for s in block:
        match s:
            case Value():
                if s.op in ("call", "symbol"):
                    yield str(s.detail)
            case For():
                yield from _called(s.body)
            case While():
                yield from _called(s.test)
                yield from _called(s.body)
            case If():
                yield from _called(s.then)
                yield from _called(s.otherwise or [])
