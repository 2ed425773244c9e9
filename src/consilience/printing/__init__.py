"""Seeing graphs: as trees of text, in infix notation, as pictures."""

from consilience.ir.arithmetic import means
from consilience.printing.files import pydotprint, to_dot, to_graphviz, to_html, to_mermaid
from consilience.printing.infix import pprint
from consilience.printing.tree import debugprint
from consilience.printing.values import Print

dprint = debugprint
pp = pprint
means("dprint")(debugprint)

__all__ = [
    "Print",
    "debugprint",
    "dprint",
    "pp",
    "pprint",
    "pydotprint",
    "to_dot",
    "to_graphviz",
    "to_html",
    "to_mermaid",
]
