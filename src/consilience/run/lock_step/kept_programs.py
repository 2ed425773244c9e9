"""What JAX compiles, kept where machine code is kept: a program that is there need not be compiled by the next process.

A function of arrays enters; the same function leaves, compiled for the arguments that it is called with. Programs that
call back into this process are compiled anew in each.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from typing import Any, Final

import jax
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from consilience.native import cache
from consilience.native.target import host

LARGEST: Final = 1 << 25  # bytes of a program that is kept: data of the model are a part of it
CALLS_BACK: Final = "callback"  # in the name of what a program calls in this process
REFUSALS: Final = (ValueError, TypeError, RuntimeError, NotImplementedError, EOFError, pickle.PickleError)


class KeptProgram:
    """A function of arrays, compiled by JAX once for each form of its arguments, or found compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = jax.jit(function)
        self._compiled: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        device = jax.config.jax_default_device or jax.devices()[0]
        form = (tree, device, *map(jax.typeof, leaves))
        compiled = self._compiled.get(form)
        if compiled is None:
            compiled = self._compiled[form] = _ready(self._function.lower(*arguments), device)
        return compiled(*arguments)


def _ready(lowered: Any, device: Any) -> Any:
    """The program, loaded from the cache or compiled and kept there."""
    text = lowered.as_text()
    if CALLS_BACK in text:
        return lowered.compile()
    digest = _digest(text, device)
    payload = cache.get(digest)
    if payload is not None:
        try:
            tree = jax.tree.structure(lowered.args_info)
            return deserialize_and_load(payload, tree, lowered.out_tree, device.client, [device])
        except REFUSALS:  # it is as if it were not there
            pass
    compiled = lowered.compile()
    try:
        payload = serialize(compiled)[0]
    except REFUSALS:  # a device whose programs cannot be kept
        return compiled
    if len(payload) <= LARGEST:
        cache.put(digest, payload)
    return compiled


def _digest(text: str, device: Any) -> str:
    """SHA-256, in hexadecimal, of all that a compiled program depends on."""
    own = host()
    where = (device.platform, device.device_kind, device.id, getattr(device.client, "platform_version", ""))
    here = (own.triple, own.cpu, own.features, os.cpu_count(), os.environ.get("XLA_FLAGS", ""))
    state = hashlib.sha256("\0".join(map(str, ("jax", jax.__version__, jax.lib.__version__, *where, *here))).encode())
    state.update(text.encode())
    return state.hexdigest()
