"""Variables that are nearly normal given all others, written by standard ones: x = mean + L^-T z.

Mean and precision are those of an approximation, in which what is not quadratic in the variables is a normal density of
what it reads of them (linear predictors), with a slope and a curvature that stay as they are. The coordinates serve
whatever the approximation is worth: `volume` is the exact logarithm of what a step of z moves. Where a factor costs too
much, the diagonal of the precision stands for it, and the mean is a step by it from where predictors were on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.elimination import acts
from consilience.elimination.addends import addends, total
from consilience.elimination.gaussian_integral import (
    CORRELATED,
    DIAGONAL,
    NormalGivenOthers,
    conditional,
    is_separable,
    precision_among,
    size_of,
)
from consilience.elimination.polynomial import degrees, linear_parts, number_of
from consilience.elimination.transposed_products import MOVING, transposed_product
from consilience.ir import Input, Node, constant, substitute, tensor_input, topological
from consilience.ops import Elementwise
from consilience.ops.elementwise import apply, cast
from consilience.ops.index import getitem, index_set
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims, reshape
from consilience.record import Record, replace
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

# Slope at 0 and curvature of an approximation, of each linear predictor of each term.
Reference: TypeAlias = Sequence[Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]]
MOST_PREDICTORS: Final = 12  # of one term
LEAST_EIGENVALUE: Final = 1e-3  # of a matrix with a diagonal of ones


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
    return conditional(_quadratic(terms, reference), terms.leaves)


def _quadratic(terms: TermsByForm, reference: Reference) -> list[Node]:
    found = list(terms.quadratic)
    for bent, own in zip(terms.bent, reference, strict=True):
        for node, (slope, curvature) in zip(bent.predictors, own, strict=True):
            found.append(constant(np.asarray(slope, float)) * node)
            if np.any(curvature):
                found.append(constant(-0.5 * np.asarray(curvature, float)) * node * node)
    return found


class Effect(Record, eq=False):
    """What terms beside its own prior say of one variable, element by element: coordinates U x are told, not x.

    `curvature`: the diagonal of B' W B.
    `unit`: U, in proportion to each column of B' W.
    """

    curvature: Node
    unit: Node


def own_terms(terms: TermsByForm) -> list[Node]:
    """Those that are quadratic in one of the variables, element by element."""
    return [term for term in terms.quadratic if is_separable([term], terms.leaves)]


def read_terms(terms: TermsByForm) -> list[Bent]:
    """All others, those that are not quadratic first."""
    own = own_terms(terms)
    return [*terms.bent, *(Bent(t, linear_parts(t, terms.leaves)) for t in terms.quadratic if t not in own)]


def effects(terms: TermsByForm, reference: Reference | None = None) -> list[Effect] | None:
    """Of each variable; None where a predictor has an operation of which the entries are not known.

    `reference`: curvatures of what is not quadratic, in place of those at hand.
    """
    curvatures, units = ([constant(np.zeros(leaf.static_shape)) for leaf in terms.leaves] for _ in range(2))
    for place, bent in enumerate(read_terms(terms)):
        if reference is not None and place < len(terms.bent):
            weights: list[Node] = [constant(np.asarray(curvature, float)) for _, curvature in reference[place]]
        else:
            if place >= len(terms.bent) and not _is_apart(bent):
                return None
            weights = simplify([curvature for _, curvature in derivatives(bent)])
        for predictor, weight in zip(bent.predictors, weights, strict=True):
            told = _told(predictor, terms.leaves)
            stand_in = tensor_input(told.dtype, told.static_shape)
            (outside,) = substitute([predictor], {told: stand_in})
            known = [transposed_product(outside, stand_in, each, 2) for each in (weight, _irregular(predictor))]
            for number, leaf in enumerate(terms.leaves):
                if not acts(told, [leaf]):
                    continue
                for found, own, power in zip((curvatures, units), known, (2, 1), strict=True):
                    product = None if own is None else transposed_product(told, leaf, own, power)
                    if product is None:
                        return None
                    found[number] = found[number] + product
    return [Effect(*pair) for pair in zip(curvatures, units, strict=True)]


def _told(predictor: Node, leaves: Sequence[Node]) -> Node:
    """What data are compared with: the part of a residual (data - part) / scale, or all of a predictor that is none.

    What multiplies it makes it larger, what is outside tells how well it is known.
    """
    node = predictor
    while True:
        acting = [operand for operand in node.inputs if acts(operand, leaves)]
        if len(acting) != 1:
            return predictor
        if isinstance(node.op, Elementwise) and node.op.function in ("add", "sub"):
            others = [operand for operand in node.inputs if operand is not acting[0]]
            if any(number_of(own) != 0.0 and not _is_unknown(own) for own in others):
                return acting[0]
        elif not (isinstance(node.op, MOVING) or getattr(node.op, "function", "") in ("mul", "true_div", "neg")):
            return predictor
        node = acting[0]


def _is_unknown(node: Node) -> bool:
    return any(isinstance(n.op, Input) for n in topological([node]))


def _is_apart(bent: Bent) -> bool:
    """Whether elements of predictors act on the term each alone."""
    inputs = [tensor_input(node.dtype, node.static_shape) for node in bent.predictors]
    (written,) = substitute([bent.term], dict(zip(bent.predictors, inputs, strict=True)))
    return is_separable(addends(written), inputs)


def _irregular(node: Node) -> Node:
    """Positive numbers, of which sums with the signs of a matrix are not zero by symmetry."""
    turns: Node = constant(0.0)
    for axis, length in enumerate(node.static_shape):
        counted = cast(Node(Iota(length)), "float64")
        turns = turns + (2.3 + axis) * expand_dims(counted, tuple(i for i in range(node.ndim) if i != axis))
    return 1.0 + 0.5 * apply("sin", turns)


def diagonal_approximation(
    terms: TermsByForm,
    reference: Reference,
    responses: Sequence[npt.ArrayLike],
    correlated: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> NormalGivenOthers | None:
    """The same as `approximation` with elements that are independent given all others, but for correlations that stay.

    `responses`: of each variable, the average over draws of (D x + slope) / U, the slope being that of all terms but
    its own ones. `correlated`: places of elements, and a root of the covariance of these in units of their deviations.
    """
    known = effects(terms, reference)
    if known is None:
        return None
    found = own_terms(terms)
    for leaf, effect, response in zip(terms.leaves, known, responses, strict=True):
        found.append(constant(np.asarray(response, float)) * effect.unit * leaf)
        found.append(-0.5 * effect.curvature * leaf * leaf)
    own = conditional(found, terms.leaves)
    if own is None:
        return None
    if not is_separable([*terms.quadratic, *(bent.term for bent in terms.bent)], terms.leaves):
        own = replace(own, form=DIAGONAL, joined=sum(size_of(leaf) for leaf in terms.leaves))
    if correlated is None:
        return own
    places, root = constant(np.asarray(correlated[0], np.int64)), np.asarray(correlated[1], float)
    shape, deviations = own.point.static_shape, own.spread

    def spread(noise: Node) -> Node:
        flat = reshape(noise, (-1,))
        together = constant(root) @ getitem(flat, (places,))
        return deviations(reshape(index_set(getitem(flat, (places,)), together), shape))

    volume = own.volume + float(np.linalg.slogdet(root)[1])
    return replace(own, form=CORRELATED, volume=volume, spread=spread)


def precision(terms: TermsByForm, reference: Reference, places: npt.NDArray[np.int64]) -> Node | None:
    """Entries of the precision of `approximation` between elements at places; None where it has no proper form."""
    return precision_among(_quadratic(terms, reference), terms.leaves, places)


def root_of_covariance(
    precision: npt.NDArray[np.float64], deviations: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The symmetric root of the inverse of a precision in units of deviations; without directions next to improper."""
    values, vectors = np.linalg.eigh(deviations[:, None] * precision * deviations)
    found: npt.NDArray[np.float64] = (vectors / np.sqrt(np.maximum(values, LEAST_EIGENVALUE))) @ vectors.T
    return found


__all__ = [
    "MOST_PREDICTORS",
    "Bent",
    "Effect",
    "Reference",
    "TermsByForm",
    "approximation",
    "averaged",
    "derivatives",
    "diagonal_approximation",
    "effects",
    "own_terms",
    "precision",
    "read_terms",
    "root_of_covariance",
    "terms_by_form",
]
