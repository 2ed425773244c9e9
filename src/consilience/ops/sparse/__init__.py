"""Sparse matrices: three vectors and a shape. Products are ops, all else is written in the ops of tensors."""
