"""Tells listeners where the chains are, from the thread that started the run."""

from __future__ import annotations

import math

import numpy as np

from consilience.run.events import Event, Listener, Phase, Progress
from consilience.run.interrupt import StopRequest
from consilience.run.workers import Job

RECENT = 50  # transitions over which the depth of trees is averaged


class Reports:
    """The listeners of one run and what is told to them.

    Reads the rows while workers write to them: only rows of transitions that are done are read.
    """

    def __init__(self, jobs: list[Job], listeners: tuple[Listener, ...], request: StopRequest) -> None:
        self.jobs = jobs
        self.listeners = listeners
        self.request = request

    def send(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)

    def progress(self) -> None:
        """One `Progress` per chain."""
        if self.listeners:
            for job in self.jobs:
                self.send(self._progress(job))

    def _progress(self, job: Job) -> Progress:
        done = job.done  # read once: a worker may be raising it
        return Progress(
            chain=job.index,
            phase=self._phase(job, done),
            done=done,
            divergences=int(sum(self._recent(job, ("diverging",), job.tune, done))),
            step_size=self._mean(job, ("step_size", "scaling"), done - 1, done),
            tree_depth=self._mean(job, ("depth",), max(0, done - RECENT), done),
            gradients=job.chain.evaluations,
            seconds=job.seconds,
        )

    def _phase(self, job: Job, done: int) -> Phase:
        if job.failure is not None:
            return "failed"
        if job.started and done == job.rows:
            return "done"
        if self.request.made:
            return "stopped"
        if not job.started:
            return "waiting"
        return "tuning" if done < job.tune else "sampling"

    def _recent(self, job: Job, names: tuple[str, ...], begin: int, end: int) -> list[float]:
        """Transitions begin:end of the first of these statistics that the kernel has."""
        for name in names:
            if name in job.statistics and 0 <= begin < end:
                column: list[float] = job.table[job.statistics.index(name), begin:end].tolist()
                return column
        return []

    def _mean(self, job: Job, names: tuple[str, ...], begin: int, end: int) -> float:
        values = self._recent(job, names, begin, end)
        return float(np.mean(values)) if values else math.nan
