"""Watching a run converge: draws enter block by block; the first scalar that does not pass, or figures, leave."""

from consilience.diagnostics.watch.verdict import Failure, Figures, StoppingRule
from consilience.diagnostics.watch.watch import Found, Watch, prepare

__all__ = ["Failure", "Figures", "Found", "StoppingRule", "Watch", "prepare"]
