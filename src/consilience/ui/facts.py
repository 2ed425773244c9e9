"""What is said about a run: an overview enters, facts leave, the most important first, and as many as there is room.

A fact has several forms, the longest first, so that a short one can take its place where there is little room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from consilience.ui.overview import Overview
from consilience.ui.words import abridged, cells, clock, counted, crop, duration, ratio, short, size

Tone: TypeAlias = Literal["", "good", "bad"]

BETWEEN = " · "
"""Between facts on screens; logs have commas."""

ROOM_FOR_NAMES = (24, 12)
"""Columns for the name of a variable, where there is much room and where there is little."""

ROOM_WITHOUT_LIMIT = (80,)
"""The same where lines may have any length."""

NOT_A_LIMIT = 10**9
"""Room where a line may have any length."""

ENDS = {
    "converged": "Converged",
    "converged_with_divergences": "Converged, with divergences",
    "not_converged": "Not converged",
    "chains_disagree": "Chains disagree",
    "interrupted": "Interrupted",
    "completed": "Sampled",
}
"""First words of the last line, by status."""

SILENT_ENDS = ("converged", "completed")
"""Ends that need no reason."""

STAGES = {
    "starting": "Starting",
    "tuning": "Tuning",
    "retuning": "Retuning",
    "sampling": "Sampling",
    "paused": "Paused",
}


class Fact(NamedTuple):
    """Something to say in one of several forms, the longest first; good, bad or neither.

    vital: whether its shortest form has precedence over long forms of the facts before it
    """

    forms: tuple[str, ...]
    tone: Tone = ""
    vital: bool = False


def headline(now: Overview) -> list[Fact]:
    """What goes on, how far it is, and the time."""
    facts = [activity(now)]
    if now.stage != "starting":
        facts.append(length(now))
    passed = clock(now.seconds)
    if now.remaining is None:
        facts.append(Fact((passed,), vital=True))
    else:
        left = f"{clock(now.remaining)} left"
        facts.append(Fact((f"{passed}, {left}", left), vital=True))
    return facts


def activity(now: Overview) -> Fact:
    """What goes on, and in how many chains."""
    word = STAGES[now.stage]
    separator = ":" if now.stage == "paused" else ""
    return Fact((f"{word}{separator} {counted(now.chains, 'chain')}", word), vital=True)


def length(now: Overview) -> Fact:
    """How far each chain is, and how far it is to go as far as known."""
    return Fact(forms_of_length(now), vital=True)


def forms_of_length(now: Overview) -> tuple[str, ...]:
    """The same as text, where there is room and where there is little."""
    if not now.draws and now.tuning_steps is not None and now.stage != "sampling":
        if now.tune is None:
            return (counted(now.tuning_steps, "step"),)
        return (f"{now.tuning_steps}/{now.tune} steps",)
    if now.total is not None:
        return (f"{now.draws}/{now.total} draws",)
    draws = counted(now.draws, "draw")
    if now.next_check is None:
        return (draws,)
    check = "checking" if now.draws >= now.next_check else f"check at {now.next_check}"
    return (f"{draws}, {check}", draws)


def figures(now: Overview, room_for_names: Sequence[int] = ROOM_FOR_NAMES) -> list[Fact]:
    """All that matters beside how far the run is, the most important first."""
    return [*trust(now, room_for_names), *work(now)]


def trust(now: Overview, room_for_names: Sequence[int]) -> list[Fact]:
    """What tells whether the draws can be trusted."""
    facts = []
    number = counted(now.divergences, "divergence")
    if now.divergences:
        facts.append(Fact((number, f"{now.divergences} div."), "bad", vital=True))
    if (worst := now.worst) is not None:
        good = worst.rhat <= worst.target_rhat
        forms = with_name(f"R-hat {ratio(worst.rhat)}", worst.rhat_name, room_for_names)
        facts.append(Fact(forms, "good" if good else "", vital=True))
        good = worst.ess >= worst.target_ess
        target = "" if math.isnan(worst.target_ess) else f"/{size(worst.target_ess)}"
        forms = with_name(f"ESS {size(worst.ess)}{target}", worst.ess_name, room_for_names)
        facts.append(Fact(forms, "good" if good else "", vital=True))
    if now.lost:
        facts.append(Fact((f"{now.lost} of {counted(now.chains, 'chain')} left out", f"{now.lost} left out"), "bad"))
    if not now.divergences and now.draws:
        facts.append(Fact((number,)))
    return facts


def work(now: Overview) -> list[Fact]:
    """What tells how hard the chains work."""
    facts = []
    if now.gradient_rate > 0:
        rate = short(now.gradient_rate)
        facts.append(Fact((f"{rate} gradients/s", f"{rate} grad/s")))
    if not math.isnan(now.step_size):
        facts.append(Fact((f"step size {now.step_size:.3g}",)))
    if not math.isnan(now.tree_depth):
        facts.append(Fact((f"tree depth {now.tree_depth:.1f}",)))
    return facts


def ending(now: Overview, room_for_names: Sequence[int] = ROOM_FOR_NAMES) -> list[Fact]:
    """How the run ended, for a last line; its reason is not among it."""
    end = ENDS.get(now.status, now.status.replace("_", " ").capitalize())
    took = f"in {duration(now.seconds)}"
    made = f"{now.chains - now.lost} × {counted(now.draws, 'draw')}"
    head = Fact((f"{end}: {made} {took}", f"{end}: {made}", f"{end} {took}", end), vital=True)
    tuned = [Fact((f"{now.tuning_steps} tuning steps",))] if now.tuning_steps else []
    return [head, *trust(now, room_for_names), *tuned, *work(now)]


def with_name(text: str, name: str, room_for_names: Sequence[int]) -> tuple[str, ...]:
    """Forms of a figure that belongs to a variable."""
    if not name:
        return (text,)
    return (*dict.fromkeys(f"{text} {abridged(name, room)}" for room in room_for_names), text)


def fit(facts: Sequence[Fact], room: int, between: str = BETWEEN) -> list[tuple[str, Tone]]:
    """The facts that have room, each in the longest form that has once the vital ones after it are in.

    room     columns for all of them
    between  what will stand between them
    returns  texts with their tones; at least the first fact, cropped if need be
    """
    gap = cells(between)
    left = room + gap
    needs = []  # columns for the shortest forms of the vital facts that have room
    for fact in facts:
        need = cells(fact.forms[-1]) + gap
        needs.append(need if fact.vital and need <= left else 0)
        left -= needs[-1]
    chosen: list[tuple[str, Tone]] = []
    for fact, need in zip(facts, needs, strict=True):
        for form in fact.forms:
            if cells(form) + gap <= left + need:
                chosen.append((form, fact.tone))
                left += need - cells(form) - gap
                break
        else:
            if not chosen:
                return [(crop(fact.forms[-1], room), fact.tone)]
    return chosen


def sentence(facts: Sequence[Fact], room: int = NOT_A_LIMIT, between: str = ", ") -> str:
    """The facts that have room as one text."""
    return between.join(text for text, _ in fit(facts, room, between))


def line(now: Overview) -> str:
    """The state of a run as one line of any length, for logs."""
    what, *others = headline(now)
    return f"{what.forms[0]}: {sentence([*others[:-1], *figures(now, ROOM_WITHOUT_LIMIT), *others[-1:]])}"


def last_line(now: Overview) -> str:
    """The end of a run as one line of any length, for logs."""
    reason = last_reason(now)
    return sentence(ending(now, ROOM_WITHOUT_LIMIT)) + (f" ({reason})" if reason else "")


def last_reason(now: Overview) -> str:
    """The reason of an end that is not the one wished for; empty for others."""
    return "" if now.status in SILENT_ENDS else now.reason
