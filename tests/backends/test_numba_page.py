"""docs/do/numba.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("numba")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "numba.md"


def test_the_page_on_numba_runs(tmp_path: Path) -> None:
    """As one script, to the mode of the model."""
    script = tmp_path / "page.py"
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks), encoding="utf-8")
    space = runpy.run_path(str(script), run_name="page")
    assert abs(space["found"][0] - space["pm"].find_MAP(model=space["model"], progressbar=False)["a"]) < 1e-3
