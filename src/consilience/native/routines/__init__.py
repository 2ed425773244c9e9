"""Routines of tensor programs written as typed Python: whole lines of elements in, whole lines out.

`library` gives their machine code under the symbols that generated code calls.
"""
