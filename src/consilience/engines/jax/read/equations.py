"""Equations of jaxprs, one after the other: values of constants and arguments in, values of results out.

JAX's primitives are those of lax, and those of `calls` and `random`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.forms import Form
from consilience.engines.reader.lax import LAX
from consilience.engines.reader.program import Language, ProgramStep
from consilience.engines.reader.rules import Rules, Tensors, listed
from consilience.errors import GraphError, MissingPackageError

DRAWS = " Draw beforehand, and give it the draws as arguments."
_HERE = str(Path(__file__).parents[3])
# JAX's dtype of tangents and cotangents of whole numbers (`float0`), which hold nothing.
NO_TANGENT: Final = np.dtype([("float0", "V")])

RULES: Final = Rules(LAX)
JAX: Final = Language(
    "JAX", "primitive", RULES,
    lambda name: DRAWS if name.startswith(("random_", "rng_")) else " `opaque=True` calls JAX instead.",
)  # fmt: skip
# Primitives that take keys as they are; others look at no key, and do the same to each of its words.
TAKE_KEYS: Final[set[str]] = set()


def jax_module() -> Any:
    """JAX with what reading its graphs needs; MissingPackageError where it is not installed, or too old."""
    try:
        import jax
        import jax.extend
    except Exception as error:
        raise MissingPackageError.of("JAX", "pip install 'consilience[jax]'", error) from error
    if not hasattr(jax, "enable_x64"):
        raise MissingPackageError(f"JAX {jax.__version__} is too old; 0.8 is the first that can be read.")
    return jax


def closed(traced: Any, arguments: Sequence[Any]) -> Tensors:
    """Values of a jaxpr with its constants."""
    return evaluated(traced.jaxpr, [_constant(c) for c in traced.consts], arguments)


def traced(function: Callable[..., Any], arguments: Sequence[Any]) -> Tensors:
    """Values of a function of JAX's arrays, which gives an array or a list of them."""
    jax = jax_module()
    with jax.enable_x64(True):
        forms = [jax.ShapeDtypeStruct(tuple(x.static_shape), x.dtype) for x in arguments]
        return closed(jax.make_jaxpr(function)(*forms), arguments)


def evaluated(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> Tensors:
    """Values of the results of a jaxpr."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *arguments], strict=True))

    def read(variable: Any) -> Any:
        return _constant(np.asarray(variable.val, variable.aval.dtype)) if hasattr(variable, "val") else known[variable]

    for equation in jaxpr.eqns:
        known.update(zip(equation.outvars, _results(equation, [read(v) for v in equation.invars]), strict=True))
    return [read(v) for v in jaxpr.outvars]


def _constant(value: Any) -> Any:
    if isinstance(value, jax_module().core.Tracer):
        raise GraphError(
            "a function with a derivative of its own (`custom_vjp`, `custom_jvp`) reads a value from around it; give "
            "that to it as an argument."
        )
    dtype = getattr(value, "dtype", np.asarray(value).dtype)
    if str(dtype).startswith("key"):
        return pt.constant(np.asarray(jax_module().random.key_data(value)))
    return pt.constant(np.zeros(np.shape(value), bool) if dtype == NO_TANGENT else np.asarray(value))


def _results(equation: Any, operands: Tensors) -> Tensors:
    name = equation.primitive.name
    of_words = name in RULES and name not in TAKE_KEYS and any(words(v.aval) for v in equation.invars)
    step = ProgramStep(
        "of words" if of_words else name, name, {**equation.params, "primitive": name, "equation": equation},
        [form_of(v.aval) for v in equation.outvars], functools.partial(_where, equation),
    )  # fmt: skip
    return JAX.values(step, operands)


def form_of(aval: Any) -> Form | None:
    """That of a tensor, where words stand for keys, False for what has no derivative; None for tokens."""
    if type(aval).__name__ == "AbstractToken" or not hasattr(aval, "dtype"):
        return None
    dtype = "uint32" if words(aval) else "bool" if aval.dtype == NO_TANGENT else str(aval.dtype)
    return Form((*aval.shape, *words(aval)), dtype)


def words(aval: Any) -> tuple[int, ...]:
    """Lengths of the axes that one key takes; none for what is no key."""
    implementation = getattr(getattr(aval, "dtype", None), "_impl", None)
    return () if implementation is None else tuple(implementation.key_shape)


@RULES("of words")
def _of_words(*operands: Any, primitive: str, equation: Any, **parameters: Any) -> Tensors:
    """What a primitive that looks at no key (indexing, joining, reshaping) gives: the same for each word."""
    avals = [v.aval for v in equation.invars]
    shape = next(filter(None, map(words, avals)))

    def word(i: int) -> Tensors:
        place = np.unravel_index(i, shape)
        parts = [x[(..., *place)] if words(aval) else x for x, aval in zip(operands, avals, strict=True)]
        return listed(RULES[primitive](*parts, primitive=primitive, equation=equation, **parameters))

    each = [word(i) for i in range(int(np.prod(shape)))]
    joined = [pt.stack(parts, axis=-1) for parts in zip(*each, strict=True)]
    return joined if len(shape) == 1 else [pt.reshape(x, (*x.static_shape[:-1], *shape)) for x in joined]


def _where(equation: Any) -> str | None:
    """The line of the function that an equation comes from."""
    from jax._src import source_info_util

    line = source_info_util.summarize(equation.source_info)
    return f"at {line}" if line and not line.startswith(_HERE) else None
