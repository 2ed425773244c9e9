"""What made a compiled function out of what the user wrote: rules with terms, the result, and what runs in Python.

Expressions as written and as computed in; a `Report` out, to be printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from consilience.backends.modes import Mode
from consilience.backends.printing.infix import pprint, term
from consilience.backends.printing.labels import operation
from consilience.backends.python_calls import in_python
from consilience.backends.shapes import Lengths
from consilience.ir import Node, computed_atoms, topological
from consilience.ir.region import regions_of
from consilience.ir.side_tables import source_of
from consilience.lower.specialise import specialise
from consilience.planning import worthwhile
from consilience.record import Record
from consilience.rewrite.rules import Explanation, explain
from consilience.transforms.complex_pairs import is_complex

# Applications of one rule that are shown.
SHOWN: Final = 3
# Forms that were weighed that are shown.
FORMS: Final = 12
# Backends whose code is planned.
PLANNED: Final = ("llvm", "c")


class Report(Record):
    """Why a function computes what it computes.

    Parameters
    ----------
    name : str
        Of the function.
    rules : tuple of Explanation
        What fired, in order of first use, each with the terms before and after.
    written : int
        Number of values of the graph as the user wrote it.
    computed : int
        Number of values of the graph that is computed.
    result : str
        That graph in infix notation.
    python : tuple of str
        What runs in Python, holding the interpreter's lock; nothing, if all is machine code.
    plan : tuple of str, default ()
        What machine code computes in another form than the one in infix notation, and what was weighed, with predicted
        seconds and bytes; nothing, where there was nothing to weigh.
    """

    name: str
    rules: tuple[Explanation, ...]
    written: int
    computed: int
    result: str
    python: tuple[str, ...]
    plan: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.written} values as written, {self.computed} after simplification"]
        for rule in self.rules:
            lines.append(f"  {rule.rule}" + (f", {rule.count} times" if rule.count > 1 else ""))
            changes = [(term(a.before), term(a.after), a.source) for a in rule.applications]
            shown = dict.fromkeys(f"{a}  →  {b}{_place(source)}" for a, b, source in changes if a != b)
            lines += [f"    {text}" for text in list(shown)[:SHOWN]]
            lines += ["    …"] if len(shown) > SHOWN else []
        lines += ["what is computed:", *(f"  {line}" for line in self.result.split("\n"))]
        lines += ["what is planned:", *(f"  {line}" for line in self.plan)] if self.plan else []
        lines.append("in Python, holding the interpreter's lock:" if self.python else "all of it is machine code.")
        return "\n".join([*lines, *(f"  {item}" for item in self.python)])


def _planned(outputs: Sequence[Node]) -> Iterator[str]:
    """The prices of a plan as a whole, then form by form."""
    from consilience.planning.choice import weighed

    plan, forms = weighed(outputs)
    yield (
        f"{time_text(plan.written_seconds)} and {size_text(plan.written_peak)} as written, "
        f"{time_text(plan.seconds)} and {size_text(plan.peak)} as planned ({plan.forms} other forms found)"
    )
    for form in forms[:FORMS]:
        now, then = (f"{time_text(s)} and {size_text(b)}" for s, b in zip(form.seconds, form.bytes, strict=True))
        pair = f"{term(form.written)}  →  {term(form.other)}"
        yield f"{form.rule}: {pair}"
        yield f"  taken: {now} in place of {then}" if form.taken else f"  left: {now}, it would be {then}"
    if len(forms) > FORMS:
        yield "…"


def time_text(value: float) -> str:
    """A time in words."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"


def size_text(size: float) -> str:
    """A size in words."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} B"


def _place(source: str) -> str:
    return f"   ({source})" if source else ""


def report(
    name: str, written: Sequence[Node], computed: Sequence[Node], mode: Mode, lengths: Lengths | None = None
) -> Report:
    """The report of a function.

    `written`, `computed`: its expressions before and after simplification. `lengths`: values of their symbolic lengths,
    if they are known.
    """
    planned: tuple[str, ...] = ()
    if mode.plan and mode.backend in PLANNED and lengths is not None:
        static = specialise(computed, lengths)[0]
        planned = tuple(_planned(static)) if worthwhile(static) else ()
    rules = tuple(explain(written)) if mode.simplified else ()
    before, after = (sum(1 for _ in _all_nodes(graph)) for graph in (written, computed))
    return Report(name, rules, before, after, pprint(list(computed)), tuple(_in_python(computed, mode)), planned)


def _all_nodes(outputs: Sequence[Node]) -> Iterator[Node]:
    """The nodes of a graph and of the inner graphs of its ops."""
    for node in topological(outputs):
        yield node
        for region in regions_of(node.op).values():
            yield from _all_nodes(region.results)


def _in_python(outputs: Sequence[Node], mode: Mode) -> Iterator[str]:
    if mode.backend == "reference":
        yield f"everything: the backend {mode.backend!r} computes value by value with NumPy"
        return
    for node in dict.fromkeys(_all_nodes(outputs)):
        if in_python(node):
            yield operation(node.op) + _place(source_of(node))
    if computed_atoms(outputs):
        yield "between two stages of machine code: lengths that depend on values are computed first"
    if any(map(is_complex, topological(outputs))):
        yield "around the machine code: complex arrays are viewed as pairs of real numbers"
