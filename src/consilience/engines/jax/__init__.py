"""JAX: graphs as its functions, and its functions as graphs."""
