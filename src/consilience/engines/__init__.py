"""Other people's engines: JAX, PyTorch, StableHLO, Numba, and a C library that needs no Python.

Graphs go out to them and their programs come in. Nothing below imports an engine: it is found by its name.
"""
