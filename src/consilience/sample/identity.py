"""What has to be equal for a run to be resumed with the same draws: the parts of a run enter, plain values leave."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.inference import Kernel
from consilience.native import target
from consilience.record import as_plain
from consilience.run import Options
from consilience.sample.step_methods import title


def identity(
    model_signature: Mapping[str, str], kernel: Kernel, options: Options, chains: int, seed: int
) -> dict[str, Any]:
    """What has to be equal for a run to be resumed with the same draws."""
    return {
        **model_signature,
        "kernel": json.loads(
            json.dumps([[title(type(part)), as_plain(part)] for part in kernel.parts], default=np.ndarray.tolist)
        ),
        "options": plain_options(options),
        "chains": chains,
        "seed": seed,
        "version": importlib.metadata.version("consilience"),
        "vector_lanes": target.host().lanes,
    }


def plain_options(options: Options) -> dict[str, Any]:
    """Options as numbers and text; `options_from` has them back."""
    plain: dict[str, Any] = json.loads(json.dumps(as_plain(options)))
    return plain


def options_from(plain: Mapping[str, Any]) -> Options:
    """Options as `identity` has them."""
    return Options(**{**plain, "rule": StoppingRule(**plain["rule"])})
