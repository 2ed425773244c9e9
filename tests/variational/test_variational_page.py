"""docs/do/variational.md runs."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

from consilience.errors import ConsilienceWarning

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "variational.md"


def test_the_page_on_variational_inference_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom; noise of small batches may be told."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        found = runpy.run_path(str(script), run_name="page")
    assert len(found["tracker"]["mean"]) == 50
