"""What the user sees of a run while it goes on, and where its time went."""

from consilience.output.display.progress import Reporter, reporter
from consilience.output.display.timing import time_line

__all__ = ["Reporter", "reporter", "time_line"]
