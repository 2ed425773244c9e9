"""The picture of the README: the model as code, and its posterior. `python docs/building/readme_picture.py`"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Draw it from the code of the README itself."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    space: dict[str, object] = {}
    exec(code, space)
    theta = space["result"]["posterior"]["theta"].stack(sample=("chain", "draw")).values  # type: ignore[index]
    shown = code.replace(
        ", sigma=[15, 10, 16, 11, 9, 11, 10, 18]", ",\n              sigma=[15, 10, 16, 11, 9, 11, 10, 18]"
    )
    shown = shown.replace(
        ", observed=[28, 8, -3, 7, -1, 1, 18, 12]", ",\n              observed=[28, 8, -3, 7, -1, 1, 18, 12]"
    )
    shown = "\n".join(re.sub(r"\s+#.*", "", line) for line in shown.splitlines() if not line.startswith("print"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2), width_ratios=(1.75, 1), layout="constrained")
    left.axis("off")
    left.text(0, 1, shown, family="monospace", fontsize=10.2, va="top", linespacing=1.7, color="#1b2a33")
    at = np.arange(8)
    for low, high, width in ((0.03, 0.97, 1.5), (0.25, 0.75, 5)):
        right.hlines(at, *np.quantile(theta, [low, high], axis=1), color="#17607a", lw=width)
    right.plot(theta.mean(axis=1), at, "o", color="white", mec="#17607a", ms=6)
    right.plot([28, 8, -3, 7, -1, 1, 18, 12], at, "x", color="#b5473c", ms=6, label="observed")
    right.set(yticks=at, yticklabels=list("ABCDEFGH"), xlabel="effect of coaching, points")
    right.invert_yaxis()
    right.legend(frameon=False, fontsize=8, loc="lower right")
    for side in ("top", "right", "left"):
        right.spines[side].set_visible(False)
    figure.savefig(ROOT / "docs" / "pictures" / "eight-schools.png", dpi=110)


if __name__ == "__main__":
    main()
