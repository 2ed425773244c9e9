"""What a build refuses, looked for in what was built: pages as a reader gets them.

In: a folder of HTML, and the public names. Out: a line for each broken link or anchor inside the site, each picture
without alternative text, each page that no other links to, each public name without a page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

IDENTITY = re.compile(r"""\s(?:id|name)="([^"]+)\"""")
LINK = re.compile(r"""<a\s[^>]*?href="([^"]*)\"""")
PICTURE = re.compile(r"<img\b[^>]*>|<object\b[^>]*>")
MADE = {"genindex.html", "search.html", "py-modindex.html", "404.html"}
"""Pages of Sphinx's own, which stand in no list."""


def pages(site: Path) -> dict[Path, str]:
    """Pages of the site with their text, without scripts; those of the source are only linked to."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if not {"_static", "_sources"} & set(path.relative_to(site).parts):
            text = path.read_text(encoding="utf-8", errors="replace")
            found[path] = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    return found


def targets(path: Path, text: str, site: Path) -> Iterator[tuple[str, Path, str]]:
    """Links inside the site: as written, the file, the anchor."""
    for written in LINK.findall(text):
        parts = urlsplit(html.unescape(written))
        if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
            continue
        file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        yield written, file / "index.html" if file.is_dir() else file, unquote(parts.fragment)


def broken(site: Path, read: dict[Path, str] | None = None) -> list[str]:
    """All that is wrong with a built site."""
    site = site.resolve()
    texts = pages(site) if read is None else read
    own = {p: t for p, t in texts.items() if p.relative_to(site).parts[0] != "source"}
    anchors = {path: set(IDENTITY.findall(text)) for path, text in texts.items()}
    wrong: list[str] = []
    linked: set[Path] = set()
    for path, text in own.items():
        place = path.relative_to(site).as_posix()
        for written, file, anchor in set(targets(path, text, site)):
            if not file.exists():
                wrong.append(f"{place}: the link {written} leads nowhere")
            elif anchor and file in anchors and anchor not in anchors[file]:
                wrong.append(f"{place}: the link {written} leads to no place on that page")
            if file != path:
                linked.add(file)
        for picture in PICTURE.findall(text):
            told = re.search(r'\salt="([^"]*)"', picture)
            if not told or not told[1].strip() or re.fullmatch(r"\S+\.(svg|png|jpg)", told[1]):
                wrong.append(f"{place}: a picture without alternative text: {picture[:120]}")
    alone = {p for p in own if p not in linked and p.name not in MADE} - {site / "index.html"}
    wrong += [f"{path.relative_to(site).as_posix()}: no page links to it" for path in alone]
    return sorted(wrong)


def without_a_page(site: Path, names: Iterable[tuple[str, str]]) -> list[str]:
    """Public names whose page is not there: pairs of a name and its page in the reference."""
    return [f"the public name {n} has no page" for n, page in names if not (site / f"{page}.html").exists()]


def setup(app: Any) -> dict[str, Any]:
    """Look at the site when it has been built; each finding is a warning, and so an error."""
    from sphinx.util import logging

    log = logging.getLogger(__name__)

    def look(app: Any, failed: Exception | None) -> None:
        if failed or app.builder.name != "html":
            return
        from building.names import entries

        site = Path(app.outdir)
        wrong = without_a_page(site, ((s, f"reference/api/{e.page}") for e in entries().values() for s in e.spellings))
        for line in [*wrong, *broken(site)]:
            log.warning("%s", line)
        log.info(
            f"{len(entries())} pages of the reference for {sum(len(e.spellings) for e in entries().values())} names"
        )

    app.connect("build-finished", look, priority=900)
    return {"parallel_read_safe": True, "version": "1"}
