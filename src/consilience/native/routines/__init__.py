"""Routines of tensor programs written as typed Python: whole lines of elements in, whole lines out.

`library` gives their machine code under the symbols that generated code calls. Here are the numbers that others share
with them, so that these need not load typed Python.
"""

from typing import Final

SMALL: Final = 8
"""Rows of the largest matrices with routines of their own."""
NEARLY: Final = 1.0 - 1e-6
"""An element of a vector of at least this share of the largest one counts as equally large."""
SIDES: Final = 8
"""Short rows that are sorted side by side."""
