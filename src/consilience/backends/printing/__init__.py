"""Seeing graphs: as trees of text, in infix notation, as pictures."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "files": "pydotprint to_dot to_graphviz to_html to_mermaid",
        "infix": "pp=pprint pprint",
        "tree": "debugprint dprint=debugprint",
        "values": "Print",
    },
    public=True,
)
