"""Where further modes may lie by those that are known: in rows and lattices, as frequencies, periods and labels do.

Modes in, points to ascend from out. A step from one mode to another is made from a third one, in the coordinates of
ascents, in the variables' own units, or in those of their reciprocals or exponentials (a period stands for the
frequency that multiplies times, a logarithm for what it is the logarithm of); a coordinate is taken over from another
mode or from elsewhere; labels change places.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from consilience.inference.modes.evaluations import Evaluations, Floats

KNOWN: Final = 3.0  # deviations within which a point is that mode
TRIED: Final = 6  # candidates for each point that is wanted


class Units(Protocol):
    """The variables' own units, of positions."""

    def values(self, positions: Floats) -> Floats:
        """Of positions (row, coordinate): their values (row, value)."""
        ...

    def positions(self, values: Floats) -> Floats:
        """The positions of values; NaN where a value has none."""
        ...

    def exchanged(self, positions: Floats, generator: np.random.Generator) -> Floats:
        """Positions with two labels exchanged, chosen anew for each; as they are where there are no labels."""
        ...


class SameUnits:
    """Where nothing is known of other units."""

    def values(self, positions: Floats) -> Floats:
        return positions

    def positions(self, values: Floats) -> Floats:
        return values

    def exchanged(self, positions: Floats, generator: np.random.Generator) -> Floats:
        return positions


def candidates(modes: Floats, elsewhere: Floats, units: Units, count: int, generator: np.random.Generator) -> Floats:
    """About so many points (row, coordinate) at which there may be another mode; `elsewhere`: points of any kind."""
    kinds = generator.permutation(np.arange(count) % 8)
    first, second, third = (generator.integers(len(modes), size=count) for _ in range(3))
    third = np.where(third == second, (third + 1) % len(modes), third)
    values = units.values(modes)
    found = np.empty((count, modes.shape[1]))
    steps = kinds < 5
    found[kinds == 0] = (modes[first] + modes[second] - modes[third])[kinds == 0]
    moved = values[first] + values[second] - values[third]
    varying = np.flatnonzero(np.ptp(values, axis=0) > 0.0)
    for k in np.flatnonzero((kinds > 2) & steps) if len(varying) else ():
        place = generator.choice(varying)
        one, two, three = values[[first[k], second[k], third[k]], place]
        with np.errstate(all="ignore"):
            if kinds[k] == 3:
                moved[k, place] = 1.0 / (1.0 / one + 1.0 / two - 1.0 / three)
            else:
                top = max(one, two, three)
                moved[k, place] = top + np.log(np.exp(one - top) + np.exp(two - top) - np.exp(three - top))
    in_units = steps & (kinds > 0)
    found[in_units] = units.positions(moved[in_units])
    taken = generator.random(found.shape) < 0.5
    alone = generator.random(count) < 0.5
    taken[alone] = np.arange(modes.shape[1]) == generator.integers(modes.shape[1], size=(int(alone.sum()), 1))
    crossed = kinds == 5
    found[crossed] = np.where(taken, modes[second], modes[first])[crossed]
    found[kinds == 6] = units.exchanged(modes[first][kinds == 6], generator)
    found[kinds == 7] = modes[first][kinds == 7]
    if len(elsewhere):
        place = generator.integers(modes.shape[1], size=count)
        other = elsewhere[generator.integers(len(elsewhere), size=count)]
        chosen = (kinds == 7)[:, None] & (np.arange(modes.shape[1]) == place[:, None])
        found = np.where(chosen, other, found)
    return found[np.isfinite(found).all(axis=1)]


def promising(evaluations: Evaluations, points: Floats, modes: Floats, widths: Floats, count: int) -> Floats:
    """The highest of these points that lie apart from the modes and from each other, at most so many.

    `widths`: deviations of the coordinates in each mode, float64[modes, dimension].
    """

    def apart(one: Floats, others: Floats, scales: Floats) -> bool:
        return bool((np.abs((one - others) / scales).max(axis=1, initial=0.0) > KNOWN).all()) if len(others) else True

    points = points[[apart(point, modes, widths) for point in points]] if len(points) else points
    points = points[: evaluations.left]
    if not len(points):
        return points
    heights = evaluations.at(points)
    kept: list[int] = []
    narrow = widths.min(axis=0)
    for k in np.argsort(-heights, kind="stable"):
        if len(kept) == count or not np.isfinite(heights[k]):
            break
        if apart(points[k], points[kept], narrow):
            kept.append(int(k))
    return points[kept]
