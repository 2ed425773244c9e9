"""Results as trees of labelled arrays in ArviZ's schema."""

from consilience.storage.datatree import build, extend

__all__ = ["build", "extend"]
