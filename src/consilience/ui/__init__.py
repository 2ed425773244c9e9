"""What the user sees of a run while it goes on, and where its time went."""

from consilience.ui.progress import Reporter, reporter
from consilience.ui.timing import Timing

__all__ = ["Reporter", "Timing", "reporter"]
