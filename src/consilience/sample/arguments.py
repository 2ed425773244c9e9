"""Arguments of the sampling functions: what a person writes enters, checked values leave."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from consilience.errors import ModelError, SamplingError
from consilience.inference import HmcKernel, Kernel, MetropolisKernel, NutsKernel

EXTRAS: Final = ("log_likelihood", "log_prior")


def seed_from(random_seed: Any) -> int:
    """A 63-bit seed from an integer, one of NumPy's sources of randomness, integers, or nothing (then a fresh one)."""
    if random_seed is None:
        return secrets.randbits(63)
    if isinstance(random_seed, np.random.RandomState):
        return int(random_seed.randint(0, 2**63 - 1, dtype=np.int64))
    if isinstance(random_seed, np.random.BitGenerator | np.random.SeedSequence):
        random_seed = np.random.default_rng(random_seed)
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if is_integer(random_seed):
        return int(random_seed) & (2**63 - 1)
    listed = list(random_seed) if isinstance(random_seed, list | tuple | np.ndarray) else []
    if listed and all(is_integer(s) and s >= 0 for s in listed):
        words = np.random.SeedSequence([int(s) for s in listed]).generate_state(1, np.uint64)
        return int(words[0]) >> 1
    raise TypeError(
        "`random_seed` must be an integer, a sequence of integers >= 0, a Generator, a RandomState or None, "
        f"got {random_seed!r}."
    )


def is_integer(value: Any) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole_number(name: str, value: Any, least: int) -> int:
    """The value as an integer; SamplingError, naming the argument, unless it is one of at least `least`."""
    if not is_integer(value) or value < least:
        raise SamplingError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)


def kernel_of(step: Any, target_accept: float, max_treedepth: int) -> Kernel:
    """The kernel to sample with; NUTS by default."""
    if step is None:
        return NutsKernel(target_accept=target_accept, max_treedepth=max_treedepth)
    if isinstance(step, NutsKernel | HmcKernel | MetropolisKernel):
        return step
    raise SamplingError(
        f"`step` must be a kernel such as pm.NUTS(), pm.HamiltonianMC() or pm.Metropolis(), got {step!r}; "
        "compound steps are not there yet."
    )


def extras(idata_kwargs: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Groups that are wanted besides those of the run: log_likelihood, log_prior."""
    given = idata_kwargs or {}
    for name in given:
        if name in ("coords", "dims"):
            raise SamplingError(f"`idata_kwargs` has no `{name}`: give them to `pm.Model(coords=…)` and to variables.")
        if name == "include_transformed" and given[name]:
            raise SamplingError("`idata_kwargs` has no `include_transformed`: results hold values on their own scales.")
    unknown = [name for name in given if name not in (*EXTRAS, "include_transformed", "save_warmup")]
    if unknown:
        raise SamplingError(f"`idata_kwargs` may hold 'log_likelihood' and 'log_prior', got {unknown}.")
    return tuple(name for name in EXTRAS if given.get(name))


def wanted(var_names: Sequence[str] | str | None, known: Sequence[str]) -> list[str]:
    """The names asked for, all known ones by default."""
    if var_names is None:
        return list(known)
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(known)}.")
    return list(dict.fromkeys(names))
