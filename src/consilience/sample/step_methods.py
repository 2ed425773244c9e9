"""Which step method moves which variables: a model and what the user asks for enter, one kernel leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience import inference
from consilience.errors import SamplingError
from consilience.inference import NUTS, Kernel
from consilience.model.model import Model


def assigned(model: Model, step: Any, default: NUTS) -> Kernel:
    """The kernel to sample with."""
    if step is None:
        return default
    if isinstance(step, Kernel):
        return step
    raise SamplingError(f"`step` must be a step method such as pm.NUTS() or pm.Metropolis(), got {step!r}.")


def kernel_from(plain: Sequence[Any]) -> Kernel:
    """A kernel as `work.identity` has it."""
    ((name, settings),) = plain
    return getattr(inference, name)(**{k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()})
