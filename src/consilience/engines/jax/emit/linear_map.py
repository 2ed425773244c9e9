"""A linear map of which JAX knows the transpose: a primitive, so that derivatives go forwards and backwards.

Two functions and arrays in, arrays out. JAX's own `linear_call` has no rule for `vmap`, and traces the map also where
only its transpose is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from consilience.errors import GraphError, MissingRuleError

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


def with_pullback(value: Map, pull: Callable[[Any, Any, Any], Sequence[Any]]) -> Map:
    """A function of arrays whose derivative is given backwards; forwards it is the transpose of that, by JAX.

    `pull`: of the arrays, the results and their cotangents; gives a cotangent for each array. Raises GraphError where
    derivatives forwards are asked for, if JAX cannot transpose it.
    """

    @jax.custom_jvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def call(*arrays: Any) -> Any:
        return tuple(value(*arrays))

    @call.defjvp  # type: ignore[untyped-decorator]  # JAX may not be there
    def derivative(arrays: Any, tangents: Any) -> Any:
        found = call(*arrays)
        moved, smooth = _floats(arrays), _floats(found)
        kinds = tuple((found[i].shape, found[i].dtype) for i in smooth)
        own, count = len(arrays), len(arrays) + len(found)

        def back(*given: Any) -> list[Any]:
            known = dict(zip(smooth, given[count:], strict=True))
            cotangents = tuple(known.get(i, jnp.zeros_like(v)) for i, v in enumerate(given[own:count]))
            pulled = pull(given[:own], given[own:count], cotangents)
            return [pulled[i].astype(arrays[i].dtype) for i in moved]

        def there(*given: Any) -> list[Any]:
            likes = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in kinds)
            try:
                turned = jax.linear_transpose(lambda *cotangents: tuple(back(*given[:count], *cotangents)), *likes)
                return list(turned(given[count:]))
            except MissingRuleError:
                raise
            except (NotImplementedError, TypeError, ValueError) as error:
                raise GraphError(
                    "a function whose derivative is given backwards has none forwards, for JAX cannot transpose it "
                    f"({error}); take those backwards, `jax.grad` or `jax.jacrev`."
                ) from error

        moves = linear_map(there, back, (*arrays, *found), [tangents[i] for i in moved], kinds) if moved else []
        known = dict(zip(smooth, moves, strict=False))
        return found, tuple(
            known.get(i, jnp.zeros_like(v) if i in smooth else np.zeros(v.shape, jax.dtypes.float0))
            for i, v in enumerate(found)
        )

    return call  # type: ignore[no-any-return]  # JAX may not be there


def _floats(arrays: Any) -> list[int]:
    return [i for i, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]


_linear.def_impl(_value)
_linear.def_abstract_eval(_abstract)
ad.primitive_jvps[_linear] = _jvp
ad.primitive_transposes[_linear] = _transposed
batching.primitive_batchers[_linear] = _batched
mlir.register_lowering(_linear, mlir.lower_fun(_value, multiple_results=True))
