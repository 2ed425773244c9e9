"""The coordinates in which modes differ: modes of a density of many coordinates enter, their curvatures in these leave.

A Hessian of all coordinates is beyond what a search may cost. But where two modes agree in some coordinates, where
these do not interact with the others, and where their curvature is the same at both, they count for as much in either
region, and may be left out. What interacts is seen in columns of the Hessians; that the rest is alike, in random
directions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.region_mass import NUDGE, Curvature, definite
from consilience.record import Record

PASSES: Final = 3  # of finding widths, with two random directions each
EXTREME: Final = 1e6  # factor by which a width may differ from the unit it began with
STEP: Final = 1e-4  # of a width, for differences of gradients
APART: Final = 0.05  # widths between modes, from which they differ in a coordinate
COUPLED: Final = 2e-3  # entry of a Hessian scaled by widths, from which two coordinates interact
DIFFERING: Final = 5e-3  # between products of scaled Hessians with a random direction
CHECKS: Final = 4  # random directions at most
AT_ONCE: Final = 64  # columns of Hessians
MOST_COORDINATES: Final = 1_000  # of a block: the eigenvectors of 5,000 took minutes for a mode, which no budget counts


class CommonBlock(Record, eq=False):
    """The coordinates in which modes differ, and their curvatures there.

    `places`: int64[block], ascending. `curvatures`: of each mode, within the block; None where the negative Hessian is
    not positive definite.
    """

    places: NDArray[np.int64]
    curvatures: list[Curvature | None]


def widths_at(evaluations: Evaluations, mode: Floats, units: Floats, generator: np.random.Generator) -> Floats:
    """Widths in which the rows of the negative Hessian at a mode are about 1, float64[dimension], for 12 gradients.

    Those of a normal density with independent coordinates are its deviations; correlated ones are narrower. Where no
    gradient is finite they stay `units`.
    """
    widths = units.copy()
    for number in range(PASSES):
        step = NUDGE * np.maximum(1.0, np.abs(mode) / widths) if number == 0 else np.full(len(mode), STEP)
        signs = generator.choice(np.array([-1.0, 1.0]), (2, len(mode)))
        moves = signs * step * widths
        slopes = evaluations.gradients(mode + np.concatenate([moves, -moves]))
        rows = np.sqrt(np.mean(((slopes[:2] - slopes[2:]) / (2.0 * step) * widths) ** 2, axis=0))
        if not np.isfinite(rows).all():
            break
        widths = np.clip(widths / np.sqrt(np.maximum(rows, EXTREME**-2)), units / EXTREME, units * EXTREME)
    return widths


def common_block(
    evaluations: Evaluations, modes: Floats, widths: Floats, generator: np.random.Generator
) -> CommonBlock | None:
    """The least set of coordinates outside which the modes are alike to second order; None beyond budget and size.

    `modes`: float64[modes, dimension], two at least. `widths`: units of the coordinates, see `widths_at`.
    """
    columns = _Columns(evaluations, modes, widths)
    wanted = np.ptp(modes, axis=0) > APART * widths
    for _ in range(CHECKS):
        if not columns.close(wanted):
            return None
        rest = np.flatnonzero(~columns.known)
        if not len(rest):
            break
        if not evaluations.affordable(1, 2 * len(modes)):
            return None
        direction = np.zeros(modes.shape[1])
        direction[rest] = generator.choice(np.array([-1.0, 1.0]), len(rest))
        products = columns.products(direction[None])[:, 0]
        wanted = ~columns.known & ~(np.ptp(products, axis=0) < DIFFERING)
        if not wanted.any():
            break
    return columns.block()


class _Columns:
    """Columns of the negative Hessians at all modes, in coordinates scaled by the widths, as far as they are known."""

    def __init__(self, evaluations: Evaluations, modes: Floats, widths: Floats) -> None:
        self.evaluations = evaluations
        self.modes = modes
        self.widths = widths
        self.known = np.zeros(modes.shape[1], np.bool_)
        self.columns: dict[int, Floats] = {}  # coordinate: float64[modes, dimension]
        self.level = evaluations.gradients(modes)

    def products(self, directions: Floats) -> Floats:
        """Of the Hessians with scaled directions (direction, dimension): float64[modes, direction, dimension]."""
        moves = STEP * directions * self.widths
        places = self.modes[:, None, None] + np.stack([moves, -moves])
        slopes = self.evaluations.gradients(places.reshape(-1, places.shape[-1])).reshape(places.shape)
        return np.asarray((slopes[:, 1] - slopes[:, 0]) / (2.0 * STEP) * self.widths)

    def close(self, wanted: NDArray[np.bool_]) -> bool:
        """Learn these columns, and those of all coordinates that interact with them; False beyond budget and size."""
        new = np.flatnonzero(wanted & ~self.known)
        while len(new):
            if len(self.columns) + len(new) > MOST_COORDINATES:
                return False
            if not self.evaluations.affordable(1, 2 * len(new) * len(self.modes)):
                return False
            coupled = np.zeros(len(self.known), np.bool_)
            for begin in range(0, len(new), AT_ONCE):
                some = new[begin : begin + AT_ONCE]
                directions = np.zeros((len(some), len(self.known)))
                directions[np.arange(len(some)), some] = 1.0
                found = self.products(directions)
                self.columns.update({int(c): found[:, k] for k, c in enumerate(some)})
                coupled |= ~(np.abs(found).max((0, 1)) <= COUPLED)  # also where it is not finite
            self.known[new] = True
            new = np.flatnonzero(coupled & ~self.known)
        return True

    def block(self) -> CommonBlock:
        """What is known."""
        places = np.flatnonzero(self.known)
        columns = np.stack([self.columns[int(c)] for c in places], axis=-1)[:, places]
        units = self.widths[places]
        hessians = columns / units[:, None] / units
        slopes = self.level[:, places]
        return CommonBlock(places, [definite(h, g) for h, g in zip(hessians, slopes, strict=True)])
