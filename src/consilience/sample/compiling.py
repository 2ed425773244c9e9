"""What has to be compiled before a model's variables are drawn: begun ahead of its use, and what it took."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from consilience.diagnostics.compiled import library
from consilience.errors import MemoryShortage, ModelError
from consilience.inference import NUTS, Kernel
from consilience.inference.kernel import prepare
from consilience.ir import dimension as dims
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.observation import slot_values


def prepare_sampler(kernel: Kernel | None = None) -> None:
    """Begin to compile the sampler and the diagnostics; who draws from a prior is about to sample.

    With a warm cache they are loaded, in some ten milliseconds.
    """
    prepare(kernel or NUTS())
    library.prepare()


def compiled(model: Model) -> tuple[ModelDensity, float]:
    """The density of a model and the seconds until it was there; ModelError where there is nothing to infer."""
    began = time.perf_counter()
    with naming_the_largest(model):
        density = model_density(model)
    if not density.dimension:
        raise ModelError(
            f"the free variables have no elements ({', '.join(f'`{v.name}`' for v in model.free)}), so there is "
            "nothing to infer; check the lengths of dims and data."
        )
    return density, time.perf_counter() - began


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
