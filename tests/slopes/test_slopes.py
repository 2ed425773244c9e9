"""Every derivative of every function and distribution is a difference of the function itself.

The tables of functions and distributions say what there is, so that a new row is checked without being named here. What
has no derivative stands in one list, with its reason.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pytest

from consilience.errors import MissingRuleError
from tests.rows import over_rows
from tests.slopes.oracle import BACKENDS, Point, Program, check, single
from tests.slopes.programs import distributions, functions, points_of_row

# Functions without a derivative, and how they say so.
NO_DERIVATIVE = {
    "schur:": "derivative",
    "qz:": "has no derivative",
    "ordqz:": "has no derivative",
    "tridiagonal_lu": "is not known",
    "qr:la.qr(x, 'raw')": "the derivative of `Householder` is not known",
    "qr:la.qr(x, pivoting=True)": "columns of Q beyond those of .* have no derivative",
}
# What says itself that its slopes are no differences.
DECLARED = ("stop_gradient:", "zero_grad:", "disconnected_grad:", "grad_", "consider_constant:", "custom_")
# Quantiles of 0 and 1 at ends that are parameters have no slope in the probability.
ENDS = "[0.0, 0.5, 1.0]"
# Functions that have derivatives at ordinary points, and none at some structured ones.
ORDINARY_ALONE = {
    **dict.fromkeys(
        ["eigh", "eig", "eigvals", "svd", "cond"],
        "vectors of equal values have any direction; they are infinite or NaN there",
    ),
    **dict.fromkeys(
        ["qr", "qr_full", "lu", "lu_factor", "ldl", "pinv", "lstsq", "matrix_rank"],
        "factors of singular matrices jump, and signs of Householder's vectors at triangular ones",
    ),
    **dict.fromkeys(["nonzero_values", "nonzero", "argwhere", "unique"], "lengths of results depend on values"),
    **dict.fromkeys(
        ["partition", "sort", "quantile", "percentile", "median", "permute_row_elements"],
        "elements that tie exchange places",
    ),
}  # fmt: skip
STRUCTURE_FREE = ("ordinary", "one of them", "one element", "empty")


def cases() -> Iterator[tuple[Program, list[Point]]]:
    """All programs with their points."""
    for program, row in functions():
        if program.name.startswith(DECLARED):
            continue
        name = program.name.split(":")[0].rpartition(".")[2]
        points = list(points_of_row(row))
        yield program, [p for p in points if name not in ORDINARY_ALONE or p.title in STRUCTURE_FREE]
    for program, points in distributions():
        at_ends = program.name.endswith(".icdf")
        yield program, [p for p in points if not (at_ends and p.title in (ENDS, "one of them"))]


def law(program: Program, points: Iterable[Point], backend: str, second: bool = True) -> Counter[str]:
    """The law at some points of a program; one without a derivative says so."""
    done: Counter[str] = Counter()
    reason = next((r for start, r in NO_DERIVATIVE.items() if program.name.startswith(start)), None)
    for point in points:
        try:
            check(program, point, BACKENDS[backend], done, second)
        except MissingRuleError as error:
            if reason is None or not re.search(reason, str(error)):
                raise
            break
    return done


def one_of(program: Program, points: list[Point], salt: int) -> list[Point]:
    """A point of a program, another one for every salt."""
    return [points[(zlib.crc32(program.name.encode()) + salt) % len(points)]] if points else []


def _name(program: Program, points: list[Point]) -> str:
    return program.name


@over_rows("program, points", cases(), _name)
def test_slopes_are_differences_of_what_is_computed(program: Program, points: list[Point]) -> None:
    """At one point of each program, backwards and forwards."""
    law(program, one_of(program, points, 0), "reference", second=False)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_all_derivatives_at_all_points(part: int) -> None:
    """Second derivatives, too, in NumPy's meaning."""
    _all(part, 16, "reference", lambda program, points: points)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
@pytest.mark.parametrize("backend", ["machine code", "jax", "torch"])
def test_all_derivatives_on_other_backends(backend: str, part: int) -> None:
    """At three points of each program."""
    if backend in ("jax", "torch"):
        pytest.importorskip(backend)
    _all(part, 16, backend, lambda program, points: [p for k in range(3) for p in one_of(program, points, k)])


def _all(part: int, parts: int, backend: str, chosen: Callable[[Program, list[Point]], list[Point]]) -> None:
    rows = [case for k, case in enumerate(cases()) if k % parts == part]
    over_rows("program, points", rows, _name)(lambda program, points: law(program, chosen(program, points), backend))()


@over_rows("program, points", (case for k, case in enumerate(cases()) if k % 7 == 3), _name)
def test_single_precision_has_the_slopes_of_double(program: Program, points: list[Point]) -> None:
    """Float32 arguments give float32 slopes near those of float64."""
    if not points or program.name.startswith(tuple(NO_DERIVATIVE)):
        return
    single(program, points[0])
