"""PyMC's signatures beside ours. `python tools/signatures.py` records them where PyMC is installed.

In: PyMC's public functions, classes and methods, recorded in signatures.json, and this library.
Out: the parameters that ours take neither by PyMC's name nor in its place, and the reasons of those that stay.
"""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import consilience as pm
from consilience.inference import kernel
from consilience.sample import arguments

RECORD = Path(__file__).parent / "signatures.json"
MODULES = (
    "pymc", "pymc.gp", "pymc.gp.cov", "pymc.gp.mean", "pymc.gp.util", "pymc.gp.hsgp_approx",
    "pymc.distributions.transforms", "pymc.model.transform", "pymc.model.fgraph", "pymc.stats", "pymc.variational",
    "pymc.variational.callbacks", "pymc.ode", "pymc.dims", "pymc.logprob",
)  # fmt: skip
"""PyMC's public modules, without `pymc.math`, whose functions names.json has."""


# ---- recording, where PyMC is installed


def signature_text(thing: Any) -> str | None:
    """The parameters as "(x, axis=None, *args)": without types, defaults that have no short form as "..."."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None
    texts, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        plain = isinstance(p.default, str | int | float | bool | None | tuple) and ", " not in repr(p.default)
        default = "" if p.default is p.empty else f"={p.default!r}" if plain else "=..."
        texts.append(f"{stars}{p.name}{default}")
    return f"({', '.join(texts)})"


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods that PyMC itself defines, without those of its inner work; `dist` and `__init__` first."""
    for name in dict.fromkeys(["dist", "__init__", "__call__", *sorted(dir(cls))]):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner is None or not owner.__module__.startswith("pymc") or (name[0] == "_" and name[:2] != "__"):
            continue
        if name[:2] == "__" and name not in ("__init__", "__call__"):
            continue
        thing = inspect.getattr_static(cls, name)
        if name == "__init__" and hasattr(cls, "dist"):
            continue
        if isinstance(thing, staticmethod | classmethod):
            yield name, getattr(cls, name)
        elif isinstance(thing, types.FunctionType):
            yield name, thing


def recorded_signatures() -> dict[str, dict[str, str]]:
    """Per module the signatures of its functions, and of its classes' methods as "Normal.dist"."""
    found: dict[str, dict[str, str]] = {}
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = vars(module).get("__all__") or [
            name
            for name, thing in vars(module).items()
            if name[0] != "_" and str(getattr(thing, "__module__", "")).startswith("pymc")
        ]
        rows = found[module_name] = {}
        for name in sorted(names):
            thing = vars(module).get(name)
            if not callable(thing) or id(thing) in seen:
                continue
            if isinstance(thing, type):
                if not thing.__module__.startswith("pymc"):
                    continue
                seen.add(id(thing))
                if issubclass(thing, BaseException):
                    continue
                for method, function in public_methods(thing):
                    text = signature_text(function)
                    if text is not None:
                        own = re.sub(r"^\(self(, )?", "(", text)
                        rows[f"{name}.{method}"] = own
            else:
                seen.add(id(thing))
                text = signature_text(thing)
                if text is not None:
                    rows[name] = text
    return found


def main() -> None:
    """Write signatures.json from the installed PyMC."""
    pymc = importlib.import_module("pymc")
    record = {"recorded from": {"pymc": pymc.__version__}, "signatures": recorded_signatures()}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


# ---- comparing, where PyMC need not be

INNER = {
    "a step of a step method is native code here; `docs/do/step-methods.md` says how another one is written": """
        *.astep *.astep_* *.step *.competence *.setup_chain *.stop_tuning *.reset_tuning *.reset
        *.metropolis_proportional *.link_population
    """,
    "starting values are `initval=` of a variable and `model.initial_point()`": "*.support_point",
    "an op of PyTensor's graphs behind a distribution": "*.rv_op *.xrv_op *RV.* SymbolicRandomVariable.*",
    "what `Model` is made of": "BaseModel.* FrozenModel.* gp.hsgp_approx.Base.* gp.hsgp_approx.[CM][oe]*.*",
    "a part of the parameters' conversion; what may be given in their place stands in the docstring of each class": """
        *.get_alpha_beta *.get_kappa *.get_mu_lam_phi *.get_n_p *.get_nu_b *.get_dists *.get_steps *.compute_p
        *.check_zerosum_axes *.helper_deterministics *.logitnormal_dist *.parse_dist_params *.is_symbolic_random
        *.check_valid_dist_random *.get_a_and_b *.extend_axis *.extend_axis_rev
    """,
    "an approximation has all variables of a model, and its parameters are arrays: `approx.sample`, `sample_node`": """
        Group.* *.collect *.evaluate_over_trace *.get_optimization_replacements *.rslice *.to_flat_input
        *.make_size_and_deterministic_replacements *.set_size_and_deterministic *.symbolic_sample_over_posterior
        *.symbolic_single_sample
    """,
    "where time goes is in `result.posterior.attrs` and `compile_logp().f.profile_kernels(…)`": "*.run_profiling",
    "transforms of named tensors are those of their arrays": "dims.*Transform.*",
    "base classes of PyMC's named distributions; one is made from a plain one by `pm.dims`": "dims.*DimDistribution.*",
    "a helper of PyMC's own modules": "dims.copy_docstring dims.floatX ode.DifferentialEquation.*",
    "functions that a process does not have in PyMC either: they raise there": """
        gp.HSGP*.marginal_likelihood gp.HSGP*.predict gp.Latent*.marginal_likelihood gp.Latent*.predict
        gp.Marginal*.prior gp.TP.marginal_likelihood gp.TP.predict
    """,
    "the base class of distributions is `pm.distributions.Distribution`, and declares parameters": """
        Continuous.dist Discrete.dist Distribution.dist
    """,
}
"""What users of PyMC do not call, by pattern, and why it has no counterpart."""

REASONS = {
    "randomness has explicit keys in place of generators with a state, so nothing is updated": """
        compile:return_updates KroneckerNormal.logp:rng KroneckerNormal.logp:size
    """,
    "conditions and tables that follow from the others": "CAR.logp:W_is_valid Interpolated.logp:cdf_points",
    "the factors are lists of one kind: `covs=`, `chols=` or `evds=`": "KroneckerNormal.logp:*",
    "moves are uniform in a box, as in the paper of the method; only the scale is tuned": """
        DEMetropolis*.__init__:S DEMetropolis*.__init__:proposal_dist
    """,
    "settings are given by name": """
        HamiltonianMC.__init__:path_length* HamiltonianMC.__init__:max_steps* NUTS.__init__:max_treedepth*
        SVGD.__init__:model* SVGD.__init__:start* SVGD.__init__:random_seed* ASVGD.fit:obj_n_mc*
        to_inference_data:* predictions_to_inference_data:* sample_approx:* draw:* sample_prior_predictive:*place*
    """,
    "warmup has one schedule, which pools what chains learn; the depth of trees is bounded alike in all of it": """
        NUTS.__init__:early_max_treedepth*
    """,
    "their order differs between PyMC's own two namespaces, so they are given by name": """
        dims.BetaBinomial.dist:* dims.Triangular.dist:*
    """,
    "callbacks are called by `pm.fit`, which gives their arguments by place": """
        variational.callbacks.CheckParametersConvergence.__call__:* variational.callbacks.Tracker.__call__:*
    """,
    "a Cholesky factor is lower, as everywhere": "dims.MvNormal.dist:lower",
    "one kernel and one estimator, those of Liu and Wang (2016)": "*SVGD.__init__:*",
    "an `Empirical` approximation is made by `pm.fit(method='svgd')`": "Empirical.__init__:*",
    "a node of draws has as many as are asked for, each another one": "*.sample_node:*",
    "log densities of draws are added by `pm.compute_log_likelihood(result)`": "sample_smc:idata_kwargs",
    "the mode is sought with gradients and their differences, from starting points of its own": "find_MAP:*",
    "deterministics are computed for the groups that a data set has": "compute_deterministics:*",
    "pictures of models follow the notation of plates; what they show is in `model_to_networkx`": """
        model_to_graphviz:* model_to_networkx:*
    """,
    "covariances given as variances are no covariance of a vector; `predict(diag=True)` gives them": """
        gp.MarginalKron.conditional:diag
    """,
    "the value is called so in all densities": "Wishart.logp:X",
    "one part of a covariance function is not used alone": "gp.cov.Gibbs.square_dist:missing",
    "helpers of PyMC's processes; values at a point are `gp.predict(point=…)`": """
        gp.util.conditioned_vars:missing gp.util.replace_with_values:missing
    """,
    "steps of a chain may be any transforms, so they are `steps`": "distributions.transforms.Chain.__init__:*",
    "one name for the argument of every transform": "distributions.transforms.CholeskyCorrTransform.*:*",
    "covariances have priors by `pm.LKJCholeskyCov`, or `pm.Wishart` where draws are wanted": "WishartBartlett:missing",
    "an optimizer of `pm.fit` has its momentum, and `pm.fit` has `total_grad_norm_constraint`": """
        apply_momentum:missing apply_nesterov_momentum:missing norm_constraint:missing total_norm_constraint:missing
    """,
    "inner functions: `model.compile_fn` and `pm.sample_posterior_predictive` are the public ones": """
        compile_fn:missing compile_forward_sampling_function:missing init_nuts:missing
    """,
    "example data of PyMC's package are not shipped": "get_data:missing",
    "a model is an object of variables, not a graph; copies are `model.copy()`, transforms `transform=`": """
        model.fgraph.*:missing model.transform.*:missing
    """,
    "variables are declared by distributions inside `with model:`, which make their values": """
        Model.create_value_var:missing Model.make_obs_var:missing Model.register_data_var:missing
    """,
    "`model.log_density()` is one function of a flat vector for both": "Model.logp_dlogp_function:missing",
    "a model's text is `str(model)`, its picture `model.to_graphviz()`": "Model.table:missing Model.name_of:missing",
    "where time goes is in `result.posterior.attrs` and `compile_logp().f.profile_kernels(…)`": "Model.profile:*",
    "functions for improper variables and bounded ones of named dims; the classes do this": """
        dims.flat:missing dims.halfflat:missing dims.truncated_normal:missing
    """,
    "callbacks of `pm.fit` are in `pm.callbacks`": "variational.callbacks.*:missing",
}
"""What users call and what stays different, as "name:parameter" or "name:missing", and why."""

TAKEN = {
    "sample*": {*arguments.IGNORED, "trace", "compile_kwargs", "return_inferencedata"},
    "fit": {"backend", "include_transformed"},
    "compute_*": {*arguments.IGNORED, "compile_kwargs", "progressbar"},
    "stats.compute_*": {*arguments.IGNORED, "compile_kwargs", "progressbar"},
    "sample_p*": {"idata_kwargs", "progressbar"},
    "compile": {"inputs", "outputs", "random_seed", "mode"},  # called, the module of that name is the function
}
"""Parameters that functions take beside those of their signatures, from tables of PyMC's keywords."""


def patterns(table: dict[str, str]) -> list[tuple[str, str]]:
    """Rows (pattern, reason) of a table of reasons, each with the patterns it is the reason of."""
    return [(pattern, reason) for reason, listed in table.items() for pattern in listed.split()]


def reason_of(table: dict[str, str], name: str) -> str | None:
    """The reason that a table has for a name; None without one."""
    return next((reason for pattern, reason in patterns(table) if fnmatch.fnmatchcase(name, pattern)), None)


def ours(module: str, name: str) -> Any:
    """The function or method here; None where it is missing."""
    place: Any = pm
    for part in (*module.split(".")[1:], *name.split(".")):
        try:
            place = getattr(place, part)
        except AttributeError:
            return None
    return place


def taken_beside(full: str, function: Any) -> set[str]:
    """Parameters that a function takes and its signature does not show."""
    found = {word for pattern, words in TAKEN.items() if fnmatch.fnmatchcase(full, pattern) for word in words}
    plain = getattr(getattr(function, "__self__", None), "plain", None)  # of a distribution of named dims
    if plain is not None:
        found |= {*plain.argument_names(), "lower"}
    owner = getattr(pm, full.partition(".")[0])
    if full.endswith(".__init__") and isinstance(owner, type) and issubclass(owner, pm.Kernel):
        found |= {"model", *kernel.OF_PYMC, *kernel.RENAMED}
    return found


def unexplained() -> list[str]:
    """Differences without a reason."""
    return unexplained_in(json.loads(RECORD.read_text(encoding="utf-8"))["signatures"])


def unexplained_in(record: dict[str, dict[str, str]]) -> list[str]:
    """Differences of recorded signatures without a reason."""
    found = [f"{name}:{what}" for name, what in differences(record)]
    return [one for one in found if reason_of(REASONS, one) is None]


def differences(record: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    """A name with "missing", or with a parameter that is taken neither by PyMC's name nor in its place."""
    for module, rows in record.items():
        for name, text in rows.items():
            full = f"{module}.{name}".removeprefix("pymc.")
            if reason_of(INNER, full) is not None:
                continue
            function = ours(module, name)
            if function is None:
                yield full, "missing"
                continue
            try:
                own = list(inspect.signature(function).parameters.values())
            except ValueError:
                continue
            own = own[1:] if own and own[0].name == "self" else own
            positional = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
            taken = {p.name for p in own} | taken_beside(full, function)
            free = any(p.kind is p.VAR_POSITIONAL for p in own)
            by_name = False
            for place, part in enumerate(part for part in text[1:-1].split(", ") if part):
                word = part.partition("=")[0]
                if word.startswith("*"):
                    by_name = True
                elif word not in taken:
                    yield full, word
                elif not by_name and not free and (place >= len(positional) or positional[place] != word):
                    yield full, f"{word} in place {place + 1}"


if __name__ == "__main__":
    main()
