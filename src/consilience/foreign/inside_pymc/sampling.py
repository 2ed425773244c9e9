"""One call of PyMC's `sample` that asks for this sampler: its arguments in, PyMC's result out.

What has no translation is refused by its name before anything is sampled, or left to PyMC's own sampler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from consilience.distributions.context import current_or_none
from consilience.errors import ConsilienceError, ModelError, warn
from consilience.foreign import from_pymc
from consilience.foreign.inside_pymc.keywords import SETTINGS, options_of, planned
from consilience.foreign.inside_pymc.trace import labelled
from consilience.model import Model
from consilience.names.absent import ours
from consilience.sample import sample

PROGRESS: Final = logging.getLogger("pymc.sampling.mcmc")  # PyMC's own loggers, and with them its levels
VERDICTS: Final = logging.getLogger("pymc.stats.convergence")
SENTENCES: Final = {
    "converged_with_divergences": "The run has converged, but {}. {}",
    "chains_disagree": "The chains disagree: {}. {}",
    "not_converged": "The run has not converged: {}. {}",
    "interrupted": "The run was interrupted: {}. {}",
}


def sampled(before: Callable[..., Any], given: Mapping[str, Any], fallback: bool) -> Any:
    """Draws of a model of PyMC, from this sampler.

    `before`: PyMC's own `sample`. `given`: the arguments of the call, by name. `fallback`: whether `before` samples
    what has no translation, unless `nuts={"fallback": …}` says otherwise.
    """
    given = {**given, **given.get("kwargs", {})}
    given.pop("kwargs", None)
    try:
        options = options_of(given)
        fallback = bool(options.pop("fallback", fallback))
        own = {name: value for name, value in given.items() if name not in ("model", "nuts", "nuts_sampler_kwargs")}
        return _here(given.get("model"), own, options)
    except ConsilienceError as error:
        if not fallback:
            raise
        reason = error
    notes = "".join(f" {note}" for note in getattr(reason, "__notes__", ()))
    warn(f"PyMC's own sampler takes this model: {reason}{notes}")
    return before(**_for_pymc(given))


def _here(model: Any, given: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    from pymc.model import modelcontext

    theirs = modelcontext(model)
    plan = planned(given, options)
    ours = from_pymc(theirs)
    if not plan.quiet:
        PROGRESS.info(f"NUTS[consilience]: {theirs.free_RVs}")
    names = None if plan.names is None or plan.idata.get("include_transformed") else plan.names
    result = sample(model=ours, var_names=names, **plan.ours)
    labels = labelled(theirs, result, plan.names, plan.warmup, plan.idata)
    if not plan.quiet:
        _tell(result.posterior, plan.checks)
    return labels


def refuse_ours(model: Any) -> None:
    """ModelError for a model of this library, given to PyMC's `sample` or alone around the call."""
    from pymc import Model as Theirs

    if model is None and Theirs.get_context(error_if_none=False) is None:
        model = current_or_none()
    if isinstance(model, Model):
        raise ModelError(f"{ours('the model')} Its own sampler is `consilience.sample`.")


def _tell(posterior: Any, checks: bool) -> None:
    """Say, as PyMC does, what was drawn and what is wrong with it."""
    facts, chains, draws = posterior.attrs, posterior.sizes["chain"], posterior.sizes["draw"]
    tune = facts["tuning_steps"]
    PROGRESS.info(
        f"Sampling {chains} chains for {tune:_d} tune and {draws:_d} draw iterations "
        f"({tune * chains:_d} + {draws * chains:_d} draws total) took {facts['sampling_time']:.1f} seconds."
    )
    if checks and facts["status"] in SENTENCES:
        VERDICTS.warning(SENTENCES[facts["status"]].format(facts["reason"], facts["advice"]).rstrip())


def _for_pymc(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as PyMC's own sampler takes them."""
    rest = {name: value for name, value in given.items() if name != "nuts_sampler"}
    of_both = {"target_accept", "max_treedepth"}
    settings = {name: value for name, value in options_of(given).items() if name in of_both or name not in SETTINGS}
    settings.pop("fallback", None)
    for name in ("nuts", "nuts_sampler_kwargs"):
        rest.pop(name, None)
    return {**rest, "nuts": settings} if settings else rest
