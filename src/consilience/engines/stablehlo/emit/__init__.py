"""Graphs as modules of StableHLO."""
