"""Arguments of the sampling functions: what a person writes enters, checked values leave.

PyMC's keywords that are not our own are in tables: which pass without effect, which are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from consilience.errors import ModelError, SamplingError
from consilience.model.keywords import check_compile_kwargs, own_arguments, take

EXTRAS: Final = ("log_likelihood", "log_prior", "include_transformed")

PROGRESS_BARS: Final = (
    True, False, "combined", "split", "combined+stats", "stats+combined", "split+stats", "stats+split",
)  # fmt: skip
"""PyMC's words show what `True` shows."""


_SETTINGS: Final = "settings of NUTS are arguments themselves, as `target_accept=0.9`, or `nuts={…}`."
_ONE_SAMPLER: Final = "there is one sampler here, chosen with `step=`."

# Without effect; a sentence is said once where silence would mislead.
IGNORED: Final[Mapping[str, str | None]] = {
    "backend": "the functions behind it are compiled to machine code by this library.",
    "blas_cores": None,
    "keep_warning_stat": None,
    "mp_ctx": None,
    "n_init": "there is no initialisation by variational inference; see `init=`.",
    "nuts_sampler": _ONE_SAMPLER,
    "nuts_sampler_kwargs": _ONE_SAMPLER,
    "progressbar_theme": None,
    "quiet": None,
    "zarr_store": "draws are written while they are made with `save=pm.Save(store=…)`.",
}

ABSENT: Final[Mapping[str, str]] = {
    "trace": "write the draws to the disk while they are made with `save=pm.Save(store=…)`.",
    "nuts_kwargs": _SETTINGS,
    "step_kwargs": _SETTINGS,
    "start": "starting values are `initvals=`.",
    "samples": "it is `draws=`.",
    "size": "it is `draws=`.",
    "keep_size": "draws always keep the axes chain and draw.",
    "volatile_vars": "variables to be drawn anew are `sample_vars=`.",
    "live_plot": "follow a run with `blocking=False`.",
    "parallelize": "`cores=1` makes chains one after the other.",
    "vectorize": "chains run side by side wherever it pays.",
}

# Other names of our own keywords.
SAME: Final[Mapping[str, str]] = {
    "nchains": "chains", "chain": "chains", "n_chains": "chains", "njobs": "cores", "n_jobs": "cores",
    "seed": "random_seed", "random_state": "random_seed", "initval": "initvals", "testval": "initvals",
    "tune_steps": "tune", "n_tune": "tune", "burn": "tune", "progress_bar": "progressbar", "vars": "var_names",
    "max_tree_depth": "max_treedepth", "target_acceptance": "target_accept",
}  # fmt: skip

# Stan's and NumPyro's.
ELSEWHERE: Final[Mapping[str, str]] = {
    "iter": "draws", "iterations": "draws", "iter_sampling": "draws", "num_samples": "draws", "n_samples": "draws",
    "n_draws": "draws", "iter_warmup": "tune", "num_warmup": "tune", "n_warmup": "tune", "warmup": "tune",
    "burn_in": "tune", "burnin": "tune", "num_chains": "chains", "parallel_chains": "cores",
    "adapt_delta": "target_accept", "max_depth": "max_treedepth", "init_params": "initvals",
}  # fmt: skip


def one_of(name: str, value: Any, known: Sequence[object]) -> None:
    """SamplingError, naming the argument, unless the value is among those that are known."""
    if value not in known:
        raise SamplingError(f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}.")


def extras(idata_kwargs: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What is wanted besides the groups of the run: log_likelihood, log_prior; values of transformed variables."""
    given = {} if idata_kwargs is None else idata_kwargs
    if not isinstance(given, Mapping):
        raise SamplingError(
            f"`idata_kwargs` must be a dictionary that may hold {', '.join(map(repr, EXTRAS))}, got {given!r}."
        )
    for name in given:
        if name in ("coords", "dims"):
            raise SamplingError(f"`idata_kwargs` has no `{name}`: give them to `pm.Model(coords=…)` and to variables.")
    unknown = [name for name in given if name not in (*EXTRAS, "save_warmup")]
    if unknown:
        raise SamplingError(f"`idata_kwargs` may hold {', '.join(map(repr, EXTRAS))}, got {unknown}.")
    return tuple(name for name in EXTRAS if given.get(name))


def wanted(var_names: Sequence[str] | str | None, known: Sequence[str]) -> list[str]:
    """The names asked for, all known ones by default."""
    if var_names is None:
        return list(known)
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(known)}.")
    return list(dict.fromkeys(names))


def check_keywords(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    besides: Collection[str] = (),
    spelled: Mapping[str, str] | None = None,
) -> None:
    """Pass over what has no meaning here among the keywords given besides a function's own; refuse the rest.

    `besides`: what it accepts, too. `spelled`: further words that may be meant, with how they are written. Raises
    TypeError for unknown keywords, with the nearest one, and SamplingError for values that ask for what is not there.
    """
    rest = dict(given)
    check_compile_kwargs(rest.pop("compile_kwargs", None))
    if not rest.pop("return_inferencedata", True):
        raise SamplingError(
            f"`{function.__name__}` has no `return_inferencedata=False`: results are trees always, and "
            "`result.posterior['x'].values` is an array (chain, draw, …)."
        )
    if rest.get("nuts_sampler") in ("pymc", "consilience"):
        del rest["nuts_sampler"]
    if not rest.get("nuts_sampler_kwargs", True):
        del rest["nuts_sampler_kwargs"]
    if rest.get("trace", True) is None:
        del rest["trace"]
    if rest.get("n_init") == 200_000:  # PyMC's default
        del rest["n_init"]
    absent = {**ABSENT, **{old: f"it is `{new}=`." for old, new in SAME.items()}}
    accepted = (*own_arguments(function), *besides)
    elsewhere = {word: own for word, own in ELSEWHERE.items() if own in accepted}
    take(function.__name__, rest, IGNORED, accepted, absent, elsewhere | dict(spelled or {}))


def nuts_settings(
    given: Mapping[str, Any] | None, target_accept: float, max_treedepth: int, jumps: int | str
) -> tuple[float, int, Any]:
    """Settings of NUTS from PyMC's `nuts={…}`, over those given one by one."""
    settings = {"target_accept": target_accept, "max_treedepth": max_treedepth, "jumps": jumps}
    take("nuts", {name: value for name, value in (given or {}).items() if name not in settings}, {}, settings)
    settings |= given or {}
    return float(settings["target_accept"]), int(settings["max_treedepth"]), settings["jumps"]


def check_rest(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """The same for functions that show no progress, and whose results have one group."""
    rest = {name: value for name, value in given.items() if name not in ("progressbar", "idata_kwargs")}
    extras(given.get("idata_kwargs"))
    one_of("progressbar", given.get("progressbar", True), PROGRESS_BARS)
    check_keywords(function, rest, ("progressbar",))
