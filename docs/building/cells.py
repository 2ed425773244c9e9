"""Code of pages is run when the site is built; what it prints and draws stands below it, and is kept by its content.

In: pages of Markdown with fences of ```python. Out: the same pages with outputs. A cell that fails or warns stops the
build with its page and line. What a fence asks for stands in a comment above it, which no other reader sees:

    <!-- alt: what a picture of this cell shows -->       needed where a cell draws one; several are divided by |
    <!-- warns: ConvergenceWarning -->                    the cell must warn so, and no build stops
    <!-- raises: ShapeError -->                           the cell must fail so; the message is shown
    <!-- not run: why -->                                 shown as it is

`needs: jax` in a page's front matter names packages without which its cells are shown and not run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WISH = re.compile(r"<!-- (alt|warns|raises|not run): ((?:(?!-->).)*) -->\s*\Z", re.DOTALL)
NEEDS = re.compile(r"\A---\n.*?^needs: (.*?)$.*?^---$", re.MULTILINE | re.DOTALL)
FOLDERS = {"learn", "do", "understand", "gallery"}
"""Pages that run; design notes tell of their day."""
SECONDS = 300
WIDTH = 96  # characters of a message


class PageFails(RuntimeError):
    """A cell fails, warns, or draws what has no alternative text."""


@dataclass
class Cell:
    """A fence of a page: the line its code begins at, the code, and what the comment above it asks for."""

    line: int
    code: str
    wishes: dict[str, str] = field(default_factory=dict)


def cells_of(text: str) -> list[Cell]:
    """All fences of a page, in their order."""
    found = []
    for fence in FENCE.finditer(text):
        wishes, above = {}, text[: fence.start()]
        while wish := WISH.search(above):
            wishes[wish[1]] = " ".join(wish[2].split())
            above = above[: wish.start()]
        found.append(Cell(text.count("\n", 0, fence.start(1)) + 1, fence[1], wishes))
    return found


def missing(text: str) -> list[str]:
    """Packages that a page needs and this interpreter lacks."""
    needs = NEEDS.search(text)
    return [n for n in needs[1].replace(",", " ").split() if importlib.util.find_spec(n) is None] if needs else []


def source_digest() -> str:
    """What the library is at the moment: outputs are those of this source."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((ROOT / "src" / "consilience").rglob("*.py")):
        digest.update(path.read_bytes())
    digest.update((Path(__file__).parent / "run_cells.py").read_bytes())
    return digest.hexdigest()


class Cells:
    """Runs pages, and remembers under `folder` what came of them."""

    def __init__(self, folder: Path, digest: str | None = None) -> None:
        self.folder, self.digest = folder, digest or source_digest()
        self.ran = self.kept = self.pages = 0
        folder.mkdir(parents=True, exist_ok=True)

    def outputs(self, page: Path) -> list[list[dict[str, Any]]]:
        """Outputs by cell, those of an earlier build where code and library are the same."""
        text = page.read_text(encoding="utf-8")
        cells = cells_of(text)
        if not cells or missing(text):
            return [[] for _ in cells]
        told = json.dumps([self.digest, [(c.code, c.wishes) for c in cells]])
        key = hashlib.sha256(told.encode()).hexdigest()[:20]
        known = self.folder / f"{key}.json"
        count = sum("not run" not in cell.wishes for cell in cells)
        self.pages += 1
        if known.exists():
            self.kept += count
            return list(json.loads(known.read_text(encoding="utf-8"))["outputs"])
        begun = time.perf_counter()
        outputs = run(page, cells, self.folder, key)
        self.ran += count
        kept = {"page": page.name, "seconds": round(time.perf_counter() - begun, 1), "outputs": outputs}
        known.write_text(json.dumps(kept), encoding="utf-8")
        return outputs

    def all(self, pages: list[Path]) -> dict[Path, list[list[dict[str, Any]]] | PageFails]:
        """Outputs by page, or what stops the build; pages run side by side, each in a process of its own."""

        from building.progress import say

        finished: list[Path] = []

        def one(page: Path) -> list[list[dict[str, Any]]] | PageFails:
            before = self.ran
            try:
                return self.outputs(page)
            except PageFails as failed:
                return failed
            finally:
                finished.append(page)
                if self.ran > before:
                    say(f"cells of {len(finished)} of {len(pages)} pages: {page.parent.name}/{page.stem}")

        with ThreadPoolExecutor(max(1, min(4, len(os.sched_getaffinity(0))))) as pool:
            return dict(zip(pages, pool.map(one, pages), strict=True))


def run(page: Path, cells: list[Cell], pictures: Path, key: str) -> list[list[dict[str, Any]]]:
    """Outputs by cell of one page, run in a process and an empty folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        task = {"page": str(page), "cells": [asdict(c) for c in cells], "pictures": str(pictures.resolve()), "key": key}
        environment = os.environ | {"MPLBACKEND": "agg", "COLUMNS": "100", "PYTHONHASHSEED": "0"}
        try:
            done = subprocess.run(
                [sys.executable, Path(__file__).with_name("run_cells.py")],
                input=json.dumps(task),
                capture_output=True,
                text=True,
                cwd=place,
                env=environment,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PageFails(f"{page}: its cells take more than {SECONDS} s") from None
        answer = Path(place, "answer.json")
        if not answer.exists():
            raise PageFails(f"{page}: the process of its cells ended with {done.returncode}\n{done.stderr[-3000:]}")
        told = json.loads(answer.read_text(encoding="utf-8"))
    if "failed" in told:
        raise PageFails(f"{page}:{told['line']}: {told['failed']}")
    return list(told["outputs"])


# Within Sphinx.


def setup(app: Any) -> dict[str, Any]:
    """Pages run before they are read; their outputs enter as they are read."""
    from sphinx.util import logging

    log = logging.getLogger(__name__)
    results: dict[str, Any] = {}

    def run_all(app: Any, env: Any, names: list[str]) -> None:
        if not app.config.run_cells:
            return
        pages = [Path(env.doc2path(name)) for name in names if env.doc2path(name).suffix == ".md"]
        pages = [p for p in pages if p.parent.name in FOLDERS or p == Path(app.srcdir) / "index.md"]
        pages = [p for p in pages if FENCE.search(p.read_text(encoding="utf-8"))]
        at_work = Cells(Path(app.srcdir) / "_build" / "cells")
        begun = time.perf_counter()
        for page, outputs in at_work.all(pages).items():
            if isinstance(outputs, PageFails):
                log.warning("%s", outputs)
            else:
                results[str(page)] = outputs
        log.info(
            f"{at_work.pages} pages with code: {at_work.ran} cells run, {at_work.kept} kept from earlier builds, "
            f"{time.perf_counter() - begun:.0f} s"
        )

    def insert(app: Any, doctree: Any) -> None:
        page = str(app.env.doc2path(app.env.docname))
        if page.endswith(".md"):
            enter(doctree, Path(page), results.get(page))

    from pygments.lexers.special import TextLexer

    app.add_lexer("mermaid", TextLexer)
    app.add_config_value("run_cells", True, "env")
    app.connect("env-before-read-docs", run_all)
    app.connect("doctree-read", insert, priority=100)
    return {"parallel_read_safe": True, "version": "1"}


def enter(doctree: Any, page: Path, outputs: list[list[dict[str, Any]]] | None) -> None:
    """Put outputs below the blocks of code they come from."""
    from docutils import nodes

    text = page.read_text(encoding="utf-8")
    blocks = [n for n in doctree.findall(nodes.literal_block) if n.get("language") == "python"]
    lacks = missing(text)
    if lacks and blocks and outputs is not None:
        told = f"The code of this page needs {', '.join(lacks)}, which this build lacks; it is tested elsewhere."
        top = blocks[0].parent
        top.insert(top.index(blocks[0]), nodes.note("", nodes.paragraph("", told)))
    if not outputs:
        return
    assert len(blocks) == len(outputs), f"{page}: {len(blocks)} blocks of Python, {len(outputs)} outputs"
    for block, shown in zip(blocks, outputs, strict=True):
        after = block.next_node(descend=False, siblings=True)
        told = isinstance(after, nodes.literal_block) and after.get("language") in ("text", "console", "mermaid")
        made = [node_of(output) for output in shown if not (told and "text" in output)]  # the page shows it itself
        if made:
            box = nodes.container("", *made, classes=["cell-output"])
            block.parent.insert(block.parent.index(block) + 1, box)
            block["classes"].append("cell-with-output")


def node_of(output: dict[str, Any]) -> Any:
    """The node of one output."""
    from docutils import nodes

    if "picture" in output:
        return nodes.image(uri=f"/_build/cells/{output['picture']}", alt=output["alt"], classes=["cell-picture"])
    if "html" in output:
        return nodes.raw("", output["html"], format="html")
    text = "\n".join(map(wrapped, output["text"].split("\n")))
    return nodes.literal_block(text, text, language="text", classes=["cell-text"])


def wrapped(line: str) -> str:
    """A line of an output; a message longer than a page is wide has several."""
    is_message = re.match(r"\w+(Warning|Error): ", line)
    return textwrap.fill(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False) if is_message else line
