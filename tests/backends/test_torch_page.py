"""docs/do/torch.md runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "torch.md"


def test_the_page_on_pytorch_runs(tmp_path: Path) -> None:
    """As one script, to the gradients that it tells."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    space = runpy.run_path(str(script), run_name="page")
    np.testing.assert_allclose(space["given"].grad, 0.5)
    np.testing.assert_allclose(space["position"].grad, -6.0)
