"""docs/reference/distributions.md is what the declarations say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "distributions.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("listing_of_distributions", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_listing_of_formulas_is_up_to_date(tool: ModuleType) -> None:
    """`python tools/distributions.py` writes it."""
    assert tool.LISTING.read_text(encoding="utf-8") == tool.listing()


def test_every_missing_formula_is_argued(tool: ModuleType) -> None:
    """And nothing is argued away that is there."""
    assert tool.unexplained() == set()
