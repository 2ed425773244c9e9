"""docs/do/inla.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "inla.md"


def test_the_page_on_latent_normal_models_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom, with effects of the size they were drawn with."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    assert 0.5 < float(found["fit"].summary()["s"].sel(metric="mean")) < 1.1
    assert found["draws"]["posterior"]["u"].dims == ("chain", "draw", "group")
