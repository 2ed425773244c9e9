"""Methods that search minima and roots, each a loop of tensors; `tensor/optimize.py` gives them names."""
