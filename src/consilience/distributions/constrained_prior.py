"""Parameters of a distribution that put a given mass between two bounds.

A distribution, bounds and a first guess in, parameters out; SciPy searches with our log CDF.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.distributions.constraints import Constraint
from consilience.distributions.densities import logcdf
from consilience.distributions.distribution import Distribution
from consilience.distributions.parameters import choose, signatures
from consilience.distributions.transforms.registry import to_unconstrained
from consilience.ir import constant, tensor_input

TOLERANCE: Final = 1e-4
FAR: Final = 1e3  # stands for a distance that is not finite


def find_constrained_prior(
    distribution: type[Distribution],
    lower: float,
    upper: float,
    init_guess: Mapping[str, float],
    mass: float = 0.95,
    fixed_params: Mapping[str, float] | None = None,
    mass_below_lower: float | None = None,
    **options: Any,
) -> dict[str, float]:
    """Parameters with which a distribution has the probability `mass` between `lower` and `upper`.

    distribution: Such as `pm.Gamma`; it needs a log CDF.
    lower: Lower end of the interval.
    upper: Upper end of the interval.
    init_guess: Parameters to be found, with values to begin at.
    mass: Probability between the bounds, between 0 and 1.
    fixed_params: The other parameters.
    mass_below_lower: Probability below `lower`; by default half of what is left, but left open for one parameter.
    **options: For `scipy.optimize.least_squares`.
    Returns: All parameters by name, so that `pm.Gamma("x", **result)` has that mass there.
    Raises ValueError: For bounds or masses without meaning, or where no such parameters are found.
    See icdf: The quantile of a probability.
    >>> found = pm.find_constrained_prior(pm.Normal, 0.0, 2.0, init_guess={"mu": 1.0, "sigma": 1.0})
    >>> sorted(found)
    ['mu', 'sigma']
    """
    if not lower < upper:
        raise ValueError(f"`lower` must be below `upper`, got {lower} and {upper}.")
    if not 0 < mass < 1 or (mass_below_lower is not None and not 0 <= mass_below_lower <= 1 - mass):
        raise ValueError(f"`mass` must lie between 0 and 1, and leave room below, got {mass} and {mass_below_lower}.")
    if not init_guess:
        raise ValueError("`init_guess` names no parameter to be found.")
    fixed = dict(fixed_params or {})
    below = mass_below_lower
    if below is None and len(init_guess) > 1:
        below = (1 - mass) / 2
    from scipy.optimize import least_squares

    nodes = {name: tensor_input("float64", (), name) for name in init_guess}
    rv = distribution.dist(**nodes, **fixed)
    probabilities = function(list(nodes.values()), [logcdf(rv, lower), logcdf(rv, upper)], name="cdf")
    maps = _maps(distribution, init_guess, fixed)

    def parameters(place: npt.NDArray[np.float64]) -> list[float]:
        return [back(value) for (_, back), value in zip(maps, place, strict=True)]

    def misses(place: npt.NDArray[np.float64]) -> list[float]:
        under, at_most = np.exp(probabilities(*parameters(place)))
        return [at_most - under - mass] + ([under - below] if below is not None else [])

    def sought(place: npt.NDArray[np.float64]) -> list[float]:
        if below is None or below == 0:
            found = misses(place)
        else:  # on the scale of log odds the search is not lost where probabilities are all but 0 or 1
            logs = np.minimum(probabilities(*parameters(place)), -1e-300)
            found = [
                v - np.log(-np.expm1(v)) - np.log(p / (1 - p)) for v, p in zip(logs, (below, below + mass), strict=True)
            ]
        return [float(v) if np.isfinite(v) else FAR for v in found]

    start = [forth(float(value)) for (forth, _), value in zip(maps, init_guess.values(), strict=True)]
    settings = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, **options}
    done = least_squares(sought, start, **settings)
    missed = np.abs(misses(done.x))
    if not np.all(missed < TOLERANCE):
        raise ValueError(
            f"no parameters of {distribution.title} were found that put {mass:g} between {lower:g} and {upper:g}; the "
            f"best miss by {np.max(missed):.2g}. Try another `init_guess`, bounds or `mass_below_lower`."
        )
    return {**dict(zip(init_guess, map(float, parameters(done.x)), strict=True)), **fixed}


def _maps(distribution: type[Distribution], init_guess: Mapping[str, float], fixed: Mapping[str, float]) -> list[Any]:
    """To the real line and back, for each parameter to be found."""
    chosen = choose(distribution.title, signatures(distribution.parameterizations), {**init_guess, **fixed})
    known: dict[str, Constraint] = {p.name: p.constraint for p in chosen.canonical}
    for alternative in chosen.alternatives:
        known |= alternative.constraints
    return [_map(known[name]) for name in init_guess]


def _map(constraint: Constraint) -> Any:
    transform = None
    if constraint.event_rank == 0 and not any(
        isinstance(getattr(constraint, end, None), str) for end in ("lower", "upper")
    ):
        transform = to_unconstrained(constraint)
    if transform is None:
        return float, float
    x = tensor_input("float64", ())
    back = function([x], transform.backward(x), name="back")
    return (lambda value: float(transform.forward(constant(float(value))).eval())), (lambda value: float(back(value)))
