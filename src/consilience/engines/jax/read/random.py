"""JAX's random keys and the bits drawn with them: keys are tensors of words, on which JAX's own generators compute.

Primitives on keys in, tensors of `uint32` with the words of a key along their last axes out. Draws with a key that is
known are constants. A key is no argument of a translated function, nor are draws random here: the same key gives the
same draws, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read.primitives import RULES, rule
from consilience.ir import constant_value

Closed = Callable[[Any, Any], list[Any]]

_TURNS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(aval: Any) -> tuple[int, ...]:
    """Lengths of the axes that one key takes; none for what is no key."""
    implementation = getattr(getattr(aval, "dtype", None), "_impl", None)
    return () if implementation is None else tuple(implementation.key_shape)


def moved(name: str, operands: list[Any], avals: list[Any], parameters: dict[str, Any]) -> list[Any]:
    """What a primitive that looks at no key (indexing, joining, reshaping) gives: the same for each word."""
    shape = next(filter(None, map(words, avals)))
    count, rank = int(np.prod(shape)), len(shape)

    def word(i: int) -> list[Any]:
        parts = [
            x[(..., *np.unravel_index(i, shape))] if words(aval) else x for x, aval in zip(operands, avals, strict=True)
        ]
        found = RULES[name](*parts, **parameters)
        return found if isinstance(found, list) else [found]

    each = [word(i) for i in range(count)]
    joined = [pt.stack(parts, axis=-1) for parts in zip(*each, strict=True)]
    return [pt.reshape(x, (*x.static_shape[:-1], *shape)) if rank != 1 else x for x in joined]


def drawn(jax: Any, closed: Closed, equation: Any, operands: list[Any]) -> list[Any]:
    """What JAX's generator of a kind of keys computes: of known words now, of others in our graph."""
    name, parameters = equation.primitive.name, equation.params
    aval = equation.invars[0].aval
    own = parameters["impl"] if name == "random_seed" else aval.dtype._impl
    functions = {
        "random_seed": own.seed,
        "random_split": lambda key: own.split(key, tuple(parameters["shape"])),
        "random_fold_in": own.fold_in,
        "random_bits": lambda key: own.random_bits(key, parameters["bit_width"], tuple(parameters["shape"])),
    }
    function: Any = functions[name]
    with jax.enable_x64(True):
        for _ in range(aval.ndim):
            function = jax.vmap(function)
        known = [constant_value(x) for x in operands]
        if all(v is not None for v in known):
            return [pt.constant(np.asarray(function(*map(jax.numpy.asarray, known))))]
        forms = [jax.ShapeDtypeStruct(tuple(x.static_shape), x.dtype) for x in operands]
        traced = jax.make_jaxpr(function)(*forms)
    return closed(traced, operands)


def gamma_drawn(jax: Any, closed: Closed, equation: Any, operands: list[Any]) -> list[Any]:
    """Gamma draws by the rejection that JAX's primitive `random_gamma` stands for, or their logarithms.

    Their derivative by the shape is that at a fixed quantile, as in JAX (Figurnov, Mohamed and Mnih 2018).
    """
    logarithms = equation.params["log_space"]
    kind = equation.invars[0].aval.dtype

    def function(key: Any, shape: Any) -> Any:
        return equation.primitive.impl(jax.random.wrap_key_data(key, impl=kind), shape, log_space=logarithms)

    def plain(key: Any, shape: Any) -> Any:
        with jax.enable_x64(True):
            known = [constant_value(x) for x in (key, shape)]
            if all(v is not None for v in known):
                return pt.constant(np.asarray(function(*map(jax.numpy.asarray, known))))
            forms = [jax.ShapeDtypeStruct(tuple(x.static_shape), x.dtype) for x in (key, shape)]
            traced = jax.make_jaxpr(function)(*forms)
        return closed(traced, [key, shape])[0]

    def forward(key: Any, shape: Any) -> Any:
        draws = plain(key, shape)
        return draws, (shape, draws)

    def backward(values: Any, cotangent: Any) -> list[Any]:
        shape, draws = values
        if logarithms:
            draws = pt.maximum(pt.exp(draws), float(np.finfo(draws.dtype).tiny))
        slope = RULES["random_gamma_grad"](shape, draws, primitive="random_gamma_grad")
        return [None, cotangent * (slope / draws if logarithms else slope)]

    wrapped = pt.custom_vjp(plain)
    wrapped.defvjp(forward, backward)
    return [wrapped(*operands)]


# Primitives that draw, or make keys, and what they give from (jax, closed, equation, operands).
DRAWS: Final[dict[str, Callable[[Any, Closed, Any, list[Any]], list[Any]]]] = {
    **dict.fromkeys(("random_seed", "random_split", "random_fold_in", "random_bits"), drawn),
    "random_gamma": gamma_drawn,
}


@rule("random_wrap", "random_unwrap")
def _same(key: Any, **_: Any) -> Any:
    """Words as keys, and keys as words."""
    return key


@rule("iota_2x32_shape")
def _counters(*, shape: tuple[int, ...], **_: Any) -> list[Any]:
    """Numbers of the elements of an array, as words of 32 bits, the high ones first."""
    counts = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return [pt.constant((counts >> np.uint64(32)).astype(np.uint32)), pt.constant(counts.astype(np.uint32))]


@rule("threefry2x32")
def _threefry(first: Any, second: Any, x: Any, y: Any, **_: Any) -> list[Any]:
    """Two counters mixed with two words of a key by additions, rotations and exclusive ors, in 20 rounds.

    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    keys = [first, second, pt.bitwise_xor(pt.bitwise_xor(first, second), np.uint32(0x1BD11BDA))]
    x, y = x + first, y + second
    for block in range(5):
        for turn in _TURNS[block % 2]:
            x = x + y
            turned = pt.bitwise_or(pt.left_shift(y, np.uint32(turn)), pt.right_shift(y, np.uint32(32 - turn)))
            y = pt.bitwise_xor(x, turned)
        x, y = x + keys[(block + 1) % 3], y + keys[(block + 2) % 3] + np.uint32(block + 1)
    return [x, y]
