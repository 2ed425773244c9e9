"""JAX's functions: what `jax.make_jaxpr` traces in, functions of tensors that compute the same out.

JAX traces in double precision here, whatever its setting is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from consilience.engines.jax.read import calls as calls  # these fill the table
from consilience.engines.jax.read import random as random
from consilience.engines.jax.read.equations import DRAWS, closed, jax_module
from consilience.engines.opaque import of_jax
from consilience.engines.reader.forms import Form, called, fitted, held
from consilience.errors import GraphError


def from_jax(function: Callable[..., Any], *examples: Any, opaque: bool = False) -> Callable[..., Any]:
    """A function of JAX's arrays as a function of tensors.

    function: Pure, of arrays or of nested dicts, lists and tuples of arrays.
    *examples: Arguments as it takes them: their shapes and dtypes are fixed, their numbers do not matter.
    opaque: Nothing is translated: JAX computes values and first derivatives, called in Python by each evaluation, whose
        threads then wait for each other.
    Returns: A function of as many arguments in the same form, of tensors or numbers; its results have the form of those
        of `function`. They are differentiated, simplified and compiled as all tensors are; where JAX's function has
        derivatives of its own (`custom_jvp`, `custom_vjp`), these are taken.
    Raises MissingRuleError: For a primitive that has no translation, with the line that it comes from.
    Raises DtypeError: For a dtype that tensors do not hold.
    Raises GraphError: For branches, loops and shapes that depend on values.
    Raises MissingPackageError: Without JAX.
    Raises ShapeError: Of the function that is made: for arguments of other shapes, and DtypeError for other dtypes.
    See from_torch: The same for PyTorch.
    See from_density: A log density of one's own.
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import consilience as pm, consilience.tensor as pt
    >>> f = pm.from_jax(lambda x: jnp.sum(jnp.exp(x)), np.zeros(3))
    >>> f(pt.zeros(3)).eval().item()
    3.0
    """
    jax = jax_module()
    leaves, form = jax.tree_util.tree_flatten(examples)
    name = getattr(function, "__name__", "function")
    try:
        with jax.enable_x64(True):
            traced, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    except (
        jax.errors.ConcretizationTypeError,
        jax.errors.NonConcreteBooleanIndexError,
        jax.errors.TracerArrayConversionError,
        jax.errors.TracerIntegerConversionError,
    ) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise GraphError(
            f"JAX cannot trace `{name}`: {type(error).__name__}: {first} Branches and loops on values are written as "
            "`jnp.where`, `lax.cond` or `lax.while_loop`, functions of NumPy as those of `jnp`, and shapes do not "
            "depend on values."
        ) from error
    _, results = jax.tree_util.tree_flatten(shapes)
    avals = [v.aval for v in traced.jaxpr.invars]
    if len(leaves) != len(avals):
        raise GraphError("some of the example arguments are no arrays or numbers.")
    flat = functools.partial(_flat, jax, function, form)
    call = of_jax(jax, name, flat, avals) if opaque else functools.partial(closed, traced)
    paths = jax.tree_util.tree_flatten_with_path(examples)[0]
    told = [f"argument {jax.tree_util.keystr(path)} of `{name}`" for path, _ in paths]

    def translated(*arguments: Any) -> Any:
        given, own = jax.tree_util.tree_flatten(arguments)
        if own != form:
            raise GraphError(f"`{name}` was translated for arguments of the form {form}, got {own}.")
        return jax.tree_util.tree_unflatten(results, call(list(map(fitted, given, wanted, told))))

    wanted = list(map(_form, avals, told))
    call([form.variable for form in wanted])  # what is missing is told now
    return called(translated, name, f"`{name}` of JAX")


def _form(aval: Any, what: str) -> Form:
    """That of an argument."""
    dtype = str(aval.dtype)
    return held(Form(tuple(aval.shape), dtype), what, DRAWS if dtype.startswith("key") else "")


def _flat(jax: Any, function: Callable[..., Any], form: Any, *leaves: Any) -> list[Any]:
    """Results of a function as a list, from arguments as a list."""
    return list(jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(form, leaves))))
