"""The laws of integrals: densities by quadrature and by algebra, draws by identities that hold for no other density.

In: a model and variables of it. Out: in words what is wrong, or that the integral was refused.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp

import consilience as pm
from consilience.distributions.random_variable import distribution_of
from consilience.errors import ModelError
from consilience.ir import topological
from consilience.model import model_density
from consilience.model.fields import fields
from consilience.model.integration import check
from consilience.model.reparametrization import (
    centred_hierarchies,
    heavy_priors,
    is_centred_as_a_whole,
    location_and_scale,
)
from consilience.model.scale_mixtures import products
from consilience.model.summation import cost, without
from consilience.model.transport import correlated, suited
from consilience.record import as_plain
from consilience.sample.coordinates import ChainCoordinates, rewritten
from tests.elimination.generate import Program

Array = npt.NDArray[Any]
Point = dict[str, Array]
TOLERANCE: Final = 1e-6
LOW: Final = 45.0  # below the highest log density, at which quadrature ends
NODES: Final = {1: 300, 2: 70, 3: 46}
ENDS: Final = {3: 22.0}  # in place of LOW
FURTHER: Final = {2: 1.6, 3: 1.25}  # than the ends along each axis
DRAWS: Final = 400
DEVIATIONS: Final = 6.5  # of a mean of draws


class Wrong(AssertionError):
    """What a law says does not hold."""


class Plain:
    """The density of a model as it is, compiled once; slopes when they are first asked for."""

    def __init__(self, model: pm.Model) -> None:
        self.model = model
        self.logp = model.compile_logp()
        self.start = model.initial_point()
        self.keys = {v.name: str(value.name) for v, value in zip(model.free_RVs, model.value_vars, strict=True)}

    @cached_property
    def slope(self) -> Any:
        return self.model.compile_dlogp()


class Whole:
    """The plain density at a point of all variables but the block, as a function of the block's coordinates."""

    def __init__(self, plain: Plain, names: Sequence[str], kinds: Mapping[str, str], rest: Point) -> None:
        self.plain, self.rest, self.names = plain, rest, list(names)
        self.keys = [plain.keys[name] for name in names]
        self.shapes = [np.shape(plain.start[key]) for key in self.keys]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])
        self.places = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        self.size = int(ends[-1])
        # Sets of coordinates that are integrated together; normal ones are all in the first.
        self.block = np.arange(0)
        self.sets: list[Array] = []
        self.heavy: list[Array] = []  # those of matrices whose inverses have light tails
        for name, shape, places in zip(names, self.shapes, self.places, strict=True):
            if kinds[name] == "normal":
                self.block = np.concatenate([self.block, places])
            else:
                together = kinds[name] in ("shares", "matrices", "inverse matrices")
                own = list(places.reshape(-1, shape[-1] if together else 1))
                self.sets += own
                self.heavy += own if kinds[name] == "inverse matrices" else []
        sizes = {key: np.size(value) for key, value in plain.start.items() if np.asarray(value).dtype.kind == "f"}
        begins = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
        self.inside, self.outside = (
            np.concatenate([np.arange(0), *(begins[key] + np.arange(sizes[key]) for key in keys)])
            for keys in (self.keys, [key for key in rest if key in sizes])
        )

    def point(self, at: Array) -> Point:
        parts = {k: at[p].reshape(s) for k, p, s in zip(self.keys, self.places, self.shapes, strict=True)}
        return {**self.rest, **parts}

    def __call__(self, at: Array) -> float:
        return float(self.plain.logp(self.point(at)))

    def slopes(self, at: Array) -> tuple[Array, Array]:
        """Along the block, and along all other variables."""
        found = np.asarray(self.plain.slope(self.point(at)))
        return found[self.inside], found[self.outside]

    def integral(self) -> float:
        """The logarithm of the integral over the block: sets of coordinates must be independent of each other."""
        at = np.full(self.size, -0.2)
        value = base = self(at)
        if np.isneginf(base):  # data that are impossible, whatever the block is
            return base
        moves = []
        if len(self.block):
            moves.append(self.block)
            value += self._by_algebra(at, base)
        for own in self.sets:
            moves.append(own)
            value += self._by_quadrature(at, own, base)
        self._are_independent(at, base, moves)
        return value

    def _are_independent(self, at: Array, base: float, moves: Sequence[Array]) -> None:
        if len(moves) < 2:
            return
        other = at + np.random.default_rng(1).uniform(-0.5, 0.5, self.size)
        alone = []
        for own in moves:
            moved = at.copy()
            moved[own] = other[own]
            alone.append(self(moved) - base)
        if abs(self(other) - base - sum(alone)) > TOLERANCE * (1 + abs(base)):
            raise Wrong("elements that were integrated one by one act on each other")

    def _by_algebra(self, at: Array, base: float) -> float:
        own = self.block

        def slope(values: Array) -> Array:
            moved = at.copy()
            moved[own] = values
            return self.slopes(moved)[0][own]

        start = slope(np.zeros(len(own)))
        precision = -np.array([slope(unit) - start for unit in np.eye(len(own))])
        there = np.random.default_rng(2).normal(size=len(own)) * 3
        if np.abs(slope(there) - start + precision @ there).max() > 1e-6 * (1 + np.abs(precision).max() * 10):
            raise Wrong("a density that is not quadratic was integrated as a normal one")
        moved = at.copy()
        moved[own] = np.linalg.solve(precision, start)
        _, volume = np.linalg.slogdet(precision)
        return self(moved) - base + len(own) / 2 * np.log(2 * np.pi) - volume / 2

    def _by_quadrature(self, at: Array, own: Array, base: float) -> float:
        """The trapezoidal rule, whose errors of analytic functions are smaller than any power of the step."""

        def value(values: Array) -> float:
            moved = at.copy()
            moved[own] = values
            return self(moved) - base

        if len(own) == 1:
            low, high = self._ends(lambda u: value(np.array([u])))
            axes = [np.linspace(low, high, NODES[1])]
        else:
            count, low, wide = len(own), ENDS.get(len(own), LOW), FURTHER[len(own)]
            peak = self._peak(value, count)
            if count == 3 and any(own is heavy for heavy in self.heavy):
                value, peak = _by_regression(value, peak)
            ends = [self._ends(lambda u, i=i: value(peak + u * np.eye(count)[i]), low) for i in range(count)]
            axes = [np.linspace(c + wide * a, c + wide * b, NODES[count]) for c, (a, b) in zip(peak, ends, strict=True)]
        found = [value(np.array(node)) for node in itertools.product(*axes)]
        step = np.prod([axis[1] - axis[0] for axis in axes])
        return float(logsumexp(found) + np.log(step))

    @staticmethod
    def _peak(value: Callable[[Array], float], count: int) -> Array:
        """Where a density of a few coordinates is highest, so that its axes go through there."""
        found = minimize(lambda u: -value(u), np.zeros(count), method="Nelder-Mead", options={"xatol": 1e-2})
        return np.asarray(found.x)

    @staticmethod
    def _ends(value: Callable[[float], float], low: float = LOW) -> tuple[float, float]:
        coarse = np.arange(-30.0, 30.5, 0.5)
        levels = np.array([value(u) for u in coarse])
        highest = np.nanmax(levels)
        ends = []
        for sign in (-1.0, 1.0):
            u = float(coarse[np.nanargmax(levels)])
            while value(u) > highest - low and abs(u) < 200:
                u += sign
            ends.append(u)
        return ends[0], ends[1]


def _by_regression(value: Callable[[Array], float], peak: Array) -> tuple[Callable[[Array], float], Array]:
    """Of a 2 x 2 Cholesky factor: the entry below the diagonal by its slope on the first, in units of the second.

    Its spread grows with both without end where the inverse is a Wishart matrix, so that no box holds the density.
    """
    slope = peak[1] / np.exp(peak[0])

    def moved(at: Array) -> float:
        return value(np.array([at[0], np.exp(at[0]) * (slope + np.exp(at[2]) * at[1]), at[2]])) + at[0] + at[2]

    return moved, np.array([peak[0], 0.0, peak[2]])


def unconstrained(values: Array, key: str) -> Array:
    """Draws (draw, …) of a variable on the line, by the ending of the name that its coordinates have."""
    if key.endswith("_log__"):
        return np.log(values)
    if key.endswith(("_logodds__", "_interval__")):
        return np.log(values) - np.log1p(-values)
    if key.endswith("_simplex__"):
        logs = np.log(values)
        return logs[..., :-1] - logs.mean(-1, keepdims=True)
    if key.endswith("_cholesky-cov__"):
        roots, (rows, columns) = np.linalg.cholesky(values), np.tril_indices(values.shape[-1])
        found = roots[..., rows, columns]
        return np.where(rows == columns, np.log(np.where(rows == columns, found, 1.0)), found)
    return values


def natural(name: str, values: Array, key: str) -> Array:
    """What coordinates of the few others are on their own scale."""
    assert name
    if key.endswith("_log__"):
        return np.exp(values)
    if key.endswith(("_logodds__", "_interval__")):
        return 1 / (1 + np.exp(-values))
    if key.endswith("_simplex__"):
        full = np.concatenate([values, -values.sum(-1, keepdims=True)], -1)
        return np.exp(full) / np.exp(full).sum(-1, keepdims=True)
    if key.endswith("_cholesky-cov__"):
        order = int((2 * values.shape[-1]) ** 0.5)
        rows, columns = np.tril_indices(order)
        roots = np.zeros((*values.shape[:-1], order, order))
        roots[..., rows, columns] = np.where(rows == columns, np.exp(values), values)
        return roots @ np.swapaxes(roots, -1, -2)
    return values


def rest_of(model: pm.Model, rng: np.random.Generator, discrete: Mapping[str, int]) -> Point:
    """A point of all that is left in a model."""
    found: Point = {}
    for key, value in model.initial_point().items():
        if np.asarray(value).dtype.kind == "f":
            found[key] = rng.normal(0, 0.4, np.shape(value))
        elif key in discrete:
            found[key] = np.asarray(rng.integers(discrete[key]))
        else:
            found[key] = np.asarray(value)
    return found


def compare_values(
    program: Program, plain: Plain, names: Sequence[str], eliminated: pm.Model, density: Any, seed: int
) -> None:
    """The integrated density, at two points, between which data change."""
    rng = np.random.default_rng(seed)
    for turn in range(2):
        if turn and program.shared:
            changed = other_data(program, rng)
            pm.set_data(changed, model=plain.model)
            labelled = {name: program.given(name, program.labels.get(name, ""), new) for name, new in changed.items()}
            pm.set_data(labelled, model=eliminated)
        rest = rest_of(eliminated, rng, program.discrete)
        wanted = Whole(plain, names, program.kinds, rest).integral()
        found = float(density(rest))
        if not (found == wanted or abs(found - wanted) <= TOLERANCE * (1 + abs(wanted))):
            raise Wrong(
                f"log density {found!r}, by quadrature {wanted!r}"
                + " after `set_data`" * (turn and bool(program.shared))
            )


def other_data(program: Program, rng: np.random.Generator) -> dict[str, Array]:
    """Data to exchange with those of a model: of rows that have as many as each other there are others."""
    changed = {name: _other(program.arrays[name], rng) for name in program.shared}
    for names in program.rows:
        count = len(program.arrays[names[0]])
        rows = rng.integers(count, size=int(rng.integers(1, 2 * count + 2)))
        changed |= {name: program.arrays[name][rows] for name in names}
    return changed


def _other(values: Array, rng: np.random.Generator) -> Array:
    """Data of the same kind and shape, in another order."""
    flat = np.asarray(values)
    if not flat.ndim:
        return flat
    if flat.dtype.kind == "f" and flat.ndim == 1 and (flat > 0).all():
        return flat * rng.uniform(0.8, 1.0, flat.shape)
    return flat[::-1].copy()


def compare_draws(program: Program, plain: Plain, names: Sequence[str], eliminated: pm.Model, seed: int) -> None:
    """Draws of the block given all others, by slopes of the plain density along both.

    For draws x of p(x | t), the mean of d/dt log p(t, x) is d/dt log p(t), that of d/dx log p(t, x) is 0, and that of
    x_i times its j-th element is -1 where i = j and 0 elsewhere.
    """
    rest = rest_of(eliminated, np.random.default_rng(seed), program.discrete)
    whole = Whole(plain, names, program.kinds, rest)
    given = {}
    for variable, value in zip(eliminated.free_RVs, eliminated.value_vars, strict=True):
        key = str(value.name)
        own = natural(variable.name, rest[key], key)
        given[variable.name] = np.broadcast_to(own, (1, DRAWS, *np.shape(own)))
    drawn = pm.recover_marginals(given, model=eliminated, extend_inferencedata=False, random_seed=seed)
    columns = []
    for name, key in zip(whole.names, whole.keys, strict=True):
        values = unconstrained(np.asarray(drawn[name])[0], key)
        columns.append(values.reshape(DRAWS, -1))
    x = np.concatenate(columns, 1)
    inner, outer = (np.array(part) for part in zip(*(whole.slopes(row) for row in x), strict=True))
    wanted = np.asarray(eliminated.compile_dlogp()(rest))
    products = (x - x.mean(0))[:, :, None] * inner[:, None, :]
    checks = [
        ("slopes along the others", outer, wanted),
        ("slopes along the block", inner, np.zeros(x.shape[1])),
        ("products of the block and its slopes", products.reshape(DRAWS, -1), -np.eye(x.shape[1]).ravel()),
    ]
    for what, values, expected in checks:
        error = values.std(0, ddof=1) / np.sqrt(DRAWS) + 1e-9 * (1 + np.abs(expected))
        away = np.abs(values.mean(0) - expected) / error
        # The mean was subtracted: products are off by one part in as many as there are draws.
        if away.size and not (away - 2 / np.sqrt(DRAWS)).max() < DEVIATIONS:
            raise Wrong(f"{what} of draws: {values.mean(0)[np.argmax(away)]!r}, not {expected[np.argmax(away)]!r}")
    for name in eliminated.conditional_deterministics:
        assert name in drawn


def refused(call: Callable[[], Any], names: Sequence[str]) -> Any:
    """What a call gives; None where it says why it cannot integrate one of the variables."""
    try:
        return call()
    except ModelError as error:
        if not any(re.search(rf"`{name}`", str(error)) for name in names):
            raise Wrong(f"a refusal that names no variable: {error}") from error
        return None


def elimination(program: Program, draws: bool) -> str:
    """What became of the largest part of a program's blocks that is integrated: "refused", or the kinds of integral.

    Raises
    ------
    Wrong
        Where the integral is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for names in _parts(tuple(program.kinds)):
            made = refused(lambda names=names: pm.collapse(program.model(), list(names)), names)
            if made is None:
                continue
            plain, density = Plain(program.model(labelled=False)), made.compile_logp()
            if program.seed % 2 or program.discrete:
                compare_doors(program, names, made, density)
            if draws:
                compare_draws(program, plain, names, made, program.seed)
            compare_values(program, plain, names, made, density, program.seed)  # changes data
            return " and ".join(sorted({program.kinds[name] for name in names}))
    return "refused"


def _parts(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [part for count in range(len(names), 0, -1) for part in itertools.combinations(names, count)]


def compare_doors(program: Program, names: Sequence[str], collapsed: pm.Model, density: Any) -> None:
    """`pm.sample` integrates to the same density; and with discrete variables summed out, to the sum of these."""
    model = program.model()
    rng = np.random.default_rng(program.seed)
    rest = rest_of(collapsed, rng, program.discrete)
    check(model, names)
    value = float(without(model, names).compile_logp()(rest))
    wanted = float(density(rest))
    if not (value == wanted or abs(value - wanted) <= 1e-9 * (1 + abs(wanted))):
        raise Wrong(f"`integrate` has a log density of {value!r}, `pm.collapse` of {wanted!r}")
    for name, count in program.discrete.items():
        both = [*names, name]
        summed = refused(lambda both=both: without(model, both), both)
        summed = summed and refused(lambda summed=summed: (summed, summed.compile_logp())[0], both)
        if summed is None:
            continue
        value = float(summed.compile_logp()({k: v for k, v in rest.items() if k != name}))
        each = [float(density({**rest, name: np.asarray(k)})) for k in range(count)]
        if not abs(value - logsumexp(each)) <= TOLERANCE * (1 + abs(value)):
            raise Wrong(f"with `{name}` summed out {value!r}, the sum over its values is {logsumexp(each)!r}")


def compare_coordinates(model: pm.Model, given: ChainCoordinates) -> None:
    """The density in coordinates of chains is that of the model, and log |d position / d coordinates| more.

    What follows from a position is the same, too. Coordinates go through text first, as those of a checkpoint do.
    """
    written = json.loads(json.dumps(as_plain(given), default=list))
    coordinates = ChainCoordinates(**{**written, "marginalized": tuple(written["marginalized"])})
    own = without(model, coordinates.marginalized, coordinates.summed_values)
    moved = rewritten(model, coordinates)
    if moved is model:
        raise Wrong("there are no other coordinates")
    old, new = model_density(own), model_density(moved)
    if old.dimension != new.dimension:
        raise Wrong(f"{new.dimension} coordinates, of {old.dimension}")
    others = [v.name for v in own.free if v.name in new.derived]

    def positions(rows: Array) -> Array:
        return old.unconstrained({**new.expand(rows, False), **(new.expand(rows, others) if others else {})})

    at, steps = np.random.default_rng(3).normal(0.0, 0.4, new.dimension), 1e-5 * np.eye(new.dimension)
    there, *sides = positions(np.concatenate([at[None], at + steps, at - steps]))
    sign, volume = np.linalg.slogdet((np.array(sides[: new.dimension]) - sides[new.dimension :]) / 2e-5)
    if not sign:
        raise Wrong("the map of coordinates is singular")
    wanted, found = old(there)[0] + volume, new(at)[0]
    if not (abs(found - wanted) <= 10 * TOLERANCE * (1 + abs(wanted)) or found == old(there)[0] == -np.inf):
        raise Wrong(f"log density in other coordinates {found!r}, of the model and the volume {wanted!r}")
    if np.isneginf(found):
        return
    for i in {0, new.dimension // 2, new.dimension - 1}:
        slope = (new(at + steps[i])[0] - new(at - steps[i])[0]) / 2e-5
        if not abs(new(at)[1][i] - slope) <= 1e-4 * (1 + abs(slope)):
            raise Wrong(f"slope {new(at)[1][i]!r} in other coordinates, by differences {slope!r}")
    drawn = set(own.conditional_deterministics) | {v.name for v in own.marginalized}
    names = [name for name in old.derived if name not in drawn]
    if set(old.derived) - set(new.derived):
        raise Wrong(f"{set(old.derived) - set(new.derived)} are lost in other coordinates")
    if names:
        before, now = old.expand(there[None], names), new.expand(at[None], names)
        for name in names:
            np.testing.assert_allclose(now[name], before[name], rtol=1e-7, atol=1e-9, err_msg=name)


def _summed(program: Program, model: pm.Model) -> tuple[str, ...]:
    """What chains may not have to move: all that is discrete, and with it the largest part that is integrated."""
    discrete = tuple(program.discrete)
    for names in [*_parts(tuple(program.kinds)), ()]:
        if names or discrete:
            with contextlib.suppress(ModelError):
                made = without(model, (*names, *discrete))
                if any(v.continuous for v in made.free) and np.isfinite(cost(model, (*names, *discrete))[0]):
                    return (*names, *discrete)
    return ()


def coordinates_of(program: Program, model: pm.Model) -> list[tuple[str, ChainCoordinates]]:
    """Coordinates that chains may get, with a title of their kind: of a block, and of all others together."""
    rng = np.random.default_rng([program.seed, 5])
    found = []
    if not program.discrete:
        own = model_density(model)
        draws = own.expand(rng.normal(0.0, 0.3, (12, own.dimension)), False)
        for diagonal in (False, True):
            try:
                chosen = suited(model, draws, diagonal)
            except ModelError:  # as of draws without finite curvatures
                continue
            if chosen is not None:
                chosen = correlated(model, chosen, draws) if diagonal else chosen
                title = f"sparse, {chosen['kind']}" if chosen["sparse"] else str(chosen["kind"])
                found.append((title, ChainCoordinates(transported=chosen)))
    for summed in {_summed(program, model), tuple(program.discrete)}:
        if not np.isfinite(cost(model, summed)[0]):  # batches, for one
            continue
        left = without(model, summed)
        gone = {v.node for v in left.marginalized}
        if not all(v.continuous for v in left.free):
            continue
        shapes = {v.name: tuple(map(int, v.node.static_shape)) for v in left.free}
        moved: dict[str, Any] = {}
        for name in fields(left):
            if rng.uniform() < 0.5:
                middle = rng.normal(size=shapes[name]).tolist()
                none = distribution_of(left.named[name]).title != "ICAR" and rng.uniform() < 0.5
                moved[name] = (float(rng.uniform()), None if none else middle)
        hierarchies = [*centred_hierarchies(left), *products(left)]
        degrees: dict[str, Any] = {}
        for name in hierarchies:
            free = name not in moved and gone.isdisjoint(topological([left.named[name]]))
            if free and rng.uniform() < 0.7:
                known = name in products(left) or location_and_scale(left.named[name]) is not None
                whole = not known or is_centred_as_a_whole(left.named[name])
                degrees[name] = 0.0 if whole else rng.uniform(size=shapes[name]).round(2).tolist()
        heavy = {}
        for name in heavy_priors(left):
            if name not in moved and name not in degrees:
                shape = shapes[name]
                sides = [(rng.uniform(size=shape) < 0.6).tolist() for _ in range(2)]
                heavy[name] = [rng.normal(size=shape).tolist(), rng.uniform(0.3, 2, shape).tolist(), *sides]
        coordinates = ChainCoordinates(
            marginalized=summed, centredness=degrees or None, fields=moved or None, heavy=heavy or None
        )
        kinds = {"summed": summed, "fields": moved, "hierarchies": degrees, "heavy tails": heavy}
        title = " with ".join(kind for kind, own in kinds.items() if own)
        if title:
            found.append((title, coordinates))
    return found


def moved_in_coordinates(program: Program) -> list[str]:
    """In which kinds of coordinates chains may move a program's model, each of which has the same posterior.

    Raises
    ------
    Wrong
        Where one has another.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = program.model()
        found = coordinates_of(program, model)
        for title, coordinates in found:
            try:
                compare_coordinates(model, coordinates)
                if program.rows:
                    changed = program.model()
                    pm.set_data(other_data(program, np.random.default_rng(program.seed)), model=changed)
                    compare_coordinates(changed, coordinates)
            except Exception as error:
                error.add_note(f"{title}: {coordinates}")
                raise
    return [title for title, _ in found]


def failure(program: Program, draws: bool) -> str | None:
    """What is wrong with a program's integral, in words; None if it is right or refused."""
    try:
        elimination(program, draws)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def explained(program: Program, draws: bool) -> str:
    """What is wrong, and a program with fewer statements that fails in the same way."""
    wrong = failure(program, draws) or ""
    for line in reversed(program.lines):
        less = program.without(line)
        if line.optional and (failure(less, draws) or "").split(":")[0] == wrong.split(":")[0]:
            program = less
    return f"{wrong}\n{program.text()}"


__all__ = ["Wrong", "compare_coordinates", "elimination", "explained", "failure", "moved_in_coordinates"]
