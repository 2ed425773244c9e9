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
from consilience.diagnostics.watch.columns import Columns, note
from consilience.diagnostics.watch.description import describe
from consilience.diagnostics.watch.judgement import (
    BULK_ESS,
    GROUP,
    NOISE_UNKNOWN,
    PASSES,
    RHAT,
    RHAT_EXCESS,
    TAIL_ESS,
    UNSOUND,
    Question,
    first_failing,
    judge_given,
    measure_all,
    sizes_of_chains,
)
from consilience.diagnostics.watch.memory import plan_for, workspace_for
from consilience.diagnostics.watch.persistence import guess_times
from consilience.diagnostics.watch.screening import screen
from consilience.diagnostics.watch.series import TURNS, Plan, Workspace, lay_out
from consilience.diagnostics.watch.variance_ratio import largest_ratio
from consilience.diagnostics.watch.verdict import Criterion, Failure, Figures, StoppingRule
from consilience.errors import ShapeError
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.typed_python import NativeFunction, address
from consilience.native.typed_python.library import compile_native

FEWEST_DRAWS = 4
FIRST_ROOM = 1000  # draws of each chain
ALLOWANCE: Final = 0.04
WORST = 3  # scalars, settled perhaps by some draws, of which the worst is sought in all draws
THIN_DRAWS = 64
SCREENED_DRAWS = 96
SCREENED_SHARE = 0.15

Found = dict[str, Any]  # the last scalar that failed, how near to failing each one was, how slowly they seem to move

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
        note: (word, place, word, word, *(place,) * 4),
        guess_times: (None, place, word, place, place),
        lay_out: (None, place, word, word, word),
        first_failing: (word, place, word, *(place,) * 7, word, word, place, place, place),
        judge_given: (word, *(place,) * 4),
        measure_all: (None, place, word, *(place,) * 3, word, place, place, place),
        sizes_of_chains: (None, place, word, *(place,) * 3, word, place),
        describe: (word, place, word, place, place, ctypes.c_double, *(word,) * 4, place),
        screen: (word, place, word, place, word, word, word, word, ctypes.c_double, place, place),
    }
    library = compile_native(functions)
    return {
        function.name: library.function(function.name, result, *parameters)
        for function, (result, *parameters) in functions.items()
    }


def pointer(array: npt.NDArray[Any]) -> int:
    """Where an array begins."""
    return int(array.ctypes.data)


def _as_they_lie(draws: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The same array where machine code can read it."""
    if draws.dtype == np.float64 and draws.flags.c_contiguous and draws.flags.aligned:
        return draws
    if draws.dtype.kind not in "biuf":
        raise TypeError(f"draws need to be real numbers or booleans; their element type is {draws.dtype}")
    return np.require(draws, np.float64, ("C", "A"))


def largest_rhat(rule: StoppingRule) -> float:
    """What no R-hat may reach."""
    return rule.target_rhat + (0.0 if rule.strict else ALLOWANCE)


def asking(rule: StoppingRule) -> Question:
    """What is asked of all draws."""
    target = 0.0 if rule.target_ess is None else rule.target_ess
    unexplained = math.inf if rule.strict else rule.target_rhat
    return Question(target, largest_rhat(rule), unexplained, math.nan, PASSES, 0.0, 0.0, 0.0)


def asking_of_some(rule: StoppingRule) -> Question:
    """What is asked of some draws, so that all need not be looked at; the size depends on how many they are."""
    return Question(0.0, rule.target_rhat, math.inf, math.nan, PASSES, 0.0, 0.0, 0.0)


def failure_of(scalar: int, question: Question) -> Failure:
    """The answer to a question, in words."""
    return Failure(
        scalar,
        CRITERIA[question.missed],
        question.value,
        question.bound,
        question.found_rhat,
        question.found_size,
    )


def too_few(scalar: int, rule: StoppingRule) -> Failure:
    """What is said where there are too few draws to look at."""
    if rule.target_ess is not None:
        return Failure(scalar, "bulk ess", math.nan, rule.target_ess)
    return Failure(scalar, "rhat", math.nan, largest_rhat(rule))


class Watch:
    """The draws of a run so far, and whether they suffice.

    chains, scalars   how many of each
    count             draws per chain so far

    Draws are read where they lie. The scalar that was looked at last stays in order in memory, and its new draws are
    merged in; others are sorted when they are looked at. Some 200 bytes per draw of a single scalar are used for it.

    Figures are functions of the draws alone, in every bit, however they came in blocks and whatever was asked before.
    So is whether all scalars pass; which of several failing scalars is named depends on what failed before.

    Raises ShapeError if `chains` is not positive, or `scalars` is negative.
    """

    def __init__(self, chains: int, scalars: int) -> None:
        if chains < 1 or scalars < 0:
            raise ShapeError(
                f"a watch needs at least one chain, and a number of scalars that is not negative; "
                f"{chains} and {scalars} came"
            )
        self.chains = chains
        self.scalars = scalars
        self.forget()

    def forget(self) -> None:
        """Forget all draws and all that was found of them."""
        self._columns = Columns(self.chains, self.scalars)
        self._badness = np.full(self.scalars, math.nan)  # of those that were looked at
        self._known = np.zeros((3, self.scalars))  # R-hat and size of those looked at closely, and of how many draws
        self._looked = np.zeros(self.scalars, np.int64)  # what some draws say of each, in the present check
        self._addresses = [pointer(array) for array in (self._badness, self._known, self._looked)]
        self._slowness: npt.NDArray[np.float64] | None = None
        self._last_failed = 0
        self._work: Workspace | None = None
        self._room = 0
        self._unsound = False  # some draws are not finite, or those of a scalar all equal
        self._plans: dict[str, tuple[Plan, int, int, int]] = {}
        self._asked: tuple[StoppingRule, Question, Question] | None = None

    @property
    def found(self) -> Found:
        """What was found of the scalars, on which it depends which of several failing ones is named."""
        slowness = self._slowness
        return {
            "last_failed": self._last_failed,
            "badness": self._badness.copy(),
            "slowness": None if slowness is None else slowness.copy(),
        }

    def begin_with(self, found: Found) -> None:
        """Look at scalars in the sequence in which the watch that found this would; no effect if it had others."""
        if len(found["badness"]) == self.scalars:
            self._last_failed = int(found["last_failed"])
            self._badness[:] = found["badness"]
            slowness = found["slowness"]
            self._slowness = None if slowness is None else np.array(slowness, np.float64)

    @property
    def count(self) -> int:
        """Draws per chain so far."""
        return self._columns.count

    def extend(self, draws: npt.NDArray[Any] | Sequence[npt.NDArray[Any]], *, finite: bool = False) -> None:
        """Take the next draws: (chain, n, scalar), n >= 0, real numbers in any memory layout.

        finite   whether it is known that they all are finite; else that is found out

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
        columns, length = self._columns, len(draws[0])
        columns.check_number(length)
        given = [_as_they_lie(own) for own in draws]
        if length:
            first = columns.count == 0
            columns.add(given)
            if finite and not first and not self._unsound:
                return  # all scalars have moved before
            self._unsound = bool(machine_code()["note"](columns.newest, self.chains, finite, *columns.addresses))

    def check(self, rule: StoppingRule) -> Failure | None:
        """The first scalar found that does not pass, or None if all do.

        Scalars are looked at from the worst to the best: the one that failed last, then in order of how near they
        were to failing when last looked at; the first failure ends the check. A scalar passes when

        * its draws are finite and not all equal;
        * its effective sizes, bulk and both tails, are at least `target_ess`, if that is asked;
        * R-hat, of rank-normalised draws and of their distances from the median, is below `target_rhat` + 0.04;
        * where it is above `target_rhat`, the means of the half chains vary no more than their autocorrelation
          explains: h Var(means) / (W tau), with half chains of h draws, variance W within them and their
          autocorrelation time tau, is below the 1 - 0.01 / (2 scalars) quantile of F(2 chains - 1, 200).

        A scalar of which some draws pass with room to spare is not looked at closely: of evenly spread draws, as many
        in all as make twice the size asked for, or all, the effective size is a quarter larger than it should be and
        R-hat is below `target_rhat`; or of twice as many draws the effective size is twice as large as it should be.
        All draws are worth more than some of them.
        Source: MacEachern and Berliner (1994), Subsampling the Gibbs sampler. Their ranks are those of 128 equal
        steps of their range, where none of these holds more than a sixteenth of them.

        With `strict` R-hat is below `target_rhat` instead of the last two. With one chain its two halves are compared.
        """
        if self._unsound:
            return self._unsound_scalar()
        if not self.scalars:
            return None
        if self.count < FEWEST_DRAWS:
            return too_few(0, rule)
        question, sufficient = self._questions(rule)
        if self._slowness is None:
            self._slowness = self._autocorrelation_times()
            self._last_failed = int(np.argmax(self._slowness))
        self._looked[:] = 0
        failure = self._first_failing(question, sufficient, 0, np.array([self._last_failed]))
        if failure is None:
            guesses = question.target_ess / (self.chains * self.count) * self._slowness
            order = np.argsort(-np.where(np.isnan(self._badness), guesses, self._badness), kind="stable")
            failure = self._first_failing(question, sufficient, self._draws_for_a_first_look(rule), order)
        return failure

    def check_given(self, draws: npt.NDArray[np.float64], rule: StoppingRule) -> Failure | None:
        """The same for a further scalar, of which all draws are given: float64 (chain, count).

        The failure names the scalar `scalars`. Raises ShapeError for other numbers of chains or draws.
        """
        if draws.shape != (self.chains, self.count):
            raise ShapeError(
                f"draws of a further scalar need the shape (chain, draw) of the others, {(self.chains, self.count)}; "
                f"{draws.shape} came"
            )
        number = self.scalars
        if self.count < FEWEST_DRAWS:
            return too_few(number, rule)
        given = _as_they_lie(draws)
        question = asking(rule)
        question.noise = largest_ratio(self.chains, 1)
        plan, work = self._plan("all", self.chains, self.count), self._memory()
        missed = machine_code()["judge_given"](pointer(given), address(plan), address(work), address(question))
        if missed == UNSOUND:
            unusable = np.count_nonzero(~np.isfinite(given))
            return Failure(number, "not finite" if unusable else "constant", float(unusable), 0.0)
        return None if missed == PASSES else failure_of(number, question)

    def _autocorrelation_times(self) -> npt.NDArray[np.float64]:
        """A guess for each scalar, float64[scalars], from the newest draws of each chain."""
        columns, times = self._columns, np.empty(self.scalars)
        memory = np.empty((5, self.scalars))
        blocks = min(self.chains, columns.blocks)
        machine_code()["guess_times"](columns.newest, blocks, pointer(memory), pointer(times))
        return times

    def _unsound_scalar(self) -> Failure:
        """The first scalar that is not finite, or else constant."""
        columns = self._columns
        if columns.unusable.any():
            scalar = int(np.flatnonzero(columns.unusable)[0])
            return Failure(scalar, "not finite", float(columns.unusable[scalar]), 0.0)
        return Failure(int(np.flatnonzero(columns.moved == 0)[0]), "constant", 0.0, 0.0)

    def _questions(self, rule: StoppingRule) -> tuple[Question, Question]:
        """What is asked of all draws, and of some; kept until another rule comes."""
        if self._asked is None or self._asked[0] != rule:
            self._asked = rule, asking(rule), asking_of_some(rule)
        return self._asked[1:]

    def _draws_for_a_first_look(self, rule: StoppingRule) -> int:
        """How many draws of each chain may do; 0: none but all, looked at closely."""
        if rule.target_ess is None or rule.strict:
            return 0
        enough = max(THIN_DRAWS, 2 * math.ceil(rule.target_ess / self.chains))
        return min(-(-enough // (2 * TURNS)) * 2 * TURNS, self.count // 2 * 2)  # half chains of whole turns

    def draws(self, scalar: int) -> npt.NDArray[np.float64]:
        """All draws of a scalar so far, (chain, draw)."""
        return self._columns.draws(self._chosen([scalar]))[:, :, 0]

    def nearest_to_failing(self) -> tuple[int, float, float]:
        """The scalar in the worst state, with R-hat and the smaller of its effective sizes.

        It is the worst of those that were looked at closely just now. Where some draws settled all, it is the one with
        the worst figures of the worst ones by these draws.
        """
        if self._asked is None or not self.scalars:
            return 0, math.nan, math.nan
        rule = self._asked[0]
        badness = np.where(np.isfinite(self._badness), self._badness, -np.inf)
        closely = np.where(self._known[2] == self.count, badness, -np.inf)
        nearest = int(np.argmax(closely))
        if closely[nearest] >= 0.0:
            rhat, size = self._known[:2, nearest].tolist()
            return nearest, math.nan if self.chains == 1 else rhat, size
        worst = np.argsort(-badness, kind="stable")[:WORST]
        figures = self.measure(worst)
        sizes = np.fmin(figures.ess_bulk, figures.ess_tail)
        missing = (figures.rhat - 1.0) / (largest_rhat(rule) - 1.0)
        if rule.target_ess is not None:
            missing = np.fmax(missing, rule.target_ess / sizes)
        place = np.argmax(np.where(np.isnan(missing), -np.inf, missing))
        return int(worst[place]), float(figures.rhat[place]), float(sizes[place])

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
            plan, work = self._plan("all", self.chains, self.count), self._memory()
            machine_code()["measure_all"](
                self._columns.newest,
                self._columns.blocks,
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
        machine_code()["sizes_of_chains"](
            self._columns.newest,
            self._columns.blocks,
            address(self._plan("all", self.chains, self.count)),
            address(self._plan("single", 1, self.count)),
            address(self._memory()),
            int(wanted),
            pointer(sizes),
        )
        return sizes

    def mixing_alone(self, scalars: Sequence[int], size: float) -> list[int]:
        """Those of some scalars of which every chain alone is worth `size` draws."""
        return [scalar for scalar in scalars if (self.chain_sizes(scalar) >= size).all()]

    def apart(self, rhat: float) -> list[int]:
        """Scalars whose R-hat is above `rhat`.

        To be cheap when there is none, 96 evenly spread draws of each chain are looked at first: the shares of them
        below a point near the median, and between points near the quartiles. Where neither varies between chains by
        0.15 of what R-hat allows, the scalar is taken to be sound. Of 42,171 scalars of 2 to 8 chains with 400
        draws whose R-hat was above 1.2, three were overlooked so.
        Empty with one chain, with fewer than four draws, and for scalars with draws that are not finite.
        """
        if self.chains == 1 or self.count < FEWEST_DRAWS:
            return []
        found = np.empty(self.scalars, np.int64)
        number = machine_code()["screen"](
            self._columns.newest,
            self._columns.blocks,
            address(self._memory()),
            self.chains,
            self.count,
            min(self.count, SCREENED_DRAWS),
            self.scalars,
            SCREENED_SHARE * (rhat**2 - 1.0),
            pointer(self._columns.unusable),
            pointer(found),
        )
        if not number:
            return []
        suspects = found[:number]
        apart: list[int] = suspects[self.measure(suspects).rhat > rhat].tolist()
        return apart

    def _first_failing(
        self,
        question: Question,
        sufficient: Question,
        some: int,
        candidates: npt.NDArray[np.int64],
    ) -> Failure | None:
        """Look at candidates in sequence, first at so many draws of each chain; 0: at all at once."""
        plan, work = self._plan("all", self.chains, self.count), self._memory()
        place = pointer(candidates)
        plan_of_some = self._plan("some", self.chains, some) if some else plan
        plan_of_more = self._plan("more", self.chains, min(2 * some, self.count // 2 * 2)) if some else plan
        begin = 0
        while begin < len(candidates):
            begin += machine_code()["first_failing"](
                self._columns.newest,
                self._columns.blocks,
                address(plan),
                address(work),
                address(question),
                address(plan_of_some),
                address(plan_of_more),
                address(sufficient),
                place + begin * candidates.itemsize,
                len(candidates) - begin,
                min(some, GROUP),
                *self._addresses,
            )
            if begin == len(candidates):
                break
            if question.missed == NOISE_UNKNOWN:
                question.noise = largest_ratio(self.chains, self.scalars)
                continue
            self._last_failed = int(candidates[begin])
            return failure_of(self._last_failed, question)
        return None

    def _chosen(self, scalars: Sequence[int] | npt.NDArray[np.integer[Any]] | None) -> npt.NDArray[np.int64]:
        """Numbers of scalars after a look at their range."""
        if scalars is None:
            return np.arange(self.scalars)
        wanted = np.array(scalars, np.int64).reshape(-1)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.scalars):
            raise IndexError(f"scalars are numbered 0 to {self.scalars - 1}; {wanted.tolist()[:10]} came")
        return wanted

    def _plan(self, role: str, chains: int, draws: int) -> Plan:
        """The plan for so many chains and draws, in memory that serves all plans with this role one after another."""
        plan, of_chains, of_draws, room = self._plans.get(role, (None, 0, 0, 0))
        if plan is not None and (of_chains, of_draws) == (chains, draws):
            return plan
        if plan is None or draws > room:
            room = max(draws, 2 * room, FIRST_ROOM if role == "all" else 0)
            plan = plan_for(chains, room)
        machine_code()["lay_out"](address(plan), chains, draws, role in ("some", "more"))
        self._plans[role] = plan, chains, draws, room
        return plan

    def _memory(self) -> Workspace:
        """Memory to examine one scalar in."""
        draws = self.count
        if self._work is None or draws > self._room:
            draws = max(draws, 2 * self._room, FIRST_ROOM)
            self._work = workspace_for(self.chains, draws)
            self._room = draws
        return self._work
