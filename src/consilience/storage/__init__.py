"""Results as trees of labelled arrays in ArviZ's schema."""

from consilience.storage.datatree import build, extend, prepare

__all__ = ["build", "extend", "prepare"]
