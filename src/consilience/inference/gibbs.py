"""Gibbs sampling of discrete variables with finitely many values: each coordinate is drawn from its conditional.

Where the coordinates are independent of each other given all others, one evaluation gives the probabilities of all
values of all of them; otherwise they are drawn in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, evaluate_table, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, compiling_uniforms, start_without_gradient
from consilience.inference.streams import GIBBS, counter, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, inf, isnan
from consilience.native.random import random_uniforms
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record, simd

LARGEST = 10_000  # values of one coordinate


@record
class GibbsInfo:
    """What happened in one sweep.

    `changed`: coordinates that have another value than before.
    """

    changed: i64


@record
class GibbsState:
    """What a chain remembers besides where it is.

    least, values (Array): Least value and number of values of each coordinate, f64[dimension] and i64[dimension].
    separable: Whether all coordinates are drawn from one table; all have `width` values then.
    width: Greatest number of values.
    """

    least: Array[f64]
    values: Array[i64]
    separable: boolean
    width: i64


@record
class GibbsScratch:
    """Memory of a sweep.

    table (Array): Probabilities, f64[width, dimension], or log densities of one coordinate, f64[width].
    weights (Array): Those of one coordinate, f64[width].
    position (Array): The point proposed, f64[dimension].
    uniforms (FunctionPointer): `random_uniforms`: fills an array, given key, counter, array and length.
    """

    table: Array[f64]
    weights: Array[f64]
    position: Array[f64]
    uniforms: FunctionPointer[[i64, i64, Array[f64], i64], None]


@native
def choose(levels: Array[f64], count: i64, u: f64) -> i64:
    """Which of `count` values, given their log densities up to a constant and a number uniform on (0, 1).

    -1 where no value has a finite log density. The log densities become probabilities up to a constant factor.
    """
    greatest = -inf
    for k in range(count):
        if levels[k] > greatest:  # not NaN
            greatest = levels[k]
    if greatest == -inf or greatest == inf:
        return -1
    total = 0.0
    for k in range(count):
        levels[k] = 0.0 if isnan(levels[k]) else exp(levels[k] - greatest)
        total += levels[k]
    rest = u * total
    chosen = -1
    k = 0
    while k < count and (rest >= 0.0 or chosen < 0):
        if levels[k] > 0.0:
            rest -= levels[k]
            chosen = k
        k += 1
    return chosen


@native(rare=True)
def start_gibbs(point: Point, state: GibbsState, scratch: GibbsScratch, density: Density, info: GibbsInfo) -> boolean:
    """Whether the log density is finite where the chain begins: any value of a table is looked at when it is drawn."""
    if state.separable:
        return True
    return start_without_gradient(point, density)


@native
def sweep_table(point: Point, state: GibbsState, scratch: GibbsScratch, density: Density, info: GibbsInfo) -> None:
    """Draw all coordinates from one table of probabilities; those without any stay.

    A coordinate has the value at which the sum of its probabilities exceeds a uniform number. The sums are made for
    all coordinates side by side, and the numbers of values passed replace the first row of the table.
    """
    table = scratch.table
    n = point.dimension
    if not evaluate_table(density, point.position, table):
        return
    key = purpose_key(point.key, GIBBS)
    rest = scratch.position
    scratch.uniforms(key, 2 * counter(point.transition, 0), rest, n)
    for i in simd(n):
        rest[i] -= table[i]
        table[i] = 0.0
    for k in range(1, state.width):
        row = table[k * n :]
        for i in simd(n):
            table[i] += 1.0 if rest[i] >= 0.0 else 0.0
            rest[i] -= row[i]
    position = point.position
    least = state.least
    changed = 0.0
    for i in simd(n):
        value = least[i] + table[i] if rest[i] == rest[i] else position[i]
        changed += 1.0 if value != position[i] else 0.0
        position[i] = value
    info.changed = int(changed)


@native
def sweep_in_turn(point: Point, state: GibbsState, scratch: GibbsScratch, density: Density, info: GibbsInfo) -> boolean:
    """Draw the coordinates one after the other; False where the run was stopped meanwhile."""
    n = point.dimension
    key = purpose_key(point.key, GIBBS)
    copy(point.position, scratch.position, n)
    level = point.logp
    changed = 0
    for i in range(n):
        before = scratch.position[i]
        present = int(before - state.least[i])
        for k in range(state.values[i]):
            if k == present:
                scratch.table[k] = level
            else:
                scratch.position[i] = state.least[i] + float(k)
                scratch.table[k] = log_density(density, scratch.position)
        if stopped(density):
            return False
        copy(scratch.table, scratch.weights, state.values[i])
        chosen = choose(scratch.weights, state.values[i], uniform(key, point.transition, i))
        if chosen < 0:
            chosen = present
        scratch.position[i] = state.least[i] + float(chosen)
        level = scratch.table[chosen]
        if chosen != present:
            changed += 1
    copy(scratch.position, point.position, n)
    point.logp = level
    info.changed = changed
    return True


@native
def step_gibbs(point: Point, state: GibbsState, scratch: GibbsScratch, density: Density, info: GibbsInfo) -> boolean:
    """One sweep over all coordinates."""
    if stopped(density):
        return False
    info.changed = 0
    if state.separable:
        sweep_table(point, state, scratch, density, info)
    elif not sweep_in_turn(point, state, scratch, density, info):
        return False
    point.transition += 1
    return True


class CategoricalGibbsMetropolis(Kernel):
    """Gibbs sampling of variables with finitely many values: Categorical, DiscreteUniform, Binomial and others.

    Each element is drawn from its distribution given all others, so that every proposal is accepted. Elements that are
    independent of each other given all others are drawn side by side: one pass over the data for all.

    vars, compiled : ...
    separable (bool): Whether they are; `pm.sample` finds out.
    See BinaryGibbsMetropolis: The same for two values.
    >>> with pm.Model():
    ...     x = pm.Categorical("x", [0.2, 0.3, 0.5])
    ...     step = pm.CategoricalGibbsMetropolis([x])
    ...     result = pm.sample(step=step, random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    separable: bool = False

    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = GibbsInfo
    start: ClassVar[Any] = start_gibbs
    step: ClassVar[Any] = step_gibbs
    roles: ClassVar[Mapping[Role, str]] = {}
    discrete: ClassVar[bool] = True
    continuous: ClassVar[bool] = False
    most_values: ClassVar[int] = LARGEST

    @property
    def needs(self) -> Needs:  # type: ignore[override]  # which it is depends on the variables
        """A table where one evaluation can give the log densities of all values of all elements."""
        return "table" if self.separable else "logp"

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> GibbsState:
        """See `Kernel.state`."""
        counts = block.upper - block.lower + 1
        if not block.discrete.all() or not (counts <= self.most_values).all():
            raise SamplingError(
                f"{type(self).__name__} moves discrete variables with at most {self.most_values} values, known "
                f"beforehand; {', '.join(f'`{name}`' for name in block.names) or 'the variables'} "
                "are none. Use pm.Metropolis for discrete variables, pm.NUTS for continuous ones."
            )
        values = counts.astype(np.int64)
        return GibbsState(np.array(block.lower), values, self.separable, int(values.max(initial=1)))

    def scratch(
        self, block: Block, point: Point, state: GibbsState, density: Density, vectors: Vectors
    ) -> GibbsScratch:
        """See `Kernel.scratch`."""
        rows = block.dimension if self.separable else 1
        size = max(1, rows * state.width)
        uniforms: Any = compiling_uniforms().result() if self.compiled else random_uniforms
        return GibbsScratch(np.zeros(size), np.zeros(state.width), vectors.vector(), uniforms)


class BinaryGibbsMetropolis(CategoricalGibbsMetropolis):
    """Gibbs sampling of variables with two values: see `CategoricalGibbsMetropolis`.

    vars, compiled : ...
    separable: Whether variables that do not meet are updated at once.
    See CategoricalGibbsMetropolis: For more values.
    See BinaryMetropolis: Proposes single changes.
    >>> with pm.Model():
    ...     x = pm.Bernoulli("x", 0.3, shape=2)
    ...     result = pm.sample(step=pm.BinaryGibbsMetropolis([x]), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    most_values: ClassVar[int] = 2
