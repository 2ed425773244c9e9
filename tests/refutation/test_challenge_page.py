"""docs/do/challenge.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "challenge.md"


def test_the_page_on_challenges_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom, with what it says of a right and a wrong result."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    assert not found["found"].refuted
    assert found["stuck"].status == "converged"
    assert found["wrong"].attempts[-1].attack == "more starting points"
