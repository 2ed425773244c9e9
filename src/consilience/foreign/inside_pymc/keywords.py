"""The keywords of PyMC's `sample`: what each means to this sampler, or why it is refused.

What a caller gave enters; the arguments of our `sample`, and what the result should look like, leave.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from consilience.errors import SamplingError
from consilience.record import Record, replace
from consilience.sample.groups import REMEDIES, Stop, Tuning, asked, chosen

# Settings of this sampler, given in `nuts={…}`; some of PyMC's are among them. Groups of them are taken, too.
SETTINGS: Final = (
    "target_accept", "max_treedepth", "jumps", "stop", "tuning", "remedies",
)  # fmt: skip
WITHOUT_MEANING: Final = {
    "backend", "blas_cores", "compile_kwargs", "keep_warning_stat", "mp_ctx", "n_init", "nuts_sampler",
    "progressbar_theme", "return_inferencedata", "trace", "step",
}  # fmt: skip
# What only PyMC's own sampler has, unless it is given as here, with the next step.
ONLY_THERE: Final[Mapping[str, tuple[Any, str]]] = {
    "return_inferencedata": (True, 'draws are always labelled here; `trace.posterior["x"].values` is an array'),
    "trace": (None, "draws are kept in memory; write the result with `trace.to_netcdf(path)`"),
    "step": (None, "step methods of PyMC move chains of PyMC; without `step` discrete variables get step methods here"),
}
KEYWORDS: Final = (
    "draws", "tune", "chains", "cores", "random_seed", "progressbar", "quiet", "var_names", "initvals", "init", "model",
    "jitter_max_retries", "discard_tuned_samples", "compute_convergence_checks", "idata_kwargs", "callback", "nuts",
    *SETTINGS[:2],
)  # fmt: skip
MEANT_FOR_NUTS: Final = "PyMC's own step methods have more settings; here `nuts` takes " + ", ".join(SETTINGS)
FEWEST_JUDGED: Final = 4  # draws of a chain that can be judged


class Asked(Record):
    """A call in the words of both libraries.

    `ours`: arguments of our `sample`, all but the model.
    `names`: of the variables in the result; None: all.
    `warmup`: whether the draws of the tuning are kept.
    `quiet`: whether to say nothing.
    `checks`: whether to say what is wrong with the draws.
    `idata`: arguments of PyMC's `to_inference_data`.
    """

    ours: Mapping[str, Any]
    names: Sequence[str] | None
    warmup: bool
    quiet: bool
    checks: bool
    idata: Mapping[str, Any]


def options_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in `nuts={…}` and, in PyMC 5, `nuts_sampler_kwargs={…}`, as one mapping."""
    options: dict[str, Any] = {}
    for name in ("nuts", "nuts_sampler_kwargs"):
        twice = options.keys() & (given.get(name) or {}).keys()
        if twice:
            raise SamplingError(f"`{min(twice)}` stands in both `nuts` and `nuts_sampler_kwargs`; give it once.")
        options |= given.get(name) or {}
    return options


def planned(given: Mapping[str, Any], options: Mapping[str, Any]) -> Asked:
    """What a call asks for.

    `given`: arguments of PyMC's `sample` as they came, but `model`, `nuts` and `nuts_sampler_kwargs`. `options`: what
    stood in these two. Raises SamplingError for what only PyMC's sampler has, and for unknown words, each with its
    name.
    """
    given = {"draws": 1000, "tune": None, "discard_tuned_samples": True, **given}
    for name, (plain, next_step) in ONLY_THERE.items():
        if name in given and given[name] != plain:
            raise SamplingError(f"`{name}={given[name]!r}` is for PyMC's own sampler: {next_step}.")
    for name in ("target_accept", "max_treedepth"):
        if name in given:
            if name in options:
                raise SamplingError(f"`{name}` was given twice, by itself and in `nuts`; give it once.")
            options = {**options, name: given.pop(name)}
    absent = next((name for name in options if name not in SETTINGS), None)
    if absent is not None:
        raise SamplingError(f'`nuts={{"{absent}": …}}` is no setting of this sampler. {MEANT_FOR_NUTS}.')
    quiet = bool(given.pop("quiet", False))
    settings = dict(options)
    stop, tuning = asked(Stop, settings.pop("stop", None)), asked(Tuning, settings.pop("tuning", None))
    remedies = chosen(settings.pop("remedies", REMEDIES))
    jumps = settings.pop("jumps", None)
    names, idata = given.pop("var_names", None), given.pop("idata_kwargs", None) or {}
    ours: dict[str, Any] = {
        **settings,
        **lengths(given.pop("draws"), given.pop("tune"), given["discard_tuned_samples"], stop, tuning),
        "chains": given.pop("chains", None),
        "cores": given.pop("cores", None),
        "random_seed": seed(given.pop("random_seed", None)),
        "initvals": initial_values(given.pop("initvals", None)),
        "progressbar": bool(given.pop("progressbar", True)) and not quiet,
        "discard_tuned_samples": given["discard_tuned_samples"],
        "idata_kwargs": {"include_transformed": True} if idata.get("include_transformed") else None,
        # A run that decides its length is judged all the same; without this, warnings are Python's and not PyMC's.
        "compute_convergence_checks": False,
    }
    init = given.pop("init", "auto")
    if init != "auto":
        ours["init"] = init
    ours |= {name: given.pop(name) for name in ("jitter_max_retries", "callback") if name in given}
    if ours["chains"] is None:
        ours["chains"] = max(2, default_cores() if ours["cores"] is None else ours["cores"])
    checks, warmup = given.pop("compute_convergence_checks", True), not given.pop("discard_tuned_samples")
    unknown = next((name for name in given if name not in WITHOUT_MEANING), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, KEYWORDS, n=1, cutoff=0.6)
        hint = f"did you mean `{near[0]}`?" if near else f"{MEANT_FOR_NUTS}."
        raise SamplingError(f"`{unknown}` is no keyword of this sampler; {hint}")
    ours |= {"remedies": remedies, "nuts": None if jumps is None else {"jumps": jumps}}
    return Asked(ours, names, warmup, quiet, bool(checks), idata)


def lengths(draws: Any, tune: Any, discard: bool, stop: Stop, tuning: Tuning) -> dict[str, Any]:
    """So many draws of each chain exactly; tuning draws at most, or exactly where they are kept."""
    fixed = draws < FEWEST_JUDGED or tune == 0  # nothing to judge by, or nothing to tune anew after a judgement
    given = {"draws": draws} if fixed else {}
    given |= {"stop": stop if fixed else replace(stop, min_draws=draws, max_draws=draws), "tuning": tuning}
    if tune is None:
        return given
    if not discard or tune < tuning.min:
        return {**given, "tune": tune}
    return {**given, "tuning": replace(tuning, max=tune)}


def seed(given: Any) -> int:
    """One seed from all that PyMC takes for one, read by its own function."""
    from pymc.util import get_random_generator

    return int(get_random_generator(given).spawn(1)[0].integers(2**30))


def default_cores() -> int:
    """How many cores PyMC would take."""
    from pymc.sampling.parallel import _cpu_count

    return min(4, int(_cpu_count()))


def initial_values(given: Any) -> Any:
    """Initial values by name; PyMC takes variables for keys too, and None for a chain without any."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return [initial_values(each) or {} for each in given]
    for key, value in given.items():
        if hasattr(value, "owner"):
            raise SamplingError(
                f"the initial value of `{getattr(key, 'name', key)}` is an expression; give its value: `.eval()`."
            )
    return {getattr(key, "name", key): value for key, value in given.items()}
