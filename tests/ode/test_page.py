"""docs/do/ode.md runs, and prints what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "ode.md"


def test_the_page_on_differential_equations_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one script, from top to bottom."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    runpy.run_path(str(script), run_name="page")
    said = [line.strip() for line in re.findall(r"print\(.*\)  # (.*)$", text, re.MULTILINE)]
    assert capsys.readouterr().out.splitlines() == said
