"""Programs and points of the oracle: every row of the tables of functions and distributions, none named again."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
import consilience.distributions as pd
import consilience.logprob
import consilience.tensor as pt
from consilience.distributions.densities import density, log_tail, quantile
from consilience.distributions.examples import EXAMPLES
from consilience.ir import Node
from tests.distributions.cases import CASES, Case
from tests.distributions.cases import name_of as name_of_case
from tests.slopes.oracle import Point, Program
from tests.tensor.table import FUNCTIONS, Row

Array = npt.NDArray[Any]
LENGTHS = {"n": 3, "m": 2, "p": 4, "q": 3, "r": 2}
# Arguments that have no derivative; tests/tensor/test_table.py has that they say so.
NOT_MOVING = dict.fromkeys(["iv", "ive", "jv", "kn", "kv", "kve", "yv", "expn", "zeta"], (0,))


def functions() -> Iterator[tuple[Program, Row]]:
    """Every row of functions.txt and of the scalar functions that has a float argument."""
    for name, rows in FUNCTIONS.items():
        for row in rows:
            if "f" not in row.kinds:
                continue
            arrays = row.arrays("float64", LENGTHS, _random(row.text))
            moving = tuple(
                i for i, a in enumerate(arrays) if a.dtype == np.float64 and i not in NOT_MOVING.get(name, ())
            )
            if moving:
                yield Program(f"{name}:{row.text}", row.ours, moving), row


def points_of_row(row: Row) -> Iterator[Point]:
    """Ordinary numbers, and structures that the shapes and the range of the row allow."""
    rng = _random(row.text)
    ordinary = row.arrays("float64", LENGTHS, rng)
    yield Point("ordinary", tuple(ordinary))
    yield Point("one of them", tuple(ordinary), alone=True)
    for title, change in STRUCTURES.items():
        arrays = tuple(
            change(a, *bounds) if a.dtype == np.float64 else a for a, bounds in zip(ordinary, row.ranges, strict=True)
        )
        if any(a is not b for a, b in zip(arrays, ordinary, strict=True)):
            yield Point(title, arrays)
            yield Point(f"{title}, one of them", arrays, alone=True)
    for title, lengths in (("one element", dict.fromkeys(LENGTHS, 1)), ("empty", {**LENGTHS, "n": 0})):
        if any(letter.isalpha() for word in row.shapes for letter in word.rpartition(":")[2]):
            if title == "empty" and ("full" in row.remarks or not any("n" in word for word in row.shapes)):
                continue
            yield Point(title, tuple(row.arrays("float64", lengths, rng)))


def _random(text: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(text.encode()))


def _some(a: Array, value: float, low: float, high: float) -> Array:
    """Every second number replaced, where the range allows it."""
    if not low <= value <= high or not a.size:
        return a
    changed = a.copy()
    changed.reshape(-1)[::2] = value
    return changed


def _square(change: Callable[[Array], Array]) -> Callable[[Array, float, float], Array]:
    def changed(a: Array, low: float, high: float) -> Array:
        fits = a.ndim >= 2 and a.shape[-1] == a.shape[-2] and low <= 0.0 <= high
        return change(a) if fits else a

    return changed


STRUCTURES: dict[str, Callable[[Array, float, float], Array]] = {
    "zeros": lambda a, low, high: _some(a, 0.0, low, high),
    "all zeros": lambda a, low, high: np.zeros_like(a) if low <= 0.0 <= high else a,
    "ones": lambda a, low, high: _some(a, 1.0, low, high),
    "repeated": lambda a, low, high: np.full_like(a, a.flat[0]) if a.size else a,
    "whole": lambda a, low, high: (
        np.clip(np.round(a), np.ceil(low), np.floor(high)) if np.ceil(low) <= np.floor(high) else a
    ),
    "lower end": lambda a, low, high: _some(a, low, low, high),
    "upper end": lambda a, low, high: _some(a, high, low, high),
    "lower triangle": _square(np.tril),
    "upper triangle": _square(np.triu),
    "unit matrix": _square(lambda a: np.broadcast_to(np.eye(a.shape[-1]), a.shape).copy()),
    "equal eigenvalues": _square(lambda a: np.broadcast_to(np.diag([1.0] * (a.shape[-1] - 1) + [2.0]), a.shape).copy()),
    "singular": _square(lambda a: a * (np.arange(a.shape[-1]) > 0)[:, None]),
}


# ---- distributions


def distributions() -> Iterator[tuple[Program, list[Point]]]:
    """Log densities, log probabilities and quantiles of every row of the tables of distributions."""
    for case in CASES:
        yield from _of_case(case)
    for name, example in EXAMPLES.items():
        yield from _of_example(name, example.given, example.value)
    for name in COMPOSED:
        yield from _of_composed(name)


def _of_case(case: Case) -> Iterator[tuple[Program, list[Point]]]:
    rng = _random(name_of_case(case))
    with np.errstate(all="ignore"):
        parameters, frozen = case.sample(rng, (3,))
        values = np.asarray(case.values(rng, frozen, 2), float)
    names = list(parameters)
    given = [
        np.asarray(parameters[n], float if np.asarray(parameters[n]).dtype.kind == "f" else "int64") for n in names
    ]
    moving = tuple(i for i, a in enumerate(given) if a.dtype == float)
    for formula in ("logp", "logcdf", "icdf"):
        if not case.has(formula) or (formula == "icdf" and case.discrete):
            continue

        def build(*nodes: Node, formula: str = formula) -> Node:
            rv = case.distribution.dist(**dict(zip(names, nodes[:-1], strict=True)))
            return _formula(formula, rv, nodes[-1])

        if formula == "icdf":
            rows = np.asarray([rng.uniform(0.1, 0.9, 3), rng.uniform(0.0, 1.0, 3), [0.0, 0.5, 1.0]])
        else:
            rows = values.astype("int64") if case.discrete else values
        places = moving if rows.dtype.kind == "i" else (*moving, len(given))
        points = [Point(f"{np.round(np.asarray(row, float), 6).tolist()}", (*given, row)) for row in rows]
        same = [np.full_like(a, a.flat[0]) for a in given]
        points.append(Point("repeated", (*same, np.full_like(rows[0], rows[0].flat[0]))))
        points.append(Point("one of them", (*given, rows[-1]), alone=True))
        points.append(Point("empty", tuple(a[:0] for a in (*given, rows[0]))))
        yield Program(f"{name_of_case(case)}.{formula}", build, places), points


def _formula(formula: str, rv: Node, value: Node) -> Node:
    if formula == "logp":
        return pd.densities.supported_density(rv, value)
    return log_tail(rv, value, formula) if formula == "logcdf" else quantile(rv, value)


def _of_example(name: str, given: str, value: str) -> Iterator[tuple[Program, list[Point]]]:
    """The example of a distribution's documentation: its floats move, and its matrices take their triangles."""
    if not value or name == "BART":  # the density of trees is a constant
        return
    arguments = eval(f"dict({given})", {"pm": pm, "np": np})
    at = np.asarray(eval(value, {"np": np}))
    settings = {"dt", *(p.name for p in getattr(getattr(pm, name), "static_parameters", ()))}  # numbers, not tensors
    moving = {n: np.asarray(v, float) for n, v in arguments.items() if _is_float(v) and n not in settings}
    names = list(moving)

    def build(*nodes: Node) -> Node:
        told = dict(zip(names, nodes, strict=False))
        rv = getattr(pm, name).dist(**{n: told.get(n, v) for n, v in arguments.items()})
        return density(rv, nodes[-1])

    arrays = (*moving.values(), at)
    places = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    points = [Point("example", arrays)]
    for title, cut in (("lower triangle", np.tril), ("unit matrices", lambda a: np.eye(len(a)))):
        changed = tuple(
            cut(a) if a.ndim == 2 and a.shape[0] == a.shape[1] and a.dtype.kind == "f" else a for a in arrays
        )
        if any(a is not b for a, b in zip(arrays, changed, strict=True)):
            points.append(Point(title, changed))
    yield Program(f"{name}({given})", build, places), points


# Distributions of distributions and of matrices: parameters, values, and how both become a variable.
FACTOR = np.linalg.cholesky([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
COMPOSED: dict[str, tuple[str, Callable[..., Node], list[Any], list[Any]]] = {
    "LKJCorr at factors": ("logp", lambda eta: pd.LKJCorr.dist(3, eta), [1.5], [FACTOR, np.eye(3)]),
    "LKJCholeskyCov": (
        "logp",
        lambda eta, rate: pd.LKJCholeskyCov.dist(eta, 3, pd.Exponential.dist(rate), compute_corr=False),
        [1.5, [1.0, 2.0, 0.5]],
        [[0.7, -0.1, 0.9, 0.4, 0.5, 0.6], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]],
    ),
    "Truncated Gamma": (
        "logp logcdf icdf",
        lambda a, b, low, high: pd.Truncated.dist(pd.Gamma.dist(a, b), low, high),
        [2.5, 1.3, 0.4, 2.0],
        [0.9, 1.2, 1.6],
    ),
    "Truncated of one side": (
        "logp logcdf", lambda m, s, low: pd.Truncated.dist(pd.Logistic.dist(m, s), low),
        [0.3, 1.2, -0.5], [0.4, 1.1, 30.0],
    ),
    "Censored Normal": (
        "logp logcdf", lambda m, s, low, high: pd.Censored.dist(pd.Normal.dist(m, s), low, high),
        [0.3, 1.2, -0.5, 1.5], [-0.3, 0.4, 1.2],
    ),
    "Censored Weibull at its bound": (
        "logp", lambda a, b: pd.Censored.dist(pd.Weibull.dist(a, b), None, 2.0), [1.5, 1.2], [2.0, 0.4, 2.0]
    ),
    "Mixture": (
        "logp logcdf",
        lambda w, m, s: pd.Mixture.dist(pt.stack([w, 1 - w], -1), [pd.Normal.dist(m, 1.0), pd.Laplace.dist(-m, s)]),
        [0.3, 0.7, 1.4],
        [-0.4, 0.1, 2.0],
    ),
    "HurdleGamma at 0": ("logp", lambda p, a, b: pd.HurdleGamma.dist(p, a, b), [0.6, 2.0, 1.5], [0.0, 0.4, 3.0]),
    "CustomDist by draws": (
        "logp logcdf icdf",
        lambda a, b: pd.CustomDist.dist(a, b, dist=lambda a, b, size: pt.exp(a + b * pd.Gumbel.dist(0, 1, size=size))),
        [0.3, 0.8],
        [0.5, 1.0, 3.0],
    ),
    "CustomDist by density": (
        "logp", lambda a, b: pd.CustomDist.dist(a, b, logp=lambda v, a, b: -b * pt.abs(v - a) + pt.log(b / 2)),
        [0.3, 0.8], [0.5, 1.0, -3.0],
    ),
}  # fmt: skip


def _of_composed(name: str) -> Iterator[tuple[Program, list[Point]]]:
    formulas, make, given, values = COMPOSED[name]
    parameters = [np.asarray(v, float) for v in given]
    for formula in formulas.split():

        def build(*nodes: Node, formula: str = formula) -> Node:
            return _formula(formula, make(*nodes[:-1]), nodes[-1])

        rows = [[0.1, 0.5, 0.9]] if formula == "icdf" else values if np.ndim(values[0]) else [values]
        points = [Point(f"values {k}", (*parameters, np.asarray(row, float))) for k, row in enumerate(rows)]
        moving = range(len(parameters) + (" at " not in name))  # values at masses and bounds stay there
        yield Program(f"{name}.{formula}", build, tuple(moving)), points


def _is_float(value: object) -> bool:
    if isinstance(value, list):
        shapes = {np.shape(part) for part in value if not isinstance(part, list) or not any(map(np.ndim, part))}
        return bool(re.fullmatch(r"[-\d\[\]., ]*\d\.\d[-\d\[\]., ]*", repr(value))) and (
            len(shapes) == 1 or np.asarray(value, object).ndim == 2
        )
    return isinstance(value, float)
