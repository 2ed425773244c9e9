"""Functions of JAX's arrays that are called with tensors, under PyTensor's name.

In: a function of JAX and, at each call, arguments in which some leaves are tensors. Out: its results as expressions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.engines.jax.read.equations import jax_module
from consilience.engines.jax.read.jaxpr import from_jax
from consilience.errors import GraphError
from consilience.ir import Node, numpy_dtype
from consilience.ir.side_tables import describe


def wrap_jax(jax_function: Callable[..., Any] | None = None, *, allow_eval: bool = True) -> Callable[..., Any]:
    """A function of JAX as one of tensors; usable as a decorator. It is translated at every call, as by `from_jax`.

    jax_function: Of arrays, or of dicts, lists, tuples and other trees of them, and of settings that are no arrays.
    allow_eval: Accepted: shapes are never found by evaluating.
    Returns: A function of as many arguments, in which tensors may stand in place of arrays. What is no tensor is given
        to `jax_function` as it is.
    Raises GraphError: For a tensor with a length that is known only at a call, and what `from_jax` raises.
    See from_jax: A function of JAX's arrays as a function of tensors.
    >>> import consilience as pm, consilience.tensor as pt, jax.numpy as jnp
    >>> @pm.wrap_jax
    ... def scaled(x, by=1.0):
    ...     return {"sum": jnp.sum(x) * by}
    >>> float(scaled(pt.as_tensor([1.0, 2.0]), by=3.0)["sum"].eval())
    9.0
    """
    if jax_function is None:
        return functools.partial(wrap_jax, allow_eval=allow_eval)
    function = jax_function

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        tree = jax_module().tree_util
        leaves, form = tree.tree_flatten((arguments, named))
        tensors = {place: leaf for place, leaf in enumerate(leaves) if isinstance(leaf, Node)}

        def of_tensors(*values: Any) -> Any:
            given = dict(zip(tensors, values, strict=True))
            positional, keywords = tree.tree_unflatten(form, [given.get(i, leaf) for i, leaf in enumerate(leaves)])
            return function(*positional, **keywords)

        of_tensors.__name__ = getattr(function, "__name__", "function")
        return from_jax(of_tensors, *map(_example, tensors.values()))(*tensors.values())

    return call


def _example(tensor: Node) -> np.ndarray[Any, Any]:
    lengths = [n for n in tensor.static_shape if isinstance(n, int)]
    if len(lengths) < tensor.ndim:
        raise GraphError(
            f"JAX traces a function for fixed shapes, and {describe(tensor)} has lengths that are known only at a "
            "call; give them, as in `pt.vector('x', shape=(3,))`, or by `pt.specify_shape`."
        )
    return np.zeros(lengths, numpy_dtype(tensor.dtype))
