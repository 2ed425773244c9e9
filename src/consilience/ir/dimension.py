"""Lengths of axes: integers, or interned symbolic integer expressions.

Symbols and integers in, one canonical object per value out, so "same length" is `is`.
Knows nothing of tensors: a symbol is a name with a serial number.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Mapping
from typing import TypeAlias

from consilience.errors import ShapeError

# Interned objects are created under one lock; the tables hold their values weakly.
_lock = threading.RLock()
_serials = itertools.count()


class Atom:
    """An indivisible factor of a length: a symbol, a floor quotient or an extremum.

    Atoms compare by identity. `serial` orders them inside a polynomial.
    """

    __slots__ = ("__weakref__", "arguments", "kind", "name", "serial")

    def __init__(self, kind: str, name: str, arguments: tuple[Dim, ...]) -> None:
        self.kind = kind  # "symbol", "floordiv", "max" or "min"
        self.name = name
        self.arguments = arguments
        self.serial = next(_serials)

    def __repr__(self) -> str:
        if self.kind == "symbol":
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
        return _combine(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return _combine(self, other, -1)

    def __rsub__(self, other: int) -> Dim:
        return _combine(_polynomial({(): other} if other else {}), self, -1)

    def __neg__(self) -> Dim:
        return multiply(self, -1)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

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

_polynomials: weakref.WeakValueDictionary[tuple[tuple[Monomial, int], ...], Dimension] = weakref.WeakValueDictionary()
_compounds: weakref.WeakValueDictionary[tuple[object, ...], Atom] = weakref.WeakValueDictionary()


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


def _compound(kind: str, arguments: tuple[Dim, ...]) -> Dim:
    key = (kind, *arguments)
    with _lock:
        atom = _compounds.get(key)
        if atom is None:
            atom = Atom(kind, kind, arguments)
            _compounds[key] = atom
    return _polynomial({(atom,): 1})


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


def _non_negative(length: Dim) -> bool:
    """Whether the length is provably at least zero (symbols are lengths, hence >= 0)."""
    if not isinstance(length, Dimension):
        return length >= 0
    return all(c >= 0 and all(map(_atom_non_negative, m)) for m, c in length.terms)


def _atom_non_negative(atom: Atom) -> bool:
    if atom.kind == "max":
        return any(map(_non_negative, atom.arguments))
    return all(map(_non_negative, atom.arguments))  # a symbol has none; quotients and minima need all


def maximum(left: Dim, right: Dim) -> Dim:
    """The greater of two lengths."""
    if _non_negative(_combine(left, right, -1)):
        return left
    if _non_negative(_combine(right, left, -1)):
        return right
    return _compound("max", (left, right))


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller of two lengths."""
    if _non_negative(_combine(left, right, -1)):
        return right
    if _non_negative(_combine(right, left, -1)):
        return left
    return _compound("min", (left, right))


def atoms(length: Dim) -> set[Atom]:
    """The symbols a length depends on, also those inside quotients and extrema."""
    found: set[Atom] = set()
    pending: list[Dim] = [length]
    while pending:
        current = pending.pop()
        if isinstance(current, Dimension):
            for monomial, _ in current.terms:
                for atom in monomial:
                    if atom.kind == "symbol":
                        found.add(atom)
                    pending.extend(atom.arguments)
    return found


def as_symbol(length: Dim) -> Atom | None:
    """The symbol, when the length is nothing but one symbol."""
    if isinstance(length, Dimension) and len(length.terms) == 1:
        monomial, coefficient = length.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0].kind == "symbol":
            return monomial[0]
    return None


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
    if atom.kind == "symbol":
        return values.get(atom, _polynomial({(atom,): 1}))
    arguments = [substitute(a, values) for a in atom.arguments]
    if atom.kind == "floordiv":
        return floordiv(arguments[0], arguments[1])
    return maximum(*arguments) if atom.kind == "max" else minimum(*arguments)


def slice_length(start: int | None, stop: int | None, step: int | None, length: Dim) -> Dim:
    """Number of elements of `range(length)[start:stop:step]`."""
    stride = 1 if step is None else step
    if not isinstance(length, Dimension):
        return len(range(*slice(start, stop, step).indices(length)))
    if stride < 0 and (start is not None or stop is not None):
        raise ShapeError(
            f"a slice with negative step and bounds needs a static length, got `{length!r}`; "
            "reverse the whole axis first (`x[::-1]`), then slice it."
        )
    low = _clipped(start, length, 0)
    high = _clipped(stop, length, length)
    span = maximum(_combine(high, low, -1), 0)
    size = abs(stride)
    return span if size == 1 else floordiv(_combine(span, size - 1, 1), size)


def _clipped(bound: int | None, length: Dim, default: Dim) -> Dim:
    if bound is None:
        return default
    if bound >= 0:
        return minimum(bound, length) if bound else 0
    return maximum(_combine(length, bound, 1), 0)
