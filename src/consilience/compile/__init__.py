"""The package that has PyTensor's `compile.ops`; the attribute `consilience.compile` is PyMC's function."""
