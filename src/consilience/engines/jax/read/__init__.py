"""Functions of JAX as graphs."""
