"""Blocks of variables that are nearly normal given the others, in coordinates of their own: x = mean + L^-T z.

Mean and precision follow the few other variables, so that chains move these and standard numbers z, which hardly depend
on them: no neck, no scale that a field holds. Which variables are such a block is seen from the graph; slopes and
curvatures of what is not normal are averages over draws of tuning, and stay as they are from then on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.analysis.operations import operations as arithmetic
from consilience.distributions import Normal
from consilience.distributions.constraints import Real, RealVector
from consilience.distributions.densities import density, support_of
from consilience.elimination import acts
from consilience.elimination.addends import total
from consilience.elimination.gaussian_integral import (
    CORRELATED,
    DIAGONAL,
    NormalGivenOthers,
    is_separable,
    parted,
    size_of,
)
from consilience.elimination.nearly_normal import (
    MOST_PREDICTORS,
    Reference,
    TermsByForm,
    approximation,
    averaged,
    derivatives,
    diagonal_approximation,
    effects,
    own_terms,
    precision,
    read_terms,
    root_of_covariance,
    terms_by_form,
)
from consilience.errors import ModelError
from consilience.ir import Node, constant, substitute, topological
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.conditioning import Rebuilt
from consilience.model.freezing import freeze_dims_and_data
from consilience.model.integration import model_terms
from consilience.model.model import Model
from consilience.model.observation import slot_values
from consilience.model.predictive import predict
from consilience.model.programs import kept
from consilience.model.reparametrization import written_by
from consilience.model.terms import terms_of
from consilience.model.variables import FreeVariable
from consilience.ops.reduce import reduce
from consilience.planning import before_slopes
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

MOST_BYTES: Final = 120  # of names in the title of a block, which may have 200 in all
TOGETHER: Final = 20  # elements that act on each other, from which on a block is worth it
FEWER: Final = 10  # times as few elements as independent ones, with which a variable stays out of their block
ALONE: Final = 100  # elements that are independent given all others
DRAWS: Final = 200  # of which averages are taken at most
FEWEST_DRAWS: Final = 20  # of which they are taken in models of any size
MOST_NUMBERS: Final = 4_000_000  # of draws, or of columns of a precision, at a time
# Elements beside a diagonal whose correlations are taken at most, and the least share of their precision that data say.
MOST_CORRELATED: Final = 256
LEAST_TOLD: Final = 0.05

# Names, and the reference: of each predictor of each term; where the precision is diagonal `responses` of each
# variable, and what is `correlated` nevertheless.
Transported: TypeAlias = Mapping[str, Any]


class _BlockTerms(Record, eq=False):
    """Variables of a model as placeholders, and the terms that depend on them."""

    back: dict[Node, Node]
    terms: TermsByForm


def transportable(model: Model, diagonal: bool = False) -> tuple[str, ...]:
    """Names of the variables that make up the block of a model, in the order of declaration; none where there is none.

    Variables without bounds in whose densities, given all others, they are quadratic together, with at least one term
    that is not: others are integrated out.

    Parameters
    ----------
    model : Model
        As chains move in it.
    diagonal : bool, optional
        Whether variables are wanted whose elements have independent priors, each with few others, which the diagonal
        of their precision suits; they may have normal data, too.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> import consilience as pm
    >>> import consilience.tensor as pt
    >>> from consilience.model.transport import transportable
    >>> with pm.Model() as model:
    ...     level, scale = pm.Normal("level"), pm.HalfNormal("scale")
    ...     x = pm.GaussianRandomWalk("x", sigma=scale, init_dist=pm.Normal.dist(), shape=50)
    ...     y = pm.Poisson("y", pt.exp(level + x), observed=[3] * 50)
    >>> transportable(model)
    ('level', 'x')
    """
    if model.marginalized or not all(v.continuous for v in model.free):
        return ()
    model = _with_known_data(model)
    candidates = [v for v in model.free if _is_candidate(v)]
    left = any(v not in candidates for v in model.free)
    if not left or sum(v.size for v in candidates) < TOGETHER:
        return ()
    if diagonal:
        candidates = [v for v in candidates if v.size >= TOGETHER]
    return kept(model.cache, "transportable", diagonal, lambda: _chosen(model, candidates, diagonal))


def _is_candidate(variable: FreeVariable) -> bool:
    known = all(isinstance(n, int) for n in variable.node.static_shape)
    real = variable.transform is None and isinstance(support_of(variable.node), Real | RealVector)
    return known and variable.continuous and real and not variable.has_trees


def _chosen(model: Model, candidates: Sequence[FreeVariable], diagonal: bool) -> tuple[str, ...]:
    """The largest first, then each that leaves what the others are read by as it was."""
    with without_sources():
        terms = model_terms(model)
        if terms.batches:
            return ()
        found: list[str] = []
        alone = False
        sizes = {v.name: v.size for v in candidates}
        read: set[Node] = set()
        bent: set[Node] = set()
        for variable in sorted(candidates, key=lambda v: v.size, reverse=True):
            if alone and not diagonal and variable.size * FEWER < sizes[found[0]]:
                continue  # a mean of groups would join them
            names = [*found, variable.name]
            block = terms_by_form(terms.all, [terms.leaves[name] for name in names])
            parts = [node for one in block.bent for node in one.predictors]
            now = {one.term for one in block.bent}
            priors = {terms.priors[name] for name in names}
            # A product with a variable of the block would be split; a term that was normal would be so no more.
            split = not read <= set(topological(parts))
            worse = bool(found) and any(
                term not in bent and acts(term, [terms.leaves[name] for name in found]) for term in now
            )
            wide = any(len(one.predictors) > MOST_PREDICTORS for one in block.bent)
            # Products of two predictors, as of a vector with itself, have no curvature along either.
            flat = not any(acts(term, [terms.leaves[variable.name]]) for term in block.quadratic)
            if split or worse or wide or flat or now & priors:
                continue
            if diagonal:
                fits = priors <= set(own_terms(block))
            else:
                fits = _joined(block, terms.leaves[variable.name])
            if not fits:
                continue
            found, read, bent = names, set(parts), now
            alone = len(found) == 1 and is_separable([*block.quadratic, *now], block.leaves)
        if not (bent or diagonal):
            return ()
    return tuple(v.name for v in model.free if v.name in found)


def _joined(block: TermsByForm, leaf: Node) -> bool:
    """Whether a variable acts on what bends, or on others of the block: it would be an ordinary coordinate else."""
    if any(acts(one.term, [leaf]) for one in block.bent):
        return True
    others = [own for own in block.leaves if own is not leaf]
    return any(acts(term, [leaf]) and acts(term, others) for term in block.quadratic)


def _block(model: Model, names: Sequence[str]) -> _BlockTerms:
    terms = model_terms(model)
    leaves = [terms.leaves[name] for name in names]
    return _BlockTerms(
        {leaf: model.named[name] for name, leaf in terms.leaves.items()}, terms_by_form(terms.all, leaves)
    )


def _with_known_data(model: Model) -> Model:
    """With data as constants, the same one while they are the same: a factor needs the places that they say."""
    if not set(model.data) - model.frozen:
        return model
    return kept(model.cache, "of known data", tuple(slot_values(model)[2]), lambda: freeze_dims_and_data(model))


def _copy(model: Model) -> Model:
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
    made.name = ""  # of what is added here
    return made


def referred(model: Model, names: Sequence[str], draws: Mapping[str, Any], diagonal: bool = False) -> Transported:
    """For `transport`: the block's names, and averages over draws (draw, …) of all free variables by name.

    diagonal: Whether the diagonal of the precision is to stand for a factor.

    Raises
    ------
    ModelError
        Where a draw has no finite slopes and curvatures, or the diagonal of the precision is not known.
    """
    model = _with_known_data(model)
    made, wanted = _copy(model), list[Node]()
    with without_sources():
        block = _block(made, names)
        for bent in block.terms.bent:
            for own, pair in zip(bent.predictors, derivatives(bent), strict=True):
                wanted += [*pair, own]
        if diagonal:
            known = effects(block.terms)
            if known is None:
                raise ModelError("the diagonal of the precision of the block is not known.")
            slopes = gradient(total([bent.term for bent in read_terms(block.terms)]), block.terms.leaves)
            for leaf, effect, slope in zip(block.terms.leaves, known, slopes, strict=True):
                wanted += [effect.curvature * leaf + slope, effect.unit]
    arrays = iter(_at_draws(made, block, wanted, _thinned(model, draws)))
    reference = []
    for bent in block.terms.bent:
        pairs = [averaged(next(arrays), next(arrays), next(arrays)) for _ in bent.predictors]
        if not all(np.isfinite(part).all() for pair in pairs for part in pair):
            raise ModelError("draws have no finite curvature.")
        reference.append([[part.tolist() for part in pair] for pair in pairs])
    found: dict[str, Any] = {"names": list(names), "reference": reference}
    if diagonal:
        found["responses"] = []
        for response, unit in zip(arrays, arrays, strict=True):
            response = np.divide(response, unit, out=np.zeros_like(response), where=unit != 0.0).mean(axis=0)
            if not np.isfinite(response).all():
                raise ModelError("draws have no finite slope.")
            found["responses"].append(response.tolist())
    return found


def correlated(model: Model, chosen: Transported, draws: Mapping[str, Any]) -> Transported:
    """What was chosen with the diagonal of the precision, and correlations of the elements that data tell most.

    They are those of one of the draws, of which the width of the block is nearest to the average, and stay as they are.
    Without a use for them what was chosen.

    Raises
    ------
    ModelError
        Where they are not finite.
    """
    model = _with_known_data(model)
    size = sum(size_of(model.named[name]) for name in chosen["names"])
    most = min(MOST_CORRELATED, MOST_NUMBERS // size)
    if chosen["kind"] != DIAGONAL.kind or most < TOGETHER:
        return chosen
    flat, made = _thinned(model, draws), _copy(model)
    with without_sources():
        block, own = _approximated(made, chosen)
        known = effects(block.terms, chosen["reference"])
        assert known is not None
        deviations = own.spread(constant(np.ones(own.point.static_shape)))
        widths = [deviations, *(effect.curvature for effect in known)]
    deviation, *curvatures = (array.reshape(len(array), -1) for array in _at_draws(made, block, widths, flat))
    if not (np.isfinite(deviation).all() and (deviation > 0.0).all()):
        raise ModelError("draws have no finite width.")
    told = (np.concatenate(curvatures, axis=1) * deviation**2).mean(axis=0)
    places = np.sort(np.argsort(-told, kind="stable")[:most])
    places = places[told[places] > LEAST_TOLD]
    if len(places) < TOGETHER:
        return chosen
    logs = np.log(deviation)
    middle = int(np.argmin(np.square(logs - logs.mean(axis=0)).sum(axis=1)))
    made = _copy(model)
    with without_sources():
        block = _block(made, chosen["names"])
        entries = precision(block.terms, chosen["reference"], places)
        if entries is None:
            return chosen
    (found,) = _at_draws(made, block, [entries], {name: array[middle : middle + 1] for name, array in flat.items()})
    if not np.isfinite(found).all():
        raise ModelError("a draw has no finite precision.")
    root = root_of_covariance(found[0], deviation[middle, places])
    return {**chosen, "kind": CORRELATED.kind, "correlated": [places.tolist(), root.tolist()]}


def _thinned(model: Model, draws: Mapping[str, Any]) -> dict[str, Any]:
    """Some of the draws of free variables."""
    flat = {v.name: np.asarray(draws[v.name]) for v in model.free}
    count = len(next(iter(flat.values())))
    most = max(FEWEST_DRAWS, min(DRAWS, MOST_NUMBERS // sum(v.size for v in model.free)))
    return {name: values[:: -(-count // most)] for name, values in flat.items()}


def _at_draws(made: Model, block: _BlockTerms, nodes: Sequence[Node], flat: Mapping[str, Any]) -> list[Any]:
    """Values of expressions over the placeholders of a block in draws, by deterministics of a copy of the model."""
    names = [f"{place} of a block" for place in range(len(nodes))]
    with without_sources():
        for name, node in zip(names, substitute(nodes, block.back), strict=True):
            made.add_deterministic(name, node)
    seen = predict(made, names, flat, len(next(iter(flat.values()))), 0, with_data=True)
    return [seen[name] for name in names]


def transport(model: Model, chosen: Transported) -> Model:
    """The same posterior with the block as a function of standard numbers, `<first name>_raw`, and all others.

    Raises
    ------
    ModelError
        Where the name is taken, or the approximation of the block is no proper normal distribution.
    """
    names = chosen["names"]
    made = _copy(_with_known_data(model))
    with without_sources():
        block, own = _approximated(made, chosen)
        raw = Normal.dist(0.0, 1.0, shape=own.point.static_shape)
        values = parted(own.mean + own.spread(raw), block.terms.leaves)
        *values, volume = substitute([*values, own.volume], block.back)
        # Not `total`: what priors of one form have in common would be written anew inside the variables themselves.
        priors = [density(made.named[name], made.named[name]) for name in names]
        prior = sum(reduce("sum", term) if term.ndim else term for term in priors)
        made.add_potential(
            _title(names),
            prior + volume + 0.5 * (reduce("sum", raw * raw) + size_of(raw) * math.log(2.0 * math.pi)),
        )
        raws: dict[str, dict[str, Node]] = {name: {} for name in names}
        raws[names[0]] = {"_raw": raw}
        return written_by(made, dict(zip(names, values, strict=True)), raws)


def _title(names: Sequence[str]) -> str:
    listed = " and ".join(names)
    if len(listed.encode()) > MOST_BYTES:
        listed = f"{len(names)} variables" if len(names) > 1 else "a variable"
    return f"log density of {listed} in coordinates of their own"


def _approximated(model: Model, chosen: Transported) -> tuple[_BlockTerms, NormalGivenOthers]:
    names: Sequence[str] = chosen["names"]
    reference: Reference = chosen["reference"]
    block = _block(model, names)
    if "responses" in chosen:
        own = diagonal_approximation(block.terms, reference, chosen["responses"], chosen.get("correlated"))
    else:
        own = approximation(block.terms, reference)
    if own is None:
        raise ModelError(f"the density of {' and '.join(f'`{name}`' for name in names)} has no curvature.")
    follows = set(topological(substitute([own.mean, own.volume], block.back)))
    if any(model.named[name] in follows for name in names):
        raise ModelError(f"{' and '.join(f'`{name}`' for name in names)} would follow variables that depend on them.")
    return block, own


def operations(model: Model) -> float:
    """Of a log density with its gradient, estimated, those of loops included.

    A gradient takes other multiples of its density where matrices are factored than where they are multiplied.
    """
    with without_sources():
        terms = terms_of(model)
        (value,) = before_slopes(simplify([total(terms.all)]), terms.values)
        outputs = simplify([value, *gradient(value, terms.values)])
        static, _ = specialise(outputs, slot_values(model)[3])
    return arithmetic(static, loops=True)


def suited(model: Model, draws: Mapping[str, Any], diagonal: bool = False) -> Transported | None:
    """For `transport`, what suits draws (draw, …) of all free variables; None where there is no block of a fit size.

    diagonal: Whether the diagonal of the precision is to stand for a factor.
    Returns: What `referred` does, and the form of the factor, by the names of its fields.
    Raises ModelError: As `referred` does, and where the approximation of the block is no proper normal distribution.
    """
    names = transportable(model, diagonal)
    if not names:
        return None
    model = _with_known_data(model)
    chosen = referred(model, names, draws, diagonal)
    with without_sources():
        _, own = _approximated(model, chosen)
    size = sum(size_of(model.named[name]) for name in names)
    form = {"kind": own.form.kind, "sparse": own.form.sparse, "sums": own.form.sums}
    return {**chosen, **form} if own.joined >= TOGETHER or size >= ALONE else None


__all__ = ["correlated", "operations", "referred", "suited", "transport", "transportable"]
