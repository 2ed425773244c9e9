"""The notebooks of `examples`, written from the scripts beside them, which are the one source.

    python tools/notebooks.py            # writes all notebooks

A script consists of cells that begin with `# %%`. A cell marked `[markdown]` is text behind `# `; one with
`tags=["script"]` belongs to the script alone; the others are code. What stands above the first cell stays out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)
FORM = {
    "metadata": {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    },
    "nbformat": 4,
    "nbformat_minor": 5,
}


def scripts() -> list[Path]:
    """Scripts that consist of cells."""
    return sorted(path for path in EXAMPLES.glob("*.py") if MARK.search(path.read_text(encoding="utf-8")))


def cells(script: str) -> Iterator[dict[str, Any]]:
    """Cells of the notebook, without results; identifiers are numbers, so that nothing changes by itself."""
    _, *pieces = MARK.split(script)
    for number, (kind, body) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
        text = body.strip("\n")
        if 'tags=["script"]' in kind:
            continue
        if "[markdown]" in kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.split("\n")]
            yield {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": "\n".join(lines)}
        else:
            code = {"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "source": text}
            yield code | {"execution_count": None, "outputs": []}


def notebook(script: str) -> str:
    """The text of the `.ipynb` file for the text of a script."""
    return json.dumps({"cells": list(cells(script)), **FORM}, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the notebooks of all scripts."""
    for path in scripts():
        target = path.with_suffix(".ipynb")
        target.write_text(notebook(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
