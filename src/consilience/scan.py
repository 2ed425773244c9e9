"""Loops as PyTensor's module has them: `consilience.scan(fn, …)`, and what belongs to it by name."""

from collections.abc import Sequence

from consilience.first_use import load_on_use

__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path

load_on_use(
    __name__,
    {
        "tensor.loops": "foldl foldr map reduce scan until while_loop",
    },
    public=True,
    called="tensor.loops:scan",
)
