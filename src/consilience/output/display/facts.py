"""What is said about a run: its state enters, facts leave, the most important first; the last make way for room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from consilience.output.display.state import State, mean
from consilience.output.display.words import abridged, clock, counted, duration, plain, ratio, short, size

Tone: TypeAlias = Literal["", "good", "bad"]

BETWEEN = " · "
"""Between facts on screens; logs have commas."""

ROOM_FOR_NAMES = 16
"""Columns for the name of a variable where lines are as long as the terminal is wide."""

LONGEST = 200
"""Letters of names and reasons that are shown at most."""

ENDS = {"converged_with_divergences": "Converged, with divergences", "completed": "Sampled"}
"""First words of the last line where they are not those of the status."""

SILENT_ENDS = ("converged", "completed")
"""Ends that need no reason."""


class Fact(NamedTuple):
    """Something to say; good, bad or neither."""

    text: str
    tone: Tone = ""


def headline(state: State) -> list[str]:
    """What goes on, how far it is, and the time."""
    what = f"{state.stage.capitalize()}{':' if state.stage == 'paused' else ''} {counted(state.run.chains, 'chain')}"
    time = clock(state.seconds)
    if state.remaining is not None:
        time += f", {clock(state.remaining)} left"
    return [what, time] if state.stage == "starting" else [what, length(state), time]


def length(state: State) -> str:
    """How far each chain is, and how far it is to go as far as known."""
    if not state.draws and state.tuning_steps is not None and state.stage != "sampling":
        return counted(state.tuning_steps, "step") if state.tune is None else f"{state.tuning_steps}/{state.tune} steps"
    if state.next_check is None:
        return f"{state.draws}/{state.total} draws"
    if state.draws >= state.next_check:
        return f"{counted(state.draws, 'draw')}, checking"
    wanted = state.draws_wanted
    if wanted is None or wanted <= state.next_check:
        return f"{counted(state.draws, 'draw')}, check at {state.next_check}"
    return f"{state.draws} of about {short(wanted)} draws"


def figures(state: State, room_for_names: int = LONGEST) -> list[Fact]:
    """What tells whether the draws can be trusted, and then how hard the chains work."""
    facts = []
    divergences = counted(state.divergences, "divergence")
    if state.divergences:
        facts.append(Fact(divergences, "bad"))
    if (check := state.check) is not None:
        good = check.passed or check.rhat <= check.target_rhat
        name = abridged(plain(check.rhat_name), room_for_names)
        facts.append(Fact(f"R-hat {ratio(check.rhat)} {name}".rstrip(), "good" if good else ""))
        target = "" if check.target_ess is None else f"/{size(check.target_ess)}"
        good = check.target_ess is not None and check.ess >= check.target_ess
        name = abridged(plain(check.ess_name), room_for_names)
        facts.append(Fact(f"ESS {size(check.ess)}{target} {name}".rstrip(), "good" if good else ""))
    if state.lost:
        facts.append(Fact(f"{state.lost} of {counted(state.run.chains, 'chain')} left out", "bad"))
    if not state.divergences and state.draws:
        facts.append(Fact(divergences))
    if state.end is not None and state.tuning_steps:
        facts.append(Fact(f"{state.tuning_steps} tuning steps"))
    if state.gradient_rate > 0:
        facts.append(Fact(f"{short(state.gradient_rate)} gradients/s"))
    if not math.isnan(step_size := mean(chain.step_size for chain in state.alive)):
        facts.append(Fact(f"step size {step_size:.3g}"))
    if not math.isnan(depth := mean(chain.tree_depth for chain in state.alive)):
        facts.append(Fact(f"tree depth {depth:.1f}"))
    return facts


def ending(state: State) -> tuple[str, str, str]:
    """How the run ended, what it made, and the reason of an end that is not the one wished for."""
    assert state.end is not None
    status = state.end.status
    made = f"{state.run.chains - state.lost} × {counted(state.draws, 'draw')} in {duration(state.seconds)}"
    reason = "" if status in SILENT_ENDS else plain(state.end.reason)[:LONGEST]
    return ENDS.get(status, status.replace("_", " ").capitalize()), made, reason


def line(state: State) -> str:
    """The state of a run, or its end, as one line of any length, for logs."""
    said = [fact.text for fact in figures(state)]
    if state.end is not None:
        end, made, reason = ending(state)
        return f"{end}: {', '.join([made, *said])}" + (f" ({reason})" if reason else "")
    what, *others, time = headline(state)
    return f"{what}: {', '.join([*others, *said, time])}"


def fit(facts: Sequence[Fact], room: int) -> list[Fact]:
    """As many of the first facts as have room beside each other, in columns; at least one."""
    for number in range(len(facts), 1, -1):
        if len(BETWEEN.join(fact.text for fact in facts[:number])) <= room:
            return list(facts[:number])
    return list(facts[:1])
