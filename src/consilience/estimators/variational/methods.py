"""Methods of variational inference, one class for each family of approximations, and `fit`, which knows their names.

A model and the name of a method in; the approximation where the ascent has arrived out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, overload

import numpy as np

from consilience.estimators.approximations.target import Floats
from consilience.estimators.inla.nested_laplace import NestedLaplace, fit_INLA
from consilience.estimators.variational.approximation import (
    Approximation,
    Empirical,
    FullRank,
    LowRankNormal,
    MeanField,
)
from consilience.estimators.variational.flow import NormalizingFlow, flow_of, layers_of
from consilience.estimators.variational.inference import (
    Inference,
)
from consilience.estimators.variational.optimizers import NATURAL, Optimizer, adam, optimizer_of
from consilience.model.model import Model

FLOW_DRAWS: Final = 64
FLOW_RATE: Final = 0.01
FEWEST_PARTICLES: Final = 2


class ADVI(Inference):
    """Automatic differentiation variational inference with independent coordinates (mean field).

    Source: Kucukelbir, Tran, Ranganath, Gelman, Blei (2017), Automatic differentiation variational inference.

    model, random_seed, start, start_sigma : ...
    See FullRankADVI: With a full covariance matrix.
    See fit: Fits by the name of a method.

    References
    ----------
    Kucukelbir, Tran, Ranganath, Gelman, Blei (2017), Journal of Machine Learning Research 18(14).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.ADVI(random_seed=1).fit(200, progressbar=False)
    >>> type(approximation).__name__
    'MeanField'
    """

    kind = MeanField


class FullRankADVI(Inference):
    """Automatic differentiation variational inference with a full covariance matrix.

    Source: that of `ADVI`.

    model, random_seed, start, start_sigma : ...
    See ADVI: With independent coordinates.
    See fit: Fits by the name of a method.

    References
    ----------
    Kucukelbir, Tran, Ranganath, Gelman, Blei (2017), Journal of Machine Learning Research 18(14).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.FullRankADVI(random_seed=1).fit(200, progressbar=False)
    >>> type(approximation).__name__
    'FullRank'
    """

    kind = FullRank


class LowRankADVI(Inference):
    """Automatic differentiation variational inference with a diagonal and a matrix of low rank as covariance.

    rank: Of the latter; the cost of a step is the dimension times it.
    model, random_seed, start, start_sigma : ...
    See FullRankADVI: With a full covariance matrix.
    See fit: Fits by the name of a method.

    Notes
    -----
    Source: Ong, Nott, Smith (2018), Gaussian variational approximation with a factor covariance structure.


    References
    ----------
    Ong, Nott, Smith (2018), Journal of Computational and Graphical Statistics 27, 465.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1, shape=3)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0, 3.0])
    ...     approximation = pm.LowRankADVI(rank=1, random_seed=1).fit(200, progressbar=False)
    >>> type(approximation).__name__
    'LowRankNormal'
    """

    kind = LowRankNormal

    def __init__(
        self,
        rank: int = 5,
        *,
        model: Model | None = None,
        random_seed: Any = None,
        start: Mapping[str, Any] | None = None,
        start_sigma: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise ValueError(f"`rank` must be a whole number > 0, got {rank!r}.")
        self.rank = rank
        super().__init__(model=model, random_seed=random_seed, start=start, start_sigma=start_sigma)

    def _begin(self, position: Floats) -> Floats:
        # Loadings of 0 would stay there.
        rank = min(self.rank, len(position))
        generator = np.random.Generator(np.random.Philox(key=[self.seed & (2**64 - 1), 6]))
        loadings = 0.1 * generator.standard_normal(len(position) * rank)
        return np.concatenate([super()._begin(position), loadings])


class SVGD(Inference):
    """Stein variational gradient descent: particles that are drawn uphill and repel each other.

    n_particles: How many.
    jitter: Standard deviation of their starting points, on the unconstrained scale.
    model, random_seed, start : ...
    See ASVGD: With a normal distribution that moves.
    See fit: Fits by the name of a method.

    Notes
    -----
    Source: Liu and Wang (2016), Stein variational gradient descent. Spreads come out too small where the dimension is
    not small against the number of particles.


    References
    ----------
    Liu, Wang: Stein Variational Gradient Descent (2016).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.SVGD(n_particles=20, random_seed=1).fit(progressbar=False)
    >>> type(approximation).__name__
    'Empirical'
    """

    kind = Empirical
    stein = True

    def __init__(
        self,
        n_particles: int = 100,
        jitter: float = 1.0,
        *,
        model: Model | None = None,
        random_seed: Any = None,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(n_particles, bool) or not isinstance(n_particles, int) or n_particles < FEWEST_PARTICLES:
            raise ValueError(f"`n_particles` must be a whole number of at least 2, got {n_particles!r}.")
        if not (np.isfinite(jitter) and jitter > 0):
            raise ValueError(f"`jitter` must be a number > 0, got {jitter!r}.")
        self.n_particles, self.jitter = n_particles, jitter
        super().__init__(model=model, random_seed=random_seed, start=start)

    def _begin(self, position: Floats) -> Floats:
        generator = np.random.Generator(np.random.Philox(key=[self.seed & (2**64 - 1), 5]))
        scattered = position + self.jitter * generator.standard_normal((self.n_particles, len(position)))
        return scattered.ravel()

    def _draws(self, obj_n_mc: int | None) -> int:
        if obj_n_mc is not None:
            raise TypeError("the draws of SVGD are its particles: give `n_particles` in place of `obj_n_mc`.")
        return self.n_particles


class ASVGD(Inference):
    """Amortized Stein variational gradient descent: a normal that moves as Stein's direction moves its draws.

    model, random_seed, start, start_sigma : ...

    Attributes
    ----------
    approx
        The family: `FullRank` or `MeanField`.

    See SVGD: With particles.
    See fit: Fits by the name of a method.

    Notes
    -----
    Source: Feng, Wang, Liu (2017), Learning to draw samples with amortized Stein variational gradient descent.


    References
    ----------
    Feng, Wang, Liu: Learning to Draw Samples with Amortized Stein Variational Gradient Descent (2017).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.ASVGD(random_seed=1).fit(progressbar=False)
    >>> type(approximation).__name__
    'FullRank'
    """

    kind = FullRank
    stein = True

    def _draws(self, obj_n_mc: int | None) -> int:
        """Draws per step; more than elsewhere, for they have to repel each other."""
        return super()._draws(100 if obj_n_mc is None else max(FEWEST_PARTICLES, obj_n_mc))


class NFVI(Inference):
    """Variational inference with a normalising flow, for shapes that are not normal.

    flow: Its layers, the first to act first, joined by "-", as "planar*8-scale-loc": `scale` and `loc` multiply and
        shift; `planar`, `radial` bend along a direction and around a point; `hh` are Householder reflections;
        `coupling` is real NVP, `iaf` inverse autoregressive. The last `scale` and `loc` begin at `start_sigma` and
        `start`; a fit is seen to have converged where they come last.
    model, random_seed, start, start_sigma : ...
    See FullRankADVI: With a normal distribution.
    See fit: Fits by the name of a method.

    Notes
    -----
    `fit` takes steps of `adam(learning_rate=0.01)` by default; there is no natural gradient.

    Source: Rezende and Mohamed (2015), Variational inference with normalizing flows; Dinh, Sohl-Dickstein, Bengio
    (2017), Density estimation using real NVP; Kingma et al. (2016), Improved variational inference with inverse
    autoregressive flow.


    References
    ----------
    Rezende, Mohamed: Variational Inference with Normalizing Flows (2015).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.NFVI("planar*2", random_seed=1).fit(progressbar=False)
    >>> type(approximation).__name__
    'NormalizingFlow'
    """

    kind = NormalizingFlow

    def __init__(
        self,
        flow: str = "coupling*6-scale-loc",
        *,
        model: Model | None = None,
        random_seed: Any = None,
        start: Mapping[str, Any] | None = None,
        start_sigma: Mapping[str, Any] | None = None,
    ) -> None:
        layers_of(flow)
        self.formula = flow
        super().__init__(model=model, random_seed=random_seed, start=start, start_sigma=start_sigma)

    def _approximation(self, parameters: Floats) -> Approximation:
        return NormalizingFlow(self.target, parameters, self.formula)

    def _begin(self, position: Floats) -> Floats:
        generator = np.random.Generator(np.random.Philox(key=[self.seed & (2**64 - 1), 7]))
        return flow_of(self.formula, self.target.dimension).begin(position, self._sigma, generator)

    def _optimizer(self, given: Any) -> Optimizer:
        found = adam(learning_rate=FLOW_RATE) if given is None else optimizer_of(given)
        if found.rule == NATURAL:
            raise ValueError("a flow has no natural gradient; give `obj_optimizer=pm.adam(learning_rate=0.01)`.")
        return found

    def _draws(self, obj_n_mc: int | None) -> int:
        """Draws per step; more than elsewhere, for their noise does not vanish."""
        return super()._draws(FLOW_DRAWS if obj_n_mc is None else obj_n_mc)


# PyMC's keywords of `fit` without meaning here.
WITHOUT_EFFECT: Final = dict.fromkeys(("progressbar_theme", "backend", "compile_kwargs"))
METHODS: Final[dict[str, type[Inference]]] = {
    "advi": ADVI,
    "fullrank_advi": FullRankADVI,
    "svgd": SVGD,
    "asvgd": ASVGD,
    "lowrank": LowRankADVI,
    "nfvi": NFVI,
}
FLOWS: Final = {
    "flow": ("coupling", 6),
    "realnvp": ("coupling", 6),
    "planar": ("planar", 8),
    "radial": ("radial", 8),
    "iaf": ("iaf", 4),
}


@overload
def fit(
    n: int = ...,
    *,
    method: Literal["inla", "INLA"],
    model: Model | None = ...,
    random_seed: Any = ...,
    start: Mapping[str, Any] | None = ...,
    **kwargs: Any,
) -> NestedLaplace: ...
@overload
def fit(
    n: int = ...,
    method: str | Inference | type[Inference] = ...,
    model: Model | None = ...,
    random_seed: Any = ...,
    start: Mapping[str, Any] | None = ...,
    start_sigma: Mapping[str, Any] | None = ...,
    inf_kwargs: Mapping[str, Any] | None = ...,
    **kwargs: Any,
) -> Approximation: ...
def fit(
    n: int = 10_000,
    method: str | Inference | type[Inference] = "advi",
    model: Model | None = None,
    random_seed: Any = None,
    start: Mapping[str, Any] | None = None,
    start_sigma: Mapping[str, Any] | None = None,
    inf_kwargs: Mapping[str, Any] | None = None,
    *,
    layers: int | None = None,
    **kwargs: Any,
) -> Any:
    """Approximate the posterior by a simpler distribution, with variational inference.

    n: Steps at most; a fit ends earlier once it has converged.
    method: "advi", "fullrank_advi", "lowrank", "svgd", "asvgd", "flow", "planar", "radial", "realnvp", "iaf",
        "nfvi=planar*8-scale-loc" with any formula of `NFVI`, one of the classes, or an instance; for "inla" see
        `fit_INLA`, which gets `model`, `random_seed`, `kwargs`, `start` as `initvals`.
    model: See `Inference`.
    random_seed (int, sequence of int or Generator): See `Inference`.
    start, start_sigma (mapping): See `Inference`.
    inf_kwargs (mapping): Further settings of the method, as `n_particles` of SVGD.
    layers: Of "flow", "realnvp" (6 by default), "planar", "radial" (8) and "iaf" (4).
    **kwargs: Settings of `Inference.fit`, as `callbacks`, `obj_optimizer`, `obj_n_mc`, `restarts`, `executor`.
    Returns: An approximation. `.sample(1000)` gives draws, `.hist` the negative bounds of all steps, and `.pareto_k`
        says how far the approximation can be trusted: values above 0.7 mean that it is poor.
    See ADVI: The same as a class.
    See sample: Draws of the posterior itself.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.fit(500, random_seed=1, progressbar=False)
    >>> draws = approximation.sample(500, random_seed=2)
    >>> bool(abs(draws.posterior["mu"].mean() - 1.0) < 0.2)
    True
    """
    kwargs = {k: v for k, v in kwargs.items() if k not in WITHOUT_EFFECT}
    settings = dict(inf_kwargs or {})
    name = method.lower() if isinstance(method, str) else ""
    if name.startswith("nfvi="):
        name, settings["flow"] = "nfvi", name.removeprefix("nfvi=")
    elif name in FLOWS:
        layer, usual = FLOWS[name]
        if "flow" in settings:
            raise TypeError(f"`method={name!r}` says which layers there are; with `flow=` take `method='nfvi'`.")
        number = usual if layers is None else layers
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"`layers` must be a whole number > 0, got {layers!r}.")
        name, settings["flow"], layers = "nfvi", f"{layer}*{number}-scale-loc", None
    if layers is not None:
        raise TypeError(f"`layers` is for {', '.join(map(repr, FLOWS))}, got `method={method!r}`.")
    if isinstance(method, Inference):
        given = {"model": model, "random_seed": random_seed, "start": start, "start_sigma": start_sigma}
        taken = [name for name, value in {**given, "inf_kwargs": inf_kwargs}.items() if value is not None]
        if taken:
            raise TypeError(f"an instance of {type(method).__name__} has its settings already; leave out {taken}.")
        return method.fit(n, **kwargs)
    if name == "inla":
        if start_sigma is not None:
            raise TypeError("the method 'inla' takes no `start_sigma`.")
        return fit_INLA(model=model, random_seed=random_seed, initvals=start, **settings, **kwargs)
    kind = METHODS.get(name) if isinstance(method, str) else method
    if not (isinstance(kind, type) and issubclass(kind, Inference)):
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, [*METHODS, *FLOWS]))}, 'inla', or a class, got {method!r}."
        )
    if start_sigma is not None:
        settings["start_sigma"] = start_sigma
    return kind(model=model, random_seed=random_seed, start=start, **settings).fit(n, **kwargs)


def sample_approx(approx: Approximation, draws: int = 100, **options: Any) -> Any:
    """Draws of an approximation: the same as `approx.sample(draws)`, with its options.

    approx: The fitted approximation.
    draws: Number of draws.
    **options: Further settings.
    Returns: A tree of draws, as `pm.sample` gives.
    See fit: Makes an approximation.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.fit(200, random_seed=1, progressbar=False)
    >>> pm.sample_approx(approximation, 50, random_seed=1).posterior["mu"].shape
    (1, 50)
    """
    return approx.sample(draws, **options)
