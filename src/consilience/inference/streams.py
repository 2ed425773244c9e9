"""Random numbers of a chain: pure functions of (seed, chain, purpose, transition, block).

Nothing is carried from draw to draw but the transition's number, so a chain's numbers depend neither on
threads nor on chunk lengths, and a resumed chain goes on with the numbers it would have had.
"""

from __future__ import annotations

from consilience.inference.normal_numbers import normal_numbers
from consilience.native.random import fold_in, random_uniform
from consilience.native.typed_python import Array, f64, i64, native

# Purposes: each has a key of its own.
MOMENTUM = 1
DIRECTION = 2
SELECTION = 3
PATH_LENGTH = 4
PROPOSAL = 5
ACCEPTANCE = 6
SEARCH = 7

BLOCK_BITS = 32  # a transition owns 2**32 blocks, a chain 2**31 transitions


@native
def counter(transition: i64, block: i64) -> i64:
    """The counter of one block of random numbers of one transition."""
    return (transition << BLOCK_BITS) | block


@native
def uniform(key: i64, transition: i64, block: i64) -> f64:
    """One number uniform on (0, 1)."""
    return random_uniform(key, counter(transition, block))


@native
def normal_vector(key: i64, transition: i64, first: i64, target: Array[f64], length: i64) -> None:
    """Fill target[:length] with independent standard normals, two from every block from `first` on."""
    normal_numbers(key, counter(transition, first), target, length)


@native
def purpose_key(chain: i64, purpose: i64) -> i64:
    """Key of one purpose within the chain that has the key `chain`."""
    return fold_in(chain, purpose)


def chain_key(seed: int, chain: int) -> int:
    """Key of one chain of a run; `seed` is any 64-bit integer, `chain` counts from 0."""
    return int(fold_in(seed, chain))
