"""Results as trees of labelled arrays in ArviZ's schema."""

from consilience.output.storage.datatree import prepare, tree_of

__all__ = ["prepare", "tree_of"]
