"""`pm.sample(backend="jax")`: a model's chains in lock step on one device. Needs JAX.

A model and what is asked of the run enter, a leg of the run leaves. Keywords without meaning here are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from inspect import unwrap
from pathlib import Path
from typing import Any, Final

from consilience.errors import MissingPackageError, ModelError, SamplingError
from consilience.ir.settings import config
from consilience.model.log_density import ModelDensity
from consilience.model.programs import KEPT
from consilience.model.signature import signature
from consilience.model.warm_start import is_result
from consilience.record import as_plain
from consilience.run.course import Leg
from consilience.run.engine import superchains_of
from consilience.run.lock_step import ChEES
from consilience.sample.beginning import Floats, Mover, RegionSearch
from consilience.sample.groups import Tuning
from consilience.sample.plan import ModelPlan

try:
    import jax as jax
except Exception as error:  # it may be there and broken, which the rest of the library is not to notice
    package, command = "JAX, which computes chains in lock step,", "pip install 'consilience[jax]'"
    raise MissingPackageError.of(package, command, error) from error

from consilience.run.lock_step.engine import PRECISIONS, new_leg

_FUNCTIONS: Final[OrderedDict[tuple[tuple[str, str], ...], Callable[[Any], Any]]] = OrderedDict()  # latest last


def refuse(*, threads_per_chain: int | None, step: Any, nuts: Any, tuning: Tuning, jumps: Any) -> None:
    """SamplingError for what `pm.sample` is asked for and chains in lock step have not."""
    for name, there, why in (
        ("step", step is not None, "its chains move by ChEES-HMC"),
        ("threads_per_chain", threads_per_chain is not None, "its chains run on one device, which uses what it has"),
        ("nuts", nuts is not None, "its chains move by ChEES-HMC; give `target_accept`"),
        ("budget", tuning.budget is not None, "all its chains make the same steps; see `pm.Stop(max_time=…)`"),
        ("pool", not tuning.pool, "its chains tune together always"),
        ("jumps", jumps not in (0, "auto"), "its chains do not jump"),
    ):
        if there:
            raise SamplingError(f'`sample(backend="jax")` has no `{name}`: {why}.')
    if tuning.metric not in ("auto", "diag"):
        raise SamplingError(
            f'`sample(backend="jax")` has no metric {tuning.metric!r}: chains in lock step have a diagonal one.'
        )


def function_of(density: ModelDensity) -> Callable[[Any], Any]:
    """The density as a function of JAX, the same for equal models: what JAX compiled for it is found again.

    It is computed in the precision of the run: the check for double precision is for those who call `density.jax`.
    """
    key = tuple(signature(density).items())
    found = _FUNCTIONS.pop(key, None) or unwrap(density.jax)
    _FUNCTIONS[key] = found
    while len(_FUNCTIONS) > KEPT:
        _FUNCTIONS.popitem(last=False)
    return found


def precision() -> str:
    """In which chains move: that of `pm.config.floatX`, where it is one of theirs."""
    return config.floatX if config.floatX in PRECISIONS else PRECISIONS[0]


def starting_points(chains: int, initvals: Any) -> int:
    """At how many points so many chains begin."""
    own = isinstance(initvals, list | tuple) or is_result(initvals)
    return chains if own else superchains_of(chains) or chains


def check(density: ModelDensity) -> None:
    """ModelError for models without gradient."""
    discrete = [v.name for v in density.model.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and chains in lock step move along gradients; sum it out with "
            "`pm.marginalize`, or leave out `backend`."
        )
    if density.without_gradient:
        raise ModelError(f"chains in lock step move along gradients: {density.without_gradient}")


def resumed(saved: Mapping[str, Any], chains: int, seed: int, path: str | Path) -> InLockStep:
    """What moved the chains of a checkpoint, by its `settings`; SamplingError where another JAX is installed."""
    own = dict(saved)
    if (version := own.pop("jax")) != jax.__version__:
        raise SamplingError(
            f"the run in {str(path)!r} cannot be resumed with the same draws: JAX was {version} and is "
            f"{jax.__version__}. Install that version, or sample anew with `pm.Save(overwrite=True)`."
        )
    device, climb, precision = own.pop("device"), own.pop("climb"), own.pop("precision", PRECISIONS[0])
    return InLockStep(ChEES(**own), seed, chains=chains, device=device, climb=climb, precision=precision)


class InLockStep(Mover, eq=False):
    """So many chains in lock step on one device; see `run.lock_step.engine.new_leg`."""

    kernel: ChEES
    chains: int = 1
    device: Any = None
    climb: bool = True
    precision: str = PRECISIONS[0]

    @property
    def settings(self) -> dict[str, Any]:
        """See `Mover`."""
        own: dict[str, Any] = {"device": None if self.device is None else str(self.device), "climb": self.climb}
        if self.precision != PRECISIONS[0]:
            own["precision"] = self.precision
        return {"lock_step": {**as_plain(self.kernel), **own, "jax": jax.__version__}}

    def _leg(
        self, density: ModelDensity, places: Floats, plan: ModelPlan, search: RegionSearch | None, **common: Any
    ) -> Leg:
        """See `Mover`."""
        return new_leg(
            function_of(density),
            self.kernel,
            places,
            plan,
            chains=self.chains,
            device=self.device,
            climb=self.climb,
            precision=self.precision,
            **common,
        )
