"""Variables that are nearly normal given all others, written by standard ones: x = mean + L^-T z.

Mean and precision are those of an approximation, in which what is not quadratic in the variables is a normal density of
what it reads of them (linear predictors), with a slope and a curvature that stay as they are. The coordinates serve
whatever the approximation is worth: `volume` is the exact logarithm of what a step of z moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.elimination import acts
from consilience.elimination.addends import total
from consilience.elimination.gaussian_integral import NormalGivenOthers, conditional
from consilience.elimination.polynomial import degrees, linear_parts
from consilience.ir import Node, constant, substitute, tensor_input
from consilience.ops.reduce import reduce
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

# Slope at 0 and curvature of an approximation, of each linear predictor of each term.
Reference: TypeAlias = Sequence[Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]]
MOST_PREDICTORS: Final = 12  # of one term


class Bent(Record, eq=False):
    """A term that is not quadratic in the variables, and the linear predictors that it reads of them."""

    term: Node
    predictors: list[Node]


class TermsByForm(Record, eq=False):
    """The terms of a log density that depend on variables: those that are quadratic in them, and others."""

    leaves: list[Node]
    quadratic: list[Node]
    bent: list[Bent]


def terms_by_form(terms: Sequence[Node], leaves: Sequence[Node]) -> TermsByForm:
    """The terms that depend on the leaves, by what they are in these."""
    acting = [term for term in terms if acts(term, leaves)]
    found = TermsByForm(list(leaves), [], [])
    for term, degree in zip(acting, degrees(acting, leaves), strict=True):
        if degree <= 2:
            found.quadratic.append(term)
        else:
            found.bent.append(Bent(term, linear_parts(term, leaves)))
    return found


def derivatives(bent: Bent) -> list[tuple[Node, Node]]:
    """Slope and minus the curvature of a term along the elements of each predictor, each element alone."""
    inputs = [tensor_input(node.dtype, node.static_shape) for node in bent.predictors]
    (written,) = substitute([bent.term], dict(zip(bent.predictors, inputs, strict=True)))
    (whole,) = simplify([total([written])], keep=inputs)
    found: list[Node] = []
    for slope, own in zip(gradient(whole, inputs), inputs, strict=True):
        found += [slope, -gradient(reduce("sum", slope) if slope.ndim else slope, own)]
    back: Mapping[Node, Node] = dict(zip(inputs, bent.predictors, strict=True))
    found = substitute(found, back)
    return list(zip(found[::2], found[1::2], strict=True))


def averaged(
    slopes: npt.NDArray[np.float64], curvatures: npt.NDArray[np.float64], predictors: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Slope at 0 and curvature of one predictor, of draws (draw, …), by which a line is nearest to their slopes.

    Averages over draws are positive where single curvatures are not (Student-t); what is negative counts as 0.
    """
    curvature = np.maximum(curvatures.mean(axis=0), 0.0)
    return slopes.mean(axis=0) + curvature * predictors.mean(axis=0), curvature


def approximation(terms: TermsByForm, reference: Reference) -> NormalGivenOthers | None:
    """The normal distribution of the leaves, as one value, given all others; None where it has no proper form."""
    found = list(terms.quadratic)
    for bent, own in zip(terms.bent, reference, strict=True):
        for node, (slope, curvature) in zip(bent.predictors, own, strict=True):
            found.append(constant(np.asarray(slope, float)) * node)
            if np.any(curvature):
                found.append(constant(-0.5 * np.asarray(curvature, float)) * node * node)
    return conditional(found, terms.leaves)


__all__ = [
    "MOST_PREDICTORS",
    "Bent",
    "Reference",
    "TermsByForm",
    "approximation",
    "averaged",
    "derivatives",
    "terms_by_form",
]
