"""Modules of StableHLO as graphs."""
