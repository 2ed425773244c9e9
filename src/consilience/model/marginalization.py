"""Models in which discrete variables are summed out of the density: a model and names in, a new model out."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import ModelError
from consilience.ir import Node, topological
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt, names_in
from consilience.model.model import Model
from consilience.model.terms import terms_of


def marginalize(model: Model, rvs_to_marginalize: str | Node | Sequence[str | Node]) -> Model:
    """A model whose density is summed over all values of discrete variables, so that gradients exist for the rest.

    Elements that act on different elements of what depends on them are summed side by side. Chains are summed by
    products of matrices: scalars of which each depends on the one before, also where they are stacked to index the
    parameters of data, and vectors of which each element acts with the next one, as `log_p[z[:-1], z[1:]]` in a
    potential. Elements that act together otherwise are summed over all combinations (10,000 at most).
    `pm.recover_marginals` draws the variables afterwards.

    Parameters
    ----------
    model : Model
        The model; by default that of the enclosing `with` block.
    rvs_to_marginalize : str or TensorVariable or sequence of str or TensorVariable
        Free discrete variables with a least value, or their names. Of infinitely many values (Poisson,
        NegativeBinomial, …) as many are summed as have all but 1e-12 of the sum; where that would take more there is no
        density, and samplers see a lower one. `pm.sample` begins again with more where draws come near.

    Returns
    -------
    Model
        A new model, which shares its data with the old one. The variables are in `model.marginalized`, no more among
        its free ones; deterministics of them wait for `recover_marginals`.

    Raises
    ------
    KeyError
        For unknown names.
    ModelError
        For variables that are not free, not discrete or have infinitely many values in all directions, and where
        elements that act together have too many combinations.

    See Also
    --------
    recover_marginals : Draws the variables afterwards.

    Examples
    --------
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     z = pm.Bernoulli("z", 0.3)
    ...     y = pm.Normal("y", z, 1.0, observed=0.5)
    >>> [v.name for v in pm.marginalize(model, "z").free_RVs]
    []
    """
    names = names_in(model, rvs_to_marginalize)
    for name in names:
        _check_free(model, name)
    from consilience.model.tails import find_lengths  # few models need it

    made = without_variables(model, names)
    with without_sources():
        terms_of(made)  # what cannot be summed is refused now, not when the model is used
        find_lengths(made)
    return made


def without_variables(model: Model, names: Sequence[str]) -> Model:
    """The model with discrete variables among the marginalized ones, whether or not they can be summed."""
    made = Rebuilt(model, {}, set()).model()
    made.marginalized += [v for v in made.free if v.name in names]
    made.free = [v for v in made.free if v.name not in names]
    summed = {v.node for v in made.marginalized}
    for name, node in list(made.named_deterministics.items()):
        if not summed.isdisjoint(topological([node])):
            made.conditional_deterministics[name] = made.named_deterministics.pop(name)
    made.cache.clear()
    return made


def _check_free(model: Model, name: str) -> None:
    if name in {v.name for v in model.marginalized}:
        raise ModelError(f"`{name}` is marginalized already.")
    if name in {v.name for v in model.observed}:
        raise ModelError(f"`{name}` is observed, so there is nothing to sum over.")
    found = {v.name: v for v in model.free}
    if name not in found:
        raise ModelError(f"`{name}` is not a random variable, so it cannot be marginalized.")
    if found[name].continuous:
        raise ModelError(
            f"`{name}` ({found[name].node.op!r}) is continuous; only discrete variables can be summed over."
        )
