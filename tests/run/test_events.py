"""Events of a run are what the screen expects, which knows them by their form only."""

from __future__ import annotations

import numpy as np
import pytest

from consilience import run
from consilience.ui import events

CHAIN = run.ChainProgress(0, "sampling", 60, 10, 0, 0.5, 3.0, 400, 0.1)
CHECK = run.CheckFigures(100, 1.02, "tau", 150.0, "tau", 400.0, 1.01, 126, False)


@pytest.mark.parametrize(
    ("event", "form"),
    [
        (run.RunStarted(4, 2, 10, None, None, 400.0, 100, 4000, 1500), events.RunStarts),
        (run.Progress((CHAIN,), CHECK, 0.1, False), events.RunGoesOn),
        (run.Restarted("divergences"), events.RunRestarts),
        (run.ChainLost(2, "it raised"), events.ChainFails),
        (run.RunEnded("converged", "", 196, 0.2), events.RunEnds),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_event_has_the_form_that_the_screen_knows(event: object, form: type) -> None:
    """And no other one."""
    kinds = [events.RunStarts, events.RunGoesOn, events.RunEnds, events.ChainFails, events.RunRestarts]
    assert next(kind for kind in kinds if isinstance(event, kind)) is form


@pytest.mark.parametrize(("part", "form"), [(CHAIN, events.ChainState), (CHECK, events.ProgressFigures)])
def test_its_parts_have_the_fields_that_the_screen_reads(part: object, form: type) -> None:
    """Every property of the form is there."""
    wanted = [name for name, member in vars(form).items() if isinstance(member, property)]
    assert wanted
    assert [name for name in wanted if not hasattr(part, name)] == []


def test_draws_are_no_business_of_the_screen() -> None:
    """They pass it by."""
    event = run.DrawsMade(0, np.zeros((1, 1, 1)), {})
    assert not isinstance(event, events.RunStarts | events.RunGoesOn | events.RunEnds | events.ChainFails)
