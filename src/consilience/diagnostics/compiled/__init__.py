"""Diagnostics of many parameters in one pass of machine code.

`library.table_of` is what the rest of the package calls; what each number means is told beside its form for NumPy.
"""
