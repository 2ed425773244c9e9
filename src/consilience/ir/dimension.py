"""Lengths of axes: integers, or interned symbolic integer expressions.

Symbols and integers in, one canonical object per value out, so "same length" is `is`.
Knows nothing of tensors: a symbol is a name with a serial number, and what a length is computed from is opaque.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Mapping
from numbers import Integral
from typing import Any, TypeAlias

from consilience.errors import ShapeError

# Interned objects are created under one lock; the tables hold their values weakly.
_lock = threading.RLock()
_serials = itertools.count()


# Kinds of atoms without arguments. A "value" is an integer of either sign, a "size" one that is at least zero;
# both are computed when the program runs, from their `source`.
COMPUTED = ("value", "size")
UNKNOWN = ("symbol", *COMPUTED)


class Atom:
    """An indivisible factor of a length: a symbol, a computed integer, a floor quotient, an extremum, a slice's length.

    Atoms compare by identity. `serial` orders them inside a polynomial.
    """

    __slots__ = ("__weakref__", "arguments", "kind", "name", "serial", "source")

    def __init__(self, kind: str, name: str, arguments: tuple[Dim, ...], source: object = None) -> None:
        self.kind = kind  # one of UNKNOWN, "floordiv", "max", "min" or "slice"
        self.name = name
        self.arguments = arguments
        self.source = source
        self.serial = next(_serials)

    def __deepcopy__(self, memo: object) -> Atom:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.kind == "symbol":
            return Atom, ("symbol", self.name, ())
        if self.kind in COMPUTED:
            return _computed_atom, (self.kind, self.name, self.source)
        return _compound_atom, (self.kind, self.arguments)

    def __repr__(self) -> str:
        if self.kind in UNKNOWN:
            return self.name
        if self.kind == "floordiv":
            return f"({self.arguments[0]!r} // {self.arguments[1]!r})"
        return f"{self.kind}({', '.join(map(repr, self.arguments))})"


Monomial: TypeAlias = tuple[Atom, ...]


class Dimension:
    """A length that is not a plain integer: a polynomial of atoms with integer coefficients.

    Equal polynomials are the same object. Arithmetic with integers and other lengths gives an
    `int` whenever the result is constant.
    """

    __slots__ = ("__weakref__", "terms")

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return _combine(self, other, 1) if _is_length(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return _combine(self, other, -1) if _is_length(other) else NotImplemented

    def __rsub__(self, other: int) -> Dim:
        if not _is_length(other):
            return NotImplemented
        return _combine(_polynomial({(): other} if other else {}), self, -1)

    def __neg__(self) -> Dim:
        return multiply(self, -1)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other) if _is_length(other) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other) if _is_length(other) else NotImplemented

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self) if _is_length(other) else NotImplemented

    def __deepcopy__(self, memo: object) -> Dimension:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.terms,)

    def __index__(self) -> int:
        raise ShapeError(
            f"an integer was needed here, but the length is `{self!r}`, known only when the function runs; "
            "give the input a static shape, or use tensor operations on `x.shape`."
        )

    def __repr__(self) -> str:
        parts = []
        for monomial, coefficient in self.terms:
            factors = [repr(atom) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            parts.append("*".join(factors))
        return " + ".join(parts).replace("+ -", "- ") if len(parts) != 1 else parts[0]


Dim: TypeAlias = int | Dimension


def _is_length(value: object) -> bool:
    """Whether a number may be added to lengths; tensors do it themselves."""
    return isinstance(value, int | Dimension | Integral)


_polynomials: weakref.WeakValueDictionary[tuple[tuple[Monomial, int], ...], Dimension] = weakref.WeakValueDictionary()
_compounds: weakref.WeakValueDictionary[tuple[object, ...], Atom] = weakref.WeakValueDictionary()
_computed: weakref.WeakValueDictionary[tuple[str, object], Atom] = weakref.WeakValueDictionary()


def _serial(term: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple(atom.serial for atom in term[0])


def _polynomial(terms: Mapping[Monomial, int]) -> Dim:
    kept = tuple(sorted(((m, c) for m, c in terms.items() if c), key=_serial, reverse=True))
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    with _lock:
        known = _polynomials.get(kept)
        if known is None:
            known = Dimension()
            known.terms = kept
            _polynomials[kept] = known
        return known


def _terms(length: Dim) -> Mapping[Monomial, int]:
    if isinstance(length, Dimension):
        return dict(length.terms)
    return {(): length} if length else {}


def _combine(left: Dim, right: Dim, sign: int) -> Dim:
    if not isinstance(left, Dimension) and not isinstance(right, Dimension):
        return left + sign * right
    terms = dict(_terms(left))
    for monomial, coefficient in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + sign * coefficient
    return _polynomial(terms)


def symbol(name: str) -> Dimension:
    """A fresh unknown length; two calls give two different lengths, whatever the name."""
    result = _polynomial({(Atom("symbol", name, ()),): 1})
    assert isinstance(result, Dimension)
    return result


def _restored(terms: tuple[tuple[Monomial, int], ...]) -> Dim:
    """The length with these terms, whose atoms may be younger than when they were sorted."""
    return _polynomial({tuple(sorted(m, key=lambda atom: atom.serial)): c for m, c in terms})


def computed(source: object, name: str, *, non_negative: bool) -> Dimension:
    """The integer that `source` computes, known when the program runs; one length per source and sign."""
    result = _polynomial({(_computed_atom("size" if non_negative else "value", name, source),): 1})
    assert isinstance(result, Dimension)
    return result


def any_computed() -> bool:
    """Whether a computed length exists anywhere, so that there is something to look for."""
    return bool(_computed)


def _computed_atom(kind: str, name: str, source: object) -> Atom:
    with _lock:
        atom = _computed.get((kind, source))
        if atom is None:
            atom = _computed[kind, source] = Atom(kind, name, (), source)
    return atom


def _compound_atom(kind: str, arguments: tuple[Dim, ...]) -> Atom:
    key = (kind, *arguments)
    with _lock:
        atom = _compounds.get(key)
        if atom is None:
            atom = Atom(kind, kind, arguments)
            _compounds[key] = atom
    return atom


def _compound(kind: str, arguments: tuple[Dim, ...]) -> Dim:
    return _polynomial({(_compound_atom(kind, arguments),): 1})


def multiply(left: Dim, right: Dim) -> Dim:
    """Product of two lengths."""
    if not isinstance(left, Dimension) and not isinstance(right, Dimension):
        return left * right
    terms: dict[Monomial, int] = {}
    for m, a in _terms(left).items():
        for n, b in _terms(right).items():
            monomial = tuple(sorted(m + n, key=lambda atom: atom.serial))
            terms[monomial] = terms.get(monomial, 0) + a * b
    return _polynomial(terms)


def product(lengths: tuple[Dim, ...]) -> Dim:
    """Product of several lengths; 1 for none."""
    result: Dim = 1
    for length in lengths:
        result = multiply(result, length)
    return result


def floordiv(left: Dim, right: Dim) -> Dim:
    """Floor of left / right; exact when every coefficient is divisible or a factor cancels."""
    if right == 1 or left is right:
        return left if right == 1 else 1
    if right == 0:
        raise ShapeError(f"a length is undetermined: `{left!r}` elements cannot be divided among 0.")
    if not isinstance(left, Dimension) and not isinstance(right, Dimension):
        return left // right
    if isinstance(right, Dimension) and len(right.terms) == 1:
        factors, coefficient = right.terms[0]
        quotient: dict[Monomial, int] = {}
        for monomial, c in _terms(left).items():
            rest = list(monomial)
            for atom in factors:
                if atom not in rest:
                    break
                rest.remove(atom)
            else:
                if c % coefficient == 0:
                    quotient[tuple(rest)] = c // coefficient
                    continue
            break
        else:
            return _polynomial(quotient)
    if isinstance(left, Dimension) and isinstance(right, int) and all(c % right == 0 for _, c in left.terms):
        return _polynomial({m: c // right for m, c in left.terms})
    return _compound("floordiv", (left, right))


def non_negative(length: Dim) -> bool:
    """Whether an integer is provably at least zero (symbols are lengths, hence >= 0)."""
    if not isinstance(length, Dimension):
        return length >= 0
    return all(c >= 0 and all(map(_atom_non_negative, m)) for m, c in length.terms)


def _atom_non_negative(atom: Atom) -> bool:
    if atom.kind == "max":
        return any(map(non_negative, atom.arguments))
    if atom.kind in ("slice", "value"):
        return atom.kind == "slice"
    return all(map(non_negative, atom.arguments))  # a symbol or size has none; quotients and minima need all


def maximum(left: Dim, right: Dim) -> Dim:
    """The greater of two lengths."""
    if non_negative(_combine(left, right, -1)):
        return left
    if non_negative(_combine(right, left, -1)):
        return right
    return _compound("max", (left, right))


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller of two lengths."""
    if non_negative(_combine(left, right, -1)):
        return right
    if non_negative(_combine(right, left, -1)):
        return left
    return _compound("min", (left, right))


def atoms(length: Dim) -> set[Atom]:
    """The symbols and computed integers a length depends on, also those inside quotients and extrema."""
    found: set[Atom] = set()
    pending: list[Dim] = [length]
    while pending:
        current = pending.pop()
        if isinstance(current, Dimension):
            for monomial, _ in current.terms:
                for atom in monomial:
                    if atom.kind in UNKNOWN:
                        found.add(atom)
                    pending.extend(atom.arguments)
    return found


def is_computed(length: Dim) -> bool:
    """Whether a length is known only when the program runs."""
    return isinstance(length, Dimension) and any(atom.kind in COMPUTED for atom in atoms(length))


def as_symbol(length: Dim) -> Atom | None:
    """The symbol, when the length is nothing but one symbol."""
    atom = as_atom(length)
    return atom if atom is not None and atom.kind == "symbol" else None


def as_atom(length: Dim) -> Atom | None:
    """The atom, when the length is nothing but one atom."""
    if isinstance(length, Dimension) and len(length.terms) == 1:
        monomial, coefficient = length.terms[0]
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def of_atom(atom: Atom) -> Dim:
    """The length that is nothing but one atom."""
    return _polynomial({(atom,): 1})


def substitute(length: Dim, values: Mapping[Atom, Dim]) -> Dim:
    """Replace symbols by lengths; an `int` when every symbol has an integer value."""
    if not isinstance(length, Dimension):
        return length
    total: Dim = 0
    for monomial, coefficient in length.terms:
        term: Dim = coefficient
        for atom in monomial:
            term = multiply(term, _substitute_atom(atom, values))
        total = _combine(total, term, 1)
    return total


def _substitute_atom(atom: Atom, values: Mapping[Atom, Dim]) -> Dim:
    if atom.kind in UNKNOWN:
        return values.get(atom, of_atom(atom))
    arguments = [substitute(a, values) for a in atom.arguments]
    if atom.kind == "floordiv":
        return floordiv(arguments[0], arguments[1])
    if atom.kind == "slice":
        return slice_length(*arguments)
    return maximum(*arguments) if atom.kind == "max" else minimum(*arguments)


def slice_length(start: Dim | None, stop: Dim | None, step: Dim | None, length: Dim) -> Dim:
    """Number of elements of `range(length)[start:stop:step]`; the step is an integer."""
    stride = 1 if step is None else int(step)
    if stride == 1 and stop is None and isinstance(start, int) and start >= 0:
        return _shortened(length, start)
    if stride == 1 and start is None and isinstance(stop, int) and stop < 0:
        return _shortened(length, -stop)
    if not any(isinstance(n, Dimension) for n in (start, stop, length)):
        return len(range(length)[start:stop:stride])
    if stride > 0 or (start is None and stop is None):
        low, high = _clipped(start, length, 0), _clipped(stop, length, length)
        if low is not None and high is not None:
            span = maximum(_combine(high, low, -1), 0)
            size = abs(stride)
            return span if size == 1 else floordiv(_combine(span, size - 1, 1), size)
    first, last = (0, length) if stride > 0 else (length - 1, -1 - length)
    return _compound("slice", (first if start is None else start, last if stop is None else stop, stride, length))


def _shortened(length: Dim, count: int) -> Dim:
    """What is left of a length without `count` elements, at least 0; one form, however often elements are left out."""
    atom = as_atom(length)
    if atom is not None and atom.kind == "max" and atom.arguments[1] == 0:
        length = atom.arguments[0]
    return maximum(_combine(length, count, -1), 0)


def _clipped(bound: Dim | None, length: Dim, default: Dim) -> Dim | None:
    """A bound of a slice as a position from 0 to `length`; None where its sign is not known."""
    if bound is None:
        return default
    if non_negative(bound):
        return minimum(bound, length)
    if non_negative(_combine(-1, bound, -1)):
        return maximum(_combine(length, bound, 1), 0)
    return None
