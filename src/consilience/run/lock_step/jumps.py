"""Jumps of all chains between the normals of regions, traced by JAX; the law of it is in `inference.jumps`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from consilience.inference.modes.normals import RegionNormals
from consilience.run.lock_step.chees import Array, ChainStates, Density, at

PURPOSE: Final = 1  # of the random numbers of a transition


class DeviceNormals(NamedTuple):
    """Normals on the device: places (moved,), modes (region, moved), factors and their inverses (region, moved, moved).

    `shares`: logarithms (region,). `heights`: of the log densities of the normals, times their shares (region,).
    `choice`: probabilities with which a region is chosen to jump to (region,).
    """

    places: Array
    modes: Array
    factors: Array
    whitenings: Array
    shares: Array
    heights: Array
    choice: Array


def on_device(normals: RegionNormals, precision: str) -> DeviceNormals:
    """Normals as arrays of the device."""
    shares = np.log(normals.shares)
    diagonals = np.abs(np.diagonal(normals.factors, axis1=1, axis2=2))
    numbers: tuple[Any, ...] = (
        normals.modes,
        normals.factors,
        np.linalg.inv(normals.factors),
        shares,
        shares - np.log(diagonals).sum(axis=1),
        0.5 * normals.shares / normals.shares.sum() + 0.5 / normals.count,
    )
    return DeviceNormals(jnp.asarray(normals.places), *(jnp.asarray(values, precision) for values in numbers))


def jumped(logp: Density, chains: ChainStates, regions: DeviceNormals, key: Array) -> ChainStates:
    """All chains after one Metropolis step each, by the map from the region where it is likely to be to another one."""
    count, moved = len(chains.level), chains.position[:, regions.places]
    first, second, accept = jax.random.uniform(jax.random.fold_in(key, PURPOSE), (3, count), moved.dtype)
    white, before = _weighed(regions, moved)
    total = jax.scipy.special.logsumexp(before, axis=1)
    begin = _chosen(jnp.exp(before - total[:, None]), first)
    others = jnp.where(jnp.arange(len(regions.shares)) == begin[:, None], 0.0, regions.choice)
    end = _chosen(others, second)
    own = jnp.take_along_axis(white, begin[:, None, None], axis=1)[:, 0]
    places = regions.modes[end] + jnp.einsum("cij,cj->ci", regions.factors[end], own)
    there = at(logp, chains.position.at[:, regions.places].set(places))
    after = jax.scipy.special.logsumexp(_weighed(regions, places)[1], axis=1)
    way = jnp.log(regions.choice) + jnp.log1p(-regions.choice)
    ratio = there.level - chains.level + regions.shares[end] - regions.shares[begin] + total - after
    ratio = ratio + way[begin] - way[end]
    usable = jnp.isfinite(there.level) & jnp.isfinite(there.gradient).all(axis=1)
    accepted = usable & (jnp.log(accept) < ratio)
    chosen: ChainStates = jax.tree.map(
        lambda new, old: jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old), there, chains
    )
    return chosen


def _weighed(regions: DeviceNormals, moved: Array) -> tuple[Array, Array]:
    """Points (chain, moved) where each region is round (chain, region, moved), and its log density, times its share."""
    white = jnp.einsum("kij,ckj->cki", regions.whitenings, moved[:, None, :] - regions.modes)
    return white, regions.heights - 0.5 * (white**2).sum(axis=2)


def _chosen(weights: Array, uniform: Array) -> Array:
    """One of each row of weights (chain, region), by a uniform number (chain,)."""
    sums = jnp.cumsum(weights, axis=1)
    return (sums <= uniform[:, None] * sums[:, -1:]).sum(axis=1).clip(0, weights.shape[1] - 1)
