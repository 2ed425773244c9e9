"""docs/do/smc.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "smc.md"


def test_the_page_on_sequential_monte_carlo_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom, with the evidence that it tells."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    assert abs(found["evidence"].value - found["known"]["log_marginal_likelihood"]) < 0.1
