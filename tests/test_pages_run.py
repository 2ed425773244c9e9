"""Pages of docs/do run as one script each, print what they say, and come to what they tell."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consilience.errors import ConsilienceWarning, ConvergenceWarning
from tests.pages import names_of

Names = dict[str, Any]


@pytest.mark.parametrize(
    "page", ["black-box", "gaussian-processes", "ode", "optimize", "particle-filters", "sparse", "tensor-loops"]
)
def test_a_page_prints_what_it_says(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = names_of(page, tmp_path)
    said = [line.strip() for line in re.findall(r"print\(.*\)  # (.*)$", text, re.MULTILINE)]
    assert said
    assert capsys.readouterr().out.splitlines() == said


def calibration(found: Names, _: str) -> None:
    assert found["study"].passed()
    assert found["power"].share > found["assurance"].share


def challenge(found: Names, _: str) -> None:
    """What it says of a right and of a wrong result."""
    assert not found["found"].refuted
    assert found["stuck"].status == "converged"
    assert found["wrong"].attempts[-1].attack == "more starting points"


def export(found: Names, text: str) -> None:
    """The files that it lists."""
    assert str(sorted(file.name for file in found["folder"].iterdir())) in text
    assert found["status"] == 0
    assert round(found["value"][0], 3) == -43.436


def foreign_models(found: Names, _: str) -> None:
    """The spreads that its densities have."""
    assert np.allclose(found["spread"], [2.0, 0.5], rtol=0.15)
    if "in_c" in found:
        assert abs(float(found["in_c"].posterior["z"].std()) - 0.5) < 0.1


def hierarchies(found: Names, _: str) -> None:
    """The run in its example exchanges its coordinates."""
    assert "coordinates" in found["result"].posterior.attrs["restarts"]


def inla(found: Names, _: str) -> None:
    """Effects of the size they were drawn with."""
    assert 0.5 < float(found["fit"].summary()["s"].sel(metric="mean")) < 1.1
    assert found["draws"]["posterior"]["u"].dims == ("chain", "draw", "group")


def smc(found: Names, _: str) -> None:
    """The evidence that it tells."""
    assert abs(found["evidence"].value - found["known"]["log_marginal_likelihood"]) < 0.1


def stablehlo(found: Names, _: str) -> None:
    """A slope that is zero at the most probable point."""
    np.testing.assert_allclose(found["f"](found["point"]["w"])[1], 0, atol=1e-3)


def variational(found: Names, _: str) -> None:
    assert len(found["tracker"]["mean"]) == 50


TOLD: dict[Callable[[Names, str], None], type[Warning] | None] = {
    calibration: None,
    challenge: None,
    export: None,
    foreign_models: None,
    hierarchies: ConvergenceWarning,
    inla: None,
    smc: None,
    stablehlo: None,
    variational: ConsilienceWarning,  # of noise of small batches
}
"""What must be so of the names at a page's end, and warnings that it may give."""


@pytest.mark.parametrize("told", TOLD, ids=[told.__name__ for told in TOLD])
def test_a_page_comes_to_what_it_tells(
    told: Callable[[Names, str], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        if (ignored := TOLD[told]) is not None:
            warnings.simplefilter("ignore", ignored)
        found, text = names_of(told.__name__.replace("_", "-"), tmp_path)
    told(found, text)
    assert told is not stablehlo or "stablehlo.exponential" in capsys.readouterr().out
