"""Continuous variables integrated out of a density, and drawn again given all others.

Factors of a density and variables in, factors without the variables out. What is quadratic in variables of the whole
real line is integrated as a normal density of all of them together; others one by one, by `conjugate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from consilience.distributions.constraints import Real, RealVector
from consilience.distributions.densities import density, support_of, supported_density
from consilience.elimination import NamedVariable, acts
from consilience.elimination.conjugate import conjugate
from consilience.elimination.gaussian_integral import listed, normal_integral
from consilience.errors import ModelError
from consilience.ir import Node, constant, substitute
from consilience.ops.elementwise import cast
from consilience.ops.random import fold_in
from consilience.record import Record


class Integral(Record, eq=False):
    """One variable that was integrated out.

    `leaf`: stands for the variable in factors.
    `kind`: how, in words: the family of its distribution given all others, and the factor of a precision.
    `joined`: elements of the largest set of its elements, and of those integrated with it, that are not independent.
    `drawn`: the variable given all others, from a key that is the same for all variables.
    """

    variable: NamedVariable
    leaf: Node
    kind: str
    joined: int
    drawn: Callable[[Node], Node]
    settled: Node | None = None


def integrated(
    factors: Sequence[Node], variables: Sequence[NamedVariable], others: Sequence[Node], given: Mapping[Node, Node]
) -> tuple[list[Node], list[Integral]]:
    """The factors without the variables, as many as before; of those that depend on some the first has the integral.

    factors: Log densities over the placeholders of the variables, elementwise.
    others: Placeholders of discrete variables, and densities of these.
    given: Replacements for the nodes of all random variables, with those placeholders.
    Raises ModelError: Where the log density is not quadratic in the variables or linear in statistics of them, or they
        act together with discrete ones.
    """
    real = [isinstance(support_of(v.node), Real | RealVector) for v in variables]
    formulas = [
        (supported_density if one else density)(v.node, given[v.node]) for v, one in zip(variables, real, strict=True)
    ]
    # Densities of the variables themselves behind the factors: each is a term of what it depends on, too.
    pool = [*factors, *substitute(formulas, given)]
    found = list[Integral]()

    def acting(own: Sequence[NamedVariable]) -> list[int]:
        """The places of the terms that depend on variables."""
        inside = [given[v.node] for v in own]
        places = [place for place, term in enumerate(pool) if acts(term, inside)]
        if any(acts(each, inside) for each in others) or any(acts(pool[place], others) for place in places):
            raise ModelError(
                f"{listed(own)} and discrete variables that are marginalized act on each other; only one or the "
                "other can be taken out of the density."
            )
        return places

    def replace(places: Sequence[int], value: Node) -> None:
        for place in places:
            pool[place] = value if place == places[0] else constant(0.0)

    for number, (variable, is_real) in enumerate(zip(variables, real, strict=True)):
        if is_real:
            continue
        leaf, places = given[variable.node], acting([variable])
        terms = [pool[place] for place in places]
        other = next((v for v in variables if v is not variable and any(acts(t, [given[v.node]]) for t in terms)), None)
        if other is not None:
            raise ModelError(
                f"`{variable.name}` and `{other.name}` act together, so only one of both can be integrated out."
            )
        one = conjugate(variable.node, leaf, terms)
        if one is None:
            raise ModelError(
                f"the log density is not linear in statistics of `{variable.name}` of which an integral is known: "
                "log x and one power of x for positive x, log x and log(1 - x) for x between 0 and 1, log x for "
                "shares, log det X and X or its inverse for positive definite matrices."
            )
        replace(places, one.value)
        found.append(Integral(variable, leaf, one.family, 1, _with_key(one.drawn, 1 + number, leaf)))
    normal = [v for v, is_real in zip(variables, real, strict=True) if is_real]
    if normal:
        places = acting(normal)
        own = normal_integral([pool[place] for place in places], [given[v.node] for v in normal], normal)
        replace(places, own.value)
        for variable, drawn in zip(normal, own.drawn, strict=True):
            found.append(Integral(variable, given[variable.node], own.form.kind, own.joined, drawn))
    return pool[: len(factors)], found


def _with_key(drawn: Callable[[Node], Node], number: int, leaf: Node) -> Callable[[Node], Node]:
    return lambda key: cast(drawn(fold_in(key, number)), leaf.dtype)


__all__ = ["Integral", "integrated"]
