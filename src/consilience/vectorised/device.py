"""JAX for the chains: a device by name, and a precision that holds inside a block only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from consilience.errors import SamplingError


def device_of(name: Any = None) -> Any:
    """A device of JAX by its name, "cpu", "gpu" or "gpu:1"; JAX's first by default, an accelerator where there is one.

    raises   SamplingError that names the devices there are
    """
    if isinstance(name, jax.Device):
        return name
    present = list(jax.devices()) + [d for d in jax.devices("cpu") if d.platform != jax.devices()[0].platform]
    if name is None:
        return present[0]
    platform, _, number = str(name).partition(":")
    own = [d for d in present if platform in (d.platform, getattr(d.client, "platform_version", "").split(" ")[0])]
    if not own or (number and not number.isdecimal()) or int(number or 0) >= len(own):
        there = ", ".join(f"{d.platform}:{d.id}" for d in present)
        raise SamplingError(f"`device` is {name!r}, and the devices that JAX finds here are {there}.")
    return own[int(number or 0)]


@contextmanager
def on(device: Any, precision: str) -> Iterator[None]:
    """Arrays are made on the device, in "float64" or "float32", whatever JAX's settings are outside the block."""
    with jax.enable_x64(precision == "float64"), jax.default_device(device):
        yield
