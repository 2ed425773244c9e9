"""Random keys. Draws themselves are rows of the scalar table: pure functions of key and counter."""

from __future__ import annotations

import operator
from typing import Final, SupportsIndex

from consilience.errors import ArgumentError, DtypeError
from consilience.ir import Node, Op, TensorType
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.shape import Iota, as_shape, reshape

MOST_KEYS: Final = 1_000_000  # that are written out, one expression each


class Key(Op):
    """The key with a fixed seed: where a stream of random numbers starts."""

    seed: int

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("key", ())


def counters(shape: object) -> Node:
    """The integers 0, 1, … laid out in a shape: one counter per element of a draw."""
    lengths = as_shape(shape)
    return reshape(Node(Iota(dims.product(lengths))), lengths)


def _key(key: TensorLike) -> TensorLike:
    """A random key, or the one that an object has as its attribute `key`."""
    return key if isinstance(key, Node) else getattr(key, "key", key)


def draw(function: str, key: TensorLike, shape: object, *parameters: TensorLike) -> Node:
    """Independent draws of a given shape; parameters broadcast against it.

    `function`: one of ops.scalar.DRAWS. `key`: a random key, or what has one as its attribute `key`; the same key gives
    the same draws.
    """
    node = as_tensor(_key(key))
    if node.dtype != "key":
        raise DtypeError(f"a random key was needed, got {describe(node)}; make one with `pt.key(seed)`.")
    return apply(function, node, counters(shape), *parameters)


def fold_in(key: TensorLike, data: TensorLike) -> Node:
    """A new key from a key and an integer; different integers give independent streams.

    key: Random key, of `pt.key(seed)`.
    data: Number, or numbers, that make the new key.
    Returns: A random key.
    See split: Several keys from one.
    See key: A key from a seed.
    >>> keys = [pt.random.fold_in(pt.key(1), number) for number in (0, 1)]
    >>> first, second = (pt.random.normal(rng=key).eval() for key in keys)
    >>> bool(first != second)
    True
    """
    return apply("fold_in", _key(key), data)


def split(key: TensorLike, number: int) -> list[Node]:
    """Several independent keys from one.

    key: Random key, of `pt.key(seed)`.
    number: Number of keys.
    Returns: `number` random keys.
    See fold_in: One key from a key and a number.
    >>> first, second = pt.random.split(pt.key(1), 2)
    >>> bool(pt.random.normal(rng=first).eval() != pt.random.normal(rng=second).eval())
    True
    """
    if not isinstance(number, SupportsIndex) or not 0 <= operator.index(number) <= MOST_KEYS:
        raise ArgumentError(
            f"`split`: `number` must be a whole number from 0 to {MOST_KEYS:,}, got {number!r}; `fold_in(key, i)` in a "
            "loop or a `vmap` makes as many keys as you like."
        )
    return [fold_in(key, i) for i in range(number)]
