"""What holds for the density of every program: draws follow it, its integral is 1, and it moves as they do."""

from __future__ import annotations

import numpy as np

from consilience.errors import MissingRuleError, ParameterError, SupportError
from tests.logprob.programs import Plan, drawn, log_density

POINTS = 12
CELLS = 48


def failure(plan: Plan, count: int) -> str:
    """What is wrong with the density of a program; an empty text if nothing is."""
    draws = drawn(plan, count, 7)
    if len(draws) < count // 20 or not np.isfinite(draws).all() or np.ptp(draws) > 1e4:
        return "refused: no draws to compare with"
    values, counts = np.unique(draws.round(12), return_counts=True)
    massive = values[counts > max(4, 1e-4 * count)]
    smooth = draws[~np.isin(draws.round(12), massive)]
    cuts = np.unique(np.quantile(smooth, np.linspace(0, 1, CELLS + 1))) if len(smooth) > 100 else np.zeros(0)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    half = np.diff(cuts)[:, None] / 2
    inner = (cuts[:-1, None] + half * (1 + nodes)).ravel() if len(cuts) else np.zeros(0)
    exact = [_exact(draws, v) for v in massive]
    at = np.r_[np.asarray(exact, "float64"), inner]
    try:
        found = log_density(plan, at)
    except (MissingRuleError, ParameterError) as error:
        return f"refused: {str(error)[:200]}"
    masses, density = np.exp(found[: len(exact)]), np.exp(found[len(exact) :])
    share = counts[counts > max(4, 1e-4 * count)] / len(draws)
    if len(exact) and (np.abs(masses - share) > 6 * np.sqrt(share / len(draws)) + 1e-4).any():
        k = int(np.argmax(np.abs(masses - share)))
        return f"mass of {exact[k]!r}: {masses[k]!r}, of draws {share[k]!r}"
    total = masses.sum()
    if len(cuts):
        integral = (density.reshape(-1, POINTS) * (half * weights)).sum(1)
        seen = np.histogram(smooth, cuts)[0] / len(draws)
        wrong = np.abs(integral - seen) > 6 * np.sqrt(seen / len(draws)) + 0.03 * seen + 2e-4
        if wrong.sum() > 1:
            k = int(np.argmax(np.abs(integral - seen) * wrong))
            ends = f"{cuts[k]:.4g} and {cuts[k + 1]:.4g}"
            return f"between {ends}: {integral[k]:.5g}, of draws {seen[k]:.5g} ({wrong.sum()} cells)"
        # The outer cells may be long, with a density that no quadrature of few points follows.
        total += integral[1:-1].sum() + seen[[0, -1]].sum()
    if abs(total - 1) > 0.01:
        return f"integral {total!r}"
    for place in range(len(plan.start)):
        other = plan.moved(place, 0.31)
        moves = not np.array_equal(drawn(other, count, 7), draws)
        try:
            moved = not np.array_equal(log_density(other, at), found, equal_nan=True)
        except SupportError:  # as of data that are known not to lie in the support where that moved
            moved = True
        if moves != moved:
            return f"parameter {place} moves {'draws' if moves else 'the density'} alone"
    return ""


def _exact(draws: np.ndarray, value: float) -> float:
    return float(draws[np.argmin(np.abs(draws - value))])
