"""PyMC's keywords of the sampling functions that are not our own: which pass without effect, which are refused.

One table per function; `consilience.model.keywords` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from consilience.errors import SamplingError
from consilience.model.keywords import check_compile_kwargs, take

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


def check(
    function: str,
    given: Mapping[str, Any],
    accepted: Collection[str],
    stacklevel: int = 1,
    spelled: Mapping[str, str] | None = None,
) -> None:
    """Pass over what has no meaning here among the keywords given besides a function's own; refuse the rest.

    `spelled`: further words that may be meant, with how they are written. Raises TypeError for unknown keywords, with
    the nearest one. Raises SamplingError for values that ask for what is not there.
    """
    rest = dict(given)
    check_compile_kwargs(rest.pop("compile_kwargs", None))
    if not rest.pop("return_inferencedata", True):
        raise SamplingError(
            f"`{function}` has no `return_inferencedata=False`: results are trees always, and "
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
    elsewhere = {word: own for word, own in ELSEWHERE.items() if own in accepted}
    take(function, rest, IGNORED, accepted, absent, stacklevel + 1, elsewhere | dict(spelled or {}))


def nuts_settings(
    given: Mapping[str, Any] | None, target_accept: float, max_treedepth: int, jumps: int | str
) -> tuple[float, int, Any]:
    """Settings of NUTS from PyMC's `nuts={…}`, over those given one by one."""
    settings = {"target_accept": target_accept, "max_treedepth": max_treedepth, "jumps": jumps}
    take("nuts", {name: value for name, value in (given or {}).items() if name not in settings}, {}, settings)
    settings |= given or {}
    return float(settings["target_accept"]), int(settings["max_treedepth"]), settings["jumps"]
