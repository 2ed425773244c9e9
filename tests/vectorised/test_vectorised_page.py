"""docs/do/vectorised-chains.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "vectorised-chains.md"


def test_the_page_on_vectorised_chains_runs(tmp_path: Path) -> None:
    """As one script, from top to bottom; the draws named as equal are equal."""
    jax = pytest.importorskip("jax")
    text = PAGE.read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8"
    )
    found = runpy.run_path(str(script), run_name="page")
    if jax.default_backend() == "cpu":
        np.testing.assert_array_equal(found["same"].posterior["mu"], found["result"].posterior["mu"])
