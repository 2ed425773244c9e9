"""Where the time of a program went: the attributes of a result enter, one line leaves."""

from __future__ import annotations

from collections.abc import Mapping

from consilience.output.display.words import duration

STAGES = ("build", "compile", "warmup", "sampling", "deterministics")
"""Stages of a run, one after the other; checks are part of warmup and sampling."""


def time_line(attributes: Mapping[str, object], total: float | None = None, rest: str = "other") -> str:
    """One line such as `time: build 12 ms, sampling 0.40 s, other 0.21 s of 0.62 s`; its parts sum to the total.

    `attributes`: those of a result, `time_build` and so on in seconds. `total`: seconds of the whole program; the sum
    of the stages if None, or if that is more. `rest`: what to call the seconds of the whole that belong to no stage.
    """
    seconds = [(stage, attributes.get(f"time_{stage}")) for stage in STAGES]
    parts = [(stage, float(value)) for stage, value in seconds if isinstance(value, int | float)]
    whole = sum(value for _, value in parts)
    if total is not None and total > whole:
        parts.append((rest, total - whole))
        whole = total
    shown = ", ".join(f"{stage} {duration(value)}" for stage, value in parts)
    return f"time: {shown or 'nothing measured'} of {duration(whole)}"
