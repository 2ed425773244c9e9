"""Which continuous variables of a model are integrated out before it is sampled, by what that costs and saves.

A model and names of those that stay enter; names leave. Integrals are in `integrals`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

from consilience.analysis.separability import links
from consilience.distributions.constraints import Real, RealVector
from consilience.distributions.densities import density, density_of_data, support_of
from consilience.distributions.improper import Flat, HalfFlat
from consilience.distributions.random_variable import distribution_of
from consilience.elimination import acts
from consilience.elimination.marginal import placeholders
from consilience.elimination.polynomial import degrees, multipliers
from consilience.errors import ModelError
from consilience.ir import Node, substitute, topological
from consilience.ir.side_tables import without_sources
from consilience.model.freezing import freeze_dims_and_data
from consilience.model.marginalization import why_not_integrated
from consilience.model.model import Model
from consilience.model.observation import slot_values
from consilience.model.programs import TERMS, kept
from consilience.model.summation import MOST, cost, without
from consilience.model.trees import refuse_trees
from consilience.model.variables import FreeVariable
from consilience.ops.parameter_check import released
from consilience.record import Record

# Elements of variables that are integrated by default: of those that act on each other, as steps of a walk do, and of
# those that are independent given the rest, which chains move well where they are few.
TOGETHER: Final = 60
ALONE: Final = 200
# How many times the operations of the density as it is are worth it: where as many act on each other, where few do and
# several unknown numbers multiply them, as loadings do factors, and where neither is so.
TIMES_TOGETHER: Final = 12.0
TIMES_MULTIPLIED: Final = 5.0
TIMES_ALONE: Final = 3.0


class ModelTerms(Record, eq=False):
    """The terms of a density over a placeholder per free variable, on its own scale."""

    leaves: dict[str, Node]
    priors: dict[str, Node]
    others: list[Node]
    batches: list[Node]

    @property
    def all(self) -> list[Node]:
        return [*self.priors.values(), *self.others, *self.batches]


def integrable(model: Model, staying: Collection[str] = (), summed: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the continuous variables that are to be integrated out of the density, in the order of declaration.

    Variables of many elements, normal or of a conjugate family given all others, as far as a log density without them
    costs little more than one with them; and where something is left for chains to move.

    staying (collection of str): Names of variables that are not integrated out.
    summed: Names of variables that are summed out as well.
    >>> import consilience as pm
    >>> from consilience.model.integration import integrable
    >>> with pm.Model() as model:
    ...     scale = pm.HalfNormal("scale")
    ...     level = pm.GaussianRandomWalk("level", sigma=scale, init_dist=pm.Normal.dist(), shape=80)
    ...     y = pm.Normal("y", level, 1.0, observed=[0.5] * 80)
    >>> integrable(model)
    ('level',)
    """
    if model.data and any(not isinstance(n, int) for v in model.free for n in v.node.static_shape):
        shapes = tuple(value.shape for value in slot_values(model)[1])
        model = kept(model.cache, "of known lengths", shapes, lambda: freeze_dims_and_data(model))
    large = [v for v in model.free if v.name not in staying and v.name not in summed and _is_candidate(v)]
    if any(v.has_trees for v in model.free):  # moved by a step method that needs rows apart
        return ()
    if not large or not any(v.continuous and v not in large for v in model.free):
        return ()
    movable = tuple(v.name for v in model.free if v.name not in staying)
    shapes = tuple(value.shape for value in slot_values(model)[1])
    key = (movable, tuple(summed), shapes)
    return kept(model.cache, "integrable", key, lambda: _chosen(model, large, movable, summed))


def _is_candidate(variable: FreeVariable) -> bool:
    """Whether a variable is large enough, has the default map to the line and a proper distribution."""
    shape = variable.node.static_shape
    if not variable.continuous or not all(isinstance(n, int) for n in shape) or variable.size < TOGETHER:
        return False
    own = distribution_of(variable.node)
    return variable.inside and not isinstance(own, Flat | HalfFlat)


def _chosen(
    model: Model, candidates: Sequence[FreeVariable], movable: Sequence[str], summed: Sequence[str]
) -> tuple[str, ...]:
    with without_sources():
        terms = model_terms(model)
        normal = _normal(terms, [v for v in candidates if _is_real(v)])
        found = [v.name for v in normal]
        for variable in sorted(candidates, key=lambda v: v.size, reverse=True):
            if variable not in normal and variable.size >= ALONE and _is_conjugate(terms, variable, found):
                found.append(variable.name)
    if not found or all(v.name in found for v in model.free if v.continuous):
        return ()
    before, _ = cost(model, summed, loops=True)
    whole = len(found)
    while found:
        after, _ = cost(model, [*summed, *found], loops=True)
        if after <= min(MOST, before * _times(model, terms, [*summed, *found], len(found) == whole)):
            break
        found.pop()
    found += _following(model, terms, found, movable)
    if not any(v.continuous and v.name not in found for v in model.free):
        return ()
    return tuple(v.name for v in model.free if v.name in found)


def _following(model: Model, terms: ModelTerms, found: Sequence[str], movable: Sequence[str]) -> list[str]:
    """Continuous variables on which nothing depends, and which depend on what is integrated: missing data of it."""
    block = [terms.leaves[name] for name in found]
    return [
        v.name
        for v in model.free
        if v.continuous and v.inside and v.name in movable and v.name not in found
        if acts(terms.priors[v.name], block)
        and not any(acts(t, [terms.leaves[v.name]]) for t in terms.all if t is not terms.priors[v.name])
    ]


def _times(model: Model, terms: ModelTerms, names: Sequence[str], whole: bool) -> float:
    """How many times the operations of the density as it is are worth an integral that was written.

    whole: Whether it is over all that can be integrated: some factors without those that they act on gain nothing.
    """
    from consilience.elimination.integrals import Integral  # few models need it

    made = without(model, names)
    written = made.cache.get(TERMS)
    if written is None:  # it could not be written
        return 0.0
    joined = max((one.joined for one in written.sums if isinstance(one, Integral)), default=1)
    if joined >= TOGETHER:
        return TIMES_TOGETHER
    if min(v.size for v in made.marginalized if v.continuous) < ALONE:
        return 0.0
    return TIMES_MULTIPLIED if whole and joined > 1 and _is_multiplied(terms, names) else TIMES_ALONE


def _is_multiplied(terms: ModelTerms, names: Sequence[str]) -> bool:
    """Whether what depends on variables reads them times unknown numbers, several of one variable."""
    leaves = [terms.leaves[name] for name in names]
    factors = multipliers([term for term in terms.others if acts(term, leaves)], leaves)
    several = [own for name, own in terms.leaves.items() if name not in names and own.ndim]
    return any(acts(node, several) for node in factors)


def model_terms(model: Model) -> ModelTerms:
    """The terms of a density, over a placeholder for each free variable."""
    given = placeholders(model.free)
    data = {v.node: v.data for v in model.observed}
    # As in `terms`: a weight of truth values says which data count, another one how many rows each stands for.
    whole = [v for v in model.observed if v.weight is None or v.weight.dtype == "bool"]
    batches = [v for v in model.observed if v not in whole]
    groups = [
        [density(v.node, given[v.node]) for v in model.free],
        [*(density_of_data(v.node, v.data) for v in whole), *model.named_potentials.values()],
        [density_of_data(v.node, v.data) for v in batches],
    ]
    priors, others, weighted = (released(substitute(group, {**given, **data})) for group in groups)
    names = [v.name for v in model.free]
    return ModelTerms(
        {v.name: given[v.node] for v in model.free}, dict(zip(names, priors, strict=True)), others, weighted
    )


def _is_real(variable: FreeVariable) -> bool:
    return variable.transform is None and isinstance(support_of(variable.node), Real | RealVector)


def _normal(terms: ModelTerms, candidates: Sequence[FreeVariable]) -> list[FreeVariable]:
    """Variables in which the log density is quadratic together, the largest ones first, and hard to move."""
    found: list[FreeVariable] = []
    for variable in sorted(candidates, key=lambda v: v.size, reverse=True):
        leaves = [terms.leaves[v.name] for v in (*found, variable)]
        own = [term for term in terms.all if acts(term, leaves)]
        if max(degrees(own, leaves)) > 2 or any(acts(term, leaves) for term in terms.batches):
            continue
        if _is_hard(terms, variable) and (variable.size >= ALONE or _is_joint(terms, variable)):
            found.append(variable)
    return found


def _is_hard(terms: ModelTerms, variable: FreeVariable) -> bool:
    """Whether the curvature along a variable depends on unknown numbers in more than one way.

    One number, as the scale of the noise of a regression, does not change what its coefficients look like.
    """
    leaf = terms.leaves[variable.name]
    rest = [own for name, own in terms.leaves.items() if name != variable.name]
    if any(acts(node, rest) for node in multipliers([terms.priors[variable.name]], [leaf])):
        return True
    scaling = set(topological(multipliers([term for term in terms.all if acts(term, [leaf])], [leaf])))
    return len(scaling.intersection(rest)) > 1


def _is_joint(terms: ModelTerms, variable: FreeVariable) -> bool:
    """Whether elements act on each other, given all others."""
    leaf = terms.leaves[variable.name]
    needed = {axis for axis, length in enumerate(leaf.static_shape) if length != 1}
    own = [links(term, leaf) or {} for term in terms.all if acts(term, [leaf])]
    return not all(needed <= {link.axis for link in each.values()} for each in own)


def _is_conjugate(terms: ModelTerms, variable: FreeVariable, others: Sequence[str]) -> bool:
    from consilience.elimination.conjugate import family_of, statistics_of  # few models need these

    leaf = terms.leaves[variable.name]
    acting = [term for term in terms.all if acts(term, [leaf])]
    if family_of(support_of(variable.node)) is None or any(acts(term, [leaf]) for term in terms.batches):
        return False
    if any(acts(term, [terms.leaves[name]]) for term in acting for name in others):
        return False
    return statistics_of(variable.node, leaf, acting) is not None


def check(model: Model, names: Sequence[str], summed: Sequence[str] = ()) -> tuple[str, ...]:
    """The names, if these variables can be integrated out of the density together.

    Raises ModelError: Where they cannot, with the reason; and where nothing would be left for chains to move.
    """
    refuse_trees(model, "`integrate`", names)
    free = {v.name: v for v in model.free}
    for name in names:
        if name not in free:
            raise ModelError(
                f"`integrate` names `{name}`, which is no free variable of the model; those are "
                f"{', '.join(f'`{own}`' for own in free) or 'none'}."
            )
        if not free[name].continuous:
            raise ModelError(
                f"`integrate` names `{name}`, which is discrete; discrete variables are summed out without being named."
            )
        reason = why_not_integrated(free[name])
        if reason:
            raise ModelError(f"`integrate` names `{name}`, but it {reason} can be integrated out.")
    if not any(v.continuous and v.name not in names for v in model.free):
        raise ModelError(
            "`integrate` names all continuous variables, so nothing would be left for chains to move; leave out one."
        )
    operations, reason = cost(model, [*summed, *names])
    if not math.isfinite(operations):
        listed = ", ".join(f"`{name}`" for name in names)
        raise ModelError(
            f"{listed} cannot be integrated out: {reason}. Leave out `integrate`, or name other variables."
        )
    return tuple(v.name for v in model.free if v.name in names)


__all__ = ["ModelTerms", "check", "integrable", "model_terms"]
