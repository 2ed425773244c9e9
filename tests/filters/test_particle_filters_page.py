"""docs/do/particle-filters.md runs."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "particle-filters.md"


def test_the_page_on_particle_filters_prints_what_it_says(tmp_path: Path) -> None:
    """As one script, from top to bottom."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script), run_name="page")
    assert printed.getvalue().splitlines() == re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
