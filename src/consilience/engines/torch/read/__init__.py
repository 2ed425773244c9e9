"""Functions of PyTorch as graphs."""
