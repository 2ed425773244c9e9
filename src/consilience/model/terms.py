"""The terms of a model's log density: each variable's, with Jacobians, and the potentials.

A model in; expressions of one value node per free variable and of the data out. `programs` compiles them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from consilience.distributions.densities import density, density_of_data, supported_density
from consilience.distributions.parameters import parameter_checks
from consilience.distributions.random_variable import RandomVariable, fresh_keys, is_rows
from consilience.elimination.marginal import Sum, placeholders, summed_out
from consilience.errors import ModelError
from consilience.ir import Node, substitute, tensor_input, topological
from consilience.model.variables import ModelVariables, ObservedVariable
from consilience.ops import cast
from consilience.ops.formulas import number, where
from consilience.ops.parameter_check import released
from consilience.ops.random import Key, fold_in
from consilience.ops.reduce import reduce
from consilience.record import Record
from consilience.rewrite.facts import assume

if TYPE_CHECKING:
    from consilience.elimination.integrals import Integral


class Terms(Record):
    """The pieces of a log density over one value node per free variable.

    values         unconstrained value of each free variable
    constrained    the same on its own scale, with every other random variable replaced
    priors         log density of each free variable with its Jacobian, elementwise
    likelihoods    log density of each observed variable, elementwise
    potentials     the potentials; of all that depends on a marginalized variable the first has the joint log density,
                   and the others are 0
    deterministics the named expressions
    sums           how each marginalized variable was summed out, or integrated
    known          what stands for each random variable: its value, its data, or the placeholder of a sum
    """

    values: list[Node]
    constrained: list[Node]
    priors: list[Node]
    likelihoods: list[Node]
    potentials: list[Node]
    deterministics: list[Node]
    sums: list[Sum | Integral]
    known: dict[Node, Node]

    @property
    def all(self) -> list[Node]:
        """Everything that is summed."""
        return [*self.priors, *self.likelihoods, *self.potentials]


def terms_of(model: ModelVariables, jacobian: bool = True, sampled: bool = True) -> Terms:
    """Write the model's density in terms of unconstrained values, those of samplers or those that users see."""
    with parameter_checks(model.check_bounds):
        return _terms(model, jacobian, sampled)


def _terms(model: ModelVariables, jacobian: bool, sampled: bool) -> Terms:
    values: list[Node] = []
    # Observed variables stand for their data wherever else they are used.
    data = {v.node: v.data for v in model.observed}
    constrained: dict[Node, Node] = {}
    jacobians: list[Node | None] = []
    for variable in model.free:
        own = variable.node
        transform = variable.sampled if sampled else variable.transform
        title = variable.coordinates if sampled else variable.value.name
        shape = own.static_shape if transform is None else transform.unconstrained_shape(own.static_shape)
        values.append(tensor_input("float64", shape, title))
        # A position that is not finite diverges by its energy, whatever its density.
        value = assume(values[-1], finite=True)
        if transform is None:
            natural, correction = cast(value, own.dtype), None
        else:
            # Bounds of the transform may depend on earlier variables.
            natural, correction = substitute(
                [cast(transform.backward(value), own.dtype), transform.log_jacobian_determinant(value)],
                constrained | data,
            )
        acting = [v.name for v in model.marginalized if v.node in set(topological([natural]))]
        if acting:
            raise ModelError(
                f"the support of `{variable.name}` depends on `{acting[0]}`, which therefore cannot be marginalized."
            )
        constrained[own] = natural
        jacobians.append(correction)
    priors = []
    for variable, correction in zip(model.free, jacobians, strict=True):
        # A value that cannot leave the support needs no check.
        inside = variable.inside and (sampled or variable.sampled == variable.transform)
        formula = density if inside else supported_density
        term = formula(variable.node, constrained[variable.node])
        priors.append(with_jacobian(term, correction) if jacobian and correction is not None else term)
    # The logarithm of a sum over batches of rows is weighted, not what is summed.
    weights = {
        len(priors) + place: v.weight
        for place, v in enumerate(model.observed)
        if model.marginalized and v.weight is not None and v.weight.dtype != "bool"
    }
    likelihoods = [
        density_of_data(v.node, v.data) if len(priors) + place in weights else _likelihood(v)
        for place, v in enumerate(model.observed)
    ]
    replacements = {**constrained, **data, **placeholders(model.marginalized)}
    groups = [priors, likelihoods, list(model.named_potentials.values()), list(model.named_deterministics.values())]
    sums: list[Sum | Integral] = []
    done = [released(substitute(group, replacements)) for group in groups]
    if model.marginalized:
        factors, sums = summed_out(
            [*done[0], *done[1], *done[2]], model.marginalized, replacements, model.summed_values, sampled, weights
        )
        rest = iter(factors)
        done[:3] = [[next(rest) for _ in group] for group in done[:3]]
    terms, likelihoods, potentials, derived = done
    return Terms(values, list(constrained.values()), terms, likelihoods, potentials, derived, sums, replacements)


def _likelihood(variable: ObservedVariable) -> Node:
    """Log density of data; where the weight is a truth value, those that have none do not count, whatever they are."""
    term = density_of_data(variable.node, variable.data)
    if variable.weight is None:
        return term
    return where(variable.weight, term, number(term, 0)) if variable.weight.dtype == "bool" else variable.weight * term


def with_jacobian(term: Node, correction: Node) -> Node:
    """A log density plus its Jacobian's, one number per event of the wider of distribution and transform."""
    surplus = term.ndim - correction.ndim
    if surplus > 0:  # a transform of vectors on independent elements
        term = reduce("sum", term, tuple(range(-surplus, 0)))
    elif surplus < 0:
        correction = reduce("sum", correction, tuple(range(surplus, 0)))
    return term + correction


def with_key(node: Node, key: Node | None = None) -> Node:
    """The node with keys made from one, that of seed 0 by default, in place of fresh ones: for Simulators."""
    key = Node(Key(0)) if key is None else key
    return substitute([node], {own: fold_in(key, i) for i, own in enumerate(fresh_keys([node]))})[0]


def simulated(model: ModelVariables, terms: Terms) -> list[str]:
    """Observed variables whose log densities are random; ModelError for free ones, and for potentials."""
    names = [v.name for v in model.observed]
    found = [name for name, term in zip(names, terms.likelihoods, strict=True) if fresh_keys([term])]
    others = zip(
        [*(v.name for v in model.free), *model.named_potentials], [*terms.priors, *terms.potentials], strict=True
    )
    for name, term in others:
        if fresh_keys([term]):
            raise ModelError(f"the log density of `{name}` is random; a Simulator needs data, by `observed=`.")
    return found


def check_closed(outputs: Sequence[Node]) -> None:
    """Every random variable that occurs must belong to the model."""
    for node in topological(outputs):
        if is_rows(node):
            raise ModelError(
                "the model has a `Minibatch`, with which its density differs from one evaluation to the next; sampling "
                "needs all data. `compile_logp` and draws work with batches."
            )
        if isinstance(node.op, RandomVariable):
            raise ModelError(
                f"the model depends on `{node.name or repr(node.op)}`, a random variable that is not a "
                "variable of this model; declare it inside the model's `with` block, with a name."
            )
