"""Chains on threads: the engine of `run` that every kernel has."""
