"""Ways to run a graph, all with the meaning of the reference backend."""

from typing import Any

from consilience.backends import pickling as pickling
from consilience.names import module_paths


def __getattr__(name: str) -> Any:
    return module_paths.attribute(__name__, name, [])
