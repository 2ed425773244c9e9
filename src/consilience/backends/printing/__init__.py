"""Seeing graphs: as trees of text, in infix notation, as pictures."""

from consilience.backends.printing.files import pydotprint, to_dot, to_graphviz, to_html, to_mermaid
from consilience.backends.printing.infix import pprint
from consilience.backends.printing.tree import debugprint
from consilience.backends.printing.values import Print
from consilience.ir.arithmetic import means

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
