"""Heads of tables as readers of screens need them: Markdown writes one for every table, also where it says nothing.

In: the tables of a page. Out: tables without a head that is empty, and heads in which every cell has a word.
"""

from __future__ import annotations

from typing import Any


def mended(doctree: Any) -> None:
    """Drop heads of empty cells; of others name the empty cells, for those who do not see the table."""
    from docutils import nodes

    for head in list(doctree.findall(nodes.thead)):
        cells = list(head.findall(nodes.entry))
        empty = [cell for cell in cells if not cell.astext().strip() and not list(cell.findall(nodes.image))]
        if len(empty) == len(cells):
            head.parent.remove(head)
            continue
        for cell in empty:
            word = nodes.raw("", '<span class="visually-hidden">row</span>', format="html")
            cell.children.clear()
            cell += nodes.paragraph("", "", word)


def setup(app: Any) -> dict[str, Any]:
    """Mend the tables of each page as it is read."""
    app.connect("doctree-read", lambda app, doctree: mended(doctree))
    return {"parallel_read_safe": True, "version": "1"}
