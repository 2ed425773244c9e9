"""Models in which variables are summed or integrated out of the density: a model and names in, a new model out."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.distributions.constraints import Real, RealVector
from consilience.distributions.densities import support_of
from consilience.errors import ModelError
from consilience.ir import Node, topological
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt, names_in
from consilience.model.model import Model
from consilience.model.terms import terms_of
from consilience.model.trees import refuse_trees
from consilience.model.variables import FreeVariable


def marginalize(model: Model, rvs_to_marginalize: str | Node | Sequence[str | Node]) -> Model:
    """A model whose density is summed over all values of discrete variables, so that gradients exist for the rest.

    Elements that act on different elements of what depends on them are summed side by side. Chains are summed by
    products of matrices: scalars of which each depends on the one before, also where they are stacked to index the
    parameters of data, and vectors of which each element acts with the next one, as `log_p[z[:-1], z[1:]]` in a
    potential. Elements that act together otherwise are summed over all combinations (10,000 at most).
    `pm.recover_marginals` draws the variables afterwards.

    Where a batch of rows stands for all data (`total_size`), each row needs its own elements. The factor by which
    `total_size` scales a row then multiplies the logarithm of its sum, so the density stays unbiased.

    model (given) : ...
    rvs_to_marginalize: Free discrete variables with a least value, or their names. Of infinitely many values (Poisson,
        NegativeBinomial, …) as many are summed as have all but 1e-12 of the sum; where that would take more there is no
        density, and samplers see a lower one. `pm.sample` begins again with more where draws come near.
    Returns: A new model, which shares its data with the old one. The variables are in `model.marginalized`, no more
        among its free ones; deterministics of them wait for `recover_marginals`.
    Raises KeyError: For unknown names.
    Raises ModelError: For variables that are not free, not discrete or have infinitely many values in all directions,
        and where elements that act together have too many combinations.
    See recover_marginals: Draws the variables afterwards.
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


def collapse(model: Model, rvs_to_collapse: str | Node | Sequence[str | Node]) -> Model:
    """A model whose density is integrated over all values of continuous variables, which chains then need not move.

    `pm.sample` does so where it pays. The log density has to be of one of two forms in the variables:

    - Quadratic: they have normal distributions (or Flat, MvNormal, a random walk …), and other normal distributions
      depend on them by their means, linearly. All that is not quadratic in them, such as scales, may depend on
      anything else. Elements that are independent of each other given all others, as effects of groups, are integrated
      one by one; others together, by a factorisation of their precision at each evaluation: a sparse one for walks and
      fields whose neighbours alone act on each other, as far as the pattern does not depend on `pm.Data`.
    - Linear in sufficient statistics, each element on its own: Gamma rates of Poisson counts, of exponential and of
      Gamma times, also censored ones; Beta probabilities of Bernoulli, binomial and geometric counts; inverse Gamma
      variances and Gamma precisions of normal data, also those that scale a whole covariance (`cov=v * K`); Dirichlet
      shares of categories; Wishart precision and inverse Wishart covariance matrices of normal rows.

    `pm.recover_marginals` draws the variables afterwards.

    model (given) : ...
    rvs_to_collapse: Free continuous variables, or their names: integrated out together.
    Returns: A new model, which shares its data with the old one. The variables are in `model.marginalized`, no more
        among its free ones; deterministics of them wait for `recover_marginals`. Log likelihoods of single observations
        are those of the old model, with the draws that were recovered.
    Raises KeyError: For unknown names.
    Raises ModelError: For variables that are not free or not continuous, and where the density has neither form.
    See marginalize: Sums discrete variables out.
    See recover_marginals: Draws the variables afterwards.
    >>> with pm.Model() as model:
    ...     slope, scale = pm.Normal("slope"), pm.HalfNormal("scale")
    ...     y = pm.Normal("y", slope * [1.0, 2.0, 3.0], scale, observed=[1.1, 1.9, 3.2])
    >>> [variable.name for variable in pm.collapse(model, "slope").free_RVs]
    ['scale']
    """
    names = names_in(model, rvs_to_collapse)
    refuse_trees(model, "`pm.collapse`", names)
    found = {v.name: v for v in model.free}
    for name in names:
        _check_random(model, name, "integrate over")
        variable = found[name]
        if not variable.continuous:
            raise ModelError(f"`{name}` ({variable.node.op!r}) is discrete; `pm.marginalize` sums it out.")
        reason = why_not_integrated(variable)
        if reason:
            raise ModelError(f"`{name}` ({variable.node.op!r}) {reason} can be collapsed.")
        if not all(isinstance(n, int) for n in variable.node.static_shape):
            raise ModelError(
                f"`{name}` has a length that data decide, {variable.node.static_shape}; `pm.freeze_dims_and_data` "
                "fixes it."
            )
    with without_sources():
        normal = [found[n] for n in names if isinstance(support_of(found[n].node), Real | RealVector)]
        if normal:
            _check_quadratic(model, normal)
        made = without_variables(model, names)
        terms_of(made)  # what cannot be integrated is refused now, not when the model is used
    return made


def why_not_integrated(variable: FreeVariable) -> str:
    """Why a continuous variable can never be integrated out, up to "can be ..."; empty if it may be.

    Integrals run over the support of a distribution, which a transform of the user's may cut.
    """
    from consilience.elimination.conjugate import family_of  # few models need it

    real = isinstance(support_of(variable.node), Real | RealVector)
    if (real and variable.transform is not None) or not variable.inside:
        return (
            "has a transform of its own, which leaves out a part of its values; only variables with the default "
            "transform"
        )
    if not real and family_of(support_of(variable.node)) is None:
        return (
            "has a support over which no integral is known; only variables on the real line, positive ones, "
            "probabilities, shares and positive definite matrices"
        )
    return ""


def _check_quadratic(model: Model, chosen: Sequence[FreeVariable]) -> None:
    from consilience.elimination.gaussian_integral import is_quadratic, listed  # few models need it

    terms = terms_of(model)
    leaves = [value for value, v in zip(terms.values, model.free, strict=True) if v in chosen]
    titles = [v.name for v in model.free] + [v.name for v in model.observed] + list(model.named_potentials)
    for title, term in zip(titles, terms.all, strict=True):
        if not is_quadratic(term, leaves):
            raise ModelError(
                f"the log density of `{title}` is not quadratic in {listed(chosen)}, as it is where variables have "
                "normal distributions and nothing but the means of normal distributions depends on them, linearly; "
                "collapse other variables, or none of those on which it depends."
            )


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


def _check_random(model: Model, name: str, what: str) -> None:
    if name in {v.name for v in model.marginalized}:
        raise ModelError(f"`{name}` is marginalized already.")
    if name in {v.name for v in model.observed}:
        raise ModelError(f"`{name}` is observed, so there is nothing to {what}.")
    if name not in {v.name for v in model.free}:
        raise ModelError(f"`{name}` is not a random variable, so it cannot be marginalized.")


def _check_free(model: Model, name: str) -> None:
    _check_random(model, name, "sum over")
    found = {v.name: v for v in model.free}
    if found[name].continuous:
        raise ModelError(
            f"`{name}` ({found[name].node.op!r}) is continuous; only discrete variables can be summed over; "
            "`pm.collapse` integrates over normal ones."
        )
