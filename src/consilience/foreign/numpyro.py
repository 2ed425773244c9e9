"""NumPyro's models: a model with its arguments in, a `pm.Model` of the same posterior out."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.distributions import Flat
from consilience.errors import MissingPackageError, ModelError
from consilience.foreign.jaxpr import from_jax
from consilience.model.model import Deterministic, Model, Potential


def from_numpyro(model: Any, *arguments: Any, **keywords: Any) -> Model:
    """A model of NumPyro as one of ours: its potential energy and its constrained values, by name.

    model        a NumPyro model, a function that calls `numpyro.sample`
    arguments    what it is called with, data included
    keywords     the same by name
    returns      a model with a free variable `name` for each latent site on the real line, or `name_unconstrained` and
                 the deterministic `name` for others, and the deterministics of the model. The whole density is one
                 potential, `numpyro`: prior and likelihood are not told apart, and there is no predictive
    raises       MissingPackageError without NumPyro; ModelError for discrete latent sites and for models without any;
                 MissingRuleError for what has no translation, with its line
    """
    try:
        import jax
        from numpyro import handlers
        from numpyro.infer import init_to_uniform
        from numpyro.infer.util import initialize_model
    except ImportError as error:
        raise MissingPackageError("NumPyro is not there: pip install numpyro.") from error

    with jax.enable_x64(True):
        wide = jax.tree_util.tree_map(_wide, (arguments, keywords))
        started = handlers.substitute(handlers.seed(model, 0), substitute_fn=init_to_uniform)  # improper: no draws
        sites = handlers.trace(started).get_trace(*wide[0], **wide[1])
        latent = {n: s for n, s in sites.items() if s["type"] == "sample" and not s["is_observed"]}
        discrete = [name for name, site in latent.items() if site["fn"].support.is_discrete]
        if discrete:
            raise ModelError(f"the site `{discrete[0]}` of the NumPyro model is discrete; sum it out there.")
        if not latent:
            raise ModelError("the NumPyro model has no latent sites.")
        try:
            found = initialize_model(jax.random.key(0), model, model_args=wide[0], model_kwargs=wide[1])
        except RuntimeError as error:
            raise ModelError(f"NumPyro finds no initial point of this model: {error}") from error
        point = {name: np.asarray(value) for name, value in found.param_info.z.items()}
        energy = from_jax(found.potential_fn, point)
        constrained = from_jax(found.postprocess_fn, point)
    with Model() as made:
        same = {name for name in point if _is_real(latent[name]["fn"].support)}
        free = {
            name: Flat(name if name in same else f"{name}_unconstrained", shape=value.shape, initval=value)
            for name, value in point.items()
        }
        Potential("numpyro", -energy(free))
        for name, value in constrained(free).items():
            if name not in same:
                Deterministic(name, value)
    return made


def _wide(value: Any) -> Any:
    """Data in double precision."""
    array = np.asarray(value) if hasattr(value, "dtype") else value
    return array.astype("float64") if getattr(array, "dtype", None) == np.float32 else array


def _is_real(support: Any) -> bool:
    """Whether a site's values are those of the unconstrained line."""
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return type(support).__name__ == "_Real"
