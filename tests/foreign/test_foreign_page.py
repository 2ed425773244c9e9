"""docs/do/foreign-models.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "foreign-models.md"


def test_the_page_on_foreign_models_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom, with the spreads that its densities have."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    assert np.allclose(found["spread"], [2.0, 0.5], rtol=0.15)
    if "in_c" in found:
        assert abs(float(found["in_c"].posterior["z"].std()) - 0.5) < 0.1
