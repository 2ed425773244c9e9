"""Written by `python tools/names.py` from the tables of display.py; not to be edited."""

from consilience.output.display.progress import Reporter as Reporter
from consilience.output.display.progress import reporter as reporter
from consilience.output.display.timing import time_line as time_line

__all__: list[str]
