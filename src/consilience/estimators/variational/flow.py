"""Normalising flows: layers one after the other that turn standard normals into an approximation.

A formula such as "planar*8-scale-loc" and a dimension in; machine code for points and gradients, and labelled draws
with their log densities, out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

import numpy as np

from consilience.backends.registry import Bound, backend
from consilience.distributions.real_line import Normal
from consilience.estimators.approximations.target import Floats, TargetDensity
from consilience.estimators.variational.approximation import HALF_LOG_TURN, Approximation
from consilience.estimators.variational.flow_layers import LAYERS
from consilience.estimators.variational.state import FLOW
from consilience.ir import Node, constant, tensor_input
from consilience.ops.reduce import reduce
from consilience.ops.shape import reshape
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

CHUNK: Final = 8  # rows of one call that makes draws
MEASURED: Final = 1024  # draws whose moments stand for its own
TERM: Final = re.compile(r"([a-z]+)(?:\*(\d+))?")


def layers_of(formula: str) -> tuple[str, ...]:
    """Names of the layers, the first to act first: "planar*2-loc" is planar, planar, loc."""
    found: list[str] = []
    for term in str(formula).split("-"):
        match = TERM.fullmatch(term)
        if match is None or match[1] not in LAYERS or match[2] == "0":
            raise ValueError(
                f"`flow` must name layers joined by '-', as 'planar*8-scale-loc', each of {', '.join(LAYERS)}; got "
                f"{term!r} in {formula!r}."
            )
        found += [match[1]] * int(match[2] or 1)
    return tuple(found)


class Flow:
    """The layers of a formula in so many coordinates.

    `count`: of all parameters: those of the first layer first. `places`: of each layer's parameters, slices.
    """

    def __init__(self, formula: str, dimension: int) -> None:
        self.formula, self.dimension = formula, dimension
        self.names = layers_of(formula)
        needed = max(LAYERS[name].fewest for name in self.names)
        if dimension < needed:
            name = next(n for n in self.names if LAYERS[n].fewest == needed)
            raise ValueError(
                f"layers `{name}` need {needed} coordinates, and the model has {dimension}; take 'planar' or 'iaf'."
            )
        ends = np.cumsum([LAYERS[name].count(dimension) for name in self.names])
        self.places = [slice(int(a), int(b)) for a, b in zip([0, *ends], ends, strict=False)]
        self.count = int(ends[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        return flow_of, (self.formula, self.dimension)

    def last(self, name: str) -> slice | None:
        """Where the parameters of the last layer of this name are."""
        found = [p for n, p in zip(self.names, self.places, strict=True) if n == name]
        return found[-1] if found else None

    def begin(self, position: Floats, sigma: Floats, generator: np.random.Generator) -> Floats:
        """Parameters near the identity; the last `loc` and `scale` lie at a position and have these deviations."""
        parts = []
        for place, name in enumerate(self.names):
            parts += [np.ravel(p) for p in LAYERS[name].begin(self.dimension, generator, place)]
        parameters = np.concatenate(parts).astype(float)
        for name, value in (("loc", position), ("scale", np.log(sigma))):
            where = self.last(name)
            if where is not None:
                parameters[where] = value
        return parameters

    def __call__(self, parameters: Node, normals: Node) -> tuple[Node, Node]:
        """Rows of points (rows, dimension) and log determinants (rows,) as expressions."""
        z, total = normals, constant(np.zeros(normals.static_shape[0]))
        for place, (name, where) in enumerate(zip(self.names, self.places, strict=True)):
            parts, start = [], where.start
            for shape in LAYERS[name].shapes(self.dimension):
                size = int(np.prod(shape))
                part = parameters[start] if shape == () else reshape(parameters[start : start + size], shape)
                parts.append(part)
                start += size
            z, logdet = LAYERS[name].move(z, tuple(parts), place)
            total = total + logdet
        return z, total

    def placing(self, rows: int) -> Bound:
        """Machine code: parameters and normals in, points and log determinants out."""
        return _placing(self, rows)

    def gathering(self, rows: int) -> Bound:
        """Machine code: parameters, normals, slopes and weights of rows in; out the gradient by the parameters of the
        weighted sum of slope times point plus log determinant.
        """
        return _gathering(self, rows)


@cache
def flow_of(formula: str, dimension: int) -> Flow:
    """One object for each formula and dimension, so that its code is compiled once."""
    return Flow(formula, dimension)


@cache
def _placing(flow: Flow, rows: int) -> Bound:
    parameters = tensor_input("float64", (flow.count,), "parameters")
    normals = tensor_input("float64", (rows, flow.dimension), "normals")
    return backend("llvm")([parameters, normals], simplify(list(flow(parameters, normals))), {}).bind()


@cache
def _gathering(flow: Flow, rows: int) -> Bound:
    parameters = tensor_input("float64", (flow.count,), "parameters")
    normals = tensor_input("float64", (rows, flow.dimension), "normals")
    slopes = tensor_input("float64", (rows, flow.dimension), "slopes")
    weights = tensor_input("float64", (rows,), "weights")
    points, logdet = flow(parameters, normals)
    each = reduce("sum", slopes * points, (-1,)) + logdet
    (objective,) = simplify([reduce("sum", weights * each, (0,))])
    (slope,) = simplify(gradient(objective, [parameters]))
    return backend("llvm")([parameters, normals, slopes, weights], [slope], {}).bind()


class NormalizingFlow(Approximation):
    """Standard normals moved by layers of a normalising flow; parameters are those of its layers.

    Its moments are those of 1,024 draws.

    Source: Rezende and Mohamed (2015), Variational inference with normalizing flows.

    target : ...
    parameters (ndarray): Parameters of the approximation as an array.
    formula: Layers of the flow, as "scale-loc".
    See NFVI: Makes an approximation of this kind.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     approximation = pm.NFVI("planar*2", random_seed=1).fit(progressbar=False)
    >>> isinstance(approximation, pm.NormalizingFlow)
    True
    """

    family = FLOW

    def __init__(self, target: TargetDensity, parameters: Floats, formula: str) -> None:
        super().__init__(target, parameters)
        self.flow = flow_of(formula, target.dimension)
        if np.shape(parameters) != (self.flow.count,):
            raise ValueError(
                f"the flow '{formula}' has {self.flow.count} parameters in {target.dimension} coordinates, got "
                f"an array of shape {np.shape(parameters)}."
            )

    def with_parameters(self, parameters: Floats) -> NormalizingFlow:
        """The same layers with other parameters."""
        return NormalizingFlow(self.target, parameters, self.flow.formula)

    def _moved(self, normals: Floats) -> tuple[Floats, Floats]:
        """Points of rows of normals and log determinants."""
        count = -(-len(normals) // CHUNK)
        whole = np.zeros((count * CHUNK, self.ndim))
        whole[: len(normals)] = normals
        given = [(np.ascontiguousarray(self.parameters), False), (whole.reshape(count, CHUNK, self.ndim), True)]
        (points, logdets), _ = self.flow.placing(CHUNK).map(given, count)
        return points.reshape(whole.shape)[: len(normals)], logdets.ravel()[: len(normals)]

    def points(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws and their log densities."""
        normals = generator.standard_normal((draws, self.ndim))
        points, logdets = self._moved(normals)
        return points, -0.5 * (normals**2).sum(1) - self.ndim * HALF_LOG_TURN - logdets

    def _measured(self) -> Floats:
        normals = np.random.Generator(np.random.Philox(0)).standard_normal((MEASURED // 2, self.ndim))
        return self._moved(np.concatenate([normals, -normals]))[0]

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviations."""
        draws = self._measured()
        return draws.mean(0), draws.std(0)

    def covariance(self) -> Floats:
        """Of the unconstrained values."""
        return np.atleast_2d(np.cov(self._measured().T, bias=True))

    def _moment(self, name: str) -> Floats:
        return self.parameters if name == "parameters" else super()._moment(name)

    def _drawn(self, size: int | None) -> Node:
        normals = Normal.dist(0.0, 1.0, shape=(size or 1, self.ndim))
        points, _ = self.flow(self._follow("parameters"), normals)
        return points if size is not None else reshape(points, (self.ndim,))
