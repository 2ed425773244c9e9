"""Runs: chains on threads that tune together, watch their convergence, and are looked after."""

from consilience.events import (
    ChainLost,
    ChainMoved,
    ChainProgress,
    CheckFigures,
    DrawsMade,
    Event,
    Listener,
    Progress,
    Restarted,
    RunEnded,
    RunStarted,
    WorkerNotice,
)
from consilience.run.handle import Running
from consilience.run.launch import launch, run_chains
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.result import Run

__all__ = [
    "ChainLost",
    "ChainMoved",
    "ChainProgress",
    "CheckFigures",
    "DrawsMade",
    "Event",
    "Listener",
    "Monitored",
    "Progress",
    "Restarted",
    "Run",
    "RunEnded",
    "RunPlan",
    "RunStarted",
    "Running",
    "WorkerNotice",
    "launch",
    "run_chains",
]
