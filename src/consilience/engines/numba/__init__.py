"""Numba: machine code that its functions call."""
