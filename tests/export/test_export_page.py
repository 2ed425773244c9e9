"""docs/do/export.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "export.md"


def test_the_page_on_exported_libraries_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom, with the files that it lists."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    assert str(sorted(file.name for file in found["folder"].iterdir())) in text
    assert found["status"] == 0
    assert round(found["value"][0], 3) == -43.436
