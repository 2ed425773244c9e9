"""Slopes are differences of what is computed: one law for every program, point, direction and backend.

In: a program (inputs to float results) and a point. Out: what was compared, or an AssertionError. Differences are those
of the compiled function itself, so no other library decides what a function means. Where it has a kink or ends, slopes
must be numbers; where it is smooth, backwards, forwards and second derivatives must be the differences.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.errors import DtypeError, ExecutionError, MissingRuleError
from consilience.ir import Node, constant, tensor_input
from consilience.ops import apply
from consilience.ops.reduce import reduce
from consilience.ops.shape import reshape
from consilience.transforms.gradient import pullback, pushforward

Array = npt.NDArray[Any]
Line = Callable[[float], float]
Run = Callable[[Sequence[Node], Sequence[Node]], Callable[[Sequence[Array]], list[Array]]]


class Program(NamedTuple):
    """Inputs to results; `moving` are the places of the float inputs with a derivative."""

    name: str
    build: Callable[..., Any]
    moving: tuple[int, ...]


class Point(NamedTuple):
    """Arrays for all inputs, and whether one element of the results is taken alone."""

    title: str
    arrays: tuple[Array, ...]
    alone: bool = False


def by_reference(inputs: Sequence[Node], outputs: Sequence[Node]) -> Callable[[Sequence[Array]], list[Array]]:
    """NumPy's meaning."""

    def run(arrays: Sequence[Array]) -> list[Array]:
        with np.errstate(all="ignore"):
            return reference.evaluate(outputs, dict(zip(inputs, arrays, strict=True)))

    return run


def by_machine_code(inputs: Sequence[Node], outputs: Sequence[Node]) -> Callable[[Sequence[Array]], list[Array]]:
    """Machine code, with all that the compiler does."""
    import consilience.tensor as pt

    made = pt.function(list(inputs), list(outputs), on_unused_input="ignore")
    return lambda arrays: [np.asarray(result) for result in made(*arrays)]


def by_engine(name: str, inputs: Sequence[Node], outputs: Sequence[Node]) -> Callable[[Sequence[Array]], list[Array]]:
    """JAX or PyTorch."""
    import consilience.tensor as pt

    made = getattr(pt.function(list(inputs), list(outputs), on_unused_input="ignore"), name)
    if name == "torch":
        import torch

        return lambda arrays: [np.asarray(result) for result in made(*(torch.as_tensor(a) for a in arrays))]
    return lambda arrays: [np.asarray(result) for result in made(*arrays)]


BACKENDS: dict[str, Run] = {
    "reference": by_reference,
    "machine code": by_machine_code,
    "jax": functools.partial(by_engine, "jax"),
    "torch": functools.partial(by_engine, "torch"),
}


class Difference(NamedTuple):
    """The derivative of a function of one number at 0, and how far it may be off: inf at a kink or an end."""

    value: float
    error: float


def difference(of: Callable[[float], float], scale: float) -> Difference:
    """Richardson's extrapolation of central differences, from the steps where it agrees best with itself."""
    best = Difference(np.nan, np.inf)
    for step in (scale * 2e-2, scale * 2e-3, scale * 2e-4):
        h = [step, step / 2, step / 4]
        sides = [(of(s), of(-s)) for s in h]
        if not np.isfinite(sides).all():
            continue
        first, second, third = ((up - down) / (2 * s) for (up, down), s in zip(sides, h, strict=True))
        once, twice = (4 * second - first) / 3, (4 * third - second) / 3
        value = (16 * twice - once) / 15
        rounding = 1e-15 * max(abs(number) for pair in sides for number in pair) / h[-1]
        error = abs(value - twice) + rounding
        if error < best.error:
            best = Difference(value, error)
    return best


def smooth(of: Callable[[float], float], scale: float, found: Difference) -> bool:
    """Whether both sides have the slope that was found, as far as differences tell."""
    tolerance = 1e-4 * (1.0 + abs(found.value))
    if not found.error < 1e-2 * tolerance:
        return False
    here, step = of(0.0), 1e-5 * scale
    slopes = [(of(sign * step) - here) / (sign * step) for sign in (1.0, -1.0)]
    rounding = 1e-15 * abs(here) / step
    curvature = abs(slopes[0] - slopes[1])
    return curvature < tolerance + 10 * rounding


def check(program: Program, point: Point, run: Run, done: Counter[str], second: bool = True) -> None:
    """The law at one point."""
    arrays, moving = list(point.arrays), program.moving
    if not all(np.isfinite(arrays[i]).all() for i in moving):
        done["at infinity"] += 1
        return
    rng = np.random.default_rng(len(program.name) + 7 * len(point.title))
    nodes = [tensor_input(str(a.dtype), a.shape, f"x{i}") for i, a in enumerate(arrays)]
    try:
        made = program.build(*nodes)
    except DtypeError:  # a function of integers
        done["not of floats"] += 1
        return
    results = [made] if isinstance(made, Node) else [r for r in made if isinstance(r, Node)]
    results = [r for r in results if r.dtype in ("float64", "float32")]
    try:
        values = by_reference(nodes, results)(arrays)
    except ExecutionError:  # a matrix that has no factorisation, …
        values = []
    terms = []
    for result, value in zip(results, values, strict=False):
        places = np.flatnonzero(np.isfinite(value.ravel()))
        if point.alone and len(places):
            places = places[rng.integers(len(places))][None]
        if len(places):
            weights = rng.choice([-1.0, 1.0], len(places)) * rng.uniform(0.5, 1.0, len(places))
            if len(places) == value.size:
                chosen, weights = result, weights.reshape(value.shape)
            else:
                chosen = reshape(result, (value.size,))[constant(places)]
            terms.append(reduce("sum", apply("mul", chosen, constant(weights))))
    if not terms:
        done["without a value"] += 1
        return
    total = apply("add", *terms, 0.0)
    wrt = [nodes[i] for i in moving]
    directions = [
        np.asarray(rng.choice([-1.0, 1.0], a.shape) * rng.uniform(0.5, 1.0, a.shape), a.dtype)
        for a in (arrays[i] for i in moving)
    ]
    slopes = pullback([total], wrt, [constant(np.ones((), total.dtype))])
    tangents = [constant(d) for d in directions]
    (forth,) = pushforward([total], wrt, tangents)
    along = apply("add", *(reduce("sum", apply("mul", s, t)) for s, t in zip(slopes, tangents, strict=True)), 0.0)
    value_of, slope_of = run(nodes, [total]), run(nodes, [*slopes, forth])

    def moved(t: float, directions: Sequence[Array] = directions) -> list[Array]:
        at = list(arrays)
        for i, d in zip(moving, directions, strict=True):
            at[i] = np.asarray(arrays[i] + t * d, arrays[i].dtype)
        return at

    def line(of: Callable[[Sequence[Array]], list[Array]], directions: Sequence[Array] = directions) -> Line:
        def value(t: float) -> float:
            try:
                return float(of(moved(t, directions))[0])
            except ExecutionError:
                return np.nan

        return value

    def linear(of: Callable[[Sequence[Array]], list[Array]], along: Difference) -> bool:
        """Whether slopes along sums of directions are sums of slopes; they are not where elements tie."""
        for _ in range(4):
            other = [np.asarray(rng.normal(size=d.shape), d.dtype) for d in directions]
            both = [a + b for a, b in zip(directions, other, strict=True)]
            second, third = (difference(line(of, d), 1.0) for d in (other, both))
            if not all(smooth(line(of, d), 1.0, f) for d, f in ((other, second), (both, third))):
                return False
            if abs(along.value + second.value - third.value) >= 1e-5 * (1.0 + abs(third.value)):
                return False
        return True

    *back, forwards = slope_of(arrays)
    backwards = sum(float(np.sum(b * d)) for b, d in zip(back, directions, strict=True))
    done["slopes"] += 2
    said = f"{program.name} at {point.title}"
    assert not any(np.isnan(b).any() for b in back), f"{said}: NaN backwards {back}"
    if any(np.isinf(b).any() for b in back):
        done["kinks and ends"] += 1
        return
    assert not np.isnan(forwards), f"{said}: NaN forwards"
    found = difference(line(value_of), 1.0)
    if not smooth(line(value_of), 1.0, found):
        done["kinks and ends"] += 1
        return
    tolerance = 1e-5 * (1.0 + abs(found.value)) + 10 * found.error
    off = max(abs(backwards - found.value), abs(float(forwards) - found.value))
    if off >= tolerance and not linear(value_of, found):
        done["kinks and ends"] += 1
        return
    done["differences"] += 2
    assert off < tolerance, f"{said}: backwards {backwards}, forwards {forwards}, difference {found}"
    if not second:
        return
    try:
        twice = pullback([along], wrt, [constant(np.ones((), along.dtype))])
    except MissingRuleError:
        done["second derivatives refused"] += 1
        return
    along_of, second_of = run(nodes, [along]), run(nodes, twice)
    bent = difference(line(along_of), 1.0)
    if not smooth(line(along_of), 1.0, bent):
        done["bends"] += 1
        return
    curved = sum(float(np.sum(b * d)) for b, d in zip(second_of(arrays), directions, strict=True))
    tolerance = 1e-4 * (1.0 + abs(bent.value)) + 10 * bent.error
    if not abs(curved - bent.value) < tolerance and not linear(along_of, bent):
        done["bends"] += 1
        return
    done["second derivatives"] += 1
    assert abs(curved - bent.value) < tolerance, f"{said}: second derivative {curved}, difference {bent}"


def single(program: Program, point: Point) -> None:
    """Slopes of float32 arguments are float32, and near those of the same numbers in float64."""
    found: list[list[Array]] = []
    for dtype in ("float64", "float32"):
        arrays = [a.astype("float32").astype(dtype) if a.dtype == np.float64 else a for a in point.arrays]
        nodes = [tensor_input(str(a.dtype), a.shape, f"x{i}") for i, a in enumerate(arrays)]
        try:
            made = program.build(*nodes)
        except DtypeError:  # a function of integers
            return
        results = [r for r in ([made] if isinstance(made, Node) else made) if isinstance(r, Node) and r.dtype == dtype]
        if not results:
            return
        total = apply("add", *(reduce("sum", apply("square", r)) for r in results), np.asarray(0.0, dtype))
        wrt = [nodes[i] for i in program.moving]
        slopes = pullback([total], wrt, [constant(np.ones((), total.dtype))])
        assert [s.dtype for s in slopes] == [dtype] * len(slopes), f"{program.name}: dtypes {[s.dtype for s in slopes]}"
        found.append(by_reference(nodes, slopes)(arrays))
    for double, less in zip(*found, strict=True):
        finite = np.isfinite(double) & np.isfinite(less)
        size = 1.0 + np.max(np.abs(double), initial=0.0, where=finite)
        np.testing.assert_allclose(less[finite], double[finite], rtol=2e-2, atol=2e-3 * size, err_msg=program.name)
