"""Python's collector of cycles, paused while many objects are made that stay.

Graphs are trees of small objects that all stay alive until they are compiled, and large libraries make as many while
they load. The collector would walk through them again and again and find nothing, a sixth of the time for a thousand
terms.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect no cycles inside the block. Blocks may nest, and overlap in threads: the last state is the first."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
