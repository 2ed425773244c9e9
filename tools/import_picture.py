"""Writes the picture of packages in CONTRIBUTING.md from the import statements. `python tools/import_picture.py`

In: the packages with the first sentence of their headers, their import statements, the ladder of pyproject.toml. Out: a
drawing with an arrow from each package to those it stands on, and a table of them from top to bottom.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src" / "consilience"
PAGE: Final = ROOT / "CONTRIBUTING.md"
BEGIN: Final = "<!-- packages: written by tools/import_picture.py -->"
END: Final = "<!-- end of packages -->"


def ladder() -> list[list[str]]:
    """Packages by row of the ladder, top first, each row as pyproject.toml has it; of both trunks."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rows: list[list[str]] = []
    for contract in contracts:
        if contract["id"] in ("compiler", "sampler"):
            rows += [re.findall(r"\w+", row) for row in contract["layers"]]
    return rows


def packages() -> dict[str, str]:
    """Packages by name, with the first sentence of their headers."""
    found = {}
    for header in sorted(SOURCE.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(header.read_text("utf-8"))) or ""
        found[header.parent.name] = text.split("\n\n")[0].replace("\n", " ").rstrip(".")
    return found


def stands_on(names: set[str]) -> dict[str, set[str]]:
    """The packages that each package imports at any depth of its text."""
    edges: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        for path in (SOURCE / name).rglob("*.py"):
            imported = re.findall(r"^\s*(?:from|import) consilience\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
            edges[name] |= {other for other in imported if other in names and other != name}
    return edges


def direct(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Edges that no path of others replaces; the graph has no cycles."""
    below: dict[str, set[str]] = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = edges[name].union(*(reach(other) for other in edges[name]))
        return below[name]

    return {
        name: {other for other in others if not any(other in reach(between) for between in others - {other})}
        for name, others in edges.items()
    }


def picture() -> str:
    """The drawing and the table, as text."""
    headers = packages()
    edges = stands_on(set(headers))
    order = [name for row in ladder() for name in row if name in headers]
    order = sorted(set(order), key=order.index)
    unplaced = set(headers) - set(order)
    if unplaced:
        raise SystemExit(f"not on the ladder of pyproject.toml: {', '.join(sorted(unplaced))}")
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 1 + max((height(other) for other in edges[name]), default=0)
        return heights[name]

    order.sort(key=lambda name: (-height(name), name))
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"  {name} --> {other}" for name in order for other in sorted(direct(edges)[name])]
    lines += ["```", "", "| package | what it is |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {headers[name]} |" for name in order)])


def page() -> str:
    """CONTRIBUTING.md with today's picture."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{picture()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
