"""Memory for machine code: numbers of chains and draws enter; plans and workspaces leave, their elements not set."""

from __future__ import annotations

from consilience.diagnostics.watch.grades import GRADES
from consilience.diagnostics.watch.judgement import GROUP
from consilience.diagnostics.watch.series import LAGS, PADDING, TURNS, Plan, Workspace
from consilience.diagnostics.watch.sorting import BINS, DIGITS
from consilience.native.typed_python.records import with_memory


def plan_for(chains: int, draws: int) -> Plan:
    """A plan with room for so many draws of each chain, to be laid out."""
    size = draws * chains
    return with_memory(
        Plan,
        chains=chains,
        draws=0,
        half=0,
        stride=0,
        total=0,
        place=size,
        scores=2 * size,
        series=size + 2 * (PADDING + TURNS) * chains,
    )


def workspace_for(chains: int, draws: int, group: int = GROUP) -> Workspace:
    """Memory to examine a scalar of so many draws in; `group`: how many scalars some draws are fetched of together."""
    size = draws * chains
    return with_memory(
        Workspace,
        scalar=-1,
        held=0,
        row=size,
        order=size,
        ascending=size,
        halves_order=size,
        halves_ascending=size,
        folded_order=size,
        folded=size,
        means=2 * chains,
        covariance=draws + 2 * LAGS,
        lags=0,
        within=0.0,
        between=0.0,
        pairs=size,
        other=size,
        places=DIGITS * BINS,
        graded=False,
        grades=size,
        counts=GRADES,
        grade_scores=GRADES,
        folded_scores=GRADES,
        least=0.0,
        per_unit=0.0,
        end_of_lower=0,
        end_of_upper=0,
        some=group * size,
        place=0,
    )
