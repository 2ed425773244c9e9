"""What a program will most likely need next, begun on threads of their own while it does something else."""

from __future__ import annotations

from consilience.diagnostics.compiled import library
from consilience.inference import NUTS, Kernel
from consilience.inference.kernel import prepare


def prepare_sampler(kernel: Kernel | None = None) -> None:
    """Begin to compile the sampler and the diagnostics; who draws from a prior is about to sample.

    With a warm cache they are loaded, in some ten milliseconds.
    """
    prepare(kernel or NUTS())
    library.prepare()
