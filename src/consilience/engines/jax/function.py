"""Compiled functions and densities as pure functions of JAX's arrays.

A `Function` or the density of a model in; what composes with `jit`, `vmap` and `grad` out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.backends.function import Function
from consilience.backends.pure import PureFunction
from consilience.engines.jax.emit.differentiable import density, differentiable, in_double_precision

if TYPE_CHECKING:
    from consilience.model.log_density import ModelDensity


def of_function(function: Function) -> Callable[..., Any]:
    """`Function.jax`."""
    pure = PureFunction(function)

    @functools.cache
    def made(*shapes: tuple[int, ...]) -> Callable[..., Any]:
        return in_double_precision(function.name, differentiable(function.name, *pure.at(shapes)))

    return pure.called(lambda *given: made(*map(np.shape, given))(*given, *pure.slots))


def of_density(of: ModelDensity) -> Callable[[Any], Any]:
    """`ModelDensity.jax`."""
    inputs, outputs, data = of.program()
    return in_double_precision("the log density", density(inputs[0], outputs, data))
