"""docs/do/for-pymc.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "for-pymc.md"

pytest.importorskip("pymc")


@pytest.mark.filterwarnings("ignore")  # PyMC's own
def test_the_page_for_libraries_on_pymc_runs(tmp_path: Path) -> None:
    """As one script, with the posterior that its first model has."""
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    try:
        # Precision 1/4 + 0 + 1 + 4; means of predictions are 4 times the slope's.
        assert found["verdict"] == "converged"
        middle = float(found["ahead"].predictions["y"].mean())
        assert abs(middle / 4 - 10.2 / 5.25) < 0.1
    finally:
        found["consilience"].for_pymc.install()
