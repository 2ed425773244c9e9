"""Graphs changed, under the names of `pytensor.graph.replace`."""

from __future__ import annotations

from consilience.graph import clone_replace, graph_replace, vectorize_graph

__all__ = ["clone_replace", "graph_replace", "vectorize_graph"]
