"""Runs: chains on threads that tune together, watch their convergence, and are looked after."""

from consilience.events import (
    ChainLost,
    ChainProgress,
    CheckFigures,
    DrawsMade,
    Event,
    Listener,
    Progress,
    Restarted,
    RunEnded,
    RunStarted,
)
from consilience.run.launch import launch, run_chains
from consilience.run.monitor import Monitored
from consilience.run.options import Options
from consilience.run.result import Run
from consilience.run.running import Running

__all__ = [
    "ChainLost",
    "ChainProgress",
    "CheckFigures",
    "DrawsMade",
    "Event",
    "Listener",
    "Monitored",
    "Options",
    "Progress",
    "Restarted",
    "Run",
    "RunEnded",
    "RunStarted",
    "Running",
    "launch",
    "run_chains",
]
