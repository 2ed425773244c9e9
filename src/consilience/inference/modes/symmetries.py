"""Exact symmetries of a log density: linear maps of positions that leave it as it is.

A log density and axes of its variables enter; groups that act along axes of equal length leave (orders of units, signs,
rotations), with what moves draws into one copy of the posterior, or each into a copy at random. The density is the
judge: values at random points that agree to nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.regions import ModalRegion, Regions
from consilience.record import Record, replace

Floats = NDArray[np.float64]
Kind = Literal["labels", "signs", "signed", "rotations"]

EQUAL: Final = 1e-9  # of two log densities, relative
MOST_AXES: Final = 16  # of one length, among whose subsets those that move together are looked for
ENUMERATED: Final = 8  # axes, all subsets of which are tried; of more, so many:
TRIED: Final = 400
MOST_UNITS: Final = 64  # along an axis
MOST_EVALUATIONS: Final = 2000
POINTS: Final = 3
CONFIRMED: Final = 100  # draws at which a group is confirmed: it may hold near some points only
AWAY: Final = 0.3  # deviations of the draws, by which points lie away from them, so that no two units are equal
ROUNDS: Final = 6  # of folding and averaging, until the copy that draws are folded into stands
SWEEPS: Final = 20  # over several groups that share variables, at most
SAME: Final = 0.1  # deviations, up to which modes in one copy are the same
LEVEL: Final = 0.05  # nats, the same for heights
PURPOSE: Final = 31  # of the random numbers


class Axis(Record, eq=False):
    """An axis of a variable on the unconstrained scale.

    `name`: of the variable. `places`: coordinates of each unit along it, int64[units, others]; of centred logarithms,
    which sum to zero (`centred`), those of all units but the last.
    """

    name: str
    places: NDArray[np.int64]
    centred: bool = False

    def __len__(self) -> int:
        return len(self.places) + self.centred

    def rows(self, points: Floats) -> Floats:
        """The values of points (point, coordinate) by unit, (point, unit, other)."""
        found: Floats = points[:, self.places]
        return np.concatenate([found, -found.sum(1, keepdims=True)], axis=1) if self.centred else found

    def put(self, points: Floats, rows: Floats) -> None:
        """Have points get these values."""
        points[:, self.places] = rows[:, : len(self.places)]

    def slopes(self, gradients: Floats) -> Floats:
        """Gradients of points as gradients of `rows`: of centred logarithms those that sum to zero."""
        found: Floats = gradients[:, self.places]
        if not self.centred:
            return found
        return np.asarray(
            np.concatenate([found, np.zeros_like(found[:, :1])], axis=1) - found.sum(1, keepdims=True) / len(self)
        )

    def put_slopes(self, gradients: Floats, rows: Floats) -> None:
        """Have gradients get these values of `slopes`, after their units were moved."""
        gradients[:, self.places] = rows[:, : len(self.places)] - (rows[:, -1:] if self.centred else 0.0)


class Symmetry(Record, eq=False):
    """A group that acts along some axes at once.

    `kind`: all orders of the units ("labels"), the sign of each ("signs"), both ("signed"), or all orthogonal matrices
    ("rotations"). `units`: those along the axes that it moves.
    """

    kind: Kind
    axes: tuple[Axis, ...]
    units: NDArray[np.int64]

    @property
    def copies(self) -> float:
        """Number of elements of the group."""
        count = len(self.units)
        orders = math.factorial(count) if self.kind in ("labels", "signed") else 1
        return math.inf if self.kind == "rotations" else orders * (2**count if self.kind != "labels" else 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the variables."""
        return tuple(dict.fromkeys(axis.name for axis in self.axes))

    @property
    def places(self) -> NDArray[np.int64]:
        """The coordinates that it moves, in ascending order."""
        parts = [axis.places if axis.centred else axis.places[self.units] for axis in self.axes]
        return np.unique(np.concatenate([part.ravel() for part in parts]))

    def applied(self, points: Floats, matrices: Floats) -> Floats:
        """Points (point, coordinate) moved by matrices (point, unit, unit)."""
        moved = points.copy()
        for axis in self.axes:
            rows = axis.rows(moved)
            rows[:, self.units] = matrices @ rows[:, self.units]
            axis.put(moved, rows)
        return moved

    def turned(self, gradients: Floats, matrices: Floats) -> Floats:
        """Gradients at points that are moved by these matrices."""
        moved = gradients.copy()
        for axis in self.axes:
            rows = axis.slopes(moved)
            rows[:, self.units] = matrices @ rows[:, self.units]
            axis.put_slopes(moved, rows)
        return moved

    @property
    def numbers(self) -> int:
        """Random numbers for an element of the group, of which a generator of random numbers makes four at once."""
        count = len(self.units)
        return -(-(2 * count * count if self.kind == "rotations" else 2 * count) // 4) * 4

    def elements(self, uniform: Floats) -> Floats:
        """Elements of the group, all as likely, from numbers (element, number) between 0 and 1."""
        count = len(self.units)
        if self.kind == "rotations":
            one, other = np.moveaxis(uniform[:, : 2 * count * count].reshape(-1, 2, count, count), 1, 0)
            normal = np.sqrt(-2.0 * np.log1p(-one)) * np.cos(2.0 * np.pi * other)
            q, r = np.linalg.qr(normal)
            return np.asarray(q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :])
        order = np.tile(np.arange(count), (len(uniform), 1))
        if self.kind != "signs":
            order = np.argsort(uniform[:, :count], axis=1, kind="stable")
        sign = np.ones(order.shape)
        if self.kind != "labels":
            sign = np.where(uniform[:, count : 2 * count] < 0.5, -1.0, 1.0)
        return np.asarray(np.eye(count)[order] * sign[:, :, None])

    def nearest(self, products: Floats) -> Floats:
        """The elements Q (point, unit, unit) for which Q X is nearest to a matrix R: `products` are X R'."""
        count = len(self.units)
        if self.kind == "rotations":
            left, _, right = np.linalg.svd(products)
            return np.asarray(np.swapaxes(left @ right, 1, 2))
        if self.kind == "signs":
            own = np.diagonal(products, axis1=1, axis2=2)
            return np.asarray(np.eye(count) * np.where(own < 0.0, -1.0, 1.0)[:, None, :])
        from scipy.optimize import linear_sum_assignment  # few runs need it

        worth = products if self.kind == "labels" else np.abs(products)
        found = np.zeros_like(products)
        for one, product, own in zip(found, products, worth, strict=True):
            rows, columns = linear_sum_assignment(own, maximize=True)
            one[columns, rows] = np.where(product[rows, columns] < 0.0, -1.0, 1.0) if self.kind == "signed" else 1.0
        return found


class Quotient:
    """Symmetries of a posterior, and the copy of it that draws are folded into.

    `reference`: a point of that copy, float64[coordinate]. `weights`: of the coordinates, in what is near to it.
    """

    def __init__(self, symmetries: Sequence[Symmetry], reference: Floats, weights: Floats) -> None:
        self.symmetries = tuple(symmetries)
        self.reference, self.weights = reference, weights

    @classmethod
    def of(cls, symmetries: Sequence[Symmetry], draws: Floats) -> Quotient:
        """With the copy around the last of some draws (draw, coordinate)."""
        spread = draws.std(axis=0)
        made = cls(symmetries, draws[-1], np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-300), 0.0))
        made.weights = made._alike(made.weights)
        for _ in range(ROUNDS):
            folded = made.fold(draws)
            made.reference, spread = folded.mean(axis=0), folded.std(axis=0)
            made.weights = made._alike(np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-300), 0.0))
        return made

    def _alike(self, weights: Floats) -> Floats:
        """Weights that the groups leave as they are, by the root of the mean square over units."""
        for _ in range(len(self.symmetries)):
            for s in self.symmetries:
                for axis in s.axes:
                    own = axis.places if axis.centred else axis.places[s.units]
                    weights[own] = np.sqrt((weights[own] ** 2).mean(axis=0))
        return weights

    @property
    def copies(self) -> float:
        """Number of copies; infinite where there are rotations."""
        return math.prod(s.copies for s in self.symmetries)

    @property
    def places(self) -> NDArray[np.int64]:
        """The coordinates that differ from copy to copy."""
        return np.unique(np.concatenate([s.places for s in self.symmetries]))

    def fold(self, points: Floats) -> Floats:
        """Points (…, coordinate), each in the copy that is nearest to the reference.

        Where groups share variables, each is begun with those variables that no later one moves, so that all copies of
        a point are folded into the same.
        """
        return self._folded(points.reshape(-1, points.shape[-1]), None)[0].reshape(points.shape)

    def carry(self, point: Floats, vectors: Floats) -> tuple[Floats, Floats]:
        """A point folded, and vectors (vector, coordinate) moved as it is."""
        folded, moved = self._folded(point[None], vectors)
        assert moved is not None
        return folded[0], moved

    def _folded(self, folded: Floats, vectors: Floats | None) -> tuple[Floats, Floats | None]:
        left = list(self.symmetries)
        while left:
            private = {id(s): self._private(s, [o for o in left if o is not s]) for s in left}
            first = next((s for s in left if private[id(s)]), left[0])
            folded, vectors = self._nearest(first, folded, private[id(first)] or first.axes, vectors)
            left.remove(first)
        for _ in range(SWEEPS if len(self.symmetries) > 1 else 0):
            before = folded
            for s in self.symmetries:
                folded, vectors = self._nearest(s, folded, s.axes, vectors)
            if (folded == before).all():
                break
        return folded, vectors

    def _private(self, symmetry: Symmetry, others: Sequence[Symmetry]) -> tuple[Axis, ...]:
        """The axes of a group along which these others move nothing."""
        moved = np.concatenate([np.empty(0, np.int64), *(o.places for o in others)])
        return tuple(axis for axis in symmetry.axes if not np.isin(axis.places, moved).any())

    def _nearest(
        self, symmetry: Symmetry, points: Floats, axes: Sequence[Axis], vectors: Floats | None
    ) -> tuple[Floats, Floats | None]:
        count = len(symmetry.units)
        products = np.zeros((len(points), count, count))
        there, here = (self.weights * self.reference)[None], self.weights * points
        for axis in axes:
            products += axis.rows(here)[:, symmetry.units] @ axis.rows(there)[0, symmetry.units].T
        chosen = symmetry.nearest(products)
        return symmetry.applied(points, chosen), None if vectors is None else symmetry.applied(vectors, chosen)

    def scattered(
        self, draws: Floats, seed: int, chain: int, begun: int, gradients: Floats | None = None
    ) -> tuple[Floats, Floats | None]:
        """Draws (draw, coordinate) of a chain, and gradients there, each in a copy chosen at random.

        `begun`: number of the first of them: what is chosen depends on it and the seed alone.
        """
        for place, s in enumerate(self.symmetries):
            bits = np.random.Philox(key=[seed & (2**64 - 1), PURPOSE + (place << 8) + (chain << 16)])
            bits.advance(begun * s.numbers // 4)
            chosen = s.elements(np.random.Generator(bits).random((len(draws), s.numbers)))
            draws = s.applied(draws, chosen)
            gradients = None if gradients is None else s.turned(gradients, chosen)
        return draws, gradients

    def save(self) -> dict[str, Any]:
        """As numbers, strings and arrays."""
        symmetries = [
            {"kind": s.kind, "units": s.units, "axes": [[a.name, a.places, a.centred] for a in s.axes]}
            for s in self.symmetries
        ]
        return {"symmetries": symmetries, "reference": self.reference, "weights": self.weights}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Quotient:
        """What `save` gave."""
        symmetries = [
            Symmetry(s["kind"], tuple(Axis(name, places, centred) for name, places, centred in s["axes"]), s["units"])
            for s in state["symmetries"]
        ]
        return cls(symmetries, state["reference"], state["weights"])


def of_one_copy(found: Regions, quotient: Quotient) -> Regions:
    """The regions of one copy of a log density that has symmetries: those that are images of each other are one."""
    kept: list[ModalRegion] = []
    for region in found.regions:
        if region.within is None:
            mode, within = quotient.fold(region.mode), None
        else:
            factor = np.zeros((len(region.block), len(region.mode)))
            factor[:, region.block] = region.within.T
            mode, factor = quotient.carry(region.mode, factor)
            root: Floats = np.linalg.qr(factor[:, region.block])[1].T
            within = root * np.sign(np.diag(root)) if np.diag(root).all() else None
        near = [
            k
            for k, one in enumerate(kept)
            if abs(one.logp - region.logp) < LEVEL and (quotient.weights * np.abs(one.mode - mode)).max() < SAME
        ]
        if near:
            one = kept[near[0]]
            share = np.nansum([one.share, region.share]) if one.share == one.share else one.share
            kept[near[0]] = replace(one, share=float(share), hits=one.hits + region.hits)
        else:
            kept.append(replace(region, mode=mode, within=within, positive_definite=within is not None))
    return replace(found, regions=tuple(kept))


def find_symmetries(
    logp: Callable[[Floats], float], axes: Sequence[Axis], draws: Floats, seed: int
) -> tuple[Symmetry, ...]:
    """The groups that leave a log density as it is.

    `logp`: the log density at a position. `axes`: along which units may change places or signs, or be rotated; an axis
    of one unit stands for the sign of the whole variable. `draws`: positions (draw, coordinate) of finite density,
    around which points are drawn. Axes of more than 64 units, and lengths that more than 16 axes have, are left out.
    """
    moving = np.zeros(draws.shape[1])
    for axis in axes:
        moving[axis.places] = 1.0
    search = _SymmetrySearch(logp, draws, seed, moving)
    return tuple(found for found in search.found(axes) if search.holds_at(draws, found))


class _SymmetrySearch:
    def __init__(self, logp: Callable[[Floats], float], draws: Floats, seed: int, moving: Floats) -> None:
        self.logp = logp
        self.left = MOST_EVALUATIONS
        self.generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE]))
        spread = draws.std(axis=0)
        spread = np.where((spread > 0.0) & np.isfinite(spread), spread, 1.0)
        self.points: list[Floats] = []
        self.levels: list[float] = []
        for k in range(4 * POINTS):
            at = draws[k * len(draws) // (4 * POINTS)]
            point = at + AWAY * moving * spread * self.generator.standard_normal(len(at))
            level = self._at(point)
            if len(self.points) < POINTS and math.isfinite(level):
                self.points.append(point)
                self.levels.append(level)

    def found(self, axes: Sequence[Axis]) -> Iterator[Symmetry]:
        """All groups; signs of whole variables where those of units do not say the same."""
        flips: list[int] = []  # sets of coordinates, by bits, that change their signs
        lengths = sorted({len(axis) for axis in axes if len(axis) <= MOST_UNITS}, reverse=True)
        for length in lengths if len(self.points) == POINTS else ():
            own = [axis for axis in axes if len(axis) == length]
            if len(own) > MOST_AXES:
                continue
            for symmetry in self._along(own, length):
                if symmetry.kind != "labels":
                    bits = [_bits(axis.places[unit] for axis in symmetry.axes) for unit in symmetry.units]
                    independent = [_joins(flips, one) for one in bits]
                    if not any(independent):
                        continue
                yield symmetry

    def holds_at(self, draws: Floats, symmetry: Symmetry) -> bool:
        """Whether random elements of a group leave the density at draws as it is."""
        some = draws[:: max(1, -(-len(draws) // CONFIRMED))]
        moved = symmetry.applied(some, symmetry.elements(self.generator.random((len(some), symmetry.numbers))))
        return all(_equal(self.logp(there), self.logp(here)) for there, here in zip(moved, some, strict=True))

    def _along(self, axes: list[Axis], length: int) -> Iterator[Symmetry]:
        """The groups that act along axes of one length."""
        flat = [axis for axis in axes if not axis.centred]
        signed: dict[tuple[int, ...], tuple[Axis, ...]] = {}
        for unit in dict.fromkeys((0, length - 1)):
            for block in self._blocks(flat, _flip(length, unit)):
                signed.setdefault(tuple(map(id, block)), block)
        signs: dict[tuple[int, ...], NDArray[np.int64]] = {
            key: np.array([u for u in range(length) if self._holds(block, _flip(length, u))])
            for key, block in signed.items()
        }
        ordered: dict[tuple[int, ...], tuple[Axis, ...]] = {}
        for pair in dict.fromkeys([(0, 1), (length - 2, length - 1), (0, length - 1)] if length > 1 else []):
            for block in self._blocks(axes, _swap(length, *pair)):
                ordered.setdefault(tuple(map(id, block)), block)
        for key, block in ordered.items():
            for units in self._classes(block, length):
                flipped = signs.get(key, np.empty(0, np.int64))
                if not np.isin(units, flipped).all():
                    yield Symmetry("labels", block, units)
                    continue
                signs[key] = np.setdiff1d(flipped, units)
                mirrors = [_mirror(length, units, self.generator) for _ in range(POINTS)]
                turns = all(self._holds(block, mirror) for mirror in mirrors)
                yield Symmetry("rotations" if turns else "signed", block, units)
        for key, units in signs.items():
            if len(units):
                yield Symmetry("signs", signed[key], units)

    def _blocks(self, axes: list[Axis], matrix: Floats) -> list[tuple[Axis, ...]]:
        """Sets of axes along which a matrix, its own inverse, leaves the density as it is; all others join them.

        Those sets are a vector space over the field of two elements. Two sets with the same density differ by one.
        """
        count = len(axes)
        if count <= ENUMERATED:
            tried = list(range(1 << count))
        else:
            tried = list(dict.fromkeys(int(m) for m in self.generator.integers(0, 1 << count, TRIED)))
        some = {mask: [axis for k, axis in enumerate(axes) if mask >> k & 1] for mask in tried}
        levels = {mask: self._moved(own, matrix, 0) for mask, own in some.items()}
        order = sorted((m for m in tried if math.isfinite(levels[m])), key=levels.__getitem__)
        basis: list[int] = []
        for one, other in pairwise(order):
            if _equal(levels[one], levels[other]):
                both = one ^ other
                block = [axis for k, axis in enumerate(axes) if both >> k & 1]
                if self._holds(block, matrix):
                    _joins(basis, both)
        return [tuple(axis for k, axis in enumerate(axes) if mask >> k & 1) for mask in _reduced(basis)]

    def _classes(self, block: tuple[Axis, ...], length: int) -> list[NDArray[np.int64]]:
        """The units that may change places with each other, if there are two or more."""
        classes: list[list[int]] = []
        for unit in range(length):
            for own in classes:
                if self._holds(block, _swap(length, own[0], unit)):
                    own.append(unit)
                    break
            else:
                classes.append([unit])
        return [np.array(own) for own in classes if len(own) > 1]

    def _holds(self, axes: Sequence[Axis], matrix: Floats) -> bool:
        return all(_equal(self._moved(axes, matrix, k), level) for k, level in enumerate(self.levels))

    def _moved(self, axes: Sequence[Axis], matrix: Floats, number: int) -> float:
        point = self.points[number][None].copy()
        for axis in axes:
            axis.put(point, matrix @ axis.rows(point))
        return self._at(point[0])

    def _at(self, point: Floats) -> float:
        self.left -= 1
        return self.logp(point) if self.left >= 0 else math.nan


def _equal(one: float, other: float) -> bool:
    return math.isfinite(one) and abs(one - other) <= EQUAL * max(1.0, abs(one), abs(other))


def _flip(length: int, unit: int) -> Floats:
    matrix = np.eye(length)
    matrix[unit, unit] = -1.0
    return matrix


def _swap(length: int, one: int, other: int) -> Floats:
    order = np.arange(length)
    order[[one, other]] = other, one
    return np.eye(length)[order]


def _mirror(length: int, units: NDArray[np.int64], generator: np.random.Generator) -> Floats:
    """A reflection along a random direction: such ones make all orthogonal matrices."""
    direction = np.zeros(length)
    direction[units] = generator.standard_normal(len(units))
    return np.asarray(np.eye(length) - 2.0 * np.outer(direction, direction) / (direction @ direction))


def _bits(places: Iterator[NDArray[np.int64]]) -> int:
    found = 0
    for some in places:
        for place in some.ravel().tolist():
            found ^= 1 << place
    return found


def _joins(basis: list[int], vector: int) -> bool:
    """Whether a vector of bits is independent of a basis, which it then joins."""
    for one in basis:
        vector = min(vector, vector ^ one)
    if vector:
        basis.append(vector)
        basis.sort(reverse=True)
    return vector > 0


def _reduced(basis: list[int]) -> list[int]:
    """The reduced basis of the same space, which of disjoint sets are these sets."""
    rows = sorted(basis, reverse=True)
    for k, row in enumerate(rows):
        for other in range(len(rows)):
            if other != k and rows[other] >> (row.bit_length() - 1) & 1:
                rows[other] ^= row
    return sorted(rows)
