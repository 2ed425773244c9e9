"""The pages on tensors run, and print what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "do"


@pytest.mark.parametrize("page", ["tensor-loops", "optimize", "black-box"])
def test_a_page_runs(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one script, from top to bottom."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    runpy.run_path(str(script), run_name="page")
    said = [line.strip() for line in re.findall(r"print\(.*\)  # (.*)$", text, re.MULTILINE)]
    assert capsys.readouterr().out.splitlines() == said
