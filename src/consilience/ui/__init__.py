"""What the user sees of a run while it goes on."""

from consilience.ui.progress import Reporter, reporter
from consilience.ui.timing import Timing

__all__ = ["Reporter", "Timing", "reporter"]
