"""Search terms of a page: the words that readers of other libraries type, where the page itself says something else.

In: `keywords: multilevel model; partial pooling` in a page's front matter. Out: main entries of the index, which the
search ranks first, and a `meta` element for search engines outside.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FRONT = re.compile(r"\A---\n(.*?)^---$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^keywords: *(.+(?:\n[ \t]+.+)*)$", re.MULTILINE)


def keywords(text: str) -> list[str]:
    """Terms between semicolons, which may go on over indented lines."""
    front = FRONT.search(text)
    line = LINE.search(front[1]) if front else None
    return [" ".join(term.split()) for term in line[1].split(";") if term.strip()] if line else []


def setup(app: Any) -> dict[str, Any]:
    """Enter the terms before Sphinx collects the index."""
    from docutils import nodes
    from docutils.transforms import Transform
    from sphinx import addnodes

    class Keywords(Transform):
        """Main entries of the index at the top of a page."""

        default_priority = 700

        def apply(self, **kwargs: Any) -> None:
            """Put the entries below the first heading."""
            source = Path(self.document["source"])
            terms = keywords(source.read_text(encoding="utf-8")) if source.suffix == ".md" else []
            if not terms:
                return
            section = next(iter(self.document.findall(nodes.section)))
            entries = [("single", term, section["ids"][0], "main", None) for term in terms]
            section.insert(1, addnodes.index(entries=entries))  # the title stays the first node of its section

    def told(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
        terms = keywords(Path(app.env.doc2path(name)).read_text(encoding="utf-8")) if doctree is not None else []
        if terms:
            context["metatags"] = context.get("metatags", "") + f'<meta name="keywords" content="{", ".join(terms)}">'

    app.add_transform(Keywords)
    app.connect("html-page-context", told)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
