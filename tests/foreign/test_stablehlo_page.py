"""docs/do/stablehlo.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "stablehlo.md"


def test_the_page_on_stablehlo_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one script, to a slope that is zero at the most probable point."""
    script = tmp_path / "page.py"
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks), encoding="utf-8")
    space = runpy.run_path(str(script), run_name="page")
    np.testing.assert_allclose(space["f"](space["point"]["w"])[1], 0, atol=1e-3)
    assert "stablehlo.exponential" in capsys.readouterr().out
