"""A shortage of memory, with the variable that asks for most of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from consilience.errors import MemoryShortage
from consilience.ir import dimension as dims
from consilience.model.model import Model
from consilience.model.observation import slot_values


@contextmanager
def naming_the_largest(model: Model) -> Iterator[None]:
    """A MemoryError inside becomes one that names the largest variable of the model."""
    try:
        yield
    except MemoryError as error:
        _, _, _, lengths = slot_values(model)
        shapes = {name: [dims.substitute(n, lengths) for n in node.static_shape] for name, node in model.named.items()}
        sizes = {name: math.prod(n for n in shape if isinstance(n, int)) for name, shape in shapes.items()}
        if not sizes:
            raise
        largest = max(sizes, key=sizes.__getitem__)
        raise MemoryShortage(
            f"the arrays of this model do not fit into the memory; the largest variable is `{largest}` with "
            f"{sizes[largest]:,} elements per draw. ({error})"
        ) from None
