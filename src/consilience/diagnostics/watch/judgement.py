"""Judging scalars: their draws and a rule enter; the first that does not pass, or figures of all, leave.

All loops over scalars and draws are here or below, in machine code; what is worth asking is decided outside.
"""

from __future__ import annotations

from consilience.diagnostics.watch.columns import ColumnBlock, fetch_row, fetch_some
from consilience.diagnostics.watch.grades import grade, indicators_of_grades, series_of_grades
from consilience.diagnostics.watch.series import (
    Plan,
    Workspace,
    centre,
    count_up_to_quantile,
    effective_size,
    fold,
    indicators,
    leave_out_middle,
    rank_scores,
    scale_reduction,
    variance_ratio,
)
from consilience.diagnostics.watch.sorting import merge_behind, sort_positions
from consilience.native.mathematics import divide, isnan
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd

TAIL = 0.05
AMPLE = 1.25  # effective size of some draws, over what is asked for, at which all are not looked at
PLENTIFUL = 2.0  # the same for a second look at twice as many, which only luck may have left open

PASSES = 0
BULK_ESS = 1
TAIL_ESS = 2
RHAT = 3
RHAT_EXCESS = 4
NOISE_UNKNOWN = 5  # the bound of the variance ratio is needed and was not given
UNSOUND = 6  # draws that were given are not all finite, or all equal

NONE_FOUND = 0
BULK_FOUND = 1
TAILS_FOUND = 2
ALL_FOUND = 3

SETTLED = 1  # what is known of a scalar in a check: it passes, or some draws leave open whether it does
OPEN = 2

GROUP = 8  # neighbouring scalars of which some draws are fetched together: as many share a cache line


@record
class Question:
    """What is asked of a scalar, and the answer.

    target_ess   least effective size; 0: not asked
    rhat         R-hat is below it
    target_rhat  above it the variance ratio is asked for
    noise        the variance ratio is below it; NaN: not known yet
    missed       the criterion that was missed, or `PASSES`
    value        what was found of the criterion that was missed
    bound        what it should have been
    badness      how much the worst criterion looked at was missed by, as a ratio; above 1: it was missed
    figures      which of a scalar's figures were found on the way: from `NONE_FOUND` to `ALL_FOUND`
    found_rhat   R-hat, as far as found
    found_size   the smaller of the effective sizes, as far as found
    """

    target_ess: f64
    rhat: f64
    target_rhat: f64
    noise: f64
    missed: i64
    value: f64
    bound: f64
    badness: f64
    figures: i64 = 0
    found_rhat: f64 = 0.0
    found_size: f64 = 0.0


@native(shared=True)
def sort_rest(plan: Plan, work: Workspace, known: i64) -> None:
    """Order of the draws of all chains in the row, of which so many per chain are in order."""
    begin = known * plan.chains
    end = plan.draws * plan.chains
    sort_positions(work.row, begin, end, work.order, work.ascending, work.pairs, work.other, work.places)
    if known > 0:
        merge_behind(work.order, work.ascending, begin, end, work.folded_order, work.folded)
    if plan.total < end:
        leave_out_middle(plan, work)


@native(shared=True)
def bring_in_order(block: ColumnBlock, blocks: i64, plan: Plan, work: Workspace, scalar: i64) -> None:
    """Row, order and sorted draws of a scalar; what is new since it was the last to be looked at is merged in."""
    work.graded = False
    held = work.held if work.scalar == scalar else 0
    if held < plan.draws:
        fetch_row(block, blocks, scalar, plan.chains, held, work.row)
        # Sorting everything takes no longer than merging a long run.
        sort_rest(plan, work, held if 4 * held >= 3 * plan.draws else 0)
        work.scalar = scalar
        work.held = plan.draws


@native(shared=True)
def bring_given_in_order(values: Array[f64], plan: Plan, work: Workspace) -> None:
    """The same for draws given one chain after another."""
    work.graded = False
    work.held = 0
    for c in range(plan.chains):
        for i in range(plan.draws):
            work.row[i * plan.chains + c] = values[c * plan.draws + i]
    sort_rest(plan, work, 0)


@native(shared=True)
def score_bulk(plan: Plan, work: Workspace) -> i64:
    """The centred series of rank-normalised draws; 1 if all of them are equal, otherwise 0."""
    if work.graded:
        series_of_grades(plan, work.grades, work.grade_scores)
        centre(plan, work)
        return 0
    order = work.order
    ascending = work.ascending
    if plan.total < plan.chains * plan.draws:
        order = work.halves_order
        ascending = work.halves_ascending
    rank_scores(plan, order, ascending)
    centre(plan, work)
    return 1 if ascending[0] == ascending[plan.total - 1] else 0


@native(shared=True)
def score_folded(plan: Plan, work: Workspace) -> None:
    """The centred series of rank-normalised distances from the median."""
    if work.graded:
        series_of_grades(plan, work.grades, work.folded_scores)
        centre(plan, work)
        return
    order = work.order
    ascending = work.ascending
    if plan.total < plan.chains * plan.draws:
        order = work.halves_order
        ascending = work.halves_ascending
    fold(order, ascending, plan.total, work.folded_order, work.folded)
    rank_scores(plan, work.folded_order, work.folded)
    centre(plan, work)


@native(shared=True)
def size_of_tail(plan: Plan, work: Workspace, probability: f64) -> f64:
    """Effective size of a quantile: that of the indicators of not exceeding it."""
    if work.graded:
        end = work.end_of_lower if probability < 0.5 else work.end_of_upper
        indicators_of_grades(plan, work, work.some[work.place :], end)
        return effective_size(plan, work)
    least = count_up_to_quantile(work.ascending, plan.chains * plan.draws, probability)
    ones = indicators(plan, work.order, least)
    if ones == 0 or ones == plan.total:
        return f64(plan.total)
    centre(plan, work)
    return effective_size(plan, work)


@native
def misses(question: Question, kind: i64, missed: boolean, value: f64, bound: f64, badness: f64) -> i64:
    """Note how bad a criterion is; `kind` if it is missed, otherwise `PASSES`."""
    question.badness = max(question.badness, badness)
    if not missed:
        return PASSES
    question.value = value
    question.bound = bound
    return kind


@native
def misses_size(question: Question, kind: i64, size: f64) -> i64:
    """Whether an effective size is too small."""
    least = question.target_ess
    return misses(question, kind, not size >= least, size, least, divide(least, size))


@native
def misses_agreement(question: Question, plan: Plan, work: Workspace, rhat: f64) -> i64:
    """Whether R-hat of the series at hand is too large, or larger than the noise of its means explains."""
    bound = question.rhat
    missed = misses(question, RHAT, not rhat < bound, rhat, bound, divide(rhat - 1.0, bound - 1.0))
    if missed != PASSES or not rhat > question.target_rhat:
        return missed
    bound = question.noise
    if isnan(bound):
        return NOISE_UNKNOWN
    ratio = variance_ratio(plan, work)
    return misses(question, RHAT_EXCESS, not ratio < bound, ratio, bound, ratio / bound)


@native(shared=True)
def judge(question: Question, plan: Plan, work: Workspace) -> i64:
    """The criterion that the scalar brought in order misses first, or `PASSES`."""
    question.badness = 0.0
    question.figures = NONE_FOUND
    sized = question.target_ess > 0.0
    constant = score_bulk(plan, work)
    rhat = scale_reduction(plan, work)
    missed = PASSES
    size = 0.0
    if sized:
        size = f64(plan.total) if constant == 1 else effective_size(plan, work)
        question.figures = BULK_FOUND
        question.found_rhat = rhat
        question.found_size = size
        missed = misses_size(question, BULK_ESS, size)
        if missed != PASSES:
            return missed
    missed = misses_agreement(question, plan, work, rhat)
    if missed != PASSES:
        return missed
    if sized:
        size = min(size_of_tail(plan, work, TAIL), size_of_tail(plan, work, 1.0 - TAIL))
        question.figures = TAILS_FOUND
        question.found_size = min(question.found_size, size)
        missed = misses_size(question, TAIL_ESS, size)
        if missed != PASSES:
            return missed
    score_folded(plan, work)
    rhat = scale_reduction(plan, work)
    if sized:
        question.figures = ALL_FOUND
        if rhat > question.found_rhat:
            question.found_rhat = rhat
    if isnan(rhat):  # all distances are equal, as for a fair coin: the draws alone decide
        return PASSES
    return misses_agreement(question, plan, work, rhat)


@native
def score_some(plan: Plan, work: Workspace, place: i64) -> None:
    """Prepare to judge the scalar at `place` among those fetched, by grades of its draws, or sorted where they blur."""
    size = plan.chains * plan.draws
    work.place = place * size
    values = work.some[work.place :]
    work.graded = plan.total == size and grade(plan, work, values, TAIL)
    if not work.graded:
        bring_given_in_order(values, plan, work)


@native(shared=True)
def figures(plan: Plan, work: Workspace) -> tuple[f64, f64, f64]:
    """R-hat and both effective sizes of the scalar at hand."""
    constant = score_bulk(plan, work)
    of_ranks = scale_reduction(plan, work)
    bulk = f64(plan.total) if constant == 1 else effective_size(plan, work)
    tail = min(size_of_tail(plan, work, TAIL), size_of_tail(plan, work, 1.0 - TAIL))
    score_folded(plan, work)
    of_distances = scale_reduction(plan, work)
    return of_distances if of_distances > of_ranks else of_ranks, bulk, tail


@native
def note_figures(question: Question, plan: Plan, work: Workspace) -> None:
    """Complete the figures of the scalar at hand, which was judged and fails."""
    if question.figures == ALL_FOUND:
        return
    if question.figures == NONE_FOUND:
        rhat, bulk, tail = figures(plan, work)
        question.found_rhat = rhat
        question.found_size = min(bulk, tail)
        return
    if question.figures == BULK_FOUND:
        tail = min(size_of_tail(plan, work, TAIL), size_of_tail(plan, work, 1.0 - TAIL))
        question.found_size = min(question.found_size, tail)
    score_folded(plan, work)
    of_distances = scale_reduction(plan, work)
    if of_distances > question.found_rhat:
        question.found_rhat = of_distances


@native(shared=True)
def look_closely(question: Question, plan: Plan, work: Workspace) -> i64:
    """Judge the scalar brought in order, and note in the question what it misses, with its figures."""
    question.missed = judge(question, plan, work)
    if question.missed != PASSES and question.missed != NOISE_UNKNOWN:
        note_figures(question, plan, work)
    return question.missed


@native
def judge_given(values: Array[f64], plan: Plan, work: Workspace, question: Question) -> i64:
    """The same for draws given one chain after another, which may be `UNSOUND`: not finite, or all equal."""
    total = plan.chains * plan.draws
    remainder = 0.0
    least = values[0]
    most = values[0]
    for k in simd(total):
        remainder += values[k] - values[k]
        least = min(least, values[k])
        most = max(most, values[k])
    if remainder != 0.0 or least == most:
        return UNSOUND
    bring_given_in_order(values, plan, work)
    return look_closely(question, plan, work)


@native(shared=True)
def settle_by_some(
    block: ColumnBlock,
    blocks: i64,
    draws: i64,
    some: Plan,
    work: Workspace,
    sufficient: Question,
    scalar: i64,
    scalars: i64,
    badness: Array[f64],
    looked: Array[i64],
) -> None:
    """Look at some draws of those neighbouring scalars that nothing settles yet, and note in `looked` what they say.

    Where they pass what is asked in `sufficient`, `badness` is below 0.
    """
    size = some.chains * some.draws
    fetch_some(block, blocks, scalar, scalars, draws, some.draws, work.some, size, 1)
    for s in range(scalars):
        if looked[scalar + s] != SETTLED:
            score_some(some, work, s)
            missed = judge(sufficient, some, work)
            looked[scalar + s] = SETTLED if missed == PASSES else OPEN
            badness[scalar + s] = sufficient.badness - 1.0


@native
def first_failing(
    block: ColumnBlock,
    blocks: i64,
    plan: Plan,
    work: Workspace,
    question: Question,
    some: Plan,
    more: Plan,
    sufficient: Question,
    candidates: Array[i64],
    count: i64,
    group: i64,
    badness: Array[f64],
    known: Array[f64],
    looked: Array[i64],
) -> i64:
    """Place among the candidates of the first that fails, with the criterion in `question`; `count` if none does.

    Where some draws tell that a scalar passes with room to spare, or where these leave it open, more of them, with
    more room, it is not looked at closely. The plans say how many, and `group` how many scalars are fetched together;
    0: look closely. Of a scalar that is, `known` tells R-hat, the smaller effective size, and of how many draws of
    each chain.
    """
    scalars = block.scalars
    for k in range(count):
        scalar = candidates[k]
        if group > 0 and looked[scalar] == 0:
            first = scalar - scalar % group
            together = min(group, scalars - first)
            sufficient.target_ess = AMPLE * question.target_ess
            settle_by_some(block, blocks, plan.draws, some, work, sufficient, first, together, badness, looked)
        if looked[scalar] == OPEN and more.draws > some.draws:
            sufficient.target_ess = PLENTIFUL * question.target_ess
            settle_by_some(block, blocks, plan.draws, more, work, sufficient, scalar, 1, badness, looked)
        if looked[scalar] != SETTLED:
            bring_in_order(block, blocks, plan, work, scalar)
            missed = look_closely(question, plan, work)
            badness[scalar] = question.badness
            if question.figures == ALL_FOUND or (missed != PASSES and missed != NOISE_UNKNOWN):
                known[scalar] = question.found_rhat
                known[scalars + scalar] = question.found_size
                known[2 * scalars + scalar] = f64(plan.draws)
            if missed != PASSES:
                return k
            looked[scalar] = SETTLED
    return count


@native
def measure_all(
    block: ColumnBlock,
    blocks: i64,
    plan: Plan,
    work: Workspace,
    candidates: Array[i64],
    count: i64,
    rhat: Array[f64],
    bulk: Array[f64],
    tail: Array[f64],
) -> None:
    """R-hat and both effective sizes of the candidates."""
    for k in range(count):
        bring_in_order(block, blocks, plan, work, candidates[k])
        rhat[k], bulk[k], tail[k] = figures(plan, work)


@native
def sizes_of_chains(
    block: ColumnBlock, blocks: i64, plan: Plan, single: Plan, work: Workspace, scalar: i64, sizes: Array[f64]
) -> None:
    """Bulk effective size of each chain alone; `single` is the plan of one chain with as many draws."""
    chains = plan.chains
    bring_in_order(block, blocks, plan, work, scalar)
    work.held = 0
    for c in range(chains):
        count = 0
        for r in range(chains * plan.draws):
            position = work.order[r]
            draw = position // chains
            if position - draw * chains == c and single.place[draw] >= 0:
                work.halves_order[count] = draw
                work.halves_ascending[count] = work.ascending[r]
                count += 1
        if work.halves_ascending[0] == work.halves_ascending[count - 1]:
            sizes[c] = f64(count)
        else:
            rank_scores(single, work.halves_order, work.halves_ascending)
            centre(single, work)
            sizes[c] = effective_size(single, work)
