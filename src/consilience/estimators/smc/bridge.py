"""Evidences from draws of a posterior, by bridge sampling.

A result in; the log marginal likelihood with its standard error out. Sources: X.-L. Meng and W. H. Wong (1996),
"Simulating ratios of normalizing constants via a simple identity"; S. Fruehwirth-Schnatter (2004), "Estimating marginal
likelihoods for mixture and Markov switching models using bridge sampling techniques".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from consilience.diagnostics.effective_sample_size import ess_mean
from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError, warn
from consilience.estimators.smc.moves import shape_of
from consilience.model.log_density import model_density
from consilience.model.model import Model, modelcontext
from consilience.model.trees import refuse_trees
from consilience.model.warm_start import stacked
from consilience.record import Record

MOST_STEPS: Final = 1000
UNCERTAIN: Final = 0.5  # standard error of a log evidence above which it tells little


class Evidence(Record, eq=False):
    """The log marginal likelihood, and its standard error."""

    value: float
    error: float

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.2g}"


def log_marginal_likelihood(result: Any, *, model: Model | None = None, random_seed: Any = None) -> Evidence:
    """The log of the integral of prior times likelihood, from draws of the posterior of `pm.sample` or `pm.sample_smc`.

    result (DataTree): A tree with the group `posterior`.
    model: The model of the draws; the one around by default.
    random_seed : ...
    Returns: The value and its standard error: `float(found)`, `found.error`.
    Raises SamplingError: Where draws are too few for the number of dimensions, or the estimate does not settle.
    Raises ModelError: Where a free variable has no draws, and for a model with a Simulator.
    Warns ConsilienceWarning: Where the standard error is above 0.5.
    See sample_smc: Gives an estimate of its own.
    See sample_nested: Draws and evidence by nested sampling.
    Notes: Half of the draws tell mean and covariance of a normal distribution on the unconstrained scale, the other
        half is compared with draws of it. Constants of priors count, so that differences are logs of Bayes factors.
    References: Meng, Wong (1996), Statistica Sinica 6, 831.

    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> found = pm.log_marginal_likelihood(result, model=model, random_seed=1)
    >>> bool(abs(found.value - -3.3872) < 0.05)
    True
    """
    owner = modelcontext(model)
    refuse_trees(owner, "`pm.log_marginal_likelihood`")
    density = model_density(owner)
    if density.simulated:
        raise ModelError(
            f"`{density.simulated[0]}` is a Simulator or a particle filter, whose log density is random; "
            "`pm.sample_smc` estimates the evidence, in `result.posterior.attrs`."
        )
    posterior = result.posterior if hasattr(result, "posterior") else result["posterior"]
    chains, count = (int(posterior.sizes[axis]) for axis in ("chain", "draw"))
    half = count // 2
    if chains * half <= 2 * density.dimension:
        raise SamplingError(
            f"{chains} x {count} draws are too few for {density.dimension} dimensions, since half of them "
            "must tell a covariance; take more."
        )
    points = density.unconstrained(stacked(posterior, density.model)).reshape(chains, count, density.dimension)
    first, second = points[:, :half].reshape(-1, density.dimension), points[:, half:]
    shape = shape_of(first, np.full(len(first), 1 / len(first)))
    seed = seed_from(random_seed)
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 7]))
    flat = second.reshape(-1, density.dimension)
    standard = generator.standard_normal(flat.shape)
    volume = np.log(np.diag(shape.factor)).sum() + 0.5 * density.dimension * np.log(2 * np.pi)

    def ratios(places: Any) -> Any:
        back = np.linalg.solve(shape.factor, (places - shape.mean).T)
        prior, likelihood = density.tempered(places)
        return prior + likelihood + 0.5 * (back**2).sum(0) + volume

    of_draws, of_normals = ratios(flat), ratios(shape.mean + standard @ shape.factor.T)
    effective = float(np.median(ess_mean(second)))
    effective = min(effective, len(flat)) if np.isfinite(effective) else len(flat)
    s1 = effective / (effective + len(of_normals))
    s2 = 1 - s1
    middle = float(np.median(of_draws))
    a, b = of_draws - middle, np.where(np.isfinite(of_normals), of_normals - middle, -np.inf)
    log_r = 0.0
    for _ in range(MOST_STEPS):
        above = np.exp(b - np.logaddexp(np.log(s1) + b, np.log(s2) + log_r))
        below = np.exp(-np.logaddexp(np.log(s1) + a, np.log(s2) + log_r))
        new = float(np.log(above.mean()) - np.log(below.mean()))
        if not np.isfinite(new):
            raise SamplingError("the normal distribution that stands for the posterior does not overlap with it.")
        if abs(new - log_r) < 1e-10 * max(1.0, abs(new)):
            break
        log_r = new
    else:
        raise SamplingError(f"the evidence did not settle in {MOST_STEPS} steps; take more draws.")
    first_part = np.exp(b - np.logaddexp(np.log(s1) + b, np.log(s2) + log_r))
    second_part = np.exp(log_r - np.logaddexp(np.log(s1) + a, np.log(s2) + log_r))
    variance = first_part.var() / first_part.mean() ** 2 / len(b)
    variance += second_part.var() / second_part.mean() ** 2 / effective
    error = float(np.sqrt(variance))
    if error > UNCERTAIN:
        warn(
            f"the log marginal likelihood has a standard error of {error:.2g}: a normal distribution stands badly for "
            "this posterior. `pm.sample_smc` finds evidences without one."
        )
    return Evidence(middle + log_r, error)
