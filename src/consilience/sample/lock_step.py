"""`pm.sample(backend="jax")`: a model's chains in lock step on one device. Needs JAX.

A model and what is asked of the run enter, a run that can be started leaves. Keywords without meaning here are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from consilience.errors import MissingPackageError, ModelError, SamplingError
from consilience.model.log_density import ModelDensity
from consilience.model.programs import KEPT
from consilience.model.signature import signature
from consilience.model.starting_point import starting_positions
from consilience.model.warm_start import is_result
from consilience.run import Monitored, Options, Running
from consilience.run.judging import superchains_of
from consilience.run.supervisor import Supervisor
from consilience.sample.monitoring import monitored_of
from consilience.sample.result_options import ResultOptions
from consilience.vectorised import ChEES

if TYPE_CHECKING:
    from consilience.sample.work import Work

try:
    from consilience.vectorised.launch import launch
except ModuleNotFoundError as error:
    raise MissingPackageError(
        'chains in lock step are computed by JAX, which is not installed: pip install "consilience[jax]".'
    ) from error

ABSENT: Final[Mapping[str, tuple[Any, str]]] = {
    "step": (None, "its chains move by ChEES-HMC"),
    "nuts": (None, "its chains move by ChEES-HMC; give `target_accept`"),
    "checkpoint": (None, "its runs are not resumed"),
    "window_budget": (None, "all its chains make the same steps; see `max_time`"),
    "pool": (True, "its chains tune together always"),
}
_FUNCTIONS: Final[OrderedDict[tuple[tuple[str, str], ...], Callable[[Any], Any]]] = OrderedDict()  # latest last


def refuse(given: Mapping[str, Any]) -> None:
    """SamplingError for keywords of `pm.sample` that ask for what chains in lock step have not."""
    for name, (default, why) in ABSENT.items():
        if given[name] is not default and given[name] != default:
            raise SamplingError(f'`sample(backend="jax")` has no `{name}`: {why}.')
    if given["jumps"] not in (0, "auto"):
        raise SamplingError('`sample(backend="jax")` has no `jumps`: its chains do not jump.')
    if given["metric"] not in ("auto", "diag"):
        raise SamplingError(
            f'`sample(backend="jax")` has no metric {given["metric"]!r}: chains in lock step have a diagonal one.'
        )


def function_of(density: ModelDensity) -> Callable[[Any], Any]:
    """The density as a function of JAX, the same for equal models: what JAX compiled for it is found again."""
    key = tuple(signature(density).items())
    found = _FUNCTIONS.pop(key, None) or density.jax
    _FUNCTIONS[key] = found
    while len(_FUNCTIONS) > KEPT:
        _FUNCTIONS.popitem(last=False)
    return found


def in_lock_step(
    density: ModelDensity,
    kernel: ChEES,
    options: Options,
    monitored: Monitored,
    *,
    chains: int,
    seed: int,
    initvals: Any,
    jitter: bool,
    attempts: int,
    width: float,
    climb: bool,
    device: Any,
    reparametrized: Callable[[Any], Supervisor | None] | None = None,
) -> Running:
    """A run of a model's density; starting values as in `starting_positions`, `reparametrized` as in `run.launch`.

    raises   ModelError for models without gradient; InitialPointError where no finite starting point is found
    """
    discrete = [v.name for v in density.model.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and chains in lock step move along gradients; sum it out with "
            "`pm.marginalize`, or leave out `backend`."
        )
    if density.without_gradient:
        raise ModelError(f"chains in lock step move along gradients: {density.without_gradient}")
    own = isinstance(initvals, list | tuple) or is_result(initvals)
    count = chains if own else superchains_of(chains) or chains
    points = starting_positions(density, count, seed, initvals, jitter=jitter, attempts=attempts, width=width)
    return launch(
        function_of(density),
        kernel,
        points,
        options,
        chains=chains,
        seed=seed,
        monitored=monitored,
        device=device,
        climb=climb,
        reparametrized=reparametrized,
    )


def in_other_coordinates(settings: Mapping[str, Any]) -> Callable[[Work, ModelDensity, ResultOptions], Supervisor]:
    """How a run with these settings goes on in other coordinates."""

    def begin(work: Work, density: ModelDensity, result: ResultOptions) -> Supervisor:
        assert isinstance(work.kernel, ChEES)
        run = in_lock_step(density, work.kernel, work.options, monitored_of(density, result), **settings)
        return run.supervisor

    return begin
