"""Written by `python tools/names.py` from the tables of printing.py; not to be edited."""

from consilience.backends.printing.values import Print as Print
from consilience.backends.printing.tree import debugprint as debugprint
from consilience.backends.printing.infix import pprint as pprint
from consilience.backends.printing.files import pydotprint as pydotprint
from consilience.backends.printing.files import to_dot as to_dot
from consilience.backends.printing.files import to_graphviz as to_graphviz
from consilience.backends.printing.files import to_html as to_html
from consilience.backends.printing.files import to_mermaid as to_mermaid

dprint = debugprint
pp = pprint

__all__: list[str]
