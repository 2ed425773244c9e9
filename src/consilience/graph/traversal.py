"""Graphs walked through, under the names of `pytensor.graph.traversal`."""

from __future__ import annotations

from consilience.graph import ancestors, explicit_graph_inputs, graph_inputs

__all__ = ["ancestors", "explicit_graph_inputs", "graph_inputs"]
