"""Whether a run can be trusted: what its draws and sampler statistics tell, worded for the user.

`inspect` finds, `warn` tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from consilience import errors
from consilience.diagnostics.energy import ebfmi
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.stopping_rule import Figures, StoppingRule, rhat_is_large
from consilience.diagnostics.variables import Draws, VariableDraws, attributes, gather, held, superchains_of
from consilience.errors import ConvergenceWarning
from consilience.record import Record

SMALLEST_ESS_PER_CHAIN = 100
SMALLEST_EBFMI = 0.3
LARGEST_SHARE_OF_FULL_TREES = 0.05
FEWEST_CHAINS = 4
FEWEST_DRAWS = 100
REFERENCE = "https://arxiv.org/abs/1903.08008"
ONE_CHAIN = (
    "only one chain was run, whose R-hat compares its two halves: whether others would come to the same region is not "
    f"known; run {FEWEST_CHAINS} or more"
)


class Finding(Record):
    """One thing to know about a run.

    Parameters
    ----------
    kind : {'divergences', 'treedepth', 'ebfmi', 'rhat', 'ess', 'chains', 'draws'}
        What was looked at, such as "divergences" or "rhat".
    level : {'warning', 'info'}
        "warning": the draws should not be trusted as they are; "info": good to know.
    message : str
        What was found, what it means and what to try.
    value : float
        The number found, the worst one if there are several.
    where : str, default ''
        The parameter, as `theta[A]`, or the chains it was found in; empty for the run as a whole.

    See Also
    --------
    inspect : Gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.diagnostics import inspect
    >>> apart = np.random.default_rng(1).normal(size=(4, 500)) + np.arange(4)[:, None]
    >>> {finding.level for finding in inspect({"x": apart})}
    {'warning'}
    """

    kind: Literal["divergences", "treedepth", "ebfmi", "rhat", "ess", "chains", "draws"]
    level: Literal["warning", "info"]
    message: str
    value: float
    where: str = ""


def inspect(
    draws: Draws,
    statistics: Mapping[str, npt.ArrayLike] | None = None,
    *,
    rule: StoppingRule | None = None,
) -> list[Finding]:
    """Look at the draws after tuning and at the sampler's statistics (chain, draw) for signs of diagnosis.

    draws (ndarray): Draws, shape (chain, draw, ...).
    statistics: `diverging`, `reached_max_treedepth`, `energy`; those of a tree are found in its group `sample_stats`.
    rule: What is asked of R-hat and effective sizes; by default what the run asked from which a tree comes, for other
        draws what `sample` asks of R-hat, and 100 effective draws per chain.
    Returns: One per sign; none for draws that can be trusted.
    See warn: Issues the findings.
    See examine: The numbers alone.
    Notes: Looked for: any divergence; trees of full depth in more than 5 % of a chain's draws; E-BFMI < 0.3; R-hat that
        noise does not explain, see `stopping_rule.rhat_is_large`; bulk or tail effective size below what is asked; a
        single chain; and, as information, fewer than 4 chains, or too few draws (under 100) for the diagnostics to mean
        anything.
    >>> import numpy as np
    >>> from consilience.diagnostics import inspect
    >>> inspect({"x": np.random.default_rng(1).normal(size=(4, 500))})
    []
    """
    from consilience.diagnostics.description import table_of  # runs have the table already

    variables = gather(draws)
    advice = attributes(draws).get("advice") or None  # what the run itself found out
    found = list(from_statistics(statistics_of(draws) if statistics is None else statistics, advice))
    if not variables:
        return found
    chains, count = variables[0].draws.shape[:2]
    superchains = superchains_of(attributes(draws), chains)
    if count < FEWEST_DRAWS and not superchains:
        return [*found, *few_draws(count)]
    found += few_chains(chains)
    if rule is None:
        asked = json.loads(attributes(draws).get("options", "{}")).get("rule")
        rule = StoppingRule(float(SMALLEST_ESS_PER_CHAIN * chains)) if asked is None else StoppingRule(**asked)
    draws_of = [variable.draws for variable in variables]
    figures = Figures.of_table(table_of(draws_of, ["ranks"], target_rhat=rule.target_rhat, superchains=superchains))
    found += large_rhat(variables, figures, rule, superchains or chains)
    found += small_ess(variables, figures, rule, chains)
    return found


def warn(findings: Iterable[Finding]) -> None:
    """Issue each finding of level "warning" as a `ConvergenceWarning`.

    Parameters
    ----------
    findings : iterable of Finding
        Findings, of `inspect` or `examine`.

    Returns
    -------
    None
        Nothing.

    See Also
    --------
    inspect : Gives the findings.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from consilience.diagnostics import inspect, warn
    >>> apart = np.random.default_rng(1).normal(size=(4, 500)) + np.arange(4)[:, None]
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn(inspect({"x": apart}))
    >>> told[0].category.__name__
    'ConvergenceWarning'
    """
    for finding in findings:
        if finding.level == "warning":
            errors.warn(finding.message, ConvergenceWarning)


def statistics_of(draws: Draws) -> dict[str, npt.ArrayLike]:
    """Variables of a tree's group `sample_stats` with chain and draw axes only; nothing if there is none."""
    groups = held(draws)
    if "sample_stats" not in groups:
        return {}
    group = groups["sample_stats"].data_vars
    return {
        str(name): np.asarray(array) if array.dims[0] == "chain" else np.asarray(array).T
        for name, array in group.items()
        if set(array.dims) == {"chain", "draw"}
    }


def from_statistics(statistics: Mapping[str, npt.ArrayLike], advice: str | None = None) -> Iterator[Finding]:
    """Findings that need no draws.

    `advice`: what to write, where the cause is known; empty: it is said elsewhere; None: what helps as a rule.
    """
    if "diverging" in statistics:
        yield from divergences(np.asarray(statistics["diverging"], dtype=bool), advice)
    if "reached_max_treedepth" in statistics:
        yield from full_trees(np.asarray(statistics["reached_max_treedepth"], dtype=bool), advice)
    if "energy" in statistics:
        yield from low_energy_change(ebfmi(statistics["energy"]), advice)


def _with(fact: str, advice: str | None, usual: str) -> str:
    return f"{fact} {usual if advice is None else advice}".rstrip()


def divergences(diverging: npt.NDArray[np.bool_], advice: str | None = None) -> Iterator[Finding]:
    """Transitions (chain, draw) whose trajectory left the level set of its energy."""
    count = int(diverging.sum())
    if count:
        were = "was 1 divergence" if count == 1 else f"were {count} divergences"
        yield Finding(
            "divergences",
            "warning",
            _with(
                f"There {were} after tuning ({percent(count / diverging.size)} of the draws). The sampler could "
                "not follow the posterior in some region, so the estimates may be biased.",
                advice,
                "Increase `target_accept` or reparameterize.",
            ),
            count,
            in_chains(np.flatnonzero(diverging.any(axis=1))),
        )


def full_trees(full: npt.NDArray[np.bool_], advice: str | None = None) -> Iterator[Finding]:
    """Transitions (chain, draw) that stopped only because the tree was as deep as allowed."""
    shares = full.mean(axis=1)
    chains = np.flatnonzero(shares > LARGEST_SHARE_OF_FULL_TREES)
    if len(chains):
        worst = float(shares[chains].max())
        where = in_chains(chains)
        yield Finding(
            "treedepth",
            "warning",
            _with(
                f"The maximum tree depth was reached in {where} (in up to {percent(worst)} of the draws). The "
                "trajectories were cut short, so the draws are more correlated than need be.",
                advice,
                "Increase `max_treedepth`, increase `target_accept` or reparameterize.",
            ),
            worst,
            where,
        )


def low_energy_change(fractions: FloatArray, advice: str | None = None) -> Iterator[Finding]:
    """Chains whose fraction of missing information (chain,) is small."""
    chains = np.flatnonzero(fractions < SMALLEST_EBFMI)
    if len(chains):
        worst = float(fractions[chains].min())
        where = in_chains(chains)
        yield Finding(
            "ebfmi",
            "warning",
            _with(
                f"The energy Bayesian fraction of missing information is below {SMALLEST_EBFMI} in {where} "
                f"(smallest {worst:.2f}). The sampler moves too slowly between energies to explore the tails.",
                advice,
                "Reparameterize, for example non-centered, or tune longer.",
            ),
            worst,
            where,
        )


def large_rhat(
    variables: Sequence[VariableDraws], figures: Figures, rule: StoppingRule, chains: int
) -> Iterator[Finding]:
    """Parameters on which the chains do not agree."""
    large = rhat_is_large(figures, rule, chains, len(figures.r_hat))
    count = int(large.sum())
    if count:
        place = int(np.argmax(np.where(large, figures.r_hat, -np.inf)))
        name, worst = element_name(variables, place), float(figures.r_hat[place])
        noise = "" if rule.strict else " by more than noise explains"
        yield Finding(
            "rhat",
            "warning",
            f"The rhat statistic is larger than {rule.target_rhat}{noise} for {some(count, len(large))}, the largest "
            f"being {worst:.{3 if worst < 10 else 1}f} for {name}. The chains do not agree: they have not "
            "all reached the posterior, or do not move through all of it. Tune and draw longer; if it stays, "
            f"reparameterize or look for separate modes. See {REFERENCE} for details.",
            worst,
            name,
        )


def small_ess(
    variables: Sequence[VariableDraws], figures: Figures, rule: StoppingRule, chains: int
) -> Iterator[Finding]:
    """Parameters whose draws are worth few independent ones."""
    smaller = np.fmin(figures.ess_bulk, figures.ess_tail)
    count = 0 if rule.target_ess is None else int((smaller < rule.target_ess).sum())
    if count:
        place = int(np.nanargmin(smaller))
        name, worst = element_name(variables, place), float(smaller[place])
        part = "bulk" if worst == figures.ess_bulk[place] else "tail"
        yield Finding(
            "ess",
            "warning",
            f"The effective sample size per chain is smaller than {(rule.target_ess or 0) / chains:g} for "
            f"{some(count, len(smaller))}, the smallest being {worst:.0f} in all chains ({part}) for {name}. "
            "Means, intervals and rhat are not reliable with so few. Draw longer, or reparameterize so that "
            f"the draws are less correlated. See {REFERENCE} for details.",
            worst,
            name,
        )


def few_chains(chains: int) -> Iterator[Finding]:
    """Too few chains to compare; one alone is a warning, for it cannot tell whether there is another mode."""
    if chains == 1:
        yield Finding("chains", "warning", f"{ONE_CHAIN[:1].upper()}{ONE_CHAIN[1:]}.", 1)
    elif chains < FEWEST_CHAINS:
        yield Finding(
            "chains",
            "info",
            f"At least {FEWEST_CHAINS} chains make the convergence diagnostics robust; {chains} chains were run.",
            chains,
        )


def few_draws(count: int) -> Iterator[Finding]:
    """Too few draws for the diagnostics to be reliable themselves."""
    if count < FEWEST_DRAWS:
        yield Finding(
            "draws",
            "info",
            f"{count} draws per chain are too few to check convergence reliably; use {FEWEST_DRAWS} or more.",
            count,
        )


def element_name(variables: Sequence[VariableDraws], place: int) -> str:
    """Name of the element at `place` among all elements of the variables."""
    ends = np.cumsum([variable.size for variable in variables])
    which = int(np.searchsorted(ends, place, side="right"))
    variable = variables[which]
    return variable.element_name(place - int(ends[which]) + variable.size)


def some(count: int, total: int) -> str:
    """How many of the parameters, in words."""
    return f"{count} of {total} parameters" if total > 1 else "the parameter"


def percent(share: float) -> str:
    """A share as a percentage of two digits."""
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def in_chains(chains: npt.NDArray[np.intp]) -> str:
    """Chains by their numbers."""
    names = [str(chain) for chain in chains]
    if len(names) == 1:
        return f"chain {names[0]}"
    return f"chains {', '.join(names[:-1])} and {names[-1]}"
