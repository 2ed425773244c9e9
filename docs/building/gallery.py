"""The gallery: a page of each example, and an index with a thumbnail of each, its last picture.

In: the scripts of `examples`, cells as in `tools/notebooks.py`. Out: pages in `docs/gallery`, written when the site is
built, and cards where the directive `gallery` stands.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)


class WithoutField(ValueError):
    """An example that lacks what its page needs."""


def field(path: Path, text: str, pattern: str, what: str) -> str:
    """What a script says of itself."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise WithoutField(f"{path}: without {what}; docs/gallery/README.md shows the form")
    return found[1].strip()


def front(path: Path) -> dict[str, str]:
    """Title, subject and what a script shows."""
    text = path.read_text(encoding="utf-8")
    return {
        "title": field(path, text, r"^# # (.+)$", "a heading, `# # Title`, in its first cell of text"),
        "subject": field(path, text, r"^# Subject: (.+)$", "a line `# Subject: …` above its first cell"),
        "keywords": field(path, text, r"^# Keywords: (.+)$", "a line `# Keywords: …; …`, the terms that readers type"),
        "data": field(path, text, r"^# \*\*Data\.\*\* (.+)$", "a paragraph `**Data.** …` with source and licence"),
        "shows": field(path, text, r'\A"""(.+?)(?:"""|\n)', "a first line that says what it shows"),
        "alt": field(
            path, text, r'^# %% alt="(.+)"$', 'a picture, in a cell that begins with `# %% alt="what it shows"`'
        ),
    }


def scripts(examples: Path) -> list[Path]:
    """Scripts that consist of cells."""
    return sorted(p for p in examples.glob("*.py") if MARK.search(p.read_text(encoding="utf-8")))


def page(path: Path) -> str:
    """The page of a script: its text and its code, without what belongs to its command line."""
    text = path.read_text(encoding="utf-8")
    _, *pieces = MARK.split(text)
    keywords = front(path)["keywords"]
    lines = ["---", f"keywords: {keywords}", "---", "", "[Gallery](index.md)", ""]
    for kind, cell in zip(pieces[::2], pieces[1::2], strict=True):
        if 'tags=["script"]' in kind:
            continue
        told = cell.strip("\n")
        if "[markdown]" in kind:
            lines += [line.removeprefix("#").removeprefix(" ") for line in told.split("\n")]
        else:
            alt = re.search(r'alt="(.+)"', kind)
            lines += [*([f"<!-- alt: {alt[1]} -->"] if alt else []), "```python", told, "```"]
        lines.append("")
    notebook = f"{{download}}`the notebook <../../examples/{path.stem}.ipynb>`"
    lines += [f"Download {notebook}, or run the script `examples/{path.stem}.py` in a clone.", ""]
    return "\n".join(lines)


def write(examples: Path, folder: Path) -> None:
    """Write the pages of all scripts."""
    for path in scripts(examples):
        front(path)
        target, text = folder / f"{path.stem}.md", page(path)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def picture(outputs: list[list[dict[str, Any]]]) -> dict[str, Any] | None:
    """The last picture of a page."""
    found = [o for cell in outputs for o in cell if "picture" in o]
    return found[-1] if found else None


def cards(examples: Path, cells: Path) -> dict[str, list[dict[str, str]]]:
    """Cards by subject: title, line, page and thumbnail of each example."""
    outputs: dict[str, tuple[float, Any]] = {}
    for kept in cells.glob("*.json"):
        told = json.loads(kept.read_text(encoding="utf-8"))
        outputs[told["page"]] = max(
            outputs.get(told["page"], (0.0, [])), (kept.stat().st_mtime, told["outputs"]), key=lambda pair: pair[0]
        )
    made: dict[str, list[dict[str, str]]] = {}
    for path in scripts(examples):
        row = front(path)
        shown = picture(outputs.get(f"{path.stem}.md", (0.0, []))[1])
        made.setdefault(row["subject"], []).append(
            {"page": path.stem, **row, "picture": shown["picture"] if shown else ""}
        )
    return made


def setup(app: Any) -> dict[str, Any]:
    """The directive `gallery`."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Gallery(Directive):
        """Cards of all examples by subject, in the place of the directive."""

        def run(self) -> list[Any]:
            env = self.state.document.settings.env
            env.note_reread()
            docs = Path(env.srcdir)
            made: list[Any] = []
            for subject, rows in sorted(cards(docs.parent / "examples", docs / "_build" / "cells").items()):
                section = nodes.section("", nodes.title("", subject), ids=[nodes.make_id(subject)])
                box = nodes.container(classes=["gallery"])
                for row in rows:
                    card = nodes.container(classes=["gallery-card"])
                    if row["picture"]:
                        card += nodes.image(uri=f"/_build/cells/{row['picture']}", alt=row["alt"])
                    name = html.escape(row["title"], quote=False)
                    title = nodes.paragraph(classes=["gallery-title"])
                    title += nodes.raw("", f'<a class="stretched" href="{row["page"]}.html">{name}</a>', format="html")
                    card += [title, nodes.paragraph("", row["shows"], classes=["gallery-shows"])]
                    box += card
                section += box
                made.append(section)
            return made

    def write_all(app: Any) -> None:
        docs = Path(app.srcdir)
        write(docs.parent / "examples", docs / "gallery")

    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", write_all, priority=100)
    return {"parallel_read_safe": True, "version": "1"}
