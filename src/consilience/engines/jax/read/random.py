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
from consilience.engines.jax.read.equations import RULES, TAKE_KEYS, jax_module, traced
from consilience.engines.reader.lax import lax
from consilience.engines.reader.rules import Tensors
from consilience.ir import constant_value

_TURNS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))


def _computed(function: Callable[..., Any], operands: Any) -> Tensors:
    """What a function of JAX's arrays gives: of known ones now, of others in our graph."""
    jax = jax_module()
    known = [constant_value(x) for x in operands]
    if any(v is None for v in known):
        return traced(function, operands)
    with jax.enable_x64(True):
        return [pt.constant(np.asarray(function(*map(jax.numpy.asarray, known))))]


@RULES("random_seed", "random_split", "random_fold_in", "random_bits")
def _drawn(*operands: Any, equation: Any, primitive: str, **parameters: Any) -> Tensors:
    """What JAX's generator of a kind of keys computes."""
    aval = equation.invars[0].aval
    own = parameters["impl"] if primitive == "random_seed" else aval.dtype._impl
    function: Callable[..., Any] = {
        "random_seed": own.seed,
        "random_split": lambda key: own.split(key, tuple(parameters["shape"])),
        "random_fold_in": own.fold_in,
        "random_bits": lambda key: own.random_bits(key, parameters["bit_width"], tuple(parameters["shape"])),
    }[primitive]
    for _ in range(aval.ndim):
        function = jax_module().vmap(function)
    return _computed(function, operands)


@RULES("random_gamma")
def _gamma_drawn(*operands: Any, equation: Any, log_space: bool, **_: Any) -> Tensors:
    """Gamma draws by the rejection that JAX's primitive stands for, or their logarithms.

    Their derivative by the shape is that at a fixed quantile, as in JAX (Figurnov, Mohamed and Mnih 2018).
    """
    kind = equation.invars[0].aval.dtype

    def function(key: Any, shape: Any) -> Any:
        keys = jax_module().random.wrap_key_data(key, impl=kind)
        return equation.primitive.impl(keys, shape, log_space=log_space)

    def plain(key: Any, shape: Any) -> Any:
        return _computed(function, [key, shape])[0]

    def forward(key: Any, shape: Any) -> Any:
        draws = plain(key, shape)
        return draws, (shape, draws)

    def backward(values: Any, cotangent: Any) -> list[Any]:
        shape, draws = values
        if log_space:
            draws = pt.maximum(pt.exp(draws), float(np.finfo(draws.dtype).tiny))
        slope = lax("random_gamma_grad", shape, draws)
        return [None, cotangent * (slope / draws if log_space else slope)]

    wrapped = pt.custom_vjp(plain)
    wrapped.defvjp(forward, backward)
    return [wrapped(*operands)]


@RULES("random_wrap", "random_unwrap")
def _same(key: Any, **_: Any) -> Any:
    """Words as keys, and keys as words."""
    return key


TAKE_KEYS.update(name for name in RULES if name.startswith("random_"))


@RULES("iota_2x32_shape")
def _counters(*, shape: tuple[int, ...], **_: Any) -> list[Any]:
    """Numbers of the elements of an array, as words of 32 bits, the high ones first."""
    counts = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return [pt.constant((counts >> np.uint64(32)).astype(np.uint32)), pt.constant(counts.astype(np.uint32))]


@RULES("threefry2x32")
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
