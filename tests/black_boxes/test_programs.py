"""Black boxes in other people's idioms have the log density and the gradient that real PyMC gives them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.black_boxes.programs import NAMES, RECORDED, measured, run

WANTED: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))


def test_every_program_is_recorded() -> None:
    """And nothing else."""
    assert sorted(WANTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_density_and_gradient_are_those_of_pymc(name: str) -> None:
    """At three points; where PyMC has no gradient, there is none."""
    space = run(name, "consilience")
    tolerance = space.get("TOLERANCE", 1e-9)
    places = [record["point"] for record in WANTED[name]]
    assert list(space["model"].initial_point()) == list(places[0])
    for ours, wanted in zip(measured(space["model"], places), WANTED[name], strict=True):
        assert ours["logp"] == pytest.approx(wanted["logp"], rel=tolerance)
        assert (ours["slope"] is None) == (wanted["slope"] is None)
        if wanted["slope"] is not None:
            scale = np.max(np.abs(wanted["slope"]))
            np.testing.assert_allclose(ours["slope"], wanted["slope"], rtol=tolerance, atol=tolerance * scale)
