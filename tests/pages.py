"""Pages of docs/do as scripts: the cells of one in, what they print and leave out."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs" / "do"


def script_of(page: str, folder: Path) -> tuple[Path, str]:
    """A page's cells as one file, and its text."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    script = folder / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    return script, text


def names_of(page: str, folder: Path) -> tuple[dict[str, Any], str]:
    """The names that a page's cells leave, run from top to bottom, and its text."""
    script, text = script_of(page, folder)
    return runpy.run_path(str(script), run_name="page"), text
