"""Calls and variables, under the names of `pytensor.graph.basic`."""

from __future__ import annotations

from consilience.graph import Apply, Variable, ancestors, explicit_graph_inputs, graph_inputs

__all__ = ["Apply", "Variable", "ancestors", "explicit_graph_inputs", "graph_inputs"]
