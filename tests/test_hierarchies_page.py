"""docs/do/hierarchies.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "do" / "hierarchies.md"


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_the_page_on_hierarchies_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom; the run in its example exchanges its coordinates."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks), encoding="utf-8")
    found = runpy.run_path(str(script), run_name="page")
    assert "coordinates" in found["result"].posterior.attrs["restarts"]
