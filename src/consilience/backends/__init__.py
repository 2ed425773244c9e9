"""Ways to run a graph, all with the meaning of the reference backend."""

from typing import Any

from consilience import absent
from consilience.backends import pickling as pickling


def __getattr__(name: str) -> Any:
    raise AttributeError(absent.reason(f"module {__name__!r}", name, []), name=name)
