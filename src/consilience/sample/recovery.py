"""Draws of variables that were summed out of a model: its posterior enters, the same with these variables leaves."""

from __future__ import annotations

from typing import Any

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import predict, recover
from consilience.sample.arguments import wanted
from consilience.sample.given import Given, variables_of
from consilience.sample.predictive import Names


def recover_marginals(
    idata: Any,
    *,
    model: Model | None = None,
    var_names: Names = None,
    return_samples: bool = True,
    extend_inferencedata: bool = True,
    random_seed: Any = None,
) -> Any:
    """Draw marginalized variables for every draw of the posterior, given all other variables and the data.

    idata                  a result of `sample`, a data set of draws, or a dictionary of arrays (chain, draw, …)
    model                  the marginalized model; the one around by default
    var_names              variables to keep; by default all marginalized ones and deterministics of them
    return_samples         False: log probabilities only
    extend_inferencedata   add the results to the group `posterior` of `idata`, and return it; False: a data set of them
    returns   for each variable `z` its draws, and as `lp_z` with a last axis of all its values their log probabilities
              given the free variables (and given the draws of marginalized variables that were summed out later, where
              there are several that act together)
    raises    ModelError without marginalized variables, or where draws of free variables are missing
    """
    import xarray

    owner = modelcontext(model)
    if not owner.marginalized:
        raise ModelError("the model has no marginalized variables; make one with `pm.marginalize(model, [names])`.")
    names = wanted(var_names, [*(v.name for v in owner.marginalized), *owner.conditional_deterministics])
    draws = Given.of(owner, idata, None)
    lacking = [v.name for v in owner.free if v.name not in draws.values]
    if lacking:
        raise ModelError(f"the draws hold no {', '.join(f'`{n}`' for n in lacking)}, on which those to recover depend.")
    seed = seed_from(random_seed)
    found, weights = recover(owner, draws.values, draws.count, seed)
    made = {name: found[name] for name in names if name in found}
    derived = [name for name in names if name in owner.conditional_deterministics]
    if derived:
        made |= predict(owner, derived, {**draws.values, **found}, draws.count, seed)
    arrays = dict(made) if return_samples else {}
    arrays |= {f"lp_{name}": weights[name] for name in names if name in weights}
    dims = {f"lp_{name}": (*axes, None) for name, axes in owner.dims_of.items() if name in weights}
    data = draws.dataset(owner, draws.unfolded(arrays), {**owner.dims_of, **dims}, "posterior")
    if not extend_inferencedata:
        return data
    if not isinstance(idata, xarray.DataTree):
        raise ModelError("only a tree can be extended; pass `extend_inferencedata=False`.")
    before = variables_of(idata)
    idata["posterior"] = xarray.DataTree(before.drop_vars([name for name in arrays if name in before]).merge(data))
    return idata
