"""The table of public models: name, function, where it was published, whose data.

Each model is a function of (pm, pt, np): a PyMC-like module, its tensor module and NumPy; it gives the model. The same
source builds with PyMC and here. Data that were not published with a licence are simulated with a fixed seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

Build = Callable[[Any, Any, Any], Any]
SIMULATED: Final = "simulated here"
FOLDER: Final = Path(__file__).parent


class Published(NamedTuple):
    """One model of somebody else's, written down anew."""

    build: Build
    source: str
    data: str


MODELS: Final[dict[str, Published]] = {}


def published(source: str, data: str = SIMULATED) -> Callable[[Build], Build]:
    """Register a model with the book or example it comes from and the origin of its data."""

    def register(build: Build) -> Build:
        if build.__name__ in MODELS:
            raise KeyError(f"two public models are named `{build.__name__}`; give the second another name.")
        MODELS[build.__name__] = Published(build, source, data)
        return build

    return register


def read(name: str) -> dict[str, dict[str, Any]]:
    """Data sets of a file of `data/`, every list as an array."""
    tables = json.loads((FOLDER / "data" / f"{name}.json").read_text(encoding="utf-8"))
    return {
        key: {k: np.asarray(v) if isinstance(v, list) else v for k, v in table.items()} for key, table in tables.items()
    }
