"""Distributions that stand for a posterior: normals on the unconstrained scale, and sets of particles.

Parameters and a target density in; labelled draws, moments, and expressions of draws out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from consilience.backends.contexts import DEFAULT, shared
from consilience.distributions.real_line import Normal
from consilience.distributions.seeds import seed_from
from consilience.distributions.whole_intervals import DiscreteUniform
from consilience.estimators.approximations.target import Floats, TargetDensity
from consilience.estimators.variational.state import FULL_RANK, LOW_RANK, MEAN_FIELD, PARTICLES
from consilience.ir import Node, substitute
from consilience.model.model import Model
from consilience.model.terms import terms_of
from consilience.model.warm_start import stacked
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.reduce import reduce
from consilience.ops.shape import reshape
from consilience.sample.inference_data import to_inference_data
from consilience.transforms.vectorize import vectorize

if TYPE_CHECKING:
    import xarray

HALF_LOG_TURN: Final = 0.5 * np.log(2 * np.pi)


def target_of(model: Model | None, start: Mapping[str, Any] | None, seed: int) -> TargetDensity:
    """The log density of a model with its Jacobian, batches of rows allowed."""
    return TargetDensity(model, None, start, jacobian=True, seed=seed, batches=True)


class Approximation:
    """A distribution over the unconstrained values of a model's variables.

    target : ...
    parameters (ndarray): Float64; see the kinds.

    Attributes
    ----------
    hist
        Negative evidence lower bound at every step of the fit, float64[steps]; for particles the negative mean log
        density.
    elbo
        Mean of the bound over the last steps.
    converged
        Whether the rule of the fit found it to have arrived.
    pareto_k
        Tail index of the importance ratios; NaN where there is none (particles), -inf where they do not vary.
    include_transformed
        Whether draws also have values on the unconstrained line, as `tau_log__`.
    deviation
        Largest distance between its means and those of the posterior, by importance ratios, slopes and short chains, in
        standard deviations.

    See MeanField: Normal, independent coordinates.
    See FullRank: Normal, any covariance.
    See Empirical: Particles.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.fit(200, random_seed=1, progressbar=False)
    >>> isinstance(approximation, pm.Approximation)
    True
    >>> dict(approximation.sample(50, random_seed=1).posterior.sizes)
    {'chain': 1, 'draw': 50}
    """

    family: ClassVar[int]

    def __init__(self, target: TargetDensity, parameters: Floats) -> None:
        self.target = target
        self.parameters = parameters
        self.hist: Floats = np.zeros(0)
        self.elbo = self.pareto_k = self.deviation = np.nan
        self.converged = self.include_transformed = False
        self._shared: dict[str, Node] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.ndim} coordinates, elbo {self.elbo:.2f}, pareto_k {self.pareto_k:.2f}>"

    def __getstate__(self) -> dict[str, Any]:
        # Compiled code does not leave the process.
        return {**self.__dict__, "target": (self.model, self.target.initvals, self.target.seed), "_shared": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model, start, seed = state["target"]
        self.__dict__.update(state, target=target_of(model, start, seed))

    @property
    def model(self) -> Model:
        """The model whose posterior it stands for."""
        return self.target.model

    @property
    def ndim(self) -> int:
        """Number of coordinates."""
        return self.target.dimension

    # ---- moments

    def moments(self) -> tuple[Floats, Floats]:
        """Mean, float64[dimension], and standard deviations of the unconstrained values."""
        raise NotImplementedError

    def covariance(self) -> Floats:
        """Of the unconstrained values, float64[dimension, dimension]."""
        raise NotImplementedError

    @property
    def mean(self) -> Node:
        """A shared vector of the means of the unconstrained values; it follows the fit. `.eval()` gives numbers."""
        return self._follow("mean")

    @property
    def std(self) -> Node:
        """A shared vector of their standard deviations."""
        return self._follow("std")

    @property
    def cov(self) -> Node:
        """A shared matrix of their covariances."""
        return self._follow("cov")

    def _follow(self, name: str) -> Node:
        if name not in self._shared:
            self._shared[name] = shared(self._moment(name), name)
        return self._shared[name]

    def _moment(self, name: str) -> Floats:
        return self.covariance() if name == "cov" else self.moments()[name == "std"]

    def with_parameters(self, parameters: Floats) -> Approximation:
        """The same family over the same target with other parameters."""
        return type(self)(self.target, parameters)

    def take(self, parameters: Floats) -> None:
        """Put other parameters in the place of these."""
        self.parameters = np.array(parameters, float)
        for name, slot in self._shared.items():
            DEFAULT.set(slot, self._moment(name))

    def _of_variables(self, vector: Floats) -> xarray.Dataset:
        values = {s.variable.name: vector[s.slice].reshape(s.shape) for s in self.target.density.layout.stretches}
        import xarray

        own = self.model.dims_of
        kept = {}
        labels = {d: list(c) for d, c in self.model.coords.items() if c is not None}
        for name, value in values.items():
            dims = own.get(name) or ()
            fits = len(dims) == value.ndim and all(
                d is not None and len(labels.get(d, range(n))) == n for d, n in zip(dims, value.shape, strict=True)
            )
            kept[name] = (dims if fits else [f"{name}_dim_{k}" for k in range(value.ndim)], value)
        used = {d for dims, _ in kept.values() for d in dims}
        return xarray.Dataset(kept, {d: c for d, c in labels.items() if d in used})

    @property
    def mean_data(self) -> xarray.Dataset:
        """Means of the unconstrained values by variable, labelled."""
        return self._of_variables(self.moments()[0])

    @property
    def std_data(self) -> xarray.Dataset:
        """Their standard deviations."""
        return self._of_variables(self.moments()[1])

    # ---- draws

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Unconstrained draws, float64[draws, dimension], and their log densities."""
        raise NotImplementedError

    def sample(
        self,
        draws: int = 500,
        *,
        random_seed: Any = None,
        return_inferencedata: bool = True,
        include_transformed: bool | None = None,
    ) -> xarray.DataTree | dict[str, Any]:
        """Draws of all variables on their own scales, deterministics included.

        Parameters
        ----------
        draws : int, default 500
            Number of draws.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.
        return_inferencedata : bool, default True
            A labelled tree with the group `posterior` (one chain), else arrays by name.
        include_transformed : bool, optional
            Whether there are also values on the unconstrained line, as `tau_log__`; what `pm.fit` was asked for by
            default.
        """
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"`draws` must be a whole number > 0, got {draws!r}.")
        generator = np.random.Generator(np.random.Philox(key=[seed_from(random_seed), 3]))
        points, _ = self.points(int(draws), generator)
        rows = self.target.whole(points)
        values = self.target.density.expand(rows)
        if self.include_transformed if include_transformed is None else include_transformed:
            values = {**values, **self.target.density.layout.transformed(rows)}
        if not return_inferencedata:
            return values
        tree = to_inference_data({n: v[None] for n, v in values.items()}, model=self.model, include_transformed=True)
        tree["posterior"].attrs.update(
            inference_library="consilience", method=type(self).__name__, pareto_k=self.pareto_k, elbo=self.elbo
        )
        return tree

    def sample_node(
        self, node: Any, size: int | None = None, *, more_replacements: Mapping[Node, Node] | None = None
    ) -> Any:
        """Expressions of the model's variables, with draws from this distribution in their place.

        Parameters
        ----------
        node : object
            One expression, or a list; other random variables in it stay as they are.
        size : int, optional
            None: one draw, else a first axis of so many.
        more_replacements : mapping of TensorVariable to TensorVariable, optional
            Nodes by what stands for them.

        Returns
        -------
        object
            An expression, drawn anew whenever it is evaluated (`pm.draw`, `.eval()`).
        """
        nodes = [as_tensor(n) for n in (node if isinstance(node, list | tuple) else [node])]
        nodes = substitute(nodes, dict(more_replacements or {}))
        terms = terms_of(self.model)
        free = dict(zip([v.node for v in self.model.free], terms.constrained, strict=True))
        done = substitute(nodes, free)
        position = self._drawn(size)
        parts = {}
        for value, s in zip(terms.values, self.target.density.layout.stretches, strict=True):
            part = position[..., s.slice]
            parts[value] = reshape(part, (*(() if size is None else (size,)), *s.shape))
        if size is None:
            done = substitute(done, parts)
        else:
            done = vectorize(done, parts)
        return done if isinstance(node, list | tuple) else done[0]

    def _drawn(self, size: int | None) -> Node:
        """An expression of one draw, or of a first axis of them."""
        raise NotImplementedError


class MeanField(Approximation):
    """A normal with independent coordinates; parameters are its means and the logs of its standard deviations.

    target : ...
    parameters (ndarray): Parameters of the approximation as an array.
    See FullRank: A normal with any covariance.
    See fit: Makes an approximation.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.fit(200, method="advi", random_seed=1, progressbar=False)
    >>> isinstance(approximation, pm.MeanField)
    True
    """

    family = MEAN_FIELD

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviations."""
        n = self.ndim
        return self.parameters[:n].copy(), np.exp(self.parameters[n:])

    def covariance(self) -> Floats:
        """A diagonal matrix."""
        return np.diag(self.moments()[1] ** 2)

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws and their log densities."""
        mean, std = self.moments()
        normals = generator.standard_normal((draws, self.ndim))
        return mean + std * normals, (-0.5 * normals**2 - np.log(std) - HALF_LOG_TURN).sum(1)

    def _drawn(self, size: int | None) -> Node:
        shape = (self.ndim,) if size is None else (size, self.ndim)
        return self.mean + self.std * Normal.dist(0.0, 1.0, shape=shape)


class FullRank(Approximation):
    """A normal with any covariance; parameters are its means and the lower factor by rows, its diagonal as logs.

    target : ...
    parameters (ndarray): Parameters of the approximation as an array.
    See MeanField: A normal with independent coordinates.
    See fit: Makes an approximation.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.fit(200, method="fullrank_advi", random_seed=1, progressbar=False)
    >>> isinstance(approximation, pm.FullRank)
    True
    """

    family = FULL_RANK

    def factor(self) -> Floats:
        """Lower Cholesky factor of the covariance, float64[dimension, dimension]."""
        n = self.ndim
        packed = self.parameters[n:].reshape(n, n)
        return np.asarray(np.tril(packed, -1) + np.diag(np.exp(np.diag(packed))))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviations."""
        return self.parameters[: self.ndim].copy(), np.sqrt((self.factor() ** 2).sum(1))

    def covariance(self) -> Floats:
        """Of the unconstrained values."""
        factor = self.factor()
        return np.asarray(factor @ factor.T)

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws and their log densities."""
        factor = self.factor()
        normals = generator.standard_normal((draws, self.ndim))
        constant = np.log(np.diag(factor)).sum() + self.ndim * HALF_LOG_TURN
        return self.parameters[: self.ndim] + normals @ factor.T, -0.5 * (normals**2).sum(1) - constant

    def _moment(self, name: str) -> Floats:
        return self.factor() if name == "factor" else super()._moment(name)

    def _drawn(self, size: int | None) -> Node:
        shape = (self.ndim,) if size is None else (size, self.ndim)
        normals = Normal.dist(0.0, 1.0, shape=shape)
        turned = self._follow("factor") * reshape(normals, (*shape[:-1], 1, self.ndim))
        return self.mean + reduce("sum", turned, (-1,))


class LowRankNormal(Approximation):
    """A normal with covariance S (1 + U U') S; parameters are its means, logs of the scales S and the loadings U.

    target : ...
    parameters (ndarray): Parameters of the approximation as an array.
    See FullRank: A normal with any covariance.
    See LowRankADVI: Makes an approximation of this kind.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1, shape=3)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0, 3.0])
    ...     approximation = pm.LowRankADVI(rank=1, random_seed=1).fit(200, progressbar=False)
    >>> isinstance(approximation, pm.LowRankNormal)
    True
    """

    family = LOW_RANK

    def scales(self) -> Floats:
        """float64[dimension]."""
        return np.exp(self.parameters[self.ndim : 2 * self.ndim])

    def loadings(self) -> Floats:
        """float64[dimension, rank], in units of the scales."""
        return self.parameters[2 * self.ndim :].reshape(self.ndim, -1)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviations."""
        return self.parameters[: self.ndim].copy(), self.scales() * np.sqrt(1.0 + (self.loadings() ** 2).sum(1))

    def covariance(self) -> Floats:
        """Of the unconstrained values."""
        scaled = self.scales()[:, None] * self.loadings()
        return np.asarray(np.diag(self.scales() ** 2) + scaled @ scaled.T)

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws and their log densities."""
        scales, loadings = self.scales(), self.loadings()
        rank = loadings.shape[1]
        normals = generator.standard_normal((draws, self.ndim + rank))
        y = normals[:, : self.ndim] + normals[:, self.ndim :] @ loadings.T
        inner = np.eye(rank) + loadings.T @ loadings
        across = y @ loadings
        squares = (y**2).sum(1) - (across * np.linalg.solve(inner, across.T).T).sum(1)
        constant = np.log(scales).sum() + 0.5 * np.linalg.slogdet(inner)[1] + self.ndim * HALF_LOG_TURN
        return self.parameters[: self.ndim] + scales * y, -0.5 * squares - constant

    def _moment(self, name: str) -> Floats:
        if name == "scales":
            return self.scales()
        return self.loadings() if name == "loadings" else super()._moment(name)

    def _drawn(self, size: int | None) -> Node:
        before = () if size is None else (size,)
        own = Normal.dist(0.0, 1.0, shape=(*before, self.ndim))
        loads = Normal.dist(0.0, 1.0, shape=(*before, 1, self.loadings().shape[1]))
        return self.mean + self._follow("scales") * (own + reduce("sum", self._follow("loadings") * loads, (-1,)))


class Empirical(Approximation):
    """Particles of equal weight; parameters are their unconstrained values by rows.

    target : ...
    parameters (ndarray): Parameters of the approximation as an array.
    See SVGD: Makes an approximation of this kind.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.SVGD(n_particles=20, random_seed=1).fit(progressbar=False)
    >>> isinstance(approximation, pm.Empirical)
    True
    """

    family = PARTICLES

    def particles(self) -> Floats:
        """Unconstrained values, float64[particles, dimension]."""
        return self.parameters.reshape(-1, self.ndim)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviations over the particles."""
        own = self.particles()
        return own.mean(0), own.std(0)

    def covariance(self) -> Floats:
        """Over the particles."""
        return np.atleast_2d(np.cov(self.particles().T, bias=True))

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Particles drawn with replacement; they have no density."""
        own = self.particles()
        return own[generator.integers(len(own), size=draws)], np.full(draws, np.nan)

    def _moment(self, name: str) -> Floats:
        return self.particles() if name == "particles" else super()._moment(name)

    def _drawn(self, size: int | None) -> Node:
        rows = DiscreteUniform.dist(0, len(self.particles()) - 1, shape=() if size is None else (size,))
        return getitem(self._follow("particles"), rows)

    @classmethod
    def of(cls, trace: Any, model: Model | None = None) -> Empirical:
        """The draws of a result as particles, chains one after the other.

        Parameters
        ----------
        trace : DataTree
            A tree with the group `posterior`, as `pm.sample` returns it.
        model : Model, optional
            The model; by default that of the enclosing `with` block.

        Raises
        ------
        ModelError
            Where a free variable is missing.
        ShapeError
            Where its shape differs.
        """
        target = target_of(model, None, 0)
        posterior = trace.posterior if hasattr(trace, "posterior") else trace["posterior"]
        rows = target.density.unconstrained(stacked(posterior, target.density.model))
        return cls(target, rows.ravel())
