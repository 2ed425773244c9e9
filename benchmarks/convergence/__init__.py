"""Targets with known moments, and what sampling until convergence costs and delivers on them.

`targets` holds the models, `reference` makes the moments that no formula gives. Each of the other modules prints one
table: `python -m benchmarks.convergence.table`, `coverage`, `certificates`, `posteriors`, `large`.
"""
