"""Random numbers of a chain: pure functions of (seed, chain, purpose, transition, block).

Nothing is carried from draw to draw but the transition's number, so a chain's numbers depend neither on
threads nor on chunk lengths, and a resumed chain goes on with the numbers it would have had.
"""

from __future__ import annotations

from consilience.inference.point import Point
from consilience.native.random import fold_in, random_uniform
from consilience.native.random.philox import uniforms
from consilience.native.typed_python import Array, f64, i64, native

# Purposes: each has a key of its own.
MOMENTUM = 1
TREE = 2
PATH_LENGTH = 3
PROPOSAL = 4
ACCEPTANCE = 5
SEARCH = 6
JUMP = 7
REGION = 8
GIBBS = 9
SLICE = 20
ELLIPSE = 21
ANGLE = 22
WALK = 23
WALK_ACCEPTANCE = 24
DIFFERENCE = 40
PERTURBATION = 41
SNOOKER = 42
WALKERS = 43
STRETCH = 44
REPLICAS = 45
REPLICA_ACCEPTANCE = 46
SWAP = 47
BACKFITTING = 48
RESTART = 64

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
def two_uniforms(key: i64, transition: i64, block: i64) -> tuple[f64, f64]:
    """Two independent numbers uniform on (0, 1) from one block; the first is that of `uniform`."""
    return uniforms(key, counter(transition, block), 0)


@native
def purpose_key(chain: i64, purpose: i64) -> i64:
    """Key of one purpose within the chain that has the key `chain`."""
    return fold_in(chain, purpose)


@native
def normal_vector(point: Point, purpose: i64, first: i64, target: Array[f64]) -> None:
    """Fill `target` with standard normals, one per coordinate; every block from `first` on gives two."""
    key = purpose_key(point.key, purpose)
    point.normals(key, 2 * counter(point.transition, first), target, point.dimension)


def chain_key(seed: int, chain: int) -> int:
    """Key of one chain of a run; `seed` is any 64-bit integer, `chain` counts from 0."""
    return int(fold_in(seed, chain))
