"""A model's log density as graphs over its value variables, with first and second derivatives.

A model and a choice of its variables in, expressions of `model.value_vars` and the data out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from consilience.elimination.addends import total
from consilience.errors import ModelError
from consilience.ir import FLOATS, Node, substitute, topological
from consilience.ir.arithmetic import plain
from consilience.ir.side_tables import carrying_marks, describe, lend_source, without_sources
from consilience.model.terms import Terms, terms_of
from consilience.model.variables import ModelVariables
from consilience.ops.elementwise import cast
from consilience.ops.shape import concatenate, reshape
from consilience.planning import before_slopes
from consilience.record import replace
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient, jacobian

# A variable of a model, its value variable, a potential, or the name of one of them; or several.
Chosen: TypeAlias = "Node | str | Sequence[Node | str] | None"


def terms_over_values(model: ModelVariables, with_jacobian: bool = True) -> Terms:
    """The pieces of the log density, written over the model's own value variables."""
    key = ("terms", with_jacobian)
    found: Terms | None = model.cache.get(key)
    if found is None:
        with without_sources(), carrying_marks():
            made = terms_of(model, with_jacobian, sampled=False)
            values = [v.value for v in model.free]
            own = {old: cast(new, old.dtype) for old, new in zip(made.values, values, strict=True)}
            groups = ("constrained", "priors", "likelihoods", "potentials", "deterministics")
            found = replace(made, values=values, **{name: substitute(getattr(made, name), own) for name in groups})
            declared = [*(v.node for v in model.free), *(v.node for v in model.observed)]
            seen: set[Node] = set()
            for node, term in zip(declared, (*found.priors, *found.likelihoods), strict=True):
                formula = topological([term], stop=seen.__contains__)
                lend_source(node, formula)
                seen.update(formula)
        model.cache[key] = found
    return found


def over_values(model: ModelVariables, outputs: Sequence[Node]) -> list[Node]:
    """Expressions of the model's random variables, written over the value variables and the data."""
    with without_sources():
        replacements = dict(zip([v.node for v in model.free], terms_over_values(model).constrained, strict=True))
        return substitute(outputs, replacements | {v.node: v.data for v in model.observed})


def factors(model: ModelVariables, chosen: Chosen = None, with_jacobian: bool = True) -> list[Node]:
    """Log density of each chosen variable, elementwise, and each chosen potential; of all by default."""
    terms = terms_over_values(model, with_jacobian)
    known: dict[Node, Node] = {}
    for variable, term in zip(model.free, terms.priors, strict=True):
        known[variable.node] = known[variable.value] = term
    known |= dict(zip([v.node for v in model.observed], terms.likelihoods, strict=True))
    known |= dict(zip(model.potentials, terms.potentials, strict=True))
    if chosen is None:
        return terms.all
    return [_found(model, known, one, "a random variable or potential") for one in _listed(chosen)]


def logp_graph(
    model: ModelVariables, chosen: Chosen = None, with_jacobian: bool = True, summed: bool = True
) -> Node | list[Node]:
    """The log density of chosen variables and potentials: one scalar, or one expression of each, elementwise."""
    found = factors(model, chosen, with_jacobian)
    return total(found) if summed else found


def differentiable(model: ModelVariables, chosen: Chosen = None) -> list[Node]:
    """Value variables of the chosen free variables; of all continuous ones by default."""
    if chosen is None:
        return [v.value for v in model.free if v.value.dtype in FLOATS]
    known = {v.node: v.value for v in model.free} | {v.value: v.value for v in model.free}
    wanted = [_found(model, known, one, "a free variable") for one in _listed(chosen)]
    for value in wanted:
        if value.dtype not in FLOATS:
            raise ModelError(f"`{value.name}` is discrete; only continuous variables have derivatives.")
    return wanted


def dlogp_graph(model: ModelVariables, chosen: Chosen = None, with_jacobian: bool = True) -> Node:
    """The gradient of the whole log density along the chosen free variables: one flat vector."""
    wanted = differentiable(model, chosen)
    with without_sources():
        (cost,) = before_slopes(simplify([total(factors(model, with_jacobian=with_jacobian))], keep=wanted), wanted)
        parts = [reshape(part, (-1,)) for part in gradient(cost, wanted)]
    return concatenate(parts) if parts else reshape(cost, (1,))[:0]


def d2logp_graph(model: ModelVariables, chosen: Chosen = None, with_jacobian: bool = True) -> Node:
    """The matrix of second derivatives of the whole log density along the chosen free variables."""
    wanted = differentiable(model, chosen)
    slope = dlogp_graph(model, wanted, with_jacobian)
    with without_sources():
        columns = [reshape(part, (slope.static_shape[0], -1)) for part in jacobian(slope, wanted)]
    return concatenate(columns, axis=1) if columns else reshape(slope, (0, 0))


def _listed(chosen: Any) -> list[Node | str]:
    return list(chosen) if isinstance(chosen, list | tuple) else [chosen]


def _found(model: ModelVariables, known: dict[Node, Node], one: Any, kind: str) -> Node:
    node = plain(model[one] if isinstance(one, str) else one)
    if not isinstance(node, Node):
        raise TypeError(f"`vars` needs variables of the model or their names, got {node!r}.")
    if node not in known:
        raise ModelError(f"{describe(node)} is not {kind} of this model.")
    return known[node]
