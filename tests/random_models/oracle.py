"""What a model means: its log density in NumPy at a point, and exact directional derivatives.

In: a program. Out: numbers, in float64 whatever the data's type. A derivative is the imaginary part of the value at
a point moved by a tiny imaginary step: no difference of near numbers is taken, so it is as exact as the value.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.random_models.densities import FAMILIES, constrained
from tests.random_models.dialect import NUMPY, evaluate
from tests.random_models.program import Line, Program

Array = npt.NDArray[Any]
STEP = 1e-30
LARGEST = 1e6  # of the sum of the magnitudes of all terms, and of its derivatives
SPREAD = 0.6  # standard deviation of points on the unconstrained line


class InvalidProgramError(Exception):
    """The model has no finite value in NumPy at its point, or its shapes do not fit."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation.

    terms        log densities of events, and potentials
    natural      values of all names
    point        the unconstrained values by their full names
    scipy        SciPy's value of the log density without potentials and Jacobians, and ours
    """

    terms: list[Array]
    natural: dict[str, Any]
    point: dict[str, Array]
    scipy: tuple[float, float] | None

    @property
    def value(self) -> Any:
        """The log density."""
        return sum((np.sum(t) for t in self.terms), 0.0)

    @property
    def magnitude(self) -> float:
        """The sum of the magnitudes of what is added."""
        return float(sum(np.sum(np.abs(np.real(t))) for t in self.terms))


def evaluated(
    program: Program, arrays: Mapping[str, Array], moved: Mapping[str, Array] | None = None, *, scipy: bool = False
) -> Evaluation:
    """The model's terms; `moved` adds to the unconstrained values by variable name."""
    values: dict[str, Any] = {name: _wide(a) for name, a in arrays.items()}
    values |= dict(program.sizes)
    terms: list[Array] = []
    point: dict[str, Array] = {}
    by_scipy = by_formula = 0.0
    for line in program.lines:
        if line.kind in ("let", "deterministic", "potential"):
            values[line.name] = evaluate(line.arguments[0][1], NUMPY, values)
            if line.kind == "potential":
                terms.append(np.asarray(values[line.name]))
            continue
        family = FAMILIES[line.family]
        given = family.values({name: evaluate(t, NUMPY, values) for name, t in line.arguments})
        jacobian: Any = 0.0
        if line.kind == "observed":
            value = evaluate(line.observed, NUMPY, values)
            broadcast = np.broadcast_shapes(_event_shape(line, given), np.shape(value))
            if broadcast != np.shape(value):
                raise InvalidProgramError("data are broadcast to the parameters")
        else:
            shape = _event_shape(line, given) if line.shape is None else program.shape(line.shape)
            if np.broadcast_shapes(shape, _event_shape(line, given)) != shape:
                raise InvalidProgramError("parameters do not fit the shape")
            free = (*shape[:-1], shape[-1] - 1) if family.support == "simplex" else shape
            u = program.generator(line.name).normal(0.0, SPREAD, free)
            moved_u = u if moved is None or line.name not in moved else u + moved[line.name]
            value, jacobian, ending = constrained(family.support, moved_u, given)
            point[line.name + ending] = u
        density = np.asarray(family.formula(value, *given))
        terms.append(density + jacobian if line.kind == "variable" else density)
        if scipy:
            by_scipy += float(np.sum(family.scipy(value, *given)))
            by_formula += float(np.sum(density))
        values[line.name] = value
    return Evaluation(terms, values, point, (by_scipy, by_formula) if scipy else None)


def _wide(array: Array) -> Array:
    return array.astype({"f": "float64", "b": "bool"}.get(array.dtype.kind, "int64"))


def _event_shape(line: Line, given: list[Any]) -> tuple[int, ...]:
    """The shape of a variable that its parameters alone give."""
    shape = FAMILIES[line.family].shape
    if shape is not None:
        return shape(*given)
    if line.family == "MvNormal":
        mu, cov = given
        return np.broadcast_shapes(np.shape(mu), np.shape(cov)[-1:])
    if line.family == "Categorical":
        return np.shape(given[0])[:-1]
    return np.broadcast_shapes(*map(np.shape, given))


@dataclass(frozen=True)
class Truth:
    """The value at the program's point, and derivatives along directions.

    value, magnitude      the log density, and the sum of the magnitudes of its terms
    directions            rows of the unconstrained space
    slopes, magnitudes    derivative along each, and the sum of the magnitudes of the terms' derivatives
    """

    point: dict[str, Array]
    natural: dict[str, Any]
    value: float
    magnitude: float
    directions: Array
    slopes: Array
    magnitudes: Array


def truth(program: Program, arrays: Mapping[str, Array], most: int = 40) -> Truth:
    """What the compiled model must give.

    most     coordinates along which derivatives are taken one by one; beyond them at random, beside sums of all
    raises   InvalidProgramError where NumPy finds nothing finite, or numbers out of any reasonable range
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            at = evaluated(program, arrays, scipy=True)
            shapes = {_variable(key): v.shape for key, v in at.point.items()}
            dimension = sum(v.size for v in at.point.values())
            directions = _directions(program, dimension, most)
            slopes, magnitudes = np.zeros(len(directions)), np.zeros(len(directions))
            for i, direction in enumerate(directions):
                terms = evaluated(program, arrays, _moves(shapes, direction)).terms
                slopes[i] = sum(np.sum(np.imag(t)) for t in terms) / STEP
                magnitudes[i] = sum(np.sum(np.abs(np.imag(t))) for t in terms) / STEP
        except InvalidProgramError:
            raise
        except Exception as error:
            raise InvalidProgramError(f"{type(error).__name__}: {error}") from error
    if any(np.iscomplexobj(t) or t.dtype.kind not in "fiub" for t in at.terms):
        raise InvalidProgramError("terms are not real")
    value = float(at.value)
    if not dimension or not np.isfinite([value, *slopes]).all():
        raise InvalidProgramError("not finite")
    if at.magnitude > LARGEST or max(magnitudes, default=0.0) > LARGEST:
        raise InvalidProgramError("out of range")
    assert at.scipy is not None
    if not np.isfinite(at.scipy[0]):
        raise InvalidProgramError("SciPy finds nothing finite")
    np.testing.assert_allclose(at.scipy[1], at.scipy[0], rtol=1e-8, atol=1e-8 * (1 + at.magnitude), err_msg="formulas")
    return Truth(at.point, at.natural, value, at.magnitude, directions, slopes, magnitudes)


def _variable(key: str) -> str:
    return key[:-2].rsplit("_", 1)[0] if key.endswith("__") else key


def _directions(program: Program, dimension: int, most: int) -> Array:
    if dimension <= most:
        return np.eye(dimension)
    generator = program.generator("directions")
    chosen = generator.choice(dimension, most // 2, replace=False)
    return np.concatenate([np.eye(dimension)[chosen], generator.choice([-1.0, 1.0], (3, dimension))])


def _moves(shapes: Mapping[str, tuple[int, ...]], direction: Array) -> dict[str, Array]:
    moves, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        moves[name] = 1j * STEP * direction[start : start + size].reshape(shape)
        start += size
    return moves
