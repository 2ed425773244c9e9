"""Runs: chains on threads, their supervision, and the events they send to listeners."""

from consilience.run.events import Event, Listener, Progress, RunEnded, RunStarted
from consilience.run.result import Run
from consilience.run.supervisor import run_chains

__all__ = ["Event", "Listener", "Progress", "Run", "RunEnded", "RunStarted", "run_chains"]
