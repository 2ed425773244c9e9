"""Copies of a posterior that its symmetries make: draws enter, the symmetries that show in them leave, in words.

A model of labels, signs or rotations that nothing fixes has as many copies as there are ways to name the same answer.
The search itself is in `inference.modes.symmetries`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.convergence import FEWEST_DRAWS
from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.transforms import Simplex
from consilience.inference.modes.symmetries import Axis, Kind, Quotient, Symmetry, find_symmetries
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.run.remedies.jumps import SLOW

Floats = npt.NDArray[np.float64]

MOST_DRAWS: Final = 500  # of each chain, that are looked at
BETTER: Final = 2.0  # times the effective draws in one copy: then draws disagree by copies
MOST_LISTED: Final = 3
LABELS: Final = (
    "Give the components an order, by `transform=pm.distributions.transforms.ordered` of the variable that "
    "tells them apart, with `initval=` in that order."
)


class Copies:
    """The symmetries of one density, which are looked for once; `written`: names of variables that it rewrites."""

    def __init__(self, density: ModelDensity, seed: int, written: Sequence[str] = ()) -> None:
        self.density, self.seed, self.written = density, seed, written
        self._around: Floats | None = None

    def __call__(self, draws: Floats, whole: bool = False) -> Quotient | None:
        """The symmetries by which draws (chain, draw, coordinate) are worth less than half; `whole`: all."""
        some = draws[:, :: max(1, -(-draws.shape[1] // MOST_DRAWS))]
        flat = np.ascontiguousarray(some.reshape(-1, draws.shape[-1]))
        if self._around is None:
            self._around = flat
        if not self.known:
            return None
        if whole or some.shape[1] < FEWEST_DRAWS:
            return Quotient.of(self.known, flat)
        most, before = SLOW * len(flat), _sizes(some)
        if not any(before[s.places].min() < most for s in self.known):
            return None
        after = _sizes(Quotient.of(self.known, flat).fold(some))
        pairs = [(s, before[s.places].min(), after[s.places].min()) for s in self.known]
        chosen = tuple(s for s, size, folded in pairs if size < min(most, folded / BETTER))
        return Quotient.of(chosen, flat) if chosen else None

    @cached_property
    def known(self) -> tuple[Symmetry, ...]:
        """All of them, by points around the draws that were seen first."""
        assert self._around is not None
        with np.errstate(all="ignore"):
            return find_symmetries(self._logp, list(axes_of(self.density, self.written)), self._around, self.seed)

    def _logp(self, point: Floats) -> float:
        try:
            return self.density(point)[0]
        except Exception:  # of a Python function of the model: no density there, as in chains
            return -np.inf


def _sizes(draws: Floats) -> Floats:
    """The effective size of each coordinate of draws (chain, draw, coordinate)."""
    monitor = ConvergenceMonitor(len(draws), draws.shape[2])
    monitor.extend(np.ascontiguousarray(draws))
    return np.nan_to_num(monitor.measure().ess_bulk)


def axes_of(density: ModelDensity, written: Sequence[str] = ()) -> Iterator[Axis]:
    """All axes of the variables on the unconstrained scale, and each variable as a whole.

    Standard numbers have the name of the variable that is `written` by them.
    """
    owners = {f"{name}{ending}": name for name in written for ending in ("_raw", "_init_raw")}
    for stretch in density.layout.stretches:
        if not stretch.variable.continuous or not stretch.size:
            continue
        name = owners.get(stretch.variable.name, str(stretch.variable.name))
        places = np.arange(stretch.start, stretch.start + stretch.size).reshape(stretch.shape)
        yield Axis(name, places.reshape(1, -1))
        for axis, length in enumerate(stretch.shape):
            centred = isinstance(stretch.variable.sampled, Simplex) and axis == len(stretch.shape) - 1
            if length + centred > 1:
                yield Axis(name, np.moveaxis(places, axis, 0).reshape(length, -1), centred)


def said(quotient: Quotient) -> str:
    """In words, which copies the posterior has."""
    count = quotient.copies
    counted = "infinitely many" if np.isinf(count) else f"{count:,.0f}"
    return f"the posterior is the same in {counted} copies: with {' and '.join(map(_group, quotient.symmetries))}"


def _group(symmetry: Symmetry) -> str:
    names, count = _listed(symmetry.names), len(symmetry.units)
    whole = all(len(axis) == 1 for axis in symmetry.axes)
    return {
        "labels": f"the {count} elements of {names} in any order, the same answer with other labels",
        "signs": f"opposite signs of {names}" + ("" if whole else f" in each of {count} places"),
        "signed": f"the {count} units of {names} in any order and each with either sign",
        "rotations": f"{names} rotated along the axis of {count}",
    }[symmetry.kind]


def advice(quotient: Quotient, model: Model) -> str:
    """What to write to have one copy."""
    titles = {v.name: distribution_of(v.node).title for v in model.free}
    return " ".join(dict.fromkeys(_fixed(s, quotient.reference, titles) for s in quotient.symmetries))


def _fixed(symmetry: Symmetry, reference: Floats, titles: Mapping[str, str]) -> str:
    names = symmetry.names
    kind: Kind = symmetry.kind
    if kind == "labels":
        return LABELS
    if kind == "rotations":
        name = min(symmetry.axes, key=lambda axis: axis.places.size).name
        return (
            f"Fix the rotation of `{name}`: zeros above its diagonal, and positive values on it, "
            f"`pm.HalfNormal` in place of `pm.{titles.get(name, 'Normal')}`."
        )
    if kind == "signed":
        return (
            f"Fix order and signs of the units of {_listed(names)}: give one element of each unit a prior of positive "
            "values, `pm.HalfNormal`, with `transform=pm.distributions.transforms.ordered`."
        )
    for axis in symmetry.axes:
        values = reference[axis.places]
        if abs(np.sign(values).sum()) == values.size:
            return (
                f'Fix the sign by a prior of positive values: `pm.HalfNormal("{axis.name}", …)` in place of '
                f"`pm.{titles.get(axis.name, 'Normal')}`."
            )
    return f"Fix the sign by a prior of positive values for one element of `{names[0]}`."


def _listed(names: tuple[str, ...]) -> str:
    shown = [f"`{name}`" for name in names[:MOST_LISTED]]
    more = [f"{len(names) - MOST_LISTED} more"] if len(names) > MOST_LISTED else []
    *others, last = shown + more
    return f"{', '.join(others)} and {last}" if others else last
