"""Judging scalars: their draws and a rule enter; the first that does not pass, or figures of all, leave.

All loops over scalars and draws are here or below, in machine code; what is worth asking is decided outside.
"""

from __future__ import annotations

from consilience.diagnostics.watch.columns import Block, Chunk, fetch_order, fetch_row, fetch_thinned, keep_order
from consilience.diagnostics.watch.series import (
    Plan,
    Work,
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
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

LOWER_TAIL = 0.05
UPPER_TAIL = 0.95

PASSES = 0
BULK_ESS = 1
TAIL_ESS = 2
RHAT = 3
RHAT_EXCESS = 4
NOISE_UNKNOWN = 5  # the bound of the variance ratio is needed and was not given


@record
class Shelf:
    """All draws: the newest block and the newest chunk, how many there are, and the orders kept; see `Columns`."""

    block: Block
    blocks: i64
    chunk: Chunk
    chunks: i64
    slots: i64
    slot: Array[i64]
    ordered: Array[i64]
    taken: Array[i64]


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
    """

    target_ess: f64
    rhat: f64
    target_rhat: f64
    noise: f64
    missed: i64
    value: f64
    bound: f64
    badness: f64


@native(shared=True)
def bring_in_order(shelf: Shelf, plan: Plan, work: Work, scalar: i64) -> None:
    """Row, order and sorted draws of a scalar; what is new since its order was kept is sorted and merged."""
    chains = plan.chains
    draws = plan.draws
    fetch_row(shelf.block, shelf.blocks, scalar, chains, work.row)
    slot = shelf.slot[scalar]
    if slot < 0 and shelf.taken[0] < shelf.slots:
        slot = shelf.taken[0]
        shelf.slot[scalar] = slot
        shelf.taken[0] = slot + 1
    known = shelf.ordered[scalar] if slot >= 0 else 0
    if 4 * known < 3 * draws:  # sorting everything takes no longer than merging a long run
        known = 0
    begin = known * chains
    end = draws * chains
    if known > 0:
        fetch_order(shelf.chunk, shelf.chunks, slot, chains, known, work.order)
        for r in range(begin):
            work.ascending[r] = work.row[work.order[r]]
    if known < draws:
        sort_positions(work.row, begin, end, work.order, work.ascending, work.pairs, work.other, work.places)
        if known > 0:
            merge_behind(work.order, work.ascending, begin, end, work.folded_order, work.folded)
        if slot >= 0:
            keep_order(shelf.chunk, shelf.chunks, slot, chains, draws, work.order)
            shelf.ordered[scalar] = draws
    if plan.total < end:
        leave_out_middle(plan, work)


@native(shared=True)
def score_bulk(plan: Plan, work: Work) -> i64:
    """The centred series of rank-normalised draws; 1 if all of them are equal, otherwise 0."""
    order = work.order
    ascending = work.ascending
    if plan.total < plan.chains * plan.draws:
        order = work.halves_order
        ascending = work.halves_ascending
    rank_scores(plan, order, ascending)
    centre(plan, work)
    return 1 if ascending[0] == ascending[plan.total - 1] else 0


@native(shared=True)
def score_folded(plan: Plan, work: Work) -> None:
    """The centred series of rank-normalised distances from the median."""
    order = work.order
    ascending = work.ascending
    if plan.total < plan.chains * plan.draws:
        order = work.halves_order
        ascending = work.halves_ascending
    fold(order, ascending, plan.total, work.folded_order, work.folded)
    rank_scores(plan, work.folded_order, work.folded)
    centre(plan, work)


@native(shared=True)
def size_of_tail(plan: Plan, work: Work, probability: f64) -> f64:
    """Effective size of a quantile: that of the indicators of not exceeding it."""
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
def misses_agreement(question: Question, plan: Plan, work: Work, rhat: f64) -> i64:
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
def judge(question: Question, plan: Plan, work: Work) -> i64:
    """The criterion that the scalar brought in order misses first, or `PASSES`."""
    question.badness = 0.0
    sized = question.target_ess > 0.0
    constant = score_bulk(plan, work)
    rhat = scale_reduction(plan, work)
    missed = PASSES
    size = 0.0
    if sized:
        size = f64(plan.total) if constant == 1 else effective_size(plan, work)
        missed = misses_size(question, BULK_ESS, size)
        if missed != PASSES:
            return missed
    missed = misses_agreement(question, plan, work, rhat)
    if missed != PASSES:
        return missed
    if sized:
        size = min(size_of_tail(plan, work, LOWER_TAIL), size_of_tail(plan, work, UPPER_TAIL))
        missed = misses_size(question, TAIL_ESS, size)
        if missed != PASSES:
            return missed
    score_folded(plan, work)
    rhat = scale_reduction(plan, work)
    if isnan(rhat):  # all distances are equal, as for a fair coin: the draws alone decide
        return PASSES
    return misses_agreement(question, plan, work, rhat)


@native(shared=True)
def bring_some_in_order(shelf: Shelf, draws: i64, thin: Plan, work: Work, scalar: i64) -> None:
    """As `bring_in_order`, for `thin.draws` of the draws, evenly spread; the order is not kept."""
    fetch_thinned(shelf.block, shelf.blocks, scalar, thin.chains, draws, thin.draws, work.row)
    end = thin.chains * thin.draws
    sort_positions(work.row, 0, end, work.order, work.ascending, work.pairs, work.other, work.places)
    if thin.total < end:
        leave_out_middle(thin, work)


@native
def first_failing(
    shelf: Shelf,
    plan: Plan,
    work: Work,
    question: Question,
    thin: Plan,
    sufficient: Question,
    candidates: Array[i64],
    count: i64,
    badness: Array[f64],
) -> i64:
    """Place among the candidates of the first that fails, with the criterion in `question`; `count` if none does.

    Where some draws alone pass what is asked in `sufficient`, all draws are not looked at: there is room to spare, and
    `badness` is below 0. `thin` says how many; if they are all draws, there is no such look.
    """
    looks = 1 if thin.draws == plan.draws else 2
    for k in range(count):
        scalar = candidates[k]
        missed = NOISE_UNKNOWN
        look = 0
        while look < looks and missed != PASSES:
            look += 1
            at_all = look == looks
            if at_all:
                bring_in_order(shelf, plan, work, scalar)
            else:
                bring_some_in_order(shelf, plan.draws, thin, work, scalar)
            asked = question if at_all else sufficient
            missed = judge(asked, plan if at_all else thin, work)
            badness[scalar] = asked.badness - (0.0 if at_all else 1.0)
        if missed != PASSES:
            question.missed = missed
            return k
    return count


@native
def measure_all(
    shelf: Shelf,
    plan: Plan,
    work: Work,
    candidates: Array[i64],
    count: i64,
    rhat: Array[f64],
    bulk: Array[f64],
    tail: Array[f64],
) -> None:
    """R-hat and both effective sizes of the candidates."""
    for k in range(count):
        bring_in_order(shelf, plan, work, candidates[k])
        constant = score_bulk(plan, work)
        of_ranks = scale_reduction(plan, work)
        bulk[k] = f64(plan.total) if constant == 1 else effective_size(plan, work)
        tail[k] = min(size_of_tail(plan, work, LOWER_TAIL), size_of_tail(plan, work, UPPER_TAIL))
        score_folded(plan, work)
        of_distances = scale_reduction(plan, work)
        rhat[k] = of_distances if of_distances > of_ranks else of_ranks


@native
def sizes_of_chains(shelf: Shelf, plan: Plan, single: Plan, work: Work, scalar: i64, sizes: Array[f64]) -> None:
    """Bulk effective size of each chain alone; `single` is the plan of one chain with as many draws."""
    chains = plan.chains
    bring_in_order(shelf, plan, work, scalar)
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


@native
def screen(
    shelf: Shelf, draws: i64, thin: Plan, work: Work, scalars: i64, rhat: f64, unusable: Array[f64], found: Array[i64]
) -> i64:
    """The scalars whose R-hat of `thin.draws` of their draws exceeds `rhat`; gives their number."""
    count = 0
    for scalar in range(scalars):
        if unusable[scalar] == 0.0:
            bring_some_in_order(shelf, draws, thin, work, scalar)
            score_bulk(thin, work)
            large = scale_reduction(thin, work) > rhat
            if not large:
                score_folded(thin, work)
                large = scale_reduction(thin, work) > rhat
            if large:
                found[count] = scalar
                count += 1
    return count
