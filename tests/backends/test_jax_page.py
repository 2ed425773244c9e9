"""docs/do/jax.md runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "jax.md"


def test_the_page_on_jax_runs(tmp_path: Path) -> None:
    """As one script, in a process of its own: it switches JAX's precision on for all of it."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "-43.436 1.0" in done.stdout
