"""Hidden Markov models: a chain of states that nobody sees, and at every time a value whose distribution it decides.

Probabilities of the chain and the distributions of values in, a distribution of whole series out. The states are summed
out by the forward algorithm (Baum et al. 1970), in logarithms.
"""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import Constraint, real_matrix, real_vector, simplex, whole_vector
from consilience.distributions.densities import drawn, mean, supported_density
from consilience.distributions.densities import variance as variance_of
from consilience.distributions.distribution import Distribution, component, parameter, static
from consilience.distributions.mathematics import equal, less, log, round_even, square, where
from consilience.distributions.parameters import length, named_arguments
from consilience.distributions.random_variable import batch_part, distribution_of, is_random
from consilience.distributions.recursion import along
from consilience.distributions.shapes import same_shape, spread, steps_from
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Dim, Node, Shape
from consilience.ops.elementwise import cast
from consilience.ops.linalg import matmul
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, concatenate, expand_dims, squeeze


class HiddenMarkov(Distribution):
    """Series of values whose distributions are decided by a hidden Markov chain of K states.

    init_probs: Probabilities of the first state, shape (..., K).
    P: P[i, j] is the probability of state j behind state i, shape (..., K, K), rows sum to 1.
    emission_dist: Distribution of a value in each state: its last batch axis is that of the K states, one before it
        that of time, `Normal.dist([0, 3], 1)`.
    steps: Length of the series less one; may follow from shape, dims or data.
    """

    init_probs = parameter(simplex)
    P = parameter(simplex)
    emission_dist = component()
    steps: Dim = static(length)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, ("init_probs", "P", "emission_dist", "steps"), parameters, named)
        emission = given.get("emission_dist")
        rank = distribution_of(emission).event_rank if isinstance(emission, Node) and is_random(emission) else 0
        given["steps"] = steps_from(cls.title, given.get("steps"), shape, 1, -1 - rank)
        return super().dist(**given, shape=shape, size=size)

    @property
    def _rank(self) -> int:
        """Rank of one value."""
        return distribution_of(self.emission_dist).event_rank

    @property
    def event_rank(self) -> int:
        return 1 + self._rank

    def event_ranks(self) -> tuple[int, ...]:
        return (1, 2)

    def component_axes(self) -> tuple[int, ...]:
        return (min(2, len(self._emission_batch())),)

    def _emission_batch(self) -> Shape:
        return batch_part(self.emission_dist.static_shape, distribution_of(self.emission_dist))

    @property
    def bound_support(self) -> Constraint:
        if distribution_of(self.emission_dist).bound_support.discrete:
            return whole_vector
        return real_matrix if self._rank else real_vector

    def event_shape(self) -> Shape:
        batch = self._emission_batch()
        states = self.init_probs.static_shape[-1]
        counts = [*self.P.static_shape[-2:], *batch[-1:]]
        if self.P.ndim < 2 or not batch or any(not same_shape((n,), (states,)) for n in counts):
            raise ShapeError(
                f"{self.title}: init_probs has {states} states; P must have the shape (..., {states}, {states}) and "
                f"emission_dist a last batch axis of length {states}, got {self.P.static_shape} and {batch}."
            )
        event = self.emission_dist.static_shape[len(batch) :]
        discrete = distribution_of(self.emission_dist).bound_support.discrete
        if len(event) > 1 or (event and discrete):
            raise ParameterError(f"{self.title}: emission_dist must be of numbers or of continuous vectors.")
        return (self.steps + 1, *event)

    def result_dtype(self) -> str:
        dtype: str = self.emission_dist.dtype
        return dtype

    def logp(self, value: Node) -> Node:
        densities = self._of_states(value)
        batch = densities.static_shape[:-2]
        transition = log(self.P)
        first = spread(log(self.init_probs) + densities[..., 0, :], (*batch, self._states))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            arrived = reduce("logsumexp", expand_dims(states[0], states[0].ndim) + transition, -2)
            return [spread(arrived + heads[0], first.static_shape)], []

        (last,), _ = along(step, [first], [densities[..., 1:, :]], self.steps, behind=1)
        return reduce("logsumexp", last, -1)

    @property
    def _states(self) -> Dim:
        return self.init_probs.static_shape[-1]

    def _of_states(self, value: Node) -> Node:
        """Log density of every value in every state, shape (..., T, K)."""
        place = value.ndim - self._rank
        return supported_density(self.emission_dist, expand_dims(value, place))

    def draw(self, key: Node, shape: Shape) -> Node:
        times = shape[: len(shape) - self._rank]
        batch = times[:-1]
        states = self._chain(fold_in(key, 0), batch)
        every = drawn(self.emission_dist, fold_in(key, 1), (*times, self._states, *shape[len(times) :]))
        mask = equal(Node(Iota(self._states)), expand_dims(states, states.ndim))
        mask = expand_dims(mask, tuple(range(mask.ndim, mask.ndim + self._rank)))
        return reduce("sum", where(mask, every, cast(0, every.dtype)), len(times))

    def _chain(self, key: Node, batch: Shape) -> Node:
        """States of all times, shape (..., T), by the inverse of the cumulative probabilities."""
        levels = draw("random_uniform", key, (*batch, self.steps + 1))
        first = _chosen(spread(self.init_probs, (*batch, self._states)), levels[..., 0])
        rows = spread(self.P, (*batch, self._states, self._states))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            here = equal(Node(Iota(self._states)), expand_dims(states[0], states[0].ndim))
            row = reduce("sum", where(expand_dims(here, here.ndim), rows, 0.0), -2)
            following = _chosen(row, heads[0])
            return [following], [following]

        _, (later,) = along(step, [first], [levels[..., 1:]], self.steps)
        return concatenate([expand_dims(first, first.ndim), later], -1)

    def _occupation(self) -> Node:
        """Probabilities of the states at all times, shape (..., T, K)."""
        first = expand_dims(self.init_probs, self.init_probs.ndim - 1)
        batch = matmul(first, self.P).static_shape[:-2]
        start = spread(self.init_probs, (*batch, self._states))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            row = squeeze(matmul(expand_dims(states[0], states[0].ndim - 1), self.P), -2)
            following = spread(row, start.static_shape)
            return [following], [following]

        _, (later,) = along(step, [start], [], self.steps, within=1)
        return concatenate([expand_dims(start, start.ndim - 1), later], -2)

    def mean(self) -> Node:
        return self._expected(mean(self.emission_dist))

    def variance(self) -> Node:
        centre, own = mean(self.emission_dist), variance_of(self.emission_dist)
        return self._expected(own + square(centre)) - square(self._expected(centre))

    def _expected(self, of_states: Node) -> Node:
        """The mean over states of a moment of each, whose axis of states stands before those of an event."""
        weights = self._occupation()
        weights = expand_dims(weights, tuple(range(weights.ndim, weights.ndim + self._rank)))
        return reduce("sum", weights * of_states, -1 - self._rank)

    def support_point(self) -> Node:
        centre = self.mean()
        return round_even(centre) if self.bound_support.discrete else centre


def _chosen(probabilities: Node, level: Node) -> Node:
    """The state whose part of the unit interval holds the level."""
    bounds = cumulative("sum", probabilities, -1)[..., :-1]
    return cast(reduce("sum", less(bounds, expand_dims(level, level.ndim)), -1), "int64")
