"""docs/do/from-torch.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "from-torch.md"


def test_the_page_on_modules_of_torch_runs(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks), encoding="utf-8")
    space = runpy.run_path(str(script), run_name="page")
    assert {"0_weight", "2_bias"} <= set(space["point"])
