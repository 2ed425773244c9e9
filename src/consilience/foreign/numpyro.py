"""NumPyro's models: a model with its arguments in, a `pm.Model` of the same posterior out, site by site.

Sites of families that both know become variables with distributions; the density of the others is one potential.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from consilience.distributions import Flat
from consilience.engines.jax.read.jaxpr import from_jax
from consilience.errors import MissingPackageError, ModelError
from consilience.foreign.numpyro_distributions import FAMILIES
from consilience.ir import Node, substitute, tensor_input, topological
from consilience.model.model import Deterministic, Model, Potential

Arrays = Mapping[str, Any]


def from_numpyro(model: Any, *arguments: Any, **keywords: Any) -> Model:
    """A model of NumPyro as one of ours: its sites by name, with the dims of its plates.

    model: A NumPyro model, a function that calls `numpyro.sample`.
    *arguments (TensorLike): What it is called with, data included.
    **keywords: The same by name.
    Returns: A model with the variables of those sites, latent and observed, whose family it knows (Normal, Gamma,
        HalfCauchy, MultivariateNormal, Bernoulli, …): they can be predicted, and written in other coordinates. Other
        latent sites are free variables on the real line, `name` or `name_unconstrained` with the deterministic `name`;
        their densities, and those of other observed sites and of factors, are the potential `numpyro`. Plates give
        dims; deterministics are those of the model.
    Raises MissingPackageError: Without NumPyro.
    Raises ModelError: For discrete latent sites and for models without any.
    Raises MissingRuleError: For what has no translation, with its line.
    See from_pymc: The same for PyMC.
    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> import consilience as pm
    >>> def model(y):
    ...     mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    ...     numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)
    >>> [v.name for v in pm.from_numpyro(model, 1.5).free_RVs]
    ['mu']
    """
    try:
        import jax
        from numpyro import handlers
        from numpyro.infer import init_to_uniform
        from numpyro.infer.util import initialize_model
    except Exception as error:
        raise MissingPackageError.of("NumPyro", "pip install numpyro", error) from error

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
        inside = {name: np.asarray(value) for name, value in found.postprocess_fn(found.param_info.z).items()}
        known = {name for name, site in sites.items() if site["type"] == "sample" and _is_known(site)}
        while True:
            given = {n: inside[n] if n in known else point[n] for n in point}
            parts = from_jax(_Parts(model, wide, known), given)
            leaves = {n: tensor_input(str(v.dtype), v.shape) for n, v in given.items()}
            written = parts(leaves)
            # A site within a loop has parameters that depend on itself, and values may be observed that are computed of
            # latent ones: their densities stay NumPyro's.
            others = [
                n
                for n in known
                if not _in_order(n, written["parameters"][n], leaves, list(sites))
                or (n in written["observed"] and _leaves_of([written["observed"][n]], leaves))
            ]
            if not others:
                break
            known.difference_update(others)
    return _model(sites, known, written, leaves, given)


class _Parts:
    """The model as a function of its latent sites: parameters and values of sites, and the density of the rest.

    `known`: sites whose parameters are wanted; of these the argument holds values, of others places on the real line.
    """

    def __init__(self, model: Any, given: tuple[Any, Any], known: Iterable[str]) -> None:
        self.model, self.given, self.known = model, given, frozenset(known)
        self.__name__ = getattr(model, "__name__", "model")

    def __call__(self, given: Arrays) -> dict[str, Any]:
        from numpyro import factor, handlers
        from numpyro.distributions import biject_to

        def placed(site: Mapping[str, Any]) -> Any:
            name = site["name"]
            if site["type"] != "sample" or name not in given:
                return None
            if name in self.known:
                return given[name]
            transform = biject_to(site["fn"].support)
            value = transform(given[name])
            factor(f"_{name}_log_det", transform.log_abs_det_jacobian(given[name], value).sum())
            return value

        substituted = handlers.substitute(handlers.seed(self.model, 0), substitute_fn=placed)
        sites = handlers.trace(substituted).get_trace(*self.given[0], **self.given[1])
        drawn = {name: site for name, site in sites.items() if site["type"] == "sample"}
        rest = [_log_density(site) for name, site in drawn.items() if name not in self.known]
        return {
            "parameters": {n: _attributes(drawn[n]) for n in self.known},
            "values": {
                n: s["value"]
                for n, s in sites.items()
                if s["type"] == "deterministic" or (s["type"] == "sample" and n in given)
            },
            "observed": {n: drawn[n]["value"] for n in self.known if n not in given},
            "density": sum(rest) if rest else None,
        }


def _model(
    sites: Mapping[str, Any], known: set[str], written: dict[str, Any], leaves: Mapping[str, Node], start: Arrays
) -> Model:
    """The model of what was written in terms of the leaves, which variables take the place of."""
    variables: dict[Node, Node] = {}

    def of_variables(expression: Any) -> Any:
        return substitute([expression], variables)[0] if isinstance(expression, Node) else expression

    with Model() as made:
        for name, site in sites.items():
            if site["type"] != "sample" or (name not in leaves and name not in known):
                continue
            if name not in known:
                own = name if _is_real(site["fn"].support) else f"{name}_unconstrained"
                variables[leaves[name]] = Flat(own, shape=start[name].shape, initval=start[name])
                continue
            family, _, parameters = FAMILIES[_base(site["fn"])[1]]
            shape = np.shape(site["value"])
            settings = parameters({key: of_variables(value) for key, value in written["parameters"][name].items()})
            if name in leaves:
                variables[leaves[name]] = family(name, **settings, shape=shape, initval=start[name])
            else:
                family(name, **settings, shape=shape, observed=np.asarray(site["value"]))
            _name_dims(made, name, site, len(shape))
        if written["density"] is not None:
            Potential("numpyro", of_variables(written["density"]))
        for name, value in written["values"].items():
            if name not in made.named:
                Deterministic(name, of_variables(value))
                _name_dims(made, name, sites[name], np.ndim(sites[name]["value"]))
    return made


def _is_known(site: Mapping[str, Any]) -> bool:
    """Whether a site is of a family of the table, and its density counts once."""
    weighed = site["scale"] is not None and not np.all(np.asarray(site["scale"]) == 1.0)
    return not weighed and _base(site["fn"])[1] in FAMILIES


def _base(distribution: Any) -> tuple[Any, str]:
    """The distribution below expansions to more elements, and the name of its class."""
    while type(distribution).__name__ in ("Independent", "ExpandedDistribution"):
        distribution = distribution.base_dist
    return distribution, type(distribution).__name__


def _attributes(site: Mapping[str, Any]) -> dict[str, Any]:
    """What the parameters of our distribution are made of."""
    base, name = _base(site["fn"])
    return {attribute: getattr(base, attribute) for attribute in FAMILIES[name][1]}


def _log_density(site: Mapping[str, Any]) -> Any:
    """The log density of all elements of a site, times its weight: a number of JAX."""
    density = site["fn"].log_prob(site["value"], *([site["intermediates"]] if site["intermediates"] else []))
    return (density if site["scale"] is None else density * site["scale"]).sum()


def _in_order(name: str, parameters: Mapping[str, Any], leaves: Mapping[str, Node], order: list[str]) -> bool:
    """Whether the parameters of a site depend on sites before it alone."""
    return all(order.index(other) < order.index(name) for other in _leaves_of(parameters.values(), leaves))


def _leaves_of(values: Iterable[Any], leaves: Mapping[str, Node]) -> list[str]:
    """The latent sites that some values depend on."""
    nodes = set(topological([value for value in values if isinstance(value, Node)]))
    return [name for name, leaf in leaves.items() if leaf in nodes]


def _name_dims(model: Model, name: str, site: Mapping[str, Any], rank: int) -> None:
    """Dims of the plates around a site, the last of whose batch axes lie before those of its events."""
    frames = site.get("cond_indep_stack", ())
    events = len(site["fn"].event_shape) if site["type"] == "sample" else 0
    dims: list[str | None] = [None] * rank
    for frame in frames:
        axis = rank - events + frame.dim
        if axis < 0 or frame.name in model.named:
            return
        if frame.name not in model.coords:
            model.add_coord(frame.name, range(frame.size))
        if len(model.coords[frame.name] or ()) != np.shape(site["value"])[axis]:
            return
        dims[axis] = frame.name
    if any(dims):
        model.dims_of[name] = tuple(dims)


def _wide(value: Any) -> Any:
    """Data in double precision."""
    array = np.asarray(value) if hasattr(value, "dtype") else value
    return array.astype("float64") if getattr(array, "dtype", None) == np.float32 else array


def _is_real(support: Any) -> bool:
    """Whether a site's values are those of the unconstrained line."""
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return type(support).__name__ == "_Real"
