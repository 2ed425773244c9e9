"""A linear map of which JAX knows the transpose: a primitive, so that derivatives go forwards and backwards.

Two functions and arrays in, arrays out. JAX's own `linear_call` has no rule for `vmap`, and traces the map also where
only its transpose is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

Map: TypeAlias = Callable[..., Sequence[Any]]
Kinds: TypeAlias = tuple[tuple[tuple[int, ...], Any], ...]  # shapes and dtypes

_linear: Any = Primitive("linear_map")
_linear.multiple_results = True


def linear_map(there: Map, back: Map, fixed: Sequence[Any], vectors: Sequence[Any], results: Kinds) -> list[Any]:
    """`there(*fixed, *vectors)`, whose transpose in the vectors is `back(*fixed, *cotangents)`.

    Neither is traced before it is needed. By what is fixed JAX differentiates either with its own rules.
    results   shapes and dtypes of what `there` gives
    """
    found: list[Any] = _linear.bind(*fixed, *vectors, there=there, back=back, count=len(fixed), results=results)
    return found


def _value(*arrays: Any, there: Map, **_: Any) -> Sequence[Any]:
    return there(*arrays)


def _abstract(*_: Any, results: Kinds, **__: Any) -> list[Any]:
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in results]


def _jvp(primals: Any, tangents: Any, **known: Any) -> Any:
    there, count = known["there"], known["count"]
    fixed, vectors = primals[:count], primals[count:]
    found = _linear.bind(*primals, **known)
    parts = []
    moving = [i for i, t in enumerate(tangents[:count]) if not _is_zero(t)]
    if moving:

        def by_fixed(*moved: Any) -> list[Any]:
            given = list(fixed)
            for i, value in zip(moving, moved, strict=True):
                given[i] = value
            return list(there(*given, *vectors))

        parts.append(jax.jvp(by_fixed, [fixed[i] for i in moving], [tangents[i] for i in moving])[1])
    if not all(map(_is_zero, tangents[count:])):
        own = [ad.instantiate_zeros(t) for t in tangents[count:]]
        parts.append(_linear.bind(*fixed, *own, **known))
    if not parts:
        return found, [ad.Zero.from_primal_value(v) for v in found]
    return found, [sum(some[1:], some[0]) for some in zip(*parts, strict=True)]


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _transposed(cotangents: Any, *arrays: Any, there: Map, back: Map, count: int, results: Kinds) -> list[Any]:
    kinds = tuple((v.aval.shape, v.aval.dtype) for v in arrays[count:])
    own = [ad.instantiate_zeros(c) for c in cotangents]
    found = linear_map(back, there, arrays[:count], own, kinds)
    return [None] * count + found


def _batched(arrays: Any, axes: Any, *, there: Map, back: Map, count: int, results: Kinds) -> Any:
    size = next(a.shape[i] for a, i in zip(arrays, axes, strict=True) if i is not None)
    # All vectors get the axis: the transpose of spreading them sums their cotangents.
    vectors = [
        jnp.broadcast_to(a, (size, *a.shape)) if i is None else jnp.moveaxis(a, i, 0)
        for a, i in zip(arrays[count:], axes[count:], strict=True)
    ]
    each = (*axes[:count], *[0] * len(vectors))
    outward = (*axes[:count], *[0] * len(results))
    kinds = tuple(((size, *shape), dtype) for shape, dtype in results)
    found = linear_map(jax.vmap(there, each), jax.vmap(back, outward), arrays[:count], vectors, kinds)
    return found, [0] * len(found)


def transposed(back: Map, fixed: Sequence[Any], tangents: Sequence[Any], results: Kinds) -> list[Any]:
    """The transpose of `back(*fixed, *cotangents)` at tangents, by JAX."""
    likes = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results)
    flipped = jax.linear_transpose(lambda *cotangents: tuple(back(*fixed, *cotangents)), *likes)
    return [jnp.asarray(v) for v in flipped(tuple(tangents))]


_linear.def_impl(_value)
_linear.def_abstract_eval(_abstract)
ad.primitive_jvps[_linear] = _jvp
ad.primitive_transposes[_linear] = _transposed
batching.primitive_batchers[_linear] = _batched
mlir.register_lowering(_linear, mlir.lower_fun(_value, multiple_results=True))
