"""A graph as a pure function of JAX's arrays, with the derivatives of this package.

Leaves and expressions in; a function that composes with `jit`, `vmap` and `grad` out. It has no effects: where there is
no value, floats are NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from consilience.engines.jax.emit.linear_map import linear_map
from consilience.engines.jax.emit.program import traceable
from consilience.errors import DtypeError, GraphError
from consilience.ir import FLOATS, Node, numpy_dtype, tensor_input
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import pullback, pushforward


def differentiable(name: str, own: Sequence[Node], results: Sequence[Node]) -> Callable[..., list[Any]]:
    """A function of arrays in the order of the leaves, at fixed lengths.

    Its derivatives are those of the table of gradients; they are compiled expressions themselves, which JAX
    differentiates once more where second derivatives are asked for. Forwards and backwards are compiled each when they
    are first asked for.
    """
    moved = [i for i, leaf in enumerate(own) if leaf.dtype in FLOATS]
    smooth = [i for i, result in enumerate(results) if result.dtype in FLOATS]
    plain = _without_failures(traceable(own, results))

    inputs, values = [own[i] for i in moved], [results[i] for i in smooth]

    @functools.cache
    def slopes() -> Callable[..., list[Any]]:
        seeds = [tensor_input(v.dtype, v.static_shape, "cotangent") for v in values]
        return _without_failures(traceable((*own, *seeds), simplify(pullback(values, inputs, seeds))))

    @functools.cache
    def directional() -> Callable[..., list[Any]]:
        seeds = [tensor_input(x.dtype, x.static_shape, "tangent") for x in inputs]
        try:
            found = pushforward(values, inputs, seeds)
        except GraphError as error:
            raise GraphError(
                f"`{name}` has no derivatives forwards ({error}); take those backwards, `jax.grad` or `jax.jacrev`."
            ) from error
        return _without_failures(traceable((*own, *seeds), simplify(found)))

    def there(*arrays: Any) -> list[Any]:
        found = directional()(*arrays)
        return [v.astype(numpy_dtype(r.dtype)) for v, r in zip(found, values, strict=True)]

    def back(*arrays: Any) -> list[Any]:
        found = slopes()(*arrays)
        return [v.astype(numpy_dtype(x.dtype)) for v, x in zip(found, inputs, strict=True)]

    @jax.custom_jvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def call(*arrays: Any) -> list[Any]:
        return plain(*arrays)

    @call.defjvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def derivative(arrays: Any, tangents: Any) -> Any:
        found = call(*arrays)
        kinds = tuple((found[i].shape, found[i].dtype) for i in smooth)
        moves = linear_map(there, back, arrays, [tangents[i] for i in moved], kinds) if moved and smooth else []
        known = dict(zip(smooth, moves, strict=False))
        return found, [
            (known[i] if i in known else jnp.zeros_like(v)) if i in smooth else np.zeros(v.shape, jax.dtypes.float0)
            for i, v in enumerate(found)
        ]

    return lambda *arrays: call(*(jnp.asarray(x, leaf.dtype) for x, leaf in zip(arrays, own, strict=True)))


def _without_failures(function: Callable[..., tuple[list[Any], Any]]) -> Callable[..., list[Any]]:
    """The values; NaN where the status says that there are none."""

    def values(*arrays: Any) -> list[Any]:
        found, status = function(*arrays)
        if isinstance(status, np.integer):  # nothing can fail
            return found
        return [jnp.where(status == 0, v, jnp.nan) if jnp.issubdtype(v.dtype, jnp.inexact) else v for v in found]

    return values


def in_double_precision(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that JAX compiles when it is called, and that a caller's own `jit` takes in.

    Raises DtypeError when called, inside a transformation of JAX with double precision switched off.
    """
    compiled = jax.jit(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if jax.config.jax_enable_x64:
            return compiled(*arguments)
        if any(isinstance(x, jax.core.Tracer) for x in arguments):
            raise DtypeError(
                f"`{name}` computes in double precision, which JAX has switched off: "
                "`jax.config.update('jax_enable_x64', True)`, or call what you have transformed inside "
                "`with jax.enable_x64(True):`."
            )
        with jax.enable_x64(True):
            return compiled(*arguments)

    return call


def density(position: Node, outputs: Sequence[Node], data: Mapping[Node, npt.NDArray[Any]]) -> Callable[[Any], Any]:
    """A log density of a position, from its static graph with its gradient and the data: both are computed together."""
    values = list(data.values())
    logp = traceable((position, *data), outputs[:1])
    both = traceable((position, *data), outputs)

    def finite(value: Any, status: Any) -> Any:
        return jnp.where((status != 0) | jnp.isnan(value), -jnp.inf, value)

    @jax.custom_jvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def call(x: Any) -> Any:
        (value,), status = logp(x, *values)
        return finite(value, status)

    @call.defjvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def derivative(at: Any, tangents: Any) -> Any:
        (value, slope), status = both(*at, *values)
        return finite(value, status), (slope * tangents[0]).sum()

    return lambda x: call(x)
