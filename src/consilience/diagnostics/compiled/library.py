"""The machine code of the diagnostics, its memory, and the table that it makes of draws."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.compiled.columns import WIDTH, describe
from consilience.diagnostics.compiled.series import LAGS, PADDING, TURNS, Plan, Workspace, lay_out
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.typed_python import address
from consilience.native.typed_python.library import compile_native
from consilience.native.typed_python.records import with_memory

FloatArray = npt.NDArray[np.float64]
Part = Literal["statistics", "errors", "ranks"]

PARTS: Final[dict[Part, tuple[str, ...]]] = {
    "statistics": ("mean", "sd", "lower", "upper"),
    "errors": ("mcse_mean", "mcse_sd"),
    "ranks": ("ess_bulk", "ess_tail", "r_hat"),
}
FEWEST_DRAWS = 4
MOST_DRAWS = (1 << 31) - 1  # of all chains: positions are int32


def prepare() -> Beside[dict[str, Callable[..., Any]]]:
    """Begin to compile the functions beside what the caller does next."""
    return WORKSHOP.begin("diagnostics", _compiled)


def _compiled() -> dict[str, Callable[..., Any]]:
    word, place, real = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
    library = compile_native([lay_out, describe])
    return {
        "lay_out": library.function("lay_out", None, place),
        "describe": library.function("describe", word, place, word, place, place, real, *(word,) * 4, real, place),
    }


def plan_for(chains: int, draws: int) -> Plan:
    """A plan with its memory, to be laid out."""
    half = draws // 2
    size = draws * chains
    return with_memory(
        Plan,
        chains=chains,
        draws=draws,
        half=half,
        stride=half + PADDING + (-half) % TURNS,
        total=2 * chains * half,
        place=size,
        scores=2 * size,
    )


def workspace_for(chains: int, draws: int) -> Workspace:
    """Memory to examine one parameter of so many draws in."""
    size = draws * chains
    return with_memory(
        Workspace,
        row=size,
        order=size,
        ascending=size,
        halves_order=size,
        halves_ascending=size,
        folded_order=size,
        folded=size,
        series=size + 2 * (PADDING + TURNS) * chains,
        means=2 * chains,
        covariance=draws + 2 * LAGS,
        lags=0,
        within=0.0,
        between=0.0,
        keys=size,
        places=size,
        other=size,
    )


class Pass:
    """One pass over parameters with the same chains and draws; calls from several threads do not disturb each other.

    `chains`, `draws`: of every parameter, draws per chain; at least `FEWEST_DRAWS`, at most `MOST_DRAWS` in all chains.
    """

    def __init__(self, chains: int, draws: int) -> None:
        self.chains = chains
        self.draws = draws
        self._code = prepare().result()
        self._plan = plan_for(chains, draws)
        self._code["lay_out"](address(self._plan))
        self._idle: list[Workspace] = []

    def table(
        self,
        draws: FloatArray,
        parts: Collection[Part],
        *,
        highest: bool = True,
        probability: float = 0.94,
        target_rhat: float = 1.01,
    ) -> FloatArray:
        """Numbers (parameter, `WIDTH`) of draws (parameter, chain, draw) in C order; see `columns.COLUMNS`.

        NaN for what is not asked for, and for parameters whose draws are not all finite.

        `highest`: kind of the interval (highest density, or equal tails), and its probability. `probability`: kind of
        the interval (highest density, or equal tails), and its probability. `target_rhat`: R-hat above which the noise
        ratio is found; it is 0 elsewhere.
        """
        found = np.full((len(draws), WIDTH), np.nan)
        work = self._idle.pop() if self._idle else workspace_for(self.chains, self.draws)
        self._code["describe"](
            draws.ctypes.data,
            len(draws),
            address(self._plan),
            address(work),
            probability,
            highest,
            *(part in parts for part in PARTS),
            target_rhat,
            found.ctypes.data,
        )
        self._idle.append(work)
        return found
