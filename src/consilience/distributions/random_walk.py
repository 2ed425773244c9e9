"""Random walks: a start, and independent steps that are added up.

Distributions of start and steps in, a distribution of whole paths out. Time is the first axis of an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from consilience.distributions.constraints import Constraint, real_matrix, real_vector
from consilience.distributions.densities import drawn, mean, supported_density, variance, with_shape
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Distribution, component, static
from consilience.distributions.multivariate_normal import MvNormal
from consilience.distributions.of_normal_vectors import MvStudentT
from consilience.distributions.parameters import length, named_arguments
from consilience.distributions.random_variable import batch_part, distribution_of, is_random
from consilience.distributions.real_line import Normal
from consilience.distributions.shapes import broadcast, same_shape, steps_from, text
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Dim, Node, Shape
from consilience.ops.random import fold_in
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, concatenate, expand_dims, eye, moveaxis


class RandomWalk(Distribution):
    """Sums of independent steps: x_0 from init_dist, x_t = x_(t-1) + e_t, e_t from innovation_dist.

    init_dist: Distribution of x_0, of numbers or vectors.
    innovation_dist: Distribution of each step, with events of the same shape; its batch axes are series.
    steps: Number of steps, one less than the length of the series; may follow from shape, dims or data.
    """

    init_dist = component()
    innovation_dist = component()
    steps: Dim = static(length)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.argument_names(), parameters, named)
        step = given.get("innovation_dist")
        rank = distribution_of(step).event_rank if isinstance(step, Node) and is_random(step) else 0
        given["steps"] = steps_from(cls.title, given.get("steps"), shape, 1, -1 - rank)
        return super().dist(**given, shape=shape, size=size)

    @property
    def _rank(self) -> int:
        """Rank of one value of the series."""
        return distribution_of(self.innovation_dist).event_rank

    @property
    def event_rank(self) -> int:
        return 1 + self._rank

    @property
    def bound_support(self) -> Constraint:
        return real_matrix if self._rank else real_vector

    def event_shape(self) -> Shape:
        parts = [(c, distribution_of(c)) for c in (self.init_dist, self.innovation_dist)]
        start, step = (c.static_shape[len(batch_part(c.static_shape, bound)) :] for c, bound in parts)
        if not same_shape(start, step) or len(step) > 1:
            raise ShapeError(
                f"{self.title}: init_dist and innovation_dist must be both of numbers or of equal vectors, got events "
                f"of the shapes {text(start)} and {text(step)}."
            )
        if any(bound.bound_support.discrete for _, bound in parts):
            raise ParameterError(f"{self.title}: init_dist and innovation_dist must be continuous.")
        return (self.steps + 1, *step)

    def result_dtype(self) -> str:
        return "float32" if self.init_dist.dtype == self.innovation_dist.dtype == "float32" else "float64"

    def logp(self, value: Node) -> Node:
        parts = (self.init_dist, self.innovation_dist)
        batch = max(len(batch_part(c.static_shape, distribution_of(c))) for c in parts)
        missing = max(0, batch + self.event_rank - value.ndim)
        path = expand_dims(moveaxis(value, value.ndim - self.event_rank, 0), tuple(range(1, 1 + missing)))
        steps = supported_density(self.innovation_dist, path[1:] - path[:-1])
        return supported_density(self.init_dist, path[0]) + reduce("sum", steps, 0)

    def draw(self, key: Node, shape: Shape) -> Node:
        axis = len(shape) - self.event_rank
        one = (*shape[:axis], *shape[axis + 1 :])
        start = drawn(self.init_dist, fold_in(key, 0), one)
        return self.path(start, drawn(self.innovation_dist, fold_in(key, 1), (shape[axis] - 1, *one)))

    def path(self, start: Node, steps: Node) -> Node:
        """The path of a start and of steps, whose first axis is time."""
        path = cumulative("sum", concatenate([expand_dims(start, 0), steps]), 0)
        return moveaxis(path, 0, path.ndim - self.event_rank)

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        last = moveaxis(past, past.ndim - self.event_rank, 0)[-1:]
        batch, step = last.static_shape[1:], later.innovation_dist
        steps = with_shape(step, (periods, *broadcast([batch, step.static_shape], self.title)))
        path = last + cumulative("sum", steps, 0)
        return moveaxis(path, 0, path.ndim - self.event_rank)

    def mean(self) -> Node:
        return self._along(mean)

    def variance(self) -> Node:
        return self._along(variance)

    def support_point(self) -> Node:
        return self._along(point_of)

    def _along(self, moment: Callable[[Node], Node]) -> Node:
        """What adds up over the steps, at every time."""
        start, step = (expand_dims(moment(c), c.ndim - self._rank) for c in (self.init_dist, self.innovation_dist))
        time = Node(Iota(self.steps + 1))
        return start + expand_dims(time, tuple(range(1, 1 + self._rank))) * step


class GaussianRandomWalk(RandomWalk):
    """Random walk with normal steps.

    mu, sigma (TensorLike, optional): Mean and standard deviation > 0 of a step.
    init_dist (object, optional): Distribution of the first value; Normal(0, 100) if not given.
    steps (object, optional): Number of steps, one less than the length of the series; may follow from shape, dims or
        data.
    """

    arguments = ("mu", "sigma")

    @classmethod
    def dist(cls, *parameters: Any, init_dist: Any = None, steps: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        options = _shape_options(named)
        step = Normal.dist(**named_arguments(cls.title, cls.arguments, parameters, named, ("init_dist", "steps")))
        start = Normal.dist(0.0, 100.0) if init_dist is None else init_dist
        return RandomWalk.dist(start, step, steps_from(cls.title, steps, options["shape"], 1), **options)


class _WalkOfVectors(RandomWalk):
    """Base of walks whose steps are vectors: `step` is their distribution."""

    step: ClassVar[Any]

    @classmethod
    def dist(cls, *parameters: Any, lower: bool = True, init_dist: Any = None, steps: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        options = _shape_options(named)
        given = named_arguments(cls.title, cls.arguments, parameters, named, ("init_dist", "steps"))
        own = cls.step.dist(**given, lower=lower)
        number = steps_from(cls.title, steps, options["shape"], 1, -2)
        start = MvNormal.dist(0.0, 100.0 * eye(own.static_shape[-1])) if init_dist is None else init_dist
        return RandomWalk.dist(start, own, number, **options)


class MvGaussianRandomWalk(_WalkOfVectors):
    """Random walk of vectors with normal steps.

    mu (TensorLike, optional): Mean of a step, shape (..., n).
    cov (TensorLike, optional): Its covariance, or tau, the inverse, or chol, the lower triangular factor (upper with
        lower=False).
    tau (TensorLike, optional): Precision matrix of the steps, in place of `cov`.
    chol (TensorLike, optional): Cholesky factor of the covariance of the steps, in place of `cov`.
    lower (bool, default True): Whether `chol` is lower triangular.
    init_dist (object, optional): Distribution of the first vector; normal around 0 with covariance 100 I if not given.
    steps (object, optional): Number of steps, one less than the length of the series; may follow from shape, dims or
        data.
    """

    arguments = ("mu", "cov", "tau", "chol")
    step = MvNormal


class MvStudentTRandomWalk(_WalkOfVectors):
    """Random walk of vectors with heavy-tailed steps.

    nu (TensorLike, optional): Degrees of freedom > 0 of a step.
    mu (TensorLike, optional): Location of a step, shape (..., n).
    scale (TensorLike, optional): Its scale matrix, or tau, the inverse, or chol, the lower triangular factor (upper
        with lower=False).
    cov (TensorLike, optional): Covariance matrix of the steps.
    tau (TensorLike, optional): Precision matrix of the steps, in place of `cov`.
    chol (TensorLike, optional): Cholesky factor of the covariance of the steps, in place of `cov`.
    lower (bool, default True): Whether `chol` is lower triangular.
    init_dist (object, optional): Distribution of the first vector; normal around 0 with covariance 100 I if not given.
    steps (object, optional): Number of steps, one less than the length of the series; may follow from shape, dims or
        data.
    """

    arguments = ("nu", "mu", "scale", "cov", "tau", "chol")
    step = MvStudentT


def _shape_options(named: dict[str, Any]) -> dict[str, Any]:
    """The arguments `shape` and `size`, taken out of the others."""
    return {name: named.pop(name, None) for name in ("shape", "size")}
