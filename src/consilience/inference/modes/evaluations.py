"""Batches of ascents, log densities and line minima on threads, counted against a budget.

Rows are divided among threads; each row's result depends on that row alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity, evaluate, stopped
from consilience.inference.messages import Stopped
from consilience.inference.modes.ascent import Ascents, Climber, LinearMap, ascend_rows, new_climber
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.mathematics import inf
from consilience.native.threads import NativeThreads
from consilience.native.typed_python import Array, NativeFunction, address, boolean, f64, i64, native, record
from consilience.native.typed_python.library import compile_native
from consilience.record import Record

Floats = NDArray[np.float64]

INTERIOR: Final = 9  # points of a line that are looked at, ends left out
GOLDEN: Final = 0.6180339887498949


@record
class Points:
    """Points at which a log density is wanted.

    `points`: f64[rows, dimension]. `logps`: f64[rows]. `gradients`: f64[rows, dimension] if `sloping`.
    """

    points: Array[f64]
    logps: Array[f64]
    sloping: boolean
    gradients: Array[f64]


@record
class StraightLines:
    """Straight lines whose lowest log density is wanted.

    `begins`, `ends`: f64[rows, dimension]. `enough`: a value that ends the search once something lower was found,
    f64[rows]. `lowest`: least log density of the points inside, f64[rows].
    """

    begins: Array[f64]
    ends: Array[f64]
    enough: Array[f64]
    lowest: Array[f64]


@native
def evaluate_rows(climber: Climber, points: Points, first: i64, step: i64, rows: i64) -> None:
    """Log densities, and gradients where wanted, of rows first, first + step, ... below `rows`."""
    n = climber.scaled.dimension
    row = first
    while row < rows and not stopped(climber.density):
        gradient = climber.slope
        if points.sloping:
            gradient = points.gradients[row * n :]
        points.logps[row] = evaluate(climber.density, points.points[row * n :], gradient)
        row += step


@native
def lowest_rows(climber: Climber, lines: StraightLines, first: i64, step: i64, rows: i64) -> None:
    """Least log densities of lines first, first + step, ... below `rows`; from the middle outwards."""
    n = climber.scaled.dimension
    row = first
    while row < rows and not stopped(climber.density):
        begin = lines.begins[row * n :]
        end = lines.ends[row * n :]
        lowest = inf
        k = 0
        while k < INTERIOR and lowest >= lines.enough[row]:
            place = (INTERIOR + 1) // 2 + ((k + 1) // 2 if k % 2 == 0 else -((k + 1) // 2))
            # Not evenly spaced: of modes in a lattice all such points may lie on modes.
            shift = GOLDEN * float(place)
            share = (float(place) + 0.7 * (shift - float(int(shift)) - 0.5)) / float(INTERIOR + 1)
            for i in range(n):
                climber.point[i] = begin[i] + share * (end[i] - begin[i])
            lowest = min(lowest, evaluate(climber.density, climber.point, climber.slope))
            k += 1
        lines.lowest[row] = lowest
        row += step


class Ends(Record, eq=False):
    """Where ascents ended.

    `points`: float64[rows, dimension]. `logps`: -inf where no finite log density was found, float64[rows].
    `decrements`: an estimate of twice the gain that is left, float64[rows].
    """

    points: Floats
    logps: Floats
    decrements: Floats


Rows = Callable[[int, int, int, int, int], None]


def preparing() -> Beside[tuple[Rows, Rows, Rows]]:
    """Begin to compile the batches on a thread of its own, unless that was done before."""
    return WORKSHOP.begin("modes", _compiled)


def _compiled() -> tuple[Rows, Rows, Rows]:
    functions: tuple[NativeFunction[..., None], ...] = (ascend_rows, evaluate_rows, lowest_rows)
    library = compile_native(functions)
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    ascending, evaluating, lowest = (
        library.function(function.name, None, pointer, pointer, integer, integer, integer) for function in functions
    )
    return ascending, evaluating, lowest


class Evaluations:
    """What is asked of a log density, in batches; a context manager that owns its threads.

    spent    evaluations of the log density so far, with their gradients
    position of all coordinates, for the density of some: see `open_density`
    budget   evaluations that may be made; whoever asks for more than `left` has to ask for less

    Batches raise Stopped if the stop flag is set, for then some of their rows are missing.
    """

    def __init__(
        self,
        target: LogDensity,
        budget: int,
        threads: int = 1,
        stop: NDArray[np.int64] | None = None,
        position: Floats | None = None,
    ) -> None:
        self.target = target  # records hold addresses only, which are good as long as it is there
        self.dimension = target.dimension
        self.budget = budget
        self.threads = threads
        self._stop = np.zeros(1, np.int64) if stop is None else stop
        self._climbers = [new_climber(target, self._stop, position) for _ in range(threads)]
        self._ascending, self._evaluating, self._lowest = preparing().result()
        # The caller's thread only waits, so that an interrupt reaches it.
        self._pool = NativeThreads(threads, "consilience-modes")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop[0] = 1
        self._pool.shutdown()

    @property
    def spent(self) -> int:
        return sum(climber.density.evaluations for climber in self._climbers)

    @property
    def left(self) -> int:
        return max(0, self.budget - self.spent)

    def affordable(self, wanted: int, each: int) -> int:
        """How many of the rows wanted, of so many evaluations at most each, the budget allows."""
        return min(wanted, self.left // each)

    def _run(self, function: Rows, batch: Any, rows: int) -> None:
        calls = [
            self._pool.submit(function, address(climber), address(batch), k, self.threads, rows)
            for k, climber in enumerate(self._climbers[:rows])
        ]
        for call in calls:
            call.result()
        if self._stop[0]:
            raise Stopped

    def ascend(
        self, starts: Floats, coordinates: LinearMap, longest: Floats, centre: Floats, most: int, tolerance: float
    ) -> Ends:
        """Ascents from each row of `starts`, float64[rows, dimension]; see `Ascents`."""
        rows = len(starts)
        points = np.array(starts, np.float64, order="C")
        logps, decrements = np.full(rows, -np.inf), np.full(rows, np.inf)
        batch = Ascents(
            points=points.reshape(-1),
            logps=logps,
            decrements=decrements,
            longest=np.ascontiguousarray(longest, np.float64),
            centre=np.ascontiguousarray(centre, np.float64),
            coordinates=coordinates,
            most=most,
            tolerance=tolerance,
        )
        self._run(self._ascending, batch, rows)
        return Ends(points, logps, decrements)

    def at(self, points: Floats) -> Floats:
        """Log densities of the rows, float64[rows]."""
        return self._at(points, np.zeros((1, 1)), False)

    def gradients(self, points: Floats) -> Floats:
        """Gradients of the rows, float64[rows, dimension]; NaN where the log density is not finite."""
        return self.with_gradients(points)[1]

    def with_gradients(self, points: Floats) -> tuple[Floats, Floats]:
        """Both: what `at` and `gradients` return."""
        gradients = np.full(points.shape, np.nan)
        logps = self._at(points, gradients, True)
        gradients[~np.isfinite(logps)] = np.nan
        return logps, gradients

    def _at(self, points: Floats, gradients: Floats, sloping: bool) -> Floats:
        logps = np.full(len(points), -np.inf)
        flat = np.ascontiguousarray(points, np.float64).reshape(-1)
        self._run(self._evaluating, Points(flat, logps, sloping, gradients.reshape(-1)), len(points))
        return logps

    def lowest(self, begins: Floats, ends: Floats, enough: Floats) -> Floats:
        """Least log density inside each line; where it is below `enough`, some value below `enough`."""
        lowest = np.full(len(begins), -np.inf)
        batch = StraightLines(
            np.ascontiguousarray(begins, np.float64).reshape(-1),
            np.ascontiguousarray(ends, np.float64).reshape(-1),
            np.ascontiguousarray(enough, np.float64),
            lowest,
        )
        self._run(self._lowest, batch, len(begins))
        return lowest
