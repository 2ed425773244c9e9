"""The convergence of a run while it goes on: blocks of draws enter, verdicts and figures leave.

The work per draw is machine code without the interpreter's lock; when to look, and what follows, stays outside.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.examination import examine
from consilience.diagnostics.watch.columns import Block, Columns, note
from consilience.diagnostics.watch.judgement import (
    BULK_ESS,
    NOISE_UNKNOWN,
    RHAT,
    RHAT_EXCESS,
    TAIL_ESS,
    Question,
    Shelf,
    first_failing,
    measure_all,
    screen,
    sizes_of_chains,
)
from consilience.diagnostics.watch.series import LAGS, Plan, Work, lay_out
from consilience.diagnostics.watch.sorting import BINS, DIGITS
from consilience.diagnostics.watch.variance_ratio import largest_ratio
from consilience.diagnostics.watch.verdict import Criterion, Failure, Figures, Rule
from consilience.errors import ShapeError
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.typed_python import NativeFunction, address
from consilience.native.typed_python.library import compile_native
from consilience.native.typed_python.records import release

FEWEST_DRAWS = 4
ALLOWANCE: Final = 0.04
WORST = 8  # scalars, settled perhaps by some draws, of which the worst is sought in all draws
AMPLE = 1.25  # effective size of some draws, over what is asked for, at which all are not looked at
THIN_DRAWS = 64
THIN_SHARE = 0.25
UNKNOWN: Final = 1.0  # badness of a scalar not looked at yet: between those that fail and those that pass

CRITERIA: Final[dict[int, Criterion]] = {
    BULK_ESS: "bulk ess",
    TAIL_ESS: "tail ess",
    RHAT: "rhat",
    RHAT_EXCESS: "rhat excess",
}


def machine_code() -> dict[str, Callable[..., Any]]:
    """The functions called from here, compiled into one library; numbers and addresses go in."""
    return prepare().result()


def prepare() -> Beside[dict[str, Callable[..., Any]]]:
    """Begin to compile them beside what the caller does next."""
    return WORKSHOP.begin("watch", _compiled)


def _compiled() -> dict[str, Callable[..., Any]]:
    word, place = ctypes.c_int64, ctypes.c_void_p
    functions: dict[NativeFunction[..., Any], tuple[Any, ...]] = {
        note: (None, place, word, place, place, place),
        lay_out: (None, place),
        first_failing: (word, place, place, place, place, place, place, place, word, place),
        measure_all: (None, place, place, place, place, word, place, place, place),
        sizes_of_chains: (None, place, place, place, place, word, place),
        screen: (word, place, word, place, place, word, ctypes.c_double, place, place),
    }
    library = compile_native(functions)
    return {
        function.name: library.function(function.name, result, *parameters)
        for function, (result, *parameters) in functions.items()
    }


def pointer(array: npt.NDArray[Any]) -> int:
    """Where an array begins."""
    return int(array.ctypes.data)


def largest_rhat(rule: Rule) -> float:
    """What no R-hat may reach."""
    return rule.target_rhat + (0.0 if rule.strict else ALLOWANCE)


class Watch:
    """The draws of a run so far, and whether they suffice.

    chains, scalars   how many of each
    memory            bytes for what is kept besides the draws
    count             draws per chain so far

    Draws are read where they lie. A scalar that is looked at is brought in order: sorted when first asked for, its new
    draws merged in later. The order, 4 bytes per draw, is kept as long as those of all scalars fit into `memory`, in
    the sequence in which scalars are first looked at; where they do not fit, the others are sorted again each time
    they are asked for. When more draws leave room for fewer orders, all are dropped and come back one by one.
    Besides, some 70 bytes per draw of a single scalar are used while one is examined.

    Figures are functions of the draws alone, in every bit, however they came in blocks and whatever was asked before.
    So is whether all scalars pass; which of several failing scalars is named depends on what failed before.

    Raises ShapeError if `chains` is not positive, or `scalars` or `memory` is negative.
    """

    def __init__(self, chains: int, scalars: int, memory: int = 1 << 28) -> None:
        if chains < 1 or scalars < 0 or memory < 0:
            raise ShapeError(
                f"a watch needs at least one chain, and numbers of scalars and bytes that are not negative; "
                f"{chains}, {scalars} and {memory} came"
            )
        self.chains = chains
        self.scalars = scalars
        self.memory = memory
        self.forget()

    def forget(self) -> None:
        """Forget all draws and all that was found of them."""
        self._columns = Columns(self.chains, self.scalars, self.memory)
        self._badness = np.full(self.scalars, UNKNOWN)
        self._last_failed = 0
        self._work: Work | None = None
        self._room = 0
        self._plans: dict[tuple[int, int], Plan] = {}
        self._asked: tuple[Rule, Question, Question] | None = None
        self._lying: tuple[Block, Shelf] | None = None

    @property
    def count(self) -> int:
        """Draws per chain so far."""
        return self._columns.count

    def extend(self, draws: npt.NDArray[Any] | Sequence[npt.NDArray[Any]]) -> None:
        """Take the next draws: (chain, n, scalar), n >= 0, real numbers in any memory layout.

        They may come as one array for each chain. They are read where they lie, so they must stay as they are; what
        is not float64 in C order is copied. Raises ShapeError for other numbers of chains or scalars, TypeError for
        elements that are no real numbers.
        """
        shapes = {own.shape for own in draws}
        if len(draws) != self.chains or [shape[1:] for shape in shapes] != [(self.scalars,)]:
            came = draws.shape if isinstance(draws, np.ndarray) else [own.shape for own in draws]
            raise ShapeError(
                f"draws need the shape (chain, draw, scalar) with {self.chains} chains and {self.scalars} scalars; "
                f"{came} came"
            )
        for own in draws:
            if own.dtype.kind not in "biuf":
                raise TypeError(f"draws need to be real numbers or booleans; their element type is {own.dtype}")
        columns, length = self._columns, len(draws[0])
        if length:
            columns.make_room(length)
            self._plans = {key: plan for key, plan in self._plans.items() if key[1] != columns.count}
            columns.add([np.require(own, np.float64, ("C", "A")) for own in draws])
            arrays = [pointer(array) for array in (columns.origin, columns.moved, columns.unusable)]
            machine_code()["note"](address(columns.blocks[-1]), self.chains, *arrays)

    def check(self, rule: Rule) -> Failure | None:
        """The first scalar found that does not pass, or None if all do.

        Scalars are looked at from the worst to the best: the one that failed last, then in order of how near they
        were to failing when last looked at; the first failure ends the check. A scalar passes when

        * its draws are finite and not all equal;
        * its effective sizes, bulk and both tails, are at least `target_ess`, if that is asked;
        * R-hat, of rank-normalised draws and of their distances from the median, is below `target_rhat` + 0.04;
        * where it is above `target_rhat`, the means of the half chains vary no more than their autocorrelation
          explains: h Var(means) / (W tau), with half chains of h draws, variance W within them and their
          autocorrelation time tau, is below the 1 - 0.01 / (2 scalars) quantile of F(2 chains - 1, 200).

        A scalar of which some draws pass with room to spare is not looked at in all of them: of evenly spread draws,
        at most every second one and as many in all as make twice the size asked for, the effective size is a quarter
        larger than it should be and R-hat is below `target_rhat`. All draws are worth more than some of them.
        Source: MacEachern and Berliner (1994), Subsampling the Gibbs sampler.

        With `strict` R-hat is below `target_rhat` instead of the last two. With one chain its two halves are compared.
        """
        columns = self._columns
        for kind, values in (("not finite", columns.unusable), ("constant", columns.moved == 0)):
            found = np.flatnonzero(values)
            if len(found) and self.count:
                scalar = int(found[0])
                missed: Criterion = "not finite" if kind == "not finite" else "constant"
                return Failure(scalar, missed, float(values[scalar]) if missed == "not finite" else 0.0, 0.0)
        if not self.scalars:
            return None
        if self.count < FEWEST_DRAWS:
            if rule.target_ess is not None:
                return Failure(0, "bulk ess", math.nan, rule.target_ess)
            return Failure(0, "rhat", math.nan, largest_rhat(rule))
        question, sufficient = self._questions(rule)
        some = self._draws_for_a_first_look(rule)
        failure = self._first_failing(question, sufficient, some, np.array([self._last_failed]))
        if failure is None:
            order = np.argsort(-self._badness, kind="stable")
            failure = self._first_failing(question, sufficient, some, order[order != self._last_failed])
        return failure

    def _questions(self, rule: Rule) -> tuple[Question, Question]:
        """What is asked of all draws, and of some; kept until another rule comes."""
        if self._asked is not None and self._asked[0] == rule:
            return self._asked[1:]
        target = 0.0 if rule.target_ess is None else rule.target_ess
        unexplained = math.inf if rule.strict else rule.target_rhat
        question = Question(target, largest_rhat(rule), unexplained, math.nan, 0, 0.0, 0.0, 0.0)
        sufficient = Question(AMPLE * target, rule.target_rhat, math.inf, math.nan, 0, 0.0, 0.0, 0.0)
        self._asked = rule, question, sufficient
        return question, sufficient

    def _draws_for_a_first_look(self, rule: Rule) -> int:
        """How many draws of each chain may do; all of them, if fewer would not save much."""
        if rule.target_ess is None or rule.strict:
            return self.count
        some = max(THIN_DRAWS, 2 * math.ceil(rule.target_ess / self.chains))
        return some if 2 * some <= self.count else self.count

    def nearest_to_failing(self) -> int:
        """The scalar in the worst state: of the worst ones when last looked at, the one with the worst figures now."""
        if self._asked is None:
            return 0
        rule = self._asked[0]
        known = np.where(np.isfinite(self._badness), self._badness, -np.inf)
        worst = np.argsort(-known, kind="stable")[:WORST]
        figures = self.measure(worst)
        missing = (figures.rhat - 1.0) / (largest_rhat(rule) - 1.0)
        if rule.target_ess is not None:
            missing = np.fmax(missing, rule.target_ess / np.fmin(figures.ess_bulk, figures.ess_tail))
        return int(worst[np.argmax(np.where(np.isnan(missing), -np.inf, missing))]) if len(worst) else 0

    def measure(self, scalars: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None) -> Figures:
        """Figures of some scalars, in their sequence, or of all."""
        wanted = self._chosen(scalars)
        figures = Figures(*(np.full(len(wanted), np.nan) for _ in range(3)))
        if self.count == 0:
            return figures
        usable = self._columns.unusable[wanted] == 0
        if self.count >= FEWEST_DRAWS and usable.any():
            those = np.ascontiguousarray(wanted[usable])
            found = [np.empty(len(those)) for _ in range(3)]
            shelf, plan, work = self._shelf(), self._plan(self.chains, self.count), self._memory()
            machine_code()["measure_all"](
                address(shelf),
                address(plan),
                address(work),
                pointer(those),
                len(those),
                *map(pointer, found),
            )
            figures.rhat[usable], figures.ess_bulk[usable], figures.ess_tail[usable] = found
            if self.chains == 1:
                figures.rhat[usable] = np.nan
        if not usable.all():  # infinite draws have ranks; rare as they are, the general form serves
            examined = examine(self._columns.draws(wanted[~usable]))
            figures.rhat[~usable] = examined.r_hat
            figures.ess_bulk[~usable] = examined.ess_bulk
            figures.ess_tail[~usable] = examined.ess_tail
        return figures

    def chain_sizes(self, scalar: int) -> npt.NDArray[np.float64]:
        """Bulk effective size of each chain alone, float64[chains]; NaN with fewer than four draws or a NaN."""
        sizes = np.full(self.chains, np.nan)
        (wanted,) = self._chosen([scalar])
        if self.count < FEWEST_DRAWS:
            return sizes
        if self._columns.unusable[wanted]:
            draws = self._columns.draws(np.array([wanted]))
            return np.array([examine(draws[c : c + 1]).ess_bulk[0] for c in range(self.chains)])
        shelf = self._shelf()
        machine_code()["sizes_of_chains"](
            address(shelf),
            address(self._plan(self.chains, self.count)),
            address(self._plan(1, self.count)),
            address(self._memory()),
            int(wanted),
            pointer(sizes),
        )
        return sizes

    def disagreeing(self, rhat: float, size: float) -> list[int]:
        """Scalars on which the chains disagree: R-hat above `rhat`, but every chain alone is worth `size` draws.

        To be cheap when there is none, R-hat of 64 evenly spaced draws of each chain is looked at first; where it
        exceeds 1 by less than a quarter of what `rhat` does, the scalar is taken to be sound. Of some 50,000 scalars
        of 2 to 8 chains with 400 draws whose R-hat was above 1.2, one was overlooked so. Empty with one chain, with
        fewer than four draws, and for scalars with draws that are not finite.
        """
        if self.chains == 1 or self.count < FEWEST_DRAWS:
            return []
        found = np.empty(self.scalars, np.int64)
        shelf = self._shelf()
        number = machine_code()["screen"](
            address(shelf),
            self.count,
            address(self._plan(self.chains, min(self.count, THIN_DRAWS))),
            address(self._memory()),
            self.scalars,
            1.0 + THIN_SHARE * (rhat - 1.0) if self.count > THIN_DRAWS else rhat,
            pointer(self._columns.unusable),
            pointer(found),
        )
        suspects = found[:number]
        apart = suspects[self.measure(suspects).rhat > rhat]
        return [int(scalar) for scalar in apart if (self.chain_sizes(int(scalar)) >= size).all()]

    def _first_failing(
        self, question: Question, sufficient: Question, some: int, candidates: npt.NDArray[np.int64]
    ) -> Failure | None:
        """Look at candidates in sequence."""
        plan, shelf, work = self._plan(self.chains, self.count), self._shelf(), self._memory()
        thin = self._plan(self.chains, some)
        begin = 0
        while begin < len(candidates):
            begin += machine_code()["first_failing"](
                address(shelf),
                address(plan),
                address(work),
                address(question),
                address(thin),
                address(sufficient),
                pointer(candidates) + begin * candidates.itemsize,
                len(candidates) - begin,
                pointer(self._badness),
            )
            if begin == len(candidates):
                break
            if question.missed == NOISE_UNKNOWN:
                question.noise = largest_ratio(self.chains, self.scalars)
                continue
            self._last_failed = int(candidates[begin])
            return Failure(self._last_failed, CRITERIA[question.missed], question.value, question.bound)
        return None

    def _chosen(self, scalars: Sequence[int] | npt.NDArray[np.integer[Any]] | None) -> npt.NDArray[np.int64]:
        """Numbers of scalars after a look at their range."""
        if scalars is None:
            return np.arange(self.scalars)
        wanted = np.array(scalars, np.int64).reshape(-1)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.scalars):
            raise IndexError(f"scalars are numbered 0 to {self.scalars - 1}; {wanted.tolist()[:10]} came")
        return wanted

    def _plan(self, chains: int, draws: int) -> Plan:
        """The plan for so many chains and draws; kept until draws are added."""
        known = self._plans.get((chains, draws))
        if known is not None:
            return known
        half = draws // 2
        stride = -(-(half + LAGS) // LAGS) * LAGS
        total = 2 * chains * half
        plan = Plan(
            chains=chains,
            draws=draws,
            half=half,
            stride=stride,
            total=total,
            place=np.empty(draws * chains, np.int32),
            scores=np.empty(2 * total - 1),
            series=np.zeros(2 * chains * stride),
        )
        machine_code()["lay_out"](address(plan))
        self._plans[chains, draws] = plan
        return plan

    def _memory(self) -> Work:
        """Memory to examine one scalar in."""
        draws = self.count
        if self._work is None or draws > self._room:
            draws = max(draws, self._room + self._room // 2)
            size = draws * self.chains
            self._work = Work(
                row=np.empty(size),
                order=np.empty(size, np.int32),
                ascending=np.empty(size),
                halves_order=np.empty(size, np.int32),
                halves_ascending=np.empty(size),
                folded_order=np.empty(size, np.int32),
                folded=np.empty(size),
                means=np.empty(2 * self.chains),
                covariance=np.empty(draws + 2 * LAGS),
                lags=0,
                within=0.0,
                between=0.0,
                pairs=np.empty(size, np.uint64),
                other=np.empty(size, np.uint64),
                places=np.empty(DIGITS * BINS, np.int64),
            )
            self._room = draws
        return self._work

    def _shelf(self) -> Shelf:
        """The draws and orders as machine code sees them; kept until there are more draws."""
        columns = self._columns
        newest = columns.blocks[-1]
        if self._lying is None:
            shelf = Shelf(
                block=newest,
                blocks=len(columns.blocks),
                chunk=columns.chunks[0],
                chunks=len(columns.chunks),
                slots=columns.slots,
                slot=columns.slot,
                ordered=columns.ordered,
                taken=columns.taken,
            )
            self._lying = newest, shelf
        elif self._lying[0] is not newest:
            shelf = self._lying[1]
            shelf.block, shelf.blocks = newest, len(columns.blocks)
            shelf.chunk, shelf.chunks, shelf.slots = columns.chunks[0], len(columns.chunks), columns.slots
            release(shelf)  # orders that were dropped are not to live on in it
            self._lying = newest, shelf
        return self._lying[1]
