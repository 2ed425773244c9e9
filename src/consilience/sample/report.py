"""An account of a run in words: the attributes of a result's draws enter, lines of text leave.

All of it is in the attributes, so that a result read from disk tells the same.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.diagnostics.error_rates import COMMIT, RATES, TARGETS, VERSION
from consilience.diagnostics.variables import held
from consilience.errors import SamplingError
from consilience.first_use import face

if TYPE_CHECKING:
    import xarray

WIDTH: Final = 100
INDENT: Final = 12
LIGHT: Final = 5e-4  # share of the mass of a region, below which it is not listed by itself
NOT_DONE: Final = ("not allow", "not looked for", "were not found", "is unknown", "no mass is known")
FEWEST_RATED: Final = 20  # results of a status in the study, of which a rate can be told

PROMISES: Final = {
    "converged": "that every scalar has the requested effective sample size in bulk and tails, that the chains agree, "
    "and that no diagnostic contradicts the draws",
    "converged_with_divergences": "that the effective sample sizes are reached and the chains agree, but that regions "
    "where steps diverge may be missing",
    "not_converged": "that the draws should not be used yet",
    "chains_disagree": "that the chains are in different regions, whose shares are unknown: do not use these draws",
    "interrupted": "that the run was stopped before its draws were judged",
    "completed": "that convergence was not checked",
}
JUDGED: Final = ("converged", "converged_with_divergences", "not_converged", "chains_disagree")
RESTARTS: Final = {
    "divergences": "steps diverged, so the chains tuned again with smaller steps",
    "smallest steps": "divergences left a doubt, so the chains tuned again with the smallest steps",
    "metric": "the draws contradicted the mass matrix, so the chains tuned again with one estimated from these draws",
    "jumps": "the chains did not move between modes, so they sampled again with jumps between them",
    "symmetries": "the posterior is the same in several copies, so each draw was put into one of them at random",
    "coordinates": "the posterior was hard to sample, so the run continued in other coordinates",
    "block": "a block is nearly normal given the other variables, so the run continued in coordinates that follow them",
}
HELP: Final = {
    "not_converged": "`result.extend(target_ess=…)` if there are too few draws; another parametrization "
    "(`pm.noncenter`), more informative priors, or a larger `target_accept` if the chains mix badly",
    "chains_disagree": "look at each chain separately; run more chains; add a constraint that separates the modes",
    "converged_with_divergences": "a larger `target_accept`, or another parametrization (`pm.noncenter`)",
    "interrupted": "`result.extend(target_ess=…)`, or `pm.resume` if there is a checkpoint",
}


class Account(str):
    """A text that is shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def report(result: xarray.DataTree, path: str | os.PathLike[str] | None = None) -> Account:
    """Explain the outcome of a run of `pm.sample` in words: what the status is, how far to trust it, and what happened.

    The report gives the status and its meaning, with the error rate measured for this status (and its 95 % interval,
    see `docs/understand/certificates.md`); the reason; discarded draws and moved chains; divergences; separate modes
    with their shares; the scalar with the smallest effective sample size; and what may help. For draws of other
    methods, such as `pm.sample_smc`, it has a line or two.

    result (xarray.DataTree): What `pm.sample` or `pm.resume` gave, or the same read from a store; with `path` any that
        has a posterior.
    path (str or os.PathLike): ".html": where its page is written too, as one file that needs no server or network:
        `docs/do/watching.md`.
    Returns: A string that shows itself.
    Raises SamplingError: For a tree without draws of such a run.
    Raises StorageError: Where the page can't be written.
    See sample: Draw from the posterior of a model with the No-U-Turn Sampler.
    See challenge: Attack a posterior with what could falsify it.
    >>> with pm.Model():
    ...     x = pm.Normal("x")
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> "converged" in pm.report(result)
    True
    """
    groups = held(result)
    judged = "posterior" in groups and "status" in groups["posterior"].attrs
    if not judged and (path is None or "posterior" not in groups):
        raise SamplingError(
            "`report` explains a result of `pm.sample`, whose group `posterior` has the attribute `status`; got "
            f"{'a tree without it' if hasattr(result, 'children') else type(result).__name__}. For other draws, "
            '`pm.summary(result)` prints a table and `pm.report(result, "report.html")` writes a page. Draw from an '
            "approximation first with `sample(1000)`; choose one of many fits by its name."
        )
    if path is not None:
        if Path(path).suffix != ".html":
            raise SamplingError(f'`path` must end in ".html", got {str(path)!r}.')
        face("page of a result")(result, path)
    attributes = {str(name): value for name, value in groups["posterior"].attrs.items()}
    if not judged:
        sizes = groups["posterior"].sizes
        count = f"{sizes.get('chain', 0)} × {sizes.get('draw', 0):,}"
        return Account(f"{attributes.get('method', 'Posterior')}, {count} draws, convergence not checked: {path}")
    parts = [("run", line) for line in _run(groups, attributes)]
    parts += [("status", line) for line in _status(attributes)]
    parts += [("course", line) for line in _course(attributes)]
    parts += [("chains", line) for line in _plain(attributes, "notes")]
    parts += [("divergences", line) for line in _divergences(groups, attributes)]
    parts += [("regions", line) for line in _regions(attributes)]
    parts += [("draws", line) for line in _draws(attributes)]
    parts += [("help", line) for line in _help(attributes)]
    return Account("\n".join(_laid_out(parts)))


def _laid_out(parts: list[tuple[str, str]]) -> Iterator[str]:
    before = ""
    for name, text in parts:
        head = ("" if name == before else name).ljust(INDENT)
        yield textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * INDENT, break_on_hyphens=False)
        before = name


def _plain(attributes: Mapping[str, Any], name: str, otherwise: Any = ()) -> Any:
    """An attribute that is kept as JSON; results of earlier versions may lack it."""
    value = attributes.get(name)
    return otherwise if value is None else json.loads(value)


def _run(groups: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[str]:
    sizes = groups["posterior"].sizes
    yield (
        f"{attributes.get('sampler', 'a sampler')}, {sizes.get('chain', 0)} chains of {sizes.get('draw', 0):,} draws "
        f"after {int(attributes.get('tuning_steps', 0)):,} tuning steps; "
        f"{int(attributes.get('gradients', 0)):,} evaluations of the log density, "
        f"{float(attributes.get('sampling_time', 0.0)):.3g} seconds, seed {attributes.get('seed')}"
    )


def _status(attributes: Mapping[str, Any]) -> Iterator[str]:
    status, reason = str(attributes["status"]), str(attributes.get("reason", ""))
    yield f"{status}, which means {PROMISES[status]}"
    wrong, runs = RATES.get(status, (0, 0))
    if runs >= FEWEST_RATED:
        low, high = interval(wrong, runs)
        yield (
            f"in a study of {TARGETS} posteriors with version {VERSION} ({COMMIT}), {wrong:,} of {runs:,} results with "
            f"this status were wrong: {wrong / runs:.2%} (95 % interval {low:.2%} to {high:.2%}), see "
            "docs/understand/certificates.md"
        )
    if reason:
        yield f"because {reason}"


def interval(wrong: int, runs: int, prob: float = 0.95) -> tuple[float, float]:
    """Bounds of a probability of which `wrong` of `runs` are known, by Clopper and Pearson (1934)."""
    from scipy.special import betaincinv

    low = float(betaincinv(wrong, runs - wrong + 1, (1 - prob) / 2)) if wrong else 0.0
    high = float(betaincinv(wrong + 1, runs - wrong, (1 + prob) / 2)) if wrong < runs else 1.0
    return low, high


def _course(attributes: Mapping[str, Any]) -> Iterator[str]:
    restarts = Counter(_plain(attributes, "restarts"))
    for reason, count in restarts.items():
        times = "" if count == 1 else " (twice)" if count == 2 else f" ({count} times)"
        yield f"{RESTARTS.get(reason, reason)}{times}; earlier draws are not in the result"
    integrated = _plain(attributes, "integrated", {})
    if summed := [name for name in _plain(attributes, "marginalized") if name not in integrated]:
        yield f"{_listed(summed)} summed out during sampling, and drawn again for each draw"
    for kind in dict.fromkeys(integrated.values()):
        own = [name for name in integrated if integrated[name] == kind]
        yield (
            f"{_listed(own)} integrated out during sampling ({kind}), and drawn again for each draw; "
            "`integrate=False` samples them by NUTS instead"
        )
    if carried := _plain(attributes, "transported", {}):
        kind = next(iter(carried.values()))
        yield f"{_listed(list(carried))} sampled in coordinates whose location and scale follow the others ({kind})"
    if centred := _plain(attributes, "centredness", {}):
        yield f"{_listed(list(centred))} sampled in partially non-centred coordinates"
    if heavy := _plain(attributes, "heavy_tails", ()):
        yield f"{_listed(heavy)} sampled in coordinates without heavy tails, x = middle + width sinh(y)"


def _listed(names: list[str]) -> str:
    return f"{', '.join(f'`{name}`' for name in names)} {'was' if len(names) == 1 else 'were'}"


def _divergences(groups: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[str]:
    before = _plain(attributes, "diverged_before", None)
    if before:
        yield f"{before['divergences']:,} of {before['draws']:,} discarded draws"
    stats = groups["sample_stats"].data_vars if "sample_stats" in groups else {}
    if "diverging" in stats:
        diverging = np.asarray(stats["diverging"])
        count = int(diverging.sum())
        if before or count:
            yield f"{count:,} of the {diverging.size:,} draws of the result"
        if count and attributes["status"] == "converged":
            yield "so few divergences in chains that mix well are numerical accidents"


def _regions(attributes: Mapping[str, Any]) -> Iterator[str]:
    known = _plain(attributes, "regions", {})
    if not known:
        if str(attributes["status"]) in JUDGED:
            yield ("Separate modes were not searched for. Chains that all start in one mode do not show the others.")
        return
    sentences = re.split(r"(?<=\.) ", str(known["statement"]))
    yield " ".join(sorted(sentences, key=lambda s: not any(words in s for words in NOT_DONE)))
    if len(known["regions"]) < 2:
        return
    light = [r for r in known["regions"] if r["mass"] is not None and r["mass"] < LIGHT]
    for region in [r for r in known["regions"] if r not in light]:
        mass = "an unknown share" if region["mass"] is None else f"{region['mass']:.2%}"
        place = ", ".join(f"{name} = {value:.3g}" for name, value in region["place"].items())
        yield (
            f"{mass} of the probability{' (uncertain)' if region['uncertain'] else ''}, "
            f"{region['starting_points']:.0%} of the starting points{f', at {place}' if place else ''}"
        )
    if light:
        yield f"{len(light)} more hold {sum(r['mass'] for r in light):.2%} of the probability together"


def _draws(attributes: Mapping[str, Any]) -> Iterator[str]:
    check = _plain(attributes, "last_check", None)
    if check is None:
        return
    asked = "" if check["target_ess"] is None else f" (target {check['target_ess']:,.0f})"
    chance = ""
    if check["passed"] and check["rhat"] > check["target_rhat"]:
        chance = "; it is above the target by chance: chains that agree differ by as much in so few draws"
    yield (
        f"the smallest effective sample size is {check['ess']:,.0f}{asked}, of `{check['ess_name']}`; the largest "
        f"R-hat is {check['rhat']:.3f} (target {check['target_rhat']:.2f}){chance}"
    )


def _help(attributes: Mapping[str, Any]) -> Iterator[str]:
    if text := help_of(attributes):
        yield text


def help_of(attributes: Mapping[str, Any]) -> str:
    """What would help: what the run found out itself (`causes`), or what helps as a rule; empty for good runs."""
    return str(attributes.get("advice") or HELP.get(str(attributes.get("status", "")), ""))
