"""Differential equations."""
