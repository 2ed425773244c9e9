"""docs/do/from-jax.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("numpyro")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "from-jax.md"


def test_the_page_on_functions_of_jax_runs(tmp_path: Path) -> None:
    """As one script, to a posterior that is that of eight schools."""
    script = tmp_path / "page.py"
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks), encoding="utf-8")
    space = runpy.run_path(str(script), run_name="page")
    assert space["result"].status == "converged"
    assert abs(float(space["result"].posterior["mu"].mean()) - 4.4) < 0.5
