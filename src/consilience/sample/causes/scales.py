"""Scales that are estimated, and tails: where they make steps too large or a density endless, a cause leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from consilience.diagnostics.divergence_location import SIGNIFICANT
from consilience.distributions.random_variable import distribution_of
from consilience.ir import topological
from consilience.model.heavy_tails import FAR
from consilience.model.reparametrization import LOCATION_SCALE, centred_hierarchies
from consilience.sample.causes.symptoms import Cause, Symptoms

HEAVY: Final = ("Cauchy", "HalfCauchy", "StudentT", "HalfStudentT", "Pareto", "MvStudentT", "Levy", "InverseGamma")
SPIKE: Final = 5.0  # nats by which the density is higher where a scale is smallest
WIDE: Final = 3.0  # of its logarithm, from its lowest tenth on
FOLLOWS: Final = 0.98  # correlation with the log density


def neck(evidence: Symptoms) -> Cause | None:
    """A scale that is small where steps diverge, and the variables that have it."""
    worst = evidence.verdict.worst
    low = evidence.low_energy or worst == "log density"
    for name, scales in _hierarchies(evidence):
        for scale in scales:
            slow = (low or worst.partition("[")[0] == scale) and _follows_energy(evidence, scale)
            if evidence.lowest(scale) > -SIGNIFICANT and not slow:
                continue
            rewritten = name in (evidence.run.plan.coordinates.all_centredness or {})
            where = f"the neck of `{scale}`: where it is small, `{name}` has little room, and steps are too large there"
            if rewritten:
                return Cause(
                    "neck",
                    (scale, name),
                    f"steps diverge in {where}",
                    f'Give `{scale}` a prior that keeps it from 0, such as `pm.Gamma("{scale}", 2, …)`, or take '
                    "smaller steps, `pm.sample(target_accept=0.99)`.",
                )
            return Cause(
                "neck",
                (scale, name),
                f"the chains mix badly in {where}",
                f"Write `{name}` in standardized coordinates: `pm.noncenter(model, ['{name}'])`.",
            )
    return None


def hierarchy(evidence: Symptoms) -> Cause | None:
    """A few divergences, too few to tell a place, beside a scale that is estimated."""
    rewritten = evidence.run.plan.coordinates.all_centredness or {}
    names = [name for name, _ in _hierarchies(evidence) if name not in rewritten]
    if not len(evidence.begins) or not names:
        return None
    listed = ", ".join(f"`{name}`" for name in names)
    scales = "has a scale that is estimated, too" if len(names) == 1 else "have scales that are estimated, too"
    advice = f"Try standardized coordinates: `pm.noncenter(model, {names})`."
    return Cause("neck", tuple(names), f"steps diverge, and {listed} {scales}", advice)


def _hierarchies(evidence: Symptoms) -> Iterator[tuple[str, list[str]]]:
    """Variables with scales that are estimated, too, and the names of what these are made of."""
    written = evidence.run.model
    nodes = {v.name: v for v in written.free}
    for name in centred_hierarchies(written):
        bound = distribution_of(nodes[name].node)
        location = LOCATION_SCALE.get(bound.title, ("mu", ""))[0]
        parts = [value for label, value in bound.by_name().items() if label not in (location, "nu")]
        parts = parts or [bound.innovation_dist] if hasattr(bound, "innovation_dist") else parts
        inside = set(topological(parts))
        yield name, [v.name for v in written.free if v.node in inside and v.name != name]


def _follows_energy(evidence: Symptoms, name: str) -> bool:
    """Whether a variable goes with the log density, as a scale does that chains follow slowly."""
    if len(evidence.levels) != len(evidence.draws):
        return False
    own = [
        evidence.draws[:, i]
        for s in evidence.stretches
        if s.variable.name == name
        for i in range(s.start, s.slice.stop)
    ]
    return any(abs(float(np.corrcoef(column, evidence.levels)[0, 1])) > 0.5 for column in own)


def _scales_of_data(evidence: Symptoms) -> list[str]:
    """Positive free variables that observed variables depend on otherwise than by their location."""
    found: dict[str, None] = {}
    for variable in evidence.model.observed:
        bound = distribution_of(variable.node)
        locations = ("mu", "alpha", "nu", "p", "w")
        own = [value for label, value in bound.by_name().items() if label not in locations]
        own += [part for group in bound.components for part in group]
        found.update(dict.fromkeys(evidence.upstream(own)))
    positive = {s.variable.name for s in evidence.stretches if s.variable.transform is not None}
    return [name for name in found if name in positive]


def _rises_to_zero(evidence: Symptoms, name: str) -> bool:
    """Whether the density rises as a scale becomes ever smaller, alone or as chains move with it."""
    for s in evidence.stretches:
        if s.variable.name != name:
            continue
        for i in range(s.start, s.start + s.size):
            column = evidence.draws[:, i]
            point = evidence.draws[int(np.argmin(column))].copy()
            here, levels = point[i], []
            for step in (0.0, 5.0, 10.0, 15.0):
                point[i] = here - step
                levels.append(evidence.logp(point))
            if np.isfinite(levels).all() and (np.diff(levels) > 1.0).all():
                return True
            if len(evidence.levels) == len(column):
                least, low, median, upper = np.quantile(column, [0.0, 0.1, 0.5, 0.8413])
                higher = evidence.levels[column <= low].mean() - evidence.levels[column >= median].mean()
                wide = upper - low > WIDE or median - least > FAR * (upper - median)
                goes_with_it = float(np.corrcoef(column, evidence.levels)[0, 1]) < -FOLLOWS
                if (higher > SPIKE and wide) or (goes_with_it and np.ptp(column) > WIDE):
                    return True
    return False


def spike(evidence: Symptoms) -> Cause | None:
    """A scale of data that goes to 0 with a density that grows."""
    for name in _scales_of_data(evidence):
        if _rises_to_zero(evidence, name):
            return _spike(evidence, name)
    return None


def _spike(evidence: Symptoms, name: str) -> Cause:
    return Cause(
        "spike",
        (name,),
        f"the density grows without end as `{name}` goes to 0, where a component or a curve passes exactly "
        "through data",
        f'Give `{name}` a prior that keeps it from 0: `pm.InverseGamma("{name}", 3, …)` or `pm.LogNormal("{name}", …)` '
        "on the scale of the data.",
    )


def tails(evidence: Symptoms) -> Cause | None:
    """A coordinate whose tails are so heavy that steps which suit its middle do not get through them."""
    children = {name for name, _ in _hierarchies(evidence)}
    far = evidence.far.copy()
    for s in evidence.stretches:
        if s.variable.name in children:
            far[s.slice] = 0.0
    far[evidence.separate] = 0.0
    if not len(far) or far.max() < FAR:
        return None
    coordinate = int(np.argmax(far))
    name = evidence.variable(coordinate).name
    title = evidence.title(name)
    prior = f", and the data do not bound it where its prior, {title}, has heavy tails" if title in HEAVY else ""
    half, middle = ("Half", "") if title.startswith("Half") else ("", "0, ")
    written = f'`pm.{half}Normal("{name}", {middle}2.5)` or `pm.{half}StudentT("{name}", nu=7, …)`'
    return Cause(
        "tails",
        (name,),
        f"`{evidence.names[coordinate]}` has heavy tails: half a percent of its draws lie {far[coordinate]:.0f} times "
        f"as far out as two thirds of them{prior}",
        f"Give `{name}` a prior with lighter tails on the scale that is plausible, {written}; where the tails are "
        "meant, draw longer, `result.extend(target_ess=…)`.",
    )
