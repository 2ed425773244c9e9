"""Separate regions of a log density: found by many ascents, weighed, and compared with where draws have been."""
