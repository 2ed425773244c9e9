"""Integrated nested Laplace approximations: posteriors of latent normal models without chains.

A model and the names of its latent block in; marginals, draws and the log marginal likelihood out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError, warn
from consilience.estimators.approximations.importance import drawn as resampled
from consilience.estimators.approximations.target import TargetDensity, Variables
from consilience.estimators.inla.conditional import Conditional, LatentMoments
from consilience.estimators.inla.exploration import Explored, explored
from consilience.estimators.inla.hyperparameters import Integrated, integrated
from consilience.estimators.inla.latent_field import Floats, LatentField
from consilience.estimators.inla.mixture import SkewedMixture, skewed
from consilience.model.model import Model
from consilience.sample.inference_data import to_inference_data

if TYPE_CHECKING:
    import xarray

DESIGNS: Final = ("auto", "grid", "ccd", "eb")
NEGLIGIBLE: Final = 1e-6  # share of the posterior mass for which a point of the design is not worth its marginals
ROWS: Final = 512  # of whole positions at once
DRAWS: Final = 2000  # for what only draws tell
LARGEST_SHIFT: Final = 1.0  # of a mean, in standard deviations, up to which first-order corrections hold
LARGEST_SKEWNESS: Final = 1.5
IMPROPER: Final = 5.0  # times these limits, above which there is hardly a mode


class NestedLaplace:
    """The posterior of a latent normal model by nested Laplace approximations; `pm.fit(method="inla")` makes it.

    Attributes
    ----------
    log_marginal_likelihood
        Log of the integral of prior times likelihood.
    hyperparameters
        Unconstrained values at which the latent block was integrated out, float64[points, d].
    weights
        Of these points, float64[points].
    names
        Of the latent variables.
    """

    def __init__(self, field: LatentField, design: Integrated, seed: int) -> None:
        self.field, self.seed = field, seed
        self._design = design
        top = float(design.logs.max())
        self.log_marginal_likelihood = top + float(np.log(np.exp(design.logs - top).sum()))
        shares = np.exp(design.logs - self.log_marginal_likelihood)
        large = shares > NEGLIGIBLE
        self.weights: Floats = shares[large] / shares[large].sum()
        self._nodes = [n for n, k in zip(design.nodes, large, strict=True) if k]
        self.hyperparameters: Floats = np.array([n.theta for n in self._nodes])
        self.names = field.names
        self._moments = [n.moments() for n in self._nodes]
        self._explored: Explored | None = None
        self._parts: SkewedMixture | None = None
        self._examine()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.field.size} latent coordinates at {len(self.weights)} points of "
            f"{len(self.field.others)} hyperparameters, log_marginal_likelihood {self.log_marginal_likelihood:.2f}>"
        )

    @property
    def model(self) -> Model:
        """The model whose posterior it stands for."""
        return self.field.target.model

    def _examine(self) -> None:
        """Warn of large corrections; raise where they say that there is no mode."""
        best = self._moments[int(np.argmax(self.weights))]
        sizes = np.maximum(np.abs(best.shift / best.sd) / LARGEST_SHIFT, np.abs(best.skewness) / LARGEST_SKEWNESS)
        worst = int(np.argmax(sizes))
        if sizes[worst] > IMPROPER:
            theta = self.hyperparameters[int(np.argmax(self.weights))]
            raise SamplingError(
                "the density of the latent variables is nothing like a normal one along "
                f"`{self.field.coordinate(worst)}` at {self.field.described(theta)}. Data that do not bound it need a "
                "proper prior; otherwise use `pm.sample`."
            )
        if sizes[worst] > 1.0:
            warn(
                f"given the hyperparameters, `{self.field.coordinate(worst)}` is far from normal: first-order "
                f"corrections shift its mean by {best.shift[worst] / best.sd[worst]:.2g} standard deviations and give "
                f"it the skewness {best.skewness[worst]:.2g}. Compare with `pm.sample`."
            )

    # ---- marginals

    def marginal(self, name: str) -> SkewedMixture:
        """Marginal distributions of a latent variable's elements.

        Returns
        -------
        SkewedMixture
            Their `mean`, `sd`, `skewness`, `pdf(x)`, `cdf(x)`, `quantile(p)`, in the variable's shape.

        Raises
        ------
        ModelError
            For other variables, whose draws tell theirs, and for latent ones with a transform.
        """
        place = 0
        for s in self.field.target.density.layout.stretches:
            if s.variable.name not in self.names:
                continue
            if s.variable.name == name:
                if s.variable.sampled is not None:
                    raise ModelError(f"`{name}` has a transform; take its marginals from `sample()`.")
                return self._mixture(slice(place, place + s.size), s.shape)
            place += s.size
        raise ModelError(
            f"`marginal` is for the latent variables {self.names}, got {name!r}; `summary()` and `sample()` "
            "tell of others."
        )

    def _mixture(self, part: slice, shape: tuple[int, ...]) -> SkewedMixture:
        if self._parts is None:
            self._parts = self._among_points() if self._design.sparse else self._at_nodes()
        return SkewedMixture(
            self._parts.weights,
            *(
                a[:, part].reshape(-1, *shape)
                for a in (self._parts.means, self._parts.deviations, self._parts.skewnesses)
            ),
        )

    def _at_nodes(self) -> SkewedMixture:
        """Of the whole block, one part per point of the design."""
        return SkewedMixture(
            self.weights,
            np.array([n.mode + m.shift for n, m in zip(self._nodes, self._moments, strict=True)]),
            np.array([m.sd for m in self._moments]),
            np.array([_bounded(m.skewness) for m in self._moments]),
        )

    def _among_points(self) -> SkewedMixture:
        """Of the whole block, one part per evaluated point: of the weighted hyperparameters that it is next to."""
        posterior = self._posterior_points()
        thetas, weights = posterior.found.points, posterior.found.weights
        near = posterior.nearest(thetas)
        shares = np.bincount(near, weights, len(posterior.nodes))
        chosen = np.flatnonzero(shares > NEGLIGIBLE)
        means, deviations, skewnesses = np.empty((3, len(chosen), self.field.size))
        for row, k in enumerate(chosen):
            node, there = posterior.nodes[k], near == k
            modes, own = posterior.modes_at(thetas[there]), weights[there] / shares[k]
            moments, sd = self._moments_near(node), node.sd()
            mean = own @ modes
            means[row] = mean + sd * moments.shift / moments.sd
            deviations[row] = np.sqrt(sd**2 + own @ (modes - mean) ** 2)
            skewnesses[row] = _bounded(moments.skewness) * (sd / deviations[row]) ** 3
        return SkewedMixture(shares[chosen] / shares[chosen].sum(), means, deviations, skewnesses)

    def summary(self, probabilities: tuple[float, ...] = (0.05, 0.5, 0.95)) -> xarray.Dataset:
        """Mean, standard deviation and quantiles of the free variables on their own scales, along the axis `metric`.

        Latent variables have those of their marginals, those with a transform those of 2,000 draws, and hyperparameters
        those of weighted points.
        """
        found = self._posterior_points().found
        natural = self._natural(found.points)
        transformed = any(
            s.variable.name in self.names and s.variable.sampled is not None
            for s in self.field.target.density.layout.stretches
        )
        draws: Any = self.sample(DRAWS, random_seed=self.seed, return_inferencedata=False) if transformed else {}
        values: dict[str, Any] = {}
        for s in self.field.target.density.layout.stretches:
            name = s.variable.name
            if name not in self.names:
                values[name] = _weighted_summary(natural[name], found.weights, probabilities)
            elif s.variable.sampled is not None:
                values[name] = _weighted_summary(draws[name], np.full(DRAWS, 1.0 / DRAWS), probabilities)
            else:
                own = self.marginal(name)
                values[name] = np.stack([own.mean, own.sd, *(own.quantile(p) for p in probabilities)])
        tree = to_inference_data({n: v[None] for n, v in values.items()}, model=self.model)
        labels = ["mean", "sd", *(f"{100 * p:g}%" for p in probabilities)]
        data = tree["posterior"].to_dataset().isel(chain=0, drop=True).rename(draw="metric")
        return data.assign_coords(metric=labels)

    def _natural(self, thetas: Floats) -> dict[str, Floats]:
        """Hyperparameters on their own scales, by name."""
        parts = []
        for rows in np.array_split(thetas, max(1, len(thetas) // ROWS)):
            at = np.broadcast_to(self._nodes[0].mode, (len(rows), self.field.size))
            values = self.field.target.density.expand(self.field.position(at, rows), False)
            parts.append({n: v for n, v in values.items() if n not in self.names})
        return {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}

    # ---- draws

    def _posterior_points(self) -> Explored:
        if self._explored is None:
            self._explored = explored(self.field, self._design, self.seed)
        return self._explored

    def sample(
        self, draws: int = 500, *, random_seed: Any = None, return_inferencedata: bool = True
    ) -> xarray.DataTree | dict[str, Any]:
        """Draws of all variables on their own scales from the joint approximation, deterministics included.

        Given the hyperparameters the latent block is normal around its mode, with means and skewness of its elements
        corrected; its covariance is that at the next of some hundred values of the hyperparameters.

        Parameters
        ----------
        return_inferencedata : bool, default True
            A labelled tree with the group `posterior` (one chain), else arrays by name.
        """
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"`draws` must be a whole number > 0, got {draws!r}.")
        generator = np.random.Generator(np.random.Philox(key=[seed_from(random_seed), 6]))
        posterior = self._posterior_points()
        thetas = posterior.found.points[resampled(posterior.found.weights, int(draws), generator)]
        x = posterior.modes_at(thetas)
        near = posterior.nearest(thetas)
        for k in np.unique(near):
            rows = np.flatnonzero(near == k)
            x[rows] += self._around(posterior.nodes[k], generator.standard_normal((self.field.size, len(rows))))
        points = generator.permutation(self.field.position(x, thetas))
        values = self.field.target.density.expand(points)
        if not return_inferencedata:
            return values
        tree = to_inference_data({n: v[None] for n, v in values.items()}, model=self.model)
        tree["posterior"].attrs.update(
            inference_library="consilience",
            method="INLA",
            log_marginal_likelihood=self.log_marginal_likelihood,
            pareto_k=posterior.found.pareto_k,
        )
        return tree

    def _moments_near(self, node: Conditional) -> LatentMoments:
        """Those at the point of the design next to a node."""
        away = self._design.coordinates.standardized(self.hyperparameters - node.theta + self._design.coordinates.mode)
        return self._moments[int(np.argmin((away**2).sum(1)))]

    def _around(self, node: Conditional, normals: Floats) -> Floats:
        """Draws of the block less its mode, float64[draws, n], with the corrections of the next point of the design."""
        places = self._design.coordinates.standardized(
            self.hyperparameters - node.theta + self._design.coordinates.mode
        )
        moments = self._moments[int(np.argmin((places**2).sum(1)))]
        sd = node.sd()
        normal = node.factor.coloured(normals).T / sd
        return np.asarray(sd * (moments.shift / moments.sd + skewed(normal, _bounded(moments.skewness))))


def fit_INLA(
    latent: Variables = None,
    *,
    design: str = "auto",
    initvals: Mapping[str, Any] | None = None,
    random_seed: Any = None,
    model: Model | None = None,
) -> NestedLaplace:
    """Approximate the posterior of a latent Gaussian model by integrated nested Laplace approximations.

    latent: Variables, or their names, that are jointly normal given all others: coefficients, random effects, random
        walks, autoregressions in time or space. The others, at most 15 numbers, are hyperparameters.
    design: Where hyperparameters are integrated: "grid", "ccd" (central composite design), "eb" (empirical Bayes: at
        their mode only); "auto" is a grid for one or two of them, else a design.
    initvals (mapping): Where searches begin, as in `pm.sample`.
    random_seed (int, sequence of int or Generator): Of the hyperparameters' values in draws.
    model : ...
    Returns: An approximation: `.sample(1000)` gives draws, `.marginal("z")` and `.summary()` marginals,
        `.log_marginal_likelihood` the evidence.
    Raises ModelError: Where the block is not normal given the others, for discrete variables and for too many
        hyperparameters.
    Raises SamplingError: Where the density of the block or of the hyperparameters has no mode.
    Warns ConsilienceWarning: If an element of the latent field is far from normal given the hyperparameters.
    See fit_laplace: One normal approximation for all variables.
    Notes: Source: Rue, Martino and Chopin (2009), Approximate Bayesian inference for latent Gaussian models by using
        integrated nested Laplace approximations, Journal of the Royal Statistical Society B 71, 319-392.
    References: Rue, Martino, Chopin (2009), Journal of the Royal Statistical Society B 71, 319.

    >>> with pm.Model() as model:
    ...     tau = pm.HalfNormal("tau", 1)
    ...     x = pm.Normal("x", 0, tau, shape=4)
    ...     y = pm.Poisson("y", pm.math.exp(x), observed=[1, 3, 2, 4])
    >>> found = pm.fit_INLA("x", model=model)
    >>> round(found.log_marginal_likelihood, 1)
    -9.2
    """
    if design not in DESIGNS:
        raise ValueError(f"`design` must be one of {', '.join(map(repr, DESIGNS))}, got {design!r}.")
    seed = seed_from(random_seed)
    field = LatentField(TargetDensity(model, None, initvals, jacobian=True, seed=seed), latent)
    return NestedLaplace(field, integrated(field, design), seed)


def _bounded(skewness: Floats) -> Floats:
    return np.clip(skewness, -LARGEST_SKEWNESS, LARGEST_SKEWNESS)


def _weighted_summary(values: Floats, weights: Floats, probabilities: tuple[float, ...]) -> Floats:
    """Mean, standard deviation and quantiles along the first axis."""
    flat = values.reshape(len(values), -1)
    mean = weights @ flat
    rows = [mean, np.sqrt(weights @ (flat - mean) ** 2)]
    order = np.argsort(flat, axis=0)
    ordered = np.take_along_axis(flat, order, 0)
    middles = np.cumsum(weights[order], 0) - 0.5 * weights[order]
    rows += [
        np.array([np.interp(p, m, column) for m, column in zip(middles.T, ordered.T, strict=True)])
        for p in probabilities
    ]
    return np.array(rows).reshape(len(rows), *values.shape[1:])
