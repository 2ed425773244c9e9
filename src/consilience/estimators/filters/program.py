"""A graph with named outputs, compiled and run for several chains on threads: same seed, same results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.ir import Node, substitute, tensor_input
from consilience.native.threads import NativeThreads
from consilience.ops.random import fold_in
from consilience.run.threads.thread_pool import threads

Named = dict[Any, npt.NDArray[Any]]


class ChainProgram:
    """Machine code of outputs by name.

    `key`: input: a random key, which each chain has of its own. `inputs`: all others.
    """

    def __init__(self, key: Node, inputs: Sequence[Node], outputs: Mapping[Any, Node]) -> None:
        seed, chain = tensor_input("key", (), "seed"), tensor_input("int64", (), "chain")
        made = substitute(list(outputs.values()), {key: fold_in(seed, chain)})
        self._names = list(outputs)
        self._call = function([seed, chain, *inputs], made, name="filter", on_unused_input="ignore")

    def chain(self, seed: int, chain: int, given: Sequence[npt.ArrayLike]) -> Named:
        """The outputs of one chain."""
        return dict(zip(self._names, self._call(np.int64(seed), np.int64(chain), *given), strict=True))

    def chains(self, seed: int, given: Sequence[Sequence[npt.ArrayLike]], cores: int | None) -> list[Named]:
        """Those of several, each with its own inputs.

        `cores`: threads; None for all processors.
        """
        with NativeThreads(min(len(given), threads(cores)), "consilience-filters") as pool:
            runs = [pool.submit(self.chain, seed, i, own) for i, own in enumerate(given)]
            return [run.result() for run in runs]
