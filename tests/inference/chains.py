"""Run single chains of a kernel without threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.inference import Kernel
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.inference.streams import chain_key


@dataclass
class Finished:
    """One chain and what it wrote."""

    chain: MarkovChain
    rows: Rows
    names: tuple[str, ...]
    tune: int

    @property
    def draws(self) -> NDArray[np.float64]:
        return self.rows.draws[self.tune :]

    def statistic(self, name: str, tuning: bool = False) -> NDArray[np.float64]:
        row = self.chain.kernel.columns.table(self.rows.statistics)[self.names.index(name)]
        return np.asarray(row[: self.tune] if tuning else row[self.tune :])


def run_chain(
    kernel: Kernel,
    target: Any,
    *,
    draws: int,
    tune: int,
    seed: int = 1,
    chain: int = 0,
    start: ArrayLike | None = None,
    chunk: int | None = None,
) -> Finished:
    """Run one chain, `chunk` transitions per call; it starts at 0 unless told otherwise."""
    position = np.zeros(target.dimension) if start is None else np.asarray(start, dtype=np.float64)
    transitions = tune + draws
    rows = Rows(
        np.full((transitions, target.dimension), np.nan),
        np.zeros((transitions, len(kernel.columns.types)), np.int64),
    )
    stop = np.zeros(1, np.int64)
    one = kernel.chain(target, position, chain_key(seed, chain), tune, stop)
    one.begin()
    one.write_to(rows)
    done = 0
    while done < transitions:
        done += one.advance(min(chunk or transitions, transitions - done))
    return Finished(one, rows, tuple(kernel.columns.types), tune)
