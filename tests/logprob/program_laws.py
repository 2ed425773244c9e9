"""What holds for the density of every program: draws follow it, its integral is 1, and it moves as they do."""

from __future__ import annotations

import numpy as np

from consilience.errors import MissingRuleError, ParameterError, SupportError
from tests.logprob.programs import Plan, drawn, log_density

POINTS = 12
CELLS = 48
BEYOND = 0.002  # share of draws at either end that no cell has


def failure(plan: Plan, count: int) -> str:
    """What is wrong with the density of a program; an empty text if nothing is."""
    draws = drawn(plan, count, 7)
    if len(draws) < count // 20 or not np.isfinite(draws).all() or np.ptp(draws) > 1e4:
        return "refused: no draws to compare with"
    values, counts = np.unique(draws.round(12), return_counts=True)
    massive = values[counts > max(4, 1e-4 * count)]
    smooth = draws[~np.isin(draws.round(12), values[counts > 1])]  # rare masses among them are met once
    ends = np.linspace(BEYOND, 1 - BEYOND, CELLS + 1)
    cuts = np.unique(np.quantile(smooth, ends)) if len(smooth) > 100 else np.zeros(0)
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
        total += np.mean((smooth < cuts[0]) | (smooth > cuts[-1])) * len(smooth) / len(draws)
    if abs(total - 1) > 0.01:
        return f"integral {total!r}"
    for place in range(len(plan.start)):
        other = plan.moved(place, 0.31)
        new = drawn(other, count, 7)
        moves = _differ(new, draws)
        try:
            moved = _differ(log_density(other, at), found)
        except SupportError:  # as of data that are known not to lie in the support where that moved
            moved = True
        # Draws may move where their distribution does not, as those of what lies beyond a truncation.
        if moves != moved and (moved or _distance(new, draws) > 3 * np.sqrt(1 / len(new) + 1 / len(draws))):
            return f"parameter {place} moves {'draws' if moves else 'the density'} alone"
    return ""


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether numbers differ by more than rounding."""
    return a.shape != b.shape or not np.allclose(a, b, 1e-9, 1e-9, equal_nan=True)


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """The greatest difference of two empirical distribution functions."""
    at = np.concatenate([a, b])
    below = [np.searchsorted(np.sort(x), at, "right") / len(x) for x in (a, b)]
    return float(np.abs(below[0] - below[1]).max())


def _exact(draws: np.ndarray, value: float) -> float:
    return float(draws[np.argmin(np.abs(draws - value))])
