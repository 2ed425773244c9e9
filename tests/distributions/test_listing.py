"""docs/distributions.md is what the declarations say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "distributions.py"


def test_the_listing_of_formulas_is_up_to_date() -> None:
    """`python tools/distributions.py` writes it."""
    spec = importlib.util.spec_from_file_location("listing_of_distributions", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.LISTING.read_text(encoding="utf-8") == tool.listing()
