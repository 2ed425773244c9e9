"""What a reporter asks of the events of a run: attributes, no classes, so that nothing of the run is imported.

An event is known by the attributes it has; one that has none of these sets of attributes is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class RunStarts(Protocol):
    """A run begins: tune and draws are lengths per chain, None where they are decided while running."""

    @property
    def chains(self) -> int: ...
    @property
    def tune(self) -> int | None: ...
    @property
    def draws(self) -> int | None: ...
    @property
    def target_ess(self) -> float | None: ...
    @property
    def min_draws(self) -> int: ...
    @property
    def max_draws(self) -> int: ...


class ChainState(Protocol):
    """Where one chain is.

    phase         "waiting", "tuning", "sampling", "done", "stopped" or "failed"
    done, draws   transitions made with those of tuning, and after tuning
    divergences   after tuning
    step_size     current step size; NaN if there is none
    tree_depth    mean depth of the trees of late; NaN if there are none
    gradients     evaluations of the density so far
    """

    @property
    def chain(self) -> int: ...
    @property
    def phase(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def divergences(self) -> int: ...
    @property
    def step_size(self) -> float: ...
    @property
    def tree_depth(self) -> float: ...
    @property
    def gradients(self) -> int: ...


class ProgressFigures(Protocol):
    """The worst known R-hat and effective sample size of the last check, at `draws` draws of each chain."""

    @property
    def draws(self) -> int: ...
    @property
    def rhat(self) -> float: ...
    @property
    def rhat_name(self) -> str: ...
    @property
    def ess(self) -> float: ...
    @property
    def ess_name(self) -> str: ...
    @property
    def target_ess(self) -> float | None: ...
    @property
    def target_rhat(self) -> float: ...
    @property
    def next_check(self) -> int: ...
    @property
    def passed(self) -> bool: ...


@runtime_checkable
class RunGoesOn(Protocol):
    """Where all chains are, what the last check found, the seconds since the begin, and whether the run pauses."""

    @property
    def chains(self) -> Sequence[ChainState]: ...
    @property
    def check(self) -> ProgressFigures | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def paused(self) -> bool: ...


@runtime_checkable
class RunEnds(Protocol):
    """How a run ended, with how many draws of each chain, after how many seconds."""

    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def draws(self) -> int: ...
    @property
    def seconds(self) -> float: ...


@runtime_checkable
class ChainFails(Protocol):
    """A chain is left out."""

    @property
    def chain(self) -> int: ...
    @property
    def reason(self) -> str: ...


@runtime_checkable
class RunRestarts(Protocol):
    """The draws so far are forgotten; to be asked for last, as other events have a reason too."""

    @property
    def reason(self) -> str: ...
