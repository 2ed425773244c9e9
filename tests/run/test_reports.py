"""Where a chain is said to be between two pieces of work."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from consilience.inference.columns import Columns
from consilience.run.threads.reports import state


@pytest.mark.parametrize("phase", ["tuning", "sampling"])
@pytest.mark.parametrize("ready", [False, True])
def test_a_chain_that_is_asked_for_draws_no_longer_tunes(phase: str, ready: bool) -> None:
    worker = SimpleNamespace(
        segment=SimpleNamespace(phase=phase), rows=None, done=0, ready=ready, index=0, total=50, after=(50,),
        lost=False, number=3, evaluations=0, seconds=0.0,
    )  # fmt: skip
    told = state(worker, Columns({"depth": "int64"}, {}), 400, None, {}, False, False)  # type: ignore[arg-type]
    assert (told.phase, told.draws) == (phase, 400)
