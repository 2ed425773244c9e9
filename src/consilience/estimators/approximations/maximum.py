"""The mode of a posterior: the highest point of the density of the variables on their own scales.

A model in; a point out, by ascents in machine code from several starting points at once, or by a method of SciPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError, warn
from consilience.estimators.approximations.mode_tree import Optimum, mode_tree, named_values
from consilience.estimators.approximations.target import Floats, TargetDensity, Variables
from consilience.inference.modes.ascent import scaled_by
from consilience.inference.modes.evaluations import Evaluations
from consilience.inference.modes.region_mass import curvature_at
from consilience.model.model import Model

OWN: Final = ("L-BFGS-B", "L-BFGS")
TOLERANCE: Final = 1e-11  # g' H g, twice the gain that is left
CONVERGED: Final = 1e-6  # of the same, or of the log density's own rounding
ROUNDS: Final = 4  # times that an ascent is taken up again where it ended
MOST_NEWTON: Final = 300  # coordinates up to which differences of gradients are cheap
SCATTER: Final = 3.0  # of starting points, on the unconstrained scale
FAR: Final = 12.0  # on a transformed line, from where a bound of the support is as good as reached
FLAT: Final = 1e-3  # change of the log density along a line that leads nowhere


def find_MAP(
    method: str | Mapping[str, Any] = "L-BFGS-B",
    *,
    vars: Variables = None,
    use_grad: bool | None = None,
    use_hess: bool | None = None,
    use_hessp: bool | None = None,
    initvals: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    jitter: bool | None = None,
    jitter_max_retries: int = 10,
    starts: int = 4,
    return_raw: bool = False,
    include_transformed: bool = True,
    maxeval: int = 5000,
    random_seed: Any = None,
    progressbar: bool = True,
    compute_hessian: bool = False,
    return_inferencedata: bool = False,
    idata_kwargs: Mapping[str, Any] | None = None,
    model: Model | None = None,
    backend: str | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    **optimizer_kwargs: Any,
) -> Any:
    """Find the maximum a posteriori: the values of all variables with the highest density on their own scales.

    method (str or mapping): "L-BFGS-B": limited-memory BFGS in machine code, on the unconstrained scale, so that
        variables stay in their supports. Any other value names a method of `scipy.optimize.minimize`, which receives
        `optimizer_kwargs`. If the density has no gradient, "Powell" is used. A mapping in this position is `start`, as
        in PyMC.
    vars: Variables to optimize; the others keep their initial values.
    use_grad: Accepted for compatibility with PyMC; has no effect.
    use_hess: Accepted for compatibility with PyMC; derivatives are always used.
    use_hessp: Accepted for compatibility with PyMC; has no effect.
    initvals, start (mapping): Starting values, as in `pm.sample`.
    jitter: False: a single ascent from the starting values.
    jitter_max_retries: Accepted for compatibility with PyMC; has no effect.
    starts: Number of ascents: one from the starting values, and the others from points around them. The highest end
        is returned.
    return_raw: True: also return an `Optimum`.
    include_transformed: True: also return values on the unconstrained scale, such as `tau_log__`.
    maxeval: Largest number of evaluations per ascent.
    random_seed : ...
    progressbar: Accepted for compatibility with PyMC; has no effect.
    compute_hessian: True: the group `fit` of the tree also has `covariance_matrix`, the inverse of the negative second
        derivatives on the unconstrained scale, without the Jacobian.
    return_inferencedata: True: return a tree instead of a mapping, with one draw in its group `posterior`, and the
        vector on the unconstrained scale in `fit`.
    idata_kwargs (mapping): Settings of the tree, as in `pm.to_inference_data`, such as `include_transformed`.
    model : ...
    backend: Accepted for compatibility with PyMC; has no effect.
    compile_kwargs (mapping): Accepted for compatibility with PyMC; has no effect.
    **optimizer_kwargs: Settings of the optimizer. `seed` is PyMC's name for `random_seed`.
    Returns: Values by name, including deterministics.
    Raises SamplingError: If the density has no maximum.
    Raises ModelError: If the model has discrete variables.
    Raises InitialPointError: If the density is not finite at the starting point.
    Warns ConvergenceWarning: If a variable ends at a bound of its support, the search did not converge, or the density
        has no gradient.
    See fit_laplace: A normal approximation at the mode.
    See find_hessian: Second derivatives of the log density with its Jacobian.
    Notes: Source of the method: Liu and Nocedal (1989), On the limited memory BFGS method for large scale optimization.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0.0, 10.0)
    ...     pm.Normal("y", mu, 1.0, observed=[1.0, 2.0])
    ...     found = pm.find_MAP(progressbar=False)
    <y: Normal float64[2]>
    >>> found["mu"].round(2).item()
    1.49
    """
    if isinstance(method, Mapping):  # the start is PyMC's first argument
        if start is not None:
            raise TypeError("`find_MAP` got `start` twice, by position and by name.")
        start, method = method, "L-BFGS-B"
    if initvals is not None and start is not None:
        raise TypeError("`start` is another name of `initvals`; give one of them.")
    if compute_hessian and not return_inferencedata:
        raise TypeError(
            "what `compute_hessian=True` computes stands in the group `fit` of a tree: give also "
            "`return_inferencedata=True`, or give the point to `pm.find_hessian`."
        )
    if "seed" in optimizer_kwargs:
        if random_seed is not None:
            raise TypeError("`seed` is another name of `random_seed`; give one of them.")
        random_seed = optimizer_kwargs.pop("seed")
    starts = 1 if jitter is False else starts
    if starts < 1 or maxeval < 1:
        raise ValueError(f"`starts` and `maxeval` must be at least 1, got {starts} and {maxeval}.")
    target = TargetDensity(
        model, vars, initvals if start is None else start, jacobian=False, seed=seed_from(random_seed), gradients=False
    )
    if target.density.simulated:
        raise ModelError(f"`find_MAP` needs a log density without chance: {target.density.without_gradient}")
    if target.density.without_gradient:
        found = _without_gradient(target, "Powell" if method in OWN else method, maxeval, optimizer_kwargs)
    elif method in OWN:
        if optimizer_kwargs:
            raise TypeError(
                f"the method {method!r} takes no {sorted(optimizer_kwargs)}; it has `maxeval` and `starts`."
            )
        found = highest(target, starts, maxeval)
    else:
        found = _by_scipy(target, method, maxeval, optimizer_kwargs)
    _examine(target, found)
    point: Any = named_values(target, found.x, include_transformed and not return_inferencedata)
    if return_inferencedata:
        asked = dict(idata_kwargs or {})
        if asked.get("include_transformed"):
            point |= named_values(target, found.x, True)
        point = mode_tree(target, point, found, method, compute_hessian, asked)
    return (point, found) if return_raw else point


def highest(target: TargetDensity, starts: int, most: int) -> Optimum:
    """The highest end of ascents from several points."""
    points = target.starts(starts, SCATTER)
    coordinates = scaled_by(np.ones(target.dimension))
    longest = np.full(len(points), np.inf)
    with target.evaluations(len(points)) as evaluations:
        ends = evaluations.ascend(points, coordinates, longest, points[0], most, TOLERANCE)
        for _ in range(ROUNDS):
            again = ends.decrements > TOLERANCE
            if not again.any():
                break
            ends = evaluations.ascend(ends.points, coordinates, longest, points[0], most, TOLERANCE)
        best = int(np.argmax(ends.logps))
        x = ends.points[best]
        steps = newton_steps(evaluations, x)
        spent = evaluations.spent
    logp, decrement = float(ends.logps[best]), float(ends.decrements[best])
    if steps is not None:
        x, logp, decrement = steps
    converged = bool(decrement < CONVERGED * max(1.0, abs(logp) * 1e-6))
    message = "converged" if converged else f"not converged: the log density may still grow by {0.5 * decrement:.2g}"
    return Optimum(x, logp, converged, spent, -np.sort(-ends.logps), message)


def newton_steps(evaluations: Evaluations, x: Floats) -> tuple[Floats, float, float] | None:
    """Two steps of Newton's method, which square the error; None where the curvature does not allow them."""
    if len(x) > MOST_NEWTON:
        return None
    found = None
    for _ in range(2):
        curvature = curvature_at(evaluations, x)
        if curvature is None:
            return found
        gradient = evaluations.gradients(x[None])[0]
        step = curvature.factor @ (curvature.factor.T @ gradient)
        logps = evaluations.at(np.stack([x, x + step]))
        decrement = float(gradient @ step)
        if not np.isfinite(logps).all() or decrement > 1.0 or logps[1] < logps[0] - 1e-9 * max(1.0, abs(logps[0])):
            return found
        x = x + step
        found = x, float(logps[1]), decrement**2
    return found


def _without_gradient(target: TargetDensity, method: str, most: int, options: dict[str, Any]) -> Optimum:
    """The end of a search of SciPy's that compares values alone."""
    from scipy import optimize

    minimize: Any = optimize.minimize
    reason = target.density.without_gradient
    warn(
        f"the mode is searched by the method {method!r} of SciPy, from one starting point and without gradients, so it "
        f"is less exact: {reason}"
    )
    given = {"maxiter": most, **options.pop("options", {})}
    first = target.starts(1, SCATTER)[0]
    result = minimize(lambda x: -target.logp(x), first, method=method, options=given, **options)
    logp = -float(result.fun)
    x = np.asarray(result.x, float).reshape(-1)
    return Optimum(x, logp, bool(result.success), int(result.nfev), np.array([logp]), str(result.message))


def _by_scipy(target: TargetDensity, method: str, most: int, options: dict[str, Any]) -> Optimum:
    from scipy import optimize

    minimize: Any = optimize.minimize  # which methods there are is for SciPy to say
    first = target.starts(1, SCATTER)[0]
    with target.evaluations() as evaluations:

        def value(x: Floats) -> float:
            found = float(evaluations.at(x[None])[0])
            return -found if np.isfinite(found) else np.inf

        def slope(x: Floats) -> Floats:
            return np.asarray(-np.nan_to_num(evaluations.gradients(x[None])[0]))

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Method .* does not use gradient information")
            given = {"maxiter": most, **options.pop("options", {})}
            result = minimize(value, first, method=method, jac=slope, options=given, **options)
        spent = evaluations.spent
    logp = -float(result.fun)
    return Optimum(
        np.asarray(result.x, float), logp, bool(result.success), spent, np.array([logp]), str(result.message)
    )


def _examine(target: TargetDensity, found: Optimum) -> None:
    """Raise where the density grows without end; warn of modes at bounds and of searches that did not converge."""
    x = found.x
    transformed = np.concatenate(
        [np.full(s.size, s.variable.sampled is not None) for s in target.density.layout.stretches]
    )[target.places]
    far = transformed & (np.abs(x) > FAR)
    if target.density.without_gradient:
        if not found.converged:
            _warn_of_the_end(found)
        return
    with target.evaluations() as evaluations:
        gradient = evaluations.gradients(x[None])[0]
        endless = far if not found.converged and far.any() else _endless(evaluations, found, gradient)
        if endless.any():
            leading = np.flatnonzero(endless)
            names = ", ".join(f"`{target.coordinate(i)}`" for i in leading[np.argsort(-np.abs(gradient[leading]))][:3])
            raise SamplingError(
                f"the density has no highest point: it grows without end along {names} (log density {found.logp:.4g} "
                "so far). Give the variables proper priors, or leave the scale of a hierarchy where it is by naming "
                "the others in `vars=`."
            )
        bounds = []
        for i in np.flatnonzero(far):
            beyond = x.copy()
            beyond[i] += np.sign(x[i]) * 10.0
            (there,) = evaluations.at(beyond[None])
            if there > found.logp - FLAT:
                bounds.append(target.coordinate(int(i)))
        if bounds:
            warn(
                f"the mode lies at a bound of the support of {', '.join(f'`{b}`' for b in bounds[:5])}: the density "
                "does not fall towards it. A mode there says little of the posterior; see `pm.sample`."
            )
        elif not found.converged:
            _warn_of_the_end(found)


def _warn_of_the_end(found: Optimum) -> None:
    warn(
        f"the search for the mode did not converge ({found.message}); raise `maxeval`, or begin elsewhere with "
        "`initvals=`."
    )


def _endless(evaluations: Evaluations, found: Optimum, gradient: Floats) -> npt.NDArray[np.bool_]:
    """The coordinates along which the density still grows far beyond the point, if it does."""
    size = np.linalg.norm(gradient)
    if found.converged or not size > 0 or not np.isfinite(size):
        return np.zeros(len(gradient), bool)
    logps = evaluations.at(found.x + np.array([[1.0], [10.0], [100.0]]) * gradient / size)
    grows = np.isfinite(logps).all() and bool((np.diff(np.concatenate([[found.logp], logps])) > 1.0).all())
    return (np.abs(gradient) > 0.1 * size) & grows
